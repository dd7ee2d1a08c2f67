/* SPDX-License-Identifier: MIT
 *
 * graph_nested_test.c: graphs in graphs: modules, and subflows made by nodes.
 */
#include "graphs.h"

/* --- modules -------------------------------------------------------------- */

typedef struct pair {
    heist_latch *mine, *other;
    counter k;
} pair;

/* Ends only if the other one runs at the same time. */
static int meet(heist_ctx c, heist_step *s, void *arg)
{
    pair *p = heist_step_context(s);
    (void)c, (void)arg;
    heist_add_acq_rel(&p->k, 1);
    heist_latch_arrive(p->mine);
    return heist_latch_wait(p->other, HEIST_FOREVER);
}

TEST(a_module_runs_twice_at_once_with_different_contexts)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        heist_runtime *rt = pool_start(workers, HEIST_ON_DEMAND);
        heist_graph *m = create(), *g = create();
        heist_graph_add(m, "meet", meet, NULL);
        heist_latch l[2];
        pair p[2] = {{&l[0], &l[1], {0}}, {&l[1], &l[0], {0}}};
        for (int i = 0; i < 2; i++)
            heist_graph_add_module(g, NULL, m, &p[i]);
        for (int round = 1; round <= 50; round++) {
            heist_latch_init(&l[0], 1);
            heist_latch_init(&l[1], 1);
            heist_flow_opts o = {.rt = rt};
            CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
            CHECK_EQ(value(&p[0].k), round);
            CHECK_EQ(value(&p[1].k), round);
        }
        pool_stop(rt);
        heist_graph_destroy(g);
        heist_graph_destroy(m);
    }
}

static int count_in_context(heist_ctx c, heist_step *s, void *arg)
{
    (void)arg;
    return count(c, s, heist_step_context(s));
}

TEST(modules_of_modules_run_between_their_neighbours)
{
    counter all = {0}, some = {0};
    heist_graph *g[4];
    for (int i = 0; i < 4; i++)
        g[i] = create();
    heist_graph_add(g[0], "leaf", count_in_context, NULL);
    /* Each level holds the one below three times, once with a context. */
    for (int i = 1; i < 4; i++) {
        heist_node n[3];
        for (int k = 0; k < 3; k++)
            n[k] = heist_graph_add_module(g[i], NULL, g[i - 1],
                                          i == 3 && k == 1 ? &some : NULL);
        CHECK_EQ(heist_graph_edge(g[i], n[0], n[2]), 0);
    }
    heist_flow_opts o = {.context = &all};
    for (int round = 1; round <= 20; round++) {
        CHECK_EQ(heist_graph_run(g[3], &o, HEIST_FOREVER), 0);
        CHECK_EQ(value(&all), 18 * round);
        CHECK_EQ(value(&some), 9 * round);
    }
    for (int i = 3; i >= 0; i--)
        heist_graph_destroy(g[i]);
}

static int all_done(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    CHECK_EQ(value(arg) % 5, 0);
    CHECK(value(arg) > 0);
    return 0;
}

TEST(what_follows_a_module_comes_after_all_of_it)
{
    counter k = {0};
    heist_graph *m = counting(&k), *g = create(), *empty = create();
    heist_node a = heist_graph_add_module(g, "m", m, NULL);
    heist_node e = heist_graph_add_module(g, "empty", empty, NULL);
    heist_node b = heist_graph_add(g, "after", all_done, &k);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){a, e, b}, 3), 0);
    CHECK_EQ(heist_graph_run_n(g, 200, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 1000);
    heist_graph_destroy(g);
    heist_graph_destroy(empty);
    heist_graph_destroy(m);
}

