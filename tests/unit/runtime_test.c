/* SPDX-License-Identifier: MIT */
#include "core/random.h"
#include "core/runtime.h"
#include "fib.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static heist_runtime *start(unsigned workers)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = workers};
    CHECK_EQ(heist_start(&rt, &config), 0);
    return rt;
}

static void stop(heist_runtime *rt)
{
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static HEIST_ATOMIC(int) ran;

static int count_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&ran, 1);
    return 0;
}

TEST(a_zeroed_config_starts_as_many_workers_as_there_are_cpus)
{
    heist_runtime *rt = NULL;
    hi_cpus cpus;
    hi_cpus_read(&cpus, "");
    CHECK_EQ(heist_start(&rt, NULL), 0);
    CHECK_EQ(heist_workers(rt), cpus.workers);
    stop(rt);
}

TEST(a_config_that_makes_no_sense_is_refused)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1000000}), -EINVAL);
    CHECK_EQ(heist_start(&rt, &(heist_config){.quantum = -1}), -EINVAL);
    CHECK_EQ(heist_start(&rt, &(heist_config){.exposure = (heist_exposure)9}),
             -EINVAL);
    CHECK_EQ(heist_start(&rt, &(heist_config){.idle = (heist_idle)9}), -EINVAL);
    heist_config half = {0};
    half.allocator.free = (void (*)(void *, void *, size_t))1;
    CHECK_EQ(heist_start(&rt, &half), -EINVAL);
    heist_config later = {.reserved = {[7] = 1}};
    CHECK_EQ(heist_start(&rt, &later), -EINVAL);
    CHECK(rt == NULL);
}

static unsigned strands_in(const hi_strand *list)
{
    unsigned n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

/* What was tidied is not looked at again, and a token ends it for this time. */
TEST(who_is_called_while_it_tidies_goes_on_with_it_later)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .stack_bytes = 64 << 10};
    CHECK_EQ(heist_start(&rt, &config), 0);
    hi_worker w = {.rt = rt};
    CHECK_EQ(hi_worker_init(&w, NULL), 0);
    CHECK_EQ(hi_worker_prepare(&w), 0);
    hi_worker_tidy(&w, HEIST_FOREVER);
    CHECK_EQ(strands_in(w.spare.warm), 1); /* few enough */
    for (int i = 0; i < 8; i++) {          /* each on top of the list */
        hi_spares before = w.spare;
        w.spare = (hi_spares){0};
        CHECK_EQ(hi_worker_prepare(&w), 0);
        hi_strand *one = hi_spares_take(&w.spare);
        w.spare = before;
        hi_spares_put(&w.spare, one);
    }
    CHECK_EQ(w.spare.count, 9);
    heist_init(&w.parker, 2); /* a token */
    hi_worker_tidy(&w, HEIST_FOREVER);
    CHECK_EQ(strands_in(w.spare.hollow), 0);
    heist_init(&w.parker, 0);
    hi_worker_tidy(&w, HEIST_NOW); /* it is time */
    CHECK_EQ(strands_in(w.spare.hollow), 0);
    hi_worker_tidy(&w, HEIST_FOREVER);
    CHECK_EQ(strands_in(w.spare.warm), 4);
    CHECK_EQ(w.spare.count, 4);
    CHECK_EQ(strands_in(w.spare.hollow), 5);
    hi_worker_fini(&w);
    CHECK(!w.spare.warm && !w.spare.hollow);
    stop(rt);
}

TEST(a_large_strand_is_hollowed_in_pieces)
{
    size_t done = 0, before, pieces = 0, last = 100000;
    bool all = false;
    hi_strand *s = hi_strand_create(0);
    CHECK(s && hi_strand_grow(s, s->base + last));
    s->base[last].arg[0].i = 1;
    for (; !all; pieces++) {
        before = done;
        all = hi_strand_hollow(s, &done);
        CHECK(done > before && done - before <= 4 << 20);
    }
    CHECK(pieces > 1);
    CHECK_EQ(s->base[last].arg[0].i, 0);
    hi_strand_destroy(s);
}

