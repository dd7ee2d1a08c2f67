/* SPDX-License-Identifier: MIT
 *
 * Strands switch by the million: in pairs, in random order, and from thread to
 * thread.  Each carries a number that it alone works on, on its own stack, and
 * that must come out as if it had run alone.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <pthread.h>

enum {
    STACK = 64 * 1024,
    STRANDS = 64,
    SWITCHES = 2000000,
    THREADS = 4
};

typedef struct strand {
    hi_context context;
    hi_context *home;
    struct strand *next; /* in the queue */
    void *stack;
    uint64_t seed;
    uint64_t steps;  /* taken so far */
    uint64_t number; /* after so many steps */
} strand;

/* What `steps` random numbers from seed add up to, kept on the stack. */
static uint64_t sum_of(uint64_t seed, uint64_t steps)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < steps; i++)
        sum += test_random(&seed);
    return sum;
}

static void walk(void *arg)
{
    strand *s = arg;
    uint64_t seed = s->seed, sum = 0;
    volatile uint64_t mark = ~s->seed;
    for (;;) {
        sum += test_random(&seed);
        s->steps++;
        s->number = sum;
        hi_context_switch(&s->context, s->home);
        CHECK(mark == ~s->seed);
    }
}

static void open_strand(strand *s, uint64_t seed)
{
    s->stack = hi_pages_reserve(STACK);
    CHECK(s->stack != NULL);
    CHECK_EQ(hi_pages_commit(s->stack, STACK), 0);
    s->seed = seed;
    hi_context_make(&s->context, s->stack, STACK, walk, s);
}

static uint64_t close_strand(strand *s)
{
    CHECK(s->number == sum_of(s->seed, s->steps));
    hi_context_drop(&s->context);
    hi_pages_release(s->stack, STACK);
    return s->steps;
}

static void resume(strand *s, hi_context *home)
{
    s->home = home;
    hi_context_switch(home, &s->context);
}

TEST(a_thread_and_a_strand_play_ping_pong)
{
    strand s = {.seed = 0};
    hi_context home;
    hi_context_adopt(&home);
    open_strand(&s, test_seed);
    int64_t begin = hi_clock();
    for (int i = 0; i < SWITCHES; i++)
        resume(&s, &home);
    int64_t took = hi_clock() - begin;
    CHECK_EQ(close_strand(&s), SWITCHES);
    printf("    %.1f ns per switch\n", (double)took / (2.0 * SWITCHES));
}

TEST(strands_in_random_order)
{
    static strand s[STRANDS];
    uint64_t random = test_seed, steps = 0;
    hi_context home;
    hi_context_adopt(&home);
    for (int i = 0; i < STRANDS; i++)
        open_strand(&s[i], test_random(&random));
    for (int i = 0; i < SWITCHES; i++)
        resume(&s[test_random(&random) % STRANDS], &home);
    for (int i = 0; i < STRANDS; i++)
        steps += close_strand(&s[i]);
    CHECK_EQ(steps, SWITCHES);
}

/* --- made and dropped ------------------------------------------------------------ */

/* Stops in the middle, some frames deep, and is not resumed. */
__attribute__((noinline)) static void stop_at(strand *s, int depth)
{
    volatile char here[64];
    here[depth] = 1;
    if (depth > 0)
        stop_at(s, depth - 1);
    else
        hi_context_switch(&s->context, s->home);
    s->number += (uint64_t)here[depth];
}

static void stop_halfway(void *arg)
{
    stop_at(arg, 20);
}

/* In pages: the sanitizers' memory counts as well. */
static long address_space(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    return pages;
}

TEST(contexts_dropped_by_the_thousand_leave_nothing_behind)
{
    enum {
        ROUNDS = 10000, /* more than TSan has room for */
        WARM = 100
    };

    strand s = {.stack = hi_pages_reserve(STACK)};
    CHECK(s.stack != NULL);
    CHECK_EQ(hi_pages_commit(s.stack, STACK), 0);
    hi_context home;
    hi_context_adopt(&home);
    long before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == WARM) before = address_space();
        hi_context_make(&s.context, s.stack, STACK, stop_halfway, &s);
        resume(&s, &home);
        hi_context_drop(&s.context);
        CHECK_EQ(s.number, 0);
    }
    CHECK(address_space() - before < ROUNDS);
    hi_pages_release(s.stack, STACK);
}

/* --- from thread to thread ------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    strand *first, **last;
    int turns; /* left */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes a strand, unless all turns are taken. */
static strand *take(void)
{
    pthread_mutex_lock(&queue.lock);
    strand *s = queue.turns > 0 ? queue.first : NULL;
    if (s) {
        queue.turns--;
        queue.first = s->next;
        if (!queue.first) queue.last = &queue.first;
    }
    pthread_mutex_unlock(&queue.lock);
    return s;
}

static void put(strand *s)
{
    s->next = NULL;
    pthread_mutex_lock(&queue.lock);
    *queue.last = s;
    queue.last = &s->next;
    pthread_mutex_unlock(&queue.lock);
}

/* More strands than threads: the queue is empty only when turns are out. */
static void *serve(void *arg)
{
    (void)arg;
    strand *s;
    hi_context home;
    hi_context_adopt(&home);
    while ((s = take())) {
        resume(s, &home);
        put(s);
    }
    hi_context_drop(&home);
    return NULL;
}

TEST(strands_wander_from_thread_to_thread)
{
    static strand s[STRANDS];
    pthread_t thread[THREADS];
    uint64_t random = test_seed, steps = 0;
    queue.last = &queue.first;
    queue.turns = SWITCHES / 4;
    for (int i = 0; i < STRANDS; i++) {
        open_strand(&s[i], test_random(&random));
        put(&s[i]);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, serve, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < STRANDS; i++)
        steps += close_strand(&s[i]);
    CHECK_EQ(steps, SWITCHES / 4);
}
