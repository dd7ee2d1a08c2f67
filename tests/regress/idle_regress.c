/* SPDX-License-Identifier: MIT
 *
 * A pool without work burns no CPU: not when idle, not while one task sleeps,
 * not while one runs alone.  What counts is CPU time as a share of the time that
 * passed, so that a busy machine does not matter.
 */
#include "platform/platform.h"
#include "test.h"

#include <heist.h>
#include <time.h>
#include <unistd.h>

static int64_t cpu(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * HEIST_SECOND + t.tv_nsec;
}

static void sleep_for(heist_time delay)
{
    hi_futex never = {0};
    heist_time until = heist_after(delay);
    while (heist_now() < until)
        hi_futex_wait(&never, 0, until);
}

static int nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static heist_runtime *used_runtime(unsigned workers)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers}), 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(heist_broadcast(rt, nothing, NULL), 0);
    return rt;
}

TEST(an_idle_pool_burns_no_cpu)
{
    heist_runtime *rt = used_runtime(8);
    sleep_for(HEIST_SECOND); /* spinning and the last watch are over */
    int64_t before = cpu(CLOCK_PROCESS_CPUTIME_ID);
    sleep_for(2 * HEIST_SECOND);
    int64_t used = cpu(CLOCK_PROCESS_CPUTIME_ID) - before;
    CHECK(used < 2 * HEIST_MILLISECOND);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void sleep_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    sleep_for(HEIST_SECOND);
}

TEST(a_region_whose_only_task_sleeps_burns_no_cpu)
{
    heist_runtime *rt = used_runtime(4);
    int64_t before = cpu(CLOCK_PROCESS_CPUTIME_ID), start = heist_now();
    CHECK_EQ(heist_run(rt, sleep_root, NULL), 0);
    int64_t used = cpu(CLOCK_PROCESS_CPUTIME_ID) - before;
    CHECK(used < (heist_now() - start) / 50);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void alone_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    int64_t until = cpu(CLOCK_THREAD_CPUTIME_ID) + HEIST_SECOND;
    while (cpu(CLOCK_THREAD_CPUTIME_ID) < until)
        hi_cpu_relax();
}

TEST(a_region_that_runs_alone_burns_one_cpu)
{
    heist_runtime *rt = used_runtime(4);
    int64_t all = cpu(CLOCK_PROCESS_CPUTIME_ID);
    int64_t mine = cpu(CLOCK_THREAD_CPUTIME_ID), start = heist_now();
    CHECK_EQ(heist_run(rt, alone_root, NULL), 0);
    all = cpu(CLOCK_PROCESS_CPUTIME_ID) - all;
    mine = cpu(CLOCK_THREAD_CPUTIME_ID) - mine;
    CHECK(all - mine < (heist_now() - start) / 50);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
