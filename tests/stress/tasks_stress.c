/* SPDX-License-Identifier: MIT
 *
 * Every task runs exactly once, whoever spawns it and however many workers
 * there are.
 */
#include "core/runtime.h"
#include "scale.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>

static HEIST_ATOMIC(uint8_t) *marks;
static long total;

static void marks_reset(long n)
{
    free(marks);
    total = n;
    marks = calloc((size_t)n, sizeof *marks);
    CHECK(marks != NULL);
}

static void mark(long i)
{
    CHECK_EQ(heist_add_relaxed(&marks[i], 1), 0); /* the first and only time */
}

static void marks_check(void)
{
    for (long i = 0; i < total; i++)
        CHECK_EQ(heist_load_relaxed(&marks[i]), 1);
}

static int mark_task(heist_ctx c, void *arg)
{
    (void)c;
    mark((long)(intptr_t)arg);
    return 0;
}

struct range {
    heist_runtime *rt;
    heist_latch *done;
    long begin, end;
};

/* Halves its range until it is small, then spawns a task for each index. */
static int spread(heist_ctx c, void *arg)
{
    struct range *r = arg;
    heist_latch done;
    if (r->end - r->begin <= 1000) {
        heist_latch_init(&done, (uint64_t)(r->end - r->begin));
        for (long i = r->begin; i < r->end; i++)
            CHECK_EQ(heist_spawn(r->rt, mark_task, (void *)(intptr_t)i, &done,
                                 HEIST_NOW),
                     0);
    } else {
        long middle = (r->begin + r->end) / 2;
        struct range half[2] = {{r->rt, NULL, r->begin, middle},
                                {r->rt, NULL, middle, r->end}};
        heist_latch_init(&done, 2);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(heist_spawn(r->rt, spread, &half[i], &done, HEIST_NOW), 0);
        return heist_latch_wait(&done, HEIST_FOREVER);
    }
    (void)c;
    return heist_latch_wait(&done, HEIST_FOREVER);
}

TEST(ten_million_tasks_run_once_each)
{
    static const unsigned workers[] = {1, 2, 8, 70, 200};
    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers[k], .seed = test_seed};
        CHECK_EQ(heist_start(&rt, &config), 0);
        marks_reset(scaled(10000000));
        heist_latch done;
        heist_latch_init(&done, 1);
        struct range all = {rt, NULL, 0, total};
        CHECK_EQ(heist_spawn(rt, spread, &all, &done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        marks_check();
    }
}

static void *submitter(void *arg)
{
    struct range *r = arg;
    uint64_t random = test_seed ^ (uint64_t)r->begin;
    for (long i = r->begin; i < r->end; i++) {
        void *index = (void *)(intptr_t)i;
        int rc = -EAGAIN;
        if (test_random(&random) % 2)
            rc = heist_spawn(r->rt, mark_task, index, r->done, HEIST_NOW);
        if (rc == -EAGAIN)
            rc = heist_spawn(r->rt, mark_task, index, r->done, HEIST_FOREVER);
        CHECK_EQ(rc, 0);
    }
    return NULL;
}

TEST(sixteen_foreign_threads_submit)
{
    static const unsigned workers[] = {1, 2, 8};
    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers[k], .queue_capacity = 16};
        CHECK_EQ(heist_start(&rt, &config), 0);
        long each = scaled(100000);
        marks_reset(16 * each);
        heist_latch done;
        heist_latch_init(&done, (uint64_t)total);
        pthread_t t[16];
        struct range r[16];
        for (int i = 0; i < 16; i++) {
            r[i] = (struct range){rt, &done, i * each, (i + 1) * each};
            CHECK_EQ(pthread_create(&t[i], NULL, submitter, &r[i]), 0);
        }
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        for (int i = 0; i < 16; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        marks_check();
    }
}

/* One task at a time from outside: each push meets workers going to sleep. */
TEST(a_single_task_always_finds_a_worker)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 2, .idle = HEIST_ECO};
    CHECK_EQ(heist_start(&rt, &config), 0);
    /* No watchman, whose time-out would hide a lost wake-up. */
    heist_store_relaxed(&rt->rescue, 0);
    long rounds = scaled(50000);
    marks_reset(rounds);
    uint64_t random = test_seed;
    for (long i = 0; i < rounds; i++) {
        heist_latch done;
        heist_latch_init(&done, 1);
        CHECK_EQ(heist_spawn(rt, mark_task, (void *)(intptr_t)i, &done,
                             HEIST_FOREVER),
                 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        for (uint64_t n = test_random(&random) % 2000; n > 0; n--)
            __asm__ volatile("");
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    marks_check();
}

/* A worker that never gives up its thread must not keep what others need. */
static HEIST_ATOMIC(int) busy;

static int never_yield(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    while (heist_load_acquire(&busy))
        sched_yield();
    return 0;
}

TEST(one_busy_worker_does_not_hold_up_the_rest)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_release(&busy, 1);
    CHECK_EQ(heist_spawn(rt, never_yield, NULL, NULL, HEIST_FOREVER), 0);
    marks_reset(scaled(20000));
    heist_latch done;
    heist_latch_init(&done, (uint64_t)total);
    struct range r = {rt, &done, 0, total};
    submitter(&r);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    marks_check();
    heist_store_release(&busy, 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
