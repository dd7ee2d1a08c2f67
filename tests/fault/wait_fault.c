/* SPDX-License-Identifier: MIT
 *
 * wait_fault.c: a worker that has to wait and gets no strand to go on with.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "core/runtime.h"
#include "fault.h"

#include <time.h>

static heist_runtime *rt;
static hi_strand *kept[2];

/* Workers that run have one strand each; more can be had until starve(). */
static void start(unsigned workers)
{
    heist_config c = {
        .workers = workers, .exposure = HEIST_EAGER, .stack_bytes = 256 << 10};
    CHECK_EQ(heist_start(&rt, &c), 0);
}

static void starve(void)
{
    kept[0] = fault_drain(0);
    kept[1] = fault_drain(256 << 10);
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
}

static void feed(void)
{
    fault_disarm();
    fault_refill(kept[0]);
    fault_refill(kept[1]);
    kept[0] = kept[1] = NULL;
}

static void stop(void)
{
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* How many waits have begun, guests' included. */
static uint64_t suspended(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= heist_workers(rt); i++) {
        heist_stats s;
        CHECK_EQ(heist_stats_read(rt, i, &s), 0);
        sum += s.suspended;
    }
    return sum;
}

typedef struct waiter {
    heist_latch latch, done;
    heist_time deadline;
    int rc;
} waiter;

static int wait_for_it(heist_ctx c, void *arg)
{
    waiter *w = arg;
    (void)c;
    w->rc = heist_latch_wait(&w->latch, w->deadline);
    return 0;
}

/* A task that waits; it does so when this returns. */
static void send_waiter(waiter *w, heist_time deadline)
{
    uint64_t before = suspended();
    *w = (waiter){.deadline = deadline, .rc = 1};
    heist_latch_init(&w->latch, 1);
    heist_latch_init(&w->done, 1);
    CHECK_EQ(heist_spawn(rt, wait_for_it, w, &w->done, HEIST_FOREVER), 0);
    fault_until(suspended() == before + 1);
}

/* The same with memory: its worker has gone on with something else. */
static void put_aside(waiter *w)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    send_waiter(w, HEIST_FOREVER);
    CHECK_EQ(heist_spawn(rt, fault_count_one, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

static void is_done(waiter *w, int rc)
{
    CHECK_EQ(heist_latch_wait(&w->done, heist_after(20 * HEIST_SECOND)), 0);
    CHECK_EQ(w->rc, rc);
}

/* The task's own memory, and then nothing more. */
static void starve_but_for_tasks(void)
{
    starve();
    heist_store_relaxed(&fault.kinds, (unsigned)(FAULT_MAP | FAULT_COMMIT));
}

/* --- a join that has to wait -------------------------------------------------------- */

static HEIST_ATOMIC(int) taken, may_end;

static void slow_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    heist_store_release(&taken, 1);
    fault_until(heist_load_acquire(&may_end));
    f->result.i = f->arg[0].i + 1;
}

static void join_a_slow_thief(heist_ctx c, void *arg)
{
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 41;
    heist_fork(c, slow_right);
    fault_until(heist_load_acquire(&taken));
    CHECK(!heist_join(c));
    *(int64_t *)arg = right->result.i;
}

static void *let_it_end(void *unused)
{
    fault_until(suspended() > 0);
    heist_store_release(&may_end, 1);
    return unused;
}

static int join_in_task(heist_ctx c, void *arg)
{
    join_a_slow_thief(c, arg);
    return 0;
}

static void join_without_strand(bool as_guest)
{
    start(2);
    int64_t got = 0;
    pthread_t other;
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_store_relaxed(&taken, 0);
    heist_store_relaxed(&may_end, 0);
    if (as_guest)
        CHECK_EQ(heist_run(rt, fault_spine_root, &(fault_spine){0}), 0);
    CHECK_EQ(pthread_create(&other, NULL, let_it_end, NULL), 0);
    starve_but_for_tasks();
    if (as_guest) {
        CHECK_EQ(heist_run(rt, join_a_slow_thief, &got), 0);
    } else {
        CHECK_EQ(heist_spawn(rt, join_in_task, &got, &done, HEIST_NOW), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    }
    CHECK(fault_disarm() > 0);
    CHECK_EQ(got, 42);
    CHECK_EQ(pthread_join(other, NULL), 0);
    feed();
    stop();
}

/* The first test: a guest that has waited before keeps a strand for it. */
TEST(a_guest_that_joins_a_slow_thief_waits_in_place)
{
    join_without_strand(true);
}

TEST(a_task_that_joins_a_slow_thief_waits_in_place)
{
    join_without_strand(false);
}

/* --- a latch ----------------------------------------------------------------- */

TEST(a_task_waits_in_place_and_goes_on_when_the_latch_opens)
{
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        start(workers);
        waiter w;
        starve_but_for_tasks();
        send_waiter(&w, HEIST_FOREVER);
        fault_until(heist_load_relaxed(&fault.hits) > 0);
        heist_latch_arrive(&w.latch);
        is_done(&w, 0);
        feed();
        stop();
    }
}

TEST(a_task_waits_in_place_until_its_deadline)
{
    start(1);
    waiter w;
    starve_but_for_tasks();
    heist_time deadline = heist_after(2 * HEIST_MILLISECOND);
    send_waiter(&w, deadline);
    is_done(&w, -ETIMEDOUT);
    CHECK(heist_now() >= deadline);
    feed();
    stop();
}

TEST(a_strand_put_aside_goes_on_while_another_waits_in_place)
{
    start(1);
    waiter aside, in_place;
    put_aside(&aside);
    starve_but_for_tasks();
    send_waiter(&in_place, HEIST_FOREVER);
    fault_until(heist_load_relaxed(&fault.hits) > 0);
    heist_latch_arrive(&aside.latch);
    is_done(&aside, 0);
    heist_latch_arrive(&in_place.latch);
    is_done(&in_place, 0);
    feed();
    stop();
}

TEST(strands_that_wait_in_place_and_aside_go_on_in_any_order)
{
    enum {
        ASIDE = 4
    };

    waiter w[ASIDE + 1];
    for (int first = 0; first <= ASIDE; first++) {
        start(1);
        for (int i = 0; i < ASIDE; i++)
            put_aside(&w[i]);
        starve_but_for_tasks();
        send_waiter(&w[ASIDE], HEIST_FOREVER);
        fault_until(heist_load_relaxed(&fault.hits) > 0);
        for (int i = 0; i <= ASIDE; i++)
            heist_latch_arrive(&w[(first + i) % (ASIDE + 1)].latch);
        for (int i = 0; i <= ASIDE; i++)
            is_done(&w[i], 0);
        feed();
        stop();
    }
}

/* --- a broadcast to somebody who waits in place -------------------------------- */

static HEIST_ATOMIC(int) told[4];

static int tell(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&told[heist_worker_index()], 1);
    return 0;
}

