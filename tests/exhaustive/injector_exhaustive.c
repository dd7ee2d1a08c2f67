/* SPDX-License-Identifier: MIT
 *
 * The injector's turns where 64-bit numbers end and where they change their
 * sign: every short program of pushes and takes, and every pair of tail and
 * head that a look may meet.
 */
#include "../test.h"

#include "queue/injector.c"

enum {
    OPS = 4,     /* push, take one, take two, take more than there is room */
    PROGRAM = 8, /* calls in a row */
    PROGRAMS = 65536 /* OPS to the power of it */
};

/* The number of the turn `before` turns before an end. */
static uint64_t turn(int end, uint64_t before)
{
    return (end ? (uint64_t)1 << 63 : 0) - before;
}

static void begin_at(hi_injector *q, uint64_t first)
{
    for (uint64_t i = 0; i <= q->mask; i++)
        heist_init(&q->slots[(first + i) & q->mask].sequence, first + i);
    heist_init(&q->tail, first);
    heist_init(&q->head, first);
}

static void run_program(hi_injector *q, unsigned program, uint64_t first)
{
    uintptr_t model[PROGRAM], got[8], next = 1;
    size_t oldest = 0, newest = 0;
    begin_at(q, first);
    for (int i = 0; i < PROGRAM; i++, program /= OPS) {
        size_t max = program % OPS == 3 ? 6 : program % OPS;
        size_t there = newest - oldest;
        if (max == 0) {
            bool room = there <= q->mask;
            CHECK_EQ(hi_injector_push(q, next), room);
            if (room) model[newest++] = next++;
        } else {
            size_t n = max < there ? max : there;
            CHECK_EQ(hi_injector_take(q, got, max), n);
            for (size_t k = 0; k < n; k++)
                CHECK_EQ(got[k], model[oldest++]);
        }
        CHECK_EQ(hi_injector_length(q), newest - oldest);
    }
}

TEST(every_short_program_is_right_across_the_end_of_the_turns)
{
    for (size_t capacity = 2; capacity <= 4; capacity *= 2) {
        hi_injector q;
        CHECK_EQ(hi_injector_init(&q, capacity, NULL), 0);
        for (int end = 0; end < 2; end++)
            for (uint64_t before = 0; before <= 4; before++)
                for (unsigned p = 0; p < PROGRAMS; p++)
                    run_program(&q, p, turn(end, before));
        hi_injector_fini(&q);
    }
}

/* A look reads tail first and head later, so head may have passed that tail, or
 * tail may be more than a round ahead of what is left. */
TEST(length_is_between_nothing_and_all)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 4, NULL), 0);
    for (int end = 0; end < 2; end++) {
        for (int64_t t = -20; t <= 20; t++) {
            for (int64_t h = -20; h <= 20; h++) {
                heist_init(&q.tail, turn(end, (uint64_t)t));
                heist_init(&q.head, turn(end, (uint64_t)h));
                int64_t n = h - t;
                CHECK_EQ(hi_injector_length(&q), n < 0 ? 0 : n > 4 ? 4 : n);
                CHECK_EQ(hi_injector_is_empty(&q), n <= 0);
            }
        }
    }
    hi_injector_fini(&q);
}

/* What `published` says of every turn that a slot can be at. */
TEST(a_slot_is_published_at_its_turn_only)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 2, NULL), 0);
    for (int end = 0; end < 2; end++) {
        for (uint64_t before = 0; before <= 8; before++) {
            uint64_t head = turn(end, before);
            for (int64_t ahead = -8; ahead <= 8; ahead++) {
                heist_init(&q.slots[head & q.mask].sequence,
                           head + 1 + (uint64_t)ahead);
                int64_t n = published(&q, head, 1);
                CHECK_EQ(n, ahead > 0 ? -1 : ahead == 0);
            }
        }
    }
    hi_injector_fini(&q);
}
