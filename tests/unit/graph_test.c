/* SPDX-License-Identifier: MIT
 *
 * graph_test.c: building and running graphs, as heist/graph.h says.
 */
#include "../stress/scale.h"
#include "graph/flow.h"
#include "pool.h"

#include <errno.h>
#include <heist.h>
#include <heist/graph.h>
#include <pthread.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) counter;

static const heist_node none = {HEIST_NO_NODE};

static heist_graph *create(void)
{
    heist_graph *g = NULL;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    return g;
}

static void run(heist_graph *g)
{
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), 0);
}

static int value(counter *k)
{
    return heist_load_acquire(k);
}

static int count(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    heist_add_acq_rel((counter *)arg, 1);
    return 0;
}

static int fail(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    if (arg) heist_add_acq_rel((counter *)arg, 1);
    return -EIO;
}

/* --- in which order nodes have run ---------------------------------------- */

enum {
    TRACE_MAX = 1024
};

static counter trace_count;
static int trace[TRACE_MAX];

static int note(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    int i = heist_add_acq_rel(&trace_count, 1);
    CHECK(i < TRACE_MAX);
    trace[i] = (int)(intptr_t)arg;
    return 0;
}

static void *tag(int i)
{
    return (void *)(intptr_t)i;
}

static void trace_clear(void)
{
    heist_store_relaxed(&trace_count, 0);
}

/* Where in the order it has run, once. */
static int when(int id)
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

static int times_noted(int id)
{
    int times = 0;
    for (int i = 0; i < value(&trace_count); i++)
        times += trace[i] == id;
    return times;
}

/* --- building ------------------------------------------------------------- */

TEST(names_are_copied_and_nodes_are_counted)
{
    heist_graph *g = create();
    char name[100] = "load";
    heist_node a = heist_graph_add(g, name, NULL, NULL);
    memset(name, 'x', sizeof name - 1);
    heist_node b = heist_graph_add(g, name, NULL, NULL);
    heist_node c = heist_graph_add(g, NULL, NULL, NULL);
    heist_node d = heist_graph_add_condition(g, "if", count, NULL);
    heist_node e = heist_graph_add_choice(g, "some", count, NULL);
    CHECK_EQ(heist_graph_size(g), 5);
    CHECK(!strcmp(heist_graph_name(g, a), "load"));
    CHECK(!strcmp(heist_graph_name(g, b), name));
    CHECK(!strcmp(heist_graph_name(g, c), ""));
    CHECK(!strcmp(heist_graph_name(g, d), "if"));
    CHECK(!strcmp(heist_graph_name(g, e), "some"));
    CHECK(!strcmp(heist_graph_name(g, none), ""));
    CHECK_EQ(heist_graph_erase(g, c), 0);
    CHECK_EQ(heist_graph_size(g), 4);
    heist_graph_destroy(g);
    heist_graph_destroy(NULL);
}

TEST(a_placeholder_passes_on_and_can_be_set_later)
{
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", note, tag(1));
    heist_node hole = heist_graph_add(g, "hole", NULL, NULL);
    heist_node b = heist_graph_add(g, "b", note, tag(3));
    CHECK_EQ(heist_graph_edge(g, a, hole), 0);
    CHECK_EQ(heist_graph_edge(g, hole, b), 0);
    trace_clear();
    run(g);
    CHECK(when(1) < when(3));
    CHECK_EQ(value(&trace_count), 2);
    CHECK_EQ(heist_graph_set(g, hole, note, tag(2)), 0);
    trace_clear();
    run(g);
    CHECK(when(1) < when(2));
    CHECK(when(2) < when(3));
    CHECK_EQ(heist_graph_set(g, hole, NULL, NULL), 0);
    trace_clear();
    run(g);
    CHECK_EQ(value(&trace_count), 2);
    heist_graph_destroy(g);
}

TEST(precede_succeed_and_linearize_make_many_edges)
{
    heist_graph *g = create();
    heist_node n[8];
    for (int i = 0; i < 8; i++)
        n[i] = heist_graph_add(g, NULL, note, tag(i));
    /* 0 -> 1, 2, 3 -> 4 -> 5 -> 6 -> 7 */
    CHECK_EQ(heist_graph_precede(g, n[0], n + 1, 3), 0);
    CHECK_EQ(heist_graph_succeed(g, n[4], n + 1, 3), 0);
    CHECK_EQ(heist_graph_linearize(g, n + 4, 4), 0);
    CHECK_EQ(heist_graph_precede(g, n[0], NULL, 0), 0);
    CHECK_EQ(heist_graph_succeed(g, n[0], NULL, 0), 0);
    CHECK_EQ(heist_graph_linearize(g, NULL, 0), 0);
    CHECK_EQ(heist_graph_linearize(g, n, 1), 0);
    for (int round = 0; round < 100; round++) {
        trace_clear();
        run(g);
        CHECK_EQ(value(&trace_count), 8);
        CHECK_EQ(when(0), 0);
        for (int i = 4; i < 8; i++)
            CHECK_EQ(when(i), i);
    }
    heist_graph_destroy(g);
}

TEST(an_erased_node_is_gone_with_its_edges)
{
    heist_graph *g = create();
    counter gone = {0};
    heist_node a = heist_graph_add(g, "a", note, tag(0));
    heist_node b = heist_graph_add(g, "b", count, &gone);
    heist_node d = heist_graph_add(g, "d", note, tag(2));
    heist_limit limit;
    heist_limit_init(&limit, 1);
    CHECK_EQ(heist_graph_limit(g, b, &limit), 0);
    CHECK_EQ(heist_graph_output(g, b, 100), 0);
    CHECK_EQ(heist_graph_edge(g, d, b), 0);
    CHECK_EQ(heist_graph_edge(g, b, a), 0);
    CHECK_EQ(heist_graph_erase(g, b), 0);
    CHECK(!strcmp(heist_graph_name(g, b), ""));
    heist_node e = heist_graph_add(g, "e", note, tag(3));
    CHECK(e.id != b.id);
    CHECK_EQ(heist_graph_edge(g, a, e), 0);
    CHECK_EQ(heist_graph_edge(g, e, d), 0); /* no cycle any more */
    for (int round = 0; round < 2; round++) {
        trace_clear();
        run(g);
        CHECK_EQ(when(0), 0);
        CHECK_EQ(when(3), 1);
        CHECK_EQ(when(2), 2);
    }
    CHECK_EQ(value(&gone), 0);
    CHECK_EQ(heist_graph_erase(g, e), 0); /* of a graph that has run */
    trace_clear();
    run(g);
    CHECK_EQ(value(&trace_count), 2);
    CHECK_EQ(heist_graph_erase(g, e), -EINVAL);
    heist_graph_destroy(g);
}

