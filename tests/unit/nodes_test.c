/* SPDX-License-Identifier: MIT
 *
 * nodes_test.c: algorithms as nodes of a graph.
 */
#include "pool.h"

#include <errno.h>
#include <heist.h>

static const unsigned pools[] = {1, 2, 8, 70};

enum {
    POOLS = 4,
    N = 20000
};

/* --- what the nodes do ---------------------------------------------------- */

static void fill(heist_ctx c, size_t begin, size_t end, void *arg)
{
    uint64_t *x = arg;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        uint64_t state = i;
        x[i] = test_random(&state) % 1000;
    }
}

static void add_range(heist_ctx c, size_t begin, size_t end, void *sum,
                      void *arg)
{
    const uint64_t *x = arg;
    (void)c;
    for (size_t i = begin; i < end; i++)
        *(uint64_t *)sum += x[i];
}

static void add_one(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static uint64_t x[N], sums[N];

/* What the nodes before have left; the argument is their numbers. */
typedef struct results {
    heist_node fold, reduce, scan;
    uint64_t first; /* what reduce and scan began with */
} results;

static int check_results(heist_ctx c, heist_step *step, void *arg)
{
    const results *r = arg;
    uint64_t sum = r->first;
    (void)c;
    for (size_t i = 0; i < N; i++) {
        CHECK_EQ(sums[i], sum);
        if (i > 0) CHECK(x[i - 1] <= x[i]);
        sum += x[i];
    }
    CHECK(sum > N);
    CHECK_EQ(heist_in(step, r->fold, uint64_t), sum - r->first);
    CHECK_EQ(heist_in(step, r->reduce, uint64_t), sum);
    CHECK_EQ(heist_in(step, r->scan, uint64_t), sum);
    return 0;
}

static heist_graph *build(results *r)
{
    heist_graph *g;
    uint64_t seven = r->first, zero = 0;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node nodes[] = {
        heist_graph_add_for(g, "fill", 0, N, fill, x),
        heist_graph_add_sort(g, "sort", x, N, 8, heist_by_u64, NULL),
        r->fold = heist_graph_add_fold(g, "fold", 0, N, NULL, &zero, 8,
                                       add_range, add_one, x, 0),
        r->reduce = heist_graph_add_reduce(g, "reduce", NULL, &seven, x, N, 8,
                                           add_one, NULL, HEIST_FIXED_TREE),
        r->scan = heist_graph_add_scan(g, "scan", sums, x, N, 8, add_one, NULL,
                                       &seven, NULL, HEIST_EXCLUSIVE),
        heist_graph_add(g, "check", check_results, r)};
    seven = zero = 1; /* they were copied */
    heist_graph_edge(g, nodes[0], nodes[1]);
    heist_graph_precede(g, nodes[1], nodes + 2, 3);
    heist_graph_succeed(g, nodes[5], nodes + 2, 3);
    return g;
}

TEST(algorithms_are_nodes_with_results_for_each_run)
{
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        results r = {.first = 7};
        heist_graph *g = build(&r);
        heist_flow_opts o = {.rt = rt};
        for (int i = 0; i < 10; i++)
            CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_graph_run_n(g, 5, &o, HEIST_FOREVER), 0);
        heist_graph_destroy(g);
        pool_stop(rt);
    }
}

/* --- results elsewhere, arguments that come late -------------------------- */

typedef struct calls {
    heist_for_call fill;
    heist_sort_call sort;
    heist_fold_call fold;
    heist_reduce_call reduce;
    heist_scan_call scan;
    uint64_t zero, folded, reduced, scanned;
} calls;

static int set_calls(heist_ctx c, heist_step *step, void *arg)
{
    calls *k = arg;
    size_t n = *(size_t *)heist_step_context(step);
    (void)c;
    k->fill = (heist_for_call){0, n, fill, x};
    k->sort = (heist_sort_call){x, n, 8, heist_by_u64, NULL};
    k->fold.end = k->reduce.n = k->scan.n = n;
    return 0;
}

