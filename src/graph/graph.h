/* SPDX-License-Identifier: MIT */
#ifndef HI_GRAPH_H
#define HI_GRAPH_H

/*
 * A graph: what is built once and read by all its flows.
 *
 *     nodes  [ 0 | 1 | 2 | ... | count ]       the last one only ends the list
 *               \   \
 *     to     [ 1 2 | 3 | ... ]                 where the edges lead, by node
 *
 * While it is built the edges are a list of pairs in the order they were made.
 * Sealing sorts them by node, checks the graph, lays out what a flow needs and
 * gives the list back; the first change after that makes the list again.
 *
 * Fields, and who touches them
 *   flows, running   under the lock, by who starts and ends flows
 *   sealed           set by who seals, of whom there is one in the process, and
 *                    taken back by who builds; read by all
 *   visiting, walk*  who seals
 *   generation       src/graph/graph.c
 *   heavy            who ends runs; read by who begins them
 *   the rest         who builds, while nothing runs; read by all when sealed
 */
#include "core/lock.h"
#include "core/task.h"

#include <heist/graph.h>

typedef HEIST_ATOMIC(uint32_t) hi_number;

typedef enum hi_node_kind {
    HI_NODE_PLAIN,
    HI_NODE_CONDITION,
    HI_NODE_CHOICE,
    HI_NODE_MODULE,
    HI_NODE_ERASED
} hi_node_kind;

typedef struct hi_node {
    heist_node_fn *fn; /* NULL: nothing to do */
    void *arg;         /* HI_NODE_MODULE: the context */
    uint32_t out;      /* its first edge in `to` */
    uint32_t need;     /* arrivals that make it ready */
    uint32_t name;     /* in `names`; 0: none */
    uint32_t extra;    /* in `extras`; 0: none */
    uint32_t output;   /* where, in units of HI_OUTPUT_ALIGN, plus 1; 0: none */
    uint8_t kind;
    uint8_t priority; /* heist_priority */
    bool source;      /* ready from the beginning */
    bool special;     /* needs more than its function called */
} hi_node;

enum {
    HI_OUTPUT_ALIGN = 16,
    HI_LEVELS = 4 /* of priority */
};

/* What few nodes have. */
typedef struct hi_extra {
    heist_graph *module;
    size_t output_bytes;
    heist_retry retry;
    heist_limit **limits; /* by address, so that nobody waits in a circle */
    uint32_t limit_count;
    uint32_t wait; /* with limits: where in a flow it waits, as an output */
} hi_extra;

typedef struct hi_edge {
    uint32_t from, to;
} hi_edge;

/* Memory that lives as long as the graph. */
typedef struct hi_chunk hi_chunk;

struct heist_graph {
    heist_allocator allocator;
    HEIST_ATOMIC(uint32_t) sealed;
    hi_number generation; /* of the process that ran it last */
    hi_lock lock;
    hi_node *nodes;
    uint32_t *to; /* sealed: the edges */
    uint32_t count, capacity;
    uint32_t erased; /* of count */
    uint32_t edge_count, edge_capacity, to_capacity;
    hi_edge *edges; /* not sealed: the edges */
    char *names;
    uint32_t name_bytes, name_capacity;
    hi_extra *extras;
    uint32_t extra_count, extra_capacity;
    hi_chunk *chunks;
    int error;                 /* the first one of building, ... */
    const char *refused;       /* ... and the call that it was, */
    const char *flaw;          /* ... and of an edge, what is wrong with it; */
    hi_edge flawed;            /* ... which one */
    bool weak;                 /* has conditions */
    bool prioritized, limited; /* it or a module of it */
    bool modules;              /* has nodes that are */
    bool visiting;             /* on the way of the walk over modules, */
    uint64_t walk;             /* ... the last one that was here, */
    heist_graph *walk_up;      /* ... and where it came from, */
    uint32_t walk_at;          /* ... and stands */
    uint32_t sources, source_capacity;
    uint32_t *source_list;        /* sealed */
    size_t output_units;          /* what a flow needs for outputs */
    heist_flow *flows;            /* free ones */
    uint32_t running;             /* flows that are not free */
    HEIST_ATOMIC(uint32_t) heavy; /* hint: runs that are to begin shared */
};

/* All zero: what a node without an extra has. */
extern const hi_extra hi_no_extra;

static inline const hi_extra *hi_graph_extra(const heist_graph *g,
                                             const hi_node *n)
{
    return n->extra ? &g->extras[n->extra] : &hi_no_extra;
}

static inline bool hi_node_is_weak(const hi_node *n)
{
    return n->kind == HI_NODE_CONDITION || n->kind == HI_NODE_CHOICE;
}

/* Is this the first to meet what the child of a fork() has to put right?  Then it
 * does so between these two, and everybody else waits. */
bool hi_forked_begin(hi_number *generation);
void hi_forked_end(hi_number *generation);

/* Before the flows of g are counted: in the child of a fork() those of the parent
 * are nobody's, and the lock may have been held. */
void hi_graph_after_fork(heist_graph *g);

/* Makes g ready to run; as heist_graph_check.  Any thread. */
int hi_graph_seal(heist_graph *g, char *why, size_t bytes);

/*
 * Of a graph whose edges are sorted: finds what is wrong with it; sets need and
 * source of every node, weak, and the number of sources.  As heist_graph_check,
 * but for modules.
 */
int hi_graph_examine(heist_graph *g, char *why, size_t bytes);

/* --- profiles (profile.c) ------------------------------------------------- */

/* What is kept of one node. */
typedef struct hi_lap {
    int64_t start, end; /* of the first, of the last execution */
    int64_t total;      /* of all */
    uint32_t runs;
    uint32_t worker; /* of the last one: index, or UINT32_MAX for a guest */
} hi_lap;

struct heist_profile {
    heist_graph *graph;
    uint32_t count;
    hi_number used; /* by a flow of the process with that generation + 1 */
    hi_lap laps[];
};

/* For a flow; false: another one has it. */
bool hi_profile_take(heist_profile *profile);

#endif
