/* SPDX-License-Identifier: MIT
 *
 * Spawn and scopes: every task runs once or is refused, close returns after
 * the last of them, the first error wins, and who waits for room in the
 * injector gets it.
 *
 * A scope is memory of its own, freed the moment close has returned.  What the
 * tasks read and write is plain memory.  Thread 0 is a foreign one, the others
 * are workers that run the shipped loop.
 */
#include "pool.h"

#include "core/frame.h"

#include <errno.h>

enum {
    TASKS = 4,
    ROOM = 2,   /* in the injector */
    SOON = 5000 /* ns: a deadline that may pass or not */
};

enum {
    SAW_RUN = 1,
    SAW_REFUSED = 2,
    SAW_HERE = 4 /* run by the foreign thread itself */
};

typedef struct chore {
    int payload;
    int result;
    unsigned runs;
    int rc;
} chore;

static heist_runtime *rt;
static heist_scope *scope;
static chore chores[TASKS];
static const char *reason;
static hi_futex met[TASKS];
static hi_task first;
static HEIST_ATOMIC(uint32_t) ended; /* spawners */

static void setup_pool(unsigned workers)
{
    rt = pool_open(workers, ROOM);
    pool_prepare(rt);
}

static void setup_1(void)
{
    setup_pool(1);
}

static void setup_2(void)
{
    setup_pool(2);
}

static void after(void)
{
    pool_check(rt);
    model_check(heist_load_relaxed(&rt->visitors) == 0);
    model_check(heist_load_relaxed(&rt->waiting) == 0);
    pool_close(rt);
}

static int work(heist_ctx c, void *arg)
{
    chore *a = arg;
    (void)c;
    model_check(a->payload == 1);
    model_saw(heist_worker_index() < 0 ? SAW_HERE : SAW_RUN);
    a->runs++;
    a->result = 2;
    return a->rc;
}

/* A task that spawns the next one into its own scope. */
static int spawning(heist_ctx c, void *arg)
{
    chore *a = arg;
    a[1].payload = 1;
    heist_scope_spawn(scope, work, a + 1);
    return work(c, arg);
}

static void open_scope(void)
{
    scope = pool_alloc(sizeof *scope);
    heist_scope_open(scope, rt);
}

static void spawn(heist_task_fn *fn, unsigned i)
{
    chores[i].payload = 1;
    heist_scope_spawn(scope, fn, &chores[i]);
}

/* Closes the scope, and with it goes its memory. */
static int close_scope(heist_time deadline)
{
    heist_scope *s = scope;
    int rc = heist_scope_close(s, deadline);
    hi_free(NULL, s, sizeof *s);
    return rc;
}

static void check_done(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        model_check(chores[i].runs == 1 && chores[i].result == 2);
}

static bool is_worker(unsigned id)
{
    if (id == 0) return false;
    hi_worker_main(&rt->pool[id - 1]);
    return true;
}

/* --- completion -------------------------------------------------------------- */

static void two_tasks(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    spawn(work, 0);
    spawn(work, 1);
    model_check(close_scope(HEIST_FOREVER) == 0);
    check_done(2);
    pool_end(rt);
}

static void task_in_task(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    spawn(spawning, 0);
    model_check(close_scope(HEIST_FOREVER) == 0);
    check_done(2);
    pool_end(rt);
}

static void empty_scope(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    model_check(close_scope(HEIST_FOREVER) == 0);
    pool_end(rt);
}

/* Of two errors the one of the task that was spawned first. */
static void first_error(unsigned id)
{
    if (is_worker(id)) return;
    chores[0].rc = -EIO;
    chores[1].rc = -ENOENT;
    open_scope();
    spawn(work, 0);
    spawn(work, 1);
    model_check(close_scope(HEIST_FOREVER) == -EIO);
    check_done(2);
    pool_end(rt);
}

/* More tasks than the injector has room for: the worker finds the last one, too. */
static void more_than_room(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    for (unsigned i = 0; i <= ROOM; i++)
        spawn(work, i);
    model_check(close_scope(HEIST_FOREVER) == 0);
    check_done(ROOM + 1);
    pool_end(rt);
}

static void here_was_not_seen(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(!(model_seen() >> SAW_HERE & 1));
}

/* Memory may be out for the task, for the guest or its strand, and then for the
 * errand that is sent in. */
static void without_memory(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    spawn(work, 0);
    int rc = close_scope(HEIST_FOREVER);
    model_check(rc == 0 || rc == -ENOMEM);
    model_check(chores[0].runs == (rc == 0));
    model_saw(rc == 0 ? 0 : SAW_REFUSED);
    pool_end(rt);
}

