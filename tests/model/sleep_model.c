/* SPDX-License-Identifier: MIT
 *
 * Parking: who posts work finds a searcher or wakes a sleeper, whatever the
 * order of the two, and each announcement gets one token.  A wake-up that is
 * lost leaves all threads asleep, which the checker reports.
 *
 * A job's payload is plain memory: who runs it without having seen its post
 * races with the poster.
 */
#include "pool.h"

#include "core/job.h"
#include "graph/owner.h"

enum {
    JOBS = 3,
    PAYLOAD = 42,
    SOON = 5000 /* ns: a deadline that may pass or not */
};

typedef struct job {
    int payload;
    unsigned runs;
    struct job *partner; /* both are to be at work at one time; or NULL */
    bool awaited;
    hi_futex started, done;
} job;

static heist_runtime *rt;
static job jobs[JOBS];
static HEIST_ATOMIC(uint32_t) left;
static unsigned given, tasks; /* that find a worker each */
static hi_message letters[2];
static unsigned received;
static int last_words;

static void setup_workers(unsigned workers, uint32_t n)
{
    rt = pool_open(workers, 2);
    heist_init(&left, n);
}

static void setup_1_of_2(void)
{
    setup_workers(2, 1);
}

static void setup_2_of_2(void)
{
    setup_workers(2, 2);
}

static void setup_pair_of_3(void)
{
    setup_workers(3, 2);
    jobs[0].partner = &jobs[1];
    jobs[1].partner = &jobs[0];
}

/* From outside: there is only the injector. */
static void setup_outside_1_of_2(void)
{
    setup_workers(2, 1);
    pool_injector_only(rt);
}

static void setup_outside_1_of_3(void)
{
    setup_workers(3, 1);
    pool_injector_only(rt);
}

static void setup_outside_2_of_2(void)
{
    setup_workers(2, 2);
    pool_injector_only(rt);
}

static void setup_outside_pair_of_2(void)
{
    setup_outside_2_of_2();
    jobs[0].partner = &jobs[1];
    jobs[1].partner = &jobs[0];
}

static void after(void)
{
    uint32_t runs = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        model_check(jobs[i].runs <= 1);
        runs += jobs[i].runs;
    }
    model_check(runs && heist_load_relaxed(&left) == 0);
    pool_check(rt);
    pool_close(rt);
}

static void run(void *item)
{
    job *j = item;
    model_check(j->payload == PAYLOAD);
    j->runs++;
    if (j->partner) {
        pool_tell(&j->started);
        pool_await(&j->partner->started);
    }
    bool last = heist_sub_acq_rel(&left, 1) == 1;
    if (j->awaited) pool_tell(&j->done);
    if (last) pool_end(rt);
}

static void inject(job *j)
{
    j->payload = PAYLOAD;
    model_check(hi_injector_push(&rt->injector, (uintptr_t)j));
    hi_sleep_post(rt);
}

static void push(hi_worker *w, job *j)
{
    j->payload = PAYLOAD;
    j->awaited = true;
    model_check(hi_deque_push(&w->deque, (uintptr_t)j) == 0);
    hi_sleep_post(rt);
}

/* --- posts from outside ------------------------------------------------------ */

/* The last thread posts, the others are workers. */
static void one_from_outside(unsigned id)
{
    if (id == rt->workers)
        inject(&jobs[0]);
    else
        pool_loop(&rt->pool[id], run);
}

static void two_from_outside(unsigned id)
{
    if (id == rt->workers) {
        inject(&jobs[0]);
        inject(&jobs[1]);
    } else {
        pool_loop(&rt->pool[id], run);
    }
}

static void one_from_each_of_two(unsigned id)
{
    if (id >= rt->workers)
        inject(&jobs[id - rt->workers]);
    else
        pool_loop(&rt->pool[id], run);
}

/* --- one task for each ---------------------------------------------------- */

/*
 * Every worker takes one task and then is busy for good, so that each of the
 * tasks must find a worker of its own: who finds one while there are more, and
 * is the last that searches, has to see to it that another one wakes.
 */