TEST(a_graph_is_not_a_module_of_itself)
{
    heist_graph *g = create(), *m = create();
    heist_graph_add_module(g, "self", g, NULL);
    check_spoilt(g, -EDEADLK);
    heist_graph_destroy(g);
    g = create();
    heist_graph_add_module(g, "m", m, NULL);
    heist_graph_add_module(m, "g", g, NULL);
    check_spoilt(g, -EDEADLK);
    check_spoilt(m, -EDEADLK);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

TEST(a_graph_that_has_run_does_not_become_a_module_of_itself)
{
    heist_graph *g = create(), *m = create();
    counter k = {0};
    heist_graph_add(m, "k", count, &k);
    heist_graph_add_module(g, "m", m, NULL);
    run(g);
    heist_graph_add_module(m, "g", g, NULL);
    check_spoilt(m, -EDEADLK);
    CHECK_EQ(value(&k), 1);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

TEST(a_module_that_was_built_wrong_spoils_the_graph)
{
    heist_graph *g = create(), *m = create();
    heist_node a = heist_graph_add(m, "a", NULL, NULL);
    heist_node b = heist_graph_add(m, "b", NULL, NULL);
    CHECK_EQ(heist_graph_edge(m, a, b), 0);
    CHECK_EQ(heist_graph_edge(m, b, a), 0);
    heist_graph_add_module(g, "m", m, NULL);
    check_spoilt(g, -EDEADLK);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

TEST(modules_may_be_nested_deeply)
{
    enum {
        DEEP = 20000
    };

    static heist_graph *g[DEEP];
    counter k = {0};
    for (int i = 0; i < DEEP; i++) {
        g[i] = create();
        if (i == 0)
            heist_graph_add(g[i], NULL, count, &k);
        else
            heist_graph_add_module(g[i], NULL, g[i - 1], NULL);
    }
    run(g[DEEP - 1]);
    CHECK_EQ(value(&k), 1);
    for (int i = DEEP - 1; i >= 0; i--)
        heist_graph_destroy(g[i]);
}

/* --- subflows ------------------------------------------------------------- */

typedef struct family {
    counter children, after;
    int size;
} family;

/* Some of them wait, so that others could overtake. */
static int child(heist_ctx c, heist_step *s, void *arg)
{
    family *f = arg;
    heist_latch closed;
    heist_latch_init(&closed, 1);
    if (heist_step_node(s).id % 8 == 3)
        heist_latch_wait(&closed, heist_after(10 * HEIST_MICROSECOND));
    CHECK_EQ(value(&f->after), 0);
    CHECK(heist_step_context(s) == f); /* the outer one's */
    return count(c, s, &f->children);
}

static int parent(heist_ctx c, heist_step *s, void *arg)
{
    family *f = heist_step_context(s);
    heist_graph *sub = heist_step_subflow(s);
    (void)c, (void)arg;
    CHECK(sub != NULL);
    CHECK(sub == heist_step_subflow(s));
    heist_node last = heist_graph_add(sub, NULL, NULL, NULL);
    for (int i = 0; i < f->size; i++) {
        heist_node n = heist_graph_add(sub, "child", child, f);
        CHECK_EQ(heist_graph_edge(sub, n, last), 0);
    }
    CHECK_EQ(value(&f->children), 0); /* it runs when we have returned */
    return 0;
}

static int after_family(heist_ctx c, heist_step *s, void *arg)
{
    family *f = heist_step_context(s);
    (void)arg;
    CHECK_EQ(value(&f->children), f->size);
    return count(c, s, &f->after);
}

TEST(what_follows_a_node_comes_after_its_subflow)
{
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "parent", parent, NULL);
    heist_node b = heist_graph_add(g, "after", after_family, NULL);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    for (int round = 0; round < 500; round++) {
        family f = {.size = round % 20};
        heist_flow_opts o = {.context = &f};
        CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(value(&f.after), 1);
    }
    heist_graph_destroy(g);
}

typedef struct shaft {
    counter inside; /* levels begun and not ended */
    counter deepest;
} shaft;

static int go_up(heist_ctx c, heist_step *s, void *arg)
{
    shaft *t = heist_step_context(s);
    (void)c;
    CHECK_EQ(heist_sub_acq_rel(&t->inside, 1), (int)(intptr_t)arg);
    return 0;
}

static int go_down(heist_ctx c, heist_step *s, void *arg)
{
    shaft *t = heist_step_context(s);
    int depth = (int)(intptr_t)arg;
    (void)c;
    heist_add_acq_rel(&t->inside, 1);
    if (depth == 0) return count(c, s, &t->deepest);
    heist_graph *sub = heist_step_subflow(s);
    heist_node down = heist_graph_add(sub, NULL, go_down, tag(depth - 1));
    heist_node up = heist_graph_add(
        sub, NULL, go_up, tag(value(&t->inside) + 1)); /* all below are up */
    CHECK_EQ(heist_graph_edge(sub, down, up), 0);
    return 0;
}

TEST(subflows_are_nested_a_thousand_deep)
{
    shaft t = {{0}, {0}};
    heist_graph *g = create();
    heist_graph_add(g, "top", go_down, tag(1000));
    heist_flow_opts o = {.context = &t};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&t.deepest), 1);
    CHECK_EQ(value(&t.inside), 1);
    heist_graph_destroy(g);
}

