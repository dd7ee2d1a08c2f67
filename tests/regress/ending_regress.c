/* SPDX-License-Identifier: MIT
 *
 * Nothing ends too early, and nothing that is nothing takes for ever.
 */
#include "../stress/scale.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) flag;

static heist_runtime *rt;
static HEIST_ATOMIC(long) ran;

static void until(flag *f)
{
    while (!heist_load_acquire(f))
        sched_yield();
}

static void start(unsigned workers, heist_exposure exposure)
{
    heist_config config = {.workers = workers, .exposure = exposure};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&ran, 0);
}

static int count_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&ran, 1);
    return 0;
}

/* --- nothing returns before what it has forked ---------------------------------- */

enum {
    WORDS = 64,
    LINGER = 200
};

/* Goes on for a while after the owner has come to its join, and writes into the
 * frame of the function that forked. */
static void write_late(heist_ctx c, heist_frame *f)
{
    (void)c;
    flag *taken = f->arg[0].p, *joining = f->arg[1].p;
    volatile int64_t *words = f->arg[2].p;
    heist_store_release(taken, 1);
    until(joining);
    for (int i = 0; i < WORDS; i++) {
        for (int k = 0; k < LINGER / WORDS + 1; k++)
            sched_yield();
        words[i] = i + 1;
    }
}

__attribute__((noinline)) static int64_t left_ends_at_once(heist_ctx c)
{
    flag taken = {0}, joining = {0};
    volatile int64_t words[WORDS] = {0};
    heist_frame *right = heist_slot(c);
    right->arg[0].p = &taken;
    right->arg[1].p = &joining;
    right->arg[2].p = (void *)(uintptr_t)words;
    heist_fork(c, write_late);
    until(&taken);
    heist_store_release(&joining, 1);
    CHECK(!heist_join(c));
    int64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += words[i];
    return sum;
}

static void left_root(heist_ctx c, void *arg)
{
    *(int64_t *)arg = left_ends_at_once(c);
}

static int left_task(heist_ctx c, void *arg)
{
    left_root(c, arg);
    return 0;
}

