/* SPDX-License-Identifier: MIT
 *
 * Start and stop of whole runtimes.  Thread 0 starts one, gives it work and
 * stops it; others spawn, run and resume meanwhile.  Each task either ran once
 * before stop returned or was refused, and nobody touches the runtime after
 * stop has freed it.
 *
 * A call may only begin while the runtime is there.  So the tests keep it busy,
 * by a task that waits for `hold`, until the calls that race with stop have
 * begun, or have ended where they may be refused.
 */
#include "core/job.h"
#include "pool.h"

#include <errno.h>

enum {
    SAW_RUN = 1,
    SAW_REFUSED = 2,
    SAW_TIME_OUT = 4,
    SEATS = 2,
    SOON = 2000000 /* ns: two looks at the clock */
};

static heist_runtime *rt;
static hi_futex started;
static heist_latch hold, done, entered;
static unsigned runs, held, accepted;
static int payload, last_words;
static bool comes_back;
static hi_worker *guests[SEATS];
static hi_task first;

/* --- the rig ------------------------------------------------------------------ */

static void setup(void)
{
    heist_latch_init(&hold, 1);
    heist_latch_init(&done, 1);
    heist_latch_init(&entered, 1);
}

static void refused_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(false);
}

/* What was written before the stop is seen by who ends.  To its hook the runtime is
 * a foreign one, and takes nobody in any more; the seat goes with it. */
static void worker_stops(void *user, unsigned worker)
{
    (void)user, (void)worker;
    model_check(last_words == 1);
    if (!comes_back) return;
    model_check(heist_run(rt, refused_root, NULL) == -ESHUTDOWN);
    guests[0] = hi_seated(rt, rt->workers);
}

static void start(unsigned workers)
{
    heist_config c = {.workers = workers,
                      .queue_capacity = 2,
                      .steal_attempts = 1,
                      .idle = HEIST_ECO,
                      .stack_bytes = 64 << 10,
                      .unpinned = true,
                      .on_worker_stop = worker_stops};
    model_check(heist_start(&rt, &c) == 0);
    /* No watchman: his looks would hide a lost wake-up. */
    heist_store_relaxed(&rt->rescue, HI_RESCUE_NONE);
    heist_store_release(&started, 1);
    hi_futex_wake(&started, INT32_MAX);
}

static void await_start(void)
{
    while (!heist_load_acquire(&started))
        hi_futex_wait(&started, 0, HEIST_FOREVER);
}

static void stop(void)
{
    last_words = 1;
    model_check(heist_stop(rt, HEIST_FOREVER) == 0);
}

/* Guests keep their memory for the next time; here there is none. */
static void free_guests(void)
{
    for (unsigned i = 0; i < SEATS; i++) {
        hi_worker *g = guests[i];
        if (!g) continue;
        model_check(heist_load_relaxed(&g->seat) == NULL);
        hi_worker_fini(g);
        hi_strand_destroy(g->native);
    }
}

static int work(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(payload == 1);
    runs++;
    return 0;
}

/* Keeps the runtime busy. */
static int holder(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(heist_latch_wait(&hold, HEIST_FOREVER) == 0);
    held++;
    return 0;
}

/* Starts it and lets the others go on. */
static void start_held_by(unsigned workers)
{
    start(workers);
    model_check(heist_spawn(rt, holder, NULL, NULL, HEIST_FOREVER) == 0);
    heist_latch_arrive(&entered);
}

static void start_held(void)
{
    start_held_by(1);
}

/* --- work given before the stop -------------------------------------------------- */

