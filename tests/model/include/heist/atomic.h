/* SPDX-License-Identifier: MIT */
#ifndef HEIST_ATOMIC_H
#define HEIST_ATOMIC_H

/*
 * The cells of include/heist/atomic.h, bound to the checker: the same names,
 * and each access tells the checker where it stands in the source.
 */
#include "../../model.h"

#define HEIST_ATOMIC(T) \
    struct {            \
        T heist_cell;   \
    }

#define HEIST_ALIGNED(n) __attribute__((aligned(n)))

/* --- one access ----------------------------------------------------------- */

#define HEIST_JOIN2(a, b) a##b
#define HEIST_JOIN(a, b)  HEIST_JOIN2(a, b)

/* Integers, enumerations and pointers alike, with the sign as C extends it. */
#define HEIST_WORD(v) ((uint64_t)(uintptr_t)(v))

/* The cell's type, without its qualifiers. */
#define HEIST_TYPE(p) __typeof__(__atomic_load_n(&(p)->heist_cell, 0))
#define HEIST_CELL(p) &(p)->heist_cell, (unsigned)sizeof(p)->heist_cell

/* Accesses nest (a load inside a store), so each site has a name of its own. */
#define HEIST_AT(n, text, ...)                                                 \
    __extension__({                                                            \
        static const model_site HEIST_JOIN(heist_at, n) = {__FILE__, __LINE__, \
                                                           text};              \
        __VA_ARGS__;                                                           \
    })
#define HEIST_SITE(n) &HEIST_JOIN(heist_at, n)

#define HEIST_INIT(n, p, v, text) \
    HEIST_AT(n, text, model_init(HEIST_CELL(p), HEIST_WORD(v), HEIST_SITE(n)))

#define HEIST_LOAD(n, p, text, order)                                   \
    HEIST_AT(n, text,                                                   \
             (HEIST_TYPE(p))(uintptr_t)model_load(HEIST_CELL(p), order, \
                                                  HEIST_SITE(n)))

#define HEIST_STORE(n, p, v, text, order) \
    HEIST_AT(n, text,                     \
             model_store(HEIST_CELL(p), HEIST_WORD(v), order, HEIST_SITE(n)))

#define HEIST_UPDATE(n, p, v, text, op, order)       \
    HEIST_AT(n, text,                                \
             (HEIST_TYPE(p))(uintptr_t)model_update( \
                 HEIST_CELL(p), op, HEIST_WORD(v), order, HEIST_SITE(n)))

#define HEIST_CAS(n, p, expected, desired, text, order, weak)                \
    HEIST_AT(n, text,                                                        \
             __typeof__(expected) HEIST_JOIN(heist_want, n) = (expected);    \
             uint64_t HEIST_JOIN(heist_found, n) =                           \
                 HEIST_WORD(*HEIST_JOIN(heist_want, n));                     \
             bool HEIST_JOIN(heist_done, n) =                                \
                 model_cas(HEIST_CELL(p), &HEIST_JOIN(heist_found, n),       \
                           HEIST_WORD(desired), order, weak, HEIST_SITE(n)); \
             if (!HEIST_JOIN(heist_done, n)) * HEIST_JOIN(heist_want, n) =   \
                 (HEIST_TYPE(p))(uintptr_t)HEIST_JOIN(heist_found, n);       \
             HEIST_JOIN(heist_done, n))

#define HEIST_FENCE(n, order) HEIST_AT(n, "", model_fence(order, HEIST_SITE(n)))

/* --- the operations --------------------------------------------------------- */

#define heist_init(p, v) HEIST_INIT(__COUNTER__, p, v, #p)

#define heist_load_relaxed(p) HEIST_LOAD(__COUNTER__, p, #p, MODEL_RELAXED)
#define heist_load_acquire(p) HEIST_LOAD(__COUNTER__, p, #p, MODEL_ACQUIRE)
#define heist_load_seq_cst(p) HEIST_LOAD(__COUNTER__, p, #p, MODEL_SEQ_CST)

