/* SPDX-License-Identifier: MIT
 *
 * Starting, stopping and waiting, over and over.
 */
#include "scale.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>

static HEIST_ATOMIC(long) ran;

static int count_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&ran, 1);
    return 0;
}

TEST(ten_thousand_rounds_of_start_and_stop)
{
    uint64_t random = test_seed;
    for (long i = scaled(10000); i > 0; i--) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers =
                                   1 + (unsigned)(test_random(&random) % 4)};
        CHECK_EQ(heist_start(&rt, &config), 0);
        long tasks = (long)(test_random(&random) % 5);
        heist_store_relaxed(&ran, 0);
        for (long k = 0; k < tasks; k++)
            CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        CHECK_EQ(heist_load_relaxed(&ran), tasks);
    }
}

/* A tree of tasks that goes on for a while: stop comes in the middle of it. */
struct tree {
    heist_runtime *rt;
    struct tree *below;
};

static HEIST_ATOMIC(long) spawned;

static int grow(heist_ctx c, void *arg)
{
    struct tree *t = arg;
    (void)c;
    heist_add_relaxed(&ran, 1);
    for (int i = 0; t->below && i < 2; i++) {
        CHECK_EQ(heist_spawn(t->rt, grow, t->below, NULL, HEIST_NOW), 0);
        heist_add_relaxed(&spawned, 1);
    }
    return 0;
}

TEST(stop_in_the_middle_of_work_finishes_it)
{
    uint64_t random = test_seed;
    for (long round = scaled(300); round > 0; round--) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers =
                                   1 + (unsigned)(test_random(&random) % 6)};
        CHECK_EQ(heist_start(&rt, &config), 0);
        struct tree t[12];
        for (int i = 0; i < 12; i++)
            t[i] = (struct tree){rt, i ? &t[i - 1] : NULL};
        heist_store_relaxed(&ran, 0);
        heist_store_relaxed(&spawned, 1);
        CHECK_EQ(heist_spawn(rt, grow, &t[11], NULL, HEIST_FOREVER), 0);
        int rc;
        while ((rc = heist_stop(rt, HEIST_NOW)) == -ETIMEDOUT)
            sched_yield();
        CHECK_EQ(rc, 0);
        CHECK_EQ(heist_load_relaxed(&ran), (1 << 12) - 1);
        CHECK_EQ(heist_load_relaxed(&spawned), (1 << 12) - 1);
    }
}

/* Foreign threads spawn while another one stops: each spawn is either taken
 * and run or turned away. */
static HEIST_ATOMIC(long) taken;
typedef HEIST_ATOMIC(int) atomic_int_cell;
static atomic_int_cell turned_away;

static void *spawn_until_stopped(void *rt)
{
    for (;;) {
        int rc = heist_spawn(rt, count_one, NULL, NULL, HEIST_NOW);
        if (rc == -ESHUTDOWN) break;
        CHECK(rc == 0 || rc == -EAGAIN);
        if (rc == 0) heist_add_relaxed(&taken, 1);
    }
    heist_add_acq_rel(&turned_away, 1);
    return NULL;
}

static int hold(heist_ctx c, void *arg)
{
    (void)c;
    while (heist_load_acquire((atomic_int_cell *)arg) < 4)
        sched_yield();
    return 0;
}

TEST(a_spawn_that_races_with_stop_is_run_or_refused)
{
    for (long round = scaled(300); round > 0; round--) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
        heist_store_relaxed(&ran, 0);
        heist_store_relaxed(&taken, 0);
        heist_store_relaxed(&turned_away, 0);
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
            CHECK_EQ(pthread_create(&t[i], NULL, spawn_until_stopped, rt), 0);
        /* This task keeps rt alive until all four have been refused. */
        CHECK_EQ(heist_spawn(rt, hold, &turned_away, NULL, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(heist_load_relaxed(&ran), heist_load_relaxed(&taken));
    }
}

/* Two tasks that wait for each other in turn: strands are switched by the
 * million, and every wake-up arrives. */
static heist_latch *ball;
static long balls;

static int player(heist_ctx c, void *arg)
{
    (void)c;
    for (long i = (long)(intptr_t)arg; i < balls; i += 2) {
        CHECK_EQ(heist_latch_wait(&ball[i], HEIST_FOREVER), 0);
        heist_latch_arrive(&ball[i + 1]);
    }
    return 0;
}

TEST(waits_hand_over_by_the_million)
{
    static const unsigned workers[] = {1, 2};
    balls = scaled(1000000);
    ball = malloc(((size_t)balls + 1) * sizeof *ball);
    CHECK(ball != NULL);
    for (size_t k = 0; k < 2; k++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers[k]};
        CHECK_EQ(heist_start(&rt, &config), 0);
        long n = balls;
        if (k == 1) balls /= 10; /* across CPUs: each is a wake-up */
        for (long i = 0; i <= balls; i++)
            heist_latch_init(&ball[i], 1);
        for (intptr_t i = 0; i < 2; i++)
            CHECK_EQ(heist_spawn(rt, player, (void *)i, NULL, HEIST_FOREVER),
                     0);
        heist_latch_arrive(&ball[0]);
        CHECK_EQ(heist_latch_wait(&ball[balls], HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        balls = n;
    }
    free(ball);
}

/* Many waiters of all kinds on one latch, some with deadlines. */
static heist_latch shared;
static HEIST_ATOMIC(long) woken, late;

static int wait_task(heist_ctx c, void *arg)
{
    (void)c;
    heist_time deadline = arg ? heist_after((intptr_t)arg) : HEIST_FOREVER;
    int rc = heist_latch_wait(&shared, deadline);
    CHECK(rc == 0 || (arg && rc == -ETIMEDOUT));
    heist_add_relaxed(rc == 0 ? &woken : &late, 1);
    return 0;
}

static void *wait_thread(void *arg)
{
    wait_task((heist_ctx){0}, arg);
    return NULL;
}

TEST(a_latch_wakes_all_kinds_of_waiters)
{
    uint64_t random = test_seed;
    for (long round = scaled(200); round > 0; round--) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 3}), 0);
        heist_latch_init(&shared, 1);
        heist_store_relaxed(&woken, 0);
        heist_store_relaxed(&late, 0);
        pthread_t t[4];
        for (int i = 0; i < 4; i++) {
            intptr_t soon = (intptr_t)(test_random(&random) % 2 * 100000);
            CHECK_EQ(pthread_create(&t[i], NULL, wait_thread, (void *)soon), 0);
        }
        for (int i = 0; i < 20; i++) {
            intptr_t soon = (intptr_t)(test_random(&random) % 2 * 100000);
            CHECK_EQ(
                heist_spawn(rt, wait_task, (void *)soon, NULL, HEIST_FOREVER),
                0);
        }
        for (uint64_t n = test_random(&random) % 100000; n > 0; n--)
            __asm__ volatile("");
        heist_latch_arrive(&shared);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(heist_load_relaxed(&woken) + heist_load_relaxed(&late), 24);
    }
}