static void *broadcast(void *arg)
{
    *(int *)arg = heist_broadcast(rt, tell, NULL);
    return NULL;
}

TEST(a_broadcast_reaches_a_worker_that_waits_in_place)
{
    start(2);
    waiter w;
    int rc = 1;
    pthread_t other;
    for (int i = 0; i < 2; i++)
        heist_store_relaxed(&told[i], 0);
    starve_but_for_tasks();
    send_waiter(&w, HEIST_FOREVER);
    CHECK_EQ(pthread_create(&other, NULL, broadcast, &rc), 0);
    /* One worker is free.  The other may take its part now or later. */
    fault_until(heist_load_relaxed(&told[0]) + heist_load_relaxed(&told[1]));
    heist_latch_arrive(&w.latch);
    is_done(&w, 0);
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(rc, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(heist_load_relaxed(&told[i]), 1);
    feed();
    stop();
}

/* --- a worker that waits for what is in its own queue ---------------------------- */

static HEIST_ATOMIC(int) child_ran;

static int child(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_relaxed(&child_ran, 1);
    heist_latch_arrive(arg);
    return 0;
}

static int wait_for_child(heist_ctx c, void *arg)
{
    waiter *w = arg;
    (void)c;
    CHECK_EQ(heist_spawn(rt, child, &w->latch, NULL, HEIST_NOW), 0);
    return wait_for_it(c, w);
}

TEST(a_task_that_waits_for_its_child_goes_on_once_there_is_memory)
{
    start(1);
    waiter w = {.deadline = HEIST_FOREVER, .rc = 1};
    heist_latch_init(&w.latch, 1);
    heist_latch_init(&w.done, 1);
    heist_store_relaxed(&child_ran, 0);
    starve_but_for_tasks();
    CHECK_EQ(heist_spawn(rt, wait_for_child, &w, &w.done, HEIST_FOREVER), 0);
    fault_until(suspended() == 1 && heist_load_relaxed(&fault.hits) > 0);
    feed();
    is_done(&w, 0);
    CHECK_EQ(heist_load_relaxed(&child_ran), 1);
    stop();
}

/* Until the worker has given up on memory for now: it asks again and again, or
 * sleeps, and not only for the time of its first watches. */
static void starved(uint64_t parked)
{
    heist_stats now;
    do {
        sched_yield();
        CHECK_EQ(heist_stats_read(rt, 0, &now), 0);
    } while (now.parked < parked + 3 && heist_load_relaxed(&fault.hits) < 1000);
}

static void starve_and_feed(heist_task_fn *fn, int depth)
{
    start(1);
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_store_relaxed(&child_ran, 0);
    fault_check_works(rt);
    starve_but_for_tasks();
    CHECK_EQ(heist_spawn(rt, fn, &depth, &done, HEIST_FOREVER), 0);
    fault_until(suspended() > 0);
    heist_stats before;
    CHECK_EQ(heist_stats_read(rt, 0, &before), 0);
    starved(before.parked);
    feed();
    CHECK_EQ(heist_latch_wait(&done, heist_after(20 * HEIST_SECOND)), 0);
    CHECK_EQ(heist_load_relaxed(&child_ran), depth);
    stop();
}

/* *arg generations, each of which waits for the next. */
static int wait_for_generations(heist_ctx c, void *arg)
{
    int left = *(int *)arg - 1;
    heist_latch born;
    heist_latch_init(&born, 1);
    (void)c;
    heist_add_relaxed(&child_ran, 1);
    if (left == 0) return 0;
    CHECK_EQ(heist_spawn(rt, wait_for_generations, &left, &born, HEIST_NOW), 0);
    return heist_latch_wait(&born, HEIST_FOREVER);
}

TEST(tasks_that_wait_for_each_other_go_on_once_there_is_memory)
{
    for (int depth = 2; depth <= 6; depth++)
        starve_and_feed(wait_for_generations, depth);
}

TEST(a_broadcast_to_one_who_waits_is_done_once_there_is_memory)
{
    start(1);
    waiter w;
    int rc = 1;
    pthread_t other;
    heist_store_relaxed(&told[0], 0);
    starve_but_for_tasks();
    send_waiter(&w, HEIST_FOREVER);
    CHECK_EQ(pthread_create(&other, NULL, broadcast, &rc), 0);
    starved(3);
    feed();
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(rc, 0);
    CHECK_EQ(heist_load_relaxed(&told[0]), 1);
    heist_latch_arrive(&w.latch);
    is_done(&w, 0);
    stop();
}

static waiter above;

static int wait_below(heist_ctx c, void *arg)
{
    CHECK_EQ(heist_spawn(rt, wait_for_it, &above, &above.done, HEIST_NOW), 0);
    return wait_for_it(c, arg);
}

/* Whether or not the child begins on top of its waiting parent. */
TEST(a_parent_and_its_child_that_both_wait_go_on_in_any_order)
{
    for (int child_first = 0; child_first < 2; child_first++) {
        start(1);
        waiter below = {.deadline = HEIST_FOREVER, .rc = 1};
        heist_latch_init(&below.latch, 1);
        heist_latch_init(&below.done, 1);
        above = below;
        starve_but_for_tasks();
        CHECK_EQ(heist_spawn(rt, wait_below, &below, &below.done, HEIST_NOW),
                 0);
        fault_until(suspended() > 0);
        starved(0);
        heist_latch_arrive(child_first ? &above.latch : &below.latch);
        starved(3);
        feed();
        heist_latch_arrive(child_first ? &below.latch : &above.latch);
        is_done(&below, 0);
        is_done(&above, 0);
        stop();
    }
}

/* The child is in the queue behind a frame, which must not run before it. */
static int wait_behind_a_frame(heist_ctx c, void *arg)
{
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 1;
    heist_ctx left = heist_fork(c, fault_visit);
    wait_for_generations(left, arg);
    if (heist_join(c)) fault_visit(c, &(heist_frame){.arg[0].i = 1});
    return 0;
}

TEST(a_task_that_waits_with_an_open_fork_goes_on_once_there_is_memory)
{
    for (int depth = 2; depth <= 6; depth++)
        starve_and_feed(wait_behind_a_frame, depth);
}

/* --- a guest that waits for its own fork --------------------------------------------- */

/* Not before the guest waits: a worker may be faster than it. */
static void open_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    fault_until(suspended() > 0);
    heist_latch_arrive(f->arg[0].p);
}

