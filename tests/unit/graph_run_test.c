/* SPDX-License-Identifier: MIT
 *
 * graph_run_test.c: running graphs: how often, with what data, from where, and
 * what that costs in memory.
 */
#include "../stress/scale.h"
#include "graphs.h"

#include <pthread.h>
#include <sched.h>

/* --- running -------------------------------------------------------------- */

static bool after_some(void *ctx)
{
    int *left = ctx;
    return (*left)-- == 0;
}

TEST(an_empty_graph_runs)
{
    heist_graph *g = create();
    CHECK_EQ(heist_graph_check(g, NULL, 0), 0);
    run(g);
    CHECK_EQ(heist_graph_run_n(g, 1000, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_graph_run_n(g, 0, NULL, HEIST_FOREVER), 0);
    int left = 5;
    heist_flow_opts o = {.context = &left};
    CHECK_EQ(heist_graph_run_until(g, after_some, &o, HEIST_FOREVER), 0);
    CHECK_EQ(left, -1);
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_flow *f = NULL;
    left = 3;
    o = (heist_flow_opts){.done = &done, .context = &left, .until = after_some};
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_wait(f, HEIST_NOW), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(left, -1);
    heist_graph_destroy(g);
}

TEST(an_empty_graph_that_is_run_for_ever_ends_at_the_deadline)
{
    heist_graph *g = create();
    CHECK_EQ(heist_graph_run_until(g, never, NULL,
                                   heist_after(5 * HEIST_MILLISECOND)),
             -ETIMEDOUT);
    heist_graph_destroy(g);
}

TEST(run_n_runs_n_times_and_zero_is_none)
{
    counter k = {0};
    heist_graph *g = counting(&k);
    CHECK_EQ(heist_graph_run_n(g, 0, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 0);
    CHECK_EQ(heist_graph_run_n(g, 1, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 5);
    CHECK_EQ(heist_graph_run_n(g, 100, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 505);
    heist_flow_opts o = {.times = 7};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 540);
    heist_flow *f = NULL;
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(value(&k), 575);
    CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(value(&k), 580);
    heist_graph_destroy(g);
}

typedef struct goal {
    counter *k;
    int wanted, asked;
} goal;

static bool is_reached(void *ctx)
{
    goal *t = ctx;
    t->asked++;
    return value(t->k) >= t->wanted;
}

TEST(run_until_stops_exactly_when_told)
{
    counter k = {0};
    heist_graph *g = counting(&k);
    goal t = {&k, 50, 0};
    heist_flow_opts o = {.context = &t};
    CHECK_EQ(heist_graph_run_until(g, is_reached, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 50);
    CHECK_EQ(t.asked, 11);
    t.asked = 0; /* already true: not a single pass */
    CHECK_EQ(heist_graph_run_until(g, is_reached, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 50);
    CHECK_EQ(t.asked, 1);
    heist_flow *f = NULL;
    o.until = is_reached;
    t = (goal){&k, 100, 0};
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(value(&k), 100);
    CHECK_EQ(t.asked, 11);
    t.asked = 0;
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(value(&k), 100);
    CHECK_EQ(t.asked, 1);
    t = (goal){&k, 1000, 0}; /* whichever comes first */
    o.times = 3;
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 115);
    heist_graph_destroy(g);
}

/* --- outputs and contexts ------------------------------------------------- */

typedef struct adder {
    heist_node a, b;
} adder;

static int put_context(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_out(s, int64_t), 0); /* zeroed for each flow */
    CHECK_EQ((uintptr_t)heist_step_output(s, 8) % 16, 0);
    heist_out(s, int64_t) = *(int *)heist_step_context(s);
    return 0;
}

static int square(heist_ctx c, heist_step *s, void *arg)
{
    const heist_node *before = arg;
    (void)c;
    double x = (double)heist_in(s, *before, int64_t);
    heist_out(s, double) = x * x;
    return 0;
}

static int add_up(heist_ctx c, heist_step *s, void *arg)
{
    const adder *from = arg;
    (void)c;
    heist_out(s, double) =
        heist_in(s, from->a, double) + heist_in(s, from->b, double);
    CHECK(heist_step_input(s, none, 0) == NULL);
    return 0;
}

static int has_no_output(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)arg;
    CHECK(heist_step_output(s, 0) == NULL);
    CHECK(heist_step_input(s, heist_step_node(s), 0) == NULL);
    return 0;
}

enum {
    FLOWS = 40
};

TEST(outputs_and_contexts_belong_to_the_flow)
{
    heist_graph *g = create();
    adder *from = heist_graph_alloc(g, sizeof *from);
    heist_node *in = heist_graph_alloc(g, sizeof *in);
    heist_node nothing = heist_graph_add(g, "nothing", has_no_output, NULL);
    *in = heist_graph_add(g, "in", put_context, NULL);
    from->a = heist_graph_add(g, "a", square, in);
    from->b = heist_graph_add(g, "b", square, in);
    heist_node sum = heist_graph_add(g, "sum", add_up, from);
    CHECK_EQ(heist_graph_output(g, *in, sizeof(int64_t)), 0);
    CHECK_EQ(heist_graph_output(g, from->a, sizeof(double)), 0);
    CHECK_EQ(heist_graph_output(g, from->b, 100000), 0);
    CHECK_EQ(heist_graph_output(g, sum, sizeof(double)), 0);
    CHECK_EQ(heist_graph_precede(g, *in, &from->a, 2), 0);
    CHECK_EQ(heist_graph_succeed(g, sum, &from->a, 2), 0);
    for (int round = 0; round < 10; round++) {
        heist_flow *f[FLOWS];
        int x[FLOWS];
        for (int i = 0; i < FLOWS; i++) {
            x[i] = i + round;
            heist_flow_opts o = {.context = &x[i]};
            CHECK_EQ(heist_flow_start(&f[i], g, &o, HEIST_FOREVER), 0);
        }
        for (int i = 0; i < FLOWS; i++) {
            CHECK_EQ(heist_flow_wait(f[i], HEIST_FOREVER), 0);
            const double *out = heist_flow_output(f[i], sum, sizeof *out);
            CHECK(*out == 2.0 * x[i] * x[i]);
            CHECK(heist_flow_output(f[i], nothing, 0) == NULL);
            CHECK(heist_flow_output(f[i], none, 0) == NULL);
            CHECK_EQ(heist_flow_close(f[i]), 0);
        }
    }
    heist_graph_destroy(g);
}

/* --- who runs, and from where --------------------------------------------- */

static int run_as_task(heist_ctx c, void *g)
{
    (void)c;
    return heist_graph_run(g, NULL, HEIST_FOREVER);
}

TEST(a_task_runs_a_graph)
{
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        heist_runtime *rt = pool_start(workers, HEIST_ON_DEMAND);
        counter k = {0};
        heist_graph *g = counting(&k);
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 100; i++)
            heist_scope_spawn(&s, run_as_task, g);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(value(&k), 500);
        pool_stop(rt);
        heist_graph_destroy(g);
    }
}

