/* SPDX-License-Identifier: MIT
 *
 * fork() of the process while the library is at work.  The child has one thread
 * and none of the workers; whatever the others had in hand, also a lock, it must
 * not wait for them.
 */
#include "../stress/scale.h"
#include "core/runtime.h"
#include "fib.h"
#include "test.h"

#include <heist.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static heist_runtime *rt;
static HEIST_ATOMIC(int) over;

static void tree_root(heist_ctx c, void *arg)
{
    *(int64_t *)arg = fib(c, 15);
}

static int tree_task(heist_ctx c, void *arg)
{
    (void)arg;
    return fib(c, 10) == 55 ? 0 : -1;
}

/* Everything that can be going on at the moment of a fork(). */
static void *load(void *arg)
{
    while (!heist_load_acquire(&over)) {
        int64_t sum = 0;
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 20; i++)
            heist_scope_spawn(&s, tree_task, NULL);
        CHECK_EQ(heist_run(rt, tree_root, &sum), 0);
        CHECK_EQ(sum, 610);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_broadcast(rt, tree_task, NULL), 0);
    }
    return arg;
}

/* Runtimes that come and go: locks of the whole process are taken. */
static void *come_and_go(void *arg)
{
    while (!heist_load_acquire(&over)) {
        heist_runtime *r = NULL;
        CHECK_EQ(heist_start(&r, &(heist_config){.workers = 1}), 0);
        CHECK_EQ(heist_stop(r, HEIST_FOREVER), 0);
    }
    return arg;
}

static void child_works(heist_runtime *r)
{
    int64_t sum = 0;
    heist_scope s;
    CHECK_EQ(heist_run(r, tree_root, &sum), 0);
    CHECK_EQ(sum, 610);
    heist_scope_open(&s, r);
    for (int i = 0; i < 20; i++)
        heist_scope_spawn(&s, tree_task, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    CHECK_EQ(heist_broadcast(r, tree_task, NULL), 0);
    CHECK_EQ(heist_stop(r, HEIST_FOREVER), 0);
}

static void fork_once(void)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child_works(rt);
        child_works(NULL);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static int fork_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    fork_once();
    return 0;
}

static void under_load(void (*fork_it)(void))
{
    pthread_t thread[3];
    heist_config config = {.workers = 3, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK_EQ(heist_broadcast(NULL, tree_task, NULL), 0);
    heist_store_relaxed(&over, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, load, NULL), 0);
    CHECK_EQ(pthread_create(&thread[2], NULL, come_and_go, NULL), 0);
    for (long i = scaled(200); i > 0; i--)
        fork_it();
    heist_store_release(&over, 1);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}

TEST(the_child_of_a_fork_under_load_uses_the_library)
{
    if (!test_cannot_fork()) under_load(fork_once);
}

static void fork_in_a_task(void)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, fork_task, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

TEST(the_child_of_a_fork_in_a_task_under_load_uses_the_library)
{
    if (!test_cannot_fork()) under_load(fork_in_a_task);
}

/* --- a child of a process at rest --------------------------------------------------- */

#ifndef __has_feature
#    define __has_feature(x) 0
#endif

/* AddressSanitizer can follow it, and looks for leaks when it exits. */
static bool cannot_fork_at_rest(void)
{
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
    return false;
#else
    return test_cannot_fork();
#endif
}

