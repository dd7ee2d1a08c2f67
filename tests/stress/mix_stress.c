/* SPDX-License-Identifier: MIT
 *
 * Everything at once: from a seed, many threads start and stop runtimes of all
 * kinds and use them in all ways, and the books are kept.  What was accepted ran
 * exactly once, what was refused never, nothing runs after the call that waited
 * for it.
 *
 * A *house* is a place where one runtime lives after another.  A thread that
 * uses the runtime holds the house's door as a reader, a thread that ends it as a
 * writer.  In between, stops whose deadlines pass make it refuse work from
 * outside, and everybody must cope.  Tasks of a house visit those with higher
 * numbers: a runtime that waits for another must not be waited for by it.
 *
 * HEIST_TEST_SEED is the seed.  The order in which threads meet is not in it: a
 * failing seed makes the same mix again, not the same race.  HEIST_MIX_SECONDS
 * is how long; without it, five seconds at full HEIST_STRESS_SCALE.
 */
#define _GNU_SOURCE 1
#include "scale.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>

enum {
    THREADS = 6,
    HOUSES = 3,
    DEPTH_MAX = 3,    /* of what tasks start in turn */
    LEAVES_MAX = 200, /* of a fork tree */
    JOBS_MAX = 12,
    WORKERS_MOST = 8
};

typedef HEIST_ATOMIC(uint64_t) counter;

typedef struct house {
    pthread_rwlock_t door;
    heist_runtime *rt; /* NULL: nobody lives here */
    unsigned workers;
    counter accepted, ran; /* tasks without an owner; even when rt is gone */
} house;

static house houses[HOUSES];
static counter steps;
static heist_time end;

/* --- random numbers, a stream for each piece of work ----------------------------------- */

/* What one thread, task or frame draws from, and where it is. */
typedef struct mind {
    uint64_t random;
    house *h;
    int depth;
} mind;

static uint64_t draw(mind *m, uint64_t sides)
{
    return test_random(&m->random) % sides;
}

static mind born(mind *m)
{
    return (mind){test_random(&m->random), m->h, m->depth + 1};
}

static heist_time some_deadline(mind *m)
{
    switch (draw(m, 4)) {
    case 0: return HEIST_NOW;
    case 1: return heist_after((heist_time)draw(m, 50 * 1000));
    case 2: return heist_after((heist_time)draw(m, 2 * 1000 * 1000));
    default: return HEIST_FOREVER;
    }
}

static void linger(mind *m)
{
    if (draw(m, 8) == 0) sched_yield();
    for (uint64_t n = draw(m, 300); n > 0; n--)
        __asm__ volatile("");
}

/* --- tasks --------------------------------------------------------------------------------- */

/* A task with an owner that waits for it. */
typedef struct job {
    mind m;
    counter ran;
    bool accepted;
    int rc;
} job;

static void anything(heist_ctx c, mind *m);

static int job_task(heist_ctx c, void *arg)
{
    job *j = arg;
    CHECK_EQ(heist_add_relaxed(&j->ran, 1), 0);
    anything(c, &j->m);
    return j->rc;
}

/* A task on its own: frees itself, and the house's books have it. */
static int orphan_task(heist_ctx c, void *arg)
{
    mind *m = arg;
    house *h = m->h;
    anything(c, m);
    free(m);
    heist_add_relaxed(&h->ran, 1);
    return 0;
}

static bool is_refusal(int rc)
{
    return rc == -EAGAIN || rc == -ETIMEDOUT || rc == -ESHUTDOWN;
}

static void spawn_orphan(mind *m)
{
    mind *child = malloc(sizeof *child);
    CHECK(child != NULL);
    *child = born(m);
    house *h = m->h;
    heist_add_relaxed(&h->accepted, 1); /* it may run before spawn returns */
    int rc = heist_spawn(h->rt, orphan_task, child, NULL, some_deadline(m));
    CHECK(rc == 0 || is_refusal(rc));
    if (rc == 0) return;
    heist_sub_relaxed(&h->accepted, 1);
    free(child);
}

