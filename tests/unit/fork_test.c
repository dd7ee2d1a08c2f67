/* SPDX-License-Identifier: MIT */
#include "core/frame.h"
#include "core/runtime.h"
#include "core/task.h"
#include "fib.h"
#include "pool.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>

static const heist_exposure policies[] = {HEIST_ON_DEMAND, HEIST_QUANTUM,
                                          HEIST_EAGER};
static const unsigned worker_counts[] = {1, 2, 3, 8, 70};

#define EACH(i, array) \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

TEST(fib_is_right_for_every_policy_and_number_of_workers)
{
    EACH(p, policies) EACH(w, worker_counts)
    {
        heist_runtime *rt = pool_start(worker_counts[w], policies[p]);
        for (int round = 0; round < 3; round++) {
            int64_t n = 24;
            CHECK_EQ(heist_run(rt, fib_root, &n), 0);
            CHECK_EQ(n, 46368);
        }
        pool_stop(rt);
    }
}

/* n-ary: the number of ways to split n into ordered parts is 2^(n-1). */
static int64_t parts(heist_ctx c, int64_t n);

static void parts_fn(heist_ctx c, heist_frame *f)
{
    f->result.i = parts(c, f->arg[0].i);
}

static int64_t parts(heist_ctx c, int64_t n)
{
    if (n == 0) return 1;
    heist_ctx k = c;
    for (int64_t first = 1; first <= n; first++) {
        heist_slot(k)->arg[0].i = n - first;
        k = heist_fork(k, parts_fn);
    }
    int64_t sum = 0;
    while (k.frame != c.frame)
        sum += heist_done(&k)->result.i;
    return sum;
}

static void parts_root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = parts(c, *n);
}

TEST(n_forks_in_a_row_give_n_results)
{
    EACH(p, policies)
    {
        heist_runtime *rt = pool_start(4, policies[p]);
        int64_t n = 15;
        CHECK_EQ(heist_run(rt, parts_root, &n), 0);
        CHECK_EQ(n, 1 << 14);
        pool_stop(rt);
    }
}

/* Many forks from one frame: the frame stack grows, and the last slot of what
 * it was is used like any other. */
static void one(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = f->arg[0].i;
}

static void wide_root(heist_ctx c, void *arg)
{
    int64_t *n = arg, sum = 0;
    heist_ctx k = c;
    for (int64_t i = 0; i < *n; i++) {
        heist_slot(k)->arg[0].i = i;
        k = heist_fork(k, one);
    }
    while (k.frame != c.frame)
        sum += heist_done(&k)->result.i;
    *n = sum;
}

TEST(the_frame_stack_grows)
{
    EACH(p, policies)
    {
        heist_runtime *rt = pool_start(2, policies[p]);
        int64_t n = 200000;
        CHECK_EQ(heist_run(rt, wide_root, &n), 0);
        CHECK_EQ(n, (int64_t)200000 * 199999 / 2);
        pool_stop(rt);
    }
}

/* A list: all the depth is on one side, both ways round. */
static int64_t chain(heist_ctx c, int64_t n);

static void chain_right(heist_ctx c, heist_frame *f)
{
    f->result.i = chain(c, f->arg[0].i);
}

static int64_t chain(heist_ctx c, int64_t n)
{
    if (n == 0) return 0;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 0;
    int64_t rest = chain(heist_fork(c, chain_right), n - 1);
    if (heist_join(c)) return rest + 1 + chain(c, 0);
    return rest + 1 + right->result.i;
}

static void chain_root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = chain(c, *n);
}

TEST(a_lopsided_tree_is_right)
{
    heist_runtime *rt = pool_start(3, HEIST_ON_DEMAND);
    int64_t n = 20000;
    CHECK_EQ(heist_run(rt, chain_root, &n), 0);
    CHECK_EQ(n, 20000);
    pool_stop(rt);
}

/* Arguments of every kind arrive, and the frame's words do not overlap. */
static void five(heist_ctx c, heist_frame *f)
{
    (void)c;
    double d = f->arg[0].d + (double)f->arg[1].i + (double)f->arg[2].u;
    f->result.d = d + *(double *)f->arg[3].p + *(const double *)f->arg[4].cp;
}

