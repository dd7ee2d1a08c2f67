/* SPDX-License-Identifier: MIT
 *
 * Work behind a long leaf is not hidden from the other workers.
 *
 * Each test forks, then runs a left half that neither forks nor joins and does
 * not return before the right half has run elsewhere.  If nobody takes the
 * right half from behind its back the test stands still and is ended by the
 * runner.
 */
#include "platform/platform.h"
#include "test.h"

#include <heist.h>
#include <pthread.h>

static HEIST_ATOMIC(int) done;
static int wanted;

static void right_half(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = f->arg[0].i;
    heist_add_acq_rel(&done, 1);
}

static void long_leaf(void)
{
    while (heist_load_acquire(&done) < wanted)
        hi_cpu_relax();
}

static int64_t fork_deep(heist_ctx c, int depth)
{
    if (depth == 0) {
        long_leaf();
        return 0;
    }
    heist_frame *right = heist_slot(c);
    right->arg[0].i = depth;
    int64_t left = fork_deep(heist_fork(c, right_half), depth - 1);
    CHECK(!heist_join(c)); /* taken: the leaf waited for it */
    return left + right->result.i;
}

static void root(heist_ctx c, void *arg)
{
    int depth = *(int *)arg;
    heist_store_relaxed(&done, 0);
    wanted = depth;
    CHECK_EQ(fork_deep(c, depth), depth * (depth + 1) / 2);
}

static void need_barrier(void)
{
    if (!hi_barrier_init()) exit(77); /* the rescue needs membarrier */
}

static void try_depth(heist_runtime *rt, int depth)
{
    CHECK_EQ(heist_run(rt, root, &depth), 0);
}

TEST(one_fork_before_a_long_leaf)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 50; i++)
        try_depth(rt, 1);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(ten_forks_before_a_long_leaf)
{
    need_barrier();
    for (int policy = 0; policy < 3; policy++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = 2,
                               .exposure = (heist_exposure)policy};
        CHECK_EQ(heist_start(&rt, &config), 0);
        for (int i = 0; i < 20; i++)
            try_depth(rt, 10);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* Until the watchman has gone to sleep for good. */
static void long_sleep(void)
{
    heist_time until = heist_after(300 * HEIST_MILLISECOND);
    hi_futex never = {0};
    while (heist_now() < until)
        hi_futex_wait(&never, 0, until);
}

TEST(a_long_leaf_after_a_long_sleep)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 3; i++) {
        long_sleep();
        try_depth(rt, 3);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* After many regions that were too short to wake anybody. */
static void small_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = 1;
}

static void small_root(heist_ctx c, void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        heist_ctx k = c;
        for (int n = 0; n < 5; n++)
            k = heist_fork(k, small_right);
        while (k.frame != c.frame)
            CHECK_EQ(heist_done(&k)->result.i, 1);
    }
    if (arg) root(c, arg);
}

TEST(a_long_leaf_after_many_small_forks)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 30; i++) {
        int depth = 2;
        CHECK_EQ(heist_run(rt, small_root, NULL), 0);
        CHECK_EQ(heist_run(rt, small_root, &depth), 0);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static int task(heist_ctx c, void *arg)
{
    root(c, arg);
    return 0;
}

TEST(a_long_leaf_in_a_task)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 20; i++) {
        int depth = 4;
        heist_latch latch;
        heist_latch_init(&latch, 1);
        CHECK_EQ(heist_spawn(rt, task, &depth, &latch, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&latch, HEIST_FOREVER), 0);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* The leaf is inside another heist_run, which does not know the cursor. */
static void leaf_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    long_leaf();
}

static void nested_root(heist_ctx c, void *arg)
{
    (void)arg;
    heist_store_relaxed(&done, 0);
    wanted = 1;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 5;
    heist_fork(c, right_half);
    CHECK_EQ(heist_run(NULL, leaf_root, NULL), 0);
    CHECK(!heist_join(c));
    CHECK_EQ(right->result.i, 5);
}

