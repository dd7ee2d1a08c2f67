/* SPDX-License-Identifier: MIT
 *
 * pipeline_fault.c: pipelines that get no memory.
 *
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#include "fault.h"
#include "tokens.h"

static int run_on(heist_runtime *rt, watch *w, size_t lines)
{
    heist_pipeline_opts o = {.rt = rt, .allocator = &fault_allocator};
    watch_init(w, 4, 2, lines, 500);
    w->seed = test_seed;
    return heist_pipeline_run(&w->pipeline, &o, HEIST_FOREVER);
}

static void check(watch *w, int rc, bool hit)
{
    if (rc == 0) {
        watch_check(w);
        return;
    }
    CHECK(hit);
    CHECK_EQ(rc, -ENOMEM);
    CHECK_EQ(heist_load_relaxed(&w->made), 0);
}

TEST(without_memory_a_pipeline_makes_no_token_or_all)
{
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++)
        for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER;
             exposure++) {
            long n = 1;
            for (bool hit = true; hit; n++) {
                heist_runtime *rt = fault_start(2, (heist_exposure)exposure);
                watch w;
                fault_arm(FAULT_MEMORY, n, (fault_how)how);
                int rc = run_on(rt, &w, 200);
                hit = fault_disarm() > 0;
                check(&w, rc, hit);
                fault_check_works(rt);
                fault_stop(rt);
            }
            CHECK(n > 2);
        }
}

typedef struct full {
    heist_runtime *rt;
    size_t lines;
    long hits;
} full;

/* As many tasks as a deque has room for at first, then a pipeline. */
static int run_above_tasks(heist_ctx c, void *arg)
{
    full *k = arg;
    watch w;
    (void)c;
    for (int i = 0; i < 64; i++)
        CHECK_EQ(heist_spawn(k->rt, fault_count_one, NULL, NULL, HEIST_NOW), 0);
    fault_arm(FAULT_HOOK, 2, FAULT_EVER_ON); /* 1: the lines */
    int rc = run_on(k->rt, &w, k->lines);
    k->hits = fault_disarm();
    CHECK_EQ(rc, 0);
    watch_check(&w);
    return 0;
}

TEST(lines_that_find_no_room_in_the_deque_run_all_the_same)
{
    for (unsigned workers = 1; workers < 5; workers += 3)
        for (size_t lines = 1; lines < 9; lines++) {
            heist_runtime *rt = fault_start(workers, HEIST_EAGER);
            full k = {.rt = rt, .lines = lines};
            heist_store_relaxed(&fault_ran, 0);
            CHECK_EQ(heist_spawn(rt, run_above_tasks, &k, NULL, HEIST_FOREVER),
                     0);
            fault_stop(rt);
            CHECK_EQ(heist_load_relaxed(&fault_ran), 64);
            /* With others around they make room, perhaps. */
            if (workers == 1 && lines > 1) CHECK(k.hits > 0);
        }
}

static long calls_of_a_run(heist_runtime *rt, uint64_t tokens)
{
    watch w;
    heist_pipeline_opts o = {.rt = rt, .allocator = &fault_allocator};
    watch_init(&w, 4, 2, 4, tokens);
    fault_arm(FAULT_HOOK, INT64_MAX, FAULT_ONCE);
    CHECK_EQ(heist_pipeline_run(&w.pipeline, &o, HEIST_FOREVER), 0);
    fault_disarm();
    watch_check(&w);
    return heist_load_relaxed(&fault.calls);
}

TEST(memory_is_asked_for_once_whatever_the_number_of_tokens)
{
    heist_runtime *rt = fault_start(2, HEIST_EAGER);
    CHECK_EQ(calls_of_a_run(rt, 1), 1);
    CHECK_EQ(calls_of_a_run(rt, 10000), 1);
    fault_tally before = fault_count();
    CHECK_EQ(calls_of_a_run(rt, 100), 1);
    fault_check_nothing_left(before);
    fault_stop(rt);
}

TEST(a_pipeline_uses_the_allocator_of_its_graph)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    heist_graph *g;
    watch w;
    heist_flow_opts o = {.rt = rt};
    watch_init(&w, 4, 2, 4, 100);
    CHECK_EQ(heist_graph_create(&g, &fault_allocator), 0);
    heist_graph_add_pipeline(g, "watched", &w.pipeline);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    watch_init(&w, 4, 2, 4, 100);
    fault_arm(FAULT_HOOK, 1, FAULT_ONCE);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -ENOMEM);
    CHECK_EQ(fault_disarm(), 1);
    CHECK_EQ(heist_load_relaxed(&w.made), 0);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    watch_check(&w);
    heist_graph_destroy(g);
    fault_stop(rt);
}

TEST(a_pipeline_without_a_runtime_runs_here)
{
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    watch w;
    watch_init(&w, 4, 2, 4, 100);
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_pipeline_run(&w.pipeline, NULL, HEIST_FOREVER), 0);
    CHECK(fault_disarm() > 0);
    watch_check(&w);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}