static void take_one(hi_worker *w)
{
    hi_self_set(w);
    job *j = (job *)pool_next(w);
    model_check(j->payload == PAYLOAD);
    j->runs++;
    hi_self_set(NULL);
}

/* One worker searches, and so many tasks are ready; one more is to come. */
static void setup_each(unsigned workers, unsigned searcher, unsigned ready)
{
    rt = pool_open(workers, 4);
    rt->pool[searcher].searching = true;
    heist_init(&rt->sleep.searching, 1);
    for (unsigned i = 0; i < ready; i++) {
        jobs[i].payload = PAYLOAD;
        model_check(hi_injector_push(&rt->injector, (uintptr_t)&jobs[i]));
    }
    given = ready;
    tasks = ready + 1;
}

static void setup_outside_each_of_2(void)
{
    setup_each(2, 0, 1);
    pool_injector_only(rt);
}

static void setup_outside_each_of_3(void)
{
    setup_each(3, 0, 2);
    pool_injector_only(rt);
}

/* Worker 0 is busy already. */
static void setup_own_of_2(void)
{
    rt = pool_open(2, 2);
    tasks = 1;
}

static void setup_own_of_3(void)
{
    setup_each(3, 1, 1);
    heist_init(&rt->victim_count, 1);
}

static void each_from_outside(unsigned id)
{
    if (id < rt->workers)
        take_one(&rt->pool[id]);
    else
        inject(&jobs[given]);
}

static void each_from_a_worker(unsigned id)
{
    if (id) {
        take_one(&rt->pool[id]);
        return;
    }
    hi_self_set(&rt->pool[0]);
    push(&rt->pool[0], &jobs[given]);
    hi_self_set(NULL);
}

static void after_each(void)
{
    for (unsigned i = 0; i < tasks; i++)
        model_check(jobs[i].runs == 1);
    pool_check(rt);
    pool_close(rt);
}

/* --- posts by a worker -------------------------------------------------------- */

/* Worker 0 is in a task that spawns jobs and needs them done by others. */
static void one_from_a_worker(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    if (id == 0) {
        hi_self_set(w);
        push(w, &jobs[0]);
        pool_await(&jobs[0].done);
    }
    pool_loop(w, run);
}

/* While it clears its deque away nobody else can see what is in there. */
static void one_from_a_worker_that_sifts(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    if (id == 0) {
        hi_self_set(w);
        push(w, &jobs[0]);
        hi_worker_sift(w);
        pool_await(&jobs[0].done);
    }
    pool_loop(w, run);
}

static void two_from_a_worker(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    if (id == 0) {
        hi_self_set(w);
        push(w, &jobs[0]);
        push(w, &jobs[1]);
        pool_await(&jobs[0].done);
        pool_await(&jobs[1].done);
    }
    pool_loop(w, run);
}

/* A job that spawns the next one and waits for it. */
static void spawning_run(void *item)
{
    if (item == &jobs[0]) {
        push(hi_worker_self(), &jobs[1]);
        pool_await(&jobs[1].done);
    }
    run(item);
}

static void one_that_spawns_one(unsigned id)
{
    if (id == rt->workers)
        inject(&jobs[0]);
    else
        pool_loop(&rt->pool[id], spawning_run);
}

/* --- a task behind a job ---------------------------------------------------- */

/*
 * Guests and workers are more than the runtime has workers, so jobs are left
 * alone; the task behind one is not.  Worker 0 blocks until it has run, as a thread
 * does that waits for something else than a latch; worker 1 is the shipped one.
 */
static struct {
    int payload;
    unsigned runs;
    hi_futex ran;
    hi_task task;
    hi_job job;
    unsigned job_runs;
} behind;

static int run_behind(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(behind.payload == PAYLOAD);
    behind.runs++;
    pool_tell(&behind.ran);
    return 0;
}

static void run_first(heist_ctx c, hi_job *j)
{
    (void)c;
    model_check(j == &behind.job);
    behind.job_runs++;
}

static void setup_behind(void)
{
    static const hi_job_source source = {run_first};
    rt = pool_open(2, 2);
    pool_prepare(rt);
    heist_init(&rt->sleep.awake, rt->workers + 1);
    behind.job.source = &source;
    behind.task = (hi_task){.fn = run_behind, .borrowed = true};
    heist_init(&behind.ran, 0);
}

