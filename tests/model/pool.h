/* SPDX-License-Identifier: MIT */
#ifndef POOL_H
#define POOL_H

/*
 * A runtime made by hand: workers without threads of their own, small queues,
 * searches of one pass.  The threads of a test are its workers, either by
 * pool_loop, the smallest loop that keeps the rules of sleep.c, or by the
 * shipped hi_worker_main.
 *
 *     static void setup(void) { rt = pool_open(2, 2); }
 *     static void thread(unsigned id) { pool_loop(&rt->pool[id], run); }
 *     static void after(void) { pool_check(rt); pool_close(rt); }
 */
#include "model.h"

#include "core/runtime.h"
#include "core/task.h"
#include "queue/memory.h"

enum {
    POOL_SEATS = 2, /* guests that may come */
    POOL_STACK = 64 << 10
};

/* Where allocations may fail they may fail here, too: once more then. */
static inline void *pool_alloc(size_t bytes)
{
    void *p = NULL;
    while (!p)
        p = hi_alloc(NULL, bytes, HEIST_LINE);
    return p;
}

static inline void pool_worker(heist_runtime *rt, unsigned i)
{
    hi_worker *w = &rt->pool[i];
    while (hi_worker_init(w, NULL) < 0)
        ;
    w->rt = rt;
    w->index = i;
    w->idle_word = &rt->sleep.idle[0];
    w->idle_bit = UINT64_C(1) << i;
    hi_random_seed(&w->random, 1, i);
    heist_init(&rt->victims[i], (uintptr_t)w);
}

static inline heist_runtime *pool_open(unsigned workers, size_t capacity)
{
    heist_runtime *rt = pool_alloc(sizeof *rt);
    rt->workers = workers;
    rt->config.steal_attempts = 1;
    rt->settle_spins = 400;
    rt->config.stack_bytes = POOL_STACK;
    rt->pool = pool_alloc(workers * sizeof *rt->pool);
    rt->victims = pool_alloc((workers + POOL_SEATS) * sizeof *rt->victims);
    while (hi_sleep_init(&rt->sleep, workers, NULL) < 0)
        ;
    while (hi_injector_init(&rt->injector, capacity, NULL) < 0)
        ;
    for (unsigned i = 0; i < workers; i++)
        pool_worker(rt, i);
    heist_init(&rt->victim_count, workers);
    return rt;
}

/* Strands, for workers that run hi_worker_main. */
static inline void pool_prepare(heist_runtime *rt)
{
    for (unsigned i = 0; i < rt->workers; i++)
        while (hi_worker_prepare(&rt->pool[i]) < 0)
            ;
}

/* Nobody waits any more, and so nothing is kept for a later turn. */
static inline void pool_worker_close(hi_worker *w)
{
    model_check(!w->timers.earliest && !w->ready);
    hi_worker_fini(w);
}

static inline void pool_close(heist_runtime *rt)
{
    size_t victims = rt->workers + POOL_SEATS;
    uint32_t n = heist_load_relaxed(&rt->victim_count);
    for (uint32_t i = rt->workers; i < n; i++) {
        hi_worker *g = hi_seated(rt, i);
        pool_worker_close(g);
        hi_strand_destroy(g->native);
    }
    for (unsigned i = 0; i < rt->workers; i++)
        pool_worker_close(&rt->pool[i]);
    hi_injector_fini(&rt->injector);
    hi_sleep_fini(&rt->sleep, NULL);
    hi_free(NULL, rt->victims, victims * sizeof *rt->victims);
    hi_free(NULL, rt->pool, rt->workers * sizeof *rt->pool);
    hi_free(NULL, rt, sizeof *rt);
}

/* No deque is used: there is only the injector to look at. */
static inline void pool_injector_only(heist_runtime *rt)
{
    heist_init(&rt->victim_count, 0);
}

/* Lets all workers end. */
static inline void pool_end(heist_runtime *rt)
{
    heist_store_release(&rt->phase, HI_ENDING);
    hi_sleep_wake_all(rt);
}

/* At the end: a token for each bit, each counted once; nothing is left. */
static inline void pool_check(heist_runtime *rt)
{
    uint32_t searching = 0;
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        searching += w->searching;
        model_check(heist_load_relaxed(&w->parker) == 0);
        model_check(hi_deque_is_empty(&w->deque));
        model_check(hi_inbox_is_empty(&w->inbox));
    }
    model_check(heist_load_relaxed(&rt->sleep.idle[0]) == 0);
    model_check(heist_load_relaxed(&rt->sleep.searching) == searching);
    model_check(heist_load_relaxed(&rt->sleep.awake) == rt->workers);
    model_check(hi_injector_is_empty(&rt->injector));
}

/* Where work may lie, the injector aside. */
static inline unsigned pool_victims(const hi_worker *w)
{
    return heist_load_relaxed(&w->rt->victim_count);
}

static inline uintptr_t pool_local(hi_worker *w)
{
    uintptr_t item = pool_victims(w) ? hi_deque_pop(&w->deque) : 0;
    if (!item) hi_injector_take(&w->rt->injector, &item, 1);
    return item;
}

static inline uintptr_t pool_search(hi_worker *w)
{
    uintptr_t item = 0;
    for (unsigned i = 0; i < pool_victims(w); i++) {
        hi_worker *victim = &w->rt->pool[i];
        if (victim == w) continue;
        while (hi_deque_steal(&victim->deque, &item) == HI_STEAL_RETRY)
            ;
        if (item) return item;
    }
    return pool_local(w);
}

/* The next item, or 0: the workers are to end.  As next_work in worker.c. */
static inline uintptr_t pool_next(hi_worker *w)
{
    uintptr_t item = 0;
    while (!item) {
        if (hi_sleep_search(w)) item = pool_search(w);
        if (item || hi_runtime_is(w->rt, HI_ENDING)) break;
        hi_sleep_park(w, HEIST_FOREVER);
        item = pool_local(w);
        if (!item) hi_cpu_relax(); /* a push may be between claim and item */
    }
    if (item) hi_sleep_found(w);
    return item;
}

static inline void pool_loop(hi_worker *w, void (*run)(void *item))
{
    uintptr_t item;
    hi_self_set(w);
    while ((item = pool_next(w)) != 0)
        run((void *)item);
    hi_self_set(NULL);
}

/* A word that a thread of a test waits for, or sets. */
static inline void pool_await(hi_futex *f)
{
    while (!heist_load_acquire(f))
        hi_futex_wait(f, 0, HEIST_FOREVER);
}

static inline void pool_tell(hi_futex *f)
{
    heist_store_release(f, 1);
    hi_futex_wake(f, INT32_MAX);
}

#endif
