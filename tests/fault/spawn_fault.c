/* SPDX-License-Identifier: MIT
 *
 * spawn_fault.c: tasks, scopes and broadcasts without memory.  Whatever is
 * said to run runs once, whatever is refused does not run.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

enum {
    TASKS = 300
};

static HEIST_ATOMIC(int) ran[TASKS];
static int rcs[TASKS];

static int mark(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_relaxed((HEIST_ATOMIC(int) *)arg, 1);
    return 0;
}

static void nothing_ran(void)
{
    for (int i = 0; i < TASKS; i++)
        heist_store_relaxed(&ran[i], 0);
}

/* After the runtime has stopped: exactly those that were accepted have run. */
static int check_ran(int tasks)
{
    int refused = 0;
    for (int i = 0; i < tasks; i++) {
        CHECK(rcs[i] == 0 || rcs[i] == -ENOMEM);
        CHECK_EQ(heist_load_relaxed(&ran[i]), rcs[i] == 0);
        refused += rcs[i] != 0;
    }
    return refused;
}

/* --- from a foreign thread -------------------------------------------------------- */

TEST(a_task_without_memory_is_refused_and_does_not_run)
{
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1; n < 20; n++) {
            heist_runtime *rt = fault_start(4, HEIST_ON_DEMAND);
            nothing_ran();
            fault_arm(FAULT_HOOK, n, (fault_how)how);
            for (int i = 0; i < 20; i++)
                rcs[i] = heist_spawn(rt, mark, &ran[i], NULL, HEIST_FOREVER);
            long hits = fault_disarm();
            fault_check_works(rt);
            fault_stop(rt);
            CHECK_EQ(check_ran(20), hits);
            CHECK(hits > 0);
        }
    }
}

TEST(without_a_default_runtime_a_task_is_refused)
{
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    fault_check_works(NULL);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n++) {
            CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
            fault_tally before = fault_count();
            nothing_ran();
            fault_arm(FAULT_HEAP | FAULT_THREAD, n, (fault_how)how);
            rcs[0] = heist_spawn(NULL, mark, &ran[0], NULL, HEIST_FOREVER);
            bool hit = fault_disarm() > 0;
            CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
            check_ran(1);
            fault_check_nothing_left(before);
            CHECK(hit || rcs[0] == 0);
            if (!hit) break;
        }
    }
}

/* --- from a task -------------------------------------------------------------------- */

typedef struct nest {
    heist_runtime *rt;
    unsigned kinds;
    long n, hits;
    fault_how how;
} nest;

static int spawn_many(heist_ctx c, void *arg)
{
    nest *k = arg;
    (void)c;
    fault_arm(k->kinds, k->n, k->how);
    for (int i = 0; i < TASKS; i++)
        rcs[i] = heist_spawn(k->rt, mark, &ran[i], NULL, HEIST_NOW);
    k->hits = fault_disarm();
    return 0;
}

TEST(a_task_that_finds_no_room_in_the_deque_is_refused_and_does_not_run)
{
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        /* 64 fit; then each growth is a call of the allocator in between. */
        for (long n = 1; n < 2 * TASKS; n += n < 80 ? 1 : 37) {
            heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
            nothing_ran();
            nest k = {
                .rt = rt, .kinds = FAULT_HOOK, .n = n, .how = (fault_how)how};
            CHECK_EQ(heist_spawn(rt, spawn_many, &k, NULL, HEIST_NOW), 0);
            fault_stop(rt);
            int refused = check_ran(TASKS);
            CHECK(refused <= k.hits);
            CHECK((refused > 0) == (k.hits > 0));
            if (how == FAULT_EVER_ON && n <= 65) CHECK(refused >= TASKS - 65);
        }
    }
}

TEST(stolen_tasks_make_room_and_nothing_is_lost)
{
    for (long n = 1; n < 100; n += 9) {
        heist_runtime *rt = fault_start(4, HEIST_ON_DEMAND);
        nothing_ran();
        nest k = {.rt = rt, .kinds = FAULT_HOOK, .n = n, .how = FAULT_EVER_ON};
        CHECK_EQ(heist_spawn(rt, spawn_many, &k, NULL, HEIST_NOW), 0);
        fault_stop(rt);
        check_ran(TASKS);
    }
}

