/* SPDX-License-Identifier: MIT
 *
 * Flows of graphs: in the hands of one worker, taken out of them, and shared.
 *
 * What is shipped: building and sealing the graph, heist_graph_run and
 * heist_flow_start with all that is below them, deques, frames, strands and
 * latches.  What is the test's: the workers and the loop in which those who are
 * not inside of heist_graph_run find work (crew.h).
 *
 * Every node checks that those before it are done, by plain memory: an edge
 * that is missing is a data race.  The thread that has run a flow destroys its
 * graph at once, while the others may be anywhere: who looks at the flow after
 * its end uses what is freed.
 */
#include "hands.h"

#include "graph/flow.h"

#include <errno.h>

enum {
    NODES = 8,
    GRAPHS = 2
};

typedef struct node node;
typedef int also(heist_step *s, const node *n); /* what else a node does */

struct node {
    heist_node at;
    unsigned before; /* the nodes before it, bit by bit */
    also *also;
    unsigned limits; /* that it is bound to, bit by bit */
    int runs;
    int done; /* the pass it was last done in */
};

static heist_flow_opts opts;
static heist_graph *graphs[GRAPHS];
static node nodes[NODES];
static int pass, passes; /* 1, 2, ...: nodes before are done in this one */
static unsigned count;   /* nodes in use */

/* --- graphs --------------------------------------------------------------- */

static bool seen(unsigned i, unsigned by)
{
    return model_seen() >> (i * 8 + by) & 1;
}

static int visit(heist_ctx c, heist_step *s, void *arg)
{
    node *n = arg;
    (void)c;
    for (unsigned i = 0; i < NODES; i++)
        if (n->before >> i & 1) model_check(nodes[i].done == pass);
    model_check(n->done < pass);
    n->runs++;
    model_saw((unsigned)(n - nodes) * 8 + model_self());
    int rc = n->also ? n->also(s, n) : 0;
    n->done = pass;
    return rc;
}

static heist_graph *graph(unsigned g)
{
    while (!graphs[g] && heist_graph_create(&graphs[g], NULL) < 0)
        ;
    return graphs[g];
}

static void add(unsigned g, unsigned i, also *fn)
{
    nodes[i].at = heist_graph_add(graph(g), NULL, visit, &nodes[i]);
    nodes[i].also = fn;
    if (i >= count) count = i + 1;
}

static void edge(unsigned g, unsigned from, unsigned to)
{
    model_check(heist_graph_edge(graph(g), nodes[from].at, nodes[to].at) == 0);
    nodes[to].before |= 1u << from;
}

/* Each node ran once in each pass.  Also from who has waited: it sees what they
 * did. */
static void check_runs(void)
{
    for (unsigned i = 0; i < count; i++)
        model_check(nodes[i].runs == passes && nodes[i].done == passes);
}

/* --- the rig -------------------------------------------------------------- */

static void rig(unsigned workers, unsigned flows, bool alone)
{
    crew_open(workers, flows, alone);
    opts = (heist_flow_opts){.rt = crew.rt};
    pass = passes = 1;
}

/* With a flow each, so that whoever comes first finds it at one address. */
static void seal(void)
{
    for (unsigned g = 0; g < GRAPHS; g++) {
        if (!graphs[g]) continue;
        model_check(heist_graph_check(graphs[g], NULL, 0) == 0);
        hi_flow_put(hi_flow_get(graphs[g]), false);
    }
}

static int run_graph(unsigned g)
{
    return heist_graph_run(graphs[g], &opts, HEIST_FOREVER);
}

static void destroy(unsigned g)
{
    heist_graph_destroy(graphs[g]);
    graphs[g] = NULL;
}

static void flow_ends(unsigned g)
{
    destroy(g);
    crew_run_ends();
}

/* Thread 0 runs the graph, the others help. */
static void run_or_help(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_graph(0) == 0);
        check_runs();
        flow_ends(0);
    }
    crew_help(w);
}