TEST(a_node_before_may_set_the_arguments)
{
    heist_runtime *rt = pool_start(2, HEIST_ON_DEMAND);
    heist_graph *g;
    calls k = {.zero = 0};
    k.fold = (heist_fold_call){0,         0,       &k.folded, &k.zero, 8,
                               add_range, add_one, x,         0};
    k.reduce =
        (heist_reduce_call){&k.reduced, &k.zero, x, 0, 8, add_one, NULL, 0};
    k.scan = (heist_scan_call){
        sums, x, 0, 8, add_one, &k.scanned, &k.zero, NULL, HEIST_INCLUSIVE};
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node nodes[] = {heist_graph_add(g, "set", set_calls, &k),
                          heist_graph_call_for(g, "fill", &k.fill),
                          heist_graph_call_sort(g, "sort", &k.sort),
                          heist_graph_call_fold(g, "fold", &k.fold),
                          heist_graph_call_reduce(g, "reduce", &k.reduce),
                          heist_graph_call_scan(g, "scan", &k.scan)};
    CHECK_EQ(heist_graph_linearize(g, nodes, 6), 0);
    for (size_t n = 0; n <= N; n = 3 * n + 1) {
        heist_flow_opts o = {.rt = rt, .context = &n};
        uint64_t sum = 0;
        CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
        for (size_t i = 0; i < n; i++) {
            sum += x[i];
            CHECK_EQ(sums[i], sum);
            if (i > 0) CHECK(x[i - 1] <= x[i]);
        }
        CHECK_EQ(k.folded, sum);
        CHECK_EQ(k.reduced, sum);
        CHECK_EQ(k.scanned, sum);
    }
    heist_graph_destroy(g);
    pool_stop(rt);
}

TEST(without_an_identity_a_node_adds_to_what_is_there)
{
    heist_graph *g;
    uint64_t total = 5;
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_graph_add_reduce(g, "sum", &total, NULL, x, N, 8, add_one, NULL, 0);
    CHECK_EQ(heist_graph_run_n(g, 3, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(total, 5 + 3 * N);
    heist_graph_destroy(g);
}

/* --- without memory ------------------------------------------------------- */

static int budget;

static void *alloc_some(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (budget-- <= 0) return NULL;
    return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

static void free_some(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

TEST(a_node_without_memory_for_its_arguments_fails)
{
    static const heist_allocator few = {alloc_some, free_some, NULL};
    uint64_t zero = 0;
    int failed = 0;
    for (int n = 1; n < 20; n++) {
        heist_graph *g;
        budget = n;
        CHECK_EQ(heist_graph_create(&g, &few), 0);
        heist_graph_add_fold(g, "fold", 0, N, NULL, &zero, 8, add_range,
                             add_one, x, 0);
        heist_graph_add_for(g, "for", 0, N, fill, sums);
        bool enough = budget >= 0;
        budget = 1000;
        int rc = heist_graph_run(g, NULL, HEIST_FOREVER);
        CHECK_EQ(rc, enough ? 0 : -ENOMEM);
        failed += rc < 0;
        heist_graph_destroy(g);
    }
    CHECK(failed > 2);
    CHECK(failed < 19);
}

TEST(a_function_that_is_missing_fails_the_run)
{
    static const uint64_t zero = 0;
    uint64_t few[2] = {1, 2};
    for (int kind = 0; kind < 6; kind++) {
        heist_graph *g = NULL;
        CHECK_EQ(heist_graph_create(&g, NULL), 0);
        if (kind == 0) heist_graph_add_for(g, "for", 0, 2, NULL, few);
        if (kind == 1)
            heist_graph_add_fold(g, "fold", 0, 2, NULL, &zero, sizeof zero,
                                 NULL, NULL, few, 0);
        if (kind == 2)
            heist_graph_add_reduce(g, "sum", NULL, &zero, few, 2, sizeof *few,
                                   NULL, NULL, 0);
        if (kind == 3) heist_graph_add_sort(g, "sort", few, 2, 8, NULL, NULL);
        if (kind == 4)
            heist_graph_add_scan(g, "scan", few, few, 2, sizeof *few, NULL,
                                 NULL, &zero, NULL, HEIST_INCLUSIVE);
        if (kind == 5) heist_graph_add_pipeline(g, "pipeline", NULL);
        CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -EINVAL);
        heist_graph_destroy(g);
    }
}
