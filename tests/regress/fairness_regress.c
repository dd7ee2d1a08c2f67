/* SPDX-License-Identifier: MIT
 *
 * Work that never ends: everything else has its turn.
 */
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <sched.h>

static heist_runtime *rt;
static HEIST_ATOMIC(int) over;
static HEIST_ATOMIC(long) turns;

static void start_with(unsigned workers, heist_exposure exposure)
{
    heist_config config = {.workers = workers, .exposure = exposure};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&over, 0);
    heist_store_relaxed(&turns, 0);
}

static void start(void)
{
    start_with(1, HEIST_ON_DEMAND);
}

static int end_it(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&over, 1);
    return 0;
}

static int again(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_relaxed(&turns, 1);
    if (heist_load_acquire(&over)) return 0;
    return heist_spawn(rt, again, arg, NULL, HEIST_NOW);
}

static int again_over_an_old_one(heist_ctx c, void *arg)
{
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_NOW), 0);
    return again(c, arg);
}

TEST(an_old_task_has_its_turn_under_tasks_that_spawn_for_ever)
{
    start();
    CHECK_EQ(heist_spawn(rt, again_over_an_old_one, NULL, NULL, HEIST_FOREVER),
             0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void until_in_full_swing(void)
{
    while (heist_load_relaxed(&turns) < 100)
        sched_yield();
}

TEST(a_task_from_outside_has_its_turn_under_tasks_that_spawn_for_ever)
{
    start();
    CHECK_EQ(heist_spawn(rt, again, NULL, NULL, HEIST_FOREVER), 0);
    until_in_full_swing();
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void leave_it_here(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_NOW), 0);
}

TEST(a_task_that_a_guest_has_left_has_its_turn_under_tasks_that_spawn_for_ever)
{
    start();
    CHECK_EQ(heist_spawn(rt, again, NULL, NULL, HEIST_FOREVER), 0);
    until_in_full_swing();
    CHECK_EQ(heist_run(rt, leave_it_here, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Of two workers one has tasks that spawn for ever, the other is away, and what it
 * has spawned before is in its queue. */
static int leave_it_and_stay_away(heist_ctx c, void *arg)
{
    (void)c;
    heist_latch_arrive(arg);
    until_in_full_swing();
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_NOW), 0);
    while (!heist_load_acquire(&over)) /* not a wait: it keeps at it */
        sched_yield();
    return 0;
}

static void beside_tasks_that_spawn_for_ever(heist_task_fn *away)
{
    heist_latch begun;
    heist_latch_init(&begun, 1);
    CHECK_EQ(heist_spawn(rt, away, &begun, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&begun, HEIST_FOREVER), 0);
    CHECK_EQ(heist_spawn(rt, again, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(a_task_of_a_worker_that_is_away_has_its_turn_elsewhere)
{
    start_with(2, HEIST_ON_DEMAND);
    beside_tasks_that_spawn_for_ever(leave_it_and_stay_away);
}

static void end_it_from_here(heist_ctx c, heist_frame *f)
{
    (void)f;
    end_it(c, NULL);
}

static int fork_it_and_stay_away(heist_ctx c, void *arg)
{
    heist_latch_arrive(arg);
    until_in_full_swing();
    heist_ctx k = heist_fork(c, end_it_from_here);
    while (!heist_load_acquire(&over))
        sched_yield();
    heist_done(&k);
    return 0;
}

TEST(an_exposed_frame_of_a_worker_that_is_away_has_its_turn_elsewhere)
{
    start_with(2, HEIST_EAGER);
    beside_tasks_that_spawn_for_ever(fork_it_and_stay_away);
}

/*
 * The first of three has tasks that spawn for ever, the second is away and its queue
 * never empty, the third is away, too: what it has spawned has its turn all the same.
 */
enum {
    FED = 50000
};

static HEIST_ATOMIC(long) fed, eaten;
static heist_latch all_there, full;

static int eat(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&eaten, 1);
    return 0;
}

static void feed(void)
{
    while (!heist_load_acquire(&over)) {
        while (heist_load_relaxed(&fed) - heist_load_relaxed(&eaten) < FED) {
            CHECK_EQ(heist_spawn(rt, eat, NULL, NULL, HEIST_NOW), 0);
            heist_add_relaxed(&fed, 1);
        }
        if (heist_latch_wait(&full, HEIST_NOW) < 0) heist_latch_arrive(&full);
        sched_yield();
    }
}

static int by_index(heist_ctx c, void *arg)
{
    heist_latch_arrive(&all_there);
    while (heist_latch_wait(&all_there, HEIST_NOW) < 0)
        sched_yield();
    switch (heist_worker_index()) {
    case 0: return again(c, arg);
    case 1: feed(); return 0;
    default: break;
    }
    while (heist_latch_wait(&full, HEIST_NOW) < 0)
        sched_yield();
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_NOW), 0);
    while (!heist_load_acquire(&over))
        sched_yield();
    return 0;
}

TEST(of_two_workers_that_are_away_each_has_its_turn_elsewhere)
{
    start_with(3, HEIST_ON_DEMAND);
    heist_store_relaxed(&fed, 0);
    heist_store_relaxed(&eaten, 0);
    heist_latch_init(&all_there, 3);
    heist_latch_init(&full, 1);
    CHECK_EQ(heist_broadcast(rt, by_index, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A graph that goes round for ever, begun in the background by one worker. */
static int round_and_round(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    heist_add_relaxed(&turns, 1);
    return heist_load_acquire(&over);
}

static int last_node(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return 0;
}

static heist_flow *endless_flow(heist_graph *g)
{
    heist_flow *flow;
    heist_node first = heist_graph_add(g, "first", last_node, NULL);
    heist_node round =
        heist_graph_add_condition(g, "round", round_and_round, NULL);
    heist_node last = heist_graph_add(g, "last", last_node, NULL);
    heist_graph_edge(g, first, round);
    heist_graph_edge(g, round, round);
    heist_graph_edge(g, round, last);
    heist_flow_opts opts = {.rt = rt};
    CHECK_EQ(heist_flow_start(&flow, g, &opts, HEIST_FOREVER), 0);
    return flow;
}

TEST(a_task_that_a_guest_has_left_has_its_turn_under_a_flow_without_end)
{
    heist_graph *g;
    start();
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_flow *flow = endless_flow(g);
    until_in_full_swing();
    CHECK_EQ(heist_run(rt, leave_it_here, NULL), 0);
    CHECK_EQ(heist_flow_close(flow), 0);
    heist_graph_destroy(g);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A worker that is never idle counts all the same. */
TEST(a_worker_without_a_pause_is_seen_to_be_busy)
{
    start();
    heist_stats then, now;
    CHECK_EQ(heist_spawn(rt, again, NULL, NULL, HEIST_FOREVER), 0);
    until_in_full_swing();
    CHECK_EQ(heist_stats_read(rt, 0, &then), 0);
    do {
        sched_yield();
        CHECK_EQ(heist_stats_read(rt, 0, &now), 0);
    } while (now.busy <= then.busy);
    CHECK_EQ(now.parked, then.parked);
    CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Two tasks that hand a ball to each other: each wait puts one aside and lets
 * the other go on. */
static heist_latch ball[2];

static int player(heist_ctx c, void *arg)
{
    heist_latch *mine = arg, *other = mine == ball ? ball + 1 : ball;
    (void)c;
    for (;;) {
        CHECK_EQ(heist_latch_wait(mine, HEIST_FOREVER), 0);
        heist_latch_init(mine, 1); /* nobody arrives before we give it away */
        bool last = heist_load_acquire(&over);
        heist_add_relaxed(&turns, 1);
        heist_latch_arrive(other);
        if (last) return 0;
    }
}

static int wait_a_moment(heist_ctx c, void *arg)
{
    heist_latch never;
    heist_latch_init(&never, 1);
    heist_time soon = heist_after(HEIST_MILLISECOND);
    CHECK_EQ(heist_latch_wait(&never, soon), -ETIMEDOUT);
    return end_it(c, arg);
}

static void play(heist_task_fn *fn)
{
    start();
    heist_latch_init(&ball[0], 1);
    heist_latch_init(&ball[1], 1);
    CHECK_EQ(heist_spawn(rt, player, &ball[0], NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_spawn(rt, player, &ball[1], NULL, HEIST_FOREVER), 0);
    heist_latch_arrive(&ball[0]);
    until_in_full_swing();
    CHECK_EQ(heist_spawn(rt, fn, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(a_task_from_outside_has_its_turn_under_strands_that_wake_each_other)
{
    play(end_it);
}

TEST(a_deadline_is_kept_under_strands_that_wake_each_other)
{
    play(wait_a_moment);
}

/*
 * A task waits, and tasks of which each outlasts its deadline are before it in the
 * queue: it goes on after the first of them.
 */
enum {
    LONG_TASKS = 8
};

static HEIST_ATOMIC(heist_time) due;
static HEIST_ATOMIC(long) late; /* tasks that ran after the time-out was due */

static int outlast(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    while (heist_now() <= heist_load_acquire(&due))
        ;
    if (!heist_load_acquire(&over)) heist_add_relaxed(&late, 1);
    return 0;
}

static int wait_before_long_tasks(heist_ctx c, void *arg)
{
    heist_latch never;
    heist_latch_init(&never, 1);
    heist_store_release(&due, heist_after(HEIST_MILLISECOND));
    for (int i = 0; i < LONG_TASKS; i++)
        CHECK_EQ(heist_spawn(rt, outlast, NULL, NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&never, heist_load_acquire(&due)), -ETIMEDOUT);
    return end_it(c, arg);
}

TEST(a_deadline_is_kept_before_the_next_task)
{
    start();
    heist_store_relaxed(&late, 0);
    CHECK_EQ(heist_spawn(rt, wait_before_long_tasks, NULL, NULL, HEIST_FOREVER),
             0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK(heist_load_relaxed(&late) <= 1);
}

/*
 * Strands that compute for long and wait for a moment in turn have always a letter
 * for the worker.  Turns are a matter of time as well: tasks from outside do not wait
 * for dozens of such steps each.
 */
enum {
    STEP = 5 * HEIST_MILLISECOND,
    GUESTS_TASKS = 10,
    STEPS_MAX = 150 /* by picks alone it would take 600 */
};

static int compute_and_wait(heist_ctx c, void *arg)
{
    heist_latch never;
    (void)c, (void)arg;
    heist_latch_init(&never, 1);
    while (!heist_load_acquire(&over)) {
        heist_add_relaxed(&turns, 1);
        for (heist_time end = heist_after(STEP); heist_now() < end;)
            ;
        CHECK_EQ(heist_latch_wait(&never, heist_after(1)), -ETIMEDOUT);
    }
    return 0;
}

static int leave_soon(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

/* They count as begun, but have nothing to say for now. */
enum {
    BLOCKED = 64,
    LONG_STEPS_MAX = 40 /* by picks alone it would take a turn of 61 or more */
};

static heist_latch blocked, released;

static int be_blocked(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch_arrive(&blocked);
    return heist_latch_wait(&released, HEIST_FOREVER);
}

static int compute_and_spawn(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_relaxed(&turns, 1);
    for (heist_time end = heist_after(STEP); heist_now() < end;)
        ;
    if (heist_load_acquire(&over)) return 0;
    return heist_spawn(rt, compute_and_spawn, arg, NULL, HEIST_FOREVER);
}

static void block_many(void)
{
    heist_latch_init(&blocked, BLOCKED);
    heist_latch_init(&released, 1);
    for (int i = 0; i < BLOCKED; i++)
        CHECK_EQ(heist_spawn(rt, be_blocked, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&blocked, HEIST_FOREVER), 0);
}

TEST(tasks_from_outside_have_their_turn_beside_many_that_wait)
{
    start();
    heist_latch done;
    heist_latch_init(&done, 1);
    block_many();
    CHECK_EQ(heist_spawn(rt, compute_and_spawn, NULL, NULL, HEIST_FOREVER), 0);
    while (heist_load_relaxed(&turns) < 1)
        sched_yield();
    CHECK_EQ(heist_spawn(rt, leave_soon, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    long steps = heist_load_relaxed(&turns);
    heist_store_release(&over, 1);
    heist_latch_arrive(&released);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK(steps < LONG_STEPS_MAX);
}

static void check_turns_under_long_steps(void)
{
    heist_latch done;
    heist_latch_init(&done, GUESTS_TASKS);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(heist_spawn(rt, compute_and_wait, NULL, NULL, HEIST_FOREVER),
                 0);
    while (heist_load_relaxed(&turns) < 4)
        sched_yield();
    for (int i = 0; i < GUESTS_TASKS; i++)
        CHECK_EQ(heist_spawn(rt, leave_soon, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK(heist_load_relaxed(&turns) < STEPS_MAX);
    heist_store_release(&over, 1);
}

TEST(tasks_from_outside_have_their_turn_under_long_steps)
{
    start();
    check_turns_under_long_steps();
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(tasks_from_outside_have_their_turn_under_long_steps_beside_many_that_wait)
{
    start();
    block_many();
    check_turns_under_long_steps();
    heist_latch_arrive(&released);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Requests of several tasks that take long: those begun are ended before many more
 * are, or each of them would hold a stack. */
enum {
    REQUESTS = 60,
    AT_A_TIME = 30
};

static HEIST_ATOMIC(long) begun, most;

static int part(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    for (heist_time end = heist_after(3 * HEIST_MILLISECOND / 2);
         heist_now() < end;)
        ;
    return 0;
}

static int request(heist_ctx c, void *arg)
{
    heist_scope s;
    (void)c, (void)arg;
    long now = heist_add_relaxed(&begun, 1) + 1; /* one worker: one writer */
    if (now > heist_load_relaxed(&most)) heist_store_relaxed(&most, now);
    heist_scope_open(&s, rt);
    for (int i = 0; i < 4; i++)
        heist_scope_spawn(&s, part, NULL);
    int rc = heist_scope_close(&s, HEIST_FOREVER);
    heist_sub_relaxed(&begun, 1);
    return rc;
}

TEST(requests_that_were_begun_end_before_many_more_are_begun)
{
    heist_scope s;
    start();
    heist_scope_open(&s, rt);
    for (int i = 0; i < REQUESTS; i++)
        heist_scope_spawn(&s, request, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    CHECK(heist_load_relaxed(&most) <= AT_A_TIME);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