static void after(void)
{
    check_runs();
    crew_close();
}

/* --- in the hands of one worker ------------------------------------------- */

/* A node waits for one that is ready, too, and comes later in the list. */
static hi_futex told;

static int wait_for_it(heist_step *s, const node *n)
{
    (void)s, (void)n;
    pool_await(&told);
    return 0;
}

static int tell_it(heist_step *s, const node *n)
{
    (void)s, (void)n;
    pool_tell(&told);
    return 0;
}

/* 0 -> 1 and 2 -> 3 */
static void add_diamond(also *left, also *right)
{
    add(0, 0, NULL);
    add(0, 1, left);
    add(0, 2, right);
    add(0, 3, NULL);
    edge(0, 0, 1);
    edge(0, 0, 2);
    edge(0, 1, 3);
    edge(0, 2, 3);
    seal();
}

static void setup_stuck(void)
{
    rig(2, 1, true);
    heist_init(&told, 0);
    add_diamond(wait_for_it, tell_it);
}

/* The same, but the owner may have been called before that. */
static void setup_called_then_stuck(void)
{
    crew.calls = true;
    setup_stuck();
}

static void both_ran_the_end(void)
{
    model_check(seen(2, 1));
    model_check(seen(3, 0));
    model_check(seen(3, 1));
}

static void setup_short(void)
{
    rig(2, 1, true);
    add_diamond(NULL, NULL);
}

/* 0 and 1 */
static void setup_pair(void)
{
    rig(2, 1, true);
    add(0, 0, NULL);
    add(0, 1, NULL);
    seal();
}

/* 0 -> 1: the helper comes as it ends. */
static void setup_two(void)
{
    rig(2, 1, true);
    add(0, 0, NULL);
    add(0, 1, NULL);
    edge(0, 0, 1);
    seal();
}

/* Two passes.  Which one it is, is plain memory, too. */
static bool is_last(void *unused)
{
    (void)unused;
    return ++pass > passes;
}

static void two_passes(void)
{
    opts.until = is_last;
    pass = 0;
    passes = 2;
}

static void setup_two_passes(void)
{
    setup_two();
    two_passes();
}

/* The owner looks after its fourth node: they take long enough, one is left,
 * and somebody searches. */
static void setup_sharing(void)
{
    rig(2, 1, true);
    heist_init(&crew.rt->sleep.searching, 1);
    for (unsigned i = 0; i < 5; i++)
        add(0, i, NULL);
    seal();
}

static void helper_had_one(void)
{
    model_check(seen(1, 1));
}

static void helper_had_the_last(void)
{
    model_check(seen(4, 1));
}

/* The strand of the node is put aside; its worker goes on in the shipped loop,
 * and may be the one that takes the frame. */
static heist_latch open_latch;

static int wait_for_latch(heist_step *s, const node *n)
{
    (void)s, (void)n;
    model_check(heist_latch_wait(&open_latch, HEIST_FOREVER) == 0);
    return 0;
}

static int open_it(heist_step *s, const node *n)
{
    (void)s, (void)n;
    heist_latch_arrive(&open_latch);
    return 0;
}

static void setup_put_aside(void)
{
    rig(2, 1, true);
    heist_latch_init(&open_latch, 1);
    add_diamond(wait_for_latch, open_it);
}

static void both_took_over(void)
{
    model_check(seen(2, 0));
    model_check(seen(2, 1));
}

/* More nodes, more helpers: too large to exhaust. */
static void setup_four_workers(void)
{
    static const uint8_t edges[][2] = {{0, 2}, {0, 3}, {1, 3}, {2, 4}, {3, 4},
                                       {3, 5}, {4, 6}, {5, 6}, {5, 7}};
    rig(4, 1, true);
    crew.calls = model_choose(2);
    heist_init(&crew.rt->sleep.searching, model_choose(2));
    heist_init(&told, 0);
    for (unsigned i = 0; i < NODES; i++)
        add(0, i, i == 2 ? wait_for_it : i == 3 ? tell_it : NULL);
    for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++)
        edge(0, edges[i][0], edges[i][1]);
    seal();
}