static int join_down(heist_ctx c, heist_step *s, void *arg)
{
    counter *k = heist_step_context(s);
    int depth = (int)(intptr_t)arg;
    if (depth > 0) {
        heist_graph_add(heist_step_subflow(s), NULL, join_down, tag(depth - 1));
        int before = value(k);
        CHECK_EQ(heist_step_join(s), 0);
        CHECK_EQ(value(k), before + depth);
    }
    return count(c, s, k);
}

TEST(subflows_that_are_waited_for_are_nested_a_hundred_deep)
{
    counter k = {0};
    heist_graph *g = create();
    heist_graph_add(g, "top", join_down, tag(100));
    heist_flow_opts o = {.context = &k};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 101);
    heist_graph_destroy(g);
}

typedef struct loose {
    gate t;
    counter children;
} loose;

static int wait_for_successor(heist_ctx c, heist_step *s, void *arg)
{
    loose *l = arg;
    CHECK_EQ(heist_latch_wait(&l->t.out, HEIST_FOREVER), 0);
    return count(c, s, &l->children);
}

static int detach(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph *sub = heist_step_subflow(s);
    heist_node a = heist_graph_add(sub, NULL, wait_for_successor, arg);
    heist_node b = heist_graph_add(sub, NULL, count, &((loose *)arg)->children);
    CHECK_EQ(heist_graph_edge(sub, a, b), 0);
    heist_step_detach(s);
    return 0;
}

static int open_gate(heist_ctx c, heist_step *s, void *arg)
{
    loose *l = arg;
    (void)c, (void)s;
    CHECK_EQ(value(&l->children), 0);
    heist_latch_arrive(&l->t.out);
    return 0;
}

static int detach_deep(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph_add(heist_step_subflow(s), NULL, detach, arg);
    return 0;
}

TEST(the_flow_waits_for_a_detached_subflow_and_the_node_does_not)
{
    for (int deep = 0; deep < 2; deep++) {
        heist_graph *g = create();
        loose l;
        heist_node a = heist_graph_add(g, "a", deep ? detach_deep : detach, &l);
        heist_node b = heist_graph_add(g, "b", open_gate, &l);
        CHECK_EQ(heist_graph_edge(g, a, b), 0);
        for (int round = 0; round < 50; round++) {
            gate_init(&l.t);
            heist_store_relaxed(&l.children, 0);
            run(g);
            CHECK_EQ(value(&l.children), 2);
        }
        heist_graph_destroy(g);
    }
}

static int join_twice(heist_ctx c, heist_step *s, void *arg)
{
    counter *k = arg;
    (void)c;
    CHECK_EQ(heist_step_join(s), 0); /* there is none */
    for (int part = 1; part <= 3; part++) {
        heist_graph *sub = heist_step_subflow(s);
        CHECK_EQ(heist_graph_size(sub), 0);
        for (int i = 0; i < 10; i++)
            heist_graph_add(sub, NULL, count, k);
        CHECK_EQ(heist_step_join(s), 0);
        CHECK_EQ(value(k), 10 * part);
    }
    heist_graph_add(heist_step_subflow(s), NULL, fail, k);
    CHECK_EQ(heist_step_join(s), -EIO); /* ours to deal with */
    heist_graph_add(heist_step_subflow(s), NULL, count, k);
    return 0;
}

