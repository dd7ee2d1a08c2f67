/* SPDX-License-Identifier: MIT
 *
 * frame.c: exposure, theft and return of frames.
 *
 * Invariants
 *   I1  the exposed frames of a strand are a prefix: frames below the split are
 *       EXPOSED, TAKEN, WAITED or DONE, those above are PRIVATE.
 *   I2  state is EXPOSED only between expose and take or unexpose, so that a
 *       ticket left over from an earlier life of the slot cannot take it.
 *   I3  who changes EXPOSED owns the frame: the owner (to PRIVATE) or one thief
 *       (to TAKEN).
 *   I4  an open frame has a function from fork to join, a free slot none.
 *   I5  what a strand's loop begins, and what a join leaps to, is a life of it, and
 *       counts up its number.  An EXPOSED frame carries the number that the strand had
 *       when it was exposed: how many lives had begun by then.
 *
 * Edges
 *   F1  fork    release fn     ->  rescue  acquire fn     the arguments
 *   F2  join    fn = 0; line   <>  rescue  line; barrier; fn   one sees the other
 *   F3  expose  release state  ->  take    acquire state  arguments, region
 *   F4  run     swap state     ->  settle  acquire state  the result
 *   F5  wait    CAS state      ->  run     swap state     the suspended strand
 *   F6  take    CAS state      ->  leap    acquire state  the thief's strand
 *   F7  begin   release life   ->  leap    acquire life   what has ended before it
 *
 * F2 is a Dekker pair without a fence in join: the rescuer raises the line and
 * then makes every running thread of the process pass a full barrier
 * (hi_barrier_all).  If the owner's join had read the old line before its
 * barrier, its fn = 0 was before that too and the rescuer sees it; if not, the
 * join reads the raised line and comes to the slow path, which waits for the
 * strand's lock, held by the rescuer.
 *
 * Locks
 *   strand.lock  split, and every change from PRIVATE
 */
#include "core/frame.h"

#include "core/runtime.h"
#include "core/sleep.h"

enum {
    NESTED_MAX = 128, /* leapfrogged frames on one stack */
    LIFE_SHIFT = 6    /* above the letter */
};

static uintptr_t state_of(const void *p, unsigned letter)
{
    return (uintptr_t)p | letter;
}

static uintptr_t exposed_in(uintptr_t life)
{
    return life << LIFE_SHIFT | HI_FRAME_EXPOSED;
}

static bool is_exposed(uintptr_t state)
{
    return (state & HI_FRAME_LETTER) == HI_FRAME_EXPOSED;
}

bool hi_frame_is_exposed(const heist_frame *f)
{
    /* relaxed: own-slot (others only take what it has exposed) */
    return is_exposed(heist_load_relaxed(&f->state));
}

bool hi_frame_expose(hi_worker *w, hi_strand *s)
{
    uintptr_t life = heist_load_relaxed(&s->life); /* relaxed: own-field */
    /* relaxed: under-lock */
    heist_frame *f = heist_load_relaxed(&s->split);
    /* relaxed: own-slot (join will clear fn while a thief still needs it) */
    f->result.fn = heist_load_relaxed(&f->fn);
    /* F3: function and arguments before the state that lets thieves in. */
    heist_store_release(&f->state, exposed_in(life));
    /* No memory for the ticket: back, unless it was taken by one left over. */
    if (hi_deque_push(&w->deque, hi_frame_ticket(f)) < 0 &&
        hi_frame_unexpose(w, f))
        return false;
    heist_store_relaxed(&s->split, f + 1); /* relaxed: under-lock */
    hi_count(&w->stats.exposed, 1);
    return true;
}

void hi_strand_expose_all(hi_worker *w, hi_strand *s)
{
    if (!w->rt || !hi_strand_has_private(s)) return;
    hi_lock_take(&s->lock);
    while (hi_strand_has_private(s) && hi_frame_expose(w, s))
        ;
    if (s->started == 0) s->started = HI_UNTIMED; /* not fresh any more */
    /* relaxed: under-lock (all joins of s come to the slow path) */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
    hi_lock_give(&s->lock);
    hi_sleep_post_frames(w);
}