static void a_task_behind_a_job(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    if (id == 1) {
        hi_worker_main(w);
        return;
    }
    hi_self_set(w);
    model_check(hi_job_push(w, &behind.job));
    hi_job_post(w);
    behind.payload = PAYLOAD;
    model_check(hi_task_submit(rt, &behind.task, HEIST_NOW) == 0);
    pool_await(&behind.ran);
    hi_self_set(NULL);
    pool_end(rt);
}

static void after_behind(void)
{
    model_check(behind.runs == 1 && behind.job_runs == 1);
    heist_sub_relaxed(&rt->sleep.awake, 1);
    pool_check(rt);
    pool_close(rt);
}

/* --- the inbox ----------------------------------------------------------------- */

static void setup_inbox(void)
{
    rt = pool_open(1, 2);
}

static void read_inbox(hi_worker *w)
{
    hi_inbox_node *node = hi_inbox_take(&w->inbox);
    for (; node; node = node->next) {
        const hi_message *m = heist_container(node, hi_message, node);
        model_check(m->kind == HI_MESSAGE_TASK);
        received++;
    }
}

static void send(unsigned i)
{
    letters[i].kind = HI_MESSAGE_TASK;
    hi_inbox_post(&rt->pool[0].inbox, &letters[i].node);
    hi_sleep_wake(&rt->pool[0]);
}

/* Who is woken sees what for, at once; only that of two posters one may come
 * late and wake it for what it has read already. */
static void receive(unsigned n, heist_time deadline)
{
    hi_worker *w = &rt->pool[0];
    hi_self_set(w);
    for (hi_wake why = HI_WAKE_WATCH;;) {
        unsigned before = received;
        read_inbox(w);
        if (why == HI_WAKE_WORK && n == 1) model_check(received > before);
        if (received == n) break;
        why = hi_sleep_park(w, deadline);
        model_saw(why);
        if (why == HI_WAKE_DEADLINE) deadline = HEIST_FOREVER;
    }
    hi_sleep_found(w);
    hi_self_set(NULL);
}

static void one_letter(unsigned id)
{
    if (id == 0)
        receive(1, HEIST_FOREVER);
    else
        send(0);
}

static void two_letters(unsigned id)
{
    if (id == 0)
        receive(2, HEIST_FOREVER);
    else
        send(id - 1);
}

static void letter_or_deadline(unsigned id)
{
    if (id == 0)
        receive(1, hi_clock() + SOON);
    else
        send(0);
}

static void two_letters_or_deadline(unsigned id)
{
    if (id == 0)
        receive(2, hi_clock() + SOON);
    else
        send(id - 1);
}

static void after_inbox(void)
{
    pool_check(rt);
    pool_close(rt);
}

static void both_ways_were_seen(void)
{
    model_check(model_seen() >> HI_WAKE_WORK & 1);
    model_check(model_seen() >> HI_WAKE_DEADLINE & 1);
}

/* --- the watchman ---------------------------------------------------------------- */

static void setup_watch(void)
{
    rt = pool_open(1, 2);
    heist_init(&rt->rescue, 1);
}

static void setup_watch_2(void)
{
    setup_outside_1_of_2();
    heist_init(&rt->rescue, 1);
}

static void after_watch(void)
{
    model_check(heist_load_relaxed(&rt->watchman) == 0);
    pool_check(rt);
    pool_close(rt);
}

static void the_watch_was_seen(void)
{
    model_check(model_seen() >> HI_WAKE_WORK & 1);
    model_check(model_seen() >> HI_WAKE_WATCH & 1);
}

/*
 * One worker is called away by a letter and works until the other one has looked
 * for hidden frames.
 */
static HEIST_ATOMIC(uint32_t) away;
static bool looks; /* for a watchman when it forks, not before */
static bool opens; /* the frame of a run again, and so does not fork */
static bool guest; /* the poster, who leaves then */
static bool quiet; /* what the watchman does when he is called has no fork */
static hi_futex found;