/* Spawned one by one, with a latch for all; for the refused we arrive. */
static void spawn_and_wait(mind *m)
{
    job jobs[JOBS_MAX];
    heist_latch done;
    uint64_t n = 1 + draw(m, JOBS_MAX);
    heist_latch_init(&done, n);
    for (uint64_t i = 0; i < n; i++) {
        job *j = &jobs[i];
        *j = (job){.m = born(m), .rc = -(int)draw(m, 3)};
        int rc = heist_spawn(m->h->rt, job_task, j, &done, some_deadline(m));
        CHECK(rc == 0 || is_refusal(rc));
        j->accepted = rc == 0;
        if (rc < 0) heist_latch_arrive(&done);
    }
    int rc = heist_latch_wait(&done, some_deadline(m));
    CHECK(rc == 0 || rc == -ETIMEDOUT);
    if (rc < 0) CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    for (uint64_t i = 0; i < n; i++)
        CHECK_EQ(heist_load_relaxed(&jobs[i].ran), jobs[i].accepted);
}

/* --- scopes -------------------------------------------------------------------------------- */

typedef struct member {
    job j;
    heist_scope *scope;
    struct member *below; /* spawned by the task itself */
} member;

static int member_task(heist_ctx c, void *arg)
{
    member *b = arg;
    if (b->below) heist_scope_spawn(b->scope, member_task, b->below);
    return job_task(c, &b->j);
}

static void scope_check(const heist_scope *s, const member *members, uint64_t n,
                        int rc)
{
    uint64_t ran = 0, failures = heist_scope_failures(s);
    for (uint64_t i = 0; i < n; i++)
        ran += heist_load_relaxed(&members[i].j.ran);
    CHECK(failures <= n);
    switch (rc) {
    case 0: CHECK(ran == n && failures == 0); break;
    case -EDOM: CHECK(failures > 0 && ran > 0); break;
    case -ESHUTDOWN: CHECK(failures > 0); break;
    case -ETIMEDOUT:
    case -ECANCELED: CHECK(failures == 0); break;
    default: CHECK_EQ(rc, 0);
    }
    /* Only who was cancelled or turned away has missed anything. */
    if (rc == -EDOM && !heist_scope_is_cancelled(s) && ran < n)
        CHECK(failures > 1);
}

static void scope_and_close(mind *m)
{
    member members[JOBS_MAX];
    heist_scope s;
    bool cancel = draw(m, 6) == 0, fail = draw(m, 3) == 0;
    uint64_t n = draw(m, JOBS_MAX + 1);
    for (uint64_t i = 0; i < n; i++) {
        int rc = fail && draw(m, 4) == 0 ? -EDOM : 0;
        members[i] = (member){.j = {.m = born(m), .rc = rc}, .scope = &s};
    }
    heist_scope_open(&s, m->h->rt);
    for (uint64_t i = 0; i < n; i++) {
        member *top = &members[i];
        if (i + 1 < n && draw(m, 3) == 0) top->below = &members[++i];
        heist_scope_spawn(&s, member_task, top);
    }
    if (cancel) heist_scope_cancel(&s);
    int rc = heist_scope_close(&s, some_deadline(m));
    CHECK(rc != -ECANCELED || cancel);
    scope_check(&s, members, n, rc);
}

/* --- fork trees ---------------------------------------------------------------------------- */

typedef struct forest {
    mind m;
    counter *ran;
    bool wild; /* leaves do anything */
} forest;

static int64_t grow(heist_ctx c, forest *t, int64_t leaves, uint64_t random);

static void grow_right(heist_ctx c, heist_frame *f)
{
    f->result.i = grow(c, f->arg[0].p, f->arg[1].i, f->arg[2].u);
}