static void stop_finishes(unsigned workers)
{
    start(workers);
    payload = 1;
    model_check(heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

static void stop_finishes_1(unsigned id)
{
    (void)id;
    stop_finishes(1);
}

static void stop_finishes_2(unsigned id)
{
    (void)id;
    stop_finishes(2);
}

static void start_and_stop(unsigned id)
{
    (void)id;
    start(1);
    stop();
}

static void hook_comes_back(unsigned id)
{
    (void)id;
    start(1);
    comes_back = true;
    stop();
    model_check(guests[0] != NULL);
}

static void start_and_stop_2(unsigned id)
{
    (void)id;
    start(2);
    stop();
}

/* A letter for each worker, whether it sleeps, is about to or is awake. */
static void broadcast_and_stop(unsigned id)
{
    (void)id;
    start(1);
    payload = 1;
    model_check(heist_broadcast(rt, work, NULL) == 0);
    model_check(runs == 1);
    stop();
}

/* What a task spawns belongs to it. */
static int spawning(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    payload = 1;
    return heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER);
}

static void stop_finishes_what_tasks_spawn(unsigned id)
{
    (void)id;
    start(2);
    model_check(heist_spawn(rt, spawning, NULL, NULL, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

/* Not in time, then again. */
static void stop_in_time(unsigned id)
{
    (void)id;
    start(1);
    payload = 1;
    model_check(heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER) == 0);
    last_words = 1;
    int rc = heist_stop(rt, heist_after(SOON));
    model_saw(rc == 0 ? SAW_RUN : SAW_TIME_OUT);
    if (rc < 0) {
        model_check(rc == -ETIMEDOUT);
        rc = heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER);
        model_check(rc == -ESHUTDOWN);
        stop();
    }
    model_check(runs == 1);
}

/* A strand that wakes by itself, at a deadline, and waits again. */
static int sleeper(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    int rc = heist_latch_wait(&done, heist_after(SOON));
    model_check(rc == -ETIMEDOUT);
    model_check(heist_latch_wait(&hold, HEIST_FOREVER) == 0);
    held++;
    pool_end(rt);
    return 0;
}

/* A worker by hand that has the sleeper; and another one that searches all
 * the time, so that this one is never the last who does. */
static void setup_sleeper(void)
{
    setup();
    rt = pool_open(1, 2);
    pool_prepare(rt);
    heist_init(&rt->sleep.searching, 1);
    first = (hi_task){.fn = sleeper, .borrowed = true};
    hi_deque_push(&rt->pool[0].deque, (uintptr_t)&first);
}

/* It is never quiet while that strand is put aside, or awake. */
static void stop_waits_for_a_sleeper(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_stop(rt, HEIST_NOW) == -ETIMEDOUT);
    heist_latch_arrive(&hold);
}

static void after_sleeper(void)
{
    model_check(held == 1);
    pool_close(rt);
}

static void both_times_were_seen(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(model_seen() >> SAW_TIME_OUT & 1);
}

/* --- calls that race with the stop ------------------------------------------------ */

/* Thread 1 spawns while thread 0 stops; its arrival lets the holder go on, and
 * that resume races with the end of the runtime. */
static void spawn_or_refused(unsigned id)
{
    if (id == 0) {
        start_held();
        stop();
        model_check(held == 1);
        return;
    }
    model_check(heist_latch_wait(&entered, HEIST_FOREVER) == 0);
    payload = 1;
    int rc = heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER);
    model_check(rc == 0 || rc == -ESHUTDOWN);
    model_saw(rc == 0 ? SAW_RUN : SAW_REFUSED);
    accepted = rc == 0;
    heist_latch_arrive(&hold);
}

/* The task may be in the hands of either worker, and wait there, while stop looks
 * whether all is done. */
static void one_of_two_waits(unsigned id)
{
    if (id == 0) {
        start_held_by(2);
        stop();
        model_check(held == 1);
        return;
    }
    model_check(heist_latch_wait(&entered, HEIST_FOREVER) == 0);
    heist_latch_arrive(&hold);
}

static void ran_if_accepted(void)
{
    model_check(runs == accepted);
}

static void both_were_seen(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(model_seen() >> SAW_REFUSED & 1);
}

static void nothing_left(void)
{
    free_guests();
}

/* The task is done, its spawner still on the way out. */
static void spawner_leaves_late(unsigned id)
{
    if (id == 1) {
        await_start();
        payload = 1;
        model_check(heist_spawn(rt, work, NULL, &done, HEIST_FOREVER) == 0);
        return;
    }
    start(1);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

/* The resume of the last strand is the last visit. */
static void resume_races_with_stop(unsigned id)
{
    if (id == 1) {
        await_start();
        heist_latch_arrive(&hold);
        return;
    }
    start(1);
    model_check(heist_spawn(rt, holder, NULL, NULL, HEIST_FOREVER) == 0);
    stop();
    model_check(held == 1);
}

/* --- guests ------------------------------------------------------------------------ */

static void root(heist_ctx c, void *arg)
{
    (void)c;
    guests[0] = hi_worker_self();
    payload = 1;
    runs++;
    if (arg) heist_latch_arrive(arg);
}

/* The root has told of itself, the guest is still on the way out. */
static void guest_leaves_late(unsigned id)
{
    if (id == 1) {
        await_start();
        model_check(heist_run(rt, root, &done) == 0);
        return;
    }
    start(1);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

static void spawning_root(heist_ctx c, void *arg)
{
    root(c, NULL);
    runs--; /* its task counts */
    model_check(heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER) == 0);
    heist_latch_arrive(arg);
}

/* A guest leaves a task in its own queue. */
static void guest_leaves_a_task(unsigned id)
{
    if (id == 1) {
        await_start();
        model_check(heist_run(rt, spawning_root, &done) == 0);
        return;
    }
    start(1);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

static bool job_waits;

static void run_job(heist_ctx c, hi_job *j)
{
    (void)j;
    work(c, NULL);
    if (!job_waits) return;
    holder(c, NULL);
    pool_end(rt);
}

static const hi_job_source jobs = {run_job};
static hi_job job = {&jobs};

/* Nobody is woken for it while the guest is at work. */
static void job_root(heist_ctx c, void *arg)
{
    hi_worker *g = hi_worker_of(c);
    guests[0] = g;
    payload = 1;
    model_check(hi_job_push(g, &job));
    hi_job_post(g);
    heist_latch_arrive(arg);
}

static void guest_leaves_a_job(unsigned id)
{
    if (id == 1) {
        await_start();
        model_check(heist_run(rt, job_root, &done) == 0);
        return;
    }
    start(1);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    stop();
    model_check(runs == 1);
}

/* A worker by hand, that may be going to sleep.  The job is in the queue or waits:
 * it is never quiet. */
static void setup_job(void)
{
    setup();
    rt = pool_open(1, 2);
    pool_prepare(rt);
    job_waits = true;
}

static void stop_waits_for_a_job(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, job_root, &done) == 0);
    model_check(heist_stop(rt, HEIST_NOW) == -ETIMEDOUT);
    heist_latch_arrive(&hold);
}

