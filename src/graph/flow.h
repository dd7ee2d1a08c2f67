/* SPDX-License-Identifier: MIT */
#ifndef HI_FLOW_H
#define HI_FLOW_H

/*
 * A flow: one run of a graph.  The flow of a module or of a subflow is nested in
 * that of the node it belongs to; the outermost one is the root, and what
 * concerns the run as a whole is kept there.
 *
 * Fields, and who touches them
 *   places          whoever runs the node, and who makes it ready
 *   left, active    whoever runs the node, and who runs one before it
 *   pending, open   all workers of the flow
 *   heed            set under the root's lock, read before each node
 *   ranked          set by who starts a nested flow, read by all
 *   solo.*          src/graph/alone.c
 *   levels, picks, waits, inner, over
 *                   under the root's lock
 *   next_inner      under the lock of `within`
 *   code            under the root's lock; read by all after the end
 *   pass            who ends one pass and begins the next
 *   next            under the graph's lock
 *   the rest        set before the flow starts
 */
#include "core/job.h"
#include "graph/graph.h"
#include "graph/owner.h"

/* A node's place in one flow. */
typedef struct hi_place {
    hi_job job;            /* its source is in the flow */
    struct hi_place *next; /* of those that are ready together */
} hi_place;

/* Places that are ready, in the order in which they became so. */
typedef struct hi_batch {
    hi_place *first, *last;
    uint32_t count;
} hi_batch;

/* Where a node with limits waits for them. */
typedef struct hi_wait {
    struct hi_wait *next, *before;           /* in a limit's line */
    struct hi_wait *root_next, *root_before; /* of its root's waits */
    hi_place *place;
    heist_limit *limit; /* whose line it was in last */
    uint32_t taken;     /* limits that it has */
    bool in_line;       /* under the limit's lock */
    bool listed;        /* under the root's lock */
    hi_task task;       /* to get back into its runtime */
} hi_wait;

/* What there is to heed before a node is started. */
enum {
    HI_STOPPED = 1, /* failed or cancelled */
    HI_TIMED = 2,   /* there is a deadline */
    HI_PROFILED = 4 /* times are kept */
};

/* One worker runs the flow alone, and others may take it out of its hands. */
typedef struct hi_solo {
    HEIST_ATOMIC(uint32_t) shared;  /* no more: any worker may take part */
    HEIST_ATOMIC(uint32_t) in_body; /* the owner runs a node */
    HEIST_ATOMIC(uint32_t) called;  /* somebody wants to take part */
    hi_place *ready;                /* the owner's, when not in a body */
    hi_pace pace;
    int64_t entered; /* when the node began after which the owner looks, or 0 */
    bool light;      /* it ended in the owner's hands */
} hi_solo;

struct heist_flow {
    hi_job_source source; /* of its places' jobs */
    heist_graph *graph;
    const hi_node *nodes;
    const uint32_t *to;
    hi_place *places; /* one more than nodes: the token */
    /* A number for each node, beside the places: many are in a cache line, which
     * workers take from each other. */
    hi_number *left;   /* arrivals that a node waits for */
    hi_number *active; /* ready or running; NULL: without conditions */
    char *outputs;
    heist_flow *root;
    hi_place *outer; /* whose node waits for it; NULL: nobody's */
    void *context;
    heist_flow *next; /* in the list of free ones */
    size_t bytes;
    bool owns_graph; /* a subflow: the graph goes with it */
    uint8_t level;   /* its nodes are at least as urgent */
    HEIST_ATOMIC(uint64_t) pending HEIST_ALIGNED(HEIST_LINE);

    /* The root's. */
    HEIST_ATOMIC(uint32_t) heed HEIST_ALIGNED(HEIST_LINE);
    hi_lock lock;
    heist_runtime *rt; /* NULL: the caller's thread alone */
    heist_flow_opts opts;
    heist_flow *within; /* the root of a node that waits for this one, */
    heist_flow *inner;  /* ... and the first of such, ... */
    heist_flow *next_inner;
    hi_wait *waits; /* for limits */
    bool over;
    uint64_t pass;
    int code;
    bool async;                    /* nobody runs it but the workers */
    HEIST_ATOMIC(uint64_t) open;   /* itself and what was detached */
    HEIST_ATOMIC(uint32_t) ranked; /* priorities count */
    heist_latch ended, halted;
    hi_task task;
    hi_job_source token; /* of places[count]: the most urgent one */
    unsigned picks;
    hi_batch levels[HI_LEVELS];
    hi_solo solo HEIST_ALIGNED(HEIST_LINE);
};

