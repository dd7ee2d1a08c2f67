/* SPDX-License-Identifier: MIT */
#ifndef HEIST_GRAPH_H
#define HEIST_GRAPH_H

#include <heist/runtime.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Task graphs: describe a computation once as nodes and edges, run it as often
 * as wanted.
 *
 *     heist_graph *g;
 *     if (heist_graph_create(&g, NULL) < 0) return 1;
 *     heist_node load = heist_graph_add(g, "load", load_fn, &job);
 *     heist_node parse = heist_graph_add(g, "parse", parse_fn, &job);
 *     heist_node index = heist_graph_add(g, "index", index_fn, &job);
 *     heist_graph_edge(g, load, parse);
 *     heist_graph_edge(g, load, index);
 *     int rc = heist_graph_run(g, NULL, HEIST_FOREVER);
 *     heist_graph_destroy(g);
 *
 * Building.  A graph is built by one thread at a time and not while it runs.
 * The first error of building (no memory, an edge to itself) is kept: check and
 * run return it, so the calls in between need not be looked at.
 *
 * Running.  A run is a *flow*; one graph may have any number of flows at a time,
 * each with its own context, counters and outputs.  A node runs when all that
 * precede it have; what it makes ready goes to its worker's own queue, the first
 * of them is run directly.  A flow stays with one worker until its nodes have
 * shown that they are worth sharing.
 *
 * fork().  In the child the graphs are there and can be run, also those that
 * another thread was just running or making ready, but not those that it was just
 * building or changing.  The flows that were under way are the parent's: they are
 * neither waited for nor closed, and limits that they hold stay held.  A child that
 * was made in a node does not return from it.
 *
 * Conditions.  The edges out of a condition are *weak*: its function chooses
 * which one is followed, and nobody waits for them.  Edges may lead back: that is
 * a loop.  Where the branches of a condition meet again, whichever was taken is
 * waited for.  A node that two conditions start at once fails the flow, with
 * -EALREADY: nodes do not run beside themselves.
 */
typedef struct heist_graph heist_graph;
typedef struct heist_flow heist_flow;
typedef struct heist_step heist_step; /* one execution of one node */
typedef struct heist_profile heist_profile;

/* A node of a graph: a number that is good for that graph only. */
typedef struct heist_node {
    uint32_t id;
} heist_node;

#define HEIST_NO_NODE UINT32_MAX

/*
 * A node's function.  Zero or more, or a negative errno, which fails the flow: no
 * more nodes start, those that run finish, and who waits is told the node and
 * the code.  A condition's function returns the number of the edge to follow,
 * counted from zero in the order in which its edges were made; a number beyond
 * them follows none.
 */
typedef int heist_node_fn(heist_ctx c, heist_step *step, void *arg);

/* --- building ------------------------------------------------------------- */

/*
 * Makes an empty graph, with memory from the allocator (NULL: malloc).
 *
 * From:    any thread; a task.
 * Returns: 0; -EINVAL: half an allocator; -ENOMEM.
 */
HEIST_API int heist_graph_create(heist_graph **out,
                                 const heist_allocator *allocator);

/*
 * Frees a graph and what was allocated from it.  NULL is allowed.
 *
 * From:   any thread; a task.
 * Misuse: destroying a graph with a flow that was not closed, or one that is a
 *         module of a graph that still runs, aborts in a checked build.
 */
HEIST_API void heist_graph_destroy(heist_graph *g);

/*
 * Adds a node.  The name (NULL: none) is copied.  fn NULL: a placeholder, set
 * later or not; it only passes on.
 *
 * From:    whoever builds g.
 * Returns: the node; one with the id HEIST_NO_NODE while g runs, or when there
 *          is no memory, which g remembers.
 */
HEIST_API heist_node heist_graph_add(heist_graph *g, const char *name,
                                     heist_node_fn *fn, void *arg);

/*
 * Adds a condition: fn returns the number of the one edge to follow.
 *
 * From:    whoever builds g.
 * Returns: as heist_graph_add.
 */
HEIST_API heist_node heist_graph_add_condition(heist_graph *g, const char *name,
                                               heist_node_fn *fn, void *arg);