/* A guest that has looked around, and so is counted. */
static hi_worker visitor;
static hi_strand visitors;

static void setup_visitor(void)
{
    while (hi_worker_init(&visitor, NULL) < 0)
        ;
    heist_init(&visitor.visit, 0);
    visitor.guest = true;
    heist_init(&visitor.counted, 1);
    visitor.rt = rt;
    visitor.index = rt->workers;
    visitor.native = &visitors;
}

static void setup_called_away(void)
{
    setup_watch_2();
    heist_init(&away, 0);
    heist_init(&found, 0);
    looks = opens = guest = quiet = false;
}

/* The other is about to give up the watch. */
static void setup_alone(void)
{
    setup_called_away();
    rt->pool[1].watch_idle = 2;
    looks = true;
}

/* The owner of a run, while whoever had its frame gives it back. */
static void setup_opens(void)
{
    setup_called_away();
    looks = opens = true;
}

/* As long as the poster is there no worker may be woken. */
static void setup_guest(void)
{
    setup_called_away();
    heist_init(&rt->sleep.awake, rt->workers + 1);
    heist_init(&rt->victim_count, rt->workers);
    setup_visitor();
    guest = true;
}

static void keep_watch(hi_worker *w)
{
    hi_wake why = HI_WAKE_WORK;
    hi_sleep_search(w);
    while (why != HI_WAKE_WATCH || !heist_load_acquire(&away))
        why = hi_sleep_park(w, HEIST_FOREVER);
    hi_sleep_found(w);
    pool_tell(&found);
}

static void work_until_found(hi_worker *w)
{
    static hi_strand work; /* what it does is not looked at */
    static heist_frame slot;
    while (read_inbox(w), !received)
        hi_sleep_park(w, HEIST_FOREVER);
    hi_sleep_found(w);
    heist_store_relaxed(&work.worker, w);
    hi_worker_show(w, &work);
    heist_store_release(&away, 1);
    hi_sleep_see_to_watch(rt, looks);
    if (opens)
        hi_owner_reopen((heist_ctx){&work.hot, &slot}, NULL, NULL);
    else if (looks && !quiet && hi_sleep_unwatched(rt))
        hi_sleep_post_frames(w);
    pool_await(&found);
    hi_worker_show(w, NULL);
}

static void one_is_called_away(unsigned id)
{
    if (id == 2) {
        send(0);
        if (guest) hi_sleep_uncount(&visitor);
        return;
    }
    hi_self_set(&rt->pool[id]);
    if (id == 0)
        work_until_found(&rt->pool[0]);
    else
        keep_watch(&rt->pool[1]);
    hi_self_set(NULL);
}

/* A guest enters while the only watchman is about to sleep like others; there is
 * room for both. */
static void setup_enter(void)
{
    setup_watch_2();
    quiet = false;
    setup_visitor();
    heist_init(&visitor.counted, 0);
    heist_init(&rt->victims[rt->workers], (uintptr_t)&visitor);
    heist_init(&rt->victim_count, rt->workers + 1);
    heist_init(&rt->sleep.awake, 1);
    heist_init(&rt->watchman, 1);
    rt->pool[0].watch_idle = 2;
    heist_init(&away, 0);
    heist_init(&found, 0);
}

/* It calls a watchman away before it enters, to work that has no fork.  There is
 * room for a third one. */
static void setup_enter_called_away(void)
{
    setup_outside_1_of_3();
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
    heist_init(&rt->sleep.awake, rt->workers - 1);
    heist_init(&away, 0);
    heist_init(&found, 0);
    rt->pool[1].watch_idle = 2;
    looks = quiet = true;
    opens = guest = false;
    setup_visitor();
    heist_init(&visitor.counted, 0);
    heist_init(&rt->victims[rt->workers], (uintptr_t)&visitor);
    heist_init(&rt->victim_count, rt->workers + 1);
}

static void setup_called_away_without_barrier(void)
{
    setup_enter_called_away();
    heist_init(&rt->rescue, HI_RESCUE_CALLS);
}

static void setup_enter_without_barrier(void)
{
    setup_enter();
    heist_init(&rt->rescue, HI_RESCUE_CALLS);
}

