/* SPDX-License-Identifier: MIT
 *
 * Frames: exposure, theft, take-back, rescue and return, on strands and
 * workers made by hand.  Thread 0 owns the frames, the others want them.
 *
 * Arguments and results are plain memory, and so are the notes of who ran what:
 * a frame that runs twice, or is read too early, is a data race as well.
 */
#include "pool.h"

#include "core/frame.h"

enum {
    THREADS = 4,
    LIVES = 4,        /* frames of one execution, each with its own number */
    NESTED_FULL = 128 /* leapfrogged frames on one stack, at most */
};

static heist_runtime *rt;
static hi_worker *workers;
static hi_strand *strands[THREADS];
static unsigned runs[LIVES][THREADS];
static unsigned lives;
static unsigned threads;

/* --- the rig ---------------------------------------------------------------- */

static void make_strand(unsigned i)
{
    hi_strand *s = NULL;
    while (!s)
        s = hi_strand_create(0);
    heist_store_relaxed(&s->worker, &workers[i]);
    hi_strand_reset(s, false);
    strands[i] = workers[i].native = s;
}

static void setup_threads(unsigned n, unsigned with_strand)
{
    threads = n;
    rt = pool_open(n, 2);
    heist_init(&rt->sleep.searching, 1); /* nobody need be woken */
    workers = rt->pool;
    for (unsigned i = 0; i < with_strand; i++)
        make_strand(i);
}

static void setup(void)
{
    setup_threads(2, 2);
}

static void setup_three(void)
{
    setup_threads(3, 3);
}

static void setup_four(void)
{
    setup_threads(4, 4);
}

/* The owner's region has just begun: its first joins do not look. */
static void setup_fresh(void)
{
    setup();
    hi_strand_reset(strands[0], true);
}

static void setup_fresh_three(void)
{
    setup_three();
    hi_strand_reset(strands[0], true);
}

static void setup_fresh_four(void)
{
    setup_four();
    hi_strand_reset(strands[0], true);
}

/* The same, but the second join looks. */
static void setup_fresh_once(void)
{
    setup_fresh();
    strands[0]->skip = 1;
}

/* The owner's deque has room for one item, and more only if there is memory. */
static void setup_little_room(void)
{
    setup();
    hi_deque *d = &workers[0].deque;
    hi_deque_fini(d);
    while (hi_deque_init(d, 1, 0, NULL) < 0)
        ;
}

/* Every frame ran once, and all slots are free again. */
static void after(void)
{
    for (unsigned life = 0; life < lives; life++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < threads; i++)
            sum += runs[life][i];
        model_check(sum == 1);
    }
    for (unsigned i = 0; i < threads; i++) {
        hi_strand *s = strands[i];
        for (heist_frame *f = s->base; f < s->base + 2; f++) {
            model_check(heist_load_relaxed(&f->fn) == NULL);
            model_check(heist_load_relaxed(&f->state) == HI_FRAME_PRIVATE);
        }
        model_check(heist_load_relaxed(&s->split) == s->base);
    }
    pool_close(rt);
}

static heist_ctx root_of(unsigned id)
{
    return (heist_ctx){&strands[id]->hot, strands[id]->base};
}

static void note_run(unsigned life)
{
    runs[life][model_self()]++;
    model_saw(life * THREADS + model_self());
}

static bool seen(unsigned life, unsigned by)
{
    return model_seen() >> (life * THREADS + by) & 1;
}

/* The owner, and thread 1, have each run the first frame. */
static void first_frame_had_both(void)
{
    model_check(seen(0, 0));
    model_check(seen(0, 1));
}

/* --- the owner -------------------------------------------------------------- */

static void body(heist_ctx c, heist_frame *f)
{
    (void)c;
    int64_t life = f->arg[0].i;
    note_run((unsigned)life);
    f->arg[1].i = -life; /* results of several words overwrite arguments */
    f->result.i = 10 + life;
}