/*
 * Adds a condition that follows any number of edges: those that fn has picked
 * with heist_step_pick.
 *
 * From:    whoever builds g.
 * Returns: as heist_graph_add.
 */
HEIST_API heist_node heist_graph_add_choice(heist_graph *g, const char *name,
                                            heist_node_fn *fn, void *arg);

/*
 * Adds a node that runs a whole graph, which may be a module of several nodes
 * and run at the same time.  context is what its nodes get; NULL: the same as
 * the nodes of g.
 *
 * From:    whoever builds g; module is not changed while g exists and runs.
 * Returns: as heist_graph_add; HEIST_NO_NODE as well when module is NULL, which
 *          g remembers as -EINVAL.
 */
HEIST_API heist_node heist_graph_add_module(heist_graph *g, const char *name,
                                            heist_graph *module, void *context);

/*
 * Sets what a node runs, if it is not a module; its kind does not change.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL: no such node, or a module; -EBUSY: g runs.
 */
HEIST_API int heist_graph_set(heist_graph *g, heist_node node,
                              heist_node_fn *fn, void *arg);

/*
 * Makes an edge: `after` runs after `before`.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL: no such node, or an edge to itself (from a condition it
 *          is allowed: a loop of one, begun from outside); -ENOMEM; -EBUSY: g
 *          runs.  heist_graph_check names the first that was refused, and
 *          finds one that is made twice.
 */
HEIST_API int heist_graph_edge(heist_graph *g, heist_node before,
                               heist_node after);

/*
 * The same for many: node before all of `after`, all of `before` before node,
 * each of `nodes` before the next.
 *
 * From:    whoever builds g.
 * Returns: as heist_graph_edge; on failure some may have been made.
 */
HEIST_API int heist_graph_precede(heist_graph *g, heist_node node,
                                  const heist_node *after, size_t n);
HEIST_API int heist_graph_succeed(heist_graph *g, heist_node node,
                                  const heist_node *before, size_t n);
HEIST_API int heist_graph_linearize(heist_graph *g, const heist_node *nodes,
                                    size_t n);

/*
 * Takes a node and its edges out.  The others keep their numbers; branches of a
 * condition after an erased one move up.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL: no such node; -EBUSY: g runs; -ENOMEM.
 */
HEIST_API int heist_graph_erase(heist_graph *g, heist_node node);

/*
 * Gives a node an output of that many bytes, zeroed for each new flow and
 * aligned to 16; each flow has its own.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL; -ENOMEM; -EBUSY.
 */
HEIST_API int heist_graph_output(heist_graph *g, heist_node node, size_t bytes);

typedef enum heist_priority {
    HEIST_NORMAL = 0, /* the default */
    HEIST_LOW,
    HEIST_HIGH,
    HEIST_CRITICAL
} heist_priority;

/*
 * Of the nodes of a flow that are ready, those of a higher priority start first;
 * but every eighth start it is one level's turn after the other, so that none
 * waits for ever.  The nodes of a module or subflow are at least as urgent as
 * its node.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL; -EBUSY.
 */
HEIST_API int heist_graph_priority(heist_graph *g, heist_node node,
                                   heist_priority priority);

/* How often and when a node that fails is tried again. */
typedef struct heist_retry {
    unsigned attempts;  /* in all; 0 is 1 */
    heist_time delay;   /* before the second one */
    unsigned factor;    /* what each further delay is multiplied by; 0 is 1 */
    heist_time longest; /* no delay is longer; 0: no limit */
} heist_retry;

/*
 * A node whose function fails is tried again before it fails the flow; what fails
 * in a subflow or module of it is not.  The worker works on during the delays.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL; -ENOMEM; -EBUSY.
 */
HEIST_API int heist_graph_retry(heist_graph *g, heist_node node,
                                const heist_retry *retry);

/*
 * A limit: at most so many of the nodes bound to it run at a time, in all graphs
 * and flows.  Who cannot start does not hold up a worker; first come, first
 * served.  It is held until the node is done, its subflow or module too: what is
 * in these must not need it.  A struct of the caller's that outlives the graphs
 * bound to it.
 */