/* Of a smaller one and a larger one that came back, the smaller one last. */
TEST(a_strand_of_the_pool_has_a_stack_that_is_large_enough)
{
    const size_t step = 64 << 10;
    hi_strand *largest = hi_strand_create(HI_STACK_MOST);
    for (size_t a = step; a < HI_STACK_MOST; a += step) {
        hi_strand *small = hi_strand_create(a);
        hi_strand *large = hi_strand_create(a + step);
        CHECK(small && small->stack_bytes >= a);
        CHECK(large && large->stack_bytes >= a + step);
        hi_strand_destroy(large);
        hi_strand_destroy(small);
        large = hi_strand_create(a + step);
        CHECK(large && large->stack_bytes >= a + step);
        hi_strand_destroy(large);
    }
    hi_strand_destroy(largest);
}

TEST(two_small_runtimes_sleep_on_two_processors)
{
    hi_cpus cpus;
    hi_cpus_read(&cpus, "");
    heist_runtime *one = start(1), *two = start(1);
    if (cpus.mask > 1) CHECK(one->pool[0].home != two->pool[0].home);
    CHECK(one->pool[0].home >= 0 && two->pool[0].home >= 0);
    stop(one);
    stop(two);
}

TEST(a_spawned_task_runs_once_and_its_latch_opens)
{
    heist_runtime *rt = start(2);
    heist_latch done;
    heist_latch_init(&done, 100);
    heist_store_relaxed(&ran, 0);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(heist_spawn(rt, count_one, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&ran), 100);
    stop(rt);
}

TEST(stop_finishes_what_was_spawned)
{
    for (int round = 0; round < 100; round++) {
        heist_runtime *rt = start(3);
        heist_store_relaxed(&ran, 0);
        for (int i = 0; i < 200; i++)
            CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
        stop(rt);
        CHECK_EQ(heist_load_relaxed(&ran), 200);
    }
}

static heist_latch gate;

static int wait_at_gate(heist_ctx c, void *arg)
{
    (void)c;
    CHECK_EQ(heist_latch_wait(arg ? arg : &gate, HEIST_FOREVER), 0);
    heist_add_relaxed(&ran, 1);
    return 0;
}

/* Every worker is blocked by a task that does not give its worker back. */
static HEIST_ATOMIC(int) held;
static HEIST_ATOMIC(int) holding;

static int hold(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&holding, 1);
    while (heist_load_acquire(&held))
        sched_yield();
    return 0;
}

static void hold_all(heist_runtime *rt, int n)
{
    heist_store_relaxed(&holding, 0);
    heist_store_release(&held, 1);
    for (int i = 0; i < n; i++)
        CHECK_EQ(heist_spawn(rt, hold, NULL, NULL, HEIST_FOREVER), 0);
    while (heist_load_relaxed(&holding) != n)
        sched_yield();
}

TEST(a_full_injector_says_so_and_drops_nothing)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 4};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&ran, 0);
    hold_all(rt, 1);
    int taken = 0, rc;
    while ((rc = heist_spawn(rt, count_one, NULL, NULL, HEIST_NOW)) == 0)
        taken++;
    CHECK_EQ(rc, -EAGAIN);
    CHECK_EQ(taken, 4);
    CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, heist_after(1000)),
             -ETIMEDOUT);
    heist_store_release(&held, 0);
    CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&ran), 5);
}

static void *spawn_blocking(void *rt)
{
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
    return NULL;
}

TEST(who_waits_for_room_gets_it)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 2, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&ran, 0);
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, spawn_blocking, rt);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&ran), 8000);
}

TEST(stop_gives_up_at_its_deadline_and_can_be_called_again)
{
    heist_runtime *rt = start(2);
    hold_all(rt, 1);
    CHECK_EQ(heist_stop(rt, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(heist_stop(rt, heist_after(1000000)), -ETIMEDOUT);
    CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_NOW), -ESHUTDOWN);
    CHECK_EQ(heist_run(rt, NULL, NULL), -ESHUTDOWN);
    heist_store_release(&held, 0);
    stop(rt);
}

static int stop_myself(heist_ctx c, void *arg)
{
    (void)c;
    CHECK_EQ(heist_stop(arg, HEIST_FOREVER), -EDEADLK);
    return 0;
}