static void end_well(pid_t pid)
{
    int status;
    CHECK(pid >= 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

/* Broadcasts last: threads that are still starting are not at rest. */
static void use_both(void)
{
    int64_t sum = 0;
    CHECK_EQ(heist_run(NULL, tree_root, &sum), 0);
    CHECK_EQ(heist_run(rt, tree_root, &sum), 0);
    CHECK_EQ(heist_broadcast(NULL, tree_task, NULL), 0);
    CHECK_EQ(heist_broadcast(rt, tree_task, NULL), 0);
}

/* Uses what it has inherited, has children that do, and exits. */
static void live(int generations, bool stops)
{
    use_both();
    fflush(NULL);
    pid_t pid = generations ? fork() : -1;
    if (pid == 0) {
        live(generations - 1, stops);
        exit(0);
    }
    if (generations) end_well(pid);
    if (!stops) return;
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}

/* What the parent's pool had is given up in a child, and yet not lost. */
TEST(children_that_exit_have_lost_no_memory)
{
    if (cannot_fork_at_rest()) return;
    for (int stops = 0; stops < 2; stops++) {
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
        live(2, stops);
        if (stops) continue;
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    }
}

/* With memory of its own, which it asks its runtime for. */
static void sort_numbers(heist_ctx c)
{
    enum {
        NUMBERS = 1 << 16
    };

    static uint32_t number[NUMBERS];
    for (uint32_t i = 0; i < NUMBERS; i++)
        number[i] = i * 2654435761u;
    heist_sort_u32(c, number, NUMBERS);
    for (uint32_t i = 1; i < NUMBERS; i++)
        CHECK(number[i - 1] < number[i]);
}

/* The runtime of the region it is in is no more. */
static void stop_inside(heist_ctx c, void *arg)
{
    (void)arg;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(heist_broadcast(rt, tree_task, NULL), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        CHECK_EQ(fib(c, 20), 6765);
        sort_numbers(c);
        _exit(0);
    }
    end_well(pid);
}

TEST(the_child_of_a_fork_in_a_region_can_stop_and_go_on_there)
{
    if (cannot_fork_at_rest()) return;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    CHECK_EQ(heist_broadcast(rt, tree_task, NULL), 0);
    CHECK_EQ(heist_run(rt, stop_inside, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A latch that a task of the parent waits for.  In the child nobody does, and to
 * open it is no reason to count on somebody. */
static heist_latch begun, opened;

static int wait_for_the_latch(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch_arrive(&begun);
    return heist_latch_wait(&opened, HEIST_FOREVER);
}

static uint64_t suspended(void)
{
    heist_stats s;
    CHECK_EQ(heist_stats_read(rt, 0, &s), 0);
    return s.suspended;
}

static void spawn_and_wait(void)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, tree_task, NULL, &done, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

/* Then only who is told of a task comes for it. */
static void until_all_sleep_for_good(void)
{
    while (heist_load_relaxed(&rt->sleep.awake) ||
           heist_load_relaxed(&rt->watchman))
        sched_yield();
}

TEST(a_child_may_open_what_a_task_of_the_parent_waits_for)
{
    if (cannot_fork_at_rest()) return;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_latch_init(&begun, 1);
    heist_latch_init(&opened, 1);
    CHECK_EQ(heist_spawn(rt, wait_for_the_latch, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&begun, HEIST_FOREVER), 0);
    while (!suspended())
        sched_yield();
    until_all_sleep_for_good(); /* so it is on the list */
    for (int stopped = 0; stopped < 2; stopped++) {
        pid_t pid = fork();
        if (pid == 0) {
            spawn_and_wait();
            until_all_sleep_for_good();
            if (stopped) CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
            heist_latch_arrive(&opened);
            if (stopped) _exit(0);
            spawn_and_wait();
            CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
            _exit(0);
        }
        end_well(pid);
    }
    heist_latch_arrive(&opened);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* True in the child, whose last words are not for this test's output. */
static bool fork_and_return(pid_t *pid)
{
    *pid = fork();
    CHECK(*pid >= 0);
    if (*pid == 0) CHECK(freopen("/dev/null", "w", stderr));
    return *pid == 0;
}

static void end_by_abort(pid_t pid)
{
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static int return_in_the_child(heist_ctx c, void *pid)
{
    (void)c;
    fork_and_return(pid);
    return 0;
}

/* Not as a worker without a runtime. */
TEST(a_child_that_returns_from_the_task_of_its_parent_is_ended)
{
    if (cannot_fork_at_rest()) return;
    pid_t pid = 0;
    heist_latch_init(&opened, 1);
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_spawn(rt, return_in_the_child, &pid, &opened, HEIST_FOREVER),
             0);
    CHECK_EQ(heist_latch_wait(&opened, HEIST_FOREVER), 0);
    end_by_abort(pid);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Another thread of the parent's was just at the latch: nobody will unlock it. */
static int return_to_a_locked_latch(heist_ctx c, void *pid)
{
    (void)c;
    if (fork_and_return(pid)) heist_store_relaxed(&opened.state, 1);
    return 0;
}

TEST(a_child_that_returns_from_a_task_does_not_touch_its_latch)
{
    if (cannot_fork_at_rest()) return;
    pid_t pid = 0;
    heist_latch_init(&opened, 1);
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(
        heist_spawn(rt, return_to_a_locked_latch, &pid, &opened, HEIST_FOREVER),
        0);
    CHECK_EQ(heist_latch_wait(&opened, HEIST_FOREVER), 0);
    end_by_abort(pid);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void hook(void *pid, unsigned index)
{
    (void)index;
    fork_and_return(pid);
}

TEST(a_child_that_returns_from_a_hook_is_ended)
{
    if (cannot_fork_at_rest()) return;
    for (int i = 0; i < 2; i++) {
        pid_t pid = 0;
        heist_config config = {.workers = 1, .user = &pid};
        *(i ? &config.on_worker_start : &config.on_worker_stop) = hook;
        CHECK_EQ(heist_start(&rt, &config), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        end_by_abort(pid);
    }
}

static int stop_and_return(heist_ctx c, heist_step *step, void *pid)
{
    (void)c, (void)step;
    if (fork_and_return(pid)) CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    return 0;
}

static int node(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return 0;
}

/* More nodes become ready than the worker's queue has room for. */
TEST(a_child_whose_runtime_is_gone_keeps_the_memory_of_its_queue)
{
    if (cannot_fork_at_rest()) return;

    enum {
        NODES = 300
    };

    pid_t pid = 0;
    heist_flow *flow;
    heist_graph *g;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node first = heist_graph_add(g, "first", stop_and_return, &pid);
    for (int i = 0; i < NODES; i++) {
        heist_node n = heist_graph_add(g, "node", node, NULL);
        heist_graph_edge(g, first, n);
        heist_graph_priority(g, n, HEIST_HIGH);
    }
    heist_flow_opts opts = {.rt = rt};
    CHECK_EQ(heist_flow_start(&flow, g, &opts, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(flow), 0);
    end_by_abort(pid);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    heist_graph_destroy(g);
}
