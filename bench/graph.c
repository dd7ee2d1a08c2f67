/* SPDX-License-Identifier: MIT */
/*
 * The harness of the task graphs: makes the shapes, has a peer build and run
 * them, and sees to it that every node ran once and after all that precede it.
 * That is looked at in runs of their own, so that empty bodies are empty when
 * they are timed.
 */
#include "graph.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEEP_WIDTH = 10,    /* nodes of a stage */
    RANDOM_EDGES = 4,   /* per node */
    RERUN_TIMES = 1000, /* runs per reading of the clock */
    CHECKED_TIMES = 2
};

/* --- shapes ---------------------------------------------------------------- */

static struct bench_graph *new_graph(uint64_t nodes, uint64_t edges)
{
    if (nodes >= UINT32_MAX || edges >= UINT32_MAX) bench_die("too large");
    struct bench_graph *g = bench_allocate(sizeof *g);
    *g = (struct bench_graph){.nodes = (uint32_t)nodes};
    g->edge = bench_allocate((edges + 1) * sizeof *g->edge);
    return g;
}

static void add_edge(struct bench_graph *g, uint64_t from, uint64_t to)
{
    g->edge[g->edges++] = (struct bench_edge){(uint32_t)from, (uint32_t)to};
}

static struct bench_graph *make_wide(uint64_t n)
{
    return new_graph(n, 0);
}

static struct bench_graph *make_deep(uint64_t n)
{
    struct bench_graph *g = new_graph(n, n * DEEP_WIDTH);
    for (uint64_t i = DEEP_WIDTH; i < n; i++) {
        uint64_t stage = i / DEEP_WIDTH - 1;
        for (uint64_t k = 0; k < DEEP_WIDTH; k++)
            add_edge(g, stage * DEEP_WIDTH + k, i);
    }
    return g;
}

static struct bench_graph *make_chain(uint64_t n)
{
    struct bench_graph *g = new_graph(n, n);
    for (uint64_t i = 1; i < n; i++)
        add_edge(g, i - 1, i);
    return g;
}

/* Binary, from the root to the leaves. */
static struct bench_graph *make_tree(uint64_t n)
{
    struct bench_graph *g = new_graph(n, n);
    for (uint64_t i = 1; i < n; i++)
        add_edge(g, (i - 1) / 2, i);
    return g;
}

/* A square: to the right and down. */
static struct bench_graph *make_wavefront(uint64_t side)
{
    struct bench_graph *g = new_graph(side * side, 2 * side * side);
    for (uint64_t i = 0; i < side * side; i++) {
        if ((i + 1) % side) add_edge(g, i, i + 1);
        if (i + side < side * side) add_edge(g, i, i + side);
    }
    return g;
}

/* Puts a number other than 0 into a set of 2^k places; false if it is there. */
static bool put(uint64_t *set, uint64_t mask, uint64_t x)
{
    uint64_t at = bench_mix(x) & mask;
    for (; set[at]; at = (at + 1) & mask)
        if (set[at] == x) return false;
    set[at] = x;
    return true;
}

/* Edges from a lower to a higher number, none twice. */
static struct bench_graph *make_random(uint64_t n)
{
    uint64_t edges = n * RANDOM_EDGES, places = 1;
    if (n < 16) bench_die("too few nodes for so many edges");
    struct bench_graph *g = new_graph(n, edges);
    while (places < 2 * edges)
        places *= 2;
    uint64_t *set = calloc(places, sizeof *set);
    if (!set) bench_die("out of memory");
    for (uint64_t k = 1; g->edges < edges; k++) {
        uint64_t z = bench_mix(k);
        uint64_t a = (z >> 32) % n, b = (z & UINT32_MAX) % n;
        uint64_t from = a < b ? a : b, to = a < b ? b : a;
        if (a == b || !put(set, places - 1, from << 32 | to)) continue;
        add_edge(g, from, to);
    }
    free(set);
    return g;
}

/* Sorts the edges by one end: at[i]..at[i+1] are those of node i. */
static void sort_edges(const struct bench_graph *g, bool by_from,
                       uint32_t **at_out, uint32_t **other_out)
{
    uint32_t *at = calloc(g->nodes + 2, sizeof *at);
    uint32_t *other = bench_allocate((g->edges + 1) * sizeof *other);
    if (!at) bench_die("out of memory");
    for (uint32_t k = 0; k < g->edges; k++)
        at[(by_from ? g->edge[k].from : g->edge[k].to) + 2]++;
    for (uint32_t i = 0; i < g->nodes; i++)
        at[i + 2] += at[i + 1];
    for (uint32_t k = 0; k < g->edges; k++) {
        struct bench_edge e = g->edge[k];
        other[at[(by_from ? e.from : e.to) + 1]++] = by_from ? e.to : e.from;
    }
    *at_out = at;
    *other_out = other;
}

static const struct shape {
    const char *name; /* a plan that begins with it has this shape */
    struct bench_graph *(*make)(uint64_t size);
} shapes[] = {
    {"graph-wide", make_wide},     {"graph-deep", make_deep},
    {"graph-chain", make_chain},   {"graph-tree", make_tree},
    {"graph-random", make_random}, {"graph-wavefront", make_wavefront},
    {"graph-rerun", make_random},
};

/* As most programs do: a node's edges, then the next one's. */
static void order_edges(struct bench_graph *g)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < g->nodes; i++)
        for (; k < g->after_at[i + 1]; k++)
            g->edge[k] = (struct bench_edge){i, g->after[k]};
}