TEST(a_task_cannot_stop_its_own_runtime)
{
    heist_runtime *rt = start(2);
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, stop_myself, rt, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    stop(rt);
}

TEST(stop_waits_for_a_strand_that_is_put_aside)
{
    heist_runtime *rt = start(2);
    heist_latch_init(&gate, 1);
    heist_store_relaxed(&ran, 0);
    for (int i = 0; i < 50; i++)
        CHECK_EQ(heist_spawn(rt, wait_at_gate, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, heist_after(2 * HEIST_MILLISECOND)), -ETIMEDOUT);
    heist_latch_arrive(&gate);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&ran), 50);
}

TEST(a_wait_in_a_task_gives_the_worker_to_others)
{
    heist_runtime *rt = start(1);
    heist_latch_init(&gate, 1);
    heist_store_relaxed(&ran, 0);
    heist_latch done;
    heist_latch_init(&done, 1);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(heist_spawn(rt, wait_at_gate, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_spawn(rt, count_one, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    heist_latch_arrive(&gate);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&ran), 21);
}

static int wait_in_vain(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_latch_wait(&gate, heist_after(HEIST_MILLISECOND)),
             -ETIMEDOUT);
    CHECK_EQ(heist_latch_wait(&gate, HEIST_NOW), -ETIMEDOUT);
    heist_add_relaxed(&ran, 1);
    return 0;
}

TEST(a_wait_with_a_deadline_ends_at_it)
{
    heist_runtime *rt = start(2);
    heist_latch_init(&gate, 1);
    heist_store_relaxed(&ran, 0);
    CHECK_EQ(heist_latch_wait(&gate, heist_after(HEIST_MILLISECOND)),
             -ETIMEDOUT);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(heist_spawn(rt, wait_in_vain, NULL, NULL, HEIST_FOREVER), 0);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&ran), 20);
    heist_latch_arrive(&gate);
    CHECK_EQ(heist_latch_wait(&gate, HEIST_NOW), 0);
}

static HEIST_ATOMIC(int) seen[256];

static int see_worker(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    int i = heist_worker_index();
    CHECK(i >= 0 && i < 256);
    heist_add_relaxed(&seen[i], 1);
    return 0;
}

static int broadcast_again(heist_ctx c, void *rt)
{
    (void)c;
    CHECK_EQ(heist_broadcast(rt, see_worker, NULL), 0);
    return 0;
}

TEST(a_broadcast_reaches_each_worker_once)
{
    static const unsigned counts[] = {1, 2, 65, 200};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        heist_runtime *rt = start(counts[k]);
        memset(seen, 0, sizeof seen);
        CHECK_EQ(heist_worker_index(), -1);
        for (int round = 0; round < 10; round++)
            CHECK_EQ(heist_broadcast(rt, see_worker, NULL), 0);
        heist_latch done;
        heist_latch_init(&done, 1);
        CHECK_EQ(heist_spawn(rt, broadcast_again, rt, &done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        for (unsigned i = 0; i < 256; i++)
            CHECK_EQ(heist_load_relaxed(&seen[i]), i < counts[k] ? 11 : 0);
        stop(rt);
    }
}

/* --- scopes ------------------------------------------------------------- */

static int tree_task(heist_ctx c, void *arg);

struct tree {
    heist_scope *scope;
    int depth;
};

static struct tree trees[12];

static int tree_task(heist_ctx c, void *arg)
{
    (void)c;
    struct tree *t = arg;
    heist_add_relaxed(&ran, 1);
    for (int i = 0; i < 2 && t->depth > 0; i++)
        heist_scope_spawn(t->scope, tree_task, t - 1);
    return 0;
}

TEST(a_scope_waits_for_all_that_its_tasks_spawn)
{
    heist_runtime *rt = start(4);
    heist_scope s;
    for (int round = 0; round < 20; round++) {
        heist_scope_open(&s, rt);
        for (int i = 0; i < 12; i++)
            trees[i] = (struct tree){&s, i};
        heist_store_relaxed(&ran, 0);
        heist_scope_spawn(&s, tree_task, &trees[11]);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_load_relaxed(&ran), (1 << 12) - 1);
    }
    heist_scope_open(&s, rt);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0); /* an empty one */
    stop(rt);
}