/* --- tasks from outside that find the deque full ------------------------------------- */

typedef struct crowd {
    heist_runtime *rt;
    HEIST_ATOMIC(int) inside, go;
} crowd;

static int fill_the_deque(heist_ctx c, void *arg)
{
    crowd *k = arg;
    (void)c;
    for (int i = 0; i < 64; i++)
        CHECK_EQ(heist_spawn(k->rt, mark, &ran[i], NULL, HEIST_NOW), 0);
    heist_store_release(&k->inside, 1);
    fault_until(heist_load_acquire(&k->go));
    return 0;
}

/* The worker looks into the injector now and then although its deque is full,
 * wherever in its round that is. */
TEST(tasks_from_outside_that_find_the_deque_full_run_once)
{
    for (int before = 0; before < 61; before++) {
        heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
        crowd k = {.rt = rt};
        nothing_ran();
        heist_latch first;
        heist_latch_init(&first, (uint64_t)before);
        for (int i = 0; i < before; i++)
            CHECK_EQ(
                heist_spawn(rt, fault_count_one, NULL, &first, HEIST_FOREVER),
                0);
        CHECK_EQ(heist_latch_wait(&first, HEIST_FOREVER), 0);
        CHECK_EQ(heist_spawn(rt, fill_the_deque, &k, NULL, HEIST_NOW), 0);
        fault_until(heist_load_acquire(&k.inside));
        for (int i = 64; i < 164; i++)
            CHECK_EQ(heist_spawn(rt, mark, &ran[i], NULL, HEIST_NOW), 0);
        fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
        heist_store_release(&k.go, 1);
        fault_stop(rt);
        fault_disarm();
        for (int i = 0; i < 164; i++)
            CHECK_EQ(heist_load_relaxed(&ran[i]), 1);
    }
}

typedef struct chain {
    heist_latch *mine, *next;
} chain;

static int open_mine_wait_for_next(heist_ctx c, void *arg)
{
    chain *k = arg;
    (void)c;
    heist_latch_arrive(k->mine);
    return heist_latch_wait(k->next, HEIST_FOREVER);
}

/* The same, and each of them waits for the one behind it. */
TEST(tasks_from_outside_that_find_the_deque_full_may_wait_for_each_other)
{
    enum {
        CHAIN = 60
    };

    static heist_latch latch[CHAIN + 1];
    static chain link[CHAIN];
    for (int before = 0; before < 61; before++) {
        heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
        crowd k = {.rt = rt};
        nothing_ran();
        heist_latch first, all;
        heist_latch_init(&first, (uint64_t)before);
        heist_latch_init(&all, CHAIN);
        for (int i = 0; i < before; i++)
            CHECK_EQ(
                heist_spawn(rt, fault_count_one, NULL, &first, HEIST_FOREVER),
                0);
        CHECK_EQ(heist_latch_wait(&first, HEIST_FOREVER), 0);
        CHECK_EQ(heist_spawn(rt, fill_the_deque, &k, NULL, HEIST_NOW), 0);
        fault_until(heist_load_acquire(&k.inside));
        heist_latch_init(&latch[CHAIN], 0);
        for (int i = 0; i < CHAIN; i++) {
            heist_latch_init(&latch[i], 1);
            link[i] = (chain){&latch[i], &latch[i + 1]};
        }
        for (int i = 0; i < CHAIN; i++)
            CHECK_EQ(heist_spawn(rt, open_mine_wait_for_next, &link[i], &all,
                                 HEIST_NOW),
                     0);
        fault_arm(FAULT_HOOK, 1, FAULT_EVER_ON); /* strands can be had */
        heist_store_release(&k.go, 1);
        CHECK_EQ(heist_latch_wait(&all, heist_after(20 * HEIST_SECOND)), 0);
        fault_stop(rt);
        fault_disarm();
    }
}

/* --- scopes ---------------------------------------------------------------------------- */