static void five_root(heist_ctx c, void *arg)
{
    static double fourth = 4, fifth = 5;
    heist_ctx k = c;
    heist_frame *f = heist_slot(k);
    f->arg[0].d = 1;
    f->arg[1].i = 2;
    f->arg[2].u = 3;
    f->arg[3].p = &fourth;
    f->arg[4].cp = &fifth;
    k = heist_fork(k, five);
    *(double *)arg = heist_done(&k)->result.d;
}

TEST(five_words_of_arguments_and_one_of_result)
{
    CHECK_EQ(sizeof(heist_frame), 64);
    double sum = 0;
    CHECK_EQ(heist_run(NULL, five_root, &sum), 0);
    CHECK(sum == 15);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}

/* heist_run inside a task: the code around it has open frames that only it
 * knows of. */
static void inner_root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = fib(c, *n);
}

static int64_t outer(heist_ctx c, int64_t depth)
{
    if (depth == 0) {
        int64_t n = 10;
        CHECK_EQ(heist_run(NULL, inner_root, &n), 0);
        return n;
    }
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 7;
    int64_t left = outer(heist_fork(c, fib_right), depth - 1);
    if (heist_join(c)) return left + fib(c, 7);
    return left + right->result.i;
}

static void outer_root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = outer(c, *n);
}

TEST(a_region_inside_a_region_keeps_the_frames_around_it)
{
    heist_runtime *rt = pool_start(3, HEIST_ON_DEMAND);
    for (int i = 0; i < 200; i++) {
        int64_t n = 20;
        CHECK_EQ(heist_run(rt, outer_root, &n), 0);
        CHECK_EQ(n, 55 + 20 * 13);
    }
    pool_stop(rt);
}

/* Without a policy's help: the states of a frame, one by one. */
TEST(a_frame_taken_back_is_private_again)
{
    hi_worker w = {.guest = true};
    CHECK_EQ(hi_worker_init(&w, NULL), 0);
    hi_strand *s = hi_strand_create(0);
    CHECK(s != NULL);
    hi_strand_reset(s, true);
    heist_init(&s->base->fn, one);
    hi_lock_take(&s->lock);
    CHECK(hi_frame_expose(&w, s));
    hi_lock_give(&s->lock);
    CHECK((heist_load_relaxed(&s->base->state) & HI_FRAME_LETTER) ==
          HI_FRAME_EXPOSED);
    CHECK(hi_frame_unexpose(&w, s->base));
    CHECK_EQ(heist_load_relaxed(&s->base->state), HI_FRAME_PRIVATE);
    CHECK(hi_deque_is_empty(&w.deque));
    CHECK(!hi_frame_take(s->base, s->base + 1)); /* a late thief */
    heist_init(&s->base->fn, NULL);
    hi_strand_destroy(s);
    hi_worker_fini(&w);
}

TEST(a_stale_ticket_takes_only_what_is_exposed_again)
{
    hi_worker w = {.guest = true};
    CHECK_EQ(hi_worker_init(&w, NULL), 0);
    hi_strand *s = hi_strand_create(0);
    hi_strand_reset(s, true);
    heist_init(&s->base->fn, one);
    CHECK(hi_frame_expose(&w, s));
    CHECK_EQ(hi_deque_push(&w.deque, 2), 0); /* a task above the ticket */
    CHECK(hi_frame_unexpose(&w, s->base));
    uintptr_t item = 0;
    CHECK_EQ(hi_deque_steal(&w.deque, &item), HI_STEAL_TAKEN);
    CHECK_EQ(item, hi_frame_ticket(s->base)); /* left behind */
    CHECK(!hi_frame_take(hi_ticket_frame(item), s->base + 1));
    heist_init(&s->base->fn, NULL);
    hi_strand_destroy(s);
    hi_worker_fini(&w);
}

/* Opens the frame at the split again and exposes it. */
static void expose_once_more(hi_worker *w, hi_strand *s)
{
    heist_init(&heist_load_relaxed(&s->split)->fn, one);
    CHECK(hi_frame_expose(w, s));
}

