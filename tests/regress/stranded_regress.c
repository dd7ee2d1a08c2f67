/* SPDX-License-Identifier: MIT
 *
 * What is ready is not stranded behind a node that takes long: one that waits
 * for another ready node of its flow gets what it waits for, and so does one
 * that spins, if there is a second worker.  A flow begins in the hands of one
 * worker; whatever it holds then must be had by others.  What is stranded is
 * seen as a test that stands still.
 */
#include "../stress/scale.h"
#include "pool.h"

#include <heist.h>
#include <heist/graph.h>
#include <pthread.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) flag;

enum {
    WIDE = 50
};

static heist_graph *create(void)
{
    heist_graph *g = NULL;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    return g;
}

/* --- one waits for the other ---------------------------------------------- */

typedef struct link {
    heist_latch open;
    flag set;
    flag ran; /* of all its nodes together */
} link;

static void link_init(link *l)
{
    heist_latch_init(&l->open, 1);
    heist_store_relaxed(&l->set, 0);
    heist_store_relaxed(&l->ran, 0);
}

static int nothing(heist_ctx c, heist_step *s, void *arg)
{
    link *l = arg;
    (void)c, (void)s;
    heist_add_relaxed(&l->ran, 1);
    return 0;
}

static int open_it(heist_ctx c, heist_step *s, void *arg)
{
    link *l = arg;
    heist_store_release(&l->set, 1);
    heist_latch_arrive(&l->open);
    return nothing(c, s, arg);
}

static int wait_for_it(heist_ctx c, heist_step *s, void *arg)
{
    link *l = arg;
    CHECK_EQ(heist_latch_wait(&l->open, HEIST_FOREVER), 0);
    return nothing(c, s, arg);
}

static int spin_for_it(heist_ctx c, heist_step *s, void *arg)
{
    link *l = arg;
    while (!heist_load_acquire(&l->set))
        sched_yield();
    return nothing(c, s, arg);
}

static void right_half(heist_ctx c, heist_frame *f)
{
    link *l = f->arg[0].p;
    (void)c;
    CHECK_EQ(heist_latch_wait(&l->open, HEIST_FOREVER), 0);
}

/* Waits in what it has forked. */
static int fork_and_wait(heist_ctx c, heist_step *s, void *arg)
{
    link *l = arg;
    heist_frame *right = heist_slot(c);
    right->arg[0].p = l;
    heist_ctx left = heist_fork(c, right_half);
    (void)left;
    CHECK_EQ(heist_latch_wait(&l->open, HEIST_FOREVER), 0);
    if (heist_join(c)) CHECK_EQ(heist_latch_wait(&l->open, HEIST_FOREVER), 0);
    return nothing(c, s, arg);
}

static int subflow_waits(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    heist_node a = heist_graph_add(sub, NULL, NULL, NULL);
    heist_node b = heist_graph_add(sub, NULL, wait_for_it, arg);
    CHECK_EQ(heist_graph_edge(sub, a, b), 0);
    return nothing(c, s, arg);
}

static int join_waits(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph_add(heist_step_subflow(s), NULL, wait_for_it, arg);
    CHECK_EQ(heist_step_join(s), 0);
    return nothing(c, s, arg);
}

static int run_graph_that_waits(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *g = create();
    heist_graph_add(g, NULL, nothing, arg);
    heist_graph_add(g, NULL, wait_for_it, arg);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), 0);
    heist_graph_destroy(g);
    return nothing(c, s, arg);
}

typedef struct kind {
    heist_node_fn *fn;
    unsigned least; /* workers that it needs */
    int nodes;      /* that it runs */
} kind;

static const kind kinds[] = {
    {wait_for_it, 1, 1}, {spin_for_it, 2, 1},   {fork_and_wait, 1, 1},
    {join_waits, 1, 2},  {subflow_waits, 1, 2}, {run_graph_that_waits, 1, 3}};

enum {
    KINDS = sizeof kinds / sizeof *kinds
};

/* How it is run. */
typedef enum way {
    BY_CALLER,
    BY_WORKERS,
    BY_TASK,
    WAYS
} way;

static int run_as_task(heist_ctx c, void *g)
{
    (void)c;
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), 0);
    return 0;
}

static void run(heist_runtime *rt, heist_graph *g, way how)
{
    heist_flow_opts o = {.rt = rt};
    heist_flow *f = NULL;
    heist_latch done;
    switch (how) {
    case BY_CALLER: CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0); break;
    case BY_WORKERS:
        CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_flow_close(f), 0);
        break;
    default:
        heist_latch_init(&done, 1);
        CHECK_EQ(heist_spawn(rt, run_as_task, g, &done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    }
}

/* Calls `build` for a graph of each kind of long node, and runs it in all ways
 * on runtimes of all kinds. */
