/* SPDX-License-Identifier: MIT
 *
 * Every item pushed is taken exactly once, by the owner or by one thief; what
 * was written before the push is there to be read; and each thief meets the
 * items in the order of their pushing.
 */
#include "queue/deque.h"

#include "../test.h"
#include "scale.h"

#include <pthread.h>
#include <sched.h>

enum {
    THIEVES = 8,
    DEQUES = 4096,
    HALF = 2 /* every second thief steals by range */
};

struct item {
    uint32_t number; /* plain: the push publishes it */
    HEIST_ATOMIC(uint32_t) taken;
};

static struct item *items;
static uintptr_t items_middle, items_end; /* addresses, to steal by range */
static size_t item_count;

static hi_deque deques[DEQUES];
static HEIST_ATOMIC(uint32_t) current; /* the deque that thieves visit */
static HEIST_ATOMIC(uint32_t) done;
static pthread_barrier_t start;

struct thief {
    pthread_t thread;
    uint64_t random;
    uint64_t stolen, retries;
    bool by_range;
};

static uint32_t mixed(size_t i)
{
    return (uint32_t)(i * 2654435761u + test_seed);
}

static size_t take(uintptr_t word)
{
    struct item *item = (struct item *)word;
    size_t i = (size_t)(item - items);
    CHECK(i < item_count);
    CHECK_EQ(item->number, mixed(i));
    CHECK_EQ(heist_add_relaxed(&item->taken, 1u), 0); /* relaxed: counter */
    return i;
}

static hi_steal attempt(struct thief *t, hi_deque *d, uintptr_t *word)
{
    if (!t->by_range) return hi_deque_steal(d, word);
    if (test_random(&t->random) % 2)
        return hi_deque_steal_range(d, (uintptr_t)items, items_middle, word);
    return hi_deque_steal_range(d, items_middle, items_end, word);
}

static void *thief(void *arg)
{
    struct thief *t = arg;
    size_t next = 0;
    unsigned empty = 0;
    pthread_barrier_wait(&start);
    while (!heist_load_relaxed(&done)) {               /* relaxed: hint */
        uint32_t visit = heist_load_relaxed(&current); /* relaxed: hint */
        uintptr_t word = 0;
        switch (attempt(t, &deques[visit], &word)) {
        case HI_STEAL_TAKEN: {
            size_t i = take(word);
            CHECK(i >= next);
            next = i + 1;
            t->stolen++;
            break;
        }
        case HI_STEAL_RETRY: t->retries++; break;
        case HI_STEAL_EMPTY:
            /* Mostly hot, to meet the owner in the middle of its work. */
            if (++empty % 128 == 0) sched_yield();
        }
    }
    return NULL;
}

static void items_make(size_t n)
{
    item_count = n;
    items = calloc(n, sizeof *items);
    CHECK(items != NULL);
    items_middle = (uintptr_t)(items + n / 2);
    items_end = (uintptr_t)(items + n);
}

static void push(hi_deque *d, size_t i)
{
    items[i].number = mixed(i);
    CHECK_EQ(hi_deque_push(d, (uintptr_t)&items[i]), 0);
}

/* Runs the owner against n thieves and checks that every item was taken. */
static void run(void (*owner)(void), int n, long wanted)
{
    size_t count = (size_t)scaled(wanted);
    struct thief thieves[THIEVES];
    uint64_t stolen = 0, retries = 0;
    items_make(count);
    heist_init(&done, 0);
    heist_init(&current, 0);
    CHECK_EQ(pthread_barrier_init(&start, NULL, (unsigned)n + 1), 0);
    for (int i = 0; i < n; i++) {
        thieves[i] = (struct thief){.random = test_seed + (uint64_t)i,
                                    .by_range = i % HALF == 1};
        CHECK_EQ(pthread_create(&thieves[i].thread, NULL, thief, &thieves[i]),
                 0);
    }
    pthread_barrier_wait(&start);
    owner();
    heist_store_relaxed(&done, 1u); /* relaxed: hint */
    for (int i = 0; i < n; i++) {
        CHECK_EQ(pthread_join(thieves[i].thread, NULL), 0);
        stolen += thieves[i].stolen;
        retries += thieves[i].retries;
    }
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(heist_load_relaxed(&items[i].taken), 1); /* relaxed: counter */
    printf("seed %llu: %zu items, %llu stolen, %llu retries\n",
           (unsigned long long)test_seed, count, (unsigned long long)stolen,
           (unsigned long long)retries);
    pthread_barrier_destroy(&start);
    free(items);
}