typedef struct heist_limit {
    HEIST_ATOMIC(uint32_t) lock;
    HEIST_ATOMIC(uint32_t) generation;
    uint64_t free;
    void *first, *last; /* who waits */
} heist_limit;

/*
 * Makes a limit; most is not zero.
 *
 * From: any thread, before it is used.
 */
HEIST_API void heist_limit_init(heist_limit *limit, uint64_t most);

/*
 * Binds a node to a limit; a node may be bound to several.
 *
 * From:    whoever builds g.
 * Returns: 0; -EINVAL; -EEXIST: it is already; -ENOMEM; -EBUSY.
 */
HEIST_API int heist_graph_limit(heist_graph *g, heist_node node,
                                heist_limit *limit);

/*
 * Memory that lives as long as the graph, for the arguments of nodes; zeroed,
 * aligned to 16.
 *
 * From:    whoever builds g.
 * Returns: NULL when there is none.
 */
HEIST_API void *heist_graph_alloc(heist_graph *g, size_t bytes);

/*
 * How many nodes g has; and a node's name, "" when it has none.
 *
 * From:   whoever builds g; the nodes of g while it runs.
 * Memory: the name is valid until g changes.
 */
HEIST_API size_t heist_graph_size(const heist_graph *g);
HEIST_API const char *heist_graph_name(const heist_graph *g, heist_node node);

/*
 * Looks whether g can be run, as the first run does, and says in `why` (NULL:
 * nowhere) what is wrong, in one line that is cut to fit.
 *
 * From:    whoever builds g.
 * Returns: 0;
 *          -EDEADLK: a cycle without a condition ("cycle: a -> b -> a"), a
 *          strong edge that leads back to a node before, or a graph that is a
 *          module of itself;
 *          -EEXIST: an edge made twice;
 *          -ENOENT: a node that nothing can start ("no source");
 *          -EINVAL: a node that could be started twice at once: both by a
 *          condition and by its predecessors, or from inside a loop that goes
 *          on; or one that branches reach a different number of times;
 *          the error of building ("edge a -> a: to itself"); -ENOMEM.
 */
HEIST_API int heist_graph_check(heist_graph *g, char *why, size_t bytes);

/* --- running -------------------------------------------------------------- */

/* Why a flow failed. */
typedef struct heist_failure {
    int code;        /* what the node returned */
    heist_node node; /* in its own graph, of a module or subflow perhaps */
    uint64_t pass;   /* counted from zero */
    char name[64];   /* the node's */
} heist_failure;

/* How to run.  Zero in any field means the default. */
typedef struct heist_flow_opts {
    heist_runtime *rt;        /* the caller's, else the default one */
    void *context;            /* heist_step_context */
    uint64_t times;           /* passes over the graph; 0 is 1 */
    bool (*until)(void *ctx); /* asked before each pass: true: no more */
    heist_time deadline;      /* then it is cancelled; 0: never */
    heist_latch *done;        /* told when the flow has ended */
    heist_failure *failure;   /* filled in if a node fails */
    heist_profile *profile;   /* times are kept there, one flow at a time */
    uintptr_t reserved[4];
} heist_flow_opts;

/*
 * Runs g and returns when all is done.  The calling thread takes part.  At the
 * deadline the flow is cancelled; what has started is waited for.
 *
 * From:    any thread; a task; a node, also of g itself.
 * Returns: 0; the negative errno of the node that failed first; -ETIMEDOUT;
 *          -ECANCELED: a node has called heist_step_cancel; -EALREADY: a node
 *          was started while it ran; -EBUSY, -EINVAL: the profile, as
 *          heist_flow_start; what heist_graph_check returns; -ENOMEM;
 *          -ESHUTDOWN: rt is stopping; nothing was run then.
 * Memory:  flows are kept by the graph: runs after the first one, as many at a
 *          time as ever before, allocate nothing.
 */
HEIST_API int heist_graph_run(heist_graph *g, const heist_flow_opts *opts,
                              heist_time deadline);

