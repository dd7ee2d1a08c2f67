/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_GRAPH_H
#define HEIST_BENCH_GRAPH_H

/*
 * Task graphs: the shapes that every peer builds its own graph from, and what
 * the harness (graph.c) asks of a peer.
 *
 * The header compiles as C++, for the peers that are.
 */
#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bench_edge {
    uint32_t from, to;
};

/* What a checked node writes down. */
struct bench_mark {
    uint32_t runs;
    uint32_t level; /* 1 + the highest of those before it */
};

/*
 * A graph as flat arrays.  The edges are there three times: in the order in
 * which they are made, by the node they come from, and by the node they lead
 * to.
 */
struct bench_graph {
    uint32_t nodes, edges;
    struct bench_edge *edge;
    uint32_t *after_at, *after;   /* of i: after[after_at[i]..after_at[i+1]) */
    uint32_t *before_at, *before; /* of i: the same with before */
    struct bench_mark *mark;
};

/* What a node does. */
enum bench_body {
    BENCH_EMPTY,
    BENCH_850NS,
    BENCH_CHECKED
};

static inline uint32_t bench_need(const struct bench_graph *g, uint32_t node)
{
    return g->before_at[node + 1] - g->before_at[node];
}

/* 0.85 us of arithmetic on the reference machine. */
uint64_t bench_850ns(uint64_t i);

/* Notes that the node runs, and ends the program if it is not its turn. */
void bench_check_node(const struct bench_graph *g, uint32_t node);

/* A peer calls it with a constant body, so that nothing of an empty one is
 * left. */
static inline void bench_run_node(enum bench_body body,
                                  const struct bench_graph *g, uint32_t node)
{
    if (body == BENCH_850NS) bench_850ns(node);
    if (body == BENCH_CHECKED) bench_check_node(g, node);
}

/* How a peer runs graphs. */
struct bench_graphs {
    /* Makes a graph of its own, ready to be run, by adding the nodes and then
     * the edges, one by one in their order. */
    void *(*build)(const struct bench_graph *g, enum bench_body body);
    /* So often, one after the other; one region each. */
    void (*run)(void *built, uint64_t times);
    void (*destroy)(void *built);
    /* What it keeps in memory after a run.  NULL: building is not to be
     * measured, as there is nothing that is built once and run often. */
    size_t (*bytes)(void *built);
    /* Runs a shape of that name.  NULL: all of them. */
    bool (*can)(const char *shape);
};

#ifdef __cplusplus
}
#endif

#endif