#define heist_store_relaxed(p, v) \
    HEIST_STORE(__COUNTER__, p, v, #p, MODEL_RELAXED)
#define heist_store_release(p, v) \
    HEIST_STORE(__COUNTER__, p, v, #p, MODEL_RELEASE)
#define heist_store_seq_cst(p, v) \
    HEIST_STORE(__COUNTER__, p, v, #p, MODEL_SEQ_CST)

#define heist_swap_relaxed(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SWAP, MODEL_RELAXED)
#define heist_swap_acquire(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SWAP, MODEL_ACQUIRE)
#define heist_swap_release(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SWAP, MODEL_RELEASE)
#define heist_swap_acq_rel(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SWAP, MODEL_ACQ_REL)
#define heist_swap_seq_cst(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SWAP, MODEL_SEQ_CST)

#define heist_add_relaxed(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_ADD, MODEL_RELAXED)
#define heist_add_acquire(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_ADD, MODEL_ACQUIRE)
#define heist_add_release(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_ADD, MODEL_RELEASE)
#define heist_add_acq_rel(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_ADD, MODEL_ACQ_REL)
#define heist_add_seq_cst(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_ADD, MODEL_SEQ_CST)

#define heist_sub_relaxed(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SUB, MODEL_RELAXED)
#define heist_sub_acquire(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SUB, MODEL_ACQUIRE)
#define heist_sub_release(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SUB, MODEL_RELEASE)
#define heist_sub_acq_rel(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SUB, MODEL_ACQ_REL)
#define heist_sub_seq_cst(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_SUB, MODEL_SEQ_CST)

#define heist_or_relaxed(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_OR, MODEL_RELAXED)
#define heist_or_acquire(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_OR, MODEL_ACQUIRE)
#define heist_or_release(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_OR, MODEL_RELEASE)
#define heist_or_acq_rel(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_OR, MODEL_ACQ_REL)
#define heist_or_seq_cst(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_OR, MODEL_SEQ_CST)

#define heist_and_relaxed(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_AND, MODEL_RELAXED)
#define heist_and_acquire(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_AND, MODEL_ACQUIRE)
#define heist_and_release(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_AND, MODEL_RELEASE)
#define heist_and_acq_rel(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_AND, MODEL_ACQ_REL)
#define heist_and_seq_cst(p, v) \
    HEIST_UPDATE(__COUNTER__, p, v, #p, MODEL_AND, MODEL_SEQ_CST)

/* On failure *expected is the value found, loaded relaxed. */
#define heist_cas_relaxed(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_RELAXED, false)
#define heist_cas_acquire(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_ACQUIRE, false)
#define heist_cas_release(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_RELEASE, false)
#define heist_cas_acq_rel(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_ACQ_REL, false)
#define heist_cas_seq_cst(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_SEQ_CST, false)

/* May fail for no reason. */
#define heist_cas_weak_relaxed(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_RELAXED, true)
#define heist_cas_weak_acquire(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_ACQUIRE, true)
#define heist_cas_weak_release(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_RELEASE, true)
#define heist_cas_weak_acq_rel(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_ACQ_REL, true)
#define heist_cas_weak_seq_cst(p, expected, desired) \
    HEIST_CAS(__COUNTER__, p, expected, desired, #p, MODEL_SEQ_CST, true)

#define heist_fence_acquire()   HEIST_FENCE(__COUNTER__, MODEL_ACQUIRE)
#define heist_fence_release()   HEIST_FENCE(__COUNTER__, MODEL_RELEASE)
#define heist_fence_seq_cst()   HEIST_FENCE(__COUNTER__, MODEL_SEQ_CST)
#define heist_fence_after_rmw() heist_fence_seq_cst()

/* Orders the compiler, which the checker does not see, and no processor. */
#define heist_fence_compiler() ((void)0)

#endif
