/* SPDX-License-Identifier: MIT
 *
 * graph_priority_test.c: the more urgent nodes first.
 */
#include "graphs.h"

enum {
    EACH = 64 /* nodes of each level */
};

/* By urgency. */
static const heist_priority by_level[] = {HEIST_LOW, HEIST_NORMAL, HEIST_HIGH,
                                          HEIST_CRITICAL};

/* How many of the starts have overtaken a more urgent one, if all were ready
 * from the beginning. */
static int overtakers(void)
{
    int left[4] = {EACH, EACH, EACH, EACH}, found = 0;
    CHECK_EQ(value(&trace_count), 4 * EACH);
    for (int i = 0; i < 4 * EACH; i++) {
        bool overtakes = false;
        for (int l = trace[i] + 1; l < 4; l++)
            overtakes |= left[l] > 0;
        found += overtakes;
        left[trace[i]]--;
    }
    return found;
}

/* The place of the first one of that level. */
static int first_of(int level)
{
    int i = 0;
    while (trace[i] != level)
        i++;
    return i;
}

static void run_on(heist_runtime *rt, heist_graph *g)
{
    heist_flow *f = NULL; /* by the workers alone */
    heist_flow_opts o = {.rt = rt};
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
}

TEST(the_more_urgent_start_first_but_for_one_in_eight)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_graph *g = create();
    heist_node source = heist_graph_add(g, "source", NULL, NULL);
    for (int i = 0; i < 4 * EACH; i++) {
        heist_node n = heist_graph_add(g, NULL, note, tag(i % 4));
        CHECK_EQ(heist_graph_priority(g, n, by_level[i % 4]), 0);
        CHECK_EQ(heist_graph_edge(g, source, n), 0);
    }
    for (int round = 0; round < 10; round++) {
        trace_clear();
        run_on(rt, g);
        CHECK(overtakers() <= 4 * EACH / 8 + 1);
        CHECK(first_of(0) < EACH); /* it does not wait for ever */
        CHECK(trace[4 * EACH - 1] <= 1);
    }
    pool_stop(rt);
    heist_graph_destroy(g);
}

static int many_children(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    (void)c;
    for (int i = 0; i < EACH; i++)
        heist_graph_add(sub, NULL, note, arg);
    return 0;
}

TEST(the_nodes_of_a_module_or_subflow_are_as_urgent_as_its_node)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    for (int subflow = 0; subflow < 2; subflow++) {
        heist_graph *g = create(), *m = create(); /* of normal ones */
        for (int i = 0; i < EACH; i++)
            heist_graph_add(m, NULL, note, tag(3));
        heist_node source = heist_graph_add(g, "source", NULL, NULL);
        for (int i = 0; i < EACH; i++) {
            heist_node n = heist_graph_add(g, NULL, note, tag(2));
            CHECK_EQ(heist_graph_priority(g, n, HEIST_HIGH), 0);
            CHECK_EQ(heist_graph_edge(g, source, n), 0);
        }
        heist_node n = subflow ? heist_graph_add(g, NULL, many_children, tag(3))
                               : heist_graph_add_module(g, NULL, m, NULL);
        CHECK_EQ(heist_graph_priority(g, n, HEIST_CRITICAL), 0);
        CHECK_EQ(heist_graph_edge(g, source, n), 0);
        trace_clear();
        run_on(rt, g);
        CHECK_EQ(value(&trace_count), 2 * EACH);
        int last = 0;
        for (int i = 0; i < 2 * EACH; i++)
            if (trace[i] == 3) last = i;
        CHECK(last < EACH + EACH / 4);
        heist_graph_destroy(g);
        heist_graph_destroy(m);
    }
    pool_stop(rt);
}

static int until_flag(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    return value(arg) != 0;
}

TEST(a_node_of_low_priority_does_not_wait_for_ever)
{
    for (int low = 0; low < 3; low++) {
        heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
        counter flag = {0};
        heist_graph *g = create();
        heist_node source = heist_graph_add(g, "source", NULL, NULL);
        heist_node head = heist_graph_add(g, "head", NULL, NULL);
        heist_node c = heist_graph_add_condition(g, "c", until_flag, &flag);
        heist_node end = heist_graph_add(g, "end", NULL, NULL);
        heist_node poor = heist_graph_add(g, "poor", count, &flag);
        heist_node list[] = {head, end};
        CHECK_EQ(heist_graph_edge(g, source, poor), 0);
        CHECK_EQ(heist_graph_edge(g, source, head), 0);
        CHECK_EQ(heist_graph_edge(g, head, c), 0);
        CHECK_EQ(heist_graph_precede(g, c, list, 2), 0);
        CHECK_EQ(heist_graph_priority(g, poor, by_level[low]), 0);
        CHECK_EQ(heist_graph_priority(g, head, HEIST_CRITICAL), 0);
        CHECK_EQ(heist_graph_priority(g, c, HEIST_CRITICAL), 0);
        for (int round = 0; round < 10; round++) {
            heist_store_release(&flag, 0);
            run_on(rt, g);
            CHECK_EQ(value(&flag), 1);
        }
        pool_stop(rt);
        heist_graph_destroy(g);
    }
}
