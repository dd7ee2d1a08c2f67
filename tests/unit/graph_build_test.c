/* SPDX-License-Identifier: MIT
 *
 * graph_build_test.c: building graphs, changing them, and what is refused.
 */
#include "graphs.h"

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

TEST(half_an_allocator_is_refused)
{
    heist_graph *g = NULL;
    heist_allocator half = {.free = (void (*)(void *, void *, size_t))1};
    CHECK_EQ(heist_graph_create(&g, &half), -EINVAL);
    CHECK(g == NULL);
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
    check_refusal(g, heist_graph_output(g, none, 8), "heist_graph_output");
    g = create();
    n = heist_graph_add_module(g, "m", NULL, NULL);
    CHECK_EQ(n.id, HEIST_NO_NODE);
    check_refusal(g, -EINVAL, "heist_graph_add_module");
    g = create();
    CHECK_EQ(heist_graph_run_until(g, NULL, NULL, HEIST_FOREVER), -EINVAL);
    heist_graph_destroy(g);
}

/* Of many calls that look alike; the later ones change nothing. */
TEST(the_first_wrong_edge_is_named)
{
    const heist_node beyond = {77};
    for (int kind = 0; kind < 7; kind++) {
        heist_graph *g = create();
        heist_node a = heist_graph_add(g, "a", NULL, NULL);
        heist_node b = heist_graph_add(g, NULL, NULL, NULL);
        heist_node c = heist_graph_add(g, "c", NULL, NULL);
        CHECK_EQ(heist_graph_erase(g, c), 0);
        int rc = 0;
        const char *line = NULL;
        switch (kind) {
        case 0:
            rc = heist_graph_edge(g, a, a);
            line = "edge a -> a: to itself";
            break;
        case 1:
            rc = heist_graph_edge(g, b, b);
            line = "edge #1 -> #1: to itself";
            break;
        case 2:
            rc = heist_graph_edge(g, a, beyond);
            line = "edge a -> #77: no such node";
            break;
        case 3:
            rc = heist_graph_succeed(g, b, &beyond, 1);
            line = "edge #77 -> #1: no such node";
            break;
        case 4:
            rc = heist_graph_edge(g, beyond, beyond);
            line = "edge #77 -> #77: no such node";
            break;
        case 5:
            rc = heist_graph_linearize(g, (heist_node[]){a, b, none}, 3);
            line = "edge #1 -> HEIST_NO_NODE: no such node";
            break;
        default:
            rc = heist_graph_edge(g, a, c);
            line = "edge a -> #2: no such node";
        }
        CHECK_EQ(heist_graph_edge(g, b, b), -EINVAL);
        CHECK_EQ(heist_graph_set(g, none, NULL, NULL), -EINVAL);
        char why[80], cut[13];
        CHECK_EQ(heist_graph_check(g, cut, sizeof cut), -EINVAL);
        CHECK(strlen(cut) == 12 && strcmp(cut + 9, "...") == 0);
        CHECK_EQ(heist_graph_check(g, why, sizeof why), -EINVAL);
        CHECK(strcmp(why, line) == 0);
        check_refusal(g, rc, line);
    }
}

TEST(a_wrong_edge_after_another_error_is_not_the_first)
{
    heist_graph *g = create();
    heist_node a = heist_graph_add(g, "a", NULL, NULL);
    int rc = heist_graph_limit(g, a, NULL);
    CHECK_EQ(heist_graph_edge(g, a, a), -EINVAL);
    check_refusal(g, rc, "heist_graph_limit: wrong argument");
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
