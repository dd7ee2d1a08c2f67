/* SPDX-License-Identifier: MIT
 *
 * Fork and join in the workers' own loop: search, theft, calls for work,
 * rescue, waiting for a thief, nested regions; and small whole runtimes.
 *
 * In the small tests the pool is made by hand, thread i is worker i, and a
 * task in worker 0's inbox is the root.  It ends the pool when all is done.
 */
#include "../fib.h"
#include "pool.h"

#include "core/frame.h"

enum {
    LIVES = 6
};

static heist_runtime *rt;
static hi_task root_task, other_tasks[2];
static unsigned runs[LIVES][MODEL_THREADS];
static unsigned lives;

/* --- the rig ---------------------------------------------------------------- */

static void to_inbox(hi_task *t, heist_task_fn *fn)
{
    *t = (hi_task){.fn = fn, .borrowed = true};
    t->message.kind = HI_MESSAGE_TASK;
    hi_inbox_post(&rt->pool[0].inbox, &t->message.node);
}

static void start(unsigned workers, heist_exposure exposure, bool rescue,
                  heist_task_fn *root)
{
    rt = pool_open(workers, 2);
    rt->config.exposure = exposure;
    rt->config.quantum = 1;
    heist_init(&rt->rescue, rescue);
    pool_prepare(rt);
    to_inbox(&root_task, root);
}

static void worker(unsigned id)
{
    hi_worker_main(&rt->pool[id]);
}

static void after(void)
{
    for (unsigned life = 0; life < lives; life++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < MODEL_THREADS; i++)
            sum += runs[life][i];
        model_check(sum == 1);
    }
    for (unsigned i = 0; i < rt->workers; i++)
        model_check(heist_load_relaxed(&rt->pool[i].put_aside) == 0);
    pool_close(rt);
}

/* --- frames ----------------------------------------------------------------- */

static void note_run(unsigned life)
{
    runs[life][model_self()]++;
    if (life < 8 && model_self() < 8) model_saw(life * 8 + model_self());
}

static bool seen(unsigned life, unsigned by)
{
    return model_seen() >> (life * 8 + by) & 1;
}

static void body(heist_ctx c, heist_frame *f)
{
    (void)c;
    int64_t life = f->arg[0].i;
    note_run((unsigned)life);
    f->arg[1].i = -life;
    f->result.i = 10 + life;
}

static heist_ctx open(heist_ctx c, unsigned life)
{
    heist_slot(c)->arg[0].i = life;
    lives++;
    return heist_fork(c, body);
}

static void close(heist_ctx c, unsigned life)
{
    heist_frame *f = heist_slot(c);
    if (heist_join(c)) {
        note_run(life);
        return;
    }
    model_check(f->result.i == 10 + (int64_t)life);
    model_check(f->arg[1].i == -(int64_t)life);
}

static void first_frame_had_both(void)
{
    model_check(seen(0, 0));
    model_check(seen(0, 1));
}

/* --- exposure policies ------------------------------------------------------ */

/* Two forks, the older one open while the younger slot lives twice. */
static void forks(heist_ctx c)
{
    heist_ctx k = open(c, 0);
    hi_cpu_relax(); /* a left half */
    open(k, 1);
    close(k, 1);
    open(k, 2);
    hi_cpu_relax();
    close(k, 2);
    close(c, 0);
}

static int root(heist_ctx c, void *arg)
{
    (void)arg;
    open(c, 0);
    hi_cpu_relax(); /* a left half */
    close(c, 0);
    open(c, 1);
    close(c, 1);
    pool_end(rt);
    return 0;
}

/* As if the region had lasted: thieves that call are served at once. */
static int old_root(heist_ctx c, void *arg)
{
    (void)arg;
    hi_strand_from(c.strand)->started = 1;
    forks(c);
    pool_end(rt);
    return 0;
}

static void setup_eager(void)
{
    start(2, HEIST_EAGER, false, root);
}

static void setup_on_demand(void)
{
    start(2, HEIST_ON_DEMAND, false, old_root);
}

static void setup_quantum(void)
{
    start(2, HEIST_QUANTUM, false, old_root);
}

/* One fork, hidden: only a rescuer can have it. */
static int hidden_root(heist_ctx c, void *arg)
{
    (void)arg;
    hi_strand *s = hi_strand_from(c.strand);
    hi_strand_reset(s, false); /* no look at the first fork */
    open(c, 0);
    close(c, 0);
    pool_end(rt);
    return 0;
}