static int fail_with(heist_ctx c, void *arg)
{
    (void)c;
    return -(int)(intptr_t)arg;
}

TEST(a_scope_reports_the_first_spawned_failure)
{
    heist_runtime *rt = start(4);
    for (int round = 0; round < 50; round++) {
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 20; i++)
            heist_scope_spawn(&s, fail_with, (void *)0);
        heist_scope_spawn(&s, fail_with, (void *)EIO);
        for (int i = 0; i < 20; i++)
            heist_scope_spawn(&s, fail_with, (void *)EPERM);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), -EIO);
        CHECK_EQ(heist_scope_failures(&s), 21);
    }
    stop(rt);
}

static int wait_for_cancel(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_relaxed(&ran, 1);
    while (!heist_scope_is_cancelled(arg))
        sched_yield();
    return 0;
}

TEST(a_scope_is_cancelled_at_its_deadline_and_still_waits)
{
    heist_runtime *rt = start(2);
    heist_scope s;
    heist_scope_open(&s, rt);
    heist_store_relaxed(&ran, 0);
    for (int i = 0; i < 10; i++)
        heist_scope_spawn(&s, wait_for_cancel, &s);
    CHECK_EQ(heist_scope_close(&s, heist_after(HEIST_MILLISECOND)), -ETIMEDOUT);
    CHECK(heist_load_relaxed(&ran) <= 10);
    /* More than the queue holds: who spawns comes to the close all the same. */
    heist_scope_open(&s, rt);
    for (int i = 0; i < 1000; i++)
        heist_scope_spawn(&s, wait_for_cancel, &s);
    CHECK_EQ(heist_scope_close(&s, heist_after(HEIST_MILLISECOND)), -ETIMEDOUT);
    heist_scope_open(&s, rt);
    heist_scope_cancel(&s);
    int before = heist_load_relaxed(&ran);
    heist_scope_spawn(&s, count_one, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), -ECANCELED);
    CHECK_EQ(heist_load_relaxed(&ran), before);
    stop(rt);
}

TEST(a_scope_has_room_for_more_than_the_queue_holds)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    hold_all(rt, 1);
    heist_store_relaxed(&ran, 0);
    heist_scope s;
    heist_scope_open(&s, rt);
    for (int i = 0; i < 1000; i++)
        heist_scope_spawn(&s, count_one, NULL);
    CHECK_EQ(heist_load_relaxed(&ran), 0);
    CHECK_EQ(heist_stop(rt, HEIST_NOW), -ETIMEDOUT);
    heist_store_release(&held, 0);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&ran), 1000);
    stop(rt);
}

/* --- hooks, statistics, several runtimes ------------------------------------- */

static HEIST_ATOMIC(int) started, stopped;

static void on_start(void *user, unsigned worker)
{
    CHECK(user == &started && worker < 3);
    heist_add_relaxed(&started, 1);
}

static void on_stop(void *user, unsigned worker)
{
    CHECK(user == &started && worker < 3);
    heist_add_relaxed(&stopped, 1);
}

static HEIST_ATOMIC(long) outstanding;

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    heist_add_relaxed(&outstanding, (long)bytes);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_free(void *user, void *p, size_t bytes)
{
    (void)user;
    heist_sub_relaxed(&outstanding, (long)bytes);
    free(p);
}

static int lines;

static void on_log(void *user, const char *message)
{
    CHECK(user == &started && strncmp(message, "heist: ", 7) == 0);
    if (strstr(message, "3 workers")) lines++;
}

TEST(hooks_and_allocator_are_used_and_balanced)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 3,
                           .on_worker_start = on_start,
                           .on_worker_stop = on_stop,
                           .log = on_log,
                           .user = &started,
                           .allocator = {count_alloc, count_free, NULL}};
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK(heist_load_relaxed(&outstanding) > 0);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_broadcast(rt, count_one, NULL), 0);
    stop(rt);
    CHECK_EQ(heist_load_relaxed(&outstanding), 0);
    CHECK_EQ(heist_load_relaxed(&started), 3);
    CHECK_EQ(heist_load_relaxed(&stopped), 3);
    CHECK_EQ(lines, 1);
}