/* --- shared --------------------------------------------------------------- */

static void setup_diamond_of_two(void)
{
    rig(2, 1, false);
    add_diamond(NULL, NULL);
}

static void setup_diamond_of_three(void)
{
    rig(3, 1, false);
    add_diamond(NULL, NULL);
}

/* 0 and 1 -> 2 and 3 */
static void add_stages(void)
{
    for (unsigned i = 0; i < 4; i++)
        add(0, i, NULL);
    for (unsigned from = 0; from < 2; from++)
        for (unsigned to = 2; to < 4; to++)
            edge(0, from, to);
    seal();
}

static void setup_stages_of_two(void)
{
    rig(2, 1, false);
    add_stages();
}

static void setup_stages_of_three(void)
{
    rig(3, 1, false);
    add_stages();
}

/* More are ready at once than there are chains. */
static void setup_chains(void)
{
    rig(2, 1, false);
    for (unsigned i = 0; i < 7; i++)
        add(0, i, NULL);
    for (unsigned i = 0; i < 6; i++)
        edge(0, i, 6);
    seal();
}

static void both_ran_the_last(void)
{
    model_check(seen(6, 0));
    model_check(seen(6, 1));
}

/* Graph 1, nodes 0 and 1, is a module of graph 0: module -> 2 and 3. */
static void setup_module(void)
{
    rig(2, 1, false);
    add(1, 0, NULL);
    add(1, 1, NULL);
    heist_node m = heist_graph_add_module(graph(0), NULL, graph(1), NULL);
    for (unsigned i = 2; i < 4; i++) {
        add(0, i, NULL);
        model_check(heist_graph_edge(graph(0), m, nodes[i].at) == 0);
        nodes[i].before = 1 << 0 | 1 << 1;
    }
    seal();
}

static void run_module(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_graph(0) == 0);
        check_runs();
        destroy(1);
        flow_ends(0);
    }
    crew_help(w);
}

static void module_ended_anywhere(void)
{
    model_check(seen(2, 0));
    model_check(seen(2, 1));
}

/* Node 0 makes a flow of nodes 1 and 3; 2 comes after node 0. */
static int nest(heist_step *s, const node *n)
{
    (void)n;
    heist_graph *g = heist_step_subflow(s);
    model_check(heist_graph_add(g, NULL, visit, &nodes[1]).id == 0);
    model_check(heist_graph_add(g, NULL, visit, &nodes[3]).id == 1);
    return 0;
}

static int nest_detached(heist_step *s, const node *n)
{
    heist_step_detach(s);
    return nest(s, n);
}

static void setup_nested(also *fn)
{
    rig(2, 1, false);
    add(0, 0, fn);
    add(0, 2, NULL);
    edge(0, 0, 2);
    seal();
    count = 4;
}

static void setup_subflow(void)
{
    setup_nested(nest);
    nodes[2].before = 1 << 0 | 1 << 1 | 1 << 3;
}

static void setup_detached(void)
{
    setup_nested(nest_detached);
}

/* Node 0 waits for a run of node 2; node 1 fails at the same time.  What is
 * stopped before that run begins stops it, too. */
static int run_inside(heist_step *s, const node *n)
{
    bool stopped = heist_step_stopped(s);
    (void)n;
    heist_graph *g = heist_step_subflow(s);
    model_check(heist_graph_add(g, NULL, visit, &nodes[2]).id == 0);
    int rc = heist_step_join(s);
    model_check(rc == -ECANCELED || (rc == 0 && nodes[2].runs == 1));
    if (stopped) model_check(rc == -ECANCELED && nodes[2].runs == 0);
    return 0;
}

static int fail(heist_step *s, const node *n)
{
    (void)s, (void)n;
    return -EIO;
}

static void setup_inner(void)
{
    rig(2, 1, false);
    add(0, 0, run_inside);
    add(0, 1, fail);
    seal();
}