TEST(a_graph_of_which_all_is_erased_is_empty)
{
    heist_graph *g = create();
    counter k = {0};
    heist_node a = heist_graph_add(g, "a", count, &k);
    heist_node b = heist_graph_add(g, "b", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    CHECK_EQ(heist_graph_erase(g, a), 0);
    CHECK_EQ(heist_graph_erase(g, b), 0);
    CHECK_EQ(heist_graph_size(g), 0);
    run(g);
    heist_graph *outer = create();
    heist_graph_add_module(outer, "m", g, NULL);
    run(outer);
    CHECK_EQ(value(&k), 0);
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
}

static int constant(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    return (int)(intptr_t)arg;
}

TEST(branches_after_an_erased_one_move_up)
{
    heist_graph *g = create();
    heist_node c = heist_graph_add_condition(g, "c", constant, tag(1));
    heist_node b[4];
    for (int i = 0; i < 4; i++) {
        b[i] = heist_graph_add(g, NULL, note, tag(i));
        CHECK_EQ(heist_graph_edge(g, c, b[i]), 0);
    }
    trace_clear();
    run(g);
    CHECK_EQ(when(1), 0);
    CHECK_EQ(heist_graph_erase(g, b[1]), 0);
    trace_clear();
    run(g);
    CHECK_EQ(when(2), 0);
    CHECK_EQ(heist_graph_erase(g, b[0]), 0);
    trace_clear();
    run(g);
    CHECK_EQ(when(3), 0);
    CHECK_EQ(value(&trace_count), 1);
    heist_graph_destroy(g);
}

/* The graph is of no use, and says why. */
static void check_spoilt(heist_graph *g, int rc)
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

TEST(an_edge_to_itself_is_refused_and_remembered)
{
    heist_graph *g = create();
    counter k = {0};
    heist_node a = heist_graph_add(g, "a", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, a), -EINVAL);
    heist_node b = heist_graph_add(g, "b", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    check_spoilt(g, -EINVAL);
    CHECK_EQ(value(&k), 0);
    heist_graph_destroy(g);
}

TEST(what_is_not_a_node_is_refused_and_remembered)
{
    heist_limit limit;
    heist_limit_init(&limit, 1);
    heist_retry retry = {.attempts = 2};
    for (int kind = 0; kind < 12; kind++) {
        heist_graph *g = create();
        heist_node a = heist_graph_add(g, "a", note, tag(0));
        heist_node beyond = {1};
        int rc = 0;
        switch (kind) {
        case 0: rc = heist_graph_edge(g, a, none); break;
        case 1: rc = heist_graph_edge(g, none, a); break;
        case 2: rc = heist_graph_edge(g, a, beyond); break;
        case 3: rc = heist_graph_precede(g, a, &none, 1); break;
        case 4: rc = heist_graph_succeed(g, a, &none, 1); break;
        case 5: rc = heist_graph_set(g, beyond, note, tag(1)); break;
        case 6: rc = heist_graph_erase(g, none); break;
        case 7: rc = heist_graph_output(g, beyond, 8); break;
        case 8: rc = heist_graph_priority(g, none, HEIST_HIGH); break;
        case 9: rc = heist_graph_retry(g, beyond, &retry); break;
        case 10: rc = heist_graph_limit(g, none, &limit); break;
        default: rc = heist_graph_linearize(g, (heist_node[]){a, none}, 2);
        }
        CHECK_EQ(rc, -EINVAL);
        check_spoilt(g, -EINVAL);
        heist_graph_destroy(g);
    }
}

TEST(what_makes_no_sense_is_refused)
{
    heist_graph *m = create(), *g;
    heist_limit limit;
    heist_limit_init(&limit, 1);
    g = create();
    heist_node n = heist_graph_add_module(g, "m", m, NULL);
    CHECK_EQ(heist_graph_set(g, n, note, NULL), -EINVAL);
    heist_graph_destroy(g);
    g = create();
    n = heist_graph_add(g, "a", NULL, NULL);
    CHECK_EQ(heist_graph_priority(g, n, (heist_priority)4), -EINVAL);
    heist_graph_destroy(g);
    g = create();
    n = heist_graph_add(g, "a", NULL, NULL);
    CHECK_EQ(heist_graph_retry(g, n, &(heist_retry){.delay = -1}), -EINVAL);
    heist_graph_destroy(g);
    g = create();
    n = heist_graph_add(g, "a", NULL, NULL);
    CHECK_EQ(heist_graph_limit(g, n, &limit), 0);
    CHECK_EQ(heist_graph_limit(g, n, &limit), -EEXIST);
    run(g);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

/* Each of them alone: the first one is kept. */
static void check_refusal(heist_graph *g, int rc, const char *call)
{
    char why[80];
    CHECK_EQ(rc, -EINVAL);
    CHECK_EQ(heist_graph_check(g, why, sizeof why), -EINVAL);
    CHECK(strncmp(why, call, strlen(call)) == 0);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -EINVAL);
    heist_graph_destroy(g);
}

TEST(what_is_nothing_is_refused_and_the_call_is_named)
{
    heist_graph *g = create();
    heist_node n = heist_graph_add(g, "a", NULL, NULL);
    check_refusal(g, heist_graph_limit(g, n, NULL), "heist_graph_limit");
    g = create();
    n = heist_graph_add(g, "a", NULL, NULL);
    check_refusal(g, heist_graph_retry(g, n, NULL), "heist_graph_retry");
    g = create();
    n = heist_graph_add(g, "a", NULL, NULL);
    check_refusal(g, heist_graph_edge(g, n, n), "heist_graph_edge");
    g = create();
    n = heist_graph_add_module(g, "m", NULL, NULL);
    CHECK_EQ(n.id, HEIST_NO_NODE);
    check_refusal(g, -EINVAL, "heist_graph_add_module");
    g = create();
    CHECK_EQ(heist_graph_run_until(g, NULL, NULL, HEIST_FOREVER), -EINVAL);
    heist_graph_destroy(g);
}

TEST(an_output_that_no_memory_could_hold_is_refused)
{
    heist_graph *g = create();
    heist_node n = heist_graph_add(g, "a", NULL, NULL);
    int rc = heist_graph_output(g, n, SIZE_MAX);
    CHECK(rc < 0);
    CHECK(heist_graph_run(g, NULL, HEIST_FOREVER) < 0);
    heist_graph_destroy(g);
}

typedef struct busy {
    heist_graph *g;
    heist_node other;
    heist_limit limit;
} busy;

static int change_while_it_runs(heist_ctx c, heist_step *s, void *arg)
{
    busy *b = arg;
    heist_graph *g = b->g;
    heist_node me = heist_step_node(s);
    (void)c;
    CHECK_EQ(heist_graph_add(g, "n", NULL, NULL).id, HEIST_NO_NODE);
    CHECK_EQ(heist_graph_add_condition(g, "n", note, NULL).id, HEIST_NO_NODE);
    CHECK_EQ(heist_graph_add_choice(g, "n", note, NULL).id, HEIST_NO_NODE);
    CHECK_EQ(heist_graph_add_module(g, "n", g, NULL).id, HEIST_NO_NODE);
    CHECK_EQ(heist_graph_set(g, me, note, NULL), -EBUSY);
    CHECK_EQ(heist_graph_edge(g, b->other, me), -EBUSY);
    CHECK_EQ(heist_graph_precede(g, b->other, &me, 1), -EBUSY);
    CHECK_EQ(heist_graph_succeed(g, me, &b->other, 1), -EBUSY);
    CHECK_EQ(heist_graph_erase(g, b->other), -EBUSY);
    CHECK_EQ(heist_graph_output(g, me, 8), -EBUSY);
    CHECK_EQ(heist_graph_priority(g, me, HEIST_LOW), -EBUSY);
    CHECK_EQ(heist_graph_retry(g, me, &(heist_retry){.attempts = 2}), -EBUSY);
    CHECK_EQ(heist_graph_limit(g, me, &b->limit), -EBUSY);
    CHECK_EQ(heist_graph_size(g), 2);
    CHECK(!strcmp(heist_graph_name(g, b->other), "other"));
    return 0;
}

TEST(a_graph_that_runs_does_not_change)
{
    busy b = {.g = create()};
    counter k = {0};
    heist_limit_init(&b.limit, 1);
    heist_graph_add(b.g, "me", change_while_it_runs, &b);
    b.other = heist_graph_add(b.g, "other", count, &k);
    run(b.g);
    heist_graph *outer = create(); /* as a module it runs too */
    heist_graph_add_module(outer, "m", b.g, NULL);
    run(outer);
    run(b.g);
    CHECK_EQ(value(&k), 3);
    CHECK(heist_graph_add(b.g, "more", count, &k).id != HEIST_NO_NODE);
    CHECK_EQ(heist_graph_erase(b.g, (heist_node){0}), 0);
    run(outer);
    CHECK_EQ(value(&k), 5);
    heist_graph_destroy(outer);
    heist_graph_destroy(b.g);
}

TEST(memory_of_a_graph_is_zeroed_and_aligned)
{
    static const size_t sizes[] = {0, 1, 16, 17, 1000, 4096, 100000, 3};
    heist_graph *g = create();
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *p = heist_graph_alloc(g, sizes[i]);
            CHECK(p != NULL);
            CHECK_EQ((uintptr_t)p % 16, 0);
            for (size_t b = 0; b < sizes[i]; b++)
                CHECK_EQ(p[b], 0);
            memset(p, 0xff, sizes[i]);
        }
    }
    CHECK(heist_graph_alloc(g, SIZE_MAX) == NULL);
    heist_graph_destroy(g);
}

