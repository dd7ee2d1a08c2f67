/* SPDX-License-Identifier: MIT */
#ifndef CREW_H
#define CREW_H

/*
 * Threads of a test as workers of a pool made by hand, who take part in what
 * one of them runs.  Where a thread is not inside of heist_run it finds work by
 * crew_find, a few lines in place of the loop in worker.c, which parks.
 *
 *     static void setup(void) { crew_open(2, 1, true); ... }
 *     static void thread(unsigned id)
 *     {
 *         hi_worker *w = crew_join(id);
 *         if (id == 0) run_it(), crew_run_ends();
 *         crew_help(w);
 *     }
 *     static void after(void) { crew_close(); }
 */
#include "pool.h"

#include "core/frame.h"
#include "core/job.h"

enum {
    CREW_SPIN = 1000000000 /* ns: who waits for a run takes part */
};

static struct {
    heist_runtime *rt;
    HEIST_ATOMIC(uint32_t) running; /* runs that have not ended */
    bool rescues, calls;            /* what is done about hidden frames */
} crew;

/* A strand on the stack of the thread that is this worker, and one for the
 * region of a run. */
static inline void crew_strands(hi_worker *w)
{
    hi_strand *s = hi_strand_create(0);
    heist_store_relaxed(&s->worker, w);
    hi_strand_reset(s, true);
    w->native = s;
    w->bare.warm = hi_strand_create(0);
    w->bare.count = 1;
}

/* alone: a run begins in the hands of one worker. */
static inline void crew_open(unsigned workers, unsigned runs, bool alone)
{
    heist_runtime *rt = pool_open(workers, 2);
    rt->spin = CREW_SPIN;
    rt->config.exposure = alone ? HEIST_ON_DEMAND : HEIST_EAGER;
    heist_init(&rt->rescue, 1);
    heist_init(&rt->watchman, workers + 1); /* nobody */
    heist_init(&rt->sleep.forked, 1);
    for (unsigned i = 0; i < workers; i++)
        crew_strands(&rt->pool[i]);
    heist_init(&crew.running, runs);
    crew.rescues = alone;
    crew.rt = rt;
}

/* The calling thread is a worker from here on. */
static inline hi_worker *crew_join(unsigned id)
{
    hi_worker *w = &crew.rt->pool[id];
    hi_self_set(w);
    hi_context_adopt(&w->native->context);
    hi_worker_show(w, w->native);
    return w;
}

static inline void crew_run_item(hi_worker *w, uintptr_t item)
{
    hi_strand *s = w->native;
    heist_ctx c = {&s->hot, s->base};
    if (hi_ticket_is_frame(item)) {
        if (hi_frame_take(hi_ticket_frame(item), s->base))
            hi_frame_run(w, hi_ticket_frame(item), s->base);
    } else if (hi_ticket_is_job(item)) {
        hi_ticket_job(item)->source->run(c, hi_ticket_job(item));
    } else {
        hi_task_run(w, (hi_task *)item, s->base);
    }
}

/* Takes the oldest hidden frame of v's strand, as hi_find_hidden. */
static inline bool crew_rescue(hi_worker *w, hi_worker *v)
{
    hi_strand *s = hi_worker_shown(v);
    if (!s) return false;
    if (crew.calls && hi_strand_has_private(s)) hi_strand_call(s);
    heist_frame *f = hi_frame_rescue(s, w->native->base, NULL);
    if (f) hi_frame_run(w, f, w->native->base);
    return f != NULL;
}

/* Finds something and runs it. */
static inline bool crew_find(hi_worker *w)
{
    heist_runtime *rt = crew.rt;
    uintptr_t item = 0;
    if (!hi_deque_is_empty(&w->deque)) item = hi_deque_pop(&w->deque);
    for (unsigned i = 1; i < rt->workers && !item; i++) {
        hi_worker *v = &rt->pool[(w->index + i) % rt->workers];
        if (hi_deque_steal(&v->deque, &item) == HI_STEAL_TAKEN) break;
        item = 0;
        if (crew.rescues && crew_rescue(w, v)) return true;
    }
    if (!item) hi_injector_take(&rt->injector, &item, 1);
    if (item) crew_run_item(w, item);
    return item != 0;
}

static inline void crew_run_ends(void)
{
    heist_sub_release(&crew.running, 1);
}

/* Takes part until all runs have ended. */
static inline void crew_help(hi_worker *w)
{
    for (bool found = true; found || heist_load_acquire(&crew.running);) {
        found = crew_find(w);
        if (!found) hi_cpu_relax();
    }
    hi_worker_show(w, NULL);
    hi_self_set(NULL);
}

/* Nothing is left. */
static inline void crew_close(void)
{
    heist_runtime *rt = crew.rt;
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        model_check(hi_deque_is_empty(&w->deque));
        model_check(!hi_strand_has_private(w->native));
        hi_strand_destroy(w->native);
    }
    model_check(hi_injector_is_empty(&rt->injector));
    pool_close(rt);
}

#endif
