/* SPDX-License-Identifier: MIT
 *
 * A guest that helps others while it waits leaves nothing behind, and what it
 * has forked is not hidden while it waits.
 */
#include "platform/platform.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>

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

/* --- regions of others ---------------------------------------------------------------- */

/*
 * One thread's region is full of frames that wait for a gate, which another thread
 * opens after regions of its own: it must not come to sit in one of those frames.
 */
enum {
    WAITING_FRAMES = 200,
    REGIONS = 200,
    PATIENCE = 300 /* looks */
};

static heist_latch gate;
static HEIST_ATOMIC(int) full, begun;

static void wait_at_the_gate(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    CHECK_EQ(heist_latch_wait(&gate, HEIST_FOREVER), 0);
}

static void fill(heist_ctx c, void *arg)
{
    (void)arg;
    heist_ctx k = c;
    for (int i = 0; i < WAITING_FRAMES; i++)
        k = heist_fork(k, wait_at_the_gate);
    heist_store_release(&full, 1);
    CHECK_EQ(heist_latch_wait(&gate, HEIST_FOREVER), 0);
    while (k.frame != c.frame)
        heist_done(&k);
}

static void *fill_a_region(void *rt)
{
    CHECK_EQ(heist_run(rt, fill, NULL), 0);
    return NULL;
}

static void begin(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    heist_store_release(&begun, 1);
    for (int i = 0; i < PATIENCE; i++)
        hi_thread_yield();
}

/* If somebody takes the right half, this thread has to wait for it. */
static void wait_for_a_thief(heist_ctx c, void *arg)
{
    (void)arg;
    heist_store_relaxed(&begun, 0);
    heist_fork(c, begin);
    for (int i = 0; i < PATIENCE && !heist_load_acquire(&begun); i++)
        hi_thread_yield();
    heist_join(c);
}

TEST(a_guest_that_waits_does_not_come_to_sit_in_another_region)
{
    heist_runtime *rt = NULL;
    pthread_t other;
    heist_config config = {.workers = 3, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_latch_init(&gate, 1);
    heist_store_relaxed(&full, 0);
    CHECK_EQ(pthread_create(&other, NULL, fill_a_region, rt), 0);
    while (!heist_load_acquire(&full))
        hi_thread_yield();
    for (int i = 0; i < REGIONS; i++)
        CHECK_EQ(heist_run(rt, wait_for_a_thief, NULL), 0);
    heist_latch_arrive(&gate);
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
