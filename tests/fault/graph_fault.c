/* SPDX-License-Identifier: MIT
 *
 * graph_fault.c: graphs without memory.  What cannot be had is said, nothing is
 * lost, and the next time all is right.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <heist/graph.h>

typedef HEIST_ATOMIC(int) counter;

enum {
    WIDE = 150, /* more than a deque holds at first */
    ROUNDS = 4,
    CHILDREN = 5,
    IN_MODULE = 3,
    /* source, wide ones, sink, rounds, three parents and their children, what
     * is in the module */
    NODES = 1 + WIDE + 1 + ROUNDS + 3 * (1 + CHILDREN) + IN_MODULE
};

/* What the graphs here consist of. */
typedef struct set {
    heist_graph *g, *module;
    heist_limit limit[2];
    counter ran, rounds;
    bool built; /* nothing was refused */
} set;

/* --- the nodes ------------------------------------------------------------ */

static int count(heist_ctx c, heist_step *s, void *arg)
{
    set *k = arg;
    (void)c, (void)s;
    heist_add_relaxed(&k->ran, 1);
    return 0;
}

static int count_in_context(heist_ctx c, heist_step *s, void *arg)
{
    (void)arg;
    return count(c, s, heist_step_context(s));
}

static int again(heist_ctx c, heist_step *s, void *arg)
{
    set *k = arg;
    (void)c, (void)s;
    return (heist_add_relaxed(&k->rounds, 1) + 1) % ROUNDS ? 0 : 1;
}

/* Errors of building are the subflow's to remember. */
static int parent(heist_ctx c, heist_step *s, void *arg)
{
    heist_graph *sub = heist_step_subflow(s);
    if (!sub) return -ENOMEM;
    heist_node before = {HEIST_NO_NODE};
    for (int i = 0; i < CHILDREN; i++) {
        heist_node n = heist_graph_add(sub, "child", count, arg);
        if (i % 2) heist_graph_edge(sub, before, n);
        before = n;
    }
    return count(c, s, arg);
}

static int parent_detached(heist_ctx c, heist_step *s, void *arg)
{
    int rc = parent(c, s, arg);
    heist_step_detach(s);
    return rc;
}

static int parent_joining(heist_ctx c, heist_step *s, void *arg)
{
    int rc = parent(c, s, arg);
    return rc < 0 ? rc : heist_step_join(s);
}

/* --- building ------------------------------------------------------------- */

/* False: it was refused, and for want of memory. */
static bool got(int rc)
{
    CHECK(rc == 0 || rc == -ENOMEM || rc == -EINVAL);
    return rc == 0;
}

static heist_node add(set *k, const char *name, heist_node_fn *fn)
{
    heist_node n = heist_graph_add(k->g, name, fn, k);
    k->built &= n.id != HEIST_NO_NODE;
    return n;
}

static void edge(set *k, heist_node a, heist_node b)
{
    k->built &= got(heist_graph_edge(k->g, a, b));
}

static void build_wide(set *k)
{
    heist_node source = add(k, "source", count), sink = add(k, "sink", count);
    heist_retry retry = {.attempts = 3};
    for (int i = 0; i < WIDE; i++) {
        heist_node n = add(k, "wide", count);
        edge(k, source, n);
        edge(k, n, sink);
        if (i % 3 == 0) k->built &= got(heist_graph_output(k->g, n, 40));
        if (i % 5 == 0) k->built &= got(heist_graph_retry(k->g, n, &retry));
        for (int l = 0; l < 2; l++)
            if (i % 7 == l || i % 7 == 3)
                k->built &= got(heist_graph_limit(k->g, n, &k->limit[l]));
    }
    k->built &= got(heist_graph_priority(k->g, sink, HEIST_HIGH));
}

static void build_rest(set *k)
{
    heist_node a = add(k, NULL, NULL), body = add(k, "body", count);
    heist_node c = heist_graph_add_condition(k->g, "again", again, k);
    heist_node m = heist_graph_add_module(k->g, "module", k->module, k);
    k->built &= c.id != HEIST_NO_NODE && m.id != HEIST_NO_NODE;
    edge(k, a, body);
    edge(k, body, c);
    edge(k, c, body);
    edge(k, c, m);
    add(k, "joined", parent);
    add(k, "detached", parent_detached);
    add(k, "joining", parent_joining);
    k->built &= heist_graph_alloc(k->g, 5000) != NULL;
}