static void a_guest_enters(unsigned id)
{
    if (id < 2 && quiet) {
        one_is_called_away(id);
        return;
    }
    if (id == 0) {
        hi_self_set(&rt->pool[0]);
        keep_watch(&rt->pool[0]);
        hi_self_set(NULL);
        return;
    }
    if (quiet)
        send(0);
    else
        heist_store_release(&away, 1);
    hi_guest_enter(rt, &visitor);
    if (!heist_load_relaxed(&rt->watchman)) { /* its first fork looks */
        hi_sleep_count(&visitor);
        if (hi_sleep_unwatched(rt)) hi_sleep_post_frames(&visitor);
    }
    pool_await(&found);
    hi_worker_show(&visitor, NULL);
    hi_sleep_uncount(&visitor);
    hi_guest_leave(rt, &visitor);
}

static void after_enter(void)
{
    heist_init(&rt->victim_count, rt->workers);
    hi_worker_fini(&visitor);
    heist_add_relaxed(&rt->sleep.awake, 1);
    after_watch();
}

/* The last guest too many leaves, unwatched, while another one takes its first look and
 * finds no room. */
static hi_worker leaver;

static void setup_leave_to(void)
{
    rt = pool_open(2, 2);
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
    setup_visitor();
    heist_init(&visitor.counted, 0);
    while (hi_worker_init(&leaver, NULL) < 0)
        ;
    leaver.guest = true;
    heist_init(&leaver.counted, 1);
    leaver.rt = rt;
    heist_init(&rt->victims[rt->workers], (uintptr_t)&visitor);
    heist_init(&rt->victim_count, rt->workers + 1);
    heist_init(&rt->sleep.awake, 1); /* the one who leaves */
    heist_init(&rt->sleep.idle[0], 1);
    heist_init(&rt->pool[0].parker, 1); /* asleep, without a time-out */
}

static void a_guest_leaves_to_another(unsigned id)
{
    if (id == 0) {
        hi_sleep_uncount(&leaver);
        return;
    }
    hi_guest_enter(rt, &visitor);
    if (heist_load_relaxed(&rt->watchman)) return; /* its first fork looks */
    hi_sleep_count(&visitor);
    if (hi_sleep_unwatched(rt)) hi_sleep_post_frames(&visitor);
}

static void after_leave_to(void)
{
    model_check(heist_load_relaxed(&rt->sleep.idle[0]) == 0);
    heist_init(&rt->victim_count, rt->workers);
    hi_worker_fini(&visitor);
    hi_worker_fini(&leaver);
    pool_close(rt);
}

/* A guest leaves while a worker exposes a frame: there is room for the other. */
static void setup_leave(void)
{
    rt = pool_open(2, 2);
    setup_visitor();
    heist_init(&rt->sleep.awake, rt->workers + 1);
    heist_init(&found, 0);
}

static void a_guest_leaves(unsigned id)
{
    hi_worker *w = &rt->pool[id];
    uintptr_t ticket = (uintptr_t)&jobs[0] | 1, item = 0;
    if (id == 2) {
        hi_sleep_uncount(&visitor);
        return;
    }
    hi_self_set(w);
    if (id == 0) {
        model_check(hi_deque_push(&w->deque, ticket) == 0);
        hi_sleep_post_frames(w);
        pool_await(&found);
    } else {
        while (hi_deque_steal(&rt->pool[0].deque, &item) != HI_STEAL_TAKEN)
            hi_sleep_park(w, HEIST_FOREVER);
        model_check(item == ticket);
        hi_sleep_found(w);
        pool_tell(&found);
    }
    hi_self_set(NULL);
}

/* The same, but the guest does not leave: it sleeps. */
static hi_inbox_node letter_to_visitor;

static void a_guest_sleeps(unsigned id)
{
    if (id == 2) {
        while (hi_inbox_is_empty(&visitor.inbox))
            hi_sleep_park(&visitor, HEIST_FOREVER);
        return;
    }
    a_guest_leaves(id);
    if (id == 0) return;
    hi_inbox_post(&visitor.inbox, &letter_to_visitor);
    hi_sleep_wake(&visitor);
}