static void run_inner(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_graph(0) == -EIO);
        flow_ends(0);
    }
    crew_help(w);
}

static void after_inner(void)
{
    model_check(nodes[0].runs <= 1);
    model_check(nodes[1].runs == 1);
    model_check(nodes[2].runs <= nodes[0].runs);
    model_saw(NODES * 8 - 1 - (unsigned)nodes[2].runs);
    crew_close();
}

/* What the test tells apart by the last two values has come either way. */
static void both_orders_were_seen(void)
{
    model_check(seen(NODES - 1, 7));
    model_check(seen(NODES - 1, 6));
}

/* The first run fails in the middle, the second one does not. */
static int fail_once(heist_step *s, const node *n)
{
    (void)s, (void)n;
    return pass == 1 ? -EIO : 0;
}

static void setup_failure(void)
{
    rig(2, 1, false);
    add_diamond(fail_once, NULL);
}

static void run_twice(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_graph(0) == -EIO);
        model_check(nodes[3].runs == 0);
        pass = 2;
        model_check(run_graph(0) == 0);
        flow_ends(0);
    }
    crew_help(w);
}

static void after_failure(void)
{
    model_check(nodes[0].runs == 2);
    model_check(nodes[1].runs == 2);
    model_check(nodes[2].runs == 1 || nodes[2].runs == 2);
    model_check(nodes[3].runs == 1);
    crew_close();
}

/* --- priorities ----------------------------------------------------------- */

/* 0, 1 and 2 -> 3, each of its own level. */
static void setup_ranked(void)
{
    static const heist_priority levels[] = {HEIST_LOW, HEIST_HIGH,
                                            HEIST_CRITICAL, HEIST_NORMAL};
    rig(2, 1, false);
    for (unsigned i = 0; i < 4; i++) {
        add(0, i, NULL);
        model_check(heist_graph_priority(graph(0), nodes[i].at, levels[i]) ==
                    0);
    }
    for (unsigned i = 0; i < 3; i++)
        edge(0, i, 3);
    seal();
}

static void both_ran_ranked(void)
{
    model_check(seen(0, 0) && seen(0, 1));
    model_check(seen(3, 0) && seen(3, 1));
}

/* --- limits --------------------------------------------------------------- */

static heist_limit limits[2];
static int inside[2]; /* of who has it */

static int use_limits(heist_step *s, const node *n)
{
    unsigned mine = n->limits;
    (void)s;
    for (unsigned i = 0; i < 2; i++)
        if (mine >> i & 1) model_check(inside[i]++ == 0);
    for (unsigned i = 0; i < 2; i++)
        if (mine >> i & 1) inside[i]--;
    return 0;
}

static void add_limited(unsigned g, unsigned i, unsigned mine)
{
    add(g, i, use_limits);
    nodes[i].limits = mine;
    for (unsigned l = 0; l < 2; l++)
        if (mine >> l & 1)
            model_check(heist_graph_limit(graph(g), nodes[i].at, &limits[l]) ==
                        0);
}

static void init_limits(void)
{
    heist_limit_init(&limits[0], 1);
    heist_limit_init(&limits[1], 1);
}

/* One flow of two workers. */
static void setup_limit(void)
{
    rig(2, 1, false);
    init_limits();
    for (unsigned i = 0; i < 3; i++)
        add_limited(0, i, 1);
    seal();
}

/* A flow of each thread. */
static void setup_two_flows(void)
{
    rig(2, 2, false);
    init_limits();
    add_limited(0, 0, 1);
    add_limited(1, 1, 1);
    seal();
}

static void setup_two_limits(void)
{
    rig(2, 2, false);
    init_limits();
    add_limited(0, 0, 3);
    add_limited(1, 1, 3);
    seal();
}

static void run_own(unsigned id)
{
    hi_worker *w = crew_join(id);
    model_check(run_graph(id) == 0);
    flow_ends(id);
    crew_help(w);
}