bool hi_worker_expose_all(hi_worker *w)
{
    bool all = true;
    hi_strand *s = heist_load_relaxed(&w->strand); /* relaxed: own-field */
    for (; s; s = heist_load_relaxed(&s->outer)) { /* relaxed: own-field */
        hi_strand_expose_all(w, s);
        if (hi_strand_has_private(s)) all = false;
    }
    return all;
}

bool hi_frame_unexpose(hi_worker *w, heist_frame *f)
{
    uintptr_t state = heist_load_relaxed(&f->state); /* relaxed: own-slot */
    if (!is_exposed(state)) return false;
    /* relaxed: own-slot (what it takes back it wrote itself) */
    if (!heist_cas_relaxed(&f->state, &state, HI_FRAME_PRIVATE)) return false;
    if (!hi_deque_pop_if(&w->deque, hi_frame_ticket(f))) w->buried++;
    return true;
}

static bool take_in(heist_frame *f, uintptr_t exposed, heist_frame *cursor)
{
    /* F3: what the owner wrote before it exposed the frame.  F6: where we are.
     * kept release: nearly always F7 has shown the owner our strand as well. */
    return heist_cas_acq_rel(&f->state, &exposed,
                             state_of(cursor, HI_FRAME_TAKEN));
}

bool hi_frame_take(heist_frame *f, heist_frame *cursor)
{
    uintptr_t state = heist_load_relaxed(&f->state); /* relaxed: before-F3 */
    return is_exposed(state) && take_in(f, state, cursor);
}

/* While a life lasts its region does not change: if it is the guest's, and the frame
 * still exposed in that life, so is the frame. */
static bool is_wished(hi_wish wish, const heist_frame *f, uintptr_t state)
{
    if (wish.guest) return hi_strand_region(hi_strand_of(f)) == wish.guest;
    return f >= wish.low && f < hi_strand_end(hi_strand_of(wish.low)) &&
           state <= exposed_in(wish.life);
}

hi_steal hi_frame_take_wish(hi_deque *d, hi_wish wish, heist_frame *cursor,
                            heist_frame **out)
{
    int64_t place;
    uintptr_t item = hi_deque_peek(d, &place);
    if (!hi_ticket_is_frame(item)) return HI_STEAL_EMPTY;
    heist_frame *f = hi_ticket_frame(item);
    /* F3: its region.  kept: only a ticket of an earlier exposure does not show it
     * as well (D1). */
    uintptr_t state = heist_load_acquire(&f->state);
    if (is_exposed(state)) {
        if (!is_wished(wish, f, state)) return HI_STEAL_EMPTY;
        if (!take_in(f, state, cursor)) return HI_STEAL_RETRY;
        *out = f;
    }
    hi_deque_steal_at(d, place);
    return is_exposed(state) ? HI_STEAL_TAKEN : HI_STEAL_RETRY;
}

void hi_frame_run(hi_worker *w, heist_frame *f, heist_frame *cursor)
{
    f->result.fn((heist_ctx){&hi_strand_of(cursor)->hot, cursor}, f);
    hi_check_joined(cursor);
    hi_count(&w->stats.executed, 1);
    /* F4: the result.  F5: from here on the frame may be gone. */
    uintptr_t old = heist_swap_acq_rel(&f->state, HI_FRAME_DONE);
    if ((old & HI_FRAME_LETTER) == HI_FRAME_WAITED)
        hi_strand_resume((hi_strand *)(old & ~(uintptr_t)HI_FRAME_LETTER));
}

void hi_strand_call_again(hi_strand *s)
{
    heist_store_relaxed(&s->hungry, HI_CALLED);           /* relaxed: hint */
    heist_store_relaxed(&s->hot.limit, (heist_frame *)0); /* relaxed: hint */
    /* relaxed: hint (raising it is always safe; the owner lowers it) */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
}

void hi_strand_call(hi_strand *s)
{
    /* relaxed: hint */
    if (!heist_load_relaxed(&s->hungry)) hi_strand_call_again(s);
}

bool hi_strand_has_private(const hi_strand *s)
{
    heist_frame *f = heist_load_relaxed(&s->split); /* relaxed: hint */
    return heist_load_relaxed(&f->fn) != NULL;      /* relaxed: hint */
}

