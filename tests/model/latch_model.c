/* SPDX-License-Identifier: MIT
 *
 * Latches, with the three kinds of waiter: a foreign thread, a strand of a
 * worker, and either with a deadline.
 *
 * The latch is memory of its own, freed by the waiter the moment its wait has
 * returned: who touches it afterwards is caught.  What arrivers write before
 * they arrive is plain memory: a waiter that goes on without having seen all
 * arrivals races with them.
 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>

enum {
    WAITERS = 2,
    ARRIVERS = 2,
    SOON = 5000 /* ns: a deadline that may pass or not */
};

enum {
    SAW_OPEN = 1,
    SAW_TIME_OUT = 2
};

static heist_latch *latch;
static int wrote[ARRIVERS];
static unsigned arrivers;
static bool returned[WAITERS];
static heist_runtime *rt;
static hi_task tasks[2];

static void setup_latch(unsigned n)
{
    latch = malloc(sizeof *latch);
    heist_latch_init(latch, n);
    arrivers = n;
}

static void setup_1(void)
{
    setup_latch(1);
}

static void setup_2(void)
{
    setup_latch(2);
}

static void arrive(unsigned i)
{
    wrote[i] = (int)i + 1;
    heist_latch_arrive(latch);
}

static void check_arrivals(void)
{
    for (unsigned i = 0; i < arrivers; i++)
        model_check(wrote[i] == (int)i + 1);
}

/* Waits until the latch is open, though the deadline may pass on the way. */
static void wait_open(heist_time deadline)
{
    int rc = heist_latch_wait(latch, deadline);
    model_saw(rc == 0 ? SAW_OPEN : SAW_TIME_OUT);
    if (rc < 0) {
        model_check(rc == -ETIMEDOUT);
        model_check(deadline != HEIST_FOREVER);
        rc = heist_latch_wait(latch, HEIST_FOREVER);
    }
    model_check(rc == 0);
    check_arrivals();
}

static void wait_and_free(heist_time deadline)
{
    heist_latch *mine = latch;
    wait_open(deadline);
    free(mine);
    returned[0] = true;
}

static void one_returned(void)
{
    model_check(returned[0]);
}

static void both_outcomes_were_seen(void)
{
    model_check(model_seen() >> SAW_OPEN & 1);
    model_check(model_seen() >> SAW_TIME_OUT & 1);
}

/* --- foreign threads ---------------------------------------------------------- */

static void thread_waits(unsigned id)
{
    if (id == 0)
        wait_and_free(HEIST_FOREVER);
    else
        arrive(id - 1);
}

static void thread_waits_until(unsigned id)
{
    if (id == 0)
        wait_and_free(hi_clock() + SOON);
    else
        arrive(id - 1);
}

static void thread_tries(unsigned id)
{
    if (id == 1) {
        arrive(0);
        return;
    }
    heist_latch *mine = latch;
    int rc = heist_latch_wait(latch, HEIST_NOW);
    model_saw(rc == 0 ? SAW_OPEN : SAW_TIME_OUT);
    if (rc == 0)
        check_arrivals();
    else
        wait_open(HEIST_FOREVER);
    free(mine);
    returned[0] = true;
}

/* Two wait, one of them not for ever; the latch outlives both. */
static void two_threads_wait(unsigned id)
{
    if (id == WAITERS) {
        arrive(0);
        return;
    }
    wait_open(id == 0 ? hi_clock() + SOON : HEIST_FOREVER);
    returned[id] = true;
}

static void both_returned(void)
{
    model_check(returned[0] && returned[1]);
    free(latch);
}

/* --- strands ------------------------------------------------------------------ */

/* The worker's first task, there from the start. */
static void give_task(unsigned i, heist_task_fn *fn)
{
    tasks[i] = (hi_task){.fn = fn, .borrowed = true};
    hi_deque_push(&rt->pool[i].deque, (uintptr_t)&tasks[i]);
}

static int waiting_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    wait_and_free(HEIST_FOREVER);
    pool_end(rt);
    return 0;
}

static int timed_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    wait_and_free(hi_clock() + SOON);
    pool_end(rt);
    return 0;
}

static int arriving_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    arrive(0);
    return 0;
}

