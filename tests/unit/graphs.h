/* SPDX-License-Identifier: MIT */
#ifndef TEST_GRAPHS_H
#define TEST_GRAPHS_H

/*
 * What the tests of graphs share: nodes that count, that fail, that note when
 * they ran, that wait; and what is checked of a graph in several places.
 */
#include "pool.h"

#include <errno.h>
#include <heist.h>

typedef HEIST_ATOMIC(int) counter;

static const heist_node none = {HEIST_NO_NODE};

static inline heist_graph *create(void)
{
    heist_graph *g = NULL;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    return g;
}

static inline void run(heist_graph *g)
{
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), 0);
}

static inline int value(counter *k)
{
    return heist_load_acquire(k);
}

static inline int count(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    heist_add_acq_rel((counter *)arg, 1);
    return 0;
}

static inline int fail(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    if (arg) heist_add_acq_rel((counter *)arg, 1);
    return -EIO;
}

static inline int constant(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    return (int)(intptr_t)arg;
}

static inline bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* --- in which order nodes have run ---------------------------------------- */

enum {
    TRACE_MAX = 1024
};

static counter trace_count;
static int trace[TRACE_MAX];

static inline int note(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    int i = heist_add_acq_rel(&trace_count, 1);
    CHECK(i < TRACE_MAX);
    trace[i] = (int)(intptr_t)arg;
    return 0;
}

static inline void *tag(int i)
{
    return (void *)(intptr_t)i;
}

static inline void trace_clear(void)
{
    heist_store_relaxed(&trace_count, 0);
}

/* Where in the order it has run, once. */
static inline int when(int id)
{
    int found = -1;
    for (int i = 0; i < value(&trace_count); i++) {
        if (trace[i] != id) continue;
        CHECK_EQ(found, -1);
        found = i;
    }
    CHECK(found >= 0);
    return found;
}

static inline int times_noted(int id)
{
    int times = 0;
    for (int i = 0; i < value(&trace_count); i++)
        times += trace[i] == id;
    return times;
}

/* --- nodes that wait ------------------------------------------------------ */

/* Who passes says so, and waits inside. */
typedef struct gate {
    heist_latch in, out;
} gate;

static inline void gate_init(gate *t)
{
    heist_latch_init(&t->in, 1);
    heist_latch_init(&t->out, 1);
}

static inline int pass_gate(heist_ctx c, heist_step *s, void *arg)
{
    gate *t = arg;
    (void)c, (void)s;
    heist_latch_arrive(&t->in);
    return heist_latch_wait(&t->out, HEIST_FOREVER);
}

/* --- graphs --------------------------------------------------------------- */

/* A graph of five nodes that count. */
static inline heist_graph *counting(counter *k)
{
    heist_graph *g = create();
    heist_node n[5];
    for (int i = 0; i < 5; i++)
        n[i] = heist_graph_add(g, NULL, count, k);
    CHECK_EQ(heist_graph_precede(g, n[0], n + 1, 3), 0);
    CHECK_EQ(heist_graph_succeed(g, n[4], n + 1, 3), 0);
    return g;
}

/* The graph is of no use, and says why. */
static inline void check_spoilt(heist_graph *g, int rc)
{
    char why[100] = "";
    heist_flow *f = NULL;
    CHECK_EQ(heist_graph_check(g, why, sizeof why), rc);
    CHECK(why[0] != '\0');
    CHECK_EQ(heist_graph_check(g, NULL, 0), rc);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), rc);
    CHECK_EQ(heist_graph_run_n(g, 5, NULL, HEIST_FOREVER), rc);
    CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), rc);
}

/* The run fails, and that node is the culprit. */
static inline void check_inner_failure(heist_graph *g, int rc, const char *name,
                                       uint32_t node)
{
    heist_failure why = {0};
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), rc);
    CHECK_EQ(why.code, rc);
    CHECK(!strcmp(why.name, name));
    CHECK_EQ(why.node.id, node);
}

#endif