TEST(a_graph_that_has_run_can_be_changed_and_run_again)
{
    heist_graph *g = create();
    heist_node n[20];
    for (int i = 0; i < 20; i++) {
        n[i] = heist_graph_add(g, NULL, note, tag(i));
        if (i) CHECK_EQ(heist_graph_edge(g, n[i], n[i - 1]), 0);
        trace_clear();
        run(g);
        CHECK_EQ(value(&trace_count), i + 1);
        for (int k = 0; k <= i; k++)
            CHECK_EQ(when(k), i - k);
    }
    heist_graph_destroy(g);
}

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

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

TEST(an_empty_graph_that_is_run_for_ever_ends_at_the_deadline)
{
    heist_graph *g = create();
    CHECK_EQ(heist_graph_run_until(g, never, NULL,
                                   heist_after(5 * HEIST_MILLISECOND)),
             -ETIMEDOUT);
    heist_graph_destroy(g);
}

/* A graph of five nodes that count. */
static heist_graph *counting(counter *k)
{
    heist_graph *g = create();
    heist_node n[5];
    for (int i = 0; i < 5; i++)
        n[i] = heist_graph_add(g, NULL, count, k);
    CHECK_EQ(heist_graph_precede(g, n[0], n + 1, 3), 0);
    CHECK_EQ(heist_graph_succeed(g, n[4], n + 1, 3), 0);
    return g;
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

typedef struct gate {
    heist_latch in, out;
} gate;

static void gate_init(gate *t)
{
    heist_latch_init(&t->in, 1);
    heist_latch_init(&t->out, 1);
}

static int pass_gate(heist_ctx c, heist_step *s, void *arg)
{
    gate *t = arg;
    (void)c, (void)s;
    heist_latch_arrive(&t->in);
    return heist_latch_wait(&t->out, HEIST_FOREVER);
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

/* --- cancelling, deadlines ------------------------------------------------ */

TEST(no_node_starts_after_the_flow_was_cancelled)
{
    heist_graph *g = create();
    counter k = {0};
    gate t;
    heist_node a = heist_graph_add(g, "gate", pass_gate, &t);
    heist_node b = heist_graph_add(g, "after", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    for (int round = 0; round < 20; round++) {
        gate_init(&t);
        heist_flow *f = NULL;
        heist_failure why = {.code = 77};
        heist_flow_opts o = {.failure = &why, .times = 10};
        CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
        heist_flow_cancel(f);
        heist_flow_cancel(f);
        CHECK_EQ(heist_flow_wait(f, HEIST_NOW), -ETIMEDOUT); /* it runs */
        heist_latch_arrive(&t.out);
        CHECK_EQ(heist_flow_wait(f, HEIST_FOREVER), -ECANCELED);
        CHECK_EQ(heist_flow_close(f), -ECANCELED);
        CHECK_EQ(value(&k), 0);
        CHECK_EQ(why.code, 77); /* no node has failed */
    }
    gate_init(&t);
    heist_latch_arrive(&t.out);
    run(g); /* and the next run is right */
    CHECK_EQ(value(&k), 1);
    heist_graph_destroy(g);
}

typedef struct owner {
    heist_latch go; /* flow is set */
    heist_flow *flow;
    counter k;
} owner;

static int cancel_own_flow(heist_ctx c, heist_step *s, void *arg)
{
    owner *o = arg;
    (void)c;
    CHECK_EQ(heist_latch_wait(&o->go, HEIST_FOREVER), 0);
    CHECK(!heist_step_stopped(s));
    heist_flow_cancel(o->flow);
    CHECK(heist_step_stopped(s));
    return 0;
}

TEST(a_node_cancels_its_own_flow)
{
    heist_graph *g = create();
    owner o;
    heist_node a = heist_graph_add(g, "a", cancel_own_flow, &o);
    heist_node b = heist_graph_add(g, "b", count, &o.k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    heist_latch_init(&o.go, 1);
    heist_store_relaxed(&o.k, 0);
    CHECK_EQ(heist_flow_start(&o.flow, g, NULL, HEIST_FOREVER), 0);
    heist_latch_arrive(&o.go);
    CHECK_EQ(heist_flow_close(o.flow), -ECANCELED);
    CHECK_EQ(value(&o.k), 0);
    heist_graph_destroy(g);
}

static int cancel_by_step(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)arg;
    CHECK(!heist_step_stopped(s));
    heist_step_cancel(s);
    CHECK(heist_step_stopped(s));
    return 0;
}

TEST(a_node_cancels_the_run_without_a_handle)
{
    counter k = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", cancel_by_step, NULL);
    CHECK_EQ(heist_graph_edge(g, a, heist_graph_add(g, "b", count, &k)), 0);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -ECANCELED);
    CHECK_EQ(value(&k), 0);
    heist_graph_destroy(g);
}

/* Does nothing but wait for the end. */
static int linger(heist_ctx c, heist_step *s, void *arg)
{
    heist_latch closed;
    (void)c, (void)arg;
    heist_latch_init(&closed, 1);
    while (!heist_step_stopped(s))
        heist_latch_wait(&closed, heist_after(HEIST_MILLISECOND / 4));
    return 0;
}

TEST(at_the_deadline_a_flow_is_cancelled)
{
    counter k = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", linger, NULL);
    heist_node b = heist_graph_add(g, "b", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    heist_graph *outer = create();
    heist_graph_add_module(outer, "m", g, NULL);
    for (int i = 0; i < 5; i++) {
        heist_time wait = 2 * HEIST_MILLISECOND;
        CHECK_EQ(heist_graph_run(g, NULL, heist_after(wait)), -ETIMEDOUT);
        CHECK_EQ(heist_graph_run_n(g, 9, NULL, heist_after(wait)), -ETIMEDOUT);
        CHECK_EQ(heist_graph_run_until(g, never, NULL, heist_after(wait)),
                 -ETIMEDOUT);
        CHECK_EQ(heist_graph_run(outer, NULL, heist_after(wait)), -ETIMEDOUT);
        heist_flow_opts o = {.deadline = heist_after(wait)};
        CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -ETIMEDOUT);
        heist_flow *f = NULL;
        o.deadline = heist_after(wait);
        CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_flow_close(f), -ETIMEDOUT);
    }
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(value(&k), 0);
    CHECK_EQ(heist_graph_set(g, a, NULL, NULL), 0);
    run(outer);
    CHECK_EQ(value(&k), 1);
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
}

static int join_lingering(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph_add(heist_step_subflow(s), NULL, linger, NULL);
    int rc = heist_step_join(s);
    CHECK(rc == -ECANCELED || rc == -ETIMEDOUT);
    heist_add_acq_rel((counter *)arg, 1);
    return 0;
}

TEST(a_subflow_that_a_node_waits_for_is_cancelled_with_the_flow)
{
    counter k = {0};
    heist_graph *g = create();
    gate t;
    gate_init(&t);
    heist_latch_arrive(&t.out);
    heist_graph_add(g, "a", join_lingering, &k);
    heist_graph_add(g, "b", pass_gate, &t);
    heist_flow *f = NULL;
    CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
    heist_flow_cancel(f);
    CHECK_EQ(heist_flow_close(f), -ECANCELED);
    CHECK(value(&k) <= 1);
    gate_init(&t);
    heist_latch_arrive(&t.out);
    heist_store_release(&k, 0);
    heist_time soon = heist_after(20 * HEIST_MILLISECOND);
    CHECK_EQ(heist_graph_run(g, NULL, soon), -ETIMEDOUT);
    heist_graph_destroy(g);
}

/* --- failing -------------------------------------------------------------- */

TEST(a_node_that_fails_fails_the_flow)
{
    heist_graph *g = create();
    counter k = {0};
    heist_node a = heist_graph_add(g, "first", count, &k);
    heist_node b = heist_graph_add(g, "culprit", fail, NULL);
    heist_node d = heist_graph_add(g, "after", count, &k);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){a, b, d}, 3), 0);
    heist_failure why = {0};
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -EIO);
    CHECK_EQ(why.code, -EIO);
    CHECK_EQ(why.node.id, b.id);
    CHECK_EQ(why.pass, 0);
    CHECK(!strcmp(why.name, "culprit"));
    CHECK_EQ(value(&k), 1);
    heist_flow *f = NULL;
    memset(&why, 0xff, sizeof why);
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_wait(f, HEIST_FOREVER), -EIO);
    heist_flow_cancel(f); /* too late to matter */
    CHECK_EQ(heist_flow_close(f), -EIO);
    CHECK(!strcmp(why.name, "culprit"));
    CHECK_EQ(heist_graph_set(g, b, count, &k), 0);
    memset(&why, 0, sizeof why);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(value(&k), 5);
    CHECK_EQ(why.code, 0); /* only if a node fails */
    heist_graph_destroy(g);
}