static void after_leave(void)
{
    hi_worker_fini(&visitor);
    after_inbox();
}

static void after_guest_sleeps(void)
{
    heist_sub_relaxed(&rt->sleep.awake, 1);
    after_leave();
}

static void after_guest(void)
{
    hi_worker_fini(&visitor);
    after_watch();
}

/* --- the end ----------------------------------------------------------------------- */

static void setup_end(void)
{
    rt = pool_open(2, 2);
}

/* What was written before the end is seen by who ends. */
static void all_end(unsigned id)
{
    if (id < rt->workers) {
        pool_loop(&rt->pool[id], run);
        model_check(last_words == PAYLOAD);
        return;
    }
    last_words = PAYLOAD;
    pool_end(rt);
}

/* Does all_idle tell of what a worker did before it announced itself? */
static void setup_idle(void)
{
    rt = pool_open(1, 2);
}

static void idle_then_looked_at(unsigned id)
{
    hi_worker *w = &rt->pool[0];
    if (id == 0) {
        hi_self_set(w);
        last_words = PAYLOAD;
        while (!hi_runtime_is(rt, HI_ENDING))
            hi_sleep_park(w, HEIST_FOREVER);
        hi_self_set(NULL);
        return;
    }
    if (hi_sleep_all_idle(rt)) {
        model_saw(1);
        model_check(last_words == PAYLOAD);
    }
    pool_end(rt);
}

static void idle_was_seen(void)
{
    model_check(model_seen() >> 1 & 1);
}