static void take_back(hi_worker *w, hi_strand *s)
{
    heist_frame *f = heist_load_relaxed(&s->split) - 1;
    CHECK(hi_frame_unexpose(w, f));
    heist_init(&f->fn, NULL);
    heist_store_relaxed(&s->split, f);
}

TEST(of_many_tickets_those_that_are_needed_stay_in_their_order)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    hi_worker w = {.guest = true, .rt = rt};
    hi_task early, late;
    CHECK_EQ(hi_worker_init(&w, NULL), 0);
    hi_strand *s[2] = {hi_strand_create(0), hi_strand_create(0)};
    hi_strand_reset(s[0], true);
    hi_strand_reset(s[1], true);
    CHECK_EQ(hi_worker_push_task(&w, &early), 0);
    for (int i = 0; i < 100; i++) { /* each buries the other's */
        if (i) take_back(&w, s[0]);
        expose_once_more(&w, s[0]);
        if (i) take_back(&w, s[1]);
        expose_once_more(&w, s[1]);
    }
    CHECK_EQ(hi_worker_push_task(&w, &late), 0);
    expose_once_more(&w, s[0]);
    take_back(&w, s[1]);
    CHECK_EQ(hi_deque_length(&w.deque), 203);
    CHECK_EQ(w.buried, 199);

    hi_worker_sift(&w);
    const uintptr_t kept[] = {(uintptr_t)&early, hi_frame_ticket(s[0]->base),
                              (uintptr_t)&late,
                              hi_frame_ticket(s[0]->base + 1)};
    CHECK_EQ(w.buried, 0);
    EACH(i, kept)
    {
        uintptr_t item = 0;
        CHECK_EQ(heist_load_relaxed(&w.mixed), 1); /* late is behind a frame */
        CHECK_EQ(hi_deque_steal(&w.deque, &item), HI_STEAL_TAKEN);
        CHECK_EQ(item, kept[i]);
    }
    CHECK(hi_deque_is_empty(&w.deque));
    hi_worker_sift(&w); /* nothing */
    EACH(i, s)
    {
        for (heist_frame *f = s[i]->base; f < s[i]->base + 2; f++) {
            heist_init(&f->state, HI_FRAME_PRIVATE);
            heist_init(&f->fn, NULL);
        }
        hi_strand_destroy(s[i]);
    }
    hi_worker_fini(&w);
    pool_stop(rt);
}

TEST(who_leaves_a_frame_to_others_leaves_its_ticket)
{
    hi_worker w = {.guest = true}, other = {.guest = true};
    heist_frame *f = NULL;
    CHECK_EQ(hi_worker_init(&w, NULL), 0);
    hi_strand *s = hi_strand_create(0);
    hi_strand_reset(s, true);
    hi_strand_enter_region(s, &w);
    heist_init(&s->base->fn, one);
    CHECK(hi_frame_expose(&w, s));
    CHECK_EQ(hi_frame_take_wish(&w.deque, (hi_wish){.guest = &other},
                                s->base + 1, &f),
             HI_STEAL_EMPTY);
    CHECK(!f && !hi_deque_is_empty(&w.deque));
    CHECK_EQ(
        hi_frame_take_wish(&w.deque, (hi_wish){.guest = &w}, s->base + 1, &f),
        HI_STEAL_TAKEN);
    CHECK(f == s->base && hi_deque_is_empty(&w.deque));
    heist_init(&s->base->state, HI_FRAME_PRIVATE);
    heist_init(&s->base->fn, NULL);
    hi_strand_destroy(s);
    hi_worker_fini(&w);
}

TEST(rescue_takes_an_open_private_frame_and_no_closed_one)
{
    if (!hi_barrier_init()) exit(77);
    hi_strand *s = hi_strand_create(0);
    hi_strand_reset(s, true);
    CHECK(hi_frame_rescue(s, s->base + 8, NULL) == NULL);
    heist_init(&s->base->fn, one);
    CHECK(hi_frame_rescue(s, s->base + 8, NULL) == s->base);
    CHECK(heist_load_relaxed(&s->hot.line) > s->base); /* join comes slow */
    CHECK(heist_load_relaxed(&s->split) == s->base + 1);
    CHECK(hi_frame_rescue(s, s->base + 8, NULL) == NULL);
    heist_init(&s->base->state, HI_FRAME_PRIVATE);
    heist_init(&s->base->fn, NULL);
    hi_strand_destroy(s);
}

