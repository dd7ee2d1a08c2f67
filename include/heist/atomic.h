/* SPDX-License-Identifier: MIT */
#ifndef HEIST_ATOMIC_H
#define HEIST_ATOMIC_H

/*
 * Atomic cells.
 *
 * A cell is a one-member struct, so a plain read or write of it does not
 * compile: every access goes through an operation whose name says its order.
 * `grep heist_store_release` is then a complete list of publications, and a
 * checker can replace this one header to see every shared access.
 *
 * The header is public because the fork-join fast path is inlined into user
 * code, and it avoids _Atomic so that C++ can include it.
 */
#define HEIST_ATOMIC(T) \
    struct {            \
        T heist_cell;   \
    }

/* Before anybody else can see the cell. */
#define heist_init(p, v) ((void)((p)->heist_cell = (v)))

#define heist_load_relaxed(p) \
    __atomic_load_n(&(p)->heist_cell, __ATOMIC_RELAXED)
#define heist_load_acquire(p) \
    __atomic_load_n(&(p)->heist_cell, __ATOMIC_ACQUIRE)

#define heist_store_relaxed(p, v) \
    __atomic_store_n(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_store_release(p, v) \
    __atomic_store_n(&(p)->heist_cell, (v), __ATOMIC_RELEASE)

#define heist_swap_relaxed(p, v) \
    __atomic_exchange_n(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_swap_acq_rel(p, v) \
    __atomic_exchange_n(&(p)->heist_cell, (v), __ATOMIC_ACQ_REL)
#define heist_swap_acquire(p, v) \
    __atomic_exchange_n(&(p)->heist_cell, (v), __ATOMIC_ACQUIRE)
#define heist_swap_release(p, v) \
    __atomic_exchange_n(&(p)->heist_cell, (v), __ATOMIC_RELEASE)

/* Strong; on failure *expected is the value found, loaded relaxed. */
#define heist_cas_relaxed(p, expected, desired)                             \
    __atomic_compare_exchange_n(&(p)->heist_cell, (expected), (desired), 0, \
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define heist_cas_acquire(p, expected, desired)                             \
    __atomic_compare_exchange_n(&(p)->heist_cell, (expected), (desired), 0, \
                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define heist_cas_release(p, expected, desired)                             \
    __atomic_compare_exchange_n(&(p)->heist_cell, (expected), (desired), 0, \
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define heist_cas_acq_rel(p, expected, desired)                             \
    __atomic_compare_exchange_n(&(p)->heist_cell, (expected), (desired), 0, \
                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
#define heist_cas_seq_cst(p, expected, desired)                             \
    __atomic_compare_exchange_n(&(p)->heist_cell, (expected), (desired), 0, \
                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

#define heist_add_relaxed(p, v) \
    __atomic_fetch_add(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_add_acq_rel(p, v) \
    __atomic_fetch_add(&(p)->heist_cell, (v), __ATOMIC_ACQ_REL)
#define heist_add_release(p, v) \
    __atomic_fetch_add(&(p)->heist_cell, (v), __ATOMIC_RELEASE)
#define heist_sub_relaxed(p, v) \
    __atomic_fetch_sub(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_sub_acq_rel(p, v) \
    __atomic_fetch_sub(&(p)->heist_cell, (v), __ATOMIC_ACQ_REL)
#define heist_sub_release(p, v) \
    __atomic_fetch_sub(&(p)->heist_cell, (v), __ATOMIC_RELEASE)
#define heist_or_relaxed(p, v) \
    __atomic_fetch_or(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_or_release(p, v) \
    __atomic_fetch_or(&(p)->heist_cell, (v), __ATOMIC_RELEASE)
#define heist_and_relaxed(p, v) \
    __atomic_fetch_and(&(p)->heist_cell, (v), __ATOMIC_RELAXED)
#define heist_and_release(p, v) \
    __atomic_fetch_and(&(p)->heist_cell, (v), __ATOMIC_RELEASE)

/*
 * The one fence with a machine instruction, for store->load (Dekker) points.
 * For a seq_cst fence clang emits mfence on x86-64 (16 ns); a locked operation
 * on the stack orders the same accesses in 2 ns.
 */
#ifdef __x86_64__
#    define heist_fence_seq_cst() \
        __asm__ __volatile__("lock; orl $0, -8(%%rsp)" ::: "memory", "cc")
#else
#    define heist_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/*
 * The same, right behind an add or sub, for what comes after it.  There x86-64
 * needs no instruction: every locked operation is a fence.  C11 does not say so,
 * nor does aarch64; and of a swap whose result nobody wants clang makes a store.
 */
#ifdef __x86_64__
#    define heist_fence_after_rmw() __asm__ __volatile__("" ::: "memory")
#else
#    define heist_fence_after_rmw() heist_fence_seq_cst()
#endif

/* Orders this thread against a thief that issues a process-wide barrier. */
#define heist_fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* _Alignas is not C++, and alignas needs a header in C11; this is both. */
#define HEIST_ALIGNED(n) __attribute__((aligned(n)))

#endif