static void setup_rescue(void)
{
    start(2, HEIST_ON_DEMAND, true, hidden_root);
}

/* --- regions inside regions ------------------------------------------------- */

static void inner(heist_ctx c, void *arg)
{
    (void)arg;
    open(c, 1);
    close(c, 1);
}

/* The strand of the inner region is new: a thief finds it by W2 alone. */
static int nesting_root(heist_ctx c, void *arg)
{
    (void)arg;
    hi_cpu_relax(); /* the other worker may be asleep by now */
    open(c, 0);
    model_check(heist_run(rt, inner, NULL) == 0);
    close(c, 0);
    pool_end(rt);
    return 0;
}

static void setup_nesting(void)
{
    start(2, HEIST_ON_DEMAND, true, nesting_root);
}

/* Asleep when the strand is made: the other worker wakes by its watch only. */
static void hidden_inner(heist_ctx c, void *arg)
{
    (void)arg;
    open(c, 0);
    close(c, 0);
}

static int watched_root(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    hi_cpu_relax();
    model_check(heist_run(rt, hidden_inner, NULL) == 0);
    pool_end(rt);
    return 0;
}

static void setup_watched(void)
{
    start(2, HEIST_ON_DEMAND, true, watched_root);
}

static void inner_frame_had_both(void)
{
    first_frame_had_both();
    model_check(seen(1, 0));
    model_check(seen(1, 1));
}

/* --- long waits ------------------------------------------------------------- */

/*
 * A thief can only finish when worker 0 has run another task: a join that does
 * not put its strand aside waits for ever.
 */
static hi_futex other_ran[2];
static unsigned to_end; /* tasks of worker 0 that have not ended */

static void one_ended(void)
{
    if (--to_end == 0) pool_end(rt);
}

static int first_other(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    pool_tell(&other_ran[0]);
    one_ended();
    return 0;
}

static void first_body(heist_ctx c, heist_frame *f)
{
    if (model_self() != 0) pool_await(&other_ran[0]);
    body(c, f);
}

static heist_ctx open_waiting(heist_ctx c, unsigned life, heist_frame_fn *fn)
{
    heist_slot(c)->arg[0].i = life;
    lives++;
    return heist_fork(c, fn);
}

static int waiting_root(heist_ctx c, void *arg)
{
    (void)arg;
    open_waiting(c, 0, first_body);
    to_inbox(&other_tasks[0], first_other);
    close(c, 0);
    one_ended();
    return 0;
}

/*
 * A strand waits for its own two frames, which nobody has seen yet and which wait
 * for each other on their threads: who sleeps must be told of them.
 */
static heist_latch both;
static hi_futex met[2];

static void meeting_body(heist_ctx c, heist_frame *f)
{
    int64_t life = f->arg[0].i;
    pool_tell(&met[life]);
    pool_await(&met[1 - life]);
    body(c, f);
    heist_latch_arrive(&both);
}

static int meeting_root(heist_ctx c, void *arg)
{
    (void)arg;
    heist_ctx k = open_waiting(c, 0, meeting_body);
    open_waiting(k, 1, meeting_body);
    model_check(heist_latch_wait(&both, HEIST_FOREVER) == 0);
    close(k, 1);
    close(c, 0);
    pool_end(rt);
    return 0;
}

static void setup_meeting(void)
{
    heist_latch_init(&both, 2);
    start(2, HEIST_ON_DEMAND, false, meeting_root);
}

static void setup_waiting(void)
{
    to_end = 2;
    start(2, HEIST_EAGER, false, waiting_root);
}

static void after_waiting(void)
{
    bool suspended = heist_load_relaxed(&rt->pool[0].stats.suspended) != 0;
    model_check(suspended == (runs[0][1] != 0));
    after();
}

/*
 * A strand that is put aside twice.  The thief has its frame from before the
 * first time, and learns nothing from the task it waits for: what it must know
 * of the strand it learns by F5 alone.
 */
static hi_strand *root_strand;

static int first_waker(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    hi_strand_resume(root_strand);
    one_ended();
    return 0;
}

static int second_other(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    heist_store_relaxed(&other_ran[1], 1);
    one_ended();
    return 0;
}

