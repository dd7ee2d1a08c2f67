/* SPDX-License-Identifier: MIT
 *
 * The deque's index arithmetic for every small step around every place where
 * integers end, under UBSan; and every short program of push, pop and steal
 * there, against an array.
 */
#include "../test.h"

#include "queue/deque.c"

/* Where integers of some width end. */
static const int64_t ends[] = {
    0,         (int64_t)1 << 31, (int64_t)1 << 32,    (int64_t)1 << 62,
    INT64_MAX, INT64_MIN,        -((int64_t)1 << 31), -((int64_t)1 << 62),
};

enum {
    ENDS = sizeof ends / sizeof ends[0],
    NEAR = 300,      /* indices this side and that side of an end */
    STEP = 300,      /* and steps from there */
    PROGRAM = 9,     /* calls in a row */
    PROGRAMS = 19683 /* 3 to the power of it */
};

__extension__ typedef __int128 wide;

/* a + b with as many bits as it takes, then brought back into 64. */
static int64_t wrapped(wide a, wide b)
{
    wide sum = a + b, round = (wide)1 << 64;
    if (sum > INT64_MAX) sum -= round;
    if (sum < INT64_MIN) sum += round;
    return (int64_t)sum;
}

TEST(moved_and_distance_are_inverse_around_every_end)
{
    for (int e = 0; e < ENDS; e++) {
        for (int64_t n = -NEAR; n <= NEAR; n++) {
            int64_t index = wrapped(ends[e], n);
            for (int64_t by = -STEP; by <= STEP; by++) {
                int64_t to = moved(index, by);
                CHECK_EQ(to, wrapped(index, by));
                CHECK_EQ(distance(index, to), by);
                CHECK_EQ(distance(to, index), -by);
            }
        }
    }
}

TEST(moved_and_distance_hold_for_all_pairs_of_ends)
{
    for (int a = 0; a < ENDS; a++) {
        for (int b = 0; b < ENDS; b++) {
            for (int64_t n = -4; n <= 4; n++) {
                int64_t by = wrapped(ends[b], n);
                CHECK_EQ(moved(ends[a], by), wrapped(ends[a], by));
                CHECK_EQ(distance(ends[a], moved(ends[a], by)), by);
            }
        }
    }
}

/* capacity indices in a row have each a slot of their own, the next round has
 * the same ones, and all are inside. */
TEST(a_row_of_indices_has_each_its_slot)
{
    for (size_t capacity = 1; capacity <= 512; capacity *= 2) {
        hi_deque_array *a = array_create(NULL, capacity, NULL);
        CHECK(a != NULL);
        for (int e = 0; e < ENDS; e++) {
            int64_t first = wrapped(ends[e], -(int64_t)capacity / 2);
            for (size_t i = 0; i < capacity; i++) {
                deque_slot *s = slot_at(a, moved(first, (int64_t)i));
                CHECK(s >= a->slots && s < a->slots + capacity);
                CHECK_EQ(s - a->slots,
                         ((uint64_t)first + i) % (uint64_t)capacity);
                CHECK(s == slot_at(a, moved(first, (int64_t)(i + capacity))));
            }
        }
        hi_free(NULL, a, array_bytes(capacity));
    }
}

/* --- sizes ------------------------------------------------------------------ */

static size_t asked;

static void *ask(void *user, size_t bytes, size_t align)
{
    (void)user, (void)align;
    asked = bytes;
    return NULL;
}

static void never(void *user, void *p, size_t bytes)
{
    (void)user, (void)p, (void)bytes;
    CHECK(false);
}

TEST(an_array_too_large_is_refused_before_its_size_overflows)
{
    const heist_allocator teller = {.alloc = ask, .free = never};
    for (int k = 0; k <= 64; k++) {
        size_t capacity = k < 64 ? (size_t)1 << k : 0;
        wide bytes = (wide)capacity * 8 + 16;
        asked = 0;
        CHECK(array_create(&teller, capacity, NULL) == NULL);
        CHECK_EQ(asked, capacity && bytes <= SIZE_MAX ? (size_t)bytes : 0);
    }
}

/* --- every short program ------------------------------------------------------ */

static void run_program(unsigned program, size_t capacity, int64_t first)
{
    uintptr_t model[PROGRAM], item, next = 1;
    size_t oldest = 0, newest = 0;
    hi_deque d;
    CHECK_EQ(hi_deque_init(&d, capacity, first, NULL), 0);
    for (int i = 0; i < PROGRAM; i++, program /= 3) {
        bool any = newest > oldest;
        switch (program % 3) {
        case 0:
            CHECK_EQ(hi_deque_push(&d, next), 0);
            model[newest++] = next++;
            break;
        case 1: CHECK_EQ(hi_deque_pop(&d), any ? model[--newest] : 0); break;
        case 2:
            CHECK_EQ(hi_deque_steal(&d, &item),
                     any ? HI_STEAL_TAKEN : HI_STEAL_EMPTY);
            if (any) CHECK_EQ(item, model[oldest++]);
            break;
        }
        CHECK_EQ(hi_deque_is_empty(&d), newest == oldest);
        CHECK_EQ(hi_deque_oldest(&d), newest > oldest ? model[oldest] : 0);
    }
    hi_deque_fini(&d);
}

TEST(every_short_program_is_right_wherever_it_begins)
{
    const int64_t firsts[] = {
        0, INT64_MAX - 3, INT64_MAX - 1, INT64_MAX, INT64_MIN, -1, -4};
    for (unsigned p = 0; p < PROGRAMS; p++)
        for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++)
            run_program(p, 1 + p % 2, firsts[f]);
}