TEST(statistics_add_up)
{
    heist_runtime *rt = start(3);
    for (int i = 0; i < 500; i++)
        CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_broadcast(rt, count_one, NULL), 0);
    uint64_t executed = 0, injected = 0;
    while (executed < 503) {
        executed = injected = 0;
        for (unsigned i = 0; i <= 3; i++) {
            heist_stats s;
            CHECK_EQ(heist_stats_read(rt, i, &s), 0);
            executed += s.executed;
            injected += s.injected;
        }
    }
    CHECK_EQ(executed, 503);
    CHECK_EQ(injected, 500);
    heist_stats s;
    CHECK_EQ(heist_stats_read(rt, 4, &s), -EINVAL);
    stop(rt);
}

static heist_stats once_parked(heist_runtime *rt, uint64_t before)
{
    heist_stats s;
    do {
        sched_yield();
        CHECK_EQ(heist_stats_read(rt, 0, &s), 0);
    } while (s.parked <= before);
    return s;
}

TEST(a_worker_that_was_woken_for_nothing_was_not_busy)
{
    heist_runtime *rt = start(1);
    heist_stats first = once_parked(rt, 0), s = first;
    for (int i = 0; i < 70; i++) {
        hi_sleep_post(rt);
        s = once_parked(rt, s.parked);
    }
    CHECK_EQ(s.executed, 0);
    CHECK_EQ(s.busy, first.busy);
    stop(rt);
}

static int cross_spawn(heist_ctx c, void *arg)
{
    (void)c;
    heist_latch done;
    heist_latch_init(&done, 10);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(heist_spawn(arg, count_one, NULL, &done, HEIST_FOREVER), 0);
    return heist_latch_wait(&done, HEIST_FOREVER);
}

/* Of all guests together: they have the row behind the workers'. */
static heist_stats guests_of(heist_runtime *r)
{
    heist_stats s;
    CHECK_EQ(heist_stats_read(r, heist_workers(r), &s), 0);
    return s;
}

static void nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static void wait_a_moment(heist_ctx c, void *arg)
{
    (void)arg;
    CHECK_EQ(fib(c, 25), 75025);
    heist_latch never;
    heist_latch_init(&never, 1);
    CHECK_EQ(heist_latch_wait(&never, heist_after(20 * HEIST_MILLISECOND)),
             -ETIMEDOUT);
}

TEST(the_counts_of_a_guest_are_of_one_runtime)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_time begin = heist_now();
    CHECK_EQ(heist_run(rt, wait_a_moment, NULL), 0);
    heist_time took = heist_now() - begin;
    heist_stats s = guests_of(rt);
    CHECK(s.exposed > 0);
    CHECK(s.busy > 0 && (heist_time)s.busy <= took);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK_EQ(heist_run(rt, nothing, NULL), 0);
    s = guests_of(rt);
    CHECK_EQ(s.exposed, 0);
    CHECK_EQ(s.busy, 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(tasks_that_a_scope_runs_in_place_are_counted)
{
    enum {
        TASKS = 500
    };

    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_scope scope;
    heist_scope_open(&scope, rt);
    for (int i = 0; i < TASKS; i++)
        heist_scope_spawn(&scope, count_one, NULL);
    CHECK_EQ(heist_scope_close(&scope, HEIST_FOREVER), 0);
    heist_stats worker, guests = guests_of(rt);
    CHECK_EQ(heist_stats_read(rt, 0, &worker), 0);
    CHECK_EQ(worker.executed + guests.executed, TASKS);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static heist_runtime *to_stop;
static int stop_said = 1;

static void *stop_though_cancelled(void *arg)
{
    pthread_cancel(pthread_self());
    stop_said = heist_stop(to_stop, HEIST_FOREVER);
    pthread_testcancel();
    return arg;
}

/* So that the stopper has to wait for the worker's thread. */
static void end_late(void *user, unsigned worker)
{
    (void)user, (void)worker;
    for (int i = 0; i < 20000; i++)
        sched_yield();
}

TEST(a_cancelled_thread_completes_its_stop)
{
    pthread_t thread;
    void *end = NULL;
    heist_config config = {.workers = 2, .on_worker_stop = end_late};
    CHECK_EQ(heist_start(&to_stop, &config), 0);
    CHECK_EQ(pthread_create(&thread, NULL, stop_though_cancelled, NULL), 0);
    CHECK_EQ(pthread_join(thread, &end), 0);
    CHECK_EQ(stop_said, 0);
    CHECK(end == PTHREAD_CANCELED);
}

TEST(only_a_number_in_the_environment_counts_and_errno_stays)
{
    static const struct {
        const char *text;
        unsigned workers; /* 0: as if it were not there */
    } row[] = {{"3", 3},
               {"0003", 3},
               {"", 0},
               {"0", 0},
               {" 3", 0},
               {"+3", 0},
               {"-1", 0},
               {"3x", 0},
               {"x", 0},
               {"4097", 0},
               {"18446744073709551619", 0},
               {"99999999999999999999999", 0}};

    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, NULL), 0);
    unsigned usual = heist_workers(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CHECK_EQ(setenv("HEIST_WORKERS", row[i].text, 1), 0);
        errno = EXDEV;
        CHECK_EQ(heist_run(NULL, nothing, NULL), 0);
        CHECK_EQ(errno, EXDEV);
        CHECK_EQ(heist_workers(NULL), row[i].workers ? row[i].workers : usual);
        CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    }
    unsetenv("HEIST_WORKERS");
}