static int fail_at(heist_ctx c, heist_step *s, void *arg)
{
    counter *k = arg;
    (void)c, (void)s;
    return heist_sub_acq_rel(k, 1) == 0 ? -EPERM : 0;
}

TEST(a_failure_knows_its_pass_and_ends_the_passes)
{
    char name[100];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    heist_graph *g = create();
    counter k = {3};
    heist_graph_add(g, name, fail_at, &k);
    heist_failure why = {0};
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run_n(g, 100, &o, HEIST_FOREVER), -EPERM);
    CHECK_EQ(value(&k), -1);
    CHECK_EQ(why.pass, 3);
    CHECK_EQ(strlen(why.name), sizeof why.name - 1);
    heist_store_release(&k, 5);
    o.times = 100;
    heist_flow *f = NULL;
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), -EPERM);
    CHECK_EQ(value(&k), -1);
    CHECK_EQ(why.pass, 5);
    heist_graph_destroy(g);
}

static int fail_every_other(heist_ctx c, heist_step *s, void *arg)
{
    uint64_t run_number = (uint64_t)heist_add_acq_rel((counter *)arg, 1);
    if (run_number % 2 == 0) return -EIO;
    return note(c, s, tag(1));
}

TEST(after_a_failure_the_next_run_waits_for_all_again)
{
    /* x -> b -> j and x -> j: when b fails, x has arrived at j. */
    heist_graph *g = create();
    counter k = {0};
    heist_node x = heist_graph_add(g, "x", note, tag(0));
    heist_node b = heist_graph_add(g, "b", fail_every_other, &k);
    heist_node j = heist_graph_add(g, "j", note, tag(2));
    heist_node last = heist_graph_add(g, "last", note, tag(3));
    CHECK_EQ(heist_graph_edge(g, x, j), 0);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){x, b, j, last}, 4), 0);
    heist_graph *outer = create();
    heist_graph_add_module(outer, "m", g, NULL);
    for (int round = 0; round < 12; round++) {
        heist_graph *run_now = round / 2 % 2 ? outer : g;
        trace_clear();
        CHECK_EQ(heist_graph_run(run_now, NULL, HEIST_FOREVER),
                 round % 2 ? 0 : -EIO);
        CHECK_EQ(value(&trace_count), round % 2 ? 4 : 1);
        for (int i = 0; i < value(&trace_count); i++)
            CHECK_EQ(when(i), i);
    }
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
}