static int is_32(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    CHECK_EQ(value(arg), 32);
    return 0;
}

TEST(a_node_joins_its_subflow_in_the_middle)
{
    for (int round = 0; round < 50; round++) {
        counter k = {0};
        heist_graph *g = create();
        heist_node a = heist_graph_add(g, "a", join_twice, &k);
        heist_node b = heist_graph_add(g, "b", is_32, &k);
        CHECK_EQ(heist_graph_edge(g, a, b), 0);
        run(g);
        heist_graph_destroy(g);
    }
}

static int build_cycle(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    heist_node a = heist_graph_add(sub, NULL, count, arg);
    heist_node b = heist_graph_add(sub, NULL, count, arg);
    (void)c;
    CHECK_EQ(heist_graph_edge(sub, a, b), 0);
    CHECK_EQ(heist_graph_edge(sub, b, a), 0);
    return 0;
}

static int detach_cycle(heist_ctx c, heist_step *s, void *arg)
{
    build_cycle(c, s, arg);
    heist_step_detach(s);
    return 0;
}

static int join_cycle(heist_ctx c, heist_step *s, void *arg)
{
    build_cycle(c, s, arg);
    CHECK_EQ(heist_step_join(s), -EDEADLK);
    return -EDEADLK;
}

TEST(a_subflow_that_cannot_run_fails_the_flow)
{
    static heist_node_fn *const ways[] = {build_cycle, detach_cycle,
                                          join_cycle};
    for (size_t i = 0; i < 3; i++) {
        counter k = {0};
        heist_graph *g = create();
        heist_node a = heist_graph_add(g, "a", NULL, NULL);
        heist_node b = heist_graph_add(g, "parent", ways[i], &k);
        heist_node d = heist_graph_add(g, "d", count, &k);
        CHECK_EQ(heist_graph_linearize(g, (heist_node[]){a, b, d}, 3), 0);
        check_inner_failure(g, -EDEADLK, "parent", b.id);
        CHECK_EQ(value(&k), 0);
        CHECK_EQ(heist_graph_set(g, b, NULL, NULL), 0);
        run(g);
        CHECK_EQ(value(&k), 1);
        heist_graph_destroy(g);
    }
}

static int build_only_wrong(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    (void)c;
    CHECK_EQ(heist_graph_edge(sub, none, none), -EINVAL);
    if (arg) heist_step_detach(s);
    return 0;
}

TEST(a_subflow_of_which_everything_was_refused_fails_the_flow)
{
    for (int detached = 0; detached < 2; detached++) {
        heist_graph *g = create();
        heist_graph_add(g, "parent", build_only_wrong, tag(detached));
        check_inner_failure(g, -EINVAL, "parent", 0);
        heist_graph_destroy(g);
    }
}

static int build_and_fail(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph_add(heist_step_subflow(s), NULL, count, arg);
    return -EIO;
}

static int empty_subflow(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    CHECK(heist_step_subflow(s) != NULL);
    if (arg) heist_step_detach(s);
    return 0;
}

TEST(an_empty_subflow_is_none_and_that_of_a_failed_node_does_not_run)
{
    counter k = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", empty_subflow, NULL);
    heist_node b = heist_graph_add(g, "b", empty_subflow, &k);
    heist_node d = heist_graph_add(g, "d", count, &k);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){a, b, d}, 3), 0);
    run(g);
    CHECK_EQ(value(&k), 1);
    CHECK_EQ(heist_graph_set(g, a, build_and_fail, &k), 0);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -EIO);
    CHECK_EQ(value(&k), 1);
    heist_graph_destroy(g);
}