/* A node that runs. */
struct heist_step {
    heist_flow *flow;
    hi_place *place;
    heist_graph *subflow;
    unsigned attempt;
    bool detached;
    hi_batch picked; /* of a choice only */
};

static inline void hi_step_init(heist_step *s, heist_flow *f, hi_place *p)
{
    s->flow = f;
    s->place = p;
    s->subflow = NULL;
    s->attempt = 0;
    s->detached = false;
    s->picked.count = 0;
}

static inline heist_flow *hi_flow_of(const hi_place *p)
{
    return heist_container((uintptr_t)p->job.source, heist_flow, source);
}

static inline const hi_node *hi_node_of(const heist_flow *f, const hi_place *p)
{
    return &f->nodes[p - f->places];
}

static inline void hi_batch_add(hi_batch *b, hi_place *p)
{
    p->next = NULL;
    if (b->count++)
        b->last->next = p;
    else
        b->first = p;
    b->last = p;
}

/* A free flow of g, made if there is none; NULL: no memory.  g is sealed. */
heist_flow *hi_flow_get(heist_graph *g);
/* Back to its graph; what was stopped is made ready for the next run. */
void hi_flow_put(heist_flow *f, bool stopped);
void hi_flow_free(heist_flow *f);

/* Its memory for an output or a wait. */
static inline void *hi_flow_at(const heist_flow *f, uint32_t place)
{
    return f->outputs + (size_t)(place - 1) * HI_OUTPUT_ALIGN;
}

/* Stops the run: the first code is kept.  place NULL: no node's. */
void hi_flow_stop(heist_flow *root, int code, const hi_place *place);

static inline bool hi_flow_stopped(const heist_flow *root)
{
    return heist_load_relaxed(&root->heed) & HI_STOPPED; /* relaxed: hint */
}

/* The same, when its deadline is looked at too. */
bool hi_flow_stopped_now(heist_flow *root);

/* Runs p and what it makes ready, until there is nothing more to be had
 * without a search.  `alone`: as the owner of a flow that is not shared. */
void hi_flow_run(heist_ctx c, heist_flow *root, hi_place *p, bool alone);

/* The function of places' jobs: runs the first of a chain that a worker has
 * found, and offers the rest. */
void hi_flow_run_job(heist_ctx c, hi_job *job);

/* Shared from the beginning: offers what is ready and runs some of it. */
void hi_flow_offer(heist_ctx c, heist_flow *root, hi_batch *b);

/* Runs g for a node of outer's, which waits. */
int hi_flow_run_inner(heist_flow *outer, heist_graph *g);

/* All that was started is done: the next pass, or the end. */
void hi_flow_end(heist_flow *root);

/* --- what is ready, shared (ready.c) -------------------------------------- */

/* The first of b; it is not empty. */
hi_place *hi_batch_take(hi_batch *b);

/* Keeps a chain that the deque has no memory for. */
void hi_ready_keep(hi_place **kept, hi_place *chain);

/* Offers n linked places. */
void hi_ready_push(hi_worker *w, hi_place *p, uint32_t n, hi_place **kept);

/* p was the head of a chain: offers the rest again. */
void hi_ready_push_rest(hi_worker *w, hi_place *p, hi_place **kept);

/* One of b to run, the others are offered; if b is empty, of what was kept. */
hi_place *hi_ready_next(hi_worker *w, heist_flow *root, hi_batch *b,
                        hi_place **kept);

/* How urgent a place is, 0 the least. */
unsigned hi_level_of(const hi_place *p);

/* The function of the token's job: runs the most urgent one that is ready. */
void hi_flow_run_token(heist_ctx c, hi_job *job);

/* --- limits (limit.c) ----------------------------------------------------- */

/* Takes the limits of p's node; false: it waits for one of them and is run when
 * it has all. */
bool hi_limits_take(heist_flow *f, hi_place *p, const hi_extra *e);

/* Gives them back; who waited for them is made ready on c's worker. */
void hi_limits_give(heist_ctx c, heist_flow *f, const hi_extra *e);

/* Under the lock of a root that was stopped: takes its waits out of the lines and
 * puts them before `left`. */
hi_wait *hi_limits_leave(heist_flow *root, hi_wait *left);

/* Without locks: they are run, and so skipped. */
void hi_limits_send_back(hi_wait *left);

#endif