static void wait_for_own_fork(heist_ctx c, void *arg)
{
    heist_latch opened;
    heist_latch_init(&opened, 1);
    heist_slot(c)->arg[0].p = &opened;
    heist_fork(c, open_right);
    *(int *)arg = heist_latch_wait(&opened, HEIST_FOREVER);
    heist_join(c);
}

static void *run_in_a_thread(void *arg)
{
    CHECK_EQ(heist_run(rt, wait_for_own_fork, arg), 0);
    return NULL;
}

/* By a thread that has never waited, and so has no strand for it; the workers
 * sleep, and nobody keeps watch. */
TEST(what_a_guest_without_memory_waits_for_is_run_by_a_worker)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        start(workers);
        heist_store_relaxed(&rt->rescue, HI_RESCUE_NONE);
        fault_until(heist_load_relaxed(&rt->sleep.awake) == 0);
        pthread_t thread;
        int rc = 1;
        hi_strand *own = hi_strand_create(0); /* the guest's own */
        CHECK(own != NULL);
        starve_but_for_tasks();
        hi_strand_destroy(own);
        CHECK_EQ(pthread_create(&thread, NULL, run_in_a_thread, &rc), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(rc, 0);
        CHECK(fault_disarm() > 0);
        feed();
        stop();
    }
}

