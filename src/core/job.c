/* SPDX-License-Identifier: MIT
 *
 * job.c: who helps with the jobs of an owner.
 */
#include "core/job.h"

hi_job *hi_job_pop(hi_worker *w)
{
    if (!hi_ticket_is_job(hi_deque_newest(&w->deque))) return NULL;
    uintptr_t item = hi_deque_pop(&w->deque);
    return item ? hi_ticket_job(item) : NULL;
}

hi_job *hi_job_pop_in(hi_worker *w, const hi_job *low, const hi_job *high)
{
    uintptr_t item = hi_deque_newest(&w->deque);
    if (item < hi_job_ticket(low) || item >= hi_job_ticket(high)) return NULL;
    return hi_job_pop(w);
}

hi_job *hi_job_steal(hi_worker *w, const hi_job *low, const hi_job *high)
{
    uint32_t n = hi_victim_count(w->rt);
    uint32_t start = n > 1 ? hi_random_below(&w->random, n - 1) : 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uintptr_t item;
        hi_worker *victim = hi_victim_after(w, n, start + i);
        if (!victim ||
            hi_deque_steal_range(&victim->deque, hi_job_ticket(low),
                                 hi_job_ticket(high), &item) != HI_STEAL_TAKEN)
            continue;
        hi_count(&w->stats.stolen, 1);
        return hi_ticket_job(item);
    }
    return NULL;
}

/* One of the owner's jobs, as far as one can be had. */
static hi_job *find_job(heist_ctx c, hi_worker *w, const hi_job_owner *owner)
{
    hi_job *job = hi_job_pop(w);
    if (!job) return w->rt ? hi_job_steal(w, owner->low, owner->high) : NULL;
    if (owner->has(owner, job)) return job;
    if (hi_job_push(w, job))
        hi_job_post(w);
    else
        job->source->run(c, job); /* no memory to put it back */
    return NULL;
}

void hi_job_help(heist_ctx c, const hi_job_owner *owner)
{
    hi_worker *w = hi_worker_of(c);
    int64_t until = 0;
    while (heist_latch_wait(owner->ended, HEIST_NOW) < 0) {
        hi_job *job = find_job(c, w, owner);
        if (job) {
            job->source->run(c, job);
            until = 0;
            continue;
        }
        int64_t now = hi_clock();
        if (!until) until = now + (w->rt ? w->rt->spin : 0);
        if (now >= until) break;
        for (int i = 0; i < 8; i++)
            hi_cpu_relax();
    }
}