typedef struct meeting {
    gate t;
    counter late;
} meeting;

static int fail_beside(heist_ctx c, heist_step *s, void *arg)
{
    meeting *m = arg;
    (void)c, (void)s;
    CHECK_EQ(heist_latch_wait(&m->t.in, HEIST_FOREVER), 0);
    return -EIO;
}

static int until_stopped(heist_ctx c, heist_step *s, void *arg)
{
    meeting *m = arg;
    heist_latch_arrive(&m->t.in);
    linger(c, s, NULL);
    heist_add_acq_rel(&m->late, 1);
    return -EPERM; /* the second failure does not count */
}

TEST(what_runs_when_a_node_fails_is_waited_for)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        heist_runtime *rt = pool_start(workers, HEIST_ON_DEMAND);
        heist_graph *g = create();
        meeting m = {.late = {0}};
        heist_graph_add(g, "long", until_stopped, &m);
        heist_node b = heist_graph_add(g, "culprit", fail_beside, &m);
        for (int i = 0; i < 10; i++) {
            gate_init(&m.t);
            heist_failure why = {0};
            heist_flow_opts o = {.rt = rt, .failure = &why};
            CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -EIO);
            CHECK_EQ(why.node.id, b.id);
            CHECK_EQ(value(&m.late), i + 1);
        }
        pool_stop(rt);
        heist_graph_destroy(g);
    }
}

static int build_failing(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)arg;
    heist_graph *sub = heist_step_subflow(s);
    heist_graph_add(sub, "zero", NULL, NULL);
    heist_graph_add(sub, "deep", fail, NULL);
    return 0;
}

static void check_inner_failure(heist_graph *g, int rc, const char *name,
                                uint32_t node)
{
    heist_failure why = {0};
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), rc);
    CHECK_EQ(why.code, rc);
    CHECK(!strcmp(why.name, name));
    CHECK_EQ(why.node.id, node);
}

TEST(a_failure_inside_a_module_or_subflow_fails_the_flow)
{
    counter k = {0};
    heist_graph *m = create(), *g = create();
    heist_graph_add(m, "zero", NULL, NULL);
    heist_graph_add(m, "one", NULL, NULL);
    heist_graph_add(m, "inner", fail, NULL);
    heist_node a = heist_graph_add_module(g, "module", m, NULL);
    heist_node b = heist_graph_add(g, "after", count, &k);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    check_inner_failure(g, -EIO, "inner", 2);
    CHECK_EQ(heist_graph_erase(g, a), 0);
    a = heist_graph_add(g, "parent", build_failing, NULL);
    CHECK_EQ(heist_graph_edge(g, a, b), 0);
    check_inner_failure(g, -EIO, "deep", 1);
    heist_graph *outer = create();
    heist_graph_add_module(outer, "m", g, NULL);
    check_inner_failure(outer, -EIO, "deep", 1);
    CHECK_EQ(value(&k), 0);
    CHECK_EQ(heist_graph_set(g, a, count, &k), 0);
    run(outer);
    CHECK_EQ(value(&k), 2);
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
    heist_graph_destroy(m);
}

/* --- trying again --------------------------------------------------------- */

static int fail_often(heist_ctx c, heist_step *s, void *arg)
{
    counter *k = arg;
    (void)c;
    int before = heist_add_acq_rel(k, 1);
    CHECK_EQ(heist_step_attempt(s), before);
    return before < 3 ? -EAGAIN : 0;
}

TEST(a_node_is_tried_again_as_often_as_it_may)
{
    for (unsigned attempts = 0; attempts < 6; attempts++) {
        heist_graph *g = create();
        counter k = {0};
        heist_node a = heist_graph_add(g, "a", fail_often, &k);
        CHECK_EQ(heist_graph_retry(g, a, &(heist_retry){.attempts = attempts}),
                 0);
        CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER),
                 attempts < 4 ? -EAGAIN : 0);
        CHECK_EQ(value(&k), attempts == 0 ? 1 : attempts < 4 ? attempts : 4);
        heist_graph_destroy(g);
    }
}

TEST(attempts_are_as_far_apart_as_wanted)
{
    heist_graph *g = create();
    counter k = {0};
    heist_node a = heist_graph_add(g, "a", fail, &k);
    heist_retry r = {.attempts = 4, .delay = HEIST_MILLISECOND, .factor = 2};
    CHECK_EQ(heist_graph_retry(g, a, &r), 0);
    heist_time before = heist_now();
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -EIO);
    CHECK(heist_now() - before >= (1 + 2 + 4) * HEIST_MILLISECOND);
    CHECK_EQ(value(&k), 4);
    r.factor = UINT32_MAX; /* would be years */
    r.attempts = 6;
    r.longest = HEIST_MILLISECOND;
    CHECK_EQ(heist_graph_retry(g, a, &r), 0);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -EIO);
    CHECK_EQ(value(&k), 10);
    heist_graph_destroy(g);
}