static void both_were_seen(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(model_seen() >> SAW_REFUSED & 1);
}

/* --- side by side --------------------------------------------------------------- */

/* Two tasks that block their workers until both have begun. */
static int meeting(heist_ctx c, void *arg)
{
    chore *a = arg;
    pool_tell(&met[a - chores]);
    pool_await(&met[a == &chores[1] ? 2 : 1]);
    return work(c, arg);
}

/* Nobody sleeps while a task lies, even if the worker that has it in its
 * queue is busy. */
static void side_by_side(unsigned id)
{
    if (is_worker(id)) return;
    heist_latch done;
    heist_latch_init(&done, 2);
    for (unsigned i = 1; i <= 2; i++) {
        chores[i].payload = 1;
        int rc = heist_spawn(rt, meeting, &chores[i], &done, HEIST_FOREVER);
        model_check(rc == 0);
    }
    heist_latch_wait(&done, HEIST_FOREVER);
    check_done(3);
    pool_end(rt);
}

/* One worker has something to do already. */
static void setup_busy(void)
{
    setup_2();
    chores[0].payload = 1;
    first = (hi_task){.fn = work, .arg = &chores[0], .borrowed = true};
    hi_deque_push(&rt->pool[0].deque, (uintptr_t)&first);
}

/* Two workers, and all there is to do is in the overflow.  Who takes it has one task
 * in its hands that the other one is to run. */
static hi_task overflowed[2];

static int meeting_to_end(heist_ctx c, void *arg)
{
    int rc = meeting(c, arg);
    if (heist_add_acq_rel(&ended, 1) == 1) pool_end(rt);
    return rc;
}

static void setup_overflow(void)
{
    setup_2();
    for (unsigned i = 0; i < 2; i++) {
        chore *a = &chores[i + 1];
        a->payload = 1;
        overflowed[i] =
            (hi_task){.fn = meeting_to_end, .arg = a, .borrowed = true};
        hi_inbox_post(&rt->overflow, &overflowed[i].message.node);
    }
}

static void from_the_overflow(unsigned id)
{
    hi_worker_main(&rt->pool[id]);
}

static void after_overflow(void)
{
    model_check(chores[1].runs == 1 && chores[2].runs == 1);
    after();
}

/* --- cancel ------------------------------------------------------------------- */

/* What was written before the cancel is seen by who asks. */
static int asking(heist_ctx c, void *arg)
{
    if (heist_scope_is_cancelled(scope)) {
        model_saw(SAW_REFUSED);
        model_check(reason != NULL);
        return 0;
    }
    return work(c, arg);
}

static void cancelled(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    spawn(asking, 0);
    reason = "enough";
    heist_scope_cancel(scope);
    model_check(close_scope(HEIST_FOREVER) == -ECANCELED);
    model_check(chores[0].runs <= 1);
    pool_end(rt);
}

/* At the deadline nothing of the scope starts, and what runs is waited for. */
static void closed_in_time(unsigned id)
{
    if (is_worker(id)) return;
    open_scope();
    spawn(work, 0);
    int rc = close_scope(hi_clock() + SOON);
    model_check(rc == 0 || rc == -ETIMEDOUT);
    model_check(chores[0].runs <= 1);
    if (rc == 0) model_check(chores[0].runs == 1);
    if (chores[0].runs == 0) model_saw(SAW_REFUSED);
    pool_end(rt);
}

/* --- room --------------------------------------------------------------------- */

static void setup_full(void)
{
    setup_pool(1);
    for (unsigned i = 0; i < ROOM; i++) {
        chores[i].payload = 1;
        int rc = heist_spawn(rt, work, &chores[i], NULL, HEIST_NOW);
        model_check(rc == 0);
    }
}

/* The injector is full: the spawner waits for room, and gets it. */
static void waits_for_room(unsigned id)
{
    if (is_worker(id)) return;
    heist_latch done;
    heist_latch_init(&done, 1);
    chores[ROOM].payload = 1;
    int rc = heist_spawn(rt, work, &chores[ROOM], &done, HEIST_FOREVER);
    model_check(rc == 0);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_check(chores[ROOM].runs == 1);
    pool_end(rt);
}