static int64_t grow(heist_ctx c, forest *t, int64_t leaves, uint64_t random)
{
    mind m = {random, t->m.h, t->m.depth + 1};
    if (leaves == 1) {
        if (t->wild && draw(&m, 16) == 0) anything(c, &m);
        linger(&m);
        heist_add_relaxed(t->ran, 1);
        return 1;
    }
    int64_t left = 1 + (int64_t)draw(&m, (uint64_t)leaves - 1);
    heist_frame *right = heist_slot(c);
    right->arg[0].p = t;
    right->arg[1].i = leaves - left;
    right->arg[2].u = test_random(&m.random);
    uint64_t other = right->arg[2].u;
    int64_t sum = grow(heist_fork(c, grow_right), t, left, m.random);
    if (heist_join(c)) return sum + grow(c, t, leaves - left, other);
    return sum + right->result.i;
}

static void forest_root(heist_ctx c, void *arg)
{
    forest *t = arg;
    int64_t leaves = 1 + (int64_t)draw(&t->m, LEAVES_MAX);
    uint64_t random = test_random(&t->m.random);
    CHECK_EQ(grow(c, t, leaves, random), leaves);
    CHECK_EQ(heist_load_relaxed(t->ran), leaves);
}

static void run_forest(mind *m)
{
    counter ran = {0};
    forest t = {born(m), &ran, draw(m, 2) == 0};
    int rc = heist_run(m->h->rt, forest_root, &t);
    CHECK(rc == 0 || rc == -ESHUTDOWN);
    if (rc < 0) CHECK_EQ(heist_load_relaxed(&ran), 0);
}

/* --- broadcast, waits, questions -------------------------------------------------------- */

static int broadcast_task(heist_ctx c, void *arg)
{
    (void)c;
    CHECK(heist_worker_index() >= 0);
    counter *ran = arg;
    CHECK_EQ(heist_add_relaxed(&ran[heist_worker_index()], 1), 0);
    return 0;
}

static void broadcast(mind *m)
{
    counter ran[WORKERS_MOST] = {{0}};
    int rc = heist_broadcast(m->h->rt, broadcast_task, ran);
    CHECK(rc == 0 || rc == -ESHUTDOWN);
    for (unsigned i = 0; i < m->h->workers; i++)
        CHECK_EQ(heist_load_relaxed(&ran[i]), rc == 0);
}

static void wait_in_vain(mind *m)
{
    heist_latch never;
    heist_latch_init(&never, 1);
    heist_time until = heist_after((heist_time)draw(m, 500 * 1000));
    CHECK_EQ(heist_latch_wait(&never, until), -ETIMEDOUT);
    CHECK(heist_now() >= until);
}

static void ask(mind *m)
{
    heist_stats stats;
    unsigned i = (unsigned)draw(m, m->h->workers + 2);
    int rc = heist_stats_read(m->h->rt, i, &stats);
    CHECK_EQ(rc, i > m->h->workers ? -EINVAL : 0);
    CHECK_EQ(heist_workers(m->h->rt), m->h->workers);
}

/* --- stops and visits ------------------------------------------------------------------- */

static int hold_task(heist_ctx c, void *arg)
{
    (void)c;
    return heist_latch_wait(arg, HEIST_FOREVER);
}

