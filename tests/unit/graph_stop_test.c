/* SPDX-License-Identifier: MIT
 *
 * graph_stop_test.c: runs that are cancelled, that are too late, that fail; and
 * nodes that are tried again.
 */
#include "graphs.h"

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

static int join_after_cancel(heist_ctx c, heist_step *s, void *arg)
{
    (void)c;
    heist_step_cancel(s);
    heist_graph_add(heist_step_subflow(s), NULL, count, arg);
    CHECK_EQ(heist_step_join(s), -ECANCELED);
    return 0;
}

TEST(a_flow_that_a_node_begins_after_a_cancel_does_not_run)
{
    counter k = {0};
    heist_graph *g = create();
    heist_graph_add(g, "a", join_after_cancel, &k);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), -ECANCELED);
    heist_flow *f = NULL;
    CHECK_EQ(heist_flow_start(&f, g, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), -ECANCELED);
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