static void open(heist_ctx c, unsigned life)
{
    heist_slot(c)->arg[0].i = life;
    lives++;
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

/* One fork and its join, exposed in between or not. */
static void live(unsigned life, bool exposed)
{
    heist_ctx c = root_of(0);
    open(c, life);
    heist_fork(c, body);
    if (exposed) hi_strand_expose_all(&workers[0], strands[0]);
    close(c, life);
}

/* --- thieves ---------------------------------------------------------------- */

/* Runs what it gets above the frames that it has open. */
static void steal_above(unsigned id, unsigned victim, heist_frame *cursor)
{
    uintptr_t item;
    hi_deque *d = &workers[victim].deque;
    if (hi_deque_steal(d, &item) != HI_STEAL_TAKEN) return;
    heist_frame *f = hi_ticket_frame(item);
    if (hi_frame_take(f, cursor)) hi_frame_run(&workers[id], f, cursor);
}

static void steal_from(unsigned id, unsigned victim)
{
    steal_above(id, victim, strands[id]->base);
}

static void steal(unsigned id)
{
    steal_from(id, 0);
}

static void rescue(unsigned id)
{
    heist_frame *f = hi_frame_rescue(strands[0], strands[id]->base, NULL);
    if (f) hi_frame_run(&workers[id], f, strands[id]->base);
}

/* --- exposed frames --------------------------------------------------------- */

static void expose_or_steal(unsigned id)
{
    if (id == 0)
        live(0, true);
    else
        steal(id);
}

static void a_slot_lives_again(unsigned id)
{
    if (id == 0) {
        live(0, true);
        live(1, true);
    } else {
        steal(id);
        if (id == 1) steal(id);
    }
}

/* The second time there may be no room: another ticket is in the deque.  A thief
 * may have the one of the first time still in his hand. */
static void exposed_again_if_there_is_room(unsigned id)
{
    if (id != 0) {
        steal(id);
        return;
    }
    hi_deque *d = &workers[0].deque;
    live(0, true);
    model_check(hi_deque_push(d, hi_frame_ticket(strands[0]->base + 1)) == 0);
    live(1, true);
    if (heist_load_relaxed(&workers[0].stats.exposed) == 1) model_saw(63);
}

static void later_lives_had_both(void)
{
    first_frame_had_both();
    model_check(seen(1, 0));
    model_check(seen(1, 1));
}

static void one_stayed_hidden(void)
{
    later_lives_had_both();
    model_check(model_seen() >> 63);
}

/* Two open frames, exposed together; thieves take the older one first. */
static void two_open(unsigned id, void (*thief)(unsigned id), bool exposed)
{
    if (id != 0) {
        thief(id);
        thief(id);
        return;
    }
    heist_ctx c = root_of(0);
    open(c, 0);
    heist_ctx k = heist_fork(c, body);
    open(k, 1);
    heist_fork(k, body);
    if (exposed) hi_strand_expose_all(&workers[0], strands[0]);
    close(k, 1);
    close(c, 0);
}

static void two_exposed(unsigned id)
{
    two_open(id, steal, true);
}

/* --- private frames, taken from behind -------------------------------------- */

static void fork_or_rescue(unsigned id)
{
    if (id == 0)
        live(0, false);
    else
        rescue(id);
}

static void two_lives_or_rescue(unsigned id)
{
    if (id == 0) {
        live(0, false);
        live(1, false);
    } else {
        rescue(id);
        if (id == 1) rescue(id);
    }
}

static void two_private(unsigned id)
{
    two_open(id, rescue, false);
}

/* A private frame is rescued while the owner exposes it. */
static void exposed_and_rescued(unsigned id)
{
    if (id == 0) {
        live(0, true);
    } else {
        rescue(id);
        steal(id);
    }
}

static void reset_and_rescued(unsigned id)
{
    if (id != 0) {
        rescue(id);
        return;
    }
    live(0, false);
    hi_strand_reset(strands[0], false);
    live(1, false);
}

/* --- leapfrogging ----------------------------------------------------------- */

/* Forks the next life for others to take, up to the last one. */
static unsigned last_life, nested;

static void chain(heist_ctx c, unsigned life);

static void chain_body(heist_ctx c, heist_frame *f)
{
    unsigned life = (unsigned)f->arg[0].i;
    /* Thread 0 does not steal: it has leapt, and that is counted. */
    if (model_self() == 0) model_check(strands[0]->nested == nested + 1);
    chain(c, life);
    f->arg[1].i = -(int64_t)life;
    f->result.i = 10 + (int64_t)life;
}

static void chain_fork(heist_ctx c, unsigned life)
{
    hi_strand *s = hi_strand_from(c.strand);
    open(c, life);
    heist_fork(c, chain_body);
    hi_strand_expose_all(heist_load_relaxed(&s->worker), s);
    if (heist_join(c))
        chain(c, life);
    else
        model_check(heist_slot(c)->result.i == 10 + (int64_t)life);
}

static void chain(heist_ctx c, unsigned life)
{
    note_run(life);
    if (life < last_life) chain_fork(c, life + 1);
}

static void setup_chain(void)
{
    setup_threads(2, 1);
    last_life = 1;
}

/* The thief's strand is one that nobody has seen yet. */
static void chain_of_two(unsigned id)
{
    if (id == 0) {
        chain_fork(root_of(0), 0);
        return;
    }
    make_strand(id);
    steal(id);
}

static void setup_nested_once_more(void)
{
    setup_chain();
    nested = strands[0]->nested = NESTED_FULL - 1;
}

static void setup_nested_full(void)
{
    setup_chain();
    nested = strands[0]->nested = NESTED_FULL;
}

static void after_nested_full(void)
{
    if (runs[0][1]) model_check(!runs[1][0]);
    after();
}

/* The owner ran what its thief had exposed. */
static void after_chain(void)
{
    model_check(strands[0]->nested == nested);
    if (runs[0][1] && runs[1][0]) model_saw(62);
    after();
}

static void owner_leapt(void)
{
    model_check(model_seen() >> 62 & 1);
}

/* The thief was waited for, and ran its own frame. */
static void owner_waited(void)
{
    model_check(seen(0, 1) && seen(1, 1));
}

/*
 * Thread 1 has a frame open when it takes the owner's, as if it leapt.  The older
 * one is no descendant of the owner's, and ends only when the owner has joined:
 * who ran it on top of the join would wait for himself.
 */
static hi_futex joined;

static void after_join(heist_ctx c, heist_frame *f)
{
    pool_await(&joined);
    body(c, f);
}

static void setup_older_frame(void)
{
    setup();
    heist_ctx c = root_of(1);
    open(c, 1);
    heist_fork(c, after_join);
    hi_strand_expose_all(&workers[1], strands[1]);
}

static void join_or_leap(unsigned id)
{
    if (id == 0) {
        live(0, true);
        pool_tell(&joined);
    } else {
        steal_above(id, 0, strands[id]->base + 1);
        close(root_of(id), 1);
    }
}

/* A frame that ends only when the owner has joined, where that may look for it. */
static void setup_another(void)
{
    setup();
    lives++;
}

static void expose_another(heist_ctx c)
{
    heist_slot(c)->arg[0].i = 1;
    heist_fork(c, after_join);
    hi_strand_expose_all(&workers[1], strands[1]);
    close(c, 1);
}

/* Thread 1 has done the owner's frame, and the next piece has the same cursor. */
static void join_or_next_piece(unsigned id)
{
    if (id == 0) {
        live(0, true);
        pool_tell(&joined);
    } else {
        steal(id);
        hi_strand_reset(strands[id], false);
        expose_another(root_of(id));
    }
}

/*
 * Thread 1 joins `outer`, which thread 0 runs, and helps with both halves of it.
 * A ticket left over from an earlier frame in its slot lets it take the newer one
 * first, and then the older one, which is no part of the newer one: what it forks
 * may wait for what thread 0 does after its join of that.
 */
static hi_futex begun, go_on;

static void wait_for_join(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    pool_await(&joined);
}

static void older(heist_ctx c, heist_frame *f)
{
    (void)f;
    heist_fork(c, wait_for_join);
    if (model_self() == 1) {
        bool newer_was_first = heist_load_relaxed(&begun);
        hi_strand_expose_all(&workers[1], hi_strand_from(c.strand));
        if (newer_was_first) pool_await(&joined);
        pool_tell(&begun);
    }
    if (heist_join(c)) wait_for_join(c, NULL);
}

static void newer(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    pool_tell(&begun);
    pool_await(&go_on);
}

static void outer(heist_ctx c, heist_frame *f)
{
    (void)f;
    heist_ctx k = heist_fork(c, older);
    heist_fork(k, newer);
    hi_strand_expose_all(&workers[0], strands[0]);
    pool_await(&begun);
    pool_tell(&go_on);
    if (heist_join(k)) newer(k, NULL);
    pool_tell(&joined);
    if (heist_join(c)) older(c, NULL);
}

static void setup_siblings(void)
{
    setup();
    rt->settle_spins = 1000000;
    hi_deque_push(&workers[0].deque, hi_frame_ticket(strands[0]->base + 1));
    heist_fork(root_of(1), outer);
    hi_strand_expose_all(&workers[1], strands[1]);
    uintptr_t item;
    model_check(hi_deque_steal(&workers[1].deque, &item) == HI_STEAL_TAKEN);
    model_check(hi_frame_take(strands[1]->base, strands[0]->base));
    hi_strand_reset(strands[0], false);
}

static void join_or_run_outer(unsigned id)
{
    if (id == 0)
        hi_frame_run(&workers[0], strands[1]->base, strands[0]->base);
    else
        heist_join(root_of(1));
}

/* --- regions ----------------------------------------------------------------- */

/* Thread 1's strand was in thread 0's region, and begins something else. */
static void setup_region(void)
{
    setup_another();
    hi_strand_enter_region(strands[1], &workers[0]);
}

static void begin_or_take_own(unsigned id)
{
    if (id == 0) {
        heist_frame *f = NULL;
        hi_frame_take_wish(&workers[1].deque, (hi_wish){.guest = &workers[0]},
                           strands[0]->base, &f);
        model_check(!f);
        return;
    }
    hi_strand_enter_region(strands[id], NULL);
    hi_strand_reset(strands[id], false);
    expose_another(root_of(id));
}

static void after_region(void)
{
    model_check(runs[1][1] == 1);
    pool_close(rt);
}

/* --- calls for work --------------------------------------------------------- */

/* What a thief does that finds nothing but private frames: call, then look
 * again.  Forks and joins take the slow path for it. */
static void call(unsigned id)
{
    if (hi_strand_has_private(strands[0])) hi_strand_call(strands[0]);
    hi_cpu_relax();
    steal(id);
    steal(id);
}

static void fork_or_call(unsigned id)
{
    if (id != 0) {
        call(id);
        return;
    }
    heist_ctx c = root_of(0);
    open(c, 0);
    heist_ctx k = heist_fork(c, body);
    open(k, 1);
    heist_fork(k, body);
    close(k, 1);
    open(k, 2);
    heist_fork(k, body);
    close(k, 2);
    close(c, 0);
}

static const model_test tests[] = {
    {MODEL_TEST("an_exposed_frame_runs_once", 2, setup, expose_or_steal, after,
                first_frame_had_both),
     MODEL_BOUNDS(3, 2, 4, 2)},
    {MODEL_TEST("an_exposed_frame_has_one_thief_of_two", 3, setup_three,
                expose_or_steal, after, first_frame_had_both),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("an_exposed_frame_has_one_thief_of_three", 4, setup_four,
                expose_or_steal, after, first_frame_had_both),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("an_old_ticket_takes_only_what_is_exposed", 2, setup,
                a_slot_lives_again, after, later_lives_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("an_old_ticket_and_a_new_one_take_a_frame_once", 3, setup_three,
                a_slot_lives_again, after, later_lives_had_both),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("a_frame_that_could_not_be_exposed_runs_once", 2,
                setup_little_room, exposed_again_if_there_is_room, after,
                one_stayed_hidden),
     MODEL_BOUNDS(3, 1, 4, 2), .allocation_may_fail = true},
    {MODEL_TEST("two_exposed_frames_run_once_each", 2, setup, two_exposed,
                after, later_lives_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_rescued_frame_runs_once", 2, setup, fork_or_rescue, after,
                first_frame_had_both),
     MODEL_BOUNDS(3, 2, 4, 2)},
    {MODEL_TEST("a_slot_that_lives_again_is_rescued_once_a_life", 2, setup,
                two_lives_or_rescue, after, later_lives_had_both),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("two_rescuers_do_not_take_the_same_frame", 3, setup_three,
                two_lives_or_rescue, after, later_lives_had_both),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("the_first_joins_of_a_region_see_a_rescuer", 2, setup_fresh,
                two_lives_or_rescue, after, later_lives_had_both),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("the_first_joins_of_a_region_see_two_rescuers", 3,
                setup_fresh_three, two_lives_or_rescue, after,
                later_lives_had_both),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("the_first_joins_of_a_region_see_three_rescuers", 4,
                setup_fresh_four, two_lives_or_rescue, after,
                first_frame_had_both),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("the_first_join_that_looks_sees_a_rescuer", 2, setup_fresh_once,
                two_private, after, later_lives_had_both),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("private_frames_are_rescued_oldest_first", 2, setup,
                two_private, after, later_lives_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_frame_is_exposed_or_rescued", 2, setup, exposed_and_rescued,
                after, first_frame_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_strand_is_reset_under_a_rescuer", 2, setup,
                reset_and_rescued, after, later_lives_had_both),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_call_disturbs_no_first_join", 2, setup_fresh, fork_or_call,
                after, NULL),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_joiner_runs_what_its_thief_exposed", 2, setup_chain,
                chain_of_two, after_chain, owner_leapt),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_joiner_leaps_up_to_the_limit", 2, setup_nested_once_more,
                chain_of_two, after_chain, owner_leapt),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_joiner_leaps_no_further_than_the_limit", 2,
                setup_nested_full, chain_of_two, after_nested_full,
                owner_waited),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_joiner_leaves_what_is_no_descendant", 2, setup_older_frame,
                join_or_leap, after, first_frame_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_joiner_leaves_what_its_thief_begins_next", 2, setup_another,
                join_or_next_piece, after, first_frame_had_both),
     MODEL_BOUNDS(4, 2, 4, 2)},
    {MODEL_TEST("a_joiner_leaves_what_its_thief_leaps_to_next", 2,
                setup_siblings, join_or_run_outer, after, NULL),
     MODEL_BOUNDS(1, 0, 2, 1)},
    {MODEL_TEST("a_guest_takes_no_frame_of_another_region", 2, setup_region,
                begin_or_take_own, after_region, NULL),
     MODEL_BOUNDS(3, 2, 4, 2)},
    {MODEL_TEST("a_call_for_work_disturbs_no_fork_and_no_join", 2, setup,
                fork_or_call, after, first_frame_had_both),
     MODEL_BOUNDS(2, 1, 4, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