TEST(a_long_leaf_in_a_nested_region)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(heist_run(rt, nested_root, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* The same after a long sleep, in a region and in a task that fork nothing. */
static void region_root(heist_ctx c, void *depth)
{
    (void)c;
    CHECK_EQ(heist_run(NULL, root, depth), 0);
}

static int region_task(heist_ctx c, void *depth)
{
    region_root(c, depth);
    return 0;
}

TEST(a_long_leaf_in_a_nested_region_after_a_long_sleep)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    int depth = 1;
    long_sleep();
    CHECK_EQ(heist_run(rt, region_root, &depth), 0);
    long_sleep();
    heist_latch latch;
    heist_latch_init(&latch, 1);
    CHECK_EQ(heist_spawn(rt, region_task, &depth, &latch, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&latch, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* The task has forked before, so this is not its first look. */
static heist_latch morning;

static int sleeper(heist_ctx c, void *depth)
{
    heist_ctx k = heist_fork(c, small_right);
    CHECK_EQ(heist_done(&k)->result.i, 1);
    CHECK_EQ(heist_latch_wait(&morning, HEIST_FOREVER), 0);
    root(c, depth);
    return 0;
}

TEST(a_long_leaf_after_a_long_wait)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 3}), 0);
    int depth = 1;
    heist_latch latch;
    heist_latch_init(&latch, 1);
    heist_latch_init(&morning, 1);
    CHECK_EQ(heist_spawn(rt, sleeper, &depth, &latch, HEIST_FOREVER), 0);
    long_sleep();
    heist_latch_arrive(&morning);
    CHECK_EQ(heist_latch_wait(&latch, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* The wait is in a region within another one, which goes on afterwards. */
static void wait_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_latch_wait(&morning, HEIST_FOREVER), 0);
}

static void wait_inside(heist_ctx c, void *depth)
{
    heist_ctx k = heist_fork(c, small_right);
    CHECK_EQ(heist_done(&k)->result.i, 1);
    CHECK_EQ(heist_run(NULL, wait_root, NULL), 0);
    root(c, depth);
}

static int task_that_waits_inside(heist_ctx c, void *depth)
{
    wait_inside(c, depth);
    return 0;
}

static void *run_wait_inside(void *rt)
{
    int depth = 1;
    CHECK_EQ(heist_run(rt, wait_inside, &depth), 0);
    return NULL;
}

TEST(a_long_leaf_after_a_long_wait_in_a_nested_region)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    int depth = 1;
    heist_latch latch;
    heist_latch_init(&latch, 1);
    heist_latch_init(&morning, 1);
    CHECK_EQ(
        heist_spawn(rt, task_that_waits_inside, &depth, &latch, HEIST_FOREVER),
        0);
    long_sleep();
    heist_latch_arrive(&morning);
    CHECK_EQ(heist_latch_wait(&latch, HEIST_FOREVER), 0);

    pthread_t guest;
    heist_latch_init(&morning, 1);
    CHECK_EQ(pthread_create(&guest, NULL, run_wait_inside, rt), 0);
    long_sleep();
    heist_latch_arrive(&morning);
    CHECK_EQ(pthread_join(guest, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static int node_waits(heist_ctx c, heist_step *step, void *arg)
{
    (void)step;
    wait_root(c, arg);
    return 0;
}

static int node_forks(heist_ctx c, heist_step *step, void *depth)
{
    (void)step;
    root(c, depth);
    return 0;
}

TEST(a_long_leaf_in_a_node_behind_one_that_waited_long)
{
    need_barrier();
    heist_runtime *rt = NULL;
    heist_graph *g;
    heist_flow *flow;
    int depth = 1;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node waits = heist_graph_add(g, "waits", node_waits, NULL);
    heist_node forks = heist_graph_add(g, "forks", node_forks, &depth);
    heist_graph_edge(g, waits, forks);
    heist_latch_init(&morning, 1);
    heist_flow_opts opts = {.rt = rt};
    CHECK_EQ(heist_flow_start(&flow, g, &opts, HEIST_FOREVER), 0);
    long_sleep();
    heist_latch_arrive(&morning);
    CHECK_EQ(heist_flow_close(flow), 0);
    heist_graph_destroy(g);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/*
 * Whoever keeps watch may be called away.  Every worker has a task that waits;
 * the leaf opens the way for all of them but two, and they work until the right
 * half has run: of those that are left one must look for it.
 */
enum {
    KEEPERS = 4
};

static HEIST_ATOMIC(int) arrived;
static heist_latch gates[KEEPERS];

static int keep_busy(heist_ctx c, void *gate)
{
    (void)c;
    heist_add_acq_rel(&arrived, 1);
    while (heist_load_acquire(&arrived) < KEEPERS)
        hi_cpu_relax(); /* one on each worker */
    CHECK_EQ(heist_latch_wait(gate, HEIST_FOREVER), 0);
    while (heist_load_acquire(&done) < wanted)
        hi_thread_yield();
    return 0;
}

/* Two are: with the leaf, one of them is room for. */
static bool is_spared(int i, int first)
{
    return i == first || i == (first + 1) % KEEPERS;
}

static void call_away_root(heist_ctx c, void *arg)
{
    const int *spared = arg;
    heist_store_relaxed(&done, 0);
    wanted = 1;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 7;
    heist_fork(c, right_half);
    for (int i = 0; i < KEEPERS; i++)
        if (!is_spared(i, *spared)) heist_latch_arrive(&gates[i]);
    while (heist_load_acquire(&done) < wanted)
        hi_thread_yield();
    CHECK(!heist_join(c));
    CHECK_EQ(right->result.i, 7);
    for (int i = 0; i < KEEPERS; i++)
        if (is_spared(i, *spared)) heist_latch_arrive(&gates[i]);
}

TEST(a_watchman_that_is_called_away_has_a_successor)
{
    need_barrier();
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = KEEPERS}), 0);
    for (int round = 0; round < 40; round++) {
        int spared = round % KEEPERS;
        heist_latch all;
        heist_latch_init(&all, KEEPERS);
        heist_store_relaxed(&arrived, 0);
        for (int i = 0; i < KEEPERS; i++) {
            heist_latch_init(&gates[i], 1);
            CHECK_EQ(heist_spawn(rt, keep_busy, &gates[i], &all, HEIST_FOREVER),
                     0);
        }
        while (heist_load_acquire(&arrived) < KEEPERS)
            hi_thread_yield();
        CHECK_EQ(heist_run(rt, call_away_root, &spared), 0);
        CHECK_EQ(heist_latch_wait(&all, HEIST_FOREVER), 0);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- tasks behind frames ------------------------------------------------------------- */

/*
 * Whoever has left frames in its deque, spawned a task after them and waits for it
 * as a thread does, is helped; also when guests and workers are more than the
 * runtime has workers, so that frames are left alone.
 */
static HEIST_ATOMIC(int) helped, held;

static int help(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&helped, 1);
    return 0;
}

static void nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static void spawn_behind_a_frame(heist_ctx c, void *arg)
{
    heist_runtime *rt = arg;
    heist_slot(c)->arg[0].i = 7;
    heist_fork(c, right_half);
    CHECK_EQ(heist_run(rt, nothing, NULL), 0); /* shows what was forked */
    heist_store_relaxed(&helped, 0);
    CHECK_EQ(heist_spawn(rt, help, NULL, NULL, HEIST_FOREVER), 0);
    while (!heist_load_acquire(&helped))
        hi_thread_yield();
    heist_join(c);
}

static int spawn_behind_a_frame_task(heist_ctx c, void *arg)
{
    spawn_behind_a_frame(c, arg);
    return 0;
}

static void hold(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_acq_rel(&held, 1);
    while (heist_load_acquire(&held) > 0)
        hi_thread_yield();
}

static void *hold_a_region(void *rt)
{
    CHECK_EQ(heist_run(rt, hold, NULL), 0);
    return NULL;
}

TEST(a_task_behind_a_guest_s_frame_is_run)
{
    static const heist_exposure policy[] = {HEIST_ON_DEMAND, HEIST_EAGER};
    for (int round = 0; round < 40; round++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = 1, .exposure = policy[round % 2]};
        CHECK_EQ(heist_start(&rt, &config), 0);
        CHECK_EQ(heist_run(rt, spawn_behind_a_frame, rt), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

TEST(a_task_behind_a_frame_is_run_while_guests_are_at_work)
{
    enum {
        GUESTS = 2
    };

    heist_runtime *rt = NULL;
    pthread_t guest[GUESTS];
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    heist_store_relaxed(&held, 0);
    for (int i = 0; i < GUESTS; i++)
        CHECK_EQ(pthread_create(&guest[i], NULL, hold_a_region, rt), 0);
    while (heist_load_acquire(&held) < GUESTS)
        hi_thread_yield();
    for (int round = 0; round < 40; round++) {
        heist_latch end;
        heist_latch_init(&end, 1);
        CHECK_EQ(
            heist_spawn(rt, spawn_behind_a_frame_task, rt, &end, HEIST_FOREVER),
            0);
        CHECK_EQ(heist_latch_wait(&end, HEIST_FOREVER), 0);
    }
    heist_store_release(&held, 0);
    for (int i = 0; i < GUESTS; i++)
        CHECK_EQ(pthread_join(guest[i], NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