heist_frame *hi_frame_rescue(hi_strand *s, heist_frame *cursor,
                             const hi_worker *guest)
{
    if (!hi_strand_has_private(s) || !hi_lock_try(&s->lock)) return NULL;
    heist_frame *f = heist_load_relaxed(&s->split); /* relaxed: under-lock */
    /* F2: first the line, so that a join of f comes to the lock. */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
    hi_barrier_all();
    /* F1: arguments of an open frame.  F2: closed if join was faster. */
    heist_frame_fn *fn = heist_load_acquire(&f->fn);
    if (guest && hi_strand_region(s) != guest) fn = NULL;
    if (fn) {
        f->result.fn = fn;
        /* relaxed: under-lock */
        heist_store_relaxed(&f->state, state_of(cursor, HI_FRAME_TAKEN));
        heist_store_relaxed(&s->split, f + 1); /* relaxed: under-lock */
    }
    hi_lock_give(&s->lock);
    return fn ? f : NULL;
}

/*
 * Leapfrogging: while f runs on the thief's strand, run what the thief has
 * exposed on top of it, on our own stack above f.  It must be a descendant of f:
 * no deeper in the tree than the serial program would be, and nothing that might
 * wait for what comes after our join.  But the thief may end f and begin something
 * else while we look.  So frames are taken by the number of the life in which they
 * were exposed: at most that which the strand was in while f was still TAKEN.  What
 * the thief begins after f has a larger one.  What has a smaller one has ended; or it
 * is what f stands on, if the thief leapt to f, and below its cursor.  That goes on
 * with f's number after f, at and above the cursor; but it waits for what we are part
 * of, and so not before we return.
 *
 * C stacks are finite: at most NESTED_MAX such frames stand on one of them.
 */

/* The thief's cursor is in the state of the frame it took.  True: ran something, or
 * something has changed. */
static bool leapfrog(hi_worker *w, hi_strand *s, heist_frame *f,
                     uintptr_t state)
{
    heist_frame *cursor = (heist_frame *)(state & ~(uintptr_t)HI_FRAME_LETTER);
    heist_frame *found;
    hi_strand *thief = hi_strand_of(cursor);
    if (s->nested >= NESTED_MAX) return false;
    /* F7: if it is not f's life any more, f is seen to be done. */
    hi_wish wish = {.low = cursor, .life = heist_load_acquire(&thief->life)};
    /* relaxed: after-F7 */
    if (heist_load_relaxed(&f->state) != state) return true;
    /* relaxed: after-F6 */
    hi_deque *d = &heist_load_relaxed(&thief->worker)->deque;
    hi_steal got = hi_frame_take_wish(d, wish, f + 1, &found);
    if (got == HI_STEAL_TAKEN) {
        hi_strand_begin(s);
        hi_count(&w->stats.stolen, 1);
        s->nested++;
        hi_frame_run(w, found, f + 1);
        s->nested--;
    } else if (hi_strand_has_private(thief)) {
        hi_strand_call(thief);
    }
    return got != HI_STEAL_EMPTY;
}

void hi_frame_settle(hi_worker *w, hi_strand *s, heist_frame *f)
{
    int spins = 0;
    for (;;) {
        /* F4: the result.  F6: the thief. */
        uintptr_t state = heist_load_acquire(&f->state);
        if (state == HI_FRAME_DONE) break;
        if (w->orphan) { /* its runtime may have been stopped */
            hi_die(__FILE__, __LINE__,
                   "fork() inside a task: the child joined what a worker of "
                   "the parent had taken");
        } else if (leapfrog(w, s, f, state)) {
            spins = 0;
        } else if (++spins < w->rt->settle_spins) {
            hi_cpu_relax();
        } else if (heist_cas_release(&f->state, &state, /* F5: wake us. */
                                     state_of(s, HI_FRAME_WAITED))) {
            hi_worker_suspend(w, s);
            spins = 0;
        }
    }
    heist_store_relaxed(&f->state, HI_FRAME_PRIVATE); /* relaxed: own-slot */
}
