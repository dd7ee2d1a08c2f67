/* SPDX-License-Identifier: MIT
 *
 * graph_limit_test.c: at most so many nodes at a time.
 */
#include "graph/flow.h"
#include "graphs.h"

#include <sched.h>

typedef struct crowd {
    counter inside, most, total;
} crowd;

/* Waits inside, so that others come even on one worker. */
static int wait_in_crowd(heist_ctx c, heist_step *s, void *arg)
{
    crowd *k = arg;
    heist_latch never_open;
    (void)c, (void)s;
    int now = heist_add_acq_rel(&k->inside, 1) + 1;
    if (now > value(&k->most)) heist_store_release(&k->most, now);
    heist_latch_init(&never_open, 1);
    heist_latch_wait(&never_open, heist_after(20 * HEIST_MICROSECOND));
    heist_add_acq_rel(&k->total, 1);
    heist_sub_acq_rel(&k->inside, 1);
    return 0;
}

TEST(never_more_than_the_limit_run_at_a_time)
{
    static const int limits[] = {1, 3, 100};
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        heist_runtime *rt = pool_start(workers, HEIST_ON_DEMAND);
        for (size_t i = 0; i < 3; i++) {
            heist_limit limit;
            heist_limit_init(&limit, (uint64_t)limits[i]);
            crowd k = {{0}, {0}, {0}};
            heist_graph *g = create();
            for (int n = 0; n < 40; n++)
                CHECK_EQ(
                    heist_graph_limit(
                        g, heist_graph_add(g, NULL, wait_in_crowd, &k), &limit),
                    0);
            heist_flow_opts o = {.rt = rt};
            CHECK_EQ(heist_graph_run_n(g, 3, &o, HEIST_FOREVER), 0);
            CHECK(value(&k.most) <= limits[i]);
            CHECK_EQ(value(&k.total), 120);
            CHECK_EQ(limit.free, (uint64_t)limits[i]);
            heist_graph_destroy(g);
        }
        pool_stop(rt);
    }
}

enum {
    LIMITS = 3,
    BOUND = 60
};

typedef struct market {
    heist_limit limit[LIMITS];
    crowd crowd[LIMITS];
    int allowed[LIMITS];
} market;

typedef struct buyer {
    market *m;
    unsigned which; /* a bit for each limit */
} buyer;

static int buy(heist_ctx c, heist_step *s, void *arg)
{
    buyer *b = arg;
    (void)c, (void)s;
    for (int i = 0; i < LIMITS; i++)
        if (b->which >> i & 1)
            CHECK(heist_add_acq_rel(&b->m->crowd[i].inside, 1) <
                  b->m->allowed[i]);
    if (b->which & 1) sched_yield();
    for (int i = 0; i < LIMITS; i++)
        if (b->which >> i & 1) {
            heist_sub_acq_rel(&b->m->crowd[i].inside, 1);
            heist_add_acq_rel(&b->m->crowd[i].total, 1);
        }
    return 0;
}

/* Each bound to some of the limits, in any order. */
static heist_graph *shopping(market *m, uint64_t *random)
{
    heist_graph *g = create();
    for (int i = 0; i < BOUND; i++) {
        buyer *b = heist_graph_alloc(g, sizeof *b);
        *b = (buyer){m, (unsigned)i % 8};
        heist_node n = heist_graph_add(g, NULL, buy, b);
        int first = (int)(test_random(random) % LIMITS);
        for (int k = 0; k < LIMITS; k++) {
            int l = (first + k) % LIMITS;
            if (b->which >> l & 1)
                CHECK_EQ(heist_graph_limit(g, n, &m->limit[l]), 0);
        }
    }
    return g;
}

static market *open_market(void)
{
    static market m;
    m = (market){.allowed = {1, 2, 3}};
    for (int i = 0; i < LIMITS; i++)
        heist_limit_init(&m.limit[i], (uint64_t)m.allowed[i]);
    return &m;
}

