/* SPDX-License-Identifier: MIT
 *
 * A pool without work burns no CPU: not when idle, not while one task sleeps,
 * not while one runs alone.  What counts is the CPU time of the workers, against
 * nothing at all or as a share of the time that passed, so that neither a busy
 * machine matters nor a sanitizer's own thread.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"
#include "test.h"

#include <heist.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 8
};

static clockid_t clocks[WORKERS_MAX]; /* of the workers */

static void note_clock(void *user, unsigned worker)
{
    (void)user;
    CHECK_EQ(pthread_getcpuclockid(pthread_self(), &clocks[worker]), 0);
}

static int64_t cpu(clockid_t clock)
{
    struct timespec t;
    CHECK_EQ(clock_gettime(clock, &t), 0);
    return t.tv_sec * HEIST_SECOND + t.tv_nsec;
}

static int64_t cpu_of_workers(unsigned workers)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < workers; i++)
        sum += cpu(clocks[i]);
    return sum;
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

/* Once the spinning and the last watch are over no worker wakes up any more;
 * should they go on for ever, so does this. */
static void wait_for_rest(unsigned workers, heist_time how_long)
{
    int64_t before;
    do {
        before = cpu_of_workers(workers);
        sleep_for(how_long);
    } while (cpu_of_workers(workers) != before);
}

static heist_runtime *used_runtime(unsigned workers)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers,
                                              .on_worker_start = note_clock}),
             0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(heist_broadcast(rt, nothing, NULL), 0);
    wait_for_rest(workers, 200 * HEIST_MILLISECOND);
    return rt;
}

TEST(an_idle_pool_burns_no_cpu)
{
    heist_runtime *rt = used_runtime(WORKERS_MAX);
    wait_for_rest(WORKERS_MAX, HEIST_SECOND);
    int64_t before = cpu_of_workers(WORKERS_MAX);
    sleep_for(2 * HEIST_SECOND);
    CHECK_EQ(cpu_of_workers(WORKERS_MAX) - before, 0);
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
    int64_t before = cpu_of_workers(4), start = heist_now();
    CHECK_EQ(heist_run(rt, sleep_root, NULL), 0);
    int64_t used = cpu_of_workers(4) - before;
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
    int64_t before = cpu_of_workers(4), start = heist_now();
    CHECK_EQ(heist_run(rt, alone_root, NULL), 0);
    int64_t used = cpu_of_workers(4) - before;
    CHECK(used < (heist_now() - start) / 50);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
