/* SPDX-License-Identifier: MIT
 *
 * Locks of the thread library and waits of ours.  A strand that waits keeps its
 * thread's locks, and its worker goes on with other work on the same thread:
 * so such a lock must not be held over a join or a wait.  What takes its place
 * is a latch, for which only the strand waits.
 */
#include "../stress/scale.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) flag;

static void until(flag *f)
{
    while (!heist_load_acquire(f))
        sched_yield();
}

/* --- the limit, and that it can be seen -------------------------------------------- */

static heist_runtime *rt;
static pthread_mutex_t mutex;
static flag tried;
static heist_latch gate;
static int answer;

static void mutex_open(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    CHECK_EQ(pthread_mutex_init(&mutex, &kind), 0);
    pthread_mutexattr_destroy(&kind);
    heist_store_relaxed(&tried, 0);
    heist_latch_init(&gate, 1);
    answer = 0;
}

static int try_mutex(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    answer = pthread_mutex_lock(&mutex);
    if (answer == 0) pthread_mutex_unlock(&mutex);
    heist_store_release(&tried, 1);
    heist_latch_arrive(&gate);
    return 0;
}

static int hold_and_wait(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(heist_spawn(rt, try_mutex, NULL, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&gate, HEIST_FOREVER), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    return 0;
}

static void run_task(heist_task_fn *fn, unsigned workers)
{
    heist_config config = {.workers = workers, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    mutex_open();
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, fn, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    pthread_mutex_destroy(&mutex);
}

TEST(a_mutex_held_over_a_wait_belongs_to_the_whole_worker)
{
    run_task(hold_and_wait, 1);
    CHECK_EQ(answer, EDEADLK);
}

/* The thief has the right half, spawns what wants the mutex, and stays: only the
 * worker that waits in the join can run that. */
static void stay_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    CHECK_EQ(heist_spawn(rt, try_mutex, NULL, NULL, HEIST_NOW), 0);
    heist_store_release((flag *)f->arg[0].p, 1);
    until(&tried);
    f->result.i = 7;
}

static int hold_and_join(heist_ctx c, void *arg)
{
    (void)arg;
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    flag taken = {0};
    heist_frame *right = heist_slot(c);
    right->arg[0].p = &taken;
    heist_fork(c, stay_right);
    until(&taken);
    CHECK(!heist_join(c));
    CHECK_EQ(right->result.i, 7);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    return 0;
}

TEST(a_mutex_held_over_a_join_belongs_to_the_whole_worker)
{
    run_task(hold_and_join, 2);
    CHECK_EQ(answer, EDEADLK);
}

/* --- what to do instead ----------------------------------------------------------- */

static int64_t sum(heist_ctx c, int64_t from, int64_t to);

static void sum_right(heist_ctx c, heist_frame *f)
{
    f->result.i = sum(c, f->arg[0].i, f->arg[1].i);
}

static int64_t sum(heist_ctx c, int64_t from, int64_t to)
{
    if (to - from == 1) return from;
    int64_t middle = (from + to) / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = middle;
    right->arg[1].i = to;
    int64_t left = sum(heist_fork(c, sum_right), from, middle);
    if (heist_join(c)) return left + sum(c, middle, to);
    return left + right->result.i;
}

/* A value made once, by whoever comes first, in parallel. */
struct once {
    flag begun;
    heist_latch made;
    int64_t value;
};

static int64_t once_get(heist_ctx c, struct once *o)
{
    if (heist_swap_acq_rel(&o->begun, 1) == 0) {
        o->value = sum(c, 0, 1000);
        heist_latch_arrive(&o->made);
    }
    CHECK_EQ(heist_latch_wait(&o->made, HEIST_FOREVER), 0);
    return o->value;
}

static int use_once(heist_ctx c, void *arg)
{
    return once_get(c, arg) == 499500 ? 0 : -EIO;
}

TEST(a_call_once_by_a_latch_may_fork_inside)
{
    for (unsigned workers = 1; workers <= 4; workers++) {
        heist_config config = {.workers = workers, .exposure = HEIST_EAGER};
        CHECK_EQ(heist_start(&rt, &config), 0);
        for (long i = scaled(300); i > 0; i--) {
            struct once o = {.value = 0};
            heist_latch_init(&o.made, 1);
            heist_scope s;
            heist_scope_open(&s, rt);
            for (int k = 0; k < 8; k++)
                heist_scope_spawn(&s, use_once, &o);
            CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        }
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- tasks that need each other -------------------------------------------------- */

enum {
    PLAYERS = 5
};

static heist_latch *letters;
static long turns;

/* Gets a letter from the one before, computes in parallel, writes to the next. */
static int pass_on(heist_ctx c, void *arg)
{
    for (long i = (long)(intptr_t)arg; i < turns; i += PLAYERS) {
        CHECK_EQ(heist_latch_wait(&letters[i], HEIST_FOREVER), 0);
        CHECK_EQ(sum(c, 0, 50), 1225);
        heist_latch_arrive(&letters[i + 1]);
    }
    return 0;
}

TEST(tasks_that_write_to_each_other_and_join_in_between_all_end)
{
    turns = scaled(10000);
    letters = malloc((size_t)(turns + 1) * sizeof *letters);
    CHECK(letters != NULL);
    for (unsigned workers = 1; workers <= 4; workers++) {
        heist_config config = {.workers = workers, .exposure = HEIST_EAGER};
        CHECK_EQ(heist_start(&rt, &config), 0);
        for (long i = 0; i <= turns; i++)
            heist_latch_init(&letters[i], 1);
        heist_scope s;
        heist_scope_open(&s, rt);
        for (intptr_t k = 0; k < PLAYERS; k++)
            heist_scope_spawn(&s, pass_on, (void *)k);
        heist_latch_arrive(&letters[0]);
        CHECK_EQ(heist_latch_wait(&letters[turns], HEIST_FOREVER), 0);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
    free(letters);
}