/*
 * The same n times, one after the other; 0 times does nothing.
 *
 * From:    as heist_graph_run.
 * Returns: as heist_graph_run, -ECANCELED of any pass included.
 */
HEIST_API int heist_graph_run_n(heist_graph *g, uint64_t n,
                                const heist_flow_opts *opts,
                                heist_time deadline);

/*
 * The same again and again until `until`, asked before each pass, says true.
 *
 * From:    as heist_graph_run.
 * Returns: as heist_graph_run_n; -EINVAL: `until` is NULL.
 */
HEIST_API int heist_graph_run_until(heist_graph *g, bool (*until)(void *ctx),
                                    const heist_flow_opts *opts,
                                    heist_time deadline);

/*
 * Starts a flow and returns at once.  Every flow is closed.  The deadline is for
 * getting into the runtime; the flow's own is in opts.
 *
 * From:    any thread; a task.
 * Returns: 0; -EAGAIN, -ETIMEDOUT: there was no room in the runtime's queue until
 *          the deadline; -EBUSY, -EINVAL: the profile is in use, or of another
 *          graph or of one that has grown; what heist_graph_check returns;
 *          -ENOMEM; -ESHUTDOWN.
 */
HEIST_API int heist_flow_start(heist_flow **out, heist_graph *g,
                               const heist_flow_opts *opts,
                               heist_time deadline);

/*
 * Waits for the end of a flow.
 *
 * From:    any thread; a task.
 * Returns: 0; the code of the node that failed first; -ETIMEDOUT: it still runs,
 *          or opts.deadline has ended it: heist_flow_has_ended knows; -ECANCELED.
 */
HEIST_API int heist_flow_wait(heist_flow *flow, heist_time deadline);

/*
 * Has it ended?
 *
 * From: any thread, before the flow is closed.
 */
HEIST_API bool heist_flow_has_ended(heist_flow *flow);

/*
 * No more nodes of the flow start.
 *
 * From: any thread, before the flow is closed; a node.
 */
HEIST_API void heist_flow_cancel(heist_flow *flow);

/*
 * The output of a node, after the flow has ended and before it is closed; NULL
 * if it has none.
 *
 * From:   who closes the flow.
 * Misuse: more bytes than the output has, so any of a node without one, abort
 *         in a checked build; 0 bytes only ask.
 */
HEIST_API const void *heist_flow_output(const heist_flow *flow, heist_node node,
                                        size_t bytes);

/*
 * Waits for the end of a flow and gives its memory back to the graph.
 *
 * From:    any thread; a task; once.
 * Returns: as heist_flow_wait.
 */
HEIST_API int heist_flow_close(heist_flow *flow);

/* --- in a node ------------------------------------------------------------ */

/*
 * The context of the flow; which node it is; which attempt, from zero; and
 * whether the flow has failed or was cancelled, so that what takes long may give
 * up.
 *
 * From: a node, with its own step.
 */
HEIST_API void *heist_step_context(const heist_step *step);
HEIST_API heist_node heist_step_node(const heist_step *step);
HEIST_API unsigned heist_step_attempt(const heist_step *step);
HEIST_API bool heist_step_stopped(const heist_step *step);

/*
 * Cancels the flow that the node belongs to.
 *
 * From: a node, with its own step.
 */
HEIST_API void heist_step_cancel(heist_step *step);

/*
 * The node's own output, and that of a node before it; NULL if it has none.  The
 * macros are the typed way:
 *
 *     heist_out(step, double) = 2 * heist_in(step, source, double);
 *
 * From:   a node, with its own step; `before` is of the same graph.
 * Misuse: as heist_flow_output.
 */
HEIST_API void *heist_step_output(const heist_step *step, size_t bytes);
HEIST_API const void *heist_step_input(const heist_step *step,
                                       heist_node before, size_t bytes);

#define heist_out(step, T) (*(T *)heist_step_output((step), sizeof(T)))
#define heist_in(step, before, T) \
    (*(const T *)heist_step_input((step), (before), sizeof(T)))

/*
 * In a choice: follow that edge too.
 *
 * From:    a choice, with its own step.
 * Returns: 0; -EINVAL: no such edge, or not a choice; -EEXIST: picked already.
 */