/* Opens a frame below it, as the newest, and closes it. */
static void fork_and_join(heist_ctx c)
{
    heist_slot(c)->arg[0].u = 0;
    (void)heist_fork(c, one);
    (void)heist_join(c);
}

static void put_off_root(heist_ctx c, void *arg)
{
    hi_strand *s = hi_strand_from(c.strand);
    bool *served = arg;
    hi_strand_call(s);
    heist_slot(c)->arg[0].u = 0;
    heist_ctx k = heist_fork(c, one); /* too young: he is put off */
    int64_t until = hi_clock() + 20000;
    while (hi_clock() < until)
        ;
    hi_strand_call_again(s);
    fork_and_join(k);
    /* relaxed: test (the owner's own) */
    *served = heist_load_relaxed(&s->split) > s->base;
    (void)heist_join(c);
}

/* One worker and the caller are a crowd: nobody else calls or takes. */
TEST(who_was_put_off_by_a_young_region_is_served_when_he_calls_again)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    bool served = false;
    CHECK_EQ(heist_run(rt, put_off_root, &served), 0);
    CHECK(served);
    pool_stop(rt);
}

/* A region that is called at once, and again when it is 2 us old. */
typedef struct called_region {
    bool known;    /* to last */
    int64_t lasts; /* this time, at least */
    bool in_time;  /* the second call came before it was old */
    bool shared;
    hi_worker *guest;
} called_region;

static void called_root(heist_ctx c, void *arg)
{
    called_region *r = arg;
    hi_strand *s = hi_strand_from(c.strand);
    r->guest = hi_worker_self();
    r->guest->lasting_root = r->known ? called_root : NULL;
    int64_t timed = s->started; /* if nobody watches */
    hi_strand_call(s);
    fork_and_join(c); /* its age counts from now on */
    /* One that nobody watches may be old by now, or has woken somebody instead. */
    bool sure = !r->guest->unwatched || (timed && hi_clock() < timed + 1000);
    /* relaxed: test (an answer: he need not come to the rescue) */
    if (sure) CHECK_EQ(heist_load_relaxed(&s->hungry), HI_PUT_OFF);
    int64_t began = s->started;
    while (hi_clock() < began + 2000)
        hi_cpu_relax();
    heist_slot(c)->arg[0].u = 0;
    heist_ctx k = heist_fork(c, one);
    hi_strand_call_again(s);
    fork_and_join(k);
    r->in_time = hi_clock() < began + HI_REGION_LASTS;
    /* relaxed: test (the owner's own) */
    r->shared = heist_load_relaxed(&s->split) > s->base;
    (void)heist_join(c);
    while (hi_clock() < began + r->lasts)
        hi_cpu_relax();
}

static called_region called(heist_runtime *rt, bool known, int64_t lasts)
{
    called_region r = {.known = known, .lasts = lasts};
    CHECK_EQ(heist_run(rt, called_root, &r), 0);
    return r;
}

/* Known to last, but it looks once and is over. */
static void look_root(heist_ctx c, void *guest)
{
    hi_strand_call(hi_strand_from(c.strand));
    ((hi_worker *)guest)->lasting_root = look_root;
    fork_and_join(c);
}

/* The thread may be interrupted, but not each time; under tools that slow all
 * down a region may never be short. */
static bool try_again(int *tries)
{
    enum {
        TRIES = 20000
    };

    if (++*tries < TRIES) return true;
    CHECK(getenv("HEIST_NO_FORK") != NULL);
    return false;
}

/* One worker and the caller are a crowd: nobody else calls or takes. */
TEST(a_young_region_is_shared_if_its_root_is_known_to_last)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    CHECK(called(rt, true, 0).shared);
    called_region r;
    int tries = 0;
    do {
        r = called(rt, false, 0);
        CHECK(!r.in_time || !r.shared);
    } while (!r.in_time && try_again(&tries));
    pool_stop(rt);
}