static void after_limits(void)
{
    for (unsigned i = 0; i < 2; i++) {
        model_check(limits[i].free == 1);
        model_check(limits[i].first == NULL);
    }
    after();
}

/* Flow 0 fails while a node of it may wait for what flow 1 has. */
static void setup_leaving(void)
{
    rig(2, 2, false);
    init_limits();
    add_limited(0, 0, 1);
    add(0, 1, fail);
    add_limited(1, 2, 1);
    seal();
}

static void run_failing(unsigned id)
{
    hi_worker *w = crew_join(id);
    model_check(run_graph(id) == (id ? 0 : -EIO));
    flow_ends(id);
    crew_help(w);
}

static void after_leaving(void)
{
    model_check(limits[0].free == 1 && limits[0].first == NULL);
    model_check(nodes[0].runs <= 1);
    model_check(nodes[1].runs == 1);
    model_check(nodes[2].runs == 1);
    model_saw(NODES * 8 - 1 - (unsigned)nodes[0].runs);
    crew_close();
}

/* --- started, and closed by another thread -------------------------------- */

static int cancelled;

static void setup_started(void)
{
    rig(1, 1, true);
    add(0, 0, NULL);
    add(0, 1, NULL);
    edge(0, 0, 1);
    seal();
}

static void setup_started_shared(void)
{
    rig(2, 1, false);
    add(0, 0, NULL);
    add(0, 1, NULL);
    seal();
}

static void setup_started_passes(void)
{
    setup_started_shared();
    two_passes();
}

/* Thread 0 is foreign, thread i is worker i - 1. */
static void start_and_close(unsigned id)
{
    if (id) {
        crew_help(crew_join(id - 1));
        return;
    }
    heist_flow *f;
    model_check(heist_flow_start(&f, graphs[0], &opts, HEIST_FOREVER) == 0);
    model_check(heist_flow_close(f) == 0);
    check_runs();
    flow_ends(0);
}

static void start_and_cancel(unsigned id)
{
    if (id) {
        crew_help(crew_join(id - 1));
        return;
    }
    heist_flow *f;
    model_check(heist_flow_start(&f, graphs[0], &opts, HEIST_FOREVER) == 0);
    heist_flow_cancel(f);
    cancelled = heist_flow_close(f);
    model_check(cancelled == 0 || cancelled == -ECANCELED);
    flow_ends(0);
}

/* Thread 1 is the worker; thread 2 cancels while thread 0 waits. */
static heist_flow *handed;
static hi_futex is_started, is_cancelled;

static void setup_cancelled(void)
{
    setup_started();
    heist_init(&is_started, 0);
    heist_init(&is_cancelled, 0);
}

static void wait_or_cancel(unsigned id)
{
    if (id == 1) {
        crew_help(crew_join(0));
    } else if (id == 2) {
        pool_await(&is_started);
        heist_flow_cancel(handed);
        pool_tell(&is_cancelled);
    } else {
        model_check(
            heist_flow_start(&handed, graphs[0], &opts, HEIST_FOREVER) == 0);
        pool_tell(&is_started);
        cancelled = heist_flow_wait(handed, HEIST_FOREVER);
        pool_await(&is_cancelled);
        model_check(heist_flow_close(handed) == cancelled);
        flow_ends(0);
    }
}

static void after_cancelled(void)
{
    model_check(nodes[1].runs <= nodes[0].runs);
    if (cancelled == 0) check_runs();
    crew_close();
}

/* --- sealed by several ---------------------------------------------------- */

static void setup_unsealed(void)
{
    add(0, 0, NULL);
    add(0, 1, NULL);
    edge(0, 0, 1);
}

static void seal_it(unsigned id)
{
    (void)id;
    model_check(hi_graph_seal(graphs[0], NULL, 0) == 0);
    model_check(graphs[0]->sources == 1);
    model_check(graphs[0]->source_list[0] == 0);
    model_check(graphs[0]->nodes[1].need == 1);
}

