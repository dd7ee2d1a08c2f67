/* SPDX-License-Identifier: MIT
 *
 * A guest that helps others while it waits leaves nothing behind, and what it
 * has forked is not hidden while it waits.
 */
#include "test.h"

#include <errno.h>
#include <heist.h>

static heist_latch never;

static int wait_a_while(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    int rc = heist_latch_wait(&never, heist_after(20 * HEIST_MILLISECOND));
    return rc == -ETIMEDOUT ? 0 : -EIO;
}

/* The injector overflows, so some tasks run here, and wait here. */
TEST(tasks_that_run_here_and_wait_are_all_finished)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers, .queue_capacity = 16};
        CHECK_EQ(heist_start(&rt, &config), 0);
        heist_latch_init(&never, 1);
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 300; i++)
            heist_scope_spawn(&s, wait_a_while, NULL);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* A stolen frame that waits is put aside on the guest's thread: the guest's own
 * region may end first, and must not end without it. */
static HEIST_ATOMIC(int) finished;

static void wait_right(heist_ctx c, heist_frame *f)
{
    f->result.i = wait_a_while(c, NULL);
    heist_add_relaxed(&finished, 1);
}

static int fork_waiting(heist_ctx c, void *arg)
{
    (void)arg;
    heist_ctx k = c;
    for (int i = 0; i < 8; i++)
        k = heist_fork(k, wait_right);
    while (k.frame != c.frame)
        CHECK_EQ(heist_done(&k)->result.i, 0);
    return 0;
}

static void fork_waiting_root(heist_ctx c, void *arg)
{
    fork_waiting(c, arg);
}

TEST(a_guest_finishes_the_frames_that_it_took)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    heist_latch_init(&never, 1);
    heist_store_relaxed(&finished, 0);
    for (int round = 0; round < 5; round++) {
        heist_scope s;
        heist_scope_open(&s, rt);
        heist_scope_spawn(&s, fork_waiting, NULL);
        CHECK_EQ(heist_run(rt, fork_waiting_root, NULL), 0);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    }
    CHECK_EQ(heist_load_relaxed(&finished), 80);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void arrive_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    heist_latch_arrive(f->arg[0].p);
    f->result.i = 7;
}

static void wait_for_own_fork(heist_ctx c, void *arg)
{
    (void)arg;
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_frame *right = heist_slot(c);
    right->arg[0].p = &done;
    heist_fork(c, arrive_right);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK(!heist_join(c));
    CHECK_EQ(right->result.i, 7);
}

TEST(a_wait_for_what_was_forked_ends)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers};
        CHECK_EQ(heist_start(&rt, &config), 0);
        for (int i = 0; i < 20; i++)
            CHECK_EQ(heist_run(rt, wait_for_own_fork, NULL), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}
