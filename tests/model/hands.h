/* SPDX-License-Identifier: MIT */
#ifndef HANDS_H
#define HANDS_H

/*
 * A crew (crew.h) whose workers do not search: each runs what it has in hand
 * from the start and what that leaves in its own deque, and steals once.  That
 * is so little that its orders can be followed further than those of a loop.
 *
 *     static void thread(unsigned id)
 *     {
 *         hi_worker *w = crew_join(id);
 *         if (id == 0) run_it();
 *         hands_drain(w);
 *         hands_steal(w);
 *         hands_leave(w);
 *     }
 */
#include "crew.h"

static inline heist_ctx hands_context(hi_worker *w)
{
    return (heist_ctx){&w->native->hot, w->native->base};
}

/* Runs what is in the own deque. */
static inline void hands_drain(hi_worker *w)
{
    uintptr_t item;
    while ((item = hi_deque_pop(&w->deque)))
        crew_run_item(w, item);
}

/* Tries to steal from the worker before it, and goes on with what it gets. */
static inline void hands_steal(hi_worker *w)
{
    unsigned n = crew.rt->workers;
    hi_worker *victim = &crew.rt->pool[(w->index + n - 1) % n];
    uintptr_t item;
    if (hi_deque_steal(&victim->deque, &item) != HI_STEAL_TAKEN) return;
    crew_run_item(w, item);
    hands_drain(w);
}

static inline void hands_leave(hi_worker *w)
{
    hi_worker_show(w, NULL);
    hi_self_set(NULL);
}

#endif