static void for_all(heist_graph *(*build)(link *l, heist_node_fn *fn),
                    int nodes)
{
    for (int e = HEIST_ON_DEMAND; e <= HEIST_EAGER; e++) {
        for (unsigned workers = 1; workers <= 3; workers++) {
            heist_runtime *rt = pool_start(workers, (heist_exposure)e);
            for (int i = 0; i < KINDS * WAYS; i++) {
                const kind *k = &kinds[i / WAYS];
                if (workers < k->least) continue;
                link l;
                heist_graph *g = build(&l, k->fn);
                for (long n = scaled(10); n > 0; n--) {
                    link_init(&l);
                    run(rt, g, (way)(i % WAYS));
                    CHECK_EQ(heist_load_acquire(&l.ran), nodes + k->nodes);
                }
                heist_graph_destroy(g);
            }
            pool_stop(rt);
        }
    }
}

static heist_graph *build_before(link *l, heist_node_fn *fn)
{
    heist_graph *g = create();
    heist_graph_add(g, "long", fn, l);
    heist_graph_add(g, "other", open_it, l);
    return g;
}

static heist_graph *build_after(link *l, heist_node_fn *fn)
{
    heist_graph *g = create();
    heist_graph_add(g, "other", open_it, l);
    heist_graph_add(g, "long", fn, l);
    return g;
}

TEST(of_two_ready_nodes_one_may_wait_for_the_other)
{
    for_all(build_before, 1);
    for_all(build_after, 1);
}

/* The long one is somewhere, the other one somewhere else, among light ones
 * that a source releases. */
static heist_graph *build_wide(link *l, heist_node_fn *fn)
{
    static uint64_t random;
    if (!random) random = test_seed;
    int one = (int)(test_random(&random) % WIDE);
    int other =
        (int)((unsigned)one + 1 + test_random(&random) % (WIDE - 1)) % WIDE;
    heist_graph *g = create();
    heist_node source = heist_graph_add(g, NULL, nothing, l);
    heist_node sink = heist_graph_add(g, NULL, nothing, l);
    for (int i = 0; i < WIDE; i++) {
        heist_node_fn *f = i == one ? fn : i == other ? open_it : nothing;
        heist_node n = heist_graph_add(g, NULL, f, l);
        CHECK_EQ(heist_graph_edge(g, source, n), 0);
        CHECK_EQ(heist_graph_edge(g, n, sink), 0);
    }
    return g;
}

TEST(among_many_ready_nodes_one_may_wait_for_any_other)
{
    for (long i = scaled(3); i > 0; i--)
        for_all(build_wide, WIDE + 1);
}

/* Long after the flow has begun, light as it was. */
static heist_graph *build_late(link *l, heist_node_fn *fn)
{
    heist_graph *g = create();
    heist_node before = heist_graph_add(g, NULL, nothing, l);
    for (int i = 1; i < 5 * WIDE; i++) {
        heist_node n = heist_graph_add(g, NULL, nothing, l);
        CHECK_EQ(heist_graph_edge(g, before, n), 0);
        before = n;
    }
    heist_node a = heist_graph_add(g, NULL, fn, l);
    heist_node b = heist_graph_add(g, NULL, nothing, l);
    heist_node d = heist_graph_add(g, NULL, open_it, l);
    CHECK_EQ(heist_graph_edge(g, before, a), 0);
    CHECK_EQ(heist_graph_edge(g, before, b), 0);
    CHECK_EQ(heist_graph_edge(g, b, d), 0);
    return g;
}

TEST(a_long_node_at_the_end_of_many_light_ones_strands_nothing)
{
    for_all(build_late, 5 * WIDE + 2);
}

/* The same while others do so, too: an owner often waits for who has its frame and
 * for a processor, and keeps watch meanwhile. */
static void *strand_nothing(void *unused)
{
    for (long n = scaled(10); n > 0; n--)
        for_all(build_late, 5 * WIDE + 2);
    return unused;
}

TEST(nor_do_many_runtimes_side_by_side)
{
    enum {
        SIDES = 6
    };

    pthread_t side[SIDES];
    for (int i = 0; i < SIDES; i++)
        CHECK_EQ(pthread_create(&side[i], NULL, strand_nothing, NULL), 0);
    for (int i = 0; i < SIDES; i++)
        CHECK_EQ(pthread_join(side[i], NULL), 0);
}

static heist_graph *build_urgent(link *l, heist_node_fn *fn)
{
    heist_graph *g = create();
    for (int i = 0; i < WIDE; i++)
        heist_graph_add(g, NULL, nothing, l);
    heist_node a = heist_graph_add(g, NULL, fn, l);
    heist_node b = heist_graph_add(g, NULL, open_it, l);
    CHECK_EQ(heist_graph_priority(g, a, HEIST_CRITICAL), 0);
    CHECK_EQ(heist_graph_priority(g, b, HEIST_LOW), 0);
    return g;
}

TEST(the_most_urgent_node_may_wait_for_the_least_urgent)
{
    for_all(build_urgent, WIDE + 1);
}

static heist_limit limit;

static heist_graph *build_limited(link *l, heist_node_fn *fn)
{
    heist_limit_init(&limit, 2);
    heist_graph *g = create();
    for (int i = 0; i < WIDE; i++) {
        heist_node_fn *f = i == 0 ? fn : i == WIDE - 1 ? open_it : nothing;
        heist_node n = heist_graph_add(g, NULL, f, l);
        CHECK_EQ(heist_graph_limit(g, n, &limit), 0);
    }
    return g;
}