static const model_test tests[] = {
    {.name = "a_task_from_outside_wakes_one_of_two",
     .threads = 3,
     .setup = setup_outside_1_of_2,
     .thread = one_from_outside,
     .after = after,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "two_tasks_from_outside_are_run",
     .threads = 3,
     .setup = setup_outside_2_of_2,
     .thread = two_from_outside,
     .after = after,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "two_tasks_from_outside_run_side_by_side",
     .threads = 3,
     .setup = setup_outside_pair_of_2,
     .thread = two_from_outside,
     .after = after,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "two_posters_and_two_workers",
     .threads = 4,
     .setup = setup_outside_pair_of_2,
     .thread = one_from_each_of_two,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_task_from_outside_wakes_one_of_three",
     .threads = 4,
     .setup = setup_outside_1_of_3,
     .thread = one_from_outside,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {MODEL_TEST("each_of_two_tasks_from_outside_finds_a_worker", 3,
                setup_outside_each_of_2, each_from_outside, after_each, NULL),
     MODEL_BOUNDS(1, 1, 3, 2)},
    {MODEL_TEST("each_of_three_tasks_from_outside_finds_a_worker", 4,
                setup_outside_each_of_3, each_from_outside, after_each, NULL),
     .quick = {1, 1, MODEL_NONE}, .full = {2, 2, MODEL_NONE}},
    {MODEL_TEST("a_task_of_a_busy_worker_finds_another", 2, setup_own_of_2,
                each_from_a_worker, after_each, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("each_of_two_tasks_of_a_busy_worker_finds_another", 3,
                setup_own_of_3, each_from_a_worker, after_each, NULL),
     MODEL_BOUNDS(1, 1, 3, 2)},
    {.name = "a_worker_that_spawns_and_blocks_is_helped",
     .threads = 2,
     .setup = setup_1_of_2,
     .thread = one_from_a_worker,
     .after = after,
     .quick = {2, 1, 1},
     .full = {3, 2, 1}},
    {MODEL_TEST("what_is_sifted_is_found", 2, setup_1_of_2,
                one_from_a_worker_that_sifts, after, NULL),
     MODEL_BOUNDS(1, 1, 3, 1)},
    {MODEL_TEST("a_task_behind_a_job_is_run_in_a_crowd", 2, setup_behind,
                a_task_behind_a_job, after_behind, NULL),
     MODEL_BOUNDS(2, 2, 3, 2)},
    {.name = "two_tasks_of_a_worker_run_side_by_side",
     .threads = 3,
     .setup = setup_pair_of_3,
     .thread = two_from_a_worker,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_task_that_spawns_and_blocks_is_helped",
     .threads = 3,
     .setup = setup_2_of_2,
     .thread = one_that_spawns_one,
     .after = after,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_letter_wakes_its_worker",
     .threads = 2,
     .setup = setup_inbox,
     .thread = one_letter,
     .after = after_inbox,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "two_letters_arrive",
     .threads = 3,
     .setup = setup_inbox,
     .thread = two_letters,
     .after = after_inbox,
     .quick = {2, 1, 1},
     .full = {3, 2, 1}},
    {.name = "a_deadline_and_a_letter_give_one_token",
     .threads = 2,
     .setup = setup_inbox,
     .thread = letter_or_deadline,
     .after = after_inbox,
     .end = both_ways_were_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "a_deadline_and_two_letters_give_one_token",
     .threads = 3,
     .setup = setup_inbox,
     .thread = two_letters_or_deadline,
     .after = after_inbox,
     .end = both_ways_were_seen,
     .quick = {2, 1, 1},
     .full = {3, 2, 1}},
    {.name = "the_watch_and_a_letter_give_one_token",
     .threads = 2,
     .setup = setup_watch,
     .thread = one_letter,
     .after = after_watch,
     .end = the_watch_was_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "a_task_from_outside_and_a_watchman",
     .threads = 3,
     .setup = setup_watch_2,
     .thread = one_from_outside,
     .after = after_inbox,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
    {.name = "a_watchman_called_away_has_a_successor",
     .threads = 3,
     .setup = setup_called_away,
     .thread = one_is_called_away,
     .after = after_watch,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "who_works_alone_finds_a_watchman_or_wakes_one",
     .threads = 3,
     .setup = setup_alone,
     .thread = one_is_called_away,
     .after = after_watch,
     .quick = {2, 2, 1},
     .full = {3, 2, 1}},
    {.name = "who_opens_a_frame_again_finds_a_watchman_or_wakes_one",
     .threads = 3,
     .setup = setup_opens,
     .thread = one_is_called_away,
     .after = after_watch,
     .quick = {2, 1, 1},
     .full = {2, 2, 1}},
    {.name = "who_leaves_sees_to_the_watch",
     .threads = 3,
     .setup = setup_guest,
     .thread = one_is_called_away,
     .after = after_guest,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "who_enters_finds_a_watchman_or_wakes_one",
     .threads = 2,
     .setup = setup_enter,
     .thread = a_guest_enters,
     .after = after_enter,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "who_enters_finds_a_watchman_also_without_membarrier",
     .threads = 2,
     .setup = setup_enter_without_barrier,
     .thread = a_guest_enters,
     .after = after_enter,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {MODEL_TEST("who_is_called_away_as_a_guest_enters_has_a_successor", 3,
                setup_enter_called_away, a_guest_enters, after_enter, NULL),
     .quick = {1, 1, 1}, .full = {2, 1, 1}},
    {MODEL_TEST("who_is_called_away_has_a_successor_also_without_membarrier", 3,
                setup_called_away_without_barrier, a_guest_enters, after_enter,
                NULL),
     .quick = {1, 1, 1}, .full = {2, 1, 1}},
    {.name = "who_leaves_makes_room_for_a_frame",
     .threads = 3,
     .setup = setup_leave,
     .thread = a_guest_leaves,
     .after = after_leave,
     .quick = {1, 1, 1},
     .full = {3, 2, 1}},
    {MODEL_TEST("who_leaves_sees_who_has_looked", 2, setup_leave_to,
                a_guest_leaves_to_another, after_leave_to, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {.name = "a_guest_that_sleeps_makes_room_for_a_frame",
     .threads = 3,
     .setup = setup_leave,
     .thread = a_guest_sleeps,
     .after = after_guest_sleeps,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "all_workers_end",
     .threads = 3,
     .setup = setup_end,
     .thread = all_end,
     .after = after_inbox,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "an_idle_worker_has_done_what_it_did",
     .threads = 2,
     .setup = setup_idle,
     .thread = idle_then_looked_at,
     .after = after_inbox,
     .end = idle_was_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