TEST(a_join_waits_for_a_right_half_that_writes_into_its_frame)
{
    start(2, HEIST_EAGER);
    for (long i = scaled(100); i > 0; i--) {
        int64_t sum = 0;
        CHECK_EQ(heist_run(rt, left_root, &sum), 0);
        CHECK_EQ(sum, WORDS * (WORDS + 1) / 2);
        heist_latch done;
        heist_latch_init(&done, 1);
        sum = 0;
        CHECK_EQ(heist_spawn(rt, left_task, &sum, &done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        CHECK_EQ(sum, WORDS * (WORDS + 1) / 2);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

struct sibling {
    flag failed;
    volatile int64_t words[WORDS];
};

static int fail_at_once(heist_ctx c, void *arg)
{
    (void)c;
    struct sibling *s = arg;
    heist_store_release(&s->failed, 1);
    return -EDOM;
}

static int outlive_the_failure(heist_ctx c, void *arg)
{
    (void)c;
    struct sibling *s = arg;
    until(&s->failed);
    for (int i = 0; i < WORDS; i++) {
        for (int k = 0; k < 4 * LINGER / WORDS + 1; k++)
            sched_yield();
        s->words[i] = i + 1;
    }
    return 0;
}

TEST(a_scope_with_a_failure_waits_for_the_others_all_the_same)
{
    start(2, HEIST_ON_DEMAND);
    for (long i = scaled(100); i > 0; i--) {
        struct sibling here = {.failed = {0}};
        heist_scope s;
        heist_scope_open(&s, rt);
        heist_scope_spawn(&s, outlive_the_failure, &here);
        heist_scope_spawn(&s, fail_at_once, &here);
        while (heist_scope_failures(&s) == 0) /* before the close begins */
            sched_yield();
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), -EDOM);
        int64_t sum = 0;
        for (int k = 0; k < WORDS; k++)
            sum += here.words[k];
        CHECK_EQ(sum, WORDS * (WORDS + 1) / 2);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- nothing to do ------------------------------------------------------------------ */

static void empty_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

static int do_nothing_in_all_ways(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_scope s;
    heist_latch open;
    heist_latch_init(&open, 0);
    CHECK_EQ(heist_latch_wait(&open, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&open, HEIST_FOREVER), 0);
    heist_scope_open(&s, rt);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    heist_scope_open(&s, rt);
    CHECK_EQ(heist_scope_close(&s, HEIST_NOW), 0);
    heist_scope_open(&s, rt);
    heist_scope_cancel(&s);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), -ECANCELED);
    CHECK_EQ(heist_run(rt, empty_root, NULL), 0);
    return 0;
}

static void nothing_in_a_region(heist_ctx c, void *arg)
{
    do_nothing_in_all_ways(c, arg);
}

TEST(what_is_empty_ends_at_once)
{
    for (unsigned workers = 0; workers <= 2; workers++) {
        start(workers, HEIST_ON_DEMAND);
        do_nothing_in_all_ways((heist_ctx){NULL, NULL}, NULL);
        CHECK_EQ(heist_run(rt, nothing_in_a_region, NULL), 0);
        CHECK_EQ(heist_broadcast(rt, do_nothing_in_all_ways, NULL), 0);
        CHECK_EQ(heist_stop(rt, HEIST_NOW) == 0 ||
                     heist_stop(rt, HEIST_FOREVER) == 0,
                 1);
    }
}

/* --- work that begins while the runtime ends ---------------------------------------- */

static flag stopping;
static heist_latch *chain;
static long links;

/* Each of them waits for the one before and opens the next. */
static int link_task(heist_ctx c, void *arg)
{
    long i = (long)(intptr_t)arg;
    (void)c;
    CHECK_EQ(heist_latch_wait(&chain[i], HEIST_FOREVER), 0);
    heist_latch_arrive(&chain[i + 1]);
    heist_add_relaxed(&ran, 1);
    return 0;
}

static int start_much(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    until(&stopping);
    for (long i = 0; i < links; i++)
        CHECK_EQ(
            heist_spawn(rt, link_task, (void *)(intptr_t)i, NULL, HEIST_NOW),
            0);
    heist_latch_arrive(&chain[0]);
    heist_scope s;
    heist_scope_open(&s, rt);
    heist_scope_spawn(&s, count_one, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    CHECK_EQ(heist_run(rt, empty_root, NULL), 0);
    CHECK_EQ(heist_broadcast(rt, count_one, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), -EDEADLK);
    return 0;
}

TEST(what_a_task_starts_while_the_runtime_stops_is_finished)
{
    links = 50;
    chain = malloc((size_t)(links + 1) * sizeof *chain);
    CHECK(chain != NULL);
    for (long round = scaled(100); round > 0; round--) {
        unsigned workers = 1 + (unsigned)round % 3;
        start(workers, HEIST_ON_DEMAND);
        for (long i = 0; i <= links; i++)
            heist_latch_init(&chain[i], 1);
        heist_store_relaxed(&stopping, 0);
        CHECK_EQ(heist_spawn(rt, start_much, NULL, NULL, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_NOW), -ETIMEDOUT);
        CHECK_EQ(heist_spawn(rt, count_one, NULL, NULL, HEIST_NOW), -ESHUTDOWN);
        heist_store_release(&stopping, 1);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        CHECK_EQ(heist_load_relaxed(&ran), links + 1 + (long)workers);
    }
    free(chain);
}

/* --- what is over is not kept --------------------------------------------------------- */

static HEIST_ATOMIC(long) alive;

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    heist_add_relaxed(&alive, 1);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    heist_sub_relaxed(&alive, 1);
    free(p);
}

enum {
    KEPT_MOST = 2 * 300 /* a worker keeps a few hundred tasks for the next */
};

/* The task owns its argument, and nobody else has it. */
static int free_payload(heist_ctx c, void *arg)
{
    (void)c;
    free(arg);
    heist_sub_relaxed(&ran, 1);
    return 0;
}

TEST(tasks_that_are_over_leave_neither_payload_nor_memory)
{
    heist_config config = {.workers = 2,
                           .allocator = {counted_alloc, counted_free, NULL}};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&ran, 0);
    long before = heist_load_relaxed(&alive);
    for (long round = scaled(50); round > 0; round--) {
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 2000; i++) {
            heist_add_relaxed(&ran, 1);
            heist_scope_spawn(&s, free_payload, malloc(64));
        }
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_load_relaxed(&ran), 0);
        CHECK(heist_load_relaxed(&alive) - before <= KEPT_MOST);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&alive), 0);
}
