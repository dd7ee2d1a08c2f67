/* SPDX-License-Identifier: MIT
 *
 * graph_control_test.c: nodes that decide which ones run next.
 */
#include "graphs.h"

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
