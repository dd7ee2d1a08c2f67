/* SPDX-License-Identifier: MIT
 *
 * A guest ends what it has begun while it waited, and begins nothing that is not
 * its own; what it has forked is not hidden while it waits.
 */
#include "core/runtime.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>

static heist_latch never;

static int wait_a_while(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    int rc = heist_latch_wait(&never, heist_after(20 * HEIST_MILLISECOND));
    return rc == -ETIMEDOUT ? 0 : -EIO;
}

static void spawn_waiting(heist_ctx c, void *rt)
{
    (void)c;
    heist_scope s;
    heist_scope_open(&s, rt);
    for (int i = 0; i < 150; i++)
        heist_scope_spawn(&s, wait_a_while, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
}

/* More than the queue holds; and in a region, where they run, and wait, here. */
TEST(tasks_that_wait_are_all_finished)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers, .queue_capacity = 16};
        CHECK_EQ(heist_start(&rt, &config), 0);
        heist_latch_init(&never, 1);
        spawn_waiting((heist_ctx){0}, rt);
        CHECK_EQ(heist_run(rt, spawn_waiting, rt), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* A region and a task full of frames that wait, on the guest's thread and on those
 * of the workers: each region ends with all of its own. */
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

/* --- tasks that a guest runs ---------------------------------------------------------- */

static HEIST_ATOMIC(int) busy, tasks_begun;

static int keep_the_worker(heist_ctx c, void *arg)
{
    (void)c;
    heist_store_release(&busy, 1);
    while (heist_load_acquire(&tasks_begun) < *(int *)arg)
        hi_thread_yield();
    return 0;
}

/* The only worker is away until so many tasks have begun elsewhere. */
static void send_the_worker_away(heist_runtime *rt, int *until,
                                 heist_latch *back)
{
    heist_latch_init(back, 1);
    heist_store_relaxed(&busy, 0);
    heist_store_relaxed(&tasks_begun, 0);
    CHECK_EQ(heist_spawn(rt, keep_the_worker, until, back, HEIST_FOREVER), 0);
    while (!heist_load_acquire(&busy))
        hi_thread_yield();
}

static void open_a_latch(heist_ctx c, heist_frame *f)
{
    (void)c;
    heist_latch_arrive(f->arg[0].p);
}

static int wait_for_its_fork(heist_ctx c, void *arg)
{
    (void)arg;
    heist_latch opened;
    heist_latch_init(&opened, 1);
    heist_slot(c)->arg[0].p = &opened;
    heist_fork(c, open_a_latch);
    CHECK_EQ(heist_latch_wait(&opened, HEIST_FOREVER), 0);
    heist_join(c);
    return 0;
}

static void spawn_one_and_wait(heist_ctx c, void *rt)
{
    (void)c;
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, wait_for_its_fork, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

TEST(a_guest_takes_what_a_task_it_runs_has_forked)
{
    int until = 1;
    heist_latch back;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    send_the_worker_away(rt, &until, &back);
    CHECK_EQ(heist_run(rt, spawn_one_and_wait, rt), 0);
    heist_store_release(&tasks_begun, 1); /* only now */
    CHECK_EQ(heist_latch_wait(&back, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/*
 * Two tasks that a guest runs show a frame each and join them in the order in which
 * they were shown: the ticket of the first stays in the deque, and the guest leaves.
 */
static heist_latch both_run, both_shown, first_joined;
static HEIST_ATOMIC(int) shown;

static void not_taken(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
}

static void show_frames(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static int show_and_join(heist_ctx c, void *arg)
{
    heist_runtime *rt = arg;
    bool worker_ends = heist_add_acq_rel(&tasks_begun, 1) >= 0;
    heist_latch_arrive(&both_run);
    CHECK_EQ(heist_latch_wait(&both_run, HEIST_FOREVER), 0);
    while (worker_ends && heist_load_relaxed(&rt->sleep.awake) > 1)
        hi_thread_yield(); /* until it sleeps */
    heist_fork(c, not_taken);
    CHECK_EQ(heist_run(rt, show_frames, NULL), 0);
    bool first = heist_add_acq_rel(&shown, 1) == 0;
    heist_latch_arrive(&both_shown);
    CHECK_EQ(
        heist_latch_wait(first ? &both_shown : &first_joined, HEIST_FOREVER),
        0);
    heist_join(c);
    if (first) heist_latch_arrive(&first_joined);
    return 0;
}

static void spawn_two_and_wait(heist_ctx c, void *rt)
{
    (void)c;
    heist_latch done;
    heist_latch_init(&done, 2);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(heist_spawn(rt, show_and_join, rt, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

static void two_tasks_anew(void)
{
    heist_latch_init(&both_run, 2);
    heist_latch_init(&both_shown, 2);
    heist_latch_init(&first_joined, 1);
    heist_store_relaxed(&shown, 0);
}

TEST(stop_does_not_wait_for_tickets_that_a_guest_has_left)
{
    for (int round = 0; round < 20; round++) {
        int until = 2;
        heist_latch back;
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
        heist_store_relaxed(&rt->rescue,
                            HI_RESCUE_NONE); /* nobody keeps watch */
        two_tasks_anew();
        send_the_worker_away(rt, &until, &back);
        CHECK_EQ(heist_run(rt, spawn_two_and_wait, rt), 0);
        CHECK_EQ(heist_latch_wait(&back, HEIST_FOREVER), 0);
        while (heist_load_relaxed(&rt->sleep.awake) > 0)
            hi_thread_yield();
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

static void *leave_tickets(void *rt)
{
    CHECK_EQ(heist_run(rt, spawn_two_and_wait, rt), 0);
    return NULL;
}

/* Else each of them would have a seat of its own, of which there are so many.  The
 * worker is away all the time, and clears no tickets away. */
TEST(a_thread_that_ends_leaves_its_seat_to_the_next_one)
{
    enum {
        ROUNDS = 20
    };

    int until = 1;
    heist_latch back;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    send_the_worker_away(rt, &until, &back);
    heist_store_relaxed(&tasks_begun, -2 * ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        two_tasks_anew();
        CHECK_EQ(pthread_create(&thread, NULL, leave_tickets, rt), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(hi_victim_count(rt), 2);
    }
    heist_store_release(&tasks_begun, until);
    CHECK_EQ(heist_latch_wait(&back, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/*
 * A thread leaves a task in its queue and ends.  The next thread must not come to
 * run it: the task waits for what that one does after its region.
 */
static heist_latch after_the_region;

static int wait_for_the_next_thread(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return heist_latch_wait(&after_the_region, HEIST_FOREVER);
}

static void leave_a_task(heist_ctx c, void *rt)
{
    (void)c;
    CHECK_EQ(
        heist_spawn(rt, wait_for_the_next_thread, NULL, NULL, HEIST_FOREVER),
        0);
}

static void *leave_a_task_and_end(void *rt)
{
    CHECK_EQ(heist_run(rt, leave_a_task, rt), 0);
    return NULL;
}

static void wait_in_a_region(heist_ctx c, void *arg)
{
    CHECK_EQ(wait_a_while(c, arg), 0);
}

static void *wait_in_a_region_and_open(void *rt)
{
    CHECK_EQ(heist_run(rt, wait_in_a_region, NULL), 0);
    heist_latch_arrive(&after_the_region);
    return NULL;
}

TEST(a_thread_does_not_run_what_another_one_has_left)
{
    int until = 1;
    heist_latch back;
    pthread_t thread;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_latch_init(&after_the_region, 1);
    heist_latch_init(&never, 1);
    send_the_worker_away(rt, &until, &back);
    CHECK_EQ(pthread_create(&thread, NULL, leave_a_task_and_end, rt), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, wait_in_a_region_and_open, rt), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    heist_store_release(&tasks_begun, 1);
    CHECK_EQ(heist_latch_wait(&back, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/*
 * A guest is inside, and a frame of its is there to be had: not by the only worker,
 * because the guest is at work in its place.  Who stops and the worker wait for it,
 * and do not wake each other meanwhile.
 */
static HEIST_ATOMIC(int) in_region, may_leave;

static void stay_inside(heist_ctx c, void *arg)
{
    (void)arg;
    heist_fork(c, not_taken);
    heist_store_release(&in_region, 1);
    while (!heist_load_acquire(&may_leave))
        hi_thread_yield();
    heist_join(c);
}

static void *be_inside(void *rt)
{
    CHECK_EQ(heist_run(rt, stay_inside, NULL), 0);
    return NULL;
}

TEST(who_stops_and_a_worker_do_not_wake_each_other_in_vain)
{
    pthread_t thread;
    heist_stats before, after;
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&in_region, 0);
    heist_store_relaxed(&may_leave, 0);
    while (heist_load_relaxed(&rt->sleep.awake) > 0)
        hi_thread_yield();
    CHECK_EQ(pthread_create(&thread, NULL, be_inside, rt), 0);
    while (!heist_load_acquire(&in_region))
        hi_thread_yield();
    CHECK_EQ(heist_stats_read(rt, 0, &before), 0);
    CHECK_EQ(heist_stop(rt, heist_after(50 * HEIST_MILLISECOND)), -ETIMEDOUT);
    CHECK_EQ(heist_stats_read(rt, 0, &after), 0);
    CHECK(after.parked - before.parked < 50);
    heist_store_release(&may_leave, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A thread that ends in the middle of a region is a mistake of the program.  Its region
 * never ends, and who stops with a deadline is told; nobody else is given its place, or
 * his visits would be taken for the end of that one. */
static void end_the_thread(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    pthread_exit(NULL);
}

static void *end_inside(void *rt)
{
    heist_run(rt, end_the_thread, NULL);
    return NULL;
}

TEST(stop_has_a_deadline_also_when_a_thread_has_ended_inside)
{
    pthread_t thread;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(pthread_create(&thread, NULL, end_inside, rt), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    heist_store_relaxed(&in_region, 0);
    heist_store_relaxed(&may_leave, 0);
    CHECK_EQ(pthread_create(&thread, NULL, be_inside, rt), 0);
    while (!heist_load_acquire(&in_region))
        hi_thread_yield();
    CHECK_EQ(heist_stop(rt, heist_after(50 * HEIST_MILLISECOND)), -ETIMEDOUT);
    heist_store_release(&may_leave, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_NOW), -ETIMEDOUT);
}

/* More threads than seats, one after the other, and each leaves a task: the last
 * ones do not wait for the worker. */
TEST(threads_that_leave_tasks_do_not_use_up_the_seats)
{
    int until = 1;
    heist_latch back;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_latch_init(&after_the_region, 0);
    send_the_worker_away(rt, &until, &back);
    for (int i = 0; i < HI_GUESTS_MAX + 10; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, leave_a_task_and_end, rt), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_EQ(hi_victim_count(rt), 1 + HI_GUESTS_MAX);
    heist_store_release(&tasks_begun, 1);
    CHECK_EQ(heist_latch_wait(&back, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* All seats are taken by threads that live.  Who comes then is served by the worker,
 * and takes no memory that it cannot use. */
static heist_latch all_seated, may_end;

static void do_nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static void *sit_and_stay(void *rt)
{
    CHECK_EQ(heist_run(rt, do_nothing, NULL), 0);
    heist_latch_arrive(&all_seated);
    CHECK_EQ(heist_latch_wait(&may_end, HEIST_FOREVER), 0);
    return NULL;
}

static long address_space(void) /* in pages */
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld", &pages), 1);
    CHECK_EQ(fclose(f), 0);
    return pages;
}

TEST(who_finds_no_seat_takes_no_memory_for_one)
{
    static pthread_t thread[HI_GUESTS_MAX];
    pthread_attr_t small;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    heist_latch_init(&all_seated, HI_GUESTS_MAX);
    heist_latch_init(&may_end, 1);
    CHECK_EQ(pthread_attr_init(&small), 0);
    CHECK_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
    for (int i = 0; i < HI_GUESTS_MAX; i++)
        CHECK_EQ(pthread_create(&thread[i], &small, sit_and_stay, rt), 0);
    CHECK_EQ(heist_latch_wait(&all_seated, HEIST_FOREVER), 0);
    CHECK_EQ(heist_run(rt, do_nothing, NULL), 0);
    long before = address_space();
    for (int i = 0; i < 50; i++)
        CHECK_EQ(heist_run(rt, do_nothing, NULL), 0);
    /* A strand for each would be 50 times 128 MiB. */
    CHECK(address_space() - before < (HI_STRAND_SPAN >> 12) * 20L);
    heist_latch_arrive(&may_end);
    for (int i = 0; i < HI_GUESTS_MAX; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(pthread_attr_destroy(&small), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/*
 * The root has ended, and a task that the guest has begun spawns another one: that
 * is for the worker, which is away until the guest has left.
 */
typedef HEIST_ATOMIC(int) flag;

static heist_runtime *pool;
static heist_latch task_begun;
static flag root_over, guest_left;

static void wait_until(flag *set)
{
    while (!heist_load_acquire(set))
        CHECK_EQ(heist_latch_wait(&never, heist_after(HEIST_MILLISECOND)),
                 -ETIMEDOUT);
}

static int stay_away(heist_ctx c, void *arg)
{
    (void)c;
    heist_latch_arrive(arg);
    while (!heist_load_acquire(&guest_left)) /* not a wait: it keeps at it */
        sched_yield();
    return 0;
}

static int until_the_guest_has_left(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    wait_until(&guest_left);
    return 0;
}

static int spawn_after_the_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch_arrive(&task_begun);
    wait_until(&root_over);
    CHECK_EQ(heist_spawn(pool, until_the_guest_has_left, NULL, NULL, HEIST_NOW),
             0);
    CHECK_EQ(heist_latch_wait(&never, heist_after(HEIST_MILLISECOND)),
             -ETIMEDOUT);
    return 0;
}

static void begin_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_spawn(pool, spawn_after_the_root, NULL, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&task_begun, HEIST_FOREVER), 0);
    heist_store_release(&root_over, 1);
}

/* With the only worker away until this thread has left. */
static void run_and_leave(heist_root_fn *root)
{
    heist_latch away;
    heist_store_relaxed(&root_over, 0);
    heist_store_relaxed(&guest_left, 0);
    heist_latch_init(&never, 1);
    heist_latch_init(&task_begun, 1);
    heist_latch_init(&away, 1);
    CHECK_EQ(heist_start(&pool, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_spawn(pool, stay_away, &away, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&away, HEIST_FOREVER), 0);
    CHECK_EQ(heist_run(pool, root, NULL), 0);
    heist_store_release(&guest_left, 1);
    CHECK_EQ(heist_stop(pool, HEIST_FOREVER), 0);
}

TEST(a_guest_whose_root_has_ended_begins_no_task)
{
    run_and_leave(begin_one);
}

static int nothing_at_all(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

/* What a task of the guest's waits for lies under a task that nobody waits for. */
static void cover(void)
{
    CHECK_EQ(heist_spawn(pool, nothing_at_all, NULL, NULL, HEIST_NOW), 0);
}

static void await_a_scope(heist_ctx c)
{
    (void)c;
    heist_scope s;
    heist_scope_open(&s, pool);
    heist_scope_spawn(&s, nothing_at_all, NULL);
    cover();
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
}

static heist_latch opened;

static void open_it(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    heist_latch_arrive(&opened);
}

static void nothing_in_a_region(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static void await_a_frame(heist_ctx c)
{
    heist_latch_init(&opened, 1);
    heist_ctx k = heist_fork(c, open_it);
    CHECK_EQ(heist_run(pool, nothing_in_a_region, NULL), 0); /* exposes it */
    cover();
    CHECK_EQ(heist_latch_wait(&opened, HEIST_FOREVER), 0);
    heist_done(&k);
}

static int nothing_in_a_node(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s, (void)arg;
    return 0;
}

static void await_a_flow(heist_ctx c)
{
    (void)c;
    heist_graph *g;
    heist_flow *f;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_graph_add(g, "node", nothing_in_a_node, NULL);
    CHECK_EQ(
        heist_flow_start(&f, g, &(heist_flow_opts){.rt = pool}, HEIST_FOREVER),
        0);
    cover();
    CHECK_EQ(heist_flow_close(f), 0);
    heist_graph_destroy(g);
}

static int await_after_the_root(heist_ctx c, void *arg)
{
    (void)arg;
    heist_latch_arrive(&task_begun);
    wait_until(&root_over);
    await_a_scope(c);
    await_a_frame(c);
    await_a_flow(c);
    return 0;
}

static void begin_one_that_waits(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_spawn(pool, await_after_the_root, NULL, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&task_begun, HEIST_FOREVER), 0);
    heist_store_release(&root_over, 1);
}

TEST(a_guest_whose_root_has_ended_runs_what_its_tasks_wait_for)
{
    run_and_leave(begin_one_that_waits);
}

/* --- a region in another runtime ------------------------------------------------ */

static uint64_t exposed_by_guests(void)
{
    heist_stats s;
    CHECK_EQ(heist_stats_read(pool, heist_workers(pool), &s), 0);
    return s.exposed;
}

static void see_them_exposed(heist_ctx c, void *before)
{
    (void)c;
    CHECK(exposed_by_guests() > *(uint64_t *)before);
}

static void leave_it(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = 1;
}

static void fork_and_go_elsewhere(heist_ctx c, void *other)
{
    heist_ctx k = heist_fork(c, leave_it);
    uint64_t before = exposed_by_guests();
    CHECK_EQ(heist_run(other, see_them_exposed, &before), 0);
    CHECK_EQ(heist_done(&k)->result.i, 1);
}

TEST(what_was_forked_is_not_hidden_by_a_region_in_another_runtime)
{
    heist_runtime *other;
    CHECK_EQ(heist_start(&pool, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_start(&other, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(pool, fork_and_go_elsewhere, other), 0);
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(pool, HEIST_FOREVER), 0);
}

/* On a strand's stack in one runtime, a guest in the other: a leak checker is told
 * where the thread stands, if there is one. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void wait_there(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_latch_wait(&never, heist_after(HEIST_MILLISECOND)),
             -ETIMEDOUT);
}

static int go_elsewhere(heist_ctx c, void *other)
{
    (void)c;
    CHECK_EQ(heist_run(other, wait_there, NULL), 0);
    heist_latch_arrive(&task_begun);
    return 0;
}

static void begin_and_wait(heist_ctx c, void *other)
{
    (void)c;
    CHECK_EQ(heist_spawn(pool, go_elsewhere, other, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&task_begun, HEIST_FOREVER), 0);
}

/* Its locals are on the thread's own stack, whatever a sanitizer does with those of
 * others. */
static __attribute__((noinline, no_sanitize("address"))) void
run_and_look_for_leaks(heist_runtime *other)
{
    void *volatile reached = malloc(1); /* from here only */
    CHECK_EQ(heist_run(pool, begin_and_wait, other), 0);
    if (__lsan_do_recoverable_leak_check)
        CHECK_EQ(__lsan_do_recoverable_leak_check(), 0);
    free(reached);
}

TEST(a_task_of_a_guest_waits_in_another_runtime)
{
    heist_latch away;
    heist_runtime *other;
    heist_store_relaxed(&guest_left, 0);
    heist_latch_init(&never, 1);
    heist_latch_init(&task_begun, 1);
    heist_latch_init(&away, 1);
    CHECK_EQ(heist_start(&pool, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_start(&other, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_spawn(pool, stay_away, &away, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&away, HEIST_FOREVER), 0);
    run_and_look_for_leaks(other);
    heist_store_release(&guest_left, 1);
    CHECK_EQ(heist_stop(pool, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(other, HEIST_FOREVER), 0);
}