TEST(a_root_that_lasts_is_known_until_it_is_over_soon_alone)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    called_region r = called(rt, false, 2 * HI_REGION_LASTS);
    CHECK(r.guest->lasting_root == called_root);
    r.guest->doubts = 5;
    r = called(rt, false, 2 * HI_REGION_LASTS);
    CHECK_EQ(r.guest->doubts, 0);
    int tries = 0;
    do {
        CHECK_EQ(heist_run(rt, look_root, r.guest), 0);
    } while (r.guest->lasting_root && try_again(&tries));
    CHECK_EQ(r.guest->doubts, 0);
    pool_stop(rt);
}

TEST(a_root_that_was_shared_and_over_soon_is_doubted_some_times)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    called_region r = called(rt, true, 2 * HI_REGION_LASTS);
    int tries = 0;
    do {
        r = called(rt, true, 0);
        CHECK(r.guest->doubts <= 16);
        CHECK(r.guest->lasting_root || r.guest->doubts == 16);
    } while (r.guest->lasting_root && try_again(&tries));
    pool_stop(rt);
}

static HEIST_ATOMIC(uint32_t) taken;

static void taken_right(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.u = 0;
    heist_store_release(&taken, 1); /* the owner goes on */
}

static int nothing(heist_ctx c, void *arg)
{
    (void)c;
    (void)arg;
    return 0;
}

typedef struct deaf {
    heist_runtime *rt;
    bool spawns;
} deaf;

/* When all others sleep: was called, has put its marks far away, and forks until
 * somebody takes what is open.  Whoever has run a task searches afterwards. */
static void deaf_root(heist_ctx c, void *arg)
{
    hi_strand *s = hi_strand_from(c.strand);
    const deaf *d = arg;
    fork_and_join(c); /* looks: somebody comes to keep watch */
    while (heist_load_relaxed(&d->rt->sleep.awake) > 1) /* relaxed: test */
        hi_cpu_relax();
    hi_lock_take(&s->lock);
    s->started = 1;
    s->reach = -4096;
    s->step = 4096;
    heist_store_relaxed(&s->hungry, 1);                 /* relaxed: test */
    heist_store_relaxed(&s->hot.limit, s->base + 4096); /* relaxed: test */
    heist_store_relaxed(&s->hot.line, s->base);         /* relaxed: test */
    hi_lock_give(&s->lock);
    heist_ctx k = heist_fork(c, taken_right);
    while (!heist_load_acquire(&taken)) {
        int rc = 0;
        if (d->spawns) rc = heist_spawn(d->rt, nothing, NULL, NULL, HEIST_NOW);
        CHECK(rc == 0 || rc == -EAGAIN);
        for (int i = 0; i < 10000; i++)
            fork_and_join(k);
    }
    CHECK(!heist_join(c));
}

static void is_heard(hi_rescue rescue, bool spawns)
{
    heist_runtime *rt = pool_start(4, HEIST_ON_DEMAND);
    heist_store_relaxed(&rt->rescue, (uint32_t)rescue); /* relaxed: test */
    heist_store_relaxed(&taken, 0);                     /* relaxed: test */
    CHECK_EQ(heist_run(rt, deaf_root, &(deaf){rt, spawns}), 0);
    pool_stop(rt);
}

/* Nobody keeps watch: without a second call it stands still. */
TEST(a_search_calls_again)
{
    is_heard(HI_RESCUE_NONE, true);
}

TEST(where_nothing_can_be_rescued_the_watchman_calls)
{
    is_heard(HI_RESCUE_CALLS, false);
}

TEST(without_a_runtime_the_answer_is_the_same)
{
    heist_runtime *rt = pool_start(2, HEIST_ON_DEMAND);
    pool_stop(rt);
    int64_t n = 20;
    CHECK_EQ(heist_run(NULL, fib_root, &n), 0);
    CHECK_EQ(n, 6765);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0); /* nothing to stop */
}
