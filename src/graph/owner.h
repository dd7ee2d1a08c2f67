/* SPDX-License-Identifier: MIT */
#ifndef HI_OWNER_H
#define HI_OWNER_H

/*
 * A run begins in the hands of one worker, its owner: that of a graph (alone.c)
 * and that of a pipeline (line.c).  Here is what all owners do: they look
 * around now and then, judge whether their run is worth sharing, and leave a
 * frame open below it, by which others get at the run.
 *
 * How a run changes hands is not here, for it is not the same.  In a pipeline
 * the number of finished stages says all, so a helper can take over at any
 * time; what is ready in a graph is a list, which has to be left alone until
 * the owner is in a node.
 *
 * A piece is what an owner runs between two chances to look: a node, a stage.
 */
#include "core/job.h"

enum {
    HI_CALL_SPINS = 64 /* looks for an owner's answer before taking over */
};

typedef struct hi_pace {
    unsigned budget; /* pieces until the owner looks around */
    unsigned every;  /* pieces between two looks */
    int64_t looked, started;
} hi_pace;

/* The run begins; `first`: pieces before the first look. */
void hi_pace_start(hi_pace *p, unsigned first);

/* The owner looks around: ns per piece since the last look.  Sees to it that
 * the next one is neither too soon nor too late. */
int64_t hi_pace_look(hi_pace *p, int64_t now);

/* Is a run worth sharing, and is there somebody?  cost: ns per piece.  called:
 * somebody has asked. */
bool hi_pace_is_worth_sharing(const hi_pace *p, hi_worker *w, int64_t now,
                              int64_t cost, bool called);

/* Leaves a frame open at c; whoever gets it calls `help` with the run as its
 * first argument.  The pieces run above it, in the context that is returned. */
static inline heist_ctx hi_owner_open(heist_ctx c, heist_frame_fn *help,
                                      void *run)
{
    heist_slot(c)->arg[0].p = run;
    return heist_fork(c, help);
}

/*
 * Opens it again.  The owner has just looked around; but while it waited for who
 * had the frame it may have been the watchman, and now be the only one at work.
 */
static inline void hi_owner_reopen(heist_ctx c, heist_frame_fn *help, void *run)
{
    hi_worker *w = hi_worker_of(c);
    heist_slot(c)->arg[0].p = run;
    heist_store_release(&c.frame->fn, help); /* F1: as heist_fork does. */
    if (!w->rt) return;
    hi_sleep_count(w);
    hi_sleep_see_to_watch(w->rt, false);
}

#endif