static void after_sealed(void)
{
    destroy(0);
}

/* --- without a search ----------------------------------------------------- */

/*
 * The flow is started, but nobody gets its task: instead each worker has one of
 * the sources, as long as there are some.  It runs that and what it then finds
 * in its own deque, and steals once (hands.h).  Who ends a pass finds the next
 * one in its deque.
 */
static heist_flow *in_hand;
static uintptr_t task_in_hand;

static heist_flow *start_flow(unsigned g)
{
    heist_flow *f;
    model_check(heist_flow_start(&f, graphs[g], &opts, HEIST_FOREVER) == 0);
    model_check(hi_injector_take(&crew.rt->injector, &task_in_hand, 1) == 1);
    return f;
}

static void start_in_hand(void)
{
    seal();
    in_hand = start_flow(0);
}

/* The sources -> the others */
static void add_in_hand(unsigned sources, unsigned others)
{
    rig(sources, 0, false);
    for (unsigned i = 0; i < sources + others; i++)
        add(0, i, NULL);
    for (unsigned to = sources; to < sources + others; to++)
        for (unsigned from = 0; from < sources; from++)
            edge(0, from, to);
}

static void setup_join_of_two(void)
{
    add_in_hand(2, 1);
    two_passes();
    start_in_hand();
}

static void setup_join_of_three(void)
{
    add_in_hand(3, 1);
    two_passes();
    start_in_hand();
}

static void setup_joins_of_two(void)
{
    add_in_hand(2, 2);
    start_in_hand();
}

static void run_source(hi_worker *w, heist_flow *f, unsigned i)
{
    hi_place *p = &f->places[f->graph->source_list[i]];
    p->next = NULL;
    hi_flow_run(hands_context(w), f, p, false);
}

static void run_in_hand(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id < in_hand->graph->sources) {
        run_source(w, in_hand, id);
        hands_drain(w);
    }
    hands_steal(w);
    hands_leave(w);
}

static void after_in_hand(void)
{
    model_check(heist_flow_close(in_hand) == 0);
    destroy(0);
    after();
}

static void all_ran_the_join(void)
{
    for (unsigned i = 0; i < 3; i++)
        model_check(seen(3, i));
}

/* The first run fails: what it has left is armed for the second one. */
static void setup_failure_in_hand(void)
{
    add_in_hand(2, 1);
    nodes[0].also = fail_once;
    start_in_hand();
}

static void after_failure_in_hand(void)
{
    model_check(heist_flow_close(in_hand) == -EIO);
    model_check(nodes[2].runs == 0);
    pass = 2;
    start_in_hand();
    hi_worker *w = crew_join(0);
    crew_run_item(w, task_in_hand);
    hands_drain(w);
    hands_leave(w);
    model_check(heist_flow_close(in_hand) == 0);
    model_check(nodes[0].runs == 2 && nodes[1].runs <= 2);
    model_check(nodes[2].runs == 1);
    destroy(0);
    crew_close();
}

/* Node 0 waits for a flow of its own, of which the other worker may steal. */
static void setup_subflow_in_hand(void)
{
    setup_subflow();
    heist_init(&crew.running, 0);
    start_in_hand();
}

/* Node 0 is about to begin a run when node 1 fails, or has begun it. */
static void setup_inner_in_hand(void)
{
    add_in_hand(2, 0);
    nodes[0].also = run_inside;
    nodes[1].also = fail;
    start_in_hand();
}

static void after_inner_in_hand(void)
{
    model_check(heist_flow_close(in_hand) == -EIO);
    destroy(0);
    after_inner();
}

/* Worker 0 has node 0 in hand, and node 1 of another flow in its deque. */
static heist_flow *beside;

static void setup_beside(void)
{
    rig(2, 0, false);
    add(0, 0, NULL);
    add(1, 1, NULL);
    start_in_hand();
    beside = start_flow(1);
    beside->places[0].next = NULL;
    model_check(hi_job_push(&crew.rt->pool[0], &beside->places[0].job));
}

