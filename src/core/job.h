/* SPDX-License-Identifier: MIT */
#ifndef HI_JOB_H
#define HI_JOB_H

/*
 * A job: work that is one word in a structure of its owner's, which says how
 * such work is run.  Jobs take part in a computation as frames do: no more
 * threads work on them than the runtime has workers, guests counted; and a guest
 * takes only those of the computation it waits for.
 */
#include "core/frame.h"
#include "core/runtime.h"

/* How the jobs of one owner are run. */
typedef struct hi_job_source {
    void (*run)(heist_ctx c, hi_job *job);
} hi_job_source;

struct hi_job {
    const hi_job_source *source;
};

/*
 * Owner of w's deque.  False: no memory, it is still the caller's.  When all are
 * pushed, hi_job_post tells the others.
 */
static inline bool hi_job_push(hi_worker *w, hi_job *job)
{
    return hi_deque_push(&w->deque, hi_job_ticket(job)) == 0;
}

static inline void hi_job_post(hi_worker *w)
{
    if (w->rt) hi_sleep_post_frames(w);
}

/* The worker that c is on. */
static inline hi_worker *hi_worker_of(heist_ctx c)
{
    /* relaxed: own-field */
    return heist_load_relaxed(&hi_strand_from(c.strand)->worker);
}

/* Owner.  The newest item of w's deque if that is a job; else NULL. */
hi_job *hi_job_pop(hi_worker *w);

/* The same if it is at or after `low` and before `high`. */
hi_job *hi_job_pop_in(hi_worker *w, const hi_job *low, const hi_job *high);

/* Somebody else's oldest item, if that is a job at or after `low` and before
 * `high`; one visit to each.  NULL: none was to be had.  w has a runtime. */
hi_job *hi_job_steal(hi_worker *w, const hi_job *low, const hi_job *high);

/* Whose jobs somebody helps with. */
typedef struct hi_job_owner {
    heist_latch *ended;       /* open when there are no more */
    const hi_job *low, *high; /* those that may be stolen */
    bool (*has)(const struct hi_job_owner *owner, const hi_job *job);
} hi_job_owner;

/* Runs the owner's jobs, those of others stay where they are, until its latch is
 * open or there was none for as long as a search lasts. */
void hi_job_help(heist_ctx c, const hi_job_owner *owner);

#endif