TEST(several_limits_hold_for_one_node_and_in_several_graphs_at_once)
{
    uint64_t random = test_seed;
    market *m = open_market();
    heist_graph *g[2] = {shopping(m, &random), shopping(m, &random)};
    heist_runtime *rt = pool_start(3, HEIST_ON_DEMAND);
    int flows = 0;
    for (int round = 0; round < 20; round++) {
        heist_flow *f[6];
        for (int i = 0; i < 6; i++) {
            /* two runtimes, too */
            heist_flow_opts o = {.rt = i % 3 ? rt : NULL};
            CHECK_EQ(heist_flow_start(&f[i], g[i % 2], &o, HEIST_FOREVER), 0);
        }
        run(g[0]);
        for (int i = 0; i < 6; i++)
            CHECK_EQ(heist_flow_close(f[i]), 0);
        flows += 7;
    }
    for (int i = 0; i < LIMITS; i++) {
        int each = 0;
        for (int n = 0; n < BOUND; n++)
            each += n % 8 >> i & 1;
        CHECK_EQ(value(&m->crowd[i].total), flows * each);
        CHECK_EQ(m->limit[i].free, (uint64_t)m->allowed[i]);
    }
    pool_stop(rt);
    heist_graph_destroy(g[0]);
    heist_graph_destroy(g[1]);
}

static int serial_children(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    heist_node before = none;
    (void)c;
    for (int i = 0; i < 10; i++) {
        heist_node n = heist_graph_add(sub, NULL, wait_in_crowd, arg);
        if (i) CHECK_EQ(heist_graph_edge(sub, before, n), 0);
        before = n;
    }
    return 0;
}

TEST(a_limit_is_held_until_the_subflow_or_module_is_done)
{
    crowd k = {{0}, {0}, {0}};
    heist_limit limit;
    heist_limit_init(&limit, 1);
    heist_graph *m = create(), *g = create();
    heist_graph_add(m, NULL, serial_children, &k);
    for (int i = 0; i < 10; i++) {
        heist_node n = i % 2 ? heist_graph_add(g, NULL, serial_children, &k)
                             : heist_graph_add_module(g, NULL, m, NULL);
        CHECK_EQ(heist_graph_limit(g, n, &limit), 0);
    }
    CHECK_EQ(heist_graph_run_n(g, 20, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k.total), 2000);
    CHECK_EQ(value(&k.most), 1);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

static int in_line(heist_limit *limit)
{
    hi_lock *lock = heist_container(&limit->lock, hi_lock, word);
    int waiting = 0;
    hi_lock_take(lock);
    for (hi_wait *w = limit->first; w; w = w->next)
        waiting++;
    hi_lock_give(lock);
    return waiting;
}

TEST(who_came_first_to_a_limit_is_served_first)
{
    enum {
        QUEUE = 20
    };

    heist_limit limit;
    heist_limit_init(&limit, 1);
    gate t;
    gate_init(&t);
    heist_graph *g[QUEUE + 1];
    heist_flow *f[QUEUE + 1];
    trace_clear();
    for (int i = 0; i <= QUEUE; i++) {
        g[i] = create();
        heist_node n = i == 0 ? heist_graph_add(g[i], "gate", pass_gate, &t)
                              : heist_graph_add(g[i], "next", note, tag(i));
        CHECK_EQ(heist_graph_limit(g[i], n, &limit), 0);
        CHECK_EQ(heist_flow_start(&f[i], g[i], NULL, HEIST_FOREVER), 0);
        if (i == 0) CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
        while (in_line(&limit) < i)
            sched_yield();
    }
    heist_latch_arrive(&t.out);
    for (int i = 0; i <= QUEUE; i++) {
        CHECK_EQ(heist_flow_close(f[i]), 0);
        heist_graph_destroy(g[i]);
    }
    for (int i = 1; i <= QUEUE; i++)
        CHECK_EQ(when(i), i - 1);
}

/* A flow that has the only one of the limit until the gate is opened. */
static heist_flow *hold_limit(heist_graph *g, heist_limit *limit, gate *t)
{
    heist_flow *f = NULL;
    heist_limit_init(limit, 1);
    gate_init(t);
    heist_node n = heist_graph_add(g, "gate", pass_gate, t);
    CHECK_EQ(heist_graph_limit(g, n, limit), 0);
    CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t->in, HEIST_FOREVER), 0);
    return f;
}