static void after_beside(void)
{
    model_check(heist_flow_close(beside) == 0);
    destroy(1);
    after_in_hand();
}

static void both_ran_what_was_beside(void)
{
    model_check(seen(1, 0) && seen(1, 1));
}

/* Each worker has a node of its own flow in hand; one may have to wait for the
 * limit of the other, who hands it over. */
static void setup_handed_over(void)
{
    rig(2, 0, false);
    init_limits();
    add_limited(0, 0, 1);
    add_limited(1, 1, 1);
    start_in_hand();
    beside = start_flow(1);
}

/* Worker 1 then looks as one who stops the runtime: when nobody visits it any
 * more, what was handed over is there to be seen. */
static void hand_over_or_look(unsigned id)
{
    hi_worker *w = crew_join(id);
    run_source(w, id ? beside : in_hand, 0);
    if (id && nodes[1].runs == 0) {
        bool visited = (uint32_t)heist_load_acquire(&crew.rt->visitors) != 0;
        model_check(visited || hi_worker_visible_work(crew.rt));
        model_saw(NODES * 8 - 1 - visited);
    }
    hands_leave(w);
}

static void drain_all(void)
{
    for (unsigned id = 0; id < crew.rt->workers; id++) {
        hi_worker *w = crew_join(id);
        hands_drain(w);
        hands_leave(w);
    }
}

static void after_handed_over(void)
{
    drain_all();
    model_check(in_hand->waits == NULL && beside->waits == NULL);
    model_check(limits[0].free == 1 && limits[0].first == NULL);
    after_beside();
}

/* --- after a fork() ----------------------------------------------------------- */

/* Something of a process that fork()ed this one is put right by who comes first. */
static hi_number generation;
static int put_right;

static void setup_forked(void)
{
    heist_init(&generation, hi_generation() + 1);
}

static void use_after_fork(unsigned id)
{
    (void)id;
    if (hi_forked_begin(&generation)) {
        put_right++;
        hi_forked_end(&generation);
    }
    model_check(put_right == 1);
}

