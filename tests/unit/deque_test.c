/* SPDX-License-Identifier: MIT */
#include "queue/deque.h"

#include "queue/memory.h"

#include "../test.h"

#include <errno.h>

/* Where the indices of a deque may begin without its caring. */
static const int64_t firsts[] = {
    0, 1, ((int64_t)1 << 32) - 4, INT64_MAX - 3, INT64_MAX, INT64_MIN, -3,
};

enum {
    FIRSTS = sizeof firsts / sizeof firsts[0]
};

/* An allocator that counts, hands out dirty memory, checks what it gets back,
 * and fails once `allowed` allocations have been made. */
struct ledger {
    heist_allocator allocator;
    size_t blocks, bytes; /* out at this moment */
    size_t freed;         /* blocks that came back */
    size_t allowed;
};

static void *ledger_alloc(void *user, size_t bytes, size_t align)
{
    struct ledger *l = user;
    if (!l->allowed) return NULL;
    l->allowed--;
    void *p = NULL;
    CHECK_EQ(posix_memalign(&p, align, bytes), 0);
    memset(p, 0xa5, bytes);
    l->blocks++;
    l->bytes += bytes;
    return p;
}

static void ledger_free(void *user, void *p, size_t bytes)
{
    struct ledger *l = user;
    CHECK(l->blocks > 0 && l->bytes >= bytes);
    l->blocks--;
    l->bytes -= bytes;
    l->freed++;
    free(p);
}

static void ledger_init(struct ledger *l, size_t allowed)
{
    memset(l, 0, sizeof *l);
    l->allocator.alloc = ledger_alloc;
    l->allocator.free = ledger_free;
    l->allocator.user = l;
    l->allowed = allowed;
}

static void push_numbers(hi_deque *d, uintptr_t from, uintptr_t to)
{
    for (uintptr_t i = from; i <= to; i++)
        CHECK_EQ(hi_deque_push(d, i), 0);
}

static void check_empty(hi_deque *d)
{
    uintptr_t item = 99;
    CHECK(hi_deque_is_empty(d));
    CHECK_EQ(hi_deque_pop(d), 0);
    CHECK_EQ(hi_deque_steal(d, &item), HI_STEAL_EMPTY);
    CHECK_EQ(item, 99);
    CHECK(hi_deque_is_empty(d));
}