TEST(a_runtime_does_not_stop_while_a_flow_of_it_waits_for_a_limit)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_limit limit;
    counter k = {0};
    gate t;
    heist_graph *a = create(), *b = create();
    heist_flow *fa = hold_limit(a, &limit, &t), *fb = NULL;
    heist_flow_opts o = {.rt = rt};
    heist_node n = heist_graph_add(b, "waits", count, &k);
    CHECK_EQ(heist_graph_limit(b, n, &limit), 0);
    CHECK_EQ(heist_flow_start(&fb, b, &o, HEIST_FOREVER), 0);
    while (in_line(&limit) < 1)
        sched_yield();
    CHECK_EQ(heist_stop(rt, heist_after(HEIST_MILLISECOND)), -ETIMEDOUT);
    heist_latch_arrive(&t.out);
    pool_stop(rt);
    CHECK_EQ(heist_flow_close(fa), 0);
    CHECK_EQ(heist_flow_close(fb), 0);
    CHECK_EQ(value(&k), 1);
    heist_graph_destroy(a);
    heist_graph_destroy(b);
}

TEST(a_flow_is_cancelled_while_its_nodes_wait_for_a_limit)
{
    heist_limit limit;
    heist_limit_init(&limit, 1);
    counter k = {0};
    heist_graph *g = create();
    gate t;
    heist_node a = heist_graph_add(g, "gate", pass_gate, &t);
    CHECK_EQ(heist_graph_limit(g, a, &limit), 0);
    for (int i = 0; i < 20; i++) {
        heist_node n = heist_graph_add(g, NULL, count, &k);
        CHECK_EQ(heist_graph_limit(g, n, &limit), 0);
    }
    for (int round = 0; round < 20; round++) {
        heist_flow *f = NULL;
        gate_init(&t);
        CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
        heist_store_release(&k, 0);
        heist_flow_cancel(f);
        heist_latch_arrive(&t.out);
        CHECK_EQ(heist_flow_close(f), -ECANCELED);
        CHECK_EQ(value(&k), 0);
        CHECK_EQ(limit.free, 1);
    }
    gate_init(&t);
    heist_latch_arrive(&t.out);
    run(g);
    CHECK_EQ(value(&k), 20);
    heist_graph_destroy(g);
}

TEST(a_cancelled_flow_does_not_wait_for_a_limit_that_another_one_has)
{
    heist_limit limit;
    counter k = {0};
    gate t;
    heist_graph *a = create(), *b = create();
    heist_flow *fa = hold_limit(a, &limit, &t), *fb = NULL;
    for (int i = 0; i < 3; i++) {
        heist_node n = heist_graph_add(b, "waits", count, &k);
        CHECK_EQ(heist_graph_limit(b, n, &limit), 0);
    }
    CHECK_EQ(heist_flow_start(&fb, b, NULL, HEIST_FOREVER), 0);
    heist_flow_cancel(fb);
    CHECK_EQ(heist_flow_close(fb), -ECANCELED);
    heist_time soon = heist_after(5 * HEIST_MILLISECOND);
    CHECK_EQ(heist_graph_run(b, NULL, soon), -ETIMEDOUT);
    heist_flow_opts o = {.deadline = heist_after(5 * HEIST_MILLISECOND)};
    CHECK_EQ(heist_flow_start(&fb, b, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(fb), -ETIMEDOUT);
    CHECK_EQ(value(&k), 0);
    heist_latch_arrive(&t.out);
    CHECK_EQ(heist_flow_close(fa), 0);
    run(b);
    CHECK_EQ(value(&k), 3);
    CHECK_EQ(limit.free, 1);
    heist_graph_destroy(a);
    heist_graph_destroy(b);
}