/* A stop that cannot succeed, because of a task that waits for us. */
static void stop_in_the_middle(mind *m)
{
    heist_latch hold, done;
    if (m->depth > 0) { /* by one of its own */
        CHECK_EQ(heist_stop(m->h->rt, HEIST_FOREVER), -EDEADLK);
        return;
    }
    heist_latch_init(&hold, 1);
    heist_latch_init(&done, 1);
    int rc = heist_spawn(m->h->rt, hold_task, &hold, &done, some_deadline(m));
    CHECK(rc == 0 || is_refusal(rc));
    if (rc < 0) return;
    heist_time soon = heist_after((heist_time)draw(m, 300 * 1000));
    rc = heist_stop(m->h->rt, draw(m, 2) ? soon : HEIST_NOW);
    CHECK_EQ(rc, -ETIMEDOUT);
    heist_latch_arrive(&hold);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

/* From inside of one runtime into another. */
static void visit(mind *m)
{
    house *other = &houses[draw(m, HOUSES)];
    mind there = born(m);
    if (other <= m->h || pthread_rwlock_tryrdlock(&other->door) != 0) return;
    there.h = other;
    if (other->rt) run_forest(&there);
    pthread_rwlock_unlock(&other->door);
}

/* --- the mix ------------------------------------------------------------------------------- */

/* On any thread that the runtime outlives: inside of a task, a region, or with
 * the house's door held open. */
static void anything(heist_ctx c, mind *m)
{
    (void)c;
    heist_add_relaxed(&steps, 1);
    linger(m);
    if (m->depth > DEPTH_MAX || (m->depth && draw(m, 3))) return;
    switch (draw(m, 32)) {
    case 0: stop_in_the_middle(m); break;
    case 1: broadcast(m); break;
    case 2: ask(m); break;
    case 3: wait_in_vain(m); break;
    case 4:
    case 5:
    case 6: visit(m); break;
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
    case 12: spawn_and_wait(m); break;
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
    case 18: scope_and_close(m); break;
    case 19:
    case 20:
    case 21:
    case 22:
    case 23:
    case 24: run_forest(m); break;
    default: spawn_orphan(m); break;
    }
}

static void move_in(mind *m, house *h)
{
    heist_config config = {
        .workers = 1 + (unsigned)draw(m, WORKERS_MOST),
        .queue_capacity = 2u << draw(m, 8),
        .steal_attempts = 1 + (unsigned)draw(m, 64),
        .exposure = (heist_exposure)draw(m, 3),
        .quantum = 1000 + (heist_time)draw(m, 200 * 1000),
        .idle = (heist_idle)draw(m, 3),
        .stack_bytes = (size_t)256 << (10 + draw(m, 3)),
        .seed = test_random(&m->random),
        .unpinned = draw(m, 2) == 0,
    };
    CHECK_EQ(heist_start(&h->rt, &config), 0);
    h->workers = config.workers;
}

/* With the door locked, so nobody is inside but what was spawned. */
static void move_out(mind *m, house *h)
{
    int rc = heist_stop(h->rt, some_deadline(m));
    while (rc == -ETIMEDOUT)
        rc = heist_stop(h->rt, draw(m, 2) ? HEIST_FOREVER : HEIST_NOW);
    CHECK_EQ(rc, 0);
    h->rt = NULL;
    CHECK_EQ(heist_load_relaxed(&h->ran), heist_load_relaxed(&h->accepted));
}

static void *citizen(void *arg)
{
    mind m = *(mind *)arg;
    while (heist_now() < end) {
        m.h = &houses[draw(&m, HOUSES)];
        if (draw(&m, 16) == 0) {
            pthread_rwlock_wrlock(&m.h->door);
            if (m.h->rt)
                move_out(&m, m.h);
            else
                move_in(&m, m.h);
            pthread_rwlock_unlock(&m.h->door);
            continue;
        }
        pthread_rwlock_rdlock(&m.h->door);
        if (m.h->rt) anything((heist_ctx){NULL, NULL}, &m);
        pthread_rwlock_unlock(&m.h->door);
    }
    return NULL;
}

TEST(a_mix_of_everything_keeps_its_books)
{
    const char *seconds = getenv("HEIST_MIX_SECONDS");
    heist_time mix = seconds ? strtol(seconds, NULL, 10) * HEIST_SECOND
                             : scaled(5000) * HEIST_MILLISECOND;
    printf("HEIST_TEST_SEED=%llu\n", (unsigned long long)test_seed);
    fflush(stdout);
    end = heist_after(mix);
    pthread_t thread[THREADS];
    mind minds[THREADS], first = {test_seed, NULL, -1};
    for (int i = 0; i < HOUSES; i++) {
        CHECK_EQ(pthread_rwlock_init(&houses[i].door, NULL), 0);
        move_in(&first, &houses[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        minds[i] = born(&first);
        CHECK_EQ(pthread_create(&thread[i], NULL, citizen, &minds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < HOUSES; i++) {
        if (houses[i].rt) move_out(&first, &houses[i]);
        pthread_rwlock_destroy(&houses[i].door);
    }
    printf("%llu steps\n", (unsigned long long)heist_load_relaxed(&steps));
}