static void unbuild(set *k)
{
    heist_graph_destroy(k->g);
    heist_graph_destroy(k->module);
    CHECK_EQ(k->limit[0].free, 1);
    CHECK_EQ(k->limit[1].free, 2);
}

/* -ENOMEM: there is not even a graph. */
static int build(set *k, const heist_allocator *allocator)
{
    *k = (set){.built = true};
    heist_limit_init(&k->limit[0], 1);
    heist_limit_init(&k->limit[1], 2);
    if (heist_graph_create(&k->g, allocator) < 0) return -ENOMEM;
    if (heist_graph_create(&k->module, allocator) < 0) {
        heist_graph_destroy(k->g);
        return -ENOMEM;
    }
    for (int i = 0; i < IN_MODULE; i++) {
        heist_node n = heist_graph_add(k->module, "m", count_in_context, NULL);
        k->built &= n.id != HEIST_NO_NODE;
    }
    build_wide(k);
    build_rest(k);
    return 0;
}

static void run_right(heist_runtime *rt, set *k)
{
    heist_flow_opts o = {.rt = rt};
    heist_store_relaxed(&k->ran, 0);
    heist_store_relaxed(&k->rounds, 0);
    CHECK_EQ(heist_graph_run(k->g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&k->ran), NODES);
}

/* After something was refused: it worked, or says that it did not. */
static void check_ran(set *k, int rc)
{
    int ran = heist_load_relaxed(&k->ran);
    CHECK(rc == 0 || rc == -ENOMEM);
    CHECK(rc == 0 ? ran == NODES : ran <= NODES);
    heist_store_relaxed(&k->ran, 0);
    heist_store_relaxed(&k->rounds, 0);
}

/* The next n to try: all of the first ones, then fewer. */
static long next(long n)
{
    return n + 1 + n / 16;
}

TEST(a_graph_that_was_built_without_memory_says_so)
{
    heist_runtime *rt = NULL; /* its memory is not counted here */
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n++) {
            set k;
            fault_arm(FAULT_HOOK, n, (fault_how)how);
            int rc = build(&k, &fault_allocator);
            bool hit = fault_disarm() > 0;
            CHECK_EQ(rc == 0 && k.built, !hit);
            if (rc == 0) {
                heist_flow_opts o = {.rt = rt};
                rc = heist_graph_check(k.g, NULL, 0);
                CHECK(rc == 0 || rc == -ENOMEM);
                if (!hit) CHECK_EQ(rc, 0);
                CHECK_EQ(heist_graph_run(k.g, &o, HEIST_FOREVER), rc);
                check_ran(&k, rc);
                unbuild(&k);
            }
            CHECK_EQ(heist_load_relaxed(&fault.hook_blocks), 0);
            if (!hit) break;
        }
    }
    fault_stop(rt);
}

TEST(a_graph_from_malloc_that_was_built_without_memory_says_so)
{
    for (long n = 1;; n++) {
        set k;
        fault_tally before = fault_count();
        fault_arm(FAULT_HEAP, n, FAULT_EVER_ON);
        int rc = build(&k, NULL);
        bool hit = fault_disarm() > 0;
        CHECK_EQ(rc == 0 && k.built, !hit);
        if (rc == 0) unbuild(&k);
        fault_check_nothing_left(before);
        if (!hit) break;
    }
}

/* --- sealing -------------------------------------------------------------- */

TEST(a_check_without_memory_says_so_and_the_next_one_is_right)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n++) {
            set k;
            CHECK_EQ(build(&k, &fault_allocator), 0);
            char why[100];
            fault_arm(FAULT_HOOK, n, (fault_how)how);
            int rc = heist_graph_check(k.g, why, sizeof why);
            bool hit = fault_disarm() > 0;
            CHECK(rc == 0 || (hit && rc == -ENOMEM));
            CHECK_EQ(heist_graph_check(k.g, why, sizeof why), 0);
            run_right(rt, &k);
            run_right(rt, &k);
            unbuild(&k);
            if (!hit) break;
        }
    }
    fault_stop(rt);
}

