/* SPDX-License-Identifier: MIT
 *
 * injector.c: a bounded queue from many threads to many, after Vyukov: each
 * slot carries a number that says whose turn it is.
 *
 *      head                     tail
 *       v                        v
 *      [ published | claimed | published |  free .. ]    slot = index & mask
 *
 *      sequence of slot i & mask:   i              free for push i
 *                                   i + 1          published for take i
 *                                   i + capacity   free for the next round
 *
 * Invariants
 *   I1  head <= tail <= head + capacity as one sees them; neither decreases.
 *   I2  the CAS on tail gives index i to one push, the CAS on head to one take.
 *   I3  between its claim and its store to the sequence a thread is the only
 *       one to touch the item of its slot, so the item is a plain word.
 *   I4  a slot that was published at head stays so while head has not moved:
 *       one CAS may claim a whole row of slots that were seen published.
 *
 * Edges
 *   J1  push release sequence -> take acquire sequence   the item is visible
 *   J2  take release sequence -> push acquire sequence   the item has been read
 *   J3  take release head -> is_empty, then the fence of hi_sleep_all_idle: who
 *       finds it empty sees that the taker is awake (stop, src/core/runtime.c)
 *
 * Full: push reports it when its slot still holds the item of the round before,
 * or when the take that claimed that item has not finished reading it.  The
 * second is room in the making: when that take returns there is room.
 *
 * Empty: is_empty counts claims, not publications.  An item whose push has
 * returned may lie behind a push that has claimed its slot and not published
 * it; take cannot reach it yet, but is_empty does not deny it.  So a thread
 * that announces its sleep, fences (seq_cst) and then looks sees every item
 * whose pusher fenced after the push, earlier in the one order of fences: the
 * pusher's CAS on tail comes before its fence, our load after ours, and head
 * reaches tail only when every index below has its taker.  The other order of
 * the fences lets the pusher see the announcement, and it notifies.  A push
 * still between its claim and its publication will come to that point later;
 * whoever sees its claim and takes nothing looks again instead of sleeping.
 */
#include "queue/injector.h"

#include "queue/memory.h"

#include <errno.h>

struct hi_injector_slot {
    HEIST_ATOMIC(uint64_t) sequence; /* edges J1, J2 */
    uintptr_t item;                  /* I3 */
};

int hi_injector_init(hi_injector *q, size_t capacity,
                     const heist_allocator *allocator)
{
    /* With one slot "published" and "free for the next round" are the same. */
    size_t n = hi_round_up(capacity, 2);
    if (!n || n > SIZE_MAX / sizeof *q->slots) return -ENOMEM;
    q->slots = hi_alloc(allocator, n * sizeof *q->slots, HEIST_LINE);
    if (!q->slots) return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        heist_init(&q->slots[i].sequence, i);
    q->mask = n - 1;
    q->allocator = allocator;
    heist_init(&q->tail, 0);
    heist_init(&q->head, 0);
    return 0;
}

void hi_injector_fini(hi_injector *q)
{
    size_t n = (size_t)q->mask + 1;
    hi_free(q->allocator, q->slots, n * sizeof *q->slots);
    q->slots = NULL;
}

bool hi_injector_push(hi_injector *q, uintptr_t item)
{
    uint64_t tail = heist_load_relaxed(&q->tail); /* relaxed: hint */
    for (;;) {
        hi_injector_slot *s = &q->slots[tail & q->mask];
        /* J2: the item of the round before has been read. */
        uint64_t turn = heist_load_acquire(&s->sequence);
        int64_t ahead = (int64_t)(turn - tail);
        if (ahead < 0) return false;
        if (ahead > 0) {
            tail = heist_load_relaxed(&q->tail); /* relaxed: hint */
            continue;
        }
        /* relaxed: before-J1 */
        if (!heist_cas_relaxed(&q->tail, &tail, tail + 1)) continue;
        s->item = item;
        /* J1: the item, then its takers' turn. */
        heist_store_release(&s->sequence, tail + 1);
        return true;
    }
}

/* How many slots from head on, at most max, are published: -1 when head is out
 * of date.  A full ring ends the count where it began, one round behind. */
static int64_t published(const hi_injector *q, uint64_t head, uint64_t max)
{
    uint64_t n = 0;
    for (; n < max; n++) {
        const hi_injector_slot *s = &q->slots[(head + n) & q->mask];
        /* J1: its turn has come: the item is there to be read. */
        uint64_t turn = heist_load_acquire(&s->sequence);
        int64_t ahead = (int64_t)(turn - (head + n + 1));
        if (ahead > 0) return -1;
        if (ahead < 0) break;
    }
    return (int64_t)n;
}

size_t hi_injector_take(hi_injector *q, uintptr_t *items, size_t max)
{
    uint64_t head = heist_load_relaxed(&q->head); /* relaxed: hint */
    for (;;) {
        int64_t n = published(q, head, max);
        if (n == 0) return 0;
        if (n < 0) {
            head = heist_load_relaxed(&q->head); /* relaxed: hint */
            continue;
        }
        uint64_t end = head + (uint64_t)n;
        /* J3: who has them was awake before. */
        if (!heist_cas_release(&q->head, &head, end)) continue;
        for (uint64_t i = head; i != end; i++) {
            hi_injector_slot *s = &q->slots[i & q->mask];
            items[i - head] = s->item;
            /* J2: we have read it: the slot is free for the next round. */
            heist_store_release(&s->sequence, i + q->mask + 1);
        }
        return (size_t)n;
    }
}

size_t hi_injector_length(const hi_injector *q)
{
    uint64_t tail = heist_load_relaxed(&q->tail); /* relaxed: hint */
    uint64_t head = heist_load_relaxed(&q->head); /* relaxed: hint */
    int64_t n = (int64_t)(tail - head);
    if (n < 0) return 0; /* takers passed the tail that we saw */
    return (uint64_t)n <= q->mask ? (size_t)n : (size_t)q->mask + 1;
}

bool hi_injector_is_empty(const hi_injector *q)
{
    return hi_injector_length(q) == 0;
}