static void second_body(heist_ctx c, heist_frame *f)
{
    while (model_self() != 0 && !heist_load_relaxed(&other_ran[1]))
        hi_cpu_relax();
    body(c, f);
}

static int waiting_twice_root(heist_ctx c, void *arg)
{
    (void)arg;
    open_waiting(c, 0, second_body);
    hi_cpu_relax(); /* the left half */
    root_strand = hi_strand_from(c.strand);
    root_strand->nested = 1000; /* does not leap, which would fence */
    to_inbox(&other_tasks[0], first_waker);
    hi_worker_suspend(&rt->pool[0], root_strand);
    to_inbox(&other_tasks[1], second_other);
    close(c, 0);
    one_ended();
    return 0;
}

/* Worker 1 steals once. */
static void worker_or_thief(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    uintptr_t item;
    if (id == 0) {
        worker(0);
        return;
    }
    hi_self_set(w);
    heist_frame *cursor = w->spare.warm->base;
    if (hi_deque_steal(&rt->pool[0].deque, &item) == HI_STEAL_TAKEN &&
        hi_frame_take(hi_ticket_frame(item), cursor))
        hi_frame_run(w, hi_ticket_frame(item), cursor);
    hi_self_set(NULL);
}

static void setup_waiting_twice(void)
{
    to_end = 3;
    start(2, HEIST_EAGER, false, waiting_twice_root);
}

static void after_waiting_twice(void)
{
    uint64_t times = heist_load_relaxed(&rt->pool[0].stats.suspended);
    model_check(times == (runs[0][1] ? 2 : 1));
    after();
}

/* The thief ends at any moment of a join that gives up at once. */
static int impatient_root(heist_ctx c, void *arg)
{
    (void)arg;
    open(c, 0);
    hi_cpu_relax(); /* the left half */
    close(c, 0);
    pool_end(rt);
    return 0;
}

static void setup_impatient(void)
{
    start(2, HEIST_EAGER, false, impatient_root);
    rt->settle_spins = 0;
}

static void after_impatient(void)
{
    if (heist_load_relaxed(&rt->pool[0].stats.suspended)) model_saw(63);
    after();
}

static void gave_up(void)
{
    first_frame_had_both();
    model_check(model_seen() >> 63);
}

/* The left half ends only when somebody else has run the right one, and nobody
 * looks for hidden frames: who sleeps must be woken. */
static hi_futex right_ran;

static void tell_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    (void)f;
    pool_tell(&right_ran);
}

static int dependent_root(heist_ctx c, void *arg)
{
    (void)arg;
    hi_cpu_relax(); /* the other one may be asleep by now */
    heist_fork(c, tell_right);
    pool_await(&right_ran);
    model_check(!heist_join(c));
    pool_end(rt);
    return 0;
}

static void setup_dependent(void)
{
    start(2, HEIST_EAGER, false, dependent_root);
    heist_init(&right_ran, 0);
}

/* --- what a worker shows ---------------------------------------------------- */

/*
 * Worker 0 goes from strand to strand, all but the first made on the way: the
 * root is put aside, its successor too, both are woken, the root once more.
 * Worker 1 has no thread, only a task to steal.
 */
static hi_strand *shown[2];

static void wake(hi_strand *s)
{
    hi_strand_resume(s);
    one_ended();
}

static int wake_root(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    wake(shown[0]);
    return 0;
}

static int wake_successor(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    wake(shown[1]);
    return 0;
}

static void nothing(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
}

static int successor(heist_ctx c, void *arg)
{
    (void)arg;
    shown[1] = hi_strand_from(c.strand);
    model_check(heist_run(rt, nothing, NULL) == 0);
    to_inbox(&other_tasks[1], wake_successor);
    hi_worker_suspend(&rt->pool[0], shown[1]);
    wake(shown[0]);
    return 0;
}

static int showing_root(heist_ctx c, void *arg)
{
    (void)arg;
    shown[0] = hi_strand_from(c.strand);
    hi_worker_suspend(&rt->pool[0], shown[0]);
    to_inbox(&other_tasks[0], wake_root);
    hi_worker_suspend(&rt->pool[0], shown[0]);
    one_ended();
    return 0;
}