static void shuffle_edges(struct bench_graph *g)
{
    for (uint32_t k = g->edges; k > 1; k--) {
        uint64_t other = bench_mix(k) % k;
        struct bench_edge e = g->edge[other];
        g->edge[other] = g->edge[k - 1];
        g->edge[k - 1] = e;
    }
}

static struct bench_graph *make_graph(const char *name, uint64_t size)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strncmp(name, shapes[i].name, strlen(shapes[i].name))) continue;
        struct bench_graph *g = shapes[i].make(size);
        sort_edges(g, true, &g->after_at, &g->after);
        order_edges(g);
        sort_edges(g, false, &g->before_at, &g->before);
        g->mark = calloc(g->nodes, sizeof *g->mark);
        if (!g->mark) bench_die("out of memory");
        return g;
    }
    bench_die("a graph of no shape");
}

static void free_graph(struct bench_graph *g)
{
    free(g->edge);
    free(g->after_at);
    free(g->after);
    free(g->before_at);
    free(g->before);
    free(g->mark);
    free(g);
}

/* --- checking -------------------------------------------------------------- */

/* Those before it have run once more than the node itself: this round's turn.
 * Plain reads, as a graph must order them. */
void bench_check_node(const struct bench_graph *g, uint32_t node)
{
    struct bench_mark *mark = &g->mark[node];
    uint32_t runs = mark->runs, level = 0;
    for (uint32_t k = g->before_at[node]; k < g->before_at[node + 1]; k++) {
        const struct bench_mark *before = &g->mark[g->before[k]];
        if (before->runs != runs + 1) bench_die("a node out of turn");
        if (before->level > level) level = before->level;
    }
    mark->level = level + 1;
    if (__atomic_fetch_add(&mark->runs, 1, __ATOMIC_RELAXED) != runs)
        bench_die("a node twice at a time");
}

/* After so many runs; the hash of all levels. */
static uint64_t marks_of(const struct bench_graph *g, uint64_t times)
{
    uint64_t hash = g->nodes;
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (g->mark[i].runs != times) bench_die("not every node ran once");
        hash += bench_mix((uint64_t)g->mark[i].level << 32 | i);
    }
    return hash;
}

static uint64_t check_peer(const struct bench_graph *g)
{
    void *built = bench_peer.graphs->build(g, BENCH_CHECKED);
    bench_peer.graphs->run(built, CHECKED_TIMES);
    bench_peer.graphs->destroy(built);
    return marks_of(g, CHECKED_TIMES);
}

/* --- measuring ------------------------------------------------------------- */

bool bench_can_graph(const struct plan *p)
{
    const struct bench_graphs *peer = bench_peer.graphs;
    if (!peer) return false;
    if (p->measure == bench_measure_build) return peer->bytes != NULL;
    return !peer->can || peer->can(p->name);
}

/* Seconds per task; of a rerun, per run. */
void bench_measure_graph(const struct plan *p)
{
    bool rerun = !strcmp(p->name, "graph-rerun");
    uint64_t times = rerun ? RERUN_TIMES : 1;
    struct bench_graph *g = make_graph(p->name, p->size);
    uint64_t result = check_peer(g);
    uint64_t *ns = bench_allocate(p->repeats * sizeof *ns);
    enum bench_body body = strstr(p->name, "850ns") ? BENCH_850NS : BENCH_EMPTY;
    void *built = bench_peer.graphs->build(g, body);
    bench_peer.graphs->run(built, 1);
    for (uint64_t i = 0; i < p->repeats; i++) {
        uint64_t start = bench_now();
        bench_peer.graphs->run(built, times);
        ns[i] = bench_now() - start;
    }
    bench_peer.graphs->destroy(built);
    bench_print_spread(ns, p->repeats, rerun ? times : g->nodes, result);
    free(ns);
    free_graph(g);
}

struct build {
    double seconds;
    double bytes; /* after the first run */
    uint64_t result;
};

static struct build build_once(struct bench_graph *g)
{
    struct build b;
    memset(g->mark, 0, g->nodes * sizeof *g->mark);
    uint64_t start = bench_now();
    void *built = bench_peer.graphs->build(g, BENCH_CHECKED);
    b.seconds = (double)(bench_now() - start) * 1e-9;
    bench_peer.graphs->run(built, 1);
    b.bytes = (double)bench_peer.graphs->bytes(built);
    b.result = marks_of(g, 1);
    bench_peer.graphs->destroy(built);
    return b;
}

static void print_metric(const char *metric, double value, uint64_t result)
{
    printf("sample %.9g %.9g %.9g 1 %llu %s\n", value, value, value,
           (unsigned long long)result, metric);
}

/* Nodes without edges show what a node takes; with edges, what is added; edges
 * in an order by chance, what their order spares. */
void bench_measure_build(const struct plan *p)
{
    struct bench_graph *wide = make_graph("graph-wide", p->size);
    struct bench_graph *random = make_graph("graph-random", p->size);
    double nodes = random->nodes, edges = random->edges;
    for (uint64_t i = 0; i < p->repeats; i++) {
        struct build w = build_once(wide);
        order_edges(random);
        struct build r = build_once(random);
        shuffle_edges(random);
        struct build s = build_once(random);
        bench_print_one(r.seconds / nodes, r.result);
        print_metric("wide_build_ns_per_node", w.seconds / nodes, w.result);
        print_metric("shuffled_build_ns_per_node", s.seconds / nodes, s.result);
        print_metric("bytes_per_node", w.bytes / nodes, w.result);
        print_metric("bytes_per_edge", (r.bytes - w.bytes) / edges, r.result);
    }
    free_graph(wide);
    free_graph(random);
}
