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

/* --- without the loop ----------------------------------------------------- */

/*
 * The strand is that of a thread which is worker 0.  When it is put aside, the
 * worker goes on in the loop below, which knows letters and deadlines and
 * nothing else: so little that the latch can be followed further.
 */
static bool
    sleeps; /* else it looks again and again, and time may pass or not */

static bool has_passed(hi_worker *w, const hi_timer *t)
{
    heist_time until = t ? t->deadline : HEIST_FOREVER;
    if (sleeps) return hi_sleep_park(w, until) == HI_WAKE_DEADLINE;
    if (t && model_choose(2)) return true;
    hi_cpu_relax();
    return false;
}

static void letters_only(void *strand)
{
    hi_strand *s = strand, *to;
    hi_worker *w = heist_load_relaxed(&s->worker);
    for (;;) {
        hi_timer *t = w->timers.earliest;
        if (!hi_inbox_is_empty(&w->inbox)) {
            hi_inbox_node *node = hi_inbox_take(&w->inbox);
            to = heist_container(node, hi_strand, message.node);
            hi_spares_put(&w->spare, s);
            hi_context_switch(&s->context, &to->context);
        } else if (has_passed(w, t)) {
            hi_timers_remove(&w->timers, t);
            t->expired(t);
        }
    }
}

static void setup_letters(void)
{
    setup_1();
    rt = pool_open(2, 2);
    pool_injector_only(rt);
    hi_worker *w = &rt->pool[0];
    hi_strand *s = hi_strand_create(POOL_STACK);
    w->native = hi_strand_create(0);
    hi_spares_put(&w->spare, s);
    heist_store_relaxed(&s->worker, w);
    heist_store_relaxed(&w->native->worker, w);
    hi_strand_reset(w->native, true);
    hi_context_make(&s->context, s->stack, s->stack_bytes, letters_only, s);
}

static void setup_sleeping_letters(void)
{
    setup_letters();
    sleeps = true;
}

/* Worker 0 waits, and its strand is put aside if it has to. */
static void strand_of_a_thread(void (*wait)(heist_time), heist_time deadline)
{
    hi_worker *w = &rt->pool[0];
    hi_self_set(w);
    hi_context_adopt(&w->native->context);
    hi_worker_show(w, w->native);
    wait(deadline);
    hi_worker_show(w, NULL);
    hi_sleep_found(w);
    hi_self_set(NULL);
    returned[0] = true;
}

static void lone_strand_until(unsigned id)
{
    if (id == 0)
        strand_of_a_thread(wait_and_free, hi_clock() + SOON);
    else
        arrive(0);
}

/* Who arrives works for the same runtime: it is no visitor. */
static void arrive_as_worker(void)
{
    hi_self_set(&rt->pool[1]);
    arrive(0);
    hi_self_set(NULL);
}

static void lone_strand_and_worker(unsigned id)
{
    if (id == 0)
        strand_of_a_thread(wait_and_free, HEIST_FOREVER);
    else
        arrive_as_worker();
}

static void after_letters(void)
{
    hi_strand_destroy(rt->pool[0].native);
    after_strand();
}

/* --- two on the list ------------------------------------------------------ */

static void wait_once(heist_time deadline)
{
    int rc = heist_latch_wait(latch, deadline);
    model_check(rc == 0 || (rc == -ETIMEDOUT && deadline != HEIST_FOREVER));
    model_saw(rc == 0 ? SAW_OPEN : SAW_TIME_OUT);
    if (rc == 0) check_arrivals();
}

/* Both get there at one time, and while it is opened. */
static void two_get_on_the_list(unsigned id)
{
    if (id == WAITERS) {
        arrive(0);
        return;
    }
    wait_once(HEIST_FOREVER);
    returned[id] = true;
}

/* Thread 1 is there first. */
static void await_the_first(void)
{
    while (!heist_load_acquire(&latch->state))
        hi_cpu_relax();
}

static void strand_beside_a_thread(unsigned id)
{
    if (id != 1) await_the_first();
    if (id == 0) {
        strand_of_a_thread(wait_once, SOON);
    } else if (id == 1) {
        wait_once(HEIST_FOREVER);
        returned[1] = true;
    } else {
        arrive_as_worker();
    }
}

static void after_beside(void)
{
    both_returned();
    after_letters();
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
    {MODEL_TEST("a_lone_strand_whose_deadline_may_pass_is_told_once", 2,
                setup_sleeping_letters, lone_strand_until, after_letters,
                both_outcomes_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_lone_strand_is_told_by_another_worker", 2,
                setup_sleeping_letters, lone_strand_and_worker, after_letters,
                NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("two_threads_get_on_the_list_and_are_told", 3, setup_1,
                two_get_on_the_list, both_returned, NULL),
     .quick = {2, 2, MODEL_NONE}, .full = {3, 2, MODEL_NONE}},
    {MODEL_TEST("a_strand_gives_up_beside_a_thread", 3, setup_letters,
                strand_beside_a_thread, after_beside, both_outcomes_were_seen),
     .quick = {2, 1, MODEL_NONE}, .full = {3, 2, MODEL_NONE}},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