static void setup_strand(unsigned workers, unsigned n, heist_task_fn *fn)
{
    setup_latch(n);
    rt = pool_open(workers, 2);
    pool_prepare(rt);
    give_task(0, fn);
}

static void setup_strand_1(void)
{
    setup_strand(1, 1, waiting_task);
}

static void setup_strand_2(void)
{
    setup_strand(1, 2, waiting_task);
}

static void setup_timed_strand(void)
{
    setup_strand(1, 1, timed_task);
}

static void setup_two_workers(void)
{
    setup_strand(2, 1, waiting_task);
    give_task(1, arriving_task);
}

/* The first threads are workers, the others arrive. */
static void strand_waits(unsigned id)
{
    if (id < rt->workers)
        hi_worker_main(&rt->pool[id]);
    else
        arrive(id - rt->workers);
}

static void after_strand(void)
{
    one_returned();
    for (unsigned i = 0; i < rt->workers; i++)
        model_check(heist_load_relaxed(&rt->pool[i].put_aside) == 0);
    model_check(heist_load_relaxed(&rt->visitors) == 0);
    pool_check(rt);
    pool_close(rt);
}

/* --- a strand and a thread ------------------------------------------------------ */

static int sharing_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    wait_open(hi_clock() + SOON);
    returned[0] = true;
    pool_end(rt);
    return 0;
}

static void setup_mixed(void)
{
    setup_strand(1, 1, sharing_task);
}

static void strand_and_thread_wait(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
    } else if (id == 1) {
        wait_open(HEIST_FOREVER);
        returned[1] = true;
    } else {
        arrive(0);
    }
}

static void after_mixed(void)
{
    both_returned();
    after_strand();
}

static const model_test tests[] = {
    {.name = "a_thread_waits_and_frees_the_latch",
     .threads = 2,
     .setup = setup_1,
     .thread = thread_waits,
     .after = one_returned,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "a_thread_sees_all_of_two_arrivals",
     .threads = 3,
     .setup = setup_2,
     .thread = thread_waits,
     .after = one_returned,
     .quick = {2, 2, 1},
     .full = {3, 2, 2}},
    {.name = "a_thread_whose_deadline_may_pass_is_told_once",
     .threads = 2,
     .setup = setup_1,
     .thread = thread_waits_until,
     .after = one_returned,
     .end = both_outcomes_were_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "two_arrivals_and_a_deadline",
     .threads = 3,
     .setup = setup_2,
     .thread = thread_waits_until,
     .after = one_returned,
     .end = both_outcomes_were_seen,
     .quick = {2, 2, 1},
     .full = {3, 2, 1}},
    {.name = "a_try_that_finds_it_open_sees_the_arrival",
     .threads = 2,
     .setup = setup_1,
     .thread = thread_tries,
     .after = one_returned,
     .end = both_outcomes_were_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "two_threads_wait_and_one_gives_up",
     .threads = 3,
     .setup = setup_1,
     .thread = two_threads_wait,
     .after = both_returned,
     .end = both_outcomes_were_seen,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "a_strand_waits_and_frees_the_latch",
     .threads = 2,
     .setup = setup_strand_1,
     .thread = strand_waits,
     .after = after_strand,
     .quick = {2, 1, 1},
     .full = {4, 2, 1}},
    {.name = "a_strand_sees_all_of_two_arrivals",
     .threads = 3,
     .setup = setup_strand_2,
     .thread = strand_waits,
     .after = after_strand,
     .quick = {1, 2, 1},
     .full = {3, 2, 1}},
    {.name = "a_strand_whose_deadline_may_pass_is_told_once",
     .threads = 2,
     .setup = setup_timed_strand,
     .thread = strand_waits,
     .after = after_strand,
     .end = both_outcomes_were_seen,
     .quick = {2, 1, 1},
     .full = {3, 2, 1}},
    {.name = "a_strand_is_told_by_another_worker",
     .threads = 2,
     .setup = setup_two_workers,
     .thread = strand_waits,
     .after = after_strand,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "a_strand_and_a_thread_wait",
     .threads = 3,
     .setup = setup_mixed,
     .thread = strand_and_thread_wait,
     .after = after_mixed,
     .end = both_outcomes_were_seen,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
