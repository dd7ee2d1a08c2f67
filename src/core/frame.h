/* SPDX-License-Identifier: MIT */
#ifndef HI_FRAME_H
#define HI_FRAME_H

/*
 * The life of a frame, and what thieves do with it.
 *
 *                     heist_fork           hi_frame_expose
 *            (free) -------------> PRIVATE ---------------> EXPOSED
 *               ^  heist_join          |    hi_frame_unexpose   | hi_frame_take
 *               +---------------------+^------------------------+
 *               |                      | hi_frame_rescue        v
 *               |                      +---------------------> TAKEN
 *               |  hi_frame_settle                              | hi_frame_settle
 *               +--------------- DONE <----------- WAITED <-----+
 *                                  ^  hi_frame_run               |
 *                                  +-----------------------------+
 *
 * The state word holds the letter in its low bits and more above them: EXPOSED:
 * the life of the strand in which it was; TAKEN: the thief's cursor, from which
 * its strand and its frames follow; WAITED: the strand that waits for it.  PRIVATE
 * is zero, and what has been
 * joined is PRIVATE again, so that fork need not write the word.
 */
#include "core/worker.h"

enum {
    HI_FRAME_PRIVATE = 0,
    HI_FRAME_EXPOSED = 1,
    HI_FRAME_TAKEN = 2,
    HI_FRAME_WAITED = 3,
    HI_FRAME_DONE = 4,
    HI_FRAME_LETTER = 63
};

/* In a deque, frames and jobs are told from tasks by a low bit. */
enum {
    HI_TICKET_FRAME = 1,
    HI_TICKET_JOB = 2
};

static inline uintptr_t hi_frame_ticket(heist_frame *f)
{
    return (uintptr_t)f | HI_TICKET_FRAME;
}

static inline uintptr_t hi_job_ticket(const hi_job *job)
{
    return (uintptr_t)job | HI_TICKET_JOB;
}

static inline bool hi_ticket_is_frame(uintptr_t item)
{
    return item & HI_TICKET_FRAME;
}

static inline bool hi_ticket_is_job(uintptr_t item)
{
    return item & HI_TICKET_JOB;
}

static inline bool hi_ticket_is_task(uintptr_t item)
{
    return !(item & (HI_TICKET_FRAME | HI_TICKET_JOB));
}

static inline heist_frame *hi_ticket_frame(uintptr_t item)
{
    return (heist_frame *)(item & ~(uintptr_t)HI_TICKET_FRAME);
}

static inline hi_job *hi_ticket_job(uintptr_t item)
{
    return (hi_job *)(item & ~(uintptr_t)HI_TICKET_JOB);
}

/* Owner, under the strand's lock.  Makes the oldest private frame visible.
 * False: no memory. */
bool hi_frame_expose(hi_worker *w, hi_strand *s);

/* Owner, in code that does not know the cursor and is about to hide the frames
 * of s: lets thieves have them all. */
void hi_strand_expose_all(hi_worker *w, hi_strand *s);

/* The same for all strands on this C stack.  False: there is no memory to show them
 * all. */
bool hi_worker_expose_all(hi_worker *w);

/* Owner.  False: it is not exposed, or a thief has it; true may be out of date. */
bool hi_frame_is_exposed(const heist_frame *f);

/* Owner.  Takes an exposed frame back; false: a thief has it. */
bool hi_frame_unexpose(hi_worker *w, heist_frame *f);

/* Thief.  Claims an exposed frame, to be run with that cursor. */
bool hi_frame_take(heist_frame *f, heist_frame *cursor);

/* Which frames a choosy thief wants: those of the guest's region; or without one
 * those from low on, on its strand, exposed in that life of it or before. */
typedef struct hi_wish {
    const hi_worker *guest;
    const heist_frame *low;
    uintptr_t life;
} hi_wish;

/* Choosy thief.  Claims the frame whose ticket is the oldest item of d, and then
 * takes the ticket; what is not for it stays for others.  RETRY: a stale ticket, or
 * somebody was faster. */
hi_steal hi_frame_take_wish(hi_deque *d, hi_wish wish, heist_frame *cursor,
                            heist_frame **out);

/* Thief.  Runs a frame that it has claimed. */
void hi_frame_run(hi_worker *w, heist_frame *f, heist_frame *cursor);

/* In checked builds: what ran with that cursor has joined what it forked. */
static inline void hi_check_joined(const heist_frame *cursor)
{
    /* relaxed: own-slot */
    hi_check(!heist_load_relaxed(&cursor->fn),
             "a function returned with a fork open");
    (void)cursor;
}

/* Owner.  Waits until the thief is done; the frame is free afterwards. */
void hi_frame_settle(hi_worker *w, hi_strand *s, heist_frame *f);

/* Thief.  Asks the strand's owner to expose something, unless that was done; or
 * once more, because the owner of a young region puts off who calls. */
void hi_strand_call(hi_strand *s);
void hi_strand_call_again(hi_strand *s);

/* Any thread.  Has the strand an open private frame?  A look. */
bool hi_strand_has_private(const hi_strand *s);

/* Thief.  Takes the oldest private frame from behind the owner's back; for a
 * guest, as above.  NULL: there is none, or it cannot be done here. */
heist_frame *hi_frame_rescue(hi_strand *s, heist_frame *cursor,
                             const hi_worker *guest);

#endif