TEST(a_scopes_task_without_memory_runs_here)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    fault_check_works(rt);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1; n < 20; n++) {
            heist_scope s;
            nothing_ran();
            heist_scope_open(&s, rt);
            fault_arm(FAULT_HOOK | FAULT_HEAP, n, (fault_how)how);
            for (int i = 0; i < 20; i++)
                heist_scope_spawn(&s, mark, &ran[i]);
            CHECK(fault_disarm() > 0);
            CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
            CHECK_EQ(heist_scope_failures(&s), 0);
            for (int i = 0; i < 20; i++)
                CHECK_EQ(heist_load_relaxed(&ran[i]), 1);
        }
    }
    fault_stop(rt);
}

static int scope_in_task(heist_ctx c, void *arg)
{
    nest *k = arg;
    heist_scope s;
    (void)c;
    heist_scope_open(&s, k->rt);
    fault_arm(k->kinds, k->n, k->how);
    for (int i = 0; i < TASKS; i++)
        heist_scope_spawn(&s, mark, &ran[i]);
    k->hits = fault_disarm();
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    return 0;
}

TEST(a_scopes_task_that_finds_no_room_in_the_deque_runs_here)
{
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1; n < 100; n += 3) {
            heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
            nothing_ran();
            nest k = {
                .rt = rt, .kinds = FAULT_HOOK, .n = n, .how = (fault_how)how};
            CHECK_EQ(heist_spawn(rt, scope_in_task, &k, NULL, HEIST_NOW), 0);
            fault_stop(rt);
            CHECK(k.hits > 0);
            for (int i = 0; i < TASKS; i++)
                CHECK_EQ(heist_load_relaxed(&ran[i]), 1);
        }
    }
}

static int starved_scope(heist_ctx c, void *arg)
{
    nest *k = arg;
    heist_scope s;
    int done = 0;
    (void)c;
    hi_strand *kept = fault_drain(0);
    heist_scope_open(&s, k->rt);
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
    for (int i = 0; i < 10; i++)
        heist_scope_spawn(&s, mark, &ran[i]);
    int rc = heist_scope_close(&s, HEIST_FOREVER);
    fault_disarm();
    fault_refill(kept);
    for (int i = 0; i < 10; i++)
        done += heist_load_relaxed(&ran[i]);
    /* Without a strand to run on it may fail, but not in silence. */
    CHECK_EQ(heist_scope_failures(&s), 10 - done);
    CHECK_EQ(rc, done < 10 ? -ENOMEM : 0);
    return 0;
}

TEST(a_scope_knows_of_tasks_that_could_not_even_run_here)
{
    heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
    nothing_ran();
    nest k = {.rt = rt}; /* a fresh worker has no store of tasks yet */
    CHECK_EQ(heist_spawn(rt, starved_scope, &k, NULL, HEIST_NOW), 0);
    fault_stop(rt);
}

/* --- broadcast --------------------------------------------------------------------------- */

TEST(a_broadcast_without_memory_runs_nowhere)
{
    heist_runtime *rt = fault_start(4, HEIST_ON_DEMAND);
    heist_store_relaxed(&fault_ran, 0);
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_broadcast(rt, fault_count_one, NULL), -ENOMEM);
    CHECK_EQ(fault_disarm(), 1);
    fault_check_works(rt);
    fault_stop(rt);
}

static int broadcast_inside(heist_ctx c, void *arg)
{
    nest *k = arg;
    (void)c;
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_broadcast(k->rt, fault_count_one, NULL), -ENOMEM);
    k->hits = fault_disarm();
    heist_store_relaxed(&fault_ran, 0);
    CHECK_EQ(heist_broadcast(k->rt, fault_count_one, NULL), 0);
    CHECK_EQ(heist_load_relaxed(&fault_ran), (int)heist_workers(k->rt));
    return 0;
}

TEST(a_broadcast_without_memory_inside_a_task_runs_nowhere)
{
    heist_runtime *rt = fault_start(4, HEIST_ON_DEMAND);
    nest k = {.rt = rt};
    CHECK_EQ(heist_spawn(rt, broadcast_inside, &k, NULL, HEIST_NOW), 0);
    fault_stop(rt);
    CHECK_EQ(k.hits, 1);
}