/* It runs if spawn said so, and does not if spawn said no. */
static void waits_until(heist_time deadline, int late)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    chores[ROOM].payload = 1;
    int rc = heist_spawn(rt, work, &chores[ROOM], &done, deadline);
    model_check(rc == 0 || rc == late);
    if (rc == 0) {
        model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
        model_check(chores[ROOM].runs == 1);
    } else {
        model_saw(SAW_REFUSED);
    }
    pool_end(rt);
}

static void waits_for_room_until(unsigned id)
{
    if (is_worker(id)) return;
    waits_until(hi_clock() + SOON, -ETIMEDOUT);
}

static void tries_for_room(unsigned id)
{
    if (is_worker(id)) return;
    waits_until(HEIST_NOW, -EAGAIN);
}

/* Two wait for room: one taken task lets one in, the next the other. */
static void two_wait_for_room(unsigned id)
{
    if (id == 2) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    heist_latch done;
    heist_latch_init(&done, 1);
    chore *mine = &chores[ROOM + id];
    mine->payload = 1;
    int rc = heist_spawn(rt, work, mine, &done, HEIST_FOREVER);
    model_check(rc == 0);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_check(mine->runs == 1);
    if (heist_add_acq_rel(&ended, 1) == 1) pool_end(rt);
}

static void after_full(void)
{
    check_done(ROOM);
    after();
}

/* --- without the loop ----------------------------------------------------- */

/*
 * Each worker has its first task in its deque from the start and runs it, and
 * what that one spawns, without looking for others: so little that scope and
 * latch can be followed further.
 */
static void setup_hands(unsigned workers)
{
    rt = pool_open(workers, ROOM);
    open_scope();
    for (unsigned i = 0; i < workers; i++) {
        hi_worker *w = &rt->pool[i];
        w->native = hi_strand_create(0);
        heist_store_relaxed(&w->native->worker, w);
        hi_strand_reset(w->native, true);
    }
}

/* By worker i. */
static void spawn_by(unsigned i, heist_task_fn *fn, unsigned which)
{
    hi_self_set(&rt->pool[i]);
    spawn(fn, which);
    hi_self_set(NULL);
}

static bool is_hand(unsigned id)
{
    if (id == 0) return false;
    hi_worker *w = &rt->pool[id - 1];
    hi_self_set(w);
    for (hi_task *t; (t = (hi_task *)hi_deque_pop(&w->deque));)
        hi_task_run(w, t, w->native->base);
    hi_self_set(NULL);
    return true;
}

static void after_hands(void)
{
    for (unsigned i = 0; i < rt->workers; i++)
        hi_strand_destroy(rt->pool[i].native);
    pool_check(rt);
    pool_close(rt);
}

static void setup_hand(void)
{
    setup_hands(1);
    spawn_by(0, spawning, 0);
}

static void setup_two_hands(void)
{
    setup_hands(2);
    spawn_by(0, spawning, 0);
    spawn_by(1, work, 2);
}

static void hands_close(unsigned id)
{
    if (is_hand(id)) return;
    model_check(close_scope(HEIST_FOREVER) == 0);
    check_done(rt->workers + 1);
}

static void setup_two_errors(void)
{
    setup_hands(2);
    chores[0].rc = -EIO;
    chores[1].rc = -ENOENT;
    spawn_by(0, work, 0);
    spawn_by(1, work, 1);
}

static void hands_fail(unsigned id)
{
    if (is_hand(id)) return;
    model_check(close_scope(HEIST_FOREVER) == -EIO);
    check_done(2);
}

static void setup_hand_asks(void)
{
    setup_hands(1);
    spawn_by(0, asking, 0);
}

static void hand_is_cancelled(unsigned id)
{
    if (is_hand(id)) return;
    reason = "enough";
    heist_scope_cancel(scope);
    model_check(close_scope(HEIST_FOREVER) == -ECANCELED);
    model_check(chores[0].runs <= 1);
}

static void hand_in_time(unsigned id)
{
    if (is_hand(id)) return;
    int rc = close_scope(hi_clock() + SOON);
    model_check(rc == 0 || rc == -ETIMEDOUT);
    if (rc == 0) check_done(2);
    if (chores[0].runs == 0) model_saw(SAW_REFUSED);
    model_check(chores[1].runs <= chores[0].runs && chores[0].runs <= 1);
}

/* The injector is full; who takes a task lets a spawner in. */
static void setup_full_hands(void)
{
    rt = pool_open(1, ROOM);
    for (unsigned i = 0; i < ROOM; i++)
        model_check(hi_injector_push(&rt->injector, i + 1));
}

