/* SPDX-License-Identifier: MIT
 *
 * What is shared by everything that happens on one thread: errno, the place in
 * another runtime, the process.
 */
#include "core/runtime.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>
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

/* NULL is the runtime that the caller works in. */
static HEIST_ATOMIC(int) index_of_guest;

static int where(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&index_of_guest, heist_worker_index());
    return 0;
}

static int spawn_by_null(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_workers(NULL), 1);
    CHECK_EQ(heist_spawn(NULL, where, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    return 0;
}

TEST(null_inside_a_task_is_its_own_runtime)
{
    heist_stats stats;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_store_relaxed(&index_of_guest, -1);
    run_task(spawn_by_null);
    CHECK_EQ(heist_load_acquire(&index_of_guest), 0);
    CHECK_EQ(heist_stats_read(rt, 0, &stats), 0);
    CHECK_EQ(stats.executed, 2);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A task of a scope finds room in a full runtime too, and who spawns it goes on: the
 * other worker waits for what the spawner does next. */
static int spawn_back(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_scope s;
    heist_scope_open(&s, rt);
    heist_scope_spawn(&s, nothing, NULL);
    return heist_scope_close(&s, HEIST_FOREVER);
}

static int spawn_over(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_scope s;
    heist_scope_open(&s, other);
    heist_scope_spawn(&s, spawn_back, NULL);
    heist_latch_arrive(&gate);
    return heist_scope_close(&s, HEIST_FOREVER);
}

static int wait_at_gate(heist_ctx c, void *started)
{
    (void)c;
    heist_latch_arrive(started);
    /* Not heist_latch_wait: the worker stays with us. */
    while (heist_load_acquire(&gate.count))
        sched_yield();
    return 0;
}

TEST(scopes_of_two_full_runtimes_do_not_wait_for_each_other)
{
    heist_latch started;
    heist_config one = {.workers = 1, .queue_capacity = 1};
    CHECK_EQ(heist_start(&rt, &one), 0);
    CHECK_EQ(heist_start(&other, &one), 0);
    heist_latch_init(&started, 1);
    heist_latch_init(&gate, 1);
    CHECK_EQ(heist_spawn(other, wait_at_gate, &started, NULL, HEIST_FOREVER),
             0);
    CHECK_EQ(heist_latch_wait(&started, HEIST_FOREVER), 0);
    while (heist_spawn(other, nothing, NULL, NULL, HEIST_NOW) == 0)
        ;
    run_task(spawn_over);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), 0);
}

/* Hooks run on a worker's thread, but not in its runtime. */
static heist_latch hooked;

static void in_a_hook(void *user, unsigned worker)
{
    (void)user, (void)worker;
    CHECK_EQ(heist_spawn(rt, nothing, NULL, &hooked, HEIST_FOREVER), 0);
    CHECK_EQ(heist_worker_index(), -1);
    CHECK_EQ(heist_latch_wait(&gate, heist_after(1)), -ETIMEDOUT);
}

TEST(hooks_are_foreign_to_their_runtime)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_runtime *watched = NULL;
    heist_config config = {.workers = 2,
                           .on_worker_start = in_a_hook,
                           .on_worker_stop = in_a_hook};
    heist_latch_init(&gate, 1);
    heist_latch_init(&hooked, 4);
    CHECK_EQ(heist_start(&watched, &config), 0);
    CHECK_EQ(heist_stop(watched, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&hooked, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- the runtime of a scope ------------------------------------------------------------- */

static HEIST_ATOMIC(unsigned) workers_seen;

static int see_workers(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&workers_seen, heist_workers(NULL));
    return 0;
}

static void spawn_from_inside(heist_ctx c, void *scope)
{
    (void)c;
    heist_scope_spawn(scope, see_workers, NULL);
}

static int spawn_in_the_other(heist_ctx c, void *scope)
{
    (void)c;
    return heist_run(other, spawn_from_inside, scope);
}

static int open_a_scope(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_scope s;
    heist_scope_open(&s, NULL); /* of rt, which this task is of */
    heist_scope_spawn(&s, spawn_in_the_other, &s);
    return heist_scope_close(&s, HEIST_FOREVER);
}

TEST(a_scope_stays_in_the_runtime_it_was_opened_in)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    CHECK_EQ(heist_start(&other, &(heist_config){.workers = 3}), 0);
    run_task(open_a_scope);
    CHECK_EQ(heist_load_acquire(&workers_seen), 2);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), 0);
}

/* --- a region inside a region -------------------------------------------------------------- */

static void right_half(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
}

static uint64_t exposed(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= heist_workers(rt); i++) {
        heist_stats s;
        CHECK_EQ(heist_stats_read(rt, i, &s), 0);
        sum += s.exposed;
    }
    return sum;
}

static void fork_three(heist_ctx c, void *arg)
{
    heist_ctx k = c;
    uint64_t before = exposed();
    for (int i = 0; i < 3; i++)
        k = heist_fork(k, right_half);
    *(uint64_t *)arg = exposed() - before;
    while (k.frame != c.frame)
        heist_done(&k);
}

static void fork_three_inside(heist_ctx c, void *arg)
{
    (void)c;
    CHECK_EQ(heist_run(NULL, fork_three, arg), 0);
}

/* A frame may be rescued just before it is exposed: not here. */
TEST(an_eager_runtime_is_eager_in_nested_regions_too)
{
    heist_config config = {.workers = 2, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&rt->rescue, HI_RESCUE_NONE); /* relaxed: test */
    for (int i = 0; i < 100; i++) {
        uint64_t shown = 0;
        CHECK_EQ(heist_run(rt, i % 2 ? fork_three_inside : fork_three, &shown),
                 0);
        CHECK_EQ(shown, 3);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- a thread that is to end ---------------------------------------------------------------- */

static void *start_while_cancelled(void *out)
{
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    CHECK_EQ(heist_start(out, &(heist_config){.workers = 1}), 0);
    pthread_testcancel();
    return NULL;
}

TEST(a_start_is_no_point_of_cancellation)
{
    void *how = NULL;
    pthread_t thread;
    rt = NULL;
    CHECK_EQ(pthread_create(&thread, NULL, start_while_cancelled, &rt), 0);
    CHECK_EQ(pthread_join(thread, &how), 0);
    CHECK(how == PTHREAD_CANCELED);
    CHECK(rt != NULL);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
