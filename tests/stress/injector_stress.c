/* SPDX-License-Identifier: MIT
 *
 * Every item pushed is taken exactly once; what was written before the push is
 * there to be read; each taker meets the items of one producer in order; and
 * no item is denied by is_empty at the wrong moment.
 *
 * Edges
 *   JS1  meet release round -> meet acquire round   the round before is over
 *   JS2  poster fence       <> sleeper fence        one sees the other
 *   JS3  run release finished -> consume acquire finished   all pushes are seen
 */
#include "queue/injector.h"

#include "../test.h"
#include "scale.h"

#include <pthread.h>
#include <sched.h>

enum {
    PRODUCERS = 8,
    CONSUMERS = 8,
    BATCH_MAX = 32
};

struct item {
    uint32_t number; /* plain: the push publishes it */
    HEIST_ATOMIC(uint32_t) taken;
};

static hi_injector queue;
static struct item *items; /* one row of share items per producer */
static size_t share, producer_count;
static size_t batch; /* the most that a consumer takes at once */
static HEIST_ATOMIC(uint32_t) finished; /* all producers have returned */
static pthread_barrier_t start;

struct side {
    pthread_t thread;
    size_t id;
    uint64_t refused, batches, taken;
};

static uint32_t mixed(size_t i)
{
    return (uint32_t)(i * 2654435761u + test_seed);
}

static void *produce(void *arg)
{
    struct side *s = arg;
    pthread_barrier_wait(&start);
    for (size_t i = s->id * share; i < (s->id + 1) * share; i++) {
        items[i].number = mixed(i);
        while (!hi_injector_push(&queue, (uintptr_t)&items[i])) {
            s->refused++;
            sched_yield();
        }
    }
    return NULL;
}

/* next[p] is the first item of producer p that may still come. */
static void take(uintptr_t word, size_t *next)
{
    struct item *item = (struct item *)word;
    size_t i = (size_t)(item - items), p = i / share;
    CHECK(p < producer_count);
    CHECK_EQ(item->number, mixed(i));
    CHECK_EQ(heist_add_relaxed(&item->taken, 1u), 0); /* relaxed: counter */
    CHECK(i >= next[p]);
    next[p] = i + 1;
}

static void *consume(void *arg)
{
    struct side *s = arg;
    size_t next[PRODUCERS] = {0};
    uint64_t random = test_seed + s->id;
    pthread_barrier_wait(&start);
    for (;;) {
        uintptr_t words[BATCH_MAX];
        size_t max = test_random(&random) % batch + 1;
        /* JS3: if so, nothing to be had now is nothing for ever. */
        bool last = heist_load_acquire(&finished);
        size_t n = hi_injector_take(&queue, words, max);
        CHECK(n <= max);
        for (size_t k = 0; k < n; k++)
            take(words[k], next);
        s->taken += n;
        s->batches += n > 0;
        if (n) continue;
        if (last) return NULL;
        sched_yield();
    }
}

static void run(size_t producers, size_t consumers, size_t capacity,
                size_t most, long count)
{
    struct side in[PRODUCERS], out[CONSUMERS];
    uint64_t refused = 0, batches = 0, taken = 0;
    share = (size_t)scaled(count) / producers;
    producer_count = producers;
    batch = most;
    items = calloc(share * producers, sizeof *items);
    CHECK(items != NULL);
    heist_init(&finished, 0);
    CHECK_EQ(hi_injector_init(&queue, capacity, NULL), 0);
    unsigned all = (unsigned)(producers + consumers);
    CHECK_EQ(pthread_barrier_init(&start, NULL, all), 0);
    for (size_t i = 0; i < producers; i++) {
        in[i] = (struct side){.id = i};
        CHECK_EQ(pthread_create(&in[i].thread, NULL, produce, &in[i]), 0);
    }
    for (size_t i = 0; i < consumers; i++) {
        out[i] = (struct side){.id = i};
        CHECK_EQ(pthread_create(&out[i].thread, NULL, consume, &out[i]), 0);
    }
    for (size_t i = 0; i < producers; i++) {
        CHECK_EQ(pthread_join(in[i].thread, NULL), 0);
        refused += in[i].refused;
    }
    heist_store_release(&finished, 1u); /* JS3: every push has returned. */
    for (size_t i = 0; i < consumers; i++) {
        CHECK_EQ(pthread_join(out[i].thread, NULL), 0);
        batches += out[i].batches;
        taken += out[i].taken;
    }
    for (size_t i = 0; i < share * producers; i++)
        CHECK_EQ(heist_load_relaxed(&items[i].taken), 1); /* relaxed: counter */
    CHECK_EQ(taken, share * producers);
    CHECK(hi_injector_is_empty(&queue));
    printf("seed %llu: %zu items in %llu batches, %llu times full\n",
           (unsigned long long)test_seed, share * producers,
           (unsigned long long)batches, (unsigned long long)refused);
    pthread_barrier_destroy(&start);
    hi_injector_fini(&queue);
    free(items);
}