/* --- without memory, and work that is not for who waits --------------------------------- */

TEST(who_waits_for_memory_burns_no_cpu)
{
    start(1);
    waiter w = {.deadline = HEIST_FOREVER, .rc = 1};
    heist_latch_init(&w.latch, 1);
    heist_latch_init(&w.done, 1);
    starve_but_for_tasks();
    CHECK_EQ(heist_spawn(rt, wait_for_child, &w, &w.done, HEIST_FOREVER), 0);
    fault_until(suspended() == 1 && heist_load_relaxed(&fault.hits) > 0);
    struct timespec cpu[2], while_starved = {.tv_nsec = 100000000};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
    nanosleep(&while_starved, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
    long us = (cpu[1].tv_sec - cpu[0].tv_sec) * 1000000 +
              (cpu[1].tv_nsec - cpu[0].tv_nsec) / 1000;
    CHECK(us < 40000); /* of 100000 */
    feed();
    is_done(&w, 0);
    stop();
}

/* --- what a worker that waits in place leaves undone ----------------------------------- */

static int cpus_of_the_thread(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static int wait_and_count_cpus(heist_ctx c, void *arg)
{
    int before = cpus_of_the_thread();
    wait_for_it(c, arg);
    CHECK_EQ(cpus_of_the_thread(), before);
    return 0;
}

/* The deadline comes while it sleeps; where it slept it need not stay. */
TEST(who_has_waited_in_place_is_not_pinned_and_was_not_busy)
{
    start(1);
    waiter w = {.deadline = heist_after(300 * HEIST_MILLISECOND), .rc = 1};
    heist_latch_init(&w.latch, 1);
    heist_latch_init(&w.done, 1);
    starve_but_for_tasks();
    heist_stats before, after;
    CHECK_EQ(heist_stats_read(rt, 0, &before), 0);
    CHECK_EQ(heist_spawn(rt, wait_and_count_cpus, &w, &w.done, HEIST_FOREVER),
             0);
    is_done(&w, -ETIMEDOUT);
    feed();
    fault_check_works(rt); /* so that it has counted */
    CHECK_EQ(heist_stats_read(rt, 0, &after), 0);
    CHECK(after.busy - before.busy < 250000000);
    stop();
}

static int leave_a_fork_behind(heist_ctx c, void *arg)
{
    (void)arg;
    heist_slot(c)->arg[0].i = 0;
    /* Else its first fork sees that nobody keeps watch. */
    fault_until(heist_load_relaxed(&rt->watchman));
    heist_fork(c, slow_right);
    fault_until(heist_load_acquire(&taken));
    heist_join(c);
    return 0;
}

/* Of three workers one waits in place, one is in a long leaf, one sleeps; by and by
 * the one that waits is the only one who might keep watch. */
TEST(who_waits_in_place_leaves_the_watch_to_others)
{
    if (!hi_barrier_init()) return;
    heist_config c = {.workers = 3, .stack_bytes = 256 << 10};
    CHECK_EQ(heist_start(&rt, &c), 0);
    waiter w;
    heist_store_relaxed(&may_end, 1);
    starve_but_for_tasks();
    send_waiter(&w, HEIST_FOREVER);
    fault_until(heist_load_relaxed(&fault.hits) > 0);
    for (int round = 0; round < 100; round++) {
        heist_latch done;
        heist_latch_init(&done, 1);
        heist_store_relaxed(&taken, 0);
        while (heist_load_relaxed(&rt->sleep.awake) > 1)
            sched_yield();
        CHECK_EQ(
            heist_spawn(rt, leave_a_fork_behind, NULL, &done, HEIST_FOREVER),
            0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    }
    heist_latch_arrive(&w.latch);
    is_done(&w, 0);
    feed();
    stop();
}

/* --- a deque that cannot grow --------------------------------------------------------------- */

enum {
    FORKS = 100 /* more than there is room for at first */
};

static heist_latch all_forks;

static void arrive_at(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    heist_latch_arrive(&all_forks);
}

static void wait_for_all(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_latch_wait(&all_forks, HEIST_FOREVER), 0);
}

static int fork_many_and_wait(heist_ctx c, void *nested)
{
    heist_ctx k = c;
    for (int i = 0; i < FORKS; i++)
        k = heist_fork(k, arrive_at);
    if (nested)
        CHECK_EQ(heist_run(NULL, wait_for_all, NULL), 0);
    else
        wait_for_all(k, NULL);
    while (k.frame != c.frame)
        heist_done(&k);
    return 0;
}

TEST(what_there_is_no_memory_to_show_is_shown_when_there_is_room)
{
    for (int nested = 0; nested < 2; nested++) {
        heist_latch done;
        heist_latch_init(&done, 1);
        heist_latch_init(&all_forks, FORKS);
        rt = fault_start(1, HEIST_ON_DEMAND);
        heist_run(rt, fault_spine_root, &(fault_spine){0});
        fault_arm(FAULT_HOOK, 2, FAULT_EVER_ON); /* the first is the task */
        CHECK_EQ(heist_spawn(rt, fork_many_and_wait, nested ? &done : NULL,
                             &done, HEIST_FOREVER),
                 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        CHECK(fault_disarm() > 0);
        fault_stop(rt);
    }
}

static HEIST_ATOMIC(int) filled, begun, others;

/* Tasks can be had, a larger queue cannot. */
static void *small_alloc(void *user, size_t bytes, size_t align)
{
    bool large = bytes > 512 && heist_load_acquire(&filled);
    return large ? NULL : fault_alloc(user, bytes, align);
}

static int spawn_itself(heist_ctx c, void *arg)
{
    (void)c;
    if (heist_load_acquire(&begun)) return 0;
    return heist_spawn(rt, spawn_itself, arg, NULL, HEIST_NOW);
}

/* Fills its queue to the brim, with tasks that keep it so. */
static int fill_the_queue(heist_ctx c, void *arg)
{
    (void)c;
    while (hi_deque_room(&hi_worker_self()->deque) > 0)
        CHECK_EQ(heist_spawn(rt, spawn_itself, arg, NULL, HEIST_NOW), 0);
    heist_store_release(&filled, 1);
    return 0;
}

static int be_one_of_the_others(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_acq_rel(&others, 1);
    return 0;
}

enum {
    OTHERS = 15
};

static int wait_for_the_others(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&begun, 1);
    fault_until(heist_load_acquire(&others) == OTHERS); /* not by a latch */
    return 0;
}

static int hold_until_begun(heist_ctx c, void *arg)
{
    (void)c;
    heist_latch_arrive(arg);
    fault_until(heist_load_acquire(&begun));
    return 0;
}

TEST(tasks_that_a_full_queue_cannot_take_stay_where_others_find_them)
{
    heist_latch held;
    heist_latch_init(&held, 1);
    heist_store_relaxed(&filled, 0);
    heist_store_relaxed(&begun, 0);
    heist_store_relaxed(&others, 0);
    heist_config c = {.workers = 2, .allocator = {small_alloc, fault_free, 0}};
    CHECK_EQ(heist_start(&rt, &c), 0);
    CHECK_EQ(heist_spawn(rt, hold_until_begun, &held, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&held, HEIST_FOREVER), 0);
    CHECK_EQ(heist_spawn(rt, fill_the_queue, NULL, NULL, HEIST_FOREVER), 0);
    fault_until(heist_load_acquire(&filled));
    CHECK_EQ(heist_spawn(rt, wait_for_the_others, NULL, NULL, HEIST_FOREVER),
             0);
    for (int i = 0; i < OTHERS; i++)
        CHECK_EQ(
            heist_spawn(rt, be_one_of_the_others, NULL, NULL, HEIST_FOREVER),
            0);
    fault_stop(rt);
    CHECK_EQ(heist_load_relaxed(&others), OTHERS);
}