TEST(several_runtimes_live_side_by_side)
{
    heist_runtime *rt[4];
    for (int i = 0; i < 4; i++)
        rt[i] = start(2);
    heist_store_relaxed(&ran, 0);
    heist_latch done;
    heist_latch_init(&done, 16);
    for (int i = 0; i < 16; i++)
        CHECK_EQ(heist_spawn(rt[i % 4], cross_spawn, rt[(i + 1) % 4], &done,
                             HEIST_FOREVER),
                 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    for (int i = 0; i < 4; i++)
        stop(rt[i]);
    CHECK_EQ(heist_load_relaxed(&ran), 160);
}

/* --- fork() ------------------------------------------------------------------ */

static void child_uses(heist_runtime *rt)
{
    heist_latch done;
    heist_latch_init(&done, 10);
    heist_store_relaxed(&ran, 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(heist_spawn(rt, count_one, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&ran), 10);
    CHECK_EQ(heist_broadcast(rt, count_one, NULL), 0);
    if (rt) stop(rt);
}

TEST(the_child_of_fork_uses_the_library)
{
    if (test_cannot_fork()) return;
    heist_runtime *rt = start(2);
    CHECK_EQ(heist_broadcast(NULL, count_one, NULL), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_FOREVER), 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            child_uses(rt);
            child_uses(NULL);
            _exit(0);
        }
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
    }
    stop(rt);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}

static int fork_inside(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    pid_t pid = fork();
    if (pid == 0) {
        child_uses(arg);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    return 0;
}

TEST(a_task_may_fork_a_child_that_uses_the_library)
{
    if (test_cannot_fork()) return;
    heist_runtime *rt = start(2);
    heist_latch done;
    heist_latch_init(&done, 5);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(heist_spawn(rt, fork_inside, rt, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    stop(rt);
}

/* --- numbers ------------------------------------------------------------------ */

TEST(victims_are_drawn_without_bias)
{
    hi_random r;
    hi_random_seed(&r, 42, 1);

    enum {
        SIDES = 7,
        DRAWS = 700000
    };

    int hits[SIDES] = {0};
    for (int i = 0; i < DRAWS; i++)
        hits[hi_random_below(&r, SIDES)]++;
    for (int i = 0; i < SIDES; i++)
        CHECK(abs(hits[i] - DRAWS / SIDES) < DRAWS / SIDES / 50);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(hi_random_below(&r, 1), 0);
}

TEST(deadlines_do_not_overflow)
{
    CHECK_EQ(heist_after(HEIST_FOREVER), HEIST_FOREVER);
    CHECK(heist_after(-5) <= heist_now());
    CHECK(heist_after(HEIST_SECOND) > heist_now());
}
