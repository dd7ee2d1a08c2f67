/* SPDX-License-Identifier: MIT
 *
 * Work that somebody could do is done: a worker that is busy for ever keeps
 * nothing to itself, and tasks that wait for each other leave a worker to run
 * on.  A lost wake-up is seen as a test that stands still.
 */
#include "../stress/scale.h"
#include "core/runtime.h"
#include "test.h"

#include <heist.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) flag;

static void until(flag *f)
{
    while (!heist_load_acquire(f))
        sched_yield();
}

static heist_runtime *start(unsigned workers)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = workers, .idle = HEIST_ECO};
    CHECK_EQ(heist_start(&rt, &config), 0);
    /* No watchman, whose time-out would hide a lost wake-up. */
    heist_store_relaxed(&rt->rescue, 0);
    return rt;
}

/* --- one worker that never ends ---------------------------------------------- */

struct busy {
    heist_runtime *rt;
    flag child, leave;
    heist_latch done;
};

static int set_flag(heist_ctx c, void *arg)
{
    (void)c;
    heist_store_release((flag *)arg, 1);
    return 0;
}

static void until_all_others_sleep(heist_runtime *rt)
{
    unsigned self = (unsigned)heist_worker_index();
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        while (i != self && !(heist_load_acquire(w->idle_word) & w->idle_bit))
            sched_yield();
    }
}

/* What it spawns lies in its own queue, and everybody else is asleep. */
static int spawn_and_stay(heist_ctx c, void *arg)
{
    struct busy *b = arg;
    (void)c;
    until_all_others_sleep(b->rt);
    CHECK_EQ(heist_spawn(b->rt, set_flag, &b->child, NULL, HEIST_NOW), 0);
    until(&b->child);
    return 0;
}

TEST(what_a_busy_worker_spawns_wakes_a_sleeper)
{
    for (unsigned workers = 2; workers <= 3; workers++) {
        heist_runtime *rt = start(workers);
        for (long i = scaled(2000); i > 0; i--) {
            struct busy b = {.rt = rt};
            heist_latch_init(&b.done, 1);
            CHECK_EQ(
                heist_spawn(rt, spawn_and_stay, &b, &b.done, HEIST_FOREVER), 0);
            CHECK_EQ(heist_latch_wait(&b.done, HEIST_FOREVER), 0);
        }
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

static int stay(heist_ctx c, void *arg)
{
    struct busy *b = arg;
    (void)c;
    heist_store_release(&b->child, 1);
    until(&b->leave);
    return 0;
}

/* The others serve whatever comes from outside: tasks, regions, scopes. */
TEST(with_all_workers_but_one_busy_for_ever_the_last_one_serves)
{
    for (unsigned workers = 2; workers <= 4; workers++) {
        heist_runtime *rt = start(workers);
        struct busy b[4] = {0};
        for (unsigned i = 0; i + 1 < workers; i++) {
            CHECK_EQ(heist_spawn(rt, stay, &b[i], NULL, HEIST_FOREVER), 0);
            until(&b[i].child);
        }
        for (long i = scaled(2000); i > 0; i--) {
            flag ran[8] = {{0}};
            heist_scope s;
            heist_scope_open(&s, rt);
            for (int k = 0; k < 8; k++)
                heist_scope_spawn(&s, set_flag, &ran[k]);
            CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
            for (int k = 0; k < 8; k++)
                CHECK_EQ(heist_load_acquire(&ran[k]), 1);
        }
        for (unsigned i = 0; i + 1 < workers; i++)
            heist_store_release(&b[i].leave, 1);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- everybody waits for a child ------------------------------------------------ */

struct family {
    heist_runtime *rt;
    heist_latch *all;
    int depth;
};

/* Nobody spawns before all have begun: with fewer workers than parents, each
 * worker has put several of them aside by then. */
static int parent(heist_ctx c, void *arg)
{
    struct family *f = arg;
    (void)c;
    heist_latch_arrive(f->all);
    CHECK_EQ(heist_latch_wait(f->all, HEIST_FOREVER), 0);
    if (f->depth == 0) return 0;
    heist_latch here, done;
    heist_latch_init(&here, 2);
    heist_latch_init(&done, 2);
    struct family below = {f->rt, &here, f->depth - 1};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(heist_spawn(f->rt, parent, &below, &done, HEIST_NOW), 0);
    return heist_latch_wait(&done, HEIST_FOREVER);
}

TEST(every_task_waits_for_children_that_wait_for_each_other)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        heist_runtime *rt = start(workers);
        for (long i = scaled(50); i > 0; i--) {
            heist_latch all, done;
            heist_latch_init(&all, 8);
            heist_latch_init(&done, 8);
            struct family f = {rt, &all, 4};
            for (int k = 0; k < 8; k++)
                CHECK_EQ(heist_spawn(rt, parent, &f, &done, HEIST_FOREVER), 0);
            CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        }
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- tasks that spawn into another runtime --------------------------------------- */

enum {
    LETTERS = 1000 /* many times what there is room for */
};

struct mail {
    heist_runtime *to;
    heist_latch *all;
};

static int letter(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static int send_letters(heist_ctx c, void *arg)
{
    const struct mail *m = arg;
    (void)c;
    for (int i = 0; i < LETTERS; i++)
        CHECK_EQ(heist_spawn(m->to, letter, NULL, m->all, HEIST_FOREVER), 0);
    return 0;
}

static heist_runtime *start_small(void)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    return rt;
}

/* Were they to wait for room, each would wait for the other. */
TEST(the_tasks_of_two_runtimes_spawn_into_each_other)
{
    heist_runtime *a = start_small(), *b = start_small();
    heist_latch all;
    heist_latch_init(&all, 2 * LETTERS);
    struct mail to_a = {a, &all}, to_b = {b, &all};
    CHECK_EQ(heist_spawn(a, send_letters, &to_b, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_spawn(b, send_letters, &to_a, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&all, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(a, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(b, HEIST_FOREVER), 0);
}

static void send_home(heist_ctx c, void *mail)
{
    send_letters(c, mail);
}

static int go_abroad(heist_ctx c, void *arg)
{
    struct mail **m = arg; /* home, abroad */
    (void)c;
    return heist_run(m[1]->to, send_home, m[0]);
}

/* Its own worker is the only one that could make room there. */
TEST(a_task_in_a_region_of_another_runtime_spawns_home)
{
    heist_runtime *home = start_small(), *abroad = start_small();
    heist_latch all;
    heist_latch_init(&all, LETTERS);
    struct mail *m[2] = {&(struct mail){home, &all},
                         &(struct mail){abroad, NULL}};
    CHECK_EQ(heist_spawn(home, go_abroad, m, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&all, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(home, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(abroad, HEIST_FOREVER), 0);
}