TEST(during_the_delays_the_worker_works_on_and_a_stop_ends_them)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_graph *g = create();
    owner o;
    heist_node a = heist_graph_add(g, "a", fail, &o.k);
    heist_graph_add(g, "b", cancel_own_flow, &o);
    heist_retry r = {.attempts = 5, .delay = 3600 * HEIST_SECOND};
    CHECK_EQ(heist_graph_retry(g, a, &r), 0);
    heist_latch_init(&o.go, 1);
    heist_store_relaxed(&o.k, 0);
    heist_flow_opts opts = {.rt = rt};
    CHECK_EQ(heist_flow_start(&o.flow, g, &opts, HEIST_FOREVER), 0);
    heist_latch_arrive(&o.go);
    CHECK_EQ(heist_flow_close(o.flow), -ECANCELED);
    CHECK(value(&o.k) <= 1);
    pool_stop(rt);
    heist_graph_destroy(g);
}

static int join_retrying(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph *sub = heist_step_subflow(s);
    heist_node n = heist_graph_add(sub, NULL, fail, arg);
    heist_retry r = {.attempts = 2, .delay = 3600 * HEIST_SECOND};
    CHECK_EQ(heist_graph_retry(sub, n, &r), 0);
    return heist_step_join(s);
}

TEST(a_delay_ends_at_the_deadline)
{
    heist_graph *g = create();
    counter k = {0};
    heist_node a = heist_graph_add(g, "a", fail, &k);
    heist_retry r = {.attempts = 2, .delay = 3600 * HEIST_SECOND};
    CHECK_EQ(heist_graph_retry(g, a, &r), 0);
    heist_time soon = heist_after(5 * HEIST_MILLISECOND);
    CHECK_EQ(heist_graph_run(g, NULL, soon), -ETIMEDOUT);
    CHECK(value(&k) <= 1);
    CHECK_EQ(heist_graph_retry(g, a, &(heist_retry){0}), 0);
    CHECK_EQ(heist_graph_set(g, a, join_retrying, &k), 0);
    soon = heist_after(5 * HEIST_MILLISECOND);
    CHECK_EQ(heist_graph_run(g, NULL, soon), -ETIMEDOUT);
    CHECK(value(&k) <= 2);
    heist_graph_destroy(g);
}

TEST(a_delay_in_a_subflow_that_is_waited_for_ends_with_the_flow)
{
    heist_graph *g = create();
    owner o;
    heist_graph_add(g, "a", join_retrying, &o.k);
    heist_graph_add(g, "b", cancel_own_flow, &o);
    heist_latch_init(&o.go, 1);
    heist_store_relaxed(&o.k, 0);
    CHECK_EQ(heist_flow_start(&o.flow, g, NULL, HEIST_FOREVER), 0);
    heist_latch_arrive(&o.go);
    CHECK_EQ(heist_flow_close(o.flow), -ECANCELED);
    CHECK(value(&o.k) <= 1);
    heist_graph_destroy(g);
}

static int leave_traces_and_fail(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_graph_add(heist_step_subflow(s), NULL, count, arg);
    if (heist_step_attempt(s) == 0) heist_step_detach(s);
    return heist_step_attempt(s) < 3 ? -EIO : 0;
}

static int pick_and_fail(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)arg;
    CHECK_EQ(heist_step_pick(s, heist_step_attempt(s)), 0);
    return heist_step_attempt(s) < 1 ? -EIO : 0;
}

TEST(an_attempt_that_failed_leaves_no_subflow_and_no_picks)
{
    heist_graph *g = create();
    counter k = {0};
    heist_retry r = {.attempts = 4};
    heist_node a = heist_graph_add(g, "a", leave_traces_and_fail, &k);
    heist_node b = heist_graph_add_choice(g, "b", pick_and_fail, NULL);
    CHECK_EQ(heist_graph_retry(g, a, &r), 0);
    CHECK_EQ(heist_graph_retry(g, b, &r), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(heist_graph_edge(g, b, heist_graph_add(g, NULL, note, tag(i))),
                 0);
    for (int round = 1; round <= 3; round++) {
        trace_clear();
        run(g);
        CHECK_EQ(value(&k), round);
        CHECK_EQ(when(1), 0);
        CHECK_EQ(value(&trace_count), 1);
    }
    heist_graph_destroy(g);
}

/* --- conditions ----------------------------------------------------------- */

/* Follows the edge that *arg says. */
static int follow(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    return *(int *)arg;
}

TEST(the_branches_of_a_condition_meet_again)
{
    heist_graph *g = create();
    int branch = 0;
    heist_node a = heist_graph_add(g, "a", note, tag(0));
    heist_node c = heist_graph_add_condition(g, "c", follow, &branch);
    heist_node x = heist_graph_add(g, "x", note, tag(1));
    heist_node y = heist_graph_add(g, "y", note, tag(2));
    heist_node j = heist_graph_add(g, "j", note, tag(3));
    CHECK_EQ(heist_graph_edge(g, a, c), 0);
    CHECK_EQ(heist_graph_precede(g, c, (heist_node[]){x, y}, 2), 0);
    CHECK_EQ(heist_graph_succeed(g, j, (heist_node[]){x, y}, 2), 0);
    for (int round = 0; round < 10; round++) {
        branch = round % 2;
        trace_clear();
        run(g);
        CHECK_EQ(value(&trace_count), 3);
        CHECK_EQ(when(0), 0);
        CHECK_EQ(when(1 + branch), 1);
        CHECK_EQ(when(3), 2);
    }
    for (branch = 2; branch < 1000000; branch *= 10) { /* beyond */
        trace_clear();
        run(g);
        CHECK_EQ(value(&trace_count), 1);
    }
    branch = -ENOENT;
    heist_failure why = {0};
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -ENOENT);
    CHECK_EQ(why.node.id, c.id);
    branch = 1;
    trace_clear();
    run(g);
    CHECK_EQ(when(3), 2);
    heist_graph_destroy(g);
}