static const model_test tests[] = {
    {MODEL_TEST("what_a_fork_has_left_is_put_right_once", 2, setup_forked,
                use_after_fork, NULL, NULL),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("three_put_right_what_a_fork_has_left", 3, setup_forked,
                use_after_fork, NULL, NULL),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("a_helper_takes_over_from_a_node_that_waits", 2, setup_stuck,
                run_or_help, after, both_ran_the_end),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("who_has_answered_can_be_helped_later", 2,
                setup_called_then_stuck, run_or_help, after, NULL),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("a_call_between_short_nodes_is_answered", 2, setup_short,
                run_or_help, after, NULL),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("a_helper_takes_over_in_the_middle_of_a_node", 2, setup_pair,
                run_or_help, after, helper_had_one),
     MODEL_BOUNDS(2, 1, 2, 2), .spins_end = true},
    {MODEL_TEST("a_helper_comes_as_the_flow_ends", 2, setup_two, run_or_help,
                after, NULL),
     MODEL_BOUNDS(2, 1, 2, 2), .spins_end = true},
    {MODEL_TEST("a_helper_comes_between_two_passes", 2, setup_two_passes,
                run_or_help, after, NULL),
     MODEL_BOUNDS(1, 1, 2, 2), .spins_end = true},
    {MODEL_TEST("an_owner_shares_as_a_helper_comes", 2, setup_sharing,
                run_or_help, after, helper_had_the_last),
     MODEL_BOUNDS(1, 1, 2, 2), .clock_step = 5000},
    {MODEL_TEST("a_flow_goes_on_while_a_node_is_put_aside", 2, setup_put_aside,
                run_or_help, after, both_took_over),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("a_flow_of_four_workers_goes_from_hand_to_hand", 4,
                setup_four_workers, run_or_help, after, NULL),
     MODEL_BOUNDS(4, 2, 6, 3), .random = true, .spins_end = true},
    {MODEL_TEST("two_workers_run_a_diamond", 2, setup_diamond_of_two,
                run_or_help, after, NULL),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("three_workers_run_a_diamond", 3, setup_diamond_of_three,
                run_or_help, after, NULL),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("two_workers_run_two_stages", 2, setup_stages_of_two,
                run_or_help, after, NULL),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("three_workers_run_two_stages", 3, setup_stages_of_three,
                run_or_help, after, NULL),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("places_in_chains_are_run_once", 2, setup_chains, run_or_help,
                after, both_ran_the_last),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("a_module_ends_on_any_worker", 2, setup_module, run_module,
                after, module_ended_anywhere),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("a_node_is_done_when_its_subflow_is", 2, setup_subflow,
                run_or_help, after, module_ended_anywhere),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("a_flow_ends_after_what_was_detached", 2, setup_detached,
                run_or_help, after, module_ended_anywhere),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("a_flow_inside_a_node_is_stopped_with_it", 2, setup_inner,
                run_inner, after_inner, both_orders_were_seen),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("a_flow_that_has_failed_runs_again", 2, setup_failure,
                run_twice, after_failure, NULL),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("tokens_keep_step_with_levels", 2, setup_ranked, run_or_help,
                after, both_ran_ranked),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("a_limit_has_one_user_in_a_flow", 2, setup_limit, run_or_help,
                after_limits, NULL),
     MODEL_BOUNDS(2, 1, 2, 2)},
    {MODEL_TEST("a_limit_has_one_user_of_two_flows", 2, setup_two_flows,
                run_own, after_limits, NULL),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("two_limits_of_two_flows_are_no_deadlock", 2, setup_two_limits,
                run_own, after_limits, NULL),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("a_flow_that_stops_leaves_the_line", 2, setup_leaving,
                run_failing, after_leaving, both_orders_were_seen),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("a_graph_is_sealed_once", 2, setup_unsealed, seal_it,
                after_sealed, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_flow_is_freed_as_soon_as_it_has_ended", 2, setup_started,
                start_and_close, after, NULL),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("a_shared_flow_is_freed_as_soon_as_it_has_ended", 3,
                setup_started_shared, start_and_close, after, NULL),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("a_pass_follows_the_other_on_any_worker", 3,
                setup_started_passes, start_and_close, after, NULL),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("a_flow_is_cancelled_as_it_runs", 2, setup_started,
                start_and_cancel, after_cancelled, NULL),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("what_a_flow_ended_with_is_not_changed", 3, setup_cancelled,
                wait_or_cancel, after_cancelled, NULL),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("the_last_of_two_to_arrive_runs_the_node_in_each_pass", 2,
                setup_join_of_two, run_in_hand, after_in_hand,
                module_ended_anywhere),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("the_last_of_three_to_arrive_runs_the_node_in_each_pass", 3,
                setup_join_of_three, run_in_hand, after_in_hand,
                all_ran_the_join),
     MODEL_BOUNDS(1, 1, 3, 2)},
    {MODEL_TEST("two_nodes_are_made_ready_by_two_workers_once", 2,
                setup_joins_of_two, run_in_hand, after_in_hand,
                both_ran_the_end),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_flow_that_has_failed_is_armed_again", 2,
                setup_failure_in_hand, run_in_hand, after_failure_in_hand,
                NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_subflow_that_is_stolen_from_ends_its_node_once", 2,
                setup_subflow_in_hand, run_in_hand, after_in_hand,
                module_ended_anywhere),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_flow_that_begins_in_a_stopped_one_does_not_run", 2,
                setup_inner_in_hand, run_in_hand, after_inner_in_hand,
                both_orders_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("who_owes_a_flow_leaves_the_jobs_of_others", 2, setup_beside,
                run_in_hand, after_beside, both_ran_what_was_beside),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("who_is_handed_a_limit_is_seen_before_its_visit_ends", 2,
                setup_handed_over, hand_over_or_look, after_handed_over,
                both_orders_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