HEIST_API int heist_step_pick(heist_step *step, size_t edge);

/*
 * The step's subflow: a graph to add nodes to.  It runs when the node's function
 * has returned, and the node counts as done when it is; it is the library's.
 * The outputs of the outer graph are not inputs of its nodes; the context is the
 * same.
 *
 * From:    a node (not a condition), with its own step.
 * Returns: NULL when there is no memory.
 */
HEIST_API heist_graph *heist_step_subflow(heist_step *step);

/*
 * The node does not wait for its subflow; the flow does.
 *
 * From: a node, with its own step.
 */
HEIST_API void heist_step_detach(heist_step *step);

/*
 * Runs the subflow now and returns when it is done; the next call of
 * heist_step_subflow makes another one.
 *
 * From:    a node, with its own step.
 * Returns: as heist_graph_run; 0 if there is none.
 */
HEIST_API int heist_step_join(heist_step *step);

/* --- looking at it -------------------------------------------------------- */

/*
 * Keeps how long a flow's nodes have taken, waiting included, when given in
 * heist_flow_opts: each pass of each flow replaces the one before.  Nodes of
 * modules and subflows count in their outer node.
 *
 * From:    whoever builds g.
 * Returns: 0; -ENOMEM; what heist_graph_check returns.
 */
HEIST_API int heist_profile_create(heist_profile **out, heist_graph *g);

/*
 * NULL is allowed.
 *
 * From:   who made it, before the graph changes or is destroyed.
 * Misuse: destroying a profile that a flow uses aborts in a checked build.
 */
HEIST_API void heist_profile_destroy(heist_profile *profile);

typedef struct heist_profile_summary {
    heist_time wall;     /* from the first start to the last end */
    heist_time work;     /* all nodes together */
    heist_time span;     /* the longest path: no number of workers is faster */
    double parallelism;  /* work / span; 0 if nothing took time */
    uint64_t executions; /* of nodes; in loops some have several */
    size_t critical;     /* nodes on the longest path */
    unsigned workers;    /* that took part; guests count as one */
} heist_profile_summary;

/*
 * From:    who made it, while no flow uses it.
 * Returns: 0; -ENODATA: nothing has run; -ENOMEM.
 */
HEIST_API int heist_profile_read(const heist_profile *profile,
                                 heist_profile_summary *out);

/*
 * Writes the graph as DOT for graphviz, or as a picture that needs nothing else;
 * with a profile (NULL: without) coloured by time, the critical path marked.
 * The picture shows at most 2,000 nodes, from the top, and says how many more
 * there are.
 *
 * From:    whoever builds g, while no flow uses the profile.
 * Returns: 0; -EIO; -ENOMEM; -EINVAL: the profile is of another graph.  What
 *          heist_graph_check returns is ignored: wrong graphs are the ones worth
 *          looking at.
 */
HEIST_API int heist_graph_dot(heist_graph *g, const heist_profile *profile,
                              FILE *to);
HEIST_API int heist_graph_svg(heist_graph *g, const heist_profile *profile,
                              FILE *to);

/*
 * Writes the run as JSON: the summary, and each node.
 *
 *     {"summary": {"wall": 107, "work": 42, "span": 37, "parallelism": 1.135,
 *                  "executions": 4, "critical": 3, "workers": 2},
 *      "nodes": [{"id": 0, "name": "load", "kind": "plain",
 *                 "start": 0, "end": 10, "time": 10, "executions": 1,
 *                 "worker": 0, "critical": true, "edges": [1, 2]}, ...]}
 *
 * Times are nanoseconds, start and end since the first start.  A kind is plain,
 * condition, choice or module.  The worker is the one of the last execution, -1
 * for a guest.  Of a node that has not run, start, end and worker are null.
 *
 * From:    who made it, while no flow uses it.
 * Returns: 0; -ENODATA; -EIO; -ENOMEM.
 */
HEIST_API int heist_profile_json(const heist_profile *profile, FILE *to);

#ifdef __cplusplus
}
#endif

#endif
