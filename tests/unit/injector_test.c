/* SPDX-License-Identifier: MIT */
#include "queue/injector.h"

#include "../test.h"

#include <errno.h>

static void push_numbers(hi_injector *q, uintptr_t from, uintptr_t to)
{
    for (uintptr_t i = from; i <= to; i++)
        CHECK(hi_injector_push(q, i));
}

/* Takes max at most and wants the numbers from .. to. */
static void take_numbers(hi_injector *q, size_t max, uintptr_t from,
                         uintptr_t to)
{
    uintptr_t items[64] = {0};
    CHECK_EQ(hi_injector_take(q, items, max), to + 1 - from);
    for (uintptr_t i = from; i <= to; i++)
        CHECK_EQ(items[i - from], i);
    CHECK_EQ(items[to + 1 - from], 0);
}

static void take_nothing(hi_injector *q, size_t max)
{
    take_numbers(q, max, 1, 0);
}

TEST(a_new_injector_is_empty)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 8, NULL), 0);
    CHECK(hi_injector_is_empty(&q));
    CHECK_EQ(hi_injector_length(&q), 0);
    take_nothing(&q, 8);
    hi_injector_fini(&q);
}

TEST(take_gives_the_oldest_first)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 8, NULL), 0);
    push_numbers(&q, 1, 5);
    for (uintptr_t i = 1; i <= 5; i++)
        take_numbers(&q, 1, i, i);
    take_nothing(&q, 1);
    CHECK(hi_injector_is_empty(&q));
    hi_injector_fini(&q);
}

TEST(a_batch_is_as_much_as_there_is_and_no_more_than_asked)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 8, NULL), 0);
    push_numbers(&q, 1, 8);
    take_nothing(&q, 0);
    take_numbers(&q, 3, 1, 3);
    CHECK_EQ(hi_injector_length(&q), 5);
    take_numbers(&q, 50, 4, 8);
    CHECK_EQ(hi_injector_length(&q), 0);
    push_numbers(&q, 9, 16);
    take_numbers(&q, 50, 9, 16);
    take_nothing(&q, 50);
    hi_injector_fini(&q);
}

TEST(a_full_injector_refuses_and_keeps_what_it_has)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 4, NULL), 0);
    push_numbers(&q, 1, 4);
    for (int i = 0; i < 3; i++)
        CHECK(!hi_injector_push(&q, 99));
    CHECK_EQ(hi_injector_length(&q), 4);
    take_numbers(&q, 1, 1, 1);
    push_numbers(&q, 5, 5);
    CHECK(!hi_injector_push(&q, 99));
    take_numbers(&q, 9, 2, 5);
    hi_injector_fini(&q);
}

TEST(capacity_is_rounded_up_to_a_power_of_two_at_least_two)
{
    static const size_t asked[] = {0, 1, 2, 3, 5, 8, 9};
    static const size_t given[] = {2, 2, 2, 4, 8, 8, 16};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        hi_injector q;
        CHECK_EQ(hi_injector_init(&q, asked[i], NULL), 0);
        push_numbers(&q, 1, given[i]);
        CHECK(!hi_injector_push(&q, 99));
        hi_injector_fini(&q);
    }
}

TEST(the_ring_goes_round_many_times)
{
    for (size_t capacity = 2; capacity <= 16; capacity *= 2) {
        hi_injector q;
        uintptr_t in = 0, out = 0;
        CHECK_EQ(hi_injector_init(&q, capacity, NULL), 0);
        for (size_t round = 0; round < 1000; round++) {
            size_t n = round % capacity + 1;
            push_numbers(&q, in + 1, in + n);
            in += n;
            CHECK(!hi_injector_is_empty(&q));
            take_numbers(&q, capacity, out + 1, in);
            out = in;
            CHECK(hi_injector_is_empty(&q));
        }
        hi_injector_fini(&q);
    }
}

/* A push that was interrupted between its claim and its publication is played
 * by moving tail as its CAS does. */
TEST(an_item_behind_a_half_finished_push_is_not_denied)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 8, NULL), 0);
    heist_add_relaxed(&q.tail, 1u); /* relaxed: init */
    push_numbers(&q, 1, 1);
    take_nothing(&q, 8);
    CHECK(!hi_injector_is_empty(&q));
    CHECK_EQ(hi_injector_length(&q), 2);
    hi_injector_fini(&q);
}

TEST(a_batch_ends_before_a_half_finished_push)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 8, NULL), 0);
    push_numbers(&q, 1, 2);
    heist_add_relaxed(&q.tail, 1u); /* relaxed: init */
    push_numbers(&q, 3, 4);
    take_numbers(&q, 8, 1, 2);
    take_nothing(&q, 8);
    CHECK(!hi_injector_is_empty(&q));
    hi_injector_fini(&q);
}

static size_t blocks, block_bytes;

static void *counting_alloc(void *user, size_t bytes, size_t align)
{
    if (!*(bool *)user) return NULL;
    void *p = NULL;
    CHECK_EQ(posix_memalign(&p, align, bytes), 0);
    memset(p, 0xa5, bytes);
    blocks++;
    block_bytes = bytes;
    return p;
}

static void counting_free(void *user, void *p, size_t bytes)
{
    (void)user;
    CHECK_EQ(bytes, block_bytes);
    blocks--;
    free(p);
}

TEST(memory_comes_from_the_allocator_and_goes_back_to_it)
{
    bool willing = false;
    heist_allocator a = {counting_alloc, counting_free, &willing};
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, 4, &a), -ENOMEM);
    willing = true;
    CHECK_EQ(hi_injector_init(&q, 4, &a), 0);
    CHECK_EQ(blocks, 1);
    push_numbers(&q, 1, 4);
    take_numbers(&q, 4, 1, 4);
    hi_injector_fini(&q);
    CHECK_EQ(blocks, 0);
}

TEST(a_capacity_beyond_memory_says_enomem)
{
    hi_injector q;
    CHECK_EQ(hi_injector_init(&q, SIZE_MAX, NULL), -ENOMEM);
    CHECK_EQ(hi_injector_init(&q, SIZE_MAX / 2 + 1, NULL), -ENOMEM);
}

TEST(random_operations_agree_with_a_counter)
{
    uint64_t random = test_seed;
    printf("seed %llu\n", (unsigned long long)test_seed);
    for (int round = 0; round < 200; round++) {
        hi_injector q;
        size_t capacity = (size_t)2 << test_random(&random) % 5;
        uintptr_t in = 0, out = 0; /* items are their own numbers */
        CHECK_EQ(hi_injector_init(&q, capacity, NULL), 0);
        for (int i = 0; i < 2000; i++) {
            uint64_t r = test_random(&random);
            size_t max = (r >> 8) % 40;
            size_t n = in - out < max ? in - out : max;
            if (r % 8 < ((i / 100) % 2 ? 4 : 7)) {
                bool room = in - out < capacity;
                CHECK_EQ(hi_injector_push(&q, in + 1), room);
                in += room;
            } else {
                take_numbers(&q, max, out + 1, out + n);
                out += n;
            }
            CHECK_EQ(hi_injector_length(&q), in - out);
            CHECK_EQ(hi_injector_is_empty(&q), in == out);
        }
        hi_injector_fini(&q);
    }
}