static void setup_showing(void)
{
    to_end = 4;
    start(2, HEIST_ON_DEMAND, false, showing_root);
    other_tasks[0] = (hi_task){.fn = successor, .borrowed = true};
    hi_deque_push(&rt->pool[1].deque, (uintptr_t)&other_tasks[0]);
}

/* W2: whatever strand it is, its frames may be looked at. */
static void look(unsigned id)
{
    if (id == 0) {
        worker(0);
        return;
    }
    for (int i = 0; i < 2; i++) {
        hi_strand *s = heist_load_acquire(&rt->pool[0].strand);
        if (!s) continue;
        model_check(heist_load_relaxed(&s->split) != NULL);
        model_check(!hi_strand_has_private(s));
    }
}

/* --- whole runtimes --------------------------------------------------------- */

static heist_exposure exposure;
static unsigned pool_size;

static int fib_task(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    /* A region of its own above an open fork of this one. */
    heist_slot(c)->arg[0].i = 2;
    heist_fork(c, fib_right);
    model_check(heist_run(NULL, fib_root, n) == 0);
    *n += heist_join(c) ? fib(c, 2) : heist_slot(c)->result.i;
    return 0;
}

static void whole(unsigned id)
{
    (void)id;
    heist_runtime *r;
    heist_config config = {.workers = pool_size,
                           .exposure = exposure,
                           .quantum = 1,
                           .steal_attempts = 1,
                           .stack_bytes = POOL_STACK,
                           .unpinned = true,
                           .idle = HEIST_ECO};
    model_check(heist_start(&r, &config) == 0);
    /* With a watchman, or with nobody whose looks would hide a lost wake-up. */
    if (model_choose(2)) heist_store_relaxed(&r->rescue, HI_RESCUE_NONE);
    int64_t a = 5, b = 4;
    heist_latch done;
    heist_latch_init(&done, 1);
    model_check(heist_spawn(r, fib_task, &b, &done, HEIST_FOREVER) == 0);
    model_check(heist_run(r, fib_root, &a) == 0);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_check(a == 5);
    model_check(b == 3 + 1);
    model_check(heist_stop(r, HEIST_FOREVER) == 0);
}

static void setup_whole_one(void)
{
    exposure = (heist_exposure)model_choose(3);
    pool_size = 1;
}

static void setup_whole_two(void)
{
    exposure = (heist_exposure)model_choose(3);
    pool_size = 2;
}

static const model_test tests[] = {
    {MODEL_TEST("eager_forks_are_stolen_or_taken_back", 2, setup_eager, worker,
                after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("a_call_is_served_at_the_next_fork_or_join", 2, setup_on_demand,
                worker, after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 1, 2), .clock_step = 5000},
    {MODEL_TEST("a_frame_that_is_a_quantum_old_is_stolen", 2, setup_quantum,
                worker, after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 1, 2), .clock_step = 5000},
    {MODEL_TEST("a_searcher_rescues_a_hidden_frame", 2, setup_rescue, worker,
                after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("frames_of_a_region_in_a_region_run_once", 2, setup_nesting,
                worker, after, inner_frame_had_both),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("the_watchman_rescues_from_a_new_strand", 2, setup_watched,
                worker, after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("a_long_wait_lets_the_worker_do_other_work", 2, setup_waiting,
                worker, after_waiting, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("a_strand_is_put_aside_twice", 2, setup_waiting_twice,
                worker_or_thief, after_waiting_twice, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("a_worker_shows_only_strands_that_are_ready", 2, setup_showing,
                look, after, NULL),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("who_waits_wakes_a_sleeper_for_what_is_behind_it", 2,
                setup_meeting, worker, after, NULL),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("what_is_exposed_wakes_a_sleeper", 2, setup_dependent, worker,
                after, NULL),
     MODEL_BOUNDS(2, 1, 2, 2)},
    {MODEL_TEST("a_joiner_gives_up_as_its_thief_ends", 2, setup_impatient,
                worker_or_thief, after_impatient, gave_up),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {.name = "a_runtime_of_one_worker_forks_joins_and_stops",
     .threads = 1,
     .setup = setup_whole_one,
     .thread = whole,
     .random = true,
     .keeps = true},
    {.name = "a_runtime_of_two_workers_forks_joins_and_stops",
     .threads = 1,
     .setup = setup_whole_two,
     .thread = whole,
     .random = true,
     .keeps = true},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
