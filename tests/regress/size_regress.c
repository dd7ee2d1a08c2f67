/* SPDX-License-Identifier: MIT
 *
 * Numbers around which bitmaps, stacks and depths break.
 */
#include "test.h"

#include <heist.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static heist_runtime *rt;
static pthread_barrier_t meeting;

/* --- workers around the width of a word ---------------------------------------------- */

static int meet(heist_ctx c, void *arg)
{
    HEIST_ATOMIC(int) *met = arg;
    (void)c;
    CHECK_EQ(heist_add_relaxed(met + heist_worker_index(), 1), 0);
    pthread_barrier_wait(&meeting); /* the thread: nobody else runs on it */
    return 0;
}

/* From sleep, each of them must be woken, and all of them be awake at once. */
static void all_meet(unsigned workers)
{
    HEIST_ATOMIC(int) *met = calloc(workers, sizeof *met);
    CHECK(met != NULL);
    CHECK_EQ(pthread_barrier_init(&meeting, NULL, workers), 0);
    heist_latch done;
    heist_latch_init(&done, workers);
    for (unsigned i = 0; i < workers; i++)
        CHECK_EQ(heist_spawn(rt, meet, met, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    for (unsigned i = 0; i < workers; i++)
        CHECK_EQ(heist_load_relaxed(&met[i]), 1);
    pthread_barrier_destroy(&meeting);
    free(met);
}

TEST(workers_around_the_width_of_a_word_are_all_woken)
{
    static const unsigned workers[] = {1, 31, 32, 33, 63, 64, 65, 128, 200};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        heist_config config = {.workers = workers[i], .idle = HEIST_ECO};
        CHECK_EQ(heist_start(&rt, &config), 0);
        CHECK_EQ(heist_workers(rt), workers[i]);
        all_meet(workers[i]);
        all_meet(workers[i]);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- regions inside regions, with large frames ------------------------------------------- */

enum {
    LEVELS = 5,
    WIDTH = 3,
    LOCALS = 64 << 10
};

struct level {
    int64_t depth, leaves;
};

static void region(heist_ctx c, void *arg);

static void region_right(heist_ctx c, heist_frame *f)
{
    struct level below = {f->arg[0].i, 0};
    (void)c;
    CHECK_EQ(heist_run(rt, region, &below), 0);
    f->result.i = below.leaves;
}

/* A loop in parallel whose body is again one: each level is a region. */
static void region(heist_ctx c, void *arg)
{
    struct level *l = arg;
    volatile char locals[LOCALS];
    for (int i = 0; i < LOCALS; i += 1024)
        locals[i] = (char)l->depth;
    l->leaves = l->depth == 0;
    heist_ctx k = c;
    for (int i = 0; l->depth > 0 && i < WIDTH; i++) {
        heist_slot(k)->arg[0].i = l->depth - 1;
        k = heist_fork(k, region_right);
    }
    while (k.frame != c.frame)
        l->leaves += heist_done(&k)->result.i;
    for (int i = 0; i < LOCALS; i += 1024)
        CHECK_EQ(locals[i], (char)l->depth);
}

static int region_task(heist_ctx c, void *arg)
{
    region(c, arg);
    return 0;
}

TEST(five_regions_inside_each_other_with_large_frames_are_right)
{
    static const heist_exposure policy[] = {HEIST_ON_DEMAND, HEIST_EAGER};
    for (unsigned i = 0; i < 6; i++) {
        heist_config config = {.workers = 1 + i / 2,
                               .exposure = policy[i % 2],
                               .stack_bytes = 1 << 20};
        CHECK_EQ(heist_start(&rt, &config), 0);
        struct level top = {LEVELS, 0}, task = {LEVELS, 0};
        heist_scope s;
        heist_scope_open(&s, rt);
        heist_scope_spawn(&s, region_task, &task);
        CHECK_EQ(heist_run(rt, region, &top), 0);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(top.leaves, 243); /* WIDTH to the power of LEVELS */
        CHECK_EQ(task.leaves, 243);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- stacks of many sizes --------------------------------------------------------------- */

static long mapped_mb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    return pages / 256;
}

/* The strands of a runtime that has ended are used by the next one, also if that
 * asks for other stacks. */
TEST(runtimes_with_ever_other_stacks_do_not_use_up_address_space)
{
    enum {
        ROUNDS = 600,
        UNIT_MB = 128,
        SIZES = 8 /* from 16 MiB, larger than any before, to 54 */
    };

    long before = mapped_mb();
    for (size_t i = 0; i < ROUNDS; i++) {
        heist_config config = {.workers = 1,
                               .stack_bytes = (16 << 20) + i * 65536};
        CHECK_EQ(heist_start(&rt, &config), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
    CHECK(mapped_mb() - before <= (2 * SIZES + 16) * UNIT_MB);
}

/* --- stacks that nobody needs ------------------------------------------------------------ */

static long resident_mb(void)
{
    long mapped = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld %ld", &mapped, &resident), 2);
    fclose(f);
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

enum {
    SLEEPERS = 400,
    TOUCHED = 512 << 10
};

static heist_latch morning;

static int sleep_deep(heist_ctx c, void *arg)
{
    volatile char locals[TOUCHED];
    (void)c;
    for (int i = 0; i < TOUCHED; i += 1024)
        locals[i] = 1;
    heist_latch_arrive(arg); /* in bed */
    return heist_latch_wait(&morning, HEIST_FOREVER) + locals[1024] - 1;
}

static void nothing(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = 1;
}

static void sleep_over_frames(heist_ctx c, void *arg)
{
    heist_ctx k = c;
    for (size_t i = 0; i < TOUCHED / sizeof(heist_frame); i++)
        k = heist_fork(k, nothing);
    heist_latch_arrive(arg);
    CHECK_EQ(heist_latch_wait(&morning, HEIST_FOREVER), 0);
    while (k.frame != c.frame)
        heist_done(&k);
}

/* On a strand that has frames only. */
static int sleep_in_a_nested_region(heist_ctx c, void *arg)
{
    (void)c;
    return heist_run(NULL, sleep_over_frames, arg);
}

/* But for so many MB.  Twice: who gave the memory back can use the strand again. */
static void check_memory_comes_back(heist_task_fn *sleep, long but)
{
    /* Sanitizers, valgrind and qemu keep memory of their own for each page: the
     * stages with such tools say so by this. */
    bool tool = getenv("HEIST_NO_FORK") != NULL;
    heist_config config = {.workers = 2, .stack_bytes = 1 << 20};
    CHECK_EQ(heist_start(&rt, &config), 0);
    for (int round = 0; round < 2; round++) {
        heist_latch in_bed;
        heist_scope s;
        long before = resident_mb();
        heist_latch_init(&morning, 1);
        heist_latch_init(&in_bed, SLEEPERS);
        heist_scope_open(&s, rt);
        for (int i = 0; i < SLEEPERS; i++)
            heist_scope_spawn(&s, sleep, &in_bed);
        CHECK_EQ(heist_latch_wait(&in_bed, HEIST_FOREVER), 0);
        CHECK(tool || resident_mb() - before > SLEEPERS / 4); /* MB */
        heist_latch_arrive(&morning);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        while (!tool && resident_mb() - before > but)
            sched_yield();
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(an_idle_worker_gives_back_the_stacks_of_many_waits)
{
    check_memory_comes_back(sleep_deep, SLEEPERS / 16);
}

TEST(an_idle_worker_gives_back_the_frames_of_many_nested_regions)
{
    /* The deque had a ticket for each frame, and does not shrink. */
    check_memory_comes_back(sleep_in_a_nested_region, SLEEPERS / 5);
}

/* --- strands that wake each other for ever ------------------------------------------------ */

enum {
    TURNS = 20000,
    PEAK = 128 << 10 /* bytes; with a ticket for each turn it would be 512 K */
};

static HEIST_ATOMIC(size_t) library_bytes, library_peak;

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    size_t now = heist_add_relaxed(&library_bytes, bytes) + bytes;
    size_t peak = heist_load_relaxed(&library_peak);
    while (now > peak && !heist_cas_relaxed(&library_peak, &peak, now))
        ;
    void *p = NULL;
    return posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes) ? NULL
                                                                          : p;
}

static void count_free(void *user, void *p, size_t bytes)
{
    (void)user;
    heist_sub_relaxed(&library_bytes, bytes);
    free(p);
}

static heist_latch turn[2][TURNS + 1];

/* Waits with a frame open, which it takes back when the other one has exposed his. */
static int take_turns(heist_ctx c, void *arg)
{
    heist_latch(*mine)[TURNS + 1] = arg;
    heist_latch *other = mine == &turn[0] ? turn[1] : turn[0] + 1;
    for (int i = 0; i < TURNS; i++) {
        (void)heist_fork(c, nothing);
        CHECK_EQ(heist_latch_wait(&(*mine)[i], HEIST_FOREVER), 0);
        heist_latch_arrive(&other[i]);
        if (!heist_join(c)) CHECK_EQ(heist_slot(c)->result.i, 1);
    }
    return 0;
}

TEST(strands_that_wake_each_other_need_no_more_memory_with_time)
{
    heist_config config = {.workers = 1,
                           .allocator = {count_alloc, count_free, NULL}};
    CHECK_EQ(heist_start(&rt, &config), 0);
    for (int i = 0; i <= TURNS; i++)
        for (int k = 0; k < 2; k++)
            heist_latch_init(&turn[k][i], 1);
    heist_scope s;
    heist_scope_open(&s, rt);
    heist_scope_spawn(&s, take_turns, &turn[0]);
    heist_scope_spawn(&s, take_turns, &turn[1]);
    heist_latch_arrive(&turn[0][0]);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK(heist_load_relaxed(&library_peak) < PEAK);
    CHECK_EQ(heist_load_relaxed(&library_bytes), 0);
}
