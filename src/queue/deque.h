/* SPDX-License-Identifier: MIT */
#ifndef HI_DEQUE_H
#define HI_DEQUE_H

#include <heist/base.h>

/*
 * The work-stealing deque: one owner pushes and pops at the bottom, any number
 * of thieves take the oldest item at the top.  Items are non-zero words.
 * Invariants and edges: deque.c.
 */
typedef struct hi_deque_array hi_deque_array;

typedef struct hi_deque {
    HEIST_ATOMIC(int64_t) bottom;         /* the owner's */
    HEIST_ATOMIC(hi_deque_array *) array; /* replaced by the owner to grow */
    const heist_allocator *allocator;
    HEIST_ATOMIC(int64_t) top HEIST_ALIGNED(HEIST_LINE); /* any taker's */
} hi_deque;

typedef enum hi_steal {
    HI_STEAL_EMPTY,
    HI_STEAL_TAKEN,
    HI_STEAL_RETRY /* there was work, somebody else was faster */
} hi_steal;

/* Capacity is rounded up to a power of two.  first is the index to start
 * from: 0 in life, near the end of the integers in tests. */
int hi_deque_init(hi_deque *d, size_t capacity, int64_t first,
                  const heist_allocator *allocator);
void hi_deque_fini(hi_deque *d);

/* Owner.  0, or -ENOMEM when it had to grow and could not: nothing changed. */
int hi_deque_push(hi_deque *d, uintptr_t item);

/* Owner.  How many there are, at most. */
size_t hi_deque_length(const hi_deque *d);

/* Owner.  How many can be pushed before it has to grow, at least. */
size_t hi_deque_room(const hi_deque *d);

/* Owner.  The newest item, or 0. */
uintptr_t hi_deque_pop(hi_deque *d);

/* Owner.  Pops the newest item if it is this one and still there. */
bool hi_deque_pop_if(hi_deque *d, uintptr_t item);

/* Owner.  What hi_deque_pop will return, unless it is gone by then. */
uintptr_t hi_deque_newest(const hi_deque *d);

/* Any thread. */
hi_steal hi_deque_steal(hi_deque *d, uintptr_t *item);

/* Any thread.  Takes the oldest item only if low <= item < high. */
hi_steal hi_deque_steal_range(hi_deque *d, uintptr_t low, uintptr_t high,
                              uintptr_t *item);

/* Any thread.  Takes what hi_deque_peek has shown, if it is still there. */
bool hi_deque_steal_at(hi_deque *d, int64_t place);

/* Any thread.  A look that may be out of date. */
bool hi_deque_is_empty(const hi_deque *d);

/* Any thread.  The oldest item, or 0; it may be gone by now. */
uintptr_t hi_deque_oldest(const hi_deque *d);

/* The same, and its place: as long as it is the oldest no other item is there. */
uintptr_t hi_deque_peek(const hi_deque *d, int64_t *place);

#endif