TEST(an_if_without_else_joins_too)
{
    heist_graph *g = create();
    int branch = 0;
    heist_node c = heist_graph_add_condition(g, "c", follow, &branch);
    heist_node x = heist_graph_add(g, "x", note, tag(1));
    heist_node hole = heist_graph_add(g, "else", NULL, NULL);
    heist_node j = heist_graph_add(g, "j", note, tag(2));
    CHECK_EQ(heist_graph_precede(g, c, (heist_node[]){x, hole}, 2), 0);
    CHECK_EQ(heist_graph_succeed(g, j, (heist_node[]){x, hole}, 2), 0);
    for (int round = 0; round < 10; round++) {
        branch = round % 2;
        trace_clear();
        run(g);
        CHECK_EQ(times_noted(1), !branch);
        CHECK_EQ(times_noted(2), 1);
    }
    heist_graph_destroy(g);
}

TEST(conditions_behind_conditions_and_beside_others_join)
{
    /* c1 -> x | c2;  c2 -> y | z;  x, y, z, beside -> j */
    heist_graph *g = create();
    int first = 0, second = 0;
    heist_node c1 = heist_graph_add_condition(g, "c1", follow, &first);
    heist_node c2 = heist_graph_add_condition(g, "c2", follow, &second);
    heist_node n[5];
    for (int i = 0; i < 5; i++)
        n[i] = heist_graph_add(g, NULL, note, tag(i));
    CHECK_EQ(heist_graph_precede(g, c1, (heist_node[]){n[0], c2}, 2), 0);
    CHECK_EQ(heist_graph_precede(g, c2, n + 1, 2), 0);
    CHECK_EQ(heist_graph_succeed(g, n[4], n, 4), 0);
    for (int round = 0; round < 100; round++) {
        first = round % 2;
        second = round / 2 % 2;
        trace_clear();
        run(g);
        CHECK_EQ(times_noted(0), first == 0);
        CHECK_EQ(times_noted(1), first == 1 && second == 0);
        CHECK_EQ(times_noted(2), first == 1 && second == 1);
        CHECK_EQ(times_noted(3), 1);
        CHECK_EQ(when(4), 2);
    }
    heist_graph_destroy(g);
}

TEST(arrivals_of_one_pass_do_not_count_in_the_next)
{
    /* x -> j;  c -> a -> j: if c follows none, j does not run. */
    heist_graph *g = create();
    int branch = 0;
    heist_node x = heist_graph_add(g, "x", note, tag(0));
    heist_node c = heist_graph_add_condition(g, "c", follow, &branch);
    heist_node a = heist_graph_add(g, "a", note, tag(1));
    heist_node j = heist_graph_add(g, "j", note, tag(2));
    CHECK_EQ(heist_graph_edge(g, c, a), 0);
    CHECK_EQ(heist_graph_succeed(g, j, (heist_node[]){x, a}, 2), 0);
    heist_graph *outer = create();
    heist_graph_add_module(outer, "m", g, NULL);
    for (int round = 0; round < 12; round++) {
        branch = round % 3 == 0 ? 0 : 7;
        trace_clear();
        run(round % 2 ? g : outer);
        CHECK_EQ(times_noted(0), 1);
        CHECK_EQ(times_noted(1), branch == 0);
        CHECK_EQ(times_noted(2), branch == 0);
        if (branch == 0) CHECK_EQ(when(2), 2);
    }
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
}

typedef struct uneven {
    counter calls, a, j;
} uneven;

static int every_third(heist_ctx c, heist_step *s, void *arg)
{
    uneven *u = arg;
    (void)c, (void)s;
    return heist_add_acq_rel(&u->calls, 1) % 3 ? 7 : 0;
}

static int after_a(heist_ctx c, heist_step *s, void *arg)
{
    uneven *u = arg;
    CHECK_EQ(value(&u->a), value(&u->j) + 1);
    return count(c, s, &u->j);
}

TEST(arrivals_of_one_pass_do_not_count_in_the_next_of_the_same_flow)
{
    uneven u = {{0}, {0}, {0}};
    heist_graph *g = create();
    heist_node x = heist_graph_add(g, "x", NULL, NULL);
    heist_node c = heist_graph_add_condition(g, "c", every_third, &u);
    heist_node a = heist_graph_add(g, "a", count, &u.a);
    heist_node j = heist_graph_add(g, "j", after_a, &u);
    CHECK_EQ(heist_graph_edge(g, c, a), 0);
    CHECK_EQ(heist_graph_succeed(g, j, (heist_node[]){x, a}, 2), 0);
    CHECK_EQ(heist_graph_run_n(g, 30, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&u.j), 10);
    heist_flow *f = NULL;
    heist_flow_opts o = {.times = 30};
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    CHECK_EQ(value(&u.j), 20);
    heist_graph_destroy(g);
}

typedef struct rounds {
    counter body;
    int left, each;
} rounds;

/* Again until it has counted down. */
static int again(heist_ctx c, heist_step *s, void *arg)
{
    rounds *r = arg;
    (void)c, (void)s;
    if (--r->left > 0) return 0;
    r->left = r->each;
    return 1;
}

/* before -> body -> condition -> (body | after) */
static heist_node add_loop(heist_graph *g, heist_node before, rounds *r,
                           heist_node body, heist_node last)
{
    heist_node c = heist_graph_add_condition(g, "again", again, r);
    heist_node after = heist_graph_add(g, "after", NULL, NULL);
    CHECK_EQ(heist_graph_edge(g, before, body), 0);
    CHECK_EQ(heist_graph_edge(g, last, c), 0);
    CHECK_EQ(heist_graph_precede(g, c, (heist_node[]){body, after}, 2), 0);
    return after;
}

TEST(a_loop_ends_after_n_rounds)
{
    rounds r = {.left = 100, .each = 100};
    counter end = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", NULL, NULL);
    heist_node body = heist_graph_add(g, "body", count, &r.body);
    heist_node b = add_loop(g, a, &r, body, body);
    CHECK_EQ(heist_graph_set(g, b, count, &end), 0);
    run(g);
    CHECK_EQ(value(&r.body), 100);
    CHECK_EQ(value(&end), 1);
    CHECK_EQ(heist_graph_run_n(g, 9, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&r.body), 1000);
    CHECK_EQ(value(&end), 10);
    heist_graph *outer = create();
    heist_node m[2];
    for (int i = 0; i < 2; i++)
        m[i] = heist_graph_add_module(outer, "loop", g, NULL);
    CHECK_EQ(heist_graph_edge(outer, m[0], m[1]), 0);
    run(outer);
    CHECK_EQ(value(&r.body), 1200);
    CHECK_EQ(value(&end), 12);
    heist_graph_destroy(outer);
    heist_graph_destroy(g);
}

