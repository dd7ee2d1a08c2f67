/* SPDX-License-Identifier: MIT */
#ifndef HI_TASK_H
#define HI_TASK_H

#include "core/worker.h"

/*
 * A spawned task.  It belongs to the queue it is in, then to the worker that
 * runs it.
 */
struct hi_task {
    hi_message message; /* for a task sent to one worker, or in the overflow */
    heist_task_fn *fn;
    void *arg;
    heist_latch *done;
    heist_scope *scope;
    uint64_t order; /* in the scope */
    bool borrowed;  /* the memory is somebody else's */
};

/* Runs it with that cursor, tells who waits, gives its memory back. */
void hi_task_run(hi_worker *w, hi_task *t, heist_frame *cursor);

/* Gives rt a task that is not freed, as heist_spawn does. */
int hi_task_submit(heist_runtime *rt, hi_task *t, heist_time deadline);

/* Gives the cached tasks of w back. */
void hi_task_free_cached(hi_worker *w);

/* After taking from the injector: lets in who waits for room. */
void hi_task_room(heist_runtime *rt);

#endif