TEST(a_node_with_a_limit_may_wait_for_one_that_waits_for_the_limit)
{
    for_all(build_limited, WIDE - 1);
}

/* --- each waits for the next ---------------------------------------------- */

typedef struct line {
    heist_latch *mine, *next;
} line;

static int open_and_wait(heist_ctx c, heist_step *s, void *arg)
{
    line *l = arg;
    (void)c, (void)s;
    heist_latch_arrive(l->mine);
    return heist_latch_wait(l->next, HEIST_FOREVER);
}

/* In whatever order they start, all but one have to wait. */
TEST(all_ready_nodes_wait_for_each_other)
{
    static heist_latch latch[WIDE];
    static line lines[2][WIDE];
    heist_graph *g[2] = {create(), create()};
    for (int i = 0; i < WIDE; i++) {
        int up = (i + 1) % WIDE, down = (i + WIDE - 1) % WIDE;
        lines[0][i] = (line){&latch[i], &latch[up]};
        lines[1][i] = (line){&latch[i], &latch[down]};
        heist_graph_add(g[0], NULL, open_and_wait, &lines[0][i]);
        heist_graph_add(g[1], NULL, open_and_wait, &lines[1][i]);
    }
    for (int e = HEIST_ON_DEMAND; e <= HEIST_EAGER; e++) {
        for (unsigned workers = 1; workers <= 3; workers++) {
            heist_runtime *rt = pool_start(workers, (heist_exposure)e);
            for (long n = scaled(50) * WAYS; n > 0; n--) {
                for (int i = 0; i < WIDE; i++)
                    heist_latch_init(&latch[i], 1);
                run(rt, g[n / WAYS % 2], (way)(n % WAYS));
            }
            pool_stop(rt);
        }
    }
    heist_graph_destroy(g[0]);
    heist_graph_destroy(g[1]);
}

TEST(flows_on_one_worker_wait_for_each_other)
{
    static heist_latch latch[WIDE];
    static line lines[WIDE];
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_graph *g[WIDE];
    for (int i = 0; i < WIDE; i++) {
        lines[i] = (line){&latch[i], &latch[(i + 1) % WIDE]};
        g[i] = create();
        heist_graph_add(g[i], NULL, open_and_wait, &lines[i]);
    }
    for (long n = scaled(100); n > 0; n--) {
        heist_flow *f[WIDE];
        heist_flow_opts o = {.rt = rt};
        for (int i = 0; i < WIDE; i++)
            heist_latch_init(&latch[i], 1);
        for (int i = 0; i < WIDE; i++)
            CHECK_EQ(heist_flow_start(&f[i], g[i], &o, HEIST_FOREVER), 0);
        for (int i = 0; i < WIDE; i++)
            CHECK_EQ(heist_flow_close(f[i]), 0);
    }
    pool_stop(rt);
    for (int i = 0; i < WIDE; i++)
        heist_graph_destroy(g[i]);
}

/* --- flows that never end by themselves ----------------------------------- */

static flag over;

static bool is_over(void *ctx)
{
    (void)ctx;
    return heist_load_acquire(&over);
}

static int ask(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s, (void)arg;
    return heist_load_acquire(&over);
}

static int end_it(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&over, 1);
    return 0;
}

/* One worker, a flow that goes on until a task has run that comes later. */
static void check_fair(heist_graph *g, bool (*until)(void *ctx))
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    for (long n = scaled(100); n > 0; n--) {
        heist_flow *f = NULL;
        heist_flow_opts o = {.rt = rt, .until = until};
        heist_store_release(&over, 0);
        CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_spawn(rt, end_it, NULL, NULL, HEIST_FOREVER), 0);
        CHECK_EQ(heist_flow_close(f), 0);
    }
    pool_stop(rt);
}

TEST(a_flow_of_endless_passes_leaves_room_for_tasks)
{
    link l;
    link_init(&l);
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, NULL, nothing, &l);
    heist_node b = heist_graph_add(g, NULL, nothing, &l);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    check_fair(g, is_over);
    heist_graph_destroy(g);
}

TEST(an_endless_loop_of_conditions_leaves_room_for_tasks)
{
    for (int urgent = 0; urgent < 2; urgent++) {
        heist_graph *g = create();
        heist_node a = heist_graph_add(g, NULL, NULL, NULL);
        heist_node b = heist_graph_add(g, NULL, NULL, NULL);
        heist_node c = heist_graph_add_condition(g, NULL, ask, NULL);
        heist_node end = heist_graph_add(g, NULL, NULL, NULL);
        CHECK_EQ(heist_graph_linearize(g, (heist_node[]){a, b, c}, 3), 0);
        CHECK_EQ(heist_graph_edge(g, c, b), 0);
        CHECK_EQ(heist_graph_edge(g, c, end), 0);
        if (urgent) CHECK_EQ(heist_graph_priority(g, b, HEIST_HIGH), 0);
        check_fair(g, NULL);
        heist_graph_destroy(g);
    }
}
