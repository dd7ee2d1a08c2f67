/* SPDX-License-Identifier: MIT */
#ifndef HI_INJECTOR_H
#define HI_INJECTOR_H

#include <heist/base.h>

/*
 * The injector: a bounded queue from any thread to any worker.  Items are
 * non-zero words.  Invariants and edges: injector.c.
 */
typedef struct hi_injector_slot hi_injector_slot;

typedef struct hi_injector {
    hi_injector_slot *slots;
    uint64_t mask;
    const heist_allocator *allocator;
    HEIST_ATOMIC(uint64_t) tail HEIST_ALIGNED(HEIST_LINE); /* producers' */
    HEIST_ATOMIC(uint64_t) head HEIST_ALIGNED(HEIST_LINE); /* consumers' */
} hi_injector;

/* Capacity is rounded up to a power of two, at least 2. */
int hi_injector_init(hi_injector *q, size_t capacity,
                     const heist_allocator *allocator);
void hi_injector_fini(hi_injector *q);

/* Any thread.  False: full, nothing changed. */
bool hi_injector_push(hi_injector *q, uintptr_t item);

/* Any thread.  Takes up to max of the oldest items in one go, oldest first;
 * returns how many. */
size_t hi_injector_take(hi_injector *q, uintptr_t *items, size_t max);

/* Any thread.  A look that may be out of date. */
bool hi_injector_is_empty(const hi_injector *q);
size_t hi_injector_length(const hi_injector *q);

#endif
