/* SPDX-License-Identifier: MIT */
#ifndef HI_FIND_H
#define HI_FIND_H

/*
 * What a worker does next, and where it finds that.  Its cursor is where frames will
 * run that it takes.
 */
#include "core/worker.h"

typedef enum hi_work_kind {
    HI_WORK_NONE,
    HI_WORK_TASK,
    HI_WORK_FRAME,
    HI_WORK_JOB,
    HI_WORK_STRAND, /* to go on with */
    HI_WORK_END     /* of the worker */
} hi_work_kind;

typedef struct hi_work {
    hi_work_kind kind;
    void *what;
} hi_work;

/* What needs no search: strands whose deadline has come, own deque and inbox, the
 * injector, and now and then what has waited longest. */
hi_work hi_find_local(hi_worker *w, heist_frame *cursor);

/* Was the last pick one of those in which what has waited longest comes first? */
static inline bool hi_find_is_turn(const hi_worker *w)
{
    return w->tick == 0;
}

/*
 * Searches until there is something or it has been long enough; not after a pass
 * that met a race, there is work.  A guest does not count as a searcher: nobody
 * relies on it.
 */
hi_work hi_find_search(hi_worker *w, heist_frame *cursor);

/* Takes a frame from behind somebody's long leaf; and calls those who would not
 * look by themselves, because all their forks are at one depth. */
hi_work hi_find_hidden(hi_worker *w, heist_frame *cursor);

/* The next letter: a strand or a task. */
hi_work hi_find_letter(hi_worker *w);

#endif
