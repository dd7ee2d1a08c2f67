/* SPDX-License-Identifier: MIT */
#ifndef HI_MEMORY_H
#define HI_MEMORY_H

#include <heist/base.h>

/*
 * The library's own memory: from the configured allocator, or from the C
 * library when there is none (a null pointer, or one with a null alloc).
 */

/* Are both functions there, or neither? */
static inline bool hi_allocator_is_whole(const heist_allocator *a)
{
    return !a || !a->alloc == !a->free;
}

/* Zeroed memory, or NULL.  align is a power of two; bytes is not zero. */
void *hi_alloc(const heist_allocator *allocator, size_t bytes, size_t align);

/* The same with anything in it. */
void *hi_alloc_raw(const heist_allocator *allocator, size_t bytes,
                   size_t align);

/* bytes is what was asked for.  p may be NULL. */
void hi_free(const heist_allocator *allocator, void *p, size_t bytes);

/* The power of two at or above n, at least `least` (itself one); 0 when there
 * is none. */
size_t hi_round_up(size_t n, size_t least);

#endif
