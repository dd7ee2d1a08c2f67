/* SPDX-License-Identifier: MIT
 *
 * latch.c: the one thing anybody waits for.
 *
 * The state word is a list of waiters with two bits below the pointer: LOCKED
 * while somebody changes the list, OPEN for ever once the count is zero.  The
 * waiters are on the stacks of those who wait.
 *
 *           wait: push           arrive: count = 0
 *     0 -----------> waiters ... --------------> OPEN
 *           time-out: unlink
 *
 * Invariants
 *   I1  the call that opens the latch touches it last with the swap to OPEN, and
 *       nobody returns from a wait before the word is OPEN (or he has taken
 *       himself off the list); so the latch may be freed then.
 *   I2  a waiter that is not on the list any more will be told, once.
 *
 * Edges
 *   C2  open    swap state     ->  wait    load state             all arrivals
 *   C3  open    store told     ->  wait    load told              all arrivals
 *   C4  unlock  store state    ->  lock    CAS state              the list
 */
#include "core/frame.h"
#include "core/runtime.h"
#include "core/worker.h"

#include <errno.h>

enum {
    LOCKED = 1,
    OPEN = 2
};

typedef struct waiter {
    hi_timer timer; /* first: wait_expired() finds the waiter by it */
    struct waiter *next, *previous; /* in the list */
    heist_latch *latch;
    hi_strand *strand; /* NULL: a foreign thread */
    hi_futex told;
    bool timed_out;
} waiter;

void heist_latch_init(heist_latch *latch, uint64_t count)
{
    heist_init(&latch->count, count);
    heist_init(&latch->state, count ? 0 : OPEN);
}

/* Returns the list, locked, or OPEN. */
static uintptr_t list_lock(heist_latch *latch)
{
    for (unsigned spins = 0;; spins++) {
        uintptr_t s = heist_load_acquire(&latch->state); /* C2: is it open? */
        if (s == OPEN) return s;
        /* C4: the list as the last holder left it. */
        if (!(s & LOCKED) && heist_cas_acquire(&latch->state, &s, s | LOCKED))
            return s;
        if (spins < 64)
            hi_cpu_relax();
        else
            hi_thread_yield();
    }
}

static void list_unlock(heist_latch *latch, waiter *list)
{
    heist_store_release(&latch->state, (uintptr_t)list); /* C4: our changes. */
}

static void tell(waiter *w)
{
    if (w->strand) {
        hi_strand_resume(w->strand);
        return;
    }
    hi_futex *told = &w->told;
    heist_store_release(told, 1); /* C3: the waiter may be gone after this. */
    hi_futex_wake(told, 1);
}

static void open_latch(heist_latch *latch)
{
    uintptr_t list = list_lock(latch);
    heist_swap_release(&latch->state, OPEN); /* C2: the last touch. */
    waiter *w = (waiter *)list;
    while (w) {
        waiter *next = w->next;
        tell(w);
        w = next;
    }
}

void heist_latch_arrive(heist_latch *latch)
{
    /* C2: what this and all earlier arrivals have done, by one chain. */
    uint64_t old = heist_sub_acq_rel(&latch->count, 1);
    hi_check(old != 0, "more arrivals than the latch's count");
    if (old == 1) open_latch(latch);
}

/* Takes w off the list, where it is while the latch is not open; false: it is, and
 * w will be told. */
static bool list_remove(waiter *w)
{
    uintptr_t s = list_lock(w->latch);
    if (s == OPEN) return false;
    waiter *list = (waiter *)s;
    if (w->next) w->next->previous = w->previous;
    *(w->previous ? &w->previous->next : &list) = w->next;
    list_unlock(w->latch, list);
    return true;
}

/* The worker's timer: the strand goes on, with a time-out. */
static void wait_expired(hi_timer *t)
{
    waiter *w = (waiter *)t;
    if (!list_remove(w)) return;
    w->timed_out = true;
    hi_strand_resume(w->strand);
}

/* -EAGAIN: look for memory once more. */
static int wait_strand(hi_worker *self, waiter *w, heist_time deadline)
{
    heist_time until = HEIST_FOREVER;
    /* What the strand waits for may be in its frames. */
    if (!hi_worker_expose_all(self)) until = hi_clock() + HI_MEMORY_LOOK;
    bool last = deadline <= until;
    w->timer.deadline = last ? deadline : until;
    w->timer.expired = wait_expired;
    if (w->timer.deadline != HEIST_FOREVER)
        hi_timers_add(&self->timers, &w->timer);
    hi_worker_suspend(self, w->strand);
    hi_timers_remove(&self->timers, &w->timer);
    if (!w->timed_out) return 0;
    return last ? -ETIMEDOUT : -EAGAIN;
}

static int wait_thread(waiter *w, heist_time deadline)
{
    /* C3: told, and so open. */
    while (!heist_load_acquire(&w->told)) {
        if (hi_futex_wait(&w->told, 0, deadline) == 0) continue;
        if (list_remove(w)) return -ETIMEDOUT;
        deadline = HEIST_FOREVER; /* it is being told */
    }
    return 0;
}

static int wait_once(heist_latch *latch, hi_worker *self, heist_time deadline)
{
    waiter w = {.latch = latch};
    /* relaxed: own-field */
    if (self) w.strand = heist_load_relaxed(&self->strand);
    uintptr_t list = list_lock(latch);
    if (list == OPEN) return 0;
    w.next = (waiter *)list;
    if (w.next) w.next->previous = &w;
    list_unlock(latch, &w);
    return self ? wait_strand(self, &w, deadline) : wait_thread(&w, deadline);
}

int heist_latch_wait(heist_latch *latch, heist_time deadline)
{
    if (heist_load_acquire(&latch->state) == OPEN) return 0; /* C2: all done. */
    if (deadline <= HEIST_NOW) return -ETIMEDOUT;
    hi_worker *self = hi_worker_self();
    if (self && !self->rt) self = NULL; /* no runtime: a thread like others */
    int rc;
    do
        rc = wait_once(latch, self, deadline);
    while (rc == -EAGAIN);
    return rc;
}
