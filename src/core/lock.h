/* SPDX-License-Identifier: MIT */
#ifndef HI_LOCK_H
#define HI_LOCK_H

/*
 * A lock of one word for the slow paths: uncontended it costs one
 * compare-and-swap, contended the waiter sleeps.
 *
 * Edges
 *   L1  unlock  release word  ->  lock  acquire word   what the lock guards
 */
#include "platform/platform.h"

typedef struct hi_lock {
    hi_futex word; /* 0 free, 1 held, 2 held and somebody sleeps */
} hi_lock;

void hi_lock_contended(hi_lock *l);

static inline bool hi_lock_try(hi_lock *l)
{
    uint32_t free = 0;
    return heist_cas_acquire(&l->word, &free, 1); /* L1: as the last holder. */
}

static inline void hi_lock_take(hi_lock *l)
{
    if (HEIST_UNLIKELY(!hi_lock_try(l))) hi_lock_contended(l);
}

static inline void hi_lock_give(hi_lock *l)
{
    /* L1: to the next holder. */
    if (HEIST_UNLIKELY(heist_swap_release(&l->word, 0) == 2))
        hi_futex_wake(&l->word, 1);
}

#endif