/* The same with one deque of its own. */
static void run_one(void (*owner)(void), int n, long wanted, size_t capacity,
                    int64_t first)
{
    CHECK_EQ(hi_deque_init(&deques[0], capacity, first, NULL), 0);
    run(owner, n, wanted);
    hi_deque_fini(&deques[0]);
}

static void drain(hi_deque *d)
{
    uintptr_t word;
    while ((word = hi_deque_pop(d)))
        take(word);
}

/* Thefts happen even if all threads share one CPU. */
static void let_thieves_run(size_t i)
{
    if (i % 1024 == 0) sched_yield();
}

/* Bursts of pushes and pops of random length, around an empty deque. */
static void churn(void)
{
    uint64_t random = test_seed;
    hi_deque *d = &deques[0];
    for (size_t i = 0; i < item_count;) {
        uint64_t r = test_random(&random);
        for (uint64_t n = r % 6 + 1; n && i < item_count; n--)
            push(d, i++);
        for (uint64_t n = (r >> 8) % 7; n; n--) {
            uintptr_t word = hi_deque_pop(d);
            if (word) take(word);
        }
    }
    drain(d);
}

static void churn_against(int thieves)
{
    run_one(churn, thieves, 3000000, 16, INT64_MAX - 1000);
}

TEST(each_item_is_taken_once_against_one_thief)
{
    churn_against(1);
}

TEST(each_item_is_taken_once_against_two_thieves)
{
    churn_against(2);
}

TEST(each_item_is_taken_once_against_eight_thieves)
{
    churn_against(8);
}

/* A deque never more than a few items deep: owner and thief want the same. */
static void few(void)
{
    hi_deque *d = &deques[0];
    for (size_t i = 0; i < item_count;) {
        for (size_t n = i / 3 % 3 + 1; n && i < item_count; n--)
            push(d, i++);
        let_thieves_run(i);
        drain(d);
    }
}

TEST(the_last_items_are_taken_once)
{
    run_one(few, 1, 6000000, 4, 0);
    run_one(few, 3, 2000000, 4, 0);
}

/* As a join does: the newest item back, or not because somebody has it. */
static void rejoin(void)
{
    uint64_t random = test_seed;
    hi_deque *d = &deques[0];
    for (size_t i = 0; i < item_count;) {
        size_t from = i;
        for (uint64_t n = test_random(&random) % 3 + 1; n && i < item_count;
             n--)
            push(d, i++);
        let_thieves_run(i);
        for (size_t j = i; j > from; j--) {
            uintptr_t word = (uintptr_t)&items[j - 1];
            if (hi_deque_pop_if(d, word)) take(word);
        }
        CHECK(hi_deque_is_empty(d));
    }
}

TEST(pop_if_and_thieves_take_each_item_once)
{
    run_one(rejoin, 1, 3000000, 4, -2);
    run_one(rejoin, 8, 1000000, 4, -2);
}

/* From two slots up to hundreds, again and again, under the thieves' eyes. */
static void growing(void)
{
    uint64_t random = test_seed;
    size_t share = item_count / DEQUES;
    for (uint32_t k = 0; k < DEQUES; k++) {
        size_t i = k * share, end = k + 1 < DEQUES ? i + share : item_count;
        heist_store_relaxed(&current, k); /* relaxed: hint */
        while (i < end) {
            push(&deques[k], i++);
            let_thieves_run(i);
            if (test_random(&random) % 8) continue;
            uintptr_t word = hi_deque_pop(&deques[k]);
            if (word) take(word);
        }
        drain(&deques[k]);
    }
}

TEST(growth_under_eight_thieves_loses_nothing)
{
    for (uint32_t k = 0; k < DEQUES; k++)
        CHECK_EQ(hi_deque_init(&deques[k], 2, (int64_t)k - DEQUES / 2, NULL),
                 0);
    run(growing, 8, 4000000);
    for (uint32_t k = 0; k < DEQUES; k++)
        hi_deque_fini(&deques[k]);
}
