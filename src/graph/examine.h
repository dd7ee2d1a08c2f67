/* SPDX-License-Identifier: MIT */
#ifndef HI_EXAMINE_H
#define HI_EXAMINE_H

/*
 * What the files that examine a graph share: the line that says what is wrong,
 * trees that are climbed in few steps, and the walk over a graph with
 * conditions.
 */
#include "graph/graph.h"

/* --- the line ------------------------------------------------------------- */

typedef struct hi_why {
    const heist_graph *graph;
    char *text; /* NULL: nobody wants to know */
    size_t bytes, used;
    bool cut; /* it is full */
} hi_why;

/* Adds text, or a node by its name or number, which need not be one of the
 * graph's.  What does not fit is cut. */
void hi_why_say(hi_why *why, const char *text);
void hi_why_node(hi_why *why, uint32_t node);
void hi_why_edge(hi_why *why, uint32_t from, uint32_t to);
void hi_why_number(hi_why *why, uint32_t number);

/* --- trees ---------------------------------------------------------------- */

/*
 * A vertex of a tree that grows downwards.  Beside its parent it knows an
 * ancestor farther up, chosen by depth alone, such that any ancestor is reached
 * in a logarithm of steps.  Vertex 0 is the root, all zero.
 */
typedef struct hi_rung {
    uint32_t up, jump;
    uint32_t depth;
    uint32_t owner; /* what the vertex belongs to */
} hi_rung;

static inline void hi_tree_hang(hi_rung *tree, uint32_t v, uint32_t up)
{
    uint32_t far = tree[up].jump, farther = tree[far].jump;
    bool equal = tree[up].depth - tree[far].depth ==
                 tree[far].depth - tree[farther].depth;
    tree[v].up = up;
    tree[v].jump = equal ? farther : up;
    tree[v].depth = tree[up].depth + 1;
}

/* The ancestor of v, or v itself, at that depth. */
static inline uint32_t hi_tree_climb(const hi_rung *tree, uint32_t v,
                                     uint32_t depth)
{
    while (tree[v].depth > depth) {
        uint32_t far = tree[v].jump;
        v = tree[far].depth >= depth ? far : tree[v].up;
    }
    return v;
}

/* The deepest vertex that is above both or one of them. */
static inline uint32_t hi_tree_meet(const hi_rung *tree, uint32_t a, uint32_t b)
{
    a = hi_tree_climb(tree, a, tree[b].depth);
    b = hi_tree_climb(tree, b, tree[a].depth);
    while (a != b) {
        bool below = tree[a].jump != tree[b].jump;
        a = below ? tree[a].jump : tree[a].up;
        b = below ? tree[b].jump : tree[b].up;
    }
    return a;
}

/* --- the walk ------------------------------------------------------------- */

/* An edge as its end sees it. */
typedef struct hi_arrival {
    uint32_t from; /* number of the node */
    uint32_t edge; /* in `to` */
} hi_arrival;

/*
 * A node that the walk has met.  Numbers are given in the order of meeting,
 * from 1; 0 stands for what is before all sources.
 */
typedef struct hi_spot {
    uint32_t node;
    uint32_t parent; /* number of the node it was met from */
    uint32_t first;  /* its arrivals, up to those of the next number */
    uint32_t rank;   /* where it is in `order` */
    uint32_t guard;  /* the branch that must be taken before it runs; or 0 */
    uint32_t loop;   /* a number that it shares with its loop; at first 0 */
    uint32_t ways;   /* condition: branches that do not lead back */
    uint32_t unsure; /* a condition that may leave it half waited for; or 0 */
} hi_spot;

typedef struct hi_walk {
    const heist_graph *graph;
    uint32_t *number;     /* of each node; 0: no source reaches it */
    uint32_t *order;      /* numbers; edges go up in it but where loops close */
    uint32_t begin;       /* where they begin in it; it ends with the graph */
    hi_spot *spots;       /* by number */
    hi_arrival *arrivals; /* all edges, by the number they lead to */
    hi_rung *dominators;  /* by number; up: the last node that no way avoids */
    uint32_t reached;     /* the greatest number */
    uint32_t edges;
    bool loops; /* else there are no dominators */
} hi_walk;

/* Walks from all sources over all edges.  0; -ENOMEM. */
int hi_walk_start(hi_walk *w, const heist_graph *g);
void hi_walk_end(hi_walk *w);

/* No way from a source to b avoids a; both are numbers; w has loops. */
static inline bool hi_walk_dominates(const hi_walk *w, uint32_t a, uint32_t b)
{
    return hi_tree_climb(w->dominators, b, w->dominators[a].depth) == a;
}

/* Of a graph with conditions whose need and source are set as if there were
 * none: checks it and corrects need. */
int hi_graph_examine_control(heist_graph *g, hi_why *why);

/* The part of it that corrects need; all nodes are reached. */
int hi_graph_examine_joins(heist_graph *g, hi_walk *w, hi_why *why);

#endif
