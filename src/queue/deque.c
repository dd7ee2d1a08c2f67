/* SPDX-License-Identifier: MIT
 *
 * deque.c: the work-stealing deque of Chase and Lev with the C11 orders of
 * Le, Pop, Cohen and Zappa Nardelli (PPoPP 2013).
 *
 *          top                      bottom
 *           v                         v
 *      [ .. | oldest | ... | newest |  free .. ]      slot = index & mask
 *          thieves take              owner works
 *
 * Invariants
 *   I1  top <= bottom, except inside pop, where bottom may be top - 1.
 *   I2  top never decreases, so a CAS on it cannot meet an old value again.
 *   I3  slot i is written before bottom passes i, and overwritten (by index
 *       i + capacity) only after the owner has seen top beyond i.
 *   I4  an array that was ever published stays readable until fini; after its
 *       successor is published it is never written again.
 *   I5  indices are compared by their difference, which is at most a capacity,
 *       so running over the end of the integers changes nothing.
 *
 * Edges
 *   D1  push, pop release bottom -> steal acquire bottom   slots, array visible
 *   D2  pop       fence          <> steal fence            one sees the other
 *   D3  steal     CAS top        <> pop   CAS top          one taker per item
 *   D4  grow      release array  -> steal acquire array    mask, copied slots
 *   D5  steal     CAS top        -> push  acquire top      slot has been read
 *
 * D1 is a release store and not a fence, so that checkers which do not follow
 * fences see it.  pop's first store is part of it: a thief may read the lowered
 * bottom and take an older item, and since C++20 a release sequence no longer
 * runs on through later stores of the same thread.  pop's last store puts
 * bottom back to a value at which the deque is empty: whoever reads it takes
 * nothing by it, because top is there already and the CAS fails.
 *
 * The thief loads the array after bottom.  Slot top was written before that
 * bottom was stored, in an array published before that; by D1 the thief finds
 * this array or a later one, and growth copied the slot into each later one as
 * long as top had not passed it.
 *
 * D5 is needed because a thief reads its slot before it owns it.  Were push's
 * load of top relaxed, C11 would let the thief win its CAS with the value that
 * push stores because of that very CAS.
 *
 * A thread that has announced that it sleeps, and then looks with is_empty or
 * oldest after a seq_cst fence, sees that there is an item whose owner fenced
 * after the push, earlier in the one order of fences: bottom only falls when an
 * item is taken.
 */
#include "queue/deque.h"

#include "queue/memory.h"

#include <errno.h>

typedef HEIST_ATOMIC(uintptr_t) deque_slot;

struct hi_deque_array {
    uint64_t mask;         /* init */
    hi_deque_array *older; /* init: the array that this one replaced */
    deque_slot slots[];
};

static size_t array_bytes(size_t capacity)
{
    return sizeof(hi_deque_array) + capacity * sizeof(deque_slot);
}

/* capacity is a power of two, or 0 for one too large to be written down. */
static hi_deque_array *array_create(const heist_allocator *allocator,
                                    size_t capacity, hi_deque_array *older)
{
    size_t most = (SIZE_MAX - sizeof(hi_deque_array)) / sizeof(deque_slot);
    if (!capacity || capacity > most) return NULL;
    hi_deque_array *a = hi_alloc(allocator, array_bytes(capacity), HEIST_LINE);
    if (!a) return NULL;
    a->mask = capacity - 1;
    a->older = older;
    return a;
}

static inline deque_slot *slot_at(hi_deque_array *a, int64_t index)
{
    return &a->slots[(uint64_t)index & a->mask];
}

/* index + by, running over the end of the integers if need be. */
static inline int64_t moved(int64_t index, int64_t by)
{
    return (int64_t)((uint64_t)index + (uint64_t)by);
}

