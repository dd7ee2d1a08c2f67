/* SPDX-License-Identifier: MIT
 *
 * What is shared by everything that happens on one thread: errno, the place in
 * another runtime, the process.
 */
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <sys/wait.h>
#include <unistd.h>

static heist_runtime *rt, *other;
static heist_latch gate;

static void run_task(heist_task_fn *fn)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, fn, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

static int fail_and_open(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    errno = EDOM;
    heist_latch_arrive(&gate);
    return 0;
}

static int wait_with_errno(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    errno = EXDEV;
    CHECK_EQ(heist_spawn(rt, fail_and_open, NULL, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&gate, HEIST_FOREVER), 0);
    CHECK_EQ(errno, EXDEV);
    return 0;
}

/* One worker: the other task has run on our thread meanwhile. */
TEST(a_task_that_waits_finds_its_own_errno)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_latch_init(&gate, 1);
    run_task(wait_with_errno);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void stop_from_inside(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), -EDEADLK);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), -EDEADLK);
}

static int visit(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return heist_run(other, stop_from_inside, NULL);
}

TEST(a_task_in_another_runtime_cannot_stop_its_own)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_start(&other, &(heist_config){.workers = 1}), 0);
    run_task(visit);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), 0);
}

static int nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

/* The child returns from a region that its parent entered. */
static void fork_inside(heist_ctx c, void *arg)
{
    pid_t *pid = arg;
    (void)c;
    *pid = fork();
    CHECK(*pid >= 0);
    if (*pid == 0) CHECK_EQ(heist_broadcast(rt, nothing, NULL), 0);
}

TEST(the_child_of_a_fork_in_a_region_can_leave_it_and_stop)
{
    if (test_cannot_fork()) return;
    for (int i = 0; i < 20; i++) {
        pid_t pid = -1;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
        CHECK_EQ(heist_run(rt, fork_inside, &pid), 0);
        if (pid == 0) {
            CHECK_EQ(heist_broadcast(rt, nothing, NULL), 0);
            CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
            _exit(0);
        }
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}