TEST(a_condition_may_lead_to_itself)
{
    rounds r = {.left = 50, .each = 50};
    counter end = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", NULL, NULL);
    heist_node c = heist_graph_add_condition(g, "c", again, &r);
    heist_node b = heist_graph_add(g, "b", count, &end);
    CHECK_EQ(heist_graph_edge(g, a, c), 0);
    CHECK_EQ(heist_graph_edge(g, c, c), 0);
    CHECK_EQ(heist_graph_edge(g, c, b), 0);
    CHECK_EQ(heist_graph_run_n(g, 3, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(value(&end), 3);
    CHECK_EQ(r.left, 50);
    heist_graph_destroy(g);
}

TEST(loops_in_loops_with_parallel_bodies_end)
{
    rounds inner = {.left = 7, .each = 7}, outer = {.left = 11, .each = 11};
    counter end = {0};
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", NULL, NULL);
    heist_node head = heist_graph_add(g, "head", count, &outer.body);
    heist_node fork = heist_graph_add(g, "fork", NULL, NULL);
    heist_node join = heist_graph_add(g, "join", NULL, NULL);
    for (int i = 0; i < 3; i++) {
        heist_node n = heist_graph_add(g, NULL, count, &inner.body);
        CHECK_EQ(heist_graph_edge(g, fork, n), 0);
        CHECK_EQ(heist_graph_edge(g, n, join), 0);
    }
    heist_node b = add_loop(g, head, &inner, fork, join);
    b = add_loop(g, a, &outer, head, b);
    CHECK_EQ(heist_graph_set(g, b, count, &end), 0);
    for (int round = 1; round <= 20; round++) {
        run(g);
        CHECK_EQ(value(&inner.body), round * 3 * 7 * 11);
        CHECK_EQ(value(&outer.body), round * 11);
        CHECK_EQ(value(&end), round);
    }
    heist_graph_destroy(g);
}

/* --- choices -------------------------------------------------------------- */

static int pick_bits(heist_ctx c, heist_step *s, void *arg)
{
    int bits = *(int *)arg;
    (void)c;
    for (size_t i = 0; i < 4; i++) {
        if (!(bits >> i & 1)) continue;
        CHECK_EQ(heist_step_pick(s, i), 0);
        CHECK_EQ(heist_step_pick(s, i), -EEXIST);
    }
    CHECK_EQ(heist_step_pick(s, 4), -EINVAL);
    CHECK_EQ(heist_step_pick(s, SIZE_MAX), -EINVAL);
    return 0;
}

static int pick_as_plain(heist_ctx c, heist_step *s, void *arg)
{
    CHECK_EQ(heist_step_pick(s, 0), -EINVAL);
    return note(c, s, arg);
}

TEST(a_choice_follows_all_that_it_picks)
{
    heist_graph *g = create();
    int bits = 0;
    heist_node c = heist_graph_add_choice(g, "c", pick_bits, &bits);
    for (int i = 0; i < 4; i++) {
        heist_node n = heist_graph_add(g, NULL, pick_as_plain, tag(i));
        heist_node after = heist_graph_add(g, NULL, note, tag(10 + i));
        CHECK_EQ(heist_graph_edge(g, c, n), 0);
        CHECK_EQ(heist_graph_edge(g, n, after), 0);
    }
    for (int round = 0; round < 64; round++) {
        bits = round % 16;
        trace_clear();
        run(g);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(times_noted(i), bits >> i & 1);
            CHECK_EQ(times_noted(10 + i), bits >> i & 1);
        }
    }
    heist_graph_destroy(g);
}

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

/* --- limits --------------------------------------------------------------- */

typedef struct crowd {
    counter inside, most, total;
} crowd;

static void come_and_go(crowd *k)
{
    int now = heist_add_acq_rel(&k->inside, 1) + 1;
    if (now > value(&k->most)) heist_store_release(&k->most, now);
    for (volatile int i = 0; i < 200; i = i + 1)
        ;
    heist_add_acq_rel(&k->total, 1);
    heist_sub_acq_rel(&k->inside, 1);
}

/* Waits inside, so that others come even on one worker. */
static int enter_crowd(heist_ctx c, heist_step *s, void *arg)
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
                        g, heist_graph_add(g, NULL, enter_crowd, &k), &limit),
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

static int child_in_crowd(heist_ctx c, heist_step *s, void *arg)
{
    (void)c, (void)s;
    come_and_go(arg);
    return 0;
}

static int serial_children(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    heist_node before = none;
    (void)c;
    for (int i = 0; i < 10; i++) {
        heist_node n = heist_graph_add(sub, NULL, child_in_crowd, arg);
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

TEST(a_runtime_does_not_stop_while_a_flow_of_it_waits_for_a_limit)
{
    heist_runtime *rt = pool_start(1, HEIST_ON_DEMAND);
    heist_limit limit;
    heist_limit_init(&limit, 1);
    counter k = {0};
    gate t;
    gate_init(&t);
    heist_graph *a = create(), *b = create();
    heist_flow *fa = NULL, *fb = NULL;
    heist_flow_opts o = {.rt = rt};
    heist_node n = heist_graph_add(a, "gate", pass_gate, &t);
    CHECK_EQ(heist_graph_limit(a, n, &limit), 0);
    n = heist_graph_add(b, "waits", count, &k);
    CHECK_EQ(heist_graph_limit(b, n, &limit), 0);
    CHECK_EQ(heist_flow_start(&fa, a, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
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
    heist_limit_init(&limit, 1);
    counter k = {0};
    gate t;
    gate_init(&t);
    heist_graph *a = create(), *b = create();
    heist_flow *fa = NULL, *fb = NULL;
    heist_node n = heist_graph_add(a, "gate", pass_gate, &t);
    CHECK_EQ(heist_graph_limit(a, n, &limit), 0);
    for (int i = 0; i < 3; i++) {
        n = heist_graph_add(b, "waits", count, &k);
        CHECK_EQ(heist_graph_limit(b, n, &limit), 0);
    }
    CHECK_EQ(heist_flow_start(&fa, a, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&t.in, HEIST_FOREVER), 0);
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

/* --- priorities ----------------------------------------------------------- */

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