TEST(a_change_without_memory_is_remembered_if_it_is_refused)
{
    heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
    for (long n = 1;; n++) {
        set k;
        CHECK_EQ(build(&k, &fault_allocator), 0);
        run_right(rt, &k);
        fault_arm(FAULT_HOOK, n, FAULT_EVER_ON);
        heist_node a = heist_graph_add(k.g, "more", count, &k);
        bool hit = fault_disarm() > 0;
        heist_flow_opts o = {.rt = rt};
        if (hit) {
            CHECK_EQ(a.id, HEIST_NO_NODE);
            CHECK_EQ(heist_graph_run(k.g, &o, HEIST_FOREVER), -ENOMEM);
        } else {
            heist_store_relaxed(&k.ran, 0);
            CHECK_EQ(heist_graph_run(k.g, &o, HEIST_FOREVER), 0);
            CHECK_EQ(heist_load_relaxed(&k.ran), NODES + 1);
        }
        unbuild(&k);
        if (!hit) break;
    }
    fault_stop(rt);
}

/* --- running -------------------------------------------------------------- */

typedef enum way {
    BY_CALLER,
    BY_WORKERS,
    BY_TASK,
    WAYS
} way;

typedef struct errand {
    set *k;
    int rc;
} errand;

static int run_task(heist_ctx c, void *arg)
{
    errand *e = arg;
    (void)c;
    e->rc = heist_graph_run(e->k->g, NULL, HEIST_FOREVER);
    return 0;
}

static int run_as(heist_runtime *rt, set *k, way how)
{
    heist_flow_opts o = {.rt = rt};
    heist_flow *f = NULL;
    errand e = {k, 0};
    heist_latch done;
    int rc;
    switch (how) {
    case BY_CALLER: return heist_graph_run(k->g, &o, HEIST_FOREVER);
    case BY_WORKERS:
        rc = heist_flow_start(&f, k->g, &o, HEIST_FOREVER);
        return rc < 0 ? rc : heist_flow_close(f);
    default:
        heist_latch_init(&done, 1);
        rc = heist_spawn(rt, run_task, &e, &done, HEIST_FOREVER);
        if (rc < 0) return rc;
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        return e.rc;
    }
}

/* Runs a graph, in that state, with the n-th call refused, for all n. */
static void run_starved(unsigned workers, way by, fault_how how, bool fresh)
{
    for (long n = 1;; n = next(n)) {
        heist_runtime *rt = fault_start(workers, HEIST_ON_DEMAND);
        set k;
        CHECK_EQ(build(&k, &fault_allocator), 0);
        if (!fresh) run_right(rt, &k);
        heist_store_relaxed(&k.ran, 0);
        heist_store_relaxed(&k.rounds, 0);
        fault_arm(FAULT_HOOK | FAULT_HEAP, n, how);
        int rc = run_as(rt, &k, by);
        bool hit = fault_disarm() > 0;
        check_ran(&k, rc);
        if (!hit) CHECK_EQ(rc, 0);
        run_right(rt, &k);
        /* It is not thought to run any more. */
        CHECK_EQ(heist_graph_set(k.g, (heist_node){0}, count, &k), 0);
        run_right(rt, &k);
        fault_check_works(rt);
        unbuild(&k);
        fault_stop(rt);
        if (!hit) break;
    }
}

TEST(a_run_without_memory_says_so_and_the_next_one_is_right)
{
    for (unsigned workers = 1; workers <= 2; workers++)
        for (int by = 0; by < WAYS; by++)
            for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++)
                run_starved(workers, (way)by, (fault_how)how, true);
}

TEST(a_later_run_without_memory_says_so_and_the_next_one_is_right)
{
    for (unsigned workers = 1; workers <= 2; workers++)
        for (int by = 0; by < WAYS; by++)
            for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++)
                run_starved(workers, (way)by, (fault_how)how, false);
}

/* A graph that needs nothing more than it has. */
static heist_graph *build_plain(set *k)
{
    heist_graph *g = NULL;
    *k = (set){.built = true};
    CHECK_EQ(heist_graph_create(&g, &fault_allocator), 0);
    heist_node source = heist_graph_add(g, NULL, count, k);
    for (int i = 1; i < 30; i++) {
        heist_node n = heist_graph_add(g, NULL, count, k);
        CHECK_EQ(heist_graph_edge(g, source, n), 0);
    }
    return g;
}