TEST(steal_takes_the_oldest)
{
    hi_deque d;
    uintptr_t item = 0;
    CHECK_EQ(hi_deque_init(&d, 8, 0, NULL), 0);
    push_numbers(&d, 1, 3);
    for (uintptr_t i = 1; i <= 3; i++) {
        CHECK(!hi_deque_is_empty(&d));
        CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
        CHECK_EQ(item, i);
    }
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(pop_takes_the_newest)
{
    hi_deque d;
    CHECK_EQ(hi_deque_init(&d, 8, 0, NULL), 0);
    push_numbers(&d, 1, 3);
    for (uintptr_t i = 3; i >= 1; i--) {
        CHECK(!hi_deque_is_empty(&d));
        CHECK_EQ(hi_deque_pop(&d), i);
    }
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(pop_of_an_empty_deque_changes_nothing_at_any_index)
{
    for (int f = 0; f < FIRSTS; f++) {
        hi_deque d;
        uintptr_t item = 0;
        CHECK_EQ(hi_deque_init(&d, 2, firsts[f], NULL), 0);
        for (int i = 0; i < 3; i++)
            check_empty(&d);
        push_numbers(&d, 7, 8);
        CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
        CHECK_EQ(item, 7);
        CHECK_EQ(hi_deque_pop(&d), 8);
        check_empty(&d);
        hi_deque_fini(&d);
    }
}

TEST(an_item_pushed_after_the_last_was_popped_is_not_lost)
{
    for (int f = 0; f < FIRSTS; f++) {
        hi_deque d;
        CHECK_EQ(hi_deque_init(&d, 4, firsts[f], NULL), 0);
        for (uintptr_t i = 1; i <= 20; i++) {
            CHECK_EQ(hi_deque_push(&d, i), 0);
            CHECK_EQ(hi_deque_pop(&d), i);
            CHECK_EQ(hi_deque_pop(&d), 0);
        }
        hi_deque_fini(&d);
    }
}

TEST(the_ring_is_reused_without_growing)
{
    struct ledger l;
    ledger_init(&l, 1);
    for (int f = 0; f < FIRSTS; f++) {
        hi_deque d;
        uintptr_t item = 0, next = 1;
        l.allowed = 1;
        CHECK_EQ(hi_deque_init(&d, 4, firsts[f], &l.allocator), 0);
        push_numbers(&d, 1, 4);
        for (uintptr_t i = 5; i <= 50; i++) {
            CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
            CHECK_EQ(item, next++);
            CHECK_EQ(hi_deque_push(&d, i), 0);
        }
        hi_deque_fini(&d);
    }
    CHECK_EQ(l.blocks, 0);
}

TEST(growth_keeps_every_item_in_its_place)
{
    for (int f = 0; f < FIRSTS; f++) {
        for (uintptr_t gone = 0; gone <= 2; gone++) {
            hi_deque d;
            uintptr_t item = 0;
            CHECK_EQ(hi_deque_init(&d, 2, firsts[f], NULL), 0);
            push_numbers(&d, 1, 2);
            for (uintptr_t i = 1; i <= gone; i++)
                CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
            push_numbers(&d, 3, 100);
            for (uintptr_t i = gone + 1; i <= 50; i++) {
                CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
                CHECK_EQ(item, i);
            }
            for (uintptr_t i = 100; i > 50; i--)
                CHECK_EQ(hi_deque_pop(&d), i);
            check_empty(&d);
            hi_deque_fini(&d);
        }
    }
}

TEST(a_deque_of_one_slot_works)
{
    hi_deque d;
    uintptr_t item = 0;
    CHECK_EQ(hi_deque_init(&d, 0, 0, NULL), 0);
    check_empty(&d);
    push_numbers(&d, 1, 3);
    CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
    CHECK_EQ(item, 1);
    CHECK_EQ(hi_deque_pop(&d), 3);
    CHECK_EQ(hi_deque_pop(&d), 2);
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(capacity_is_rounded_up_to_a_power_of_two)
{
    static const size_t asked[] = {1, 2, 3, 5, 8, 100};
    static const uintptr_t given[] = {1, 2, 4, 8, 8, 128};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct ledger l;
        hi_deque d;
        ledger_init(&l, 1);
        CHECK_EQ(hi_deque_init(&d, asked[i], 0, &l.allocator), 0);
        push_numbers(&d, 1, given[i]);
        CHECK_EQ(hi_deque_push(&d, 1000), -ENOMEM);
        hi_deque_fini(&d);
    }
}

TEST(outgrown_arrays_are_kept_until_the_deque_ends)
{
    struct ledger l;
    hi_deque d;
    ledger_init(&l, 100);
    CHECK_EQ(hi_deque_init(&d, 2, 0, &l.allocator), 0);
    push_numbers(&d, 1, 64);
    CHECK_EQ(l.blocks, 6); /* 2, 4, 8, 16, 32, 64 */
    while (hi_deque_pop(&d))
        continue;
    CHECK_EQ(l.freed, 0);
    hi_deque_fini(&d);
    CHECK_EQ(l.freed, 6);
    CHECK_EQ(l.blocks, 0);
    CHECK_EQ(l.bytes, 0);
}

TEST(room_is_what_can_be_pushed_before_it_grows)
{
    for (int i = 0; i < FIRSTS; i++) {
        hi_deque d;
        struct ledger l;
        uintptr_t item;
        ledger_init(&l, 1);
        CHECK_EQ(hi_deque_init(&d, 4, firsts[i], &l.allocator), 0);
        for (size_t room = 4; room > 0; room--) {
            CHECK_EQ(hi_deque_room(&d), room);
            CHECK_EQ(hi_deque_push(&d, 1), 0);
        }
        CHECK_EQ(hi_deque_room(&d), 0);
        CHECK_EQ(hi_deque_push(&d, 1), -ENOMEM);
        CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
        CHECK_EQ(hi_deque_room(&d), 1);
        hi_deque_fini(&d);
    }
}

TEST(failed_growth_says_enomem_and_changes_nothing)
{
    struct ledger l;
    hi_deque d;
    ledger_init(&l, 1);
    CHECK_EQ(hi_deque_init(&d, 4, INT64_MAX - 1, &l.allocator), 0);
    push_numbers(&d, 1, 4);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(hi_deque_push(&d, 5), -ENOMEM);
    uintptr_t item = 0;
    CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
    CHECK_EQ(item, 1);
    push_numbers(&d, 5, 5);
    CHECK_EQ(hi_deque_push(&d, 6), -ENOMEM);
    l.allowed = 1;
    push_numbers(&d, 6, 9);
    CHECK_EQ(hi_deque_push(&d, 10), -ENOMEM);
    for (uintptr_t i = 9; i >= 2; i--)
        CHECK_EQ(hi_deque_pop(&d), i);
    check_empty(&d);
    hi_deque_fini(&d);
    CHECK_EQ(l.blocks, 0);
}

TEST(init_without_memory_says_enomem)
{
    struct ledger l;
    hi_deque d;
    ledger_init(&l, 0);
    CHECK_EQ(hi_deque_init(&d, 4, 0, &l.allocator), -ENOMEM);
    CHECK_EQ(hi_deque_init(&d, SIZE_MAX, 0, NULL), -ENOMEM);
    CHECK_EQ(hi_deque_init(&d, SIZE_MAX / 2 + 1, 0, NULL), -ENOMEM);
    CHECK_EQ(l.blocks, 0);
}

TEST(pop_if_pops_the_newest_only_if_it_is_that_one)
{
    hi_deque d;
    CHECK_EQ(hi_deque_init(&d, 4, 0, NULL), 0);
    CHECK(!hi_deque_pop_if(&d, 1));
    push_numbers(&d, 1, 3);
    CHECK(!hi_deque_pop_if(&d, 1));
    CHECK(!hi_deque_pop_if(&d, 2));
    CHECK(hi_deque_pop_if(&d, 3));
    CHECK(!hi_deque_pop_if(&d, 3));
    CHECK(hi_deque_pop_if(&d, 2));
    CHECK_EQ(hi_deque_pop(&d), 1);
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(pop_if_does_not_pop_what_a_thief_took)
{
    for (int f = 0; f < FIRSTS; f++) {
        hi_deque d;
        uintptr_t item = 0;
        CHECK_EQ(hi_deque_init(&d, 4, firsts[f], NULL), 0);
        push_numbers(&d, 1, 2);
        CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
        CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
        CHECK(!hi_deque_pop_if(&d, 2));
        CHECK(!hi_deque_pop_if(&d, 1));
        push_numbers(&d, 3, 3);
        CHECK(!hi_deque_pop_if(&d, 2));
        CHECK(hi_deque_pop_if(&d, 3));
        check_empty(&d);
        hi_deque_fini(&d);
    }
}

TEST(what_was_seen_is_taken_at_its_place_or_not_at_all)
{
    hi_deque d;
    uintptr_t item;
    int64_t place = 0, next = 0;
    CHECK_EQ(hi_deque_init(&d, 4, INT64_MAX, NULL), 0);
    CHECK_EQ(hi_deque_peek(&d, &place), 0);
    push_numbers(&d, 10, 11);
    CHECK_EQ(hi_deque_push(&d, 10), 0);
    CHECK_EQ(hi_deque_peek(&d, &place), 10);
    CHECK(hi_deque_steal_at(&d, place));
    CHECK(!hi_deque_steal_at(&d, place));
    CHECK_EQ(hi_deque_peek(&d, &next), 11);
    CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
    CHECK(!hi_deque_steal_at(&d, next));
    CHECK_EQ(hi_deque_oldest(&d), 10); /* the same item at another place */
    CHECK(!hi_deque_steal_at(&d, place));
    CHECK_EQ(hi_deque_pop(&d), 10);
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(steal_range_takes_only_an_item_in_its_range)
{
    hi_deque d;
    uintptr_t item = 99;
    CHECK_EQ(hi_deque_init(&d, 4, INT64_MAX, NULL), 0);
    CHECK_EQ(hi_deque_steal_range(&d, 0, UINTPTR_MAX, &item), HI_STEAL_EMPTY);
    push_numbers(&d, 10, 12);
    CHECK_EQ(hi_deque_steal_range(&d, 11, 13, &item), HI_STEAL_EMPTY);
    CHECK_EQ(hi_deque_steal_range(&d, 1, 10, &item), HI_STEAL_EMPTY);
    CHECK_EQ(hi_deque_steal_range(&d, 10, 10, &item), HI_STEAL_EMPTY);
    CHECK_EQ(hi_deque_steal_range(&d, 11, 10, &item), HI_STEAL_EMPTY);
    CHECK_EQ(item, 99);
    CHECK_EQ(hi_deque_steal_range(&d, 10, 11, &item), HI_STEAL_TAKEN);
    CHECK_EQ(item, 10);
    CHECK_EQ(hi_deque_steal_range(&d, 1, 12, &item), HI_STEAL_TAKEN);
    CHECK_EQ(item, 11);
    CHECK_EQ(hi_deque_pop(&d), 12);
    check_empty(&d);
    hi_deque_fini(&d);
}

TEST(a_look_at_the_oldest_leaves_it_there)
{
    for (int f = 0; f < FIRSTS; f++) {
        hi_deque d;
        uintptr_t item = 0;
        CHECK_EQ(hi_deque_init(&d, 2, firsts[f], NULL), 0);
        CHECK_EQ(hi_deque_oldest(&d), 0);
        push_numbers(&d, 1, 5);
        for (uintptr_t i = 1; i <= 5; i++) {
            CHECK_EQ(hi_deque_oldest(&d), i);
            CHECK_EQ(hi_deque_oldest(&d), i);
            CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
            CHECK_EQ(item, i);
        }
        CHECK_EQ(hi_deque_oldest(&d), 0);
        hi_deque_fini(&d);
    }
}

TEST(every_word_but_zero_may_be_an_item)
{
    hi_deque d;
    uintptr_t item = 0;
    CHECK_EQ(hi_deque_init(&d, 4, 0, NULL), 0);
    CHECK_EQ(hi_deque_push(&d, UINTPTR_MAX), 0);
    CHECK_EQ(hi_deque_push(&d, UINTPTR_MAX), 0);
    CHECK_EQ(hi_deque_steal(&d, &item), HI_STEAL_TAKEN);
    CHECK(item == UINTPTR_MAX);
    CHECK(hi_deque_pop(&d) == UINTPTR_MAX);
    hi_deque_fini(&d);
}

/* A deque that is plainly right: items move along an array. */
enum {
    MODEL_SIZE = 512
};

struct model {
    uintptr_t items[MODEL_SIZE];
    size_t n;
};

static uintptr_t model_pop(struct model *m)
{
    return m->n ? m->items[--m->n] : 0;
}

static uintptr_t model_steal(struct model *m)
{
    if (!m->n) return 0;
    uintptr_t item = m->items[0];
    memmove(m->items, m->items + 1, --m->n * sizeof m->items[0]);
    return item;
}

/* wanted is 0 for nothing. */
static void check_theft(hi_steal result, const uintptr_t *item,
                        uintptr_t wanted)
{
    CHECK_EQ(result, wanted ? HI_STEAL_TAKEN : HI_STEAL_EMPTY);
    if (wanted) CHECK_EQ(*item, wanted);
}

/* One random operation on both; items are small so that pop_if and
 * steal_range are right about as often as wrong. */
static void step_both(hi_deque *d, struct model *m, uint64_t *random, bool rise)
{
    uint64_t r = test_random(random);
    uintptr_t number = (r >> 8) % 4 + 1, item = 0;
    uintptr_t oldest = m->n ? m->items[0] : 0;
    uintptr_t newest = m->n ? m->items[m->n - 1] : 0;
    switch (r % (rise ? 12 : 8)) {
    case 0: CHECK_EQ(hi_deque_pop(d), model_pop(m)); break;
    case 1:
    case 2: check_theft(hi_deque_steal(d, &item), &item, model_steal(m)); break;
    case 3:
        CHECK_EQ(hi_deque_pop_if(d, number), newest == number);
        if (newest == number) model_pop(m);
        break;
    case 4: {
        bool in = oldest >= number && oldest < number + 2;
        hi_steal s = hi_deque_steal_range(d, number, number + 2, &item);
        check_theft(s, &item, in ? model_steal(m) : 0);
        break;
    }
    case 5: CHECK_EQ(hi_deque_is_empty(d), m->n == 0); break;
    default:
        if (m->n == MODEL_SIZE) break;
        CHECK_EQ(hi_deque_push(d, number), 0);
        m->items[m->n++] = number;
    }
}

TEST(random_operations_agree_with_a_plain_array)
{
    uint64_t random = test_seed;
    printf("seed %llu\n", (unsigned long long)test_seed);
    for (int round = 0; round < 280; round++) {
        hi_deque d;
        struct model m = {.n = 0};
        size_t capacity = test_random(&random) % 9;
        CHECK_EQ(hi_deque_init(&d, capacity, firsts[round % FIRSTS], NULL), 0);
        for (int i = 0; i < 2000; i++)
            step_both(&d, &m, &random, (i / 200) % 2 == 0);
        while (m.n)
            CHECK_EQ(hi_deque_pop(&d), model_pop(&m));
        check_empty(&d);
        hi_deque_fini(&d);
    }
}

TEST(memory_is_zeroed_and_aligned_whoever_gives_it)
{
    struct ledger l;
    ledger_init(&l, 100);
    const heist_allocator none = {NULL, NULL, NULL};
    const heist_allocator *from[] = {NULL, &none, &l.allocator};
    for (int f = 0; f < 3; f++) {
        for (size_t align = 8; align <= 4096; align *= 8) {
            unsigned char *p = hi_alloc(from[f], 1000, align);
            CHECK(p != NULL);
            CHECK_EQ((uintptr_t)p % align, 0);
            for (int i = 0; i < 1000; i++)
                CHECK_EQ(p[i], 0);
            memset(p, 0xff, 1000);
            hi_free(from[f], p, 1000);
        }
        hi_free(from[f], NULL, 8);
    }
    CHECK_EQ(l.blocks, 0);
    CHECK_EQ(l.freed, 4);
    CHECK(hi_alloc(NULL, SIZE_MAX - 5, 4096) == NULL);
}

TEST(rounding_up_stops_at_the_largest_power)
{
    size_t largest = SIZE_MAX / 2 + 1;
    CHECK_EQ(hi_round_up(0, 2), 2);
    CHECK_EQ(hi_round_up(3, 2), 4);
    CHECK_EQ(hi_round_up(4, 1), 4);
    CHECK(hi_round_up(largest, 1) == largest);
    CHECK(hi_round_up(largest - 1, 1) == largest);
    CHECK_EQ(hi_round_up(largest + 1, 1), 0);
}