static void let_in(unsigned id, unsigned n)
{
    if (id > 0) {
        model_check(heist_spawn(rt, work, NULL, NULL, HEIST_FOREVER) == 0);
        return;
    }
    for (uintptr_t item; n > 0; n--) {
        model_check(hi_injector_take(&rt->injector, &item, 1) == 1);
        hi_task_room(rt);
    }
}

static void let_one_in(unsigned id)
{
    let_in(id, 1);
}

static void let_two_in(unsigned id)
{
    let_in(id, 2);
}

static void after_let_in(void)
{
    uintptr_t item;
    while (hi_injector_take(&rt->injector, &item, 1))
        if (item > ROOM) hi_free(NULL, (void *)item, sizeof(hi_task));
    after();
}

static const model_test tests[] = {
    {.name = "close_waits_for_two_tasks",
     .threads = 2,
     .setup = setup_1,
     .thread = two_tasks,
     .after = after,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "close_waits_for_two_tasks_on_two_workers",
     .threads = 3,
     .setup = setup_2,
     .thread = two_tasks,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "close_waits_for_what_tasks_spawn",
     .threads = 2,
     .setup = setup_1,
     .thread = task_in_task,
     .after = after,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "close_waits_for_what_tasks_spawn_on_two_workers",
     .threads = 3,
     .setup = setup_2,
     .thread = task_in_task,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "an_empty_scope_closes",
     .threads = 2,
     .setup = setup_1,
     .thread = empty_scope,
     .after = after,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "the_error_of_the_task_spawned_first_is_returned",
     .threads = 3,
     .setup = setup_2,
     .thread = first_error,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_task_without_room_runs_on_a_worker",
     .threads = 2,
     .setup = setup_1,
     .thread = more_than_room,
     .after = after,
     .end = here_was_not_seen,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "a_task_without_memory_runs_here_or_fails_its_scope",
     .threads = 2,
     .setup = setup_1,
     .thread = without_memory,
     .after = after,
     .end = both_were_seen,
     .allocation_may_fail = true,
     .quick = {MODEL_NONE, 1, 3},
     .full = {1, 2, 3}},
    {.name = "two_tasks_that_block_run_side_by_side",
     .threads = 3,
     .setup = setup_busy,
     .thread = side_by_side,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {MODEL_TEST("two_tasks_of_the_overflow_run_side_by_side", 2, setup_overflow,
                from_the_overflow, after_overflow, NULL),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {.name = "a_cancelled_task_sees_why",
     .threads = 2,
     .setup = setup_1,
     .thread = cancelled,
     .after = after,
     .end = both_were_seen,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "a_scope_closes_at_its_deadline",
     .threads = 2,
     .setup = setup_1,
     .thread = closed_in_time,
     .after = after,
     .end = both_were_seen,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "a_spawner_waits_for_room",
     .threads = 2,
     .setup = setup_full,
     .thread = waits_for_room,
     .after = after_full,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "two_spawners_wait_for_room",
     .threads = 3,
     .setup = setup_full,
     .thread = two_wait_for_room,
     .after = after_full,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_spawn_at_its_deadline_runs_or_is_refused",
     .threads = 2,
     .setup = setup_full,
     .thread = waits_for_room_until,
     .after = after_full,
     .end = both_were_seen,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "a_spawn_that_tries_runs_or_is_refused",
     .threads = 2,
     .setup = setup_full,
     .thread = tries_for_room,
     .after = after_full,
     .end = both_were_seen,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {MODEL_TEST("close_waits_for_a_task_and_what_it_spawns", 2, setup_hand,
                hands_close, after_hands, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("close_waits_for_the_tasks_of_two_workers", 3, setup_two_hands,
                hands_close, after_hands, NULL),
     MODEL_BOUNDS(2, 2, 3, 2)},
    {MODEL_TEST("of_two_errors_that_of_the_first_task_is_kept", 3,
                setup_two_errors, hands_fail, after_hands, NULL),
     MODEL_BOUNDS(2, 2, 3, 2)},
    {MODEL_TEST("who_asks_as_the_scope_is_cancelled_sees_why", 2,
                setup_hand_asks, hand_is_cancelled, after_hands,
                both_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_close_that_is_late_waits_for_what_runs", 2, setup_hand,
                hand_in_time, after_hands, both_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("who_takes_a_task_lets_a_spawner_in", 2, setup_full_hands,
                let_one_in, after_let_in, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("who_takes_two_tasks_lets_two_spawners_in", 3, setup_full_hands,
                let_two_in, after_let_in, NULL),
     .quick = {1, 2, MODEL_NONE}, .full = {3, 2, MODEL_NONE}},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
