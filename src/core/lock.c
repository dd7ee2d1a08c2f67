/* SPDX-License-Identifier: MIT */
#include "core/lock.h"

enum {
    LOCK_SPINS = 64
};

void hi_lock_contended(hi_lock *l)
{
    for (int i = 0; i < LOCK_SPINS; i++) {
        hi_cpu_relax();
        if (hi_lock_try(l)) return;
    }
    while (heist_swap_acquire(&l->word, 2) != 0) /* L1: as the last holder. */
        hi_futex_wait(&l->word, 2, HEIST_FOREVER);
}