TEST(each_item_is_taken_once_in_a_ring_of_two)
{
    run(1, 1, 2, 1, 500000);
    run(2, 2, 2, 2, 500000);
    run(8, 8, 2, 1, 500000);
    run(8, 8, 2, 2, 500000);
}

TEST(each_item_is_taken_once_in_a_ring_of_256)
{
    run(1, 1, 256, 1, 2000000);
    run(8, 8, 256, 1, 2000000);
}

TEST(batches_take_each_item_once)
{
    run(1, 8, 256, BATCH_MAX, 2000000);
    run(8, 8, 16, 8, 1000000);
    run(8, 8, 256, BATCH_MAX, 2000000);
}

/*
 * The sleep protocol in rounds.  In each the sleeper announces, fences and
 * looks; the poster pushes, fences and looks for the announcement.  If neither
 * sees the other, a worker would sleep beside its work.
 */
typedef HEIST_ATOMIC(uint64_t) round_cell;

static struct {
    round_cell poster, sleeper; /* rounds that each has begun */
    HEIST_ATOMIC(uint32_t) announced;
    uint64_t rounds;
    bool *saw_sleeper; /* per round: the poster did */
    bool *saw_empty;   /* per round: the sleeper did */
} nap;

/* Returns when both threads have come to round r. */
static void meet(round_cell *mine, round_cell *other, uint64_t r)
{
    /* JS1: what the round before did is done. */
    heist_store_release(mine, r);
    unsigned spins = 0;
    /* JS1: and seen by the other. */
    while (heist_load_acquire(other) < r)
        if (++spins % 1024 == 0) sched_yield();
}

/* The one that comes last to a meeting leaves it first: a short delay of random
 * length lets their steps fall together. */
static void linger(uint64_t *random)
{
    /* relaxed: hint */
    for (uint64_t n = test_random(random) % 64; n; n--)
        (void)heist_load_relaxed(&nap.announced);
}

static void *poster(void *arg)
{
    uint64_t random = test_seed;
    (void)arg;
    for (uint64_t r = 0; r < nap.rounds; r++) {
        meet(&nap.poster, &nap.sleeper, 2 * r + 1);
        linger(&random);
        CHECK(hi_injector_push(&queue, r + 1));
        heist_fence_seq_cst(); /* JS2: pushed, then looked. */
        /* relaxed: after-JS2 */
        nap.saw_sleeper[r] = heist_load_relaxed(&nap.announced);
        meet(&nap.poster, &nap.sleeper, 2 * r + 2);
    }
    return NULL;
}

static void sleeper(void)
{
    uint64_t random = ~test_seed;
    for (uint64_t r = 0; r < nap.rounds; r++) {
        uintptr_t word = 0;
        meet(&nap.sleeper, &nap.poster, 2 * r + 1);
        linger(&random);
        heist_store_relaxed(&nap.announced, 1u); /* relaxed: before-JS2 */
        heist_fence_seq_cst(); /* JS2: announced, then looked. */
        nap.saw_empty[r] = hi_injector_is_empty(&queue);
        meet(&nap.sleeper, &nap.poster, 2 * r + 2);
        CHECK_EQ(hi_injector_take(&queue, &word, 1), 1);
        CHECK_EQ(word, r + 1);
        heist_store_relaxed(&nap.announced, 0u); /* relaxed: before-JS1 */
    }
}

TEST(a_sleeper_sees_the_item_or_its_poster_sees_the_sleeper)
{
    pthread_t thread;
    uint64_t both = 0;
    nap.rounds = (uint64_t)scaled(200000);
    nap.saw_sleeper = calloc(nap.rounds, sizeof *nap.saw_sleeper);
    nap.saw_empty = calloc(nap.rounds, sizeof *nap.saw_empty);
    CHECK(nap.saw_sleeper && nap.saw_empty);
    CHECK_EQ(hi_injector_init(&queue, 2, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, poster, NULL), 0);
    sleeper();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (uint64_t r = 0; r < nap.rounds; r++) {
        CHECK(nap.saw_sleeper[r] || !nap.saw_empty[r]);
        both += nap.saw_sleeper[r] && !nap.saw_empty[r];
    }
    printf("%llu rounds, in %llu of them each saw the other\n",
           (unsigned long long)nap.rounds, (unsigned long long)both);
    hi_injector_fini(&queue);
    free(nap.saw_sleeper);
    free(nap.saw_empty);
}