/* to - from: how many items lie between two indices. */
static inline int64_t distance(int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

int hi_deque_init(hi_deque *d, size_t capacity, int64_t first,
                  const heist_allocator *allocator)
{
    hi_deque_array *a = array_create(allocator, hi_round_up(capacity, 1), NULL);
    if (!a) return -ENOMEM;
    d->allocator = allocator;
    heist_init(&d->bottom, first);
    heist_init(&d->top, first);
    heist_init(&d->array, a);
    return 0;
}

void hi_deque_fini(hi_deque *d)
{
    /* relaxed: own-field */
    hi_deque_array *a = heist_load_relaxed(&d->array);
    heist_init(&d->array, NULL);
    while (a) {
        hi_deque_array *older = a->older;
        hi_free(d->allocator, a, array_bytes((size_t)a->mask + 1));
        a = older;
    }
}

/* Owner.  Returns the new array, or NULL with nothing changed.  The old one
 * may be under a thief's eyes for ever: it is kept behind the new one. */
static hi_deque_array *grow(hi_deque *d, hi_deque_array *old, int64_t top,
                            int64_t bottom)
{
    size_t capacity = ((size_t)old->mask + 1) << 1;
    hi_deque_array *a = array_create(d->allocator, capacity, old);
    if (!a) return NULL;
    for (int64_t i = top; i != bottom; i = moved(i, 1)) {
        /* relaxed: own-slot */
        uintptr_t item = heist_load_relaxed(slot_at(old, i));
        /* relaxed: before-D4 */
        heist_store_relaxed(slot_at(a, i), item);
    }
    /* D4: the mask and the copies, then the pointer to them. */
    heist_store_release(&d->array, a);
    return a;
}

int hi_deque_push(hi_deque *d, uintptr_t item)
{
    int64_t bottom = heist_load_relaxed(&d->bottom); /* relaxed: own-field */
    /* D5: who took the slot that we are about to reuse has read it. */
    int64_t top = heist_load_acquire(&d->top);
    /* relaxed: own-field */
    hi_deque_array *a = heist_load_relaxed(&d->array);
    if (HEIST_UNLIKELY(distance(top, bottom) > (int64_t)a->mask)) {
        a = grow(d, a, top, bottom);
        if (!a) return -ENOMEM;
    }
    /* relaxed: before-D1 */
    heist_store_relaxed(slot_at(a, bottom), item);
    /* D1: the slot is written before a thief can see the new bottom. */
    heist_store_release(&d->bottom, moved(bottom, 1));
    return 0;
}

size_t hi_deque_length(const hi_deque *d)
{
    int64_t bottom = heist_load_relaxed(&d->bottom); /* relaxed: own-field */
    int64_t top = heist_load_relaxed(&d->top);       /* relaxed: hint */
    return (size_t)distance(top, bottom);
}

size_t hi_deque_room(const hi_deque *d)
{
    /* relaxed: own-field */
    const hi_deque_array *a = heist_load_relaxed(&d->array);
    return (size_t)a->mask + 1 - hi_deque_length(d);
}

uintptr_t hi_deque_pop(hi_deque *d)
{
    /* relaxed: own-field */
    int64_t bottom = moved(heist_load_relaxed(&d->bottom), -1);
    /* relaxed: own-field */
    hi_deque_array *a = heist_load_relaxed(&d->array);
    /* D1: a thief may read this one and take an older item. */
    heist_store_release(&d->bottom, bottom);
    heist_fence_seq_cst(); /* D2: our bottom or the thief's top: one is seen. */
    int64_t top = heist_load_relaxed(&d->top); /* relaxed: after-D2 */
    int64_t older = distance(top, bottom);
    uintptr_t item = 0;
    if (HEIST_LIKELY(older >= 0)) {
        /* relaxed: own-slot */
        item = heist_load_relaxed(slot_at(a, bottom));
        if (older > 0) return item;
        /* D3: the last item is whose CAS moves top.  kept: C11 orders fences by
         * seq_cst accesses between them, C++20 (and the checker) does not. */
        if (!heist_cas_seq_cst(&d->top, &top, moved(top, 1))) item = 0;
    }
    /* Empty now, whoever took it: top is bottom + 1. */
    /* relaxed: after-D2 */
    heist_store_relaxed(&d->bottom, moved(bottom, 1));
    return item;
}

uintptr_t hi_deque_newest(const hi_deque *d)
{
    /* relaxed: own-field */
    int64_t bottom = heist_load_relaxed(&d->bottom);
    /* relaxed: own-field */
    hi_deque_array *a = heist_load_relaxed(&d->array);
    /* The slot keeps its word after a theft, so only a difference is proof;
     * items are not 0, which is what a slot never used holds. */
    /* relaxed: own-slot */
    return heist_load_relaxed(slot_at(a, moved(bottom, -1)));
}

bool hi_deque_pop_if(hi_deque *d, uintptr_t item)
{
    return hi_deque_newest(d) == item && hi_deque_pop(d) != 0;
}

/* Takes the oldest item, if it lies in low .. low + span, both included. */
static inline hi_steal steal(hi_deque *d, uintptr_t low, uintptr_t span,
                             uintptr_t *item)
{
    int64_t top = heist_load_relaxed(&d->top); /* relaxed: before-D2 */
    heist_fence_seq_cst(); /* D2: read top, then bottom, in one global order. */
    /* D1: every slot below this bottom is written. */
    int64_t bottom = heist_load_acquire(&d->bottom);
    if (distance(top, bottom) <= 0) return HI_STEAL_EMPTY;

    /* D4: the array that holds slot top, or one that it was copied to. */
    hi_deque_array *a = heist_load_acquire(&d->array);
    /* relaxed: decided-by-D3 */
    uintptr_t oldest = heist_load_relaxed(slot_at(a, top));
    if (oldest - low > span) {
        /* Not an item at all if somebody took it and the slot was reused. */
        bool still = heist_load_relaxed(&d->top) == top; /* relaxed: hint */
        return still ? HI_STEAL_EMPTY : HI_STEAL_RETRY;
    }
    /* D3, D5: read, then won: the only taker, and the slot is free again.
     * kept seq_cst: as in pop. */
    if (!heist_cas_seq_cst(&d->top, &top, moved(top, 1))) return HI_STEAL_RETRY;
    *item = oldest;
    return HI_STEAL_TAKEN;
}

hi_steal hi_deque_steal(hi_deque *d, uintptr_t *item)
{
    return steal(d, 0, UINTPTR_MAX, item);
}

hi_steal hi_deque_steal_range(hi_deque *d, uintptr_t low, uintptr_t high,
                              uintptr_t *item)
{
    if (low >= high) return HI_STEAL_EMPTY;
    return steal(d, low, high - low - 1, item);
}

bool hi_deque_steal_at(hi_deque *d, int64_t place)
{
    /* D3, D5: what was the oldest once leaves by a CAS on top only.
     * kept seq_cst: as in pop. */
    return heist_cas_seq_cst(&d->top, &place, moved(place, 1));
}

bool hi_deque_is_empty(const hi_deque *d)
{
    int64_t top = heist_load_relaxed(&d->top);       /* relaxed: hint */
    int64_t bottom = heist_load_relaxed(&d->bottom); /* relaxed: hint */
    return distance(top, bottom) <= 0;
}

/* With `sure`, what it shows was at that place when it was the oldest. */
static inline uintptr_t look(const hi_deque *d, int64_t *place, bool sure)
{
    for (;;) {
        int64_t top = heist_load_relaxed(&d->top); /* relaxed: before-D2 */
        if (sure) heist_fence_seq_cst();           /* D2: as in steal. */
        /* D1: every slot below this bottom is written. */
        int64_t bottom = heist_load_acquire(&d->bottom);
        if (distance(top, bottom) <= 0) return 0;
        /* D4: the array that holds slot top, or one that it was copied to. */
        hi_deque_array *a = heist_load_acquire(&d->array);
        uintptr_t item =
            heist_load_relaxed(slot_at(a, top)); /* relaxed: hint */
        /* If top was passed meanwhile, growth may have left that slot out, or
         * the owner used it again: that would not be the oldest. */
        *place = top;
        if (heist_load_relaxed(&d->top) == top) return item; /* relaxed: hint */
    }
}

uintptr_t hi_deque_oldest(const hi_deque *d)
{
    int64_t place;
    return look(d, &place, false);
}

uintptr_t hi_deque_peek(const hi_deque *d, int64_t *place)
{
    return look(d, place, true);
}