static void after_job(void)
{
    model_check(runs == 1 && held == 1);
    pool_close(rt);
}

static void run_or_refused(unsigned id)
{
    if (id == 0) {
        start_held();
        stop();
        model_check(held == 1);
        return;
    }
    model_check(heist_latch_wait(&entered, HEIST_FOREVER) == 0);
    int rc = heist_run(rt, root, NULL);
    model_check(rc == 0 || rc == -ESHUTDOWN);
    model_check(runs == (rc == 0));
    model_saw(rc == 0 ? SAW_RUN : SAW_REFUSED);
    if (!guests[0]) guests[0] = hi_self_get();
    heist_latch_arrive(&hold);
}

/* --- what is in somebody's hands ---------------------------------------------------- */

static hi_futex asked;
static hi_inbox_node letter;

static void setup_taken(void)
{
    rt = pool_open(1, 2);
}

/* The worker has taken what was in the overflow, or it is still there, or the worker
 * is about to look: in no case is the runtime quiet. */
static void taken_from_overflow(unsigned id)
{
    if (id == 0) {
        hi_worker *w = &rt->pool[0];
        hi_self_set(w);
        while (!hi_inbox_take(&rt->overflow))
            hi_sleep_park(w, HEIST_FOREVER);
        hi_sleep_found(w);
        pool_await(&asked);
        hi_self_set(NULL);
        return;
    }
    hi_visit_begin(rt);
    hi_inbox_post(&rt->overflow, &letter);
    hi_sleep_post(rt);
    hi_visit_end(rt);
    model_check(heist_stop(rt, HEIST_NOW) == -ETIMEDOUT);
    pool_tell(&asked);
}

static void after_taken(void)
{
    pool_check(rt);
    pool_close(rt);
}

static const model_test tests[] = {
    {.name = "a_runtime_of_one_starts_and_stops",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = start_and_stop,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {2, 2, 1},
     .full = {4, 2, 1}},
    {.name = "who_comes_back_at_the_end_keeps_no_seat",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = hook_comes_back,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "a_runtime_of_two_starts_and_stops",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = start_and_stop_2,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_finishes_what_was_taken",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = stop_finishes_1,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "stop_finishes_what_was_taken_by_one_of_two",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = stop_finishes_2,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_broadcast_reaches_a_worker_that_goes_to_sleep",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = broadcast_and_stop,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "stop_finishes_what_tasks_spawn",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = stop_finishes_what_tasks_spawn,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_in_time_or_again",
     .no_barrier = true,
     .threads = 1,
     .setup = setup,
     .thread = stop_in_time,
     .after = nothing_left,
     .end = both_times_were_seen,
     .clock_step = 1000000,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "stop_waits_for_a_strand_that_wakes_by_itself",
     .no_barrier = true,
     .threads = 2,
     .setup = setup_sleeper,
     .thread = stop_waits_for_a_sleeper,
     .after = after_sleeper,
     .clock_step = 1000000,
     .quick = {2, 3, 1},
     .full = {3, 3, 1}},
    {.name = "stop_waits_for_a_task_that_waits_on_one_of_two",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = one_of_two_waits,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_spawn_during_stop_runs_once_or_is_refused",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = spawn_or_refused,
     .after = ran_if_accepted,
     .end = both_were_seen,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_waits_for_a_spawner_on_its_way_out",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = spawner_leaves_late,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_waits_for_who_resumes_the_last_strand",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = resume_races_with_stop,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_waits_for_a_guest_on_its_way_out",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = guest_leaves_late,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_runs_the_task_that_a_guest_leaves",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = guest_leaves_a_task,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_runs_the_job_that_a_guest_leaves",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = guest_leaves_a_job,
     .after = nothing_left,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "stop_waits_for_the_job_that_a_guest_leaves",
     .no_barrier = true,
     .threads = 2,
     .setup = setup_job,
     .thread = stop_waits_for_a_job,
     .after = after_job,
     .clock_step = 1000000,
     .quick = {1, 3, 1},
     .full = {2, 3, 1}},
    {.name = "stop_waits_for_who_takes_from_the_overflow",
     .no_barrier = true,
     .threads = 2,
     .setup = setup_taken,
     .thread = taken_from_overflow,
     .after = after_taken,
     .quick = {3, 2, 0},
     .full = {5, 2, 0}},
    {.name = "a_run_during_stop_runs_once_or_is_refused",
     .no_barrier = true,
     .threads = 2,
     .setup = setup,
     .thread = run_or_refused,
     .after = nothing_left,
     .end = both_were_seen,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