typedef struct tower {
    heist_graph *g;
    int height;
    counter *k;
} tower;

static int run_itself(heist_ctx c, heist_step *s, void *arg)
{
    tower *t = heist_step_context(s), below = *t;
    (void)c, (void)arg;
    heist_add_acq_rel(t->k, 1);
    if (below.height-- == 0) return 0;
    heist_flow_opts o = {.context = &below};
    return heist_graph_run(t->g, &o, HEIST_FOREVER);
}

TEST(a_node_runs_its_own_graph)
{
    counter k = {0};
    heist_graph *g = create();
    for (int i = 0; i < 2; i++)
        heist_graph_add(g, NULL, run_itself, NULL);
    tower t = {g, 6, &k};
    heist_flow_opts o = {.context = &t};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 2 + 4 + 8 + 16 + 32 + 64 + 128);
    heist_graph_destroy(g);
}

static void *run_as_thread(void *g)
{
    for (int i = 0; i < 200; i++)
        run(g);
    return NULL;
}

TEST(several_threads_run_one_graph_and_the_first_run_may_be_theirs)
{
    for (int round = 0; round < 5; round++) {
        counter k = {0};
        heist_graph *g = counting(&k);
        pthread_t t[8];
        for (int i = 0; i < 8; i++)
            CHECK_EQ(pthread_create(&t[i], NULL, run_as_thread, g), 0);
        for (int i = 0; i < 8; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(value(&k), 8 * 200 * 5);
        heist_graph_destroy(g);
    }
}

TEST(a_flow_that_was_started_can_be_waited_for)
{
    heist_graph *g = create();
    gate t;
    gate_init(&t);
    heist_graph_add(g, "gate", pass_gate, &t);
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_flow_opts o = {.done = &done};
    heist_flow *f = NULL;
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_wait(f, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(heist_flow_wait(f, heist_after(HEIST_MILLISECOND)), -ETIMEDOUT);
    CHECK(!heist_flow_has_ended(f));
    CHECK_EQ(heist_latch_wait(&done, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(heist_graph_add(g, NULL, NULL, NULL).id, HEIST_NO_NODE);
    heist_latch_arrive(&t.out);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK(heist_flow_has_ended(f));
    CHECK_EQ(heist_flow_wait(f, HEIST_NOW), 0);
    CHECK_EQ(heist_flow_wait(f, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    heist_latch_init(&done, 1);
    counter k = {0};
    CHECK_EQ(heist_graph_set(g, (heist_node){0}, count, &k), 0);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_NOW), 0); /* of a run, too */
    heist_graph_destroy(g);
}

TEST(one_worker_has_many_flows_that_wait)
{
    enum {
        MANY = 200
    };

    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_graph *g = create();
    counter k = {0};
    gate t;
    gate_init(&t);
    heist_latch_init(&t.in, MANY);
    heist_node a = heist_graph_add(g, NULL, pass_gate, &t);
    heist_node b = heist_graph_add(g, NULL, count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    heist_flow *f[MANY];
    heist_flow_opts o = {.rt = rt};
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(heist_flow_start(&f[i], g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0); /* all are in */
    CHECK_EQ(value(&k), 0);
    heist_latch_arrive(&t.out);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(heist_flow_close(f[i]), 0);
    CHECK_EQ(value(&k), MANY);
    pool_stop(rt);
    heist_graph_destroy(g);
}

static counter held, holding;

static int hold(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_acq_rel(&holding, 1);
    while (value(&held))
        sched_yield();
    return 0;
}

TEST(a_start_without_room_or_from_a_runtime_that_stops_is_refused)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    counter k = {0};
    heist_graph *g = counting(&k);
    heist_flow *f[16], *refused = NULL;
    heist_flow_opts o = {.rt = rt};
    heist_store_release(&held, 1);
    heist_store_release(&holding, 0);
    CHECK_EQ(heist_spawn(rt, hold, NULL, NULL, HEIST_FOREVER), 0);
    while (!value(&holding))
        sched_yield();
    int rc = 0, n = 0;
    while (n < 16 && (rc = heist_flow_start(&f[n], g, &o, HEIST_NOW)) == 0)
        n++;
    CHECK_EQ(rc, -EAGAIN);
    heist_time soon = heist_after(HEIST_MILLISECOND);
    CHECK_EQ(heist_flow_start(&refused, g, &o, soon), -ETIMEDOUT);
    CHECK_EQ(heist_stop(rt, heist_after(HEIST_MILLISECOND)), -ETIMEDOUT);
    CHECK_EQ(heist_flow_start(&refused, g, &o, HEIST_NOW), -ESHUTDOWN);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -ESHUTDOWN);
    heist_store_release(&held, 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(heist_flow_close(f[i]), 0);
    pool_stop(rt);
    CHECK_EQ(value(&k), 5 * n);
    heist_graph_destroy(g);
}

/* --- memory --------------------------------------------------------------- */

static HEIST_ATOMIC(long) allocations, outstanding;

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    heist_add_relaxed(&allocations, 1);
    heist_add_relaxed(&outstanding, 1);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    heist_sub_relaxed(&outstanding, 1);
    free(p);
}

static const heist_allocator counted = {count_alloc, count_free, NULL};

/* Eight nodes, a condition, a module, limits, priorities, outputs. */
static heist_graph *small(heist_graph *module, heist_limit *limit, counter *k)
{
    heist_graph *g = NULL;
    heist_node n[8];
    CHECK_EQ(heist_graph_create(&g, &counted), 0);
    for (int i = 0; i < 8; i++)
        n[i] = heist_graph_add(g, "n", count, k);
    CHECK_EQ(heist_graph_precede(g, n[0], n + 1, 6), 0);
    CHECK_EQ(heist_graph_succeed(g, n[7], n + 1, 6), 0);
    CHECK_EQ(heist_graph_output(g, n[0], 64), 0);
    if (!module) return g;
    heist_node m = heist_graph_add_module(g, "m", module, NULL);
    heist_node c = heist_graph_add_condition(g, "c", constant, tag(0));
    CHECK_EQ(heist_graph_edge(g, n[7], c), 0);
    CHECK_EQ(heist_graph_edge(g, c, m), 0);
    CHECK_EQ(heist_graph_limit(g, n[1], limit), 0);
    CHECK_EQ(heist_graph_limit(g, n[2], limit), 0);
    CHECK_EQ(heist_graph_priority(g, n[3], HEIST_HIGH), 0);
    return g;
}

TEST(repeated_runs_allocate_nothing)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 2, .allocator = counted};
    CHECK_EQ(heist_start(&rt, &config), 0);
    counter k = {0};
    heist_limit limit;
    heist_limit_init(&limit, 1);
    heist_graph *plain = small(NULL, NULL, &k);
    heist_graph *rich = small(plain, &limit, &k);
    heist_flow_opts o = {.rt = rt};
    for (int warm = 0; warm < 1000; warm++) {
        CHECK_EQ(heist_graph_run(plain, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_graph_run(rich, &o, HEIST_FOREVER), 0);
    }
    long before = heist_load_relaxed(&allocations);
    int runs = 1000 * 24;
    long n = scaled(1000000);
    for (long i = 0; i < n; i++)
        CHECK_EQ(heist_graph_run(plain, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_graph_run_n(plain, (uint64_t)n, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_graph_run_n(rich, (uint64_t)n / 4, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&allocations), before);
    CHECK_EQ(value(&k), runs + 16 * n + n / 4 * 16);
    heist_graph_destroy(rich);
    heist_graph_destroy(plain);
    pool_stop(rt);
    CHECK_EQ(heist_load_relaxed(&outstanding), 0);
}

TEST(flows_allocate_nothing_if_as_many_were_there_before)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    counter k = {0};
    heist_graph *g = small(NULL, NULL, &k);
    heist_flow *f[30];
    heist_flow_opts o = {.rt = rt};
    long before = 0;
    for (int round = 0; round < 10; round++) {
        if (round == 1) before = heist_load_relaxed(&allocations);
        for (int i = 0; i < 30; i++)
            CHECK_EQ(heist_flow_start(&f[i], g, &o, HEIST_FOREVER), 0);
        for (int i = 0; i < 30; i++)
            CHECK_EQ(heist_flow_close(f[i]), 0);
    }
    CHECK_EQ(heist_load_relaxed(&allocations), before);
    CHECK_EQ(value(&k), 10 * 30 * 8);
    pool_stop(rt);
    heist_graph_destroy(g);
    CHECK_EQ(heist_load_relaxed(&outstanding), 0);
}

/* --- size ----------------------------------------------------------------- */

static int in_turn(heist_ctx c, heist_step *s, void *arg)
{
    long *turn = arg;
    (void)c;
    CHECK_EQ(heist_step_node(s).id, *turn);
    ++*turn;
    return 0;
}

TEST(a_long_chain_runs_in_order)
{
    heist_graph *g = create();
    long n = scaled(1000000), turn = 0;
    heist_node before = none;
    for (long i = 0; i < n; i++) {
        heist_node a = heist_graph_add(g, NULL, in_turn, &turn);
        if (i) CHECK_EQ(heist_graph_edge(g, before, a), 0);
        before = a;
    }
    for (int round = 0; round < 2; round++) {
        turn = 0;
        run(g);
        CHECK_EQ(turn, n);
    }
    heist_graph_destroy(g);
}

typedef struct tree {
    HEIST_ATOMIC(uint8_t) *done;
} tree;

static int after_parent(heist_ctx c, heist_step *s, void *arg)
{
    tree *t = arg;
    uint32_t id = heist_step_node(s).id;
    (void)c;
    if (id > 0) CHECK_EQ(heist_load_relaxed(&t->done[(id - 1) / 2]), 1);
    CHECK_EQ(heist_swap_relaxed(&t->done[id], 1), 0);
    return 0;
}

TEST(a_large_tree_runs_from_its_root)
{
    heist_graph *g = create();
    long n = scaled(1000000);
    tree t = {calloc((size_t)n, 1)};
    CHECK(t.done != NULL);
    for (long i = 0; i < n; i++)
        heist_graph_add(g, NULL, after_parent, &t);
    for (uint32_t i = 1; i < (uint32_t)n; i++)
        CHECK_EQ(
            heist_graph_edge(g, (heist_node){(i - 1) / 2}, (heist_node){i}), 0);
    for (int round = 0; round < 2; round++) {
        memset((void *)t.done, 0, (size_t)n);
        run(g);
        for (long i = 0; i < n; i++)
            CHECK_EQ(heist_load_relaxed(&t.done[i]), 1);
    }
    heist_graph_destroy(g);
    free((void *)t.done);
}