TEST(a_plain_graph_that_has_run_needs_no_memory)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    set k;
    heist_graph *g = build_plain(&k);
    heist_flow_opts o = {.rt = rt, .times = 5};
    heist_flow *f = NULL;
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
    CHECK_EQ(heist_flow_close(f), 0);
    fault_disarm();
    CHECK_EQ(heist_load_relaxed(&k.ran), 3 * 5 * 30);
    heist_graph_destroy(g);
    fault_stop(rt);
}

enum {
    DEQUE = 64 /* tasks that fit before it grows */
};

typedef struct crowded {
    heist_runtime *rt;
    heist_graph *g;
    long hits;
} crowded;

static int run_over_a_full_deque(heist_ctx c, void *arg)
{
    crowded *k = arg;
    (void)c;
    for (int i = 0; i < DEQUE; i++)
        CHECK_EQ(heist_spawn(k->rt, fault_count_one, NULL, NULL, HEIST_NOW), 0);
    fault_arm(FAULT_HOOK, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_graph_run(k->g, NULL, HEIST_FOREVER), 0);
    k->hits = fault_disarm();
    return 0;
}

TEST(what_is_ready_and_has_no_room_in_the_deque_runs_all_the_same)
{
    for (int e = HEIST_ON_DEMAND; e <= HEIST_EAGER; e++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = 1,
                               .exposure = (heist_exposure)e,
                               .allocator = fault_allocator};
        CHECK_EQ(heist_start(&rt, &config), 0);
        set k;
        heist_graph *g = build_plain(&k);
        crowded crowd = {rt, g, 0};
        heist_latch done;
        heist_latch_init(&done, 1);
        k.g = g;
        CHECK_EQ(run_as(rt, &k, BY_TASK), 0); /* now it has its memory */
        CHECK_EQ(heist_spawn(rt, run_over_a_full_deque, &crowd, &done,
                             HEIST_FOREVER),
                 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_load_relaxed(&k.ran), 60);
        if (e == HEIST_EAGER) CHECK(crowd.hits > 0); /* it is shared */
        heist_graph_destroy(g);
        fault_stop(rt);
    }
}

TEST(flows_at_a_time_without_memory_are_refused)
{
    enum {
        FLOWS = 20
    };

    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1; n < FLOWS; n++) {
            set k;
            heist_graph *g = build_plain(&k);
            heist_flow *f[FLOWS];
            int rc[FLOWS], refused = 0;
            heist_flow_opts o = {.rt = rt};
            CHECK_EQ(heist_graph_check(g, NULL, 0), 0);
            fault_arm(FAULT_HOOK, n, (fault_how)how);
            for (int i = 0; i < FLOWS; i++)
                rc[i] = heist_flow_start(&f[i], g, &o, HEIST_FOREVER);
            fault_disarm();
            for (int i = 0; i < FLOWS; i++) {
                CHECK(rc[i] == 0 || rc[i] == -ENOMEM);
                refused += rc[i] != 0;
                if (rc[i] == 0) CHECK_EQ(heist_flow_close(f[i]), 0);
            }
            CHECK_EQ(heist_load_relaxed(&k.ran), (FLOWS - refused) * 30);
            heist_graph_destroy(g);
        }
    }
    fault_stop(rt);
}

/* --- without a runtime ---------------------------------------------------- */

TEST(without_a_default_runtime_the_caller_runs_it_all)
{
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n = next(n)) {
            CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
            set k;
            CHECK_EQ(build(&k, NULL), 0);
            CHECK_EQ(heist_graph_check(k.g, NULL, 0), 0);
            fault_arm(FAULT_HEAP | FAULT_THREAD, n, (fault_how)how);
            int rc = heist_graph_run(k.g, NULL, HEIST_FOREVER);
            bool hit = fault_disarm() > 0;
            check_ran(&k, rc);
            if (!hit) CHECK_EQ(rc, 0);
            run_right(NULL, &k);
            unbuild(&k);
            if (!hit) break;
        }
    }
    set k;
    CHECK_EQ(build(&k, NULL), 0);
    CHECK_EQ(heist_graph_check(k.g, NULL, 0), 0);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON); /* there never is one */
    run_right(NULL, &k);
    run_right(NULL, &k);
    heist_flow *f = NULL;
    CHECK(heist_flow_start(&f, k.g, NULL, HEIST_FOREVER) < 0);
    CHECK(fault_disarm() > 0);
    run_right(NULL, &k);
    unbuild(&k);
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}
