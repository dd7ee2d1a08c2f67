/* SPDX-License-Identifier: MIT */
#ifndef HEIST_ATOMIC_H
#define HEIST_ATOMIC_H

/*
 * Atomic cells as relacy sees them.
 *
 * The queues are compiled as C++, unchanged, against this header.  A cell holds
 * nothing: it is only an address, under which shadow.h keeps relacy's atomic.
 * That is how memory can come from hi_alloc without a constructor.
 */
#include "../../shadow.h"

#define HEIST_ATOMIC(T) relacy::cell<T>

#define heist_init(p, v) relacy::init((p), (v), RL_INFO)

#define heist_load_relaxed(p) relacy::load((p), rl::mo_relaxed, RL_INFO)
#define heist_load_acquire(p) relacy::load((p), rl::mo_acquire, RL_INFO)

#define heist_store_relaxed(p, v) \
    relacy::store((p), (v), rl::mo_relaxed, RL_INFO)
#define heist_store_release(p, v) \
    relacy::store((p), (v), rl::mo_release, RL_INFO)

#define heist_swap_relaxed(p, v) relacy::swap((p), (v), rl::mo_relaxed, RL_INFO)
#define heist_swap_acquire(p, v) relacy::swap((p), (v), rl::mo_acquire, RL_INFO)
#define heist_swap_release(p, v) relacy::swap((p), (v), rl::mo_release, RL_INFO)
#define heist_swap_acq_rel(p, v) relacy::swap((p), (v), rl::mo_acq_rel, RL_INFO)

#define heist_cas_relaxed(p, expected, desired) \
    relacy::cas((p), (expected), (desired), rl::mo_relaxed, RL_INFO)
#define heist_cas_acquire(p, expected, desired) \
    relacy::cas((p), (expected), (desired), rl::mo_acquire, RL_INFO)
#define heist_cas_release(p, expected, desired) \
    relacy::cas((p), (expected), (desired), rl::mo_release, RL_INFO)
#define heist_cas_acq_rel(p, expected, desired) \
    relacy::cas((p), (expected), (desired), rl::mo_acq_rel, RL_INFO)
#define heist_cas_seq_cst(p, expected, desired) \
    relacy::cas((p), (expected), (desired), rl::mo_seq_cst, RL_INFO)

#define heist_fence_seq_cst() rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO)

#define HEIST_ALIGNED(n) __attribute__((aligned(n)))

#endif
