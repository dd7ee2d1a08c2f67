/* SPDX-License-Identifier: MIT */
/*
 * A graph of tasks.  Serial is what one would write without a library: a count
 * of missing predecessors per node, and a stack of nodes that are ready; the
 * first successor that becomes ready is run next.
 */
#include "graph.h"
#include "ours.h"

#include <heist/graph.h>

#include <stdlib.h>

#define NO_NODE UINT32_MAX

/* --- serial ---------------------------------------------------------------- */

struct serial {
    const struct bench_graph *g;
    enum bench_body body;
    uint32_t *missing;
    uint32_t *ready; /* a stack */
};

static void *serial_build(const struct bench_graph *g, enum bench_body body)
{
    struct serial *s = malloc(sizeof *s);
    if (!s) bench_die("out of memory");
    *s = (struct serial){g, body, calloc(g->nodes, sizeof *s->missing),
                         calloc(g->nodes, sizeof *s->ready)};
    if (!s->missing || !s->ready) bench_die("out of memory");
    for (uint32_t i = 0; i < g->nodes; i++)
        s->missing[i] = bench_need(g, i);
    return s;
}

static void serial_destroy(void *built)
{
    struct serial *s = built;
    free(s->missing);
    free(s->ready);
    free(s);
}

/* Runs a node and all that become ready by it. */
static inline void serial_from(struct serial *s, enum bench_body body,
                               uint32_t node)
{
    const struct bench_graph *g = s->g;
    uint32_t *top = s->ready;
    *top++ = node;
    while (top != s->ready) {
        for (node = *--top; node != NO_NODE;) {
            bench_run_node(body, g, node);
            uint32_t next = NO_NODE, end = g->after_at[node + 1];
            for (uint32_t k = g->after_at[node]; k < end; k++) {
                uint32_t after = g->after[k];
                uint32_t need = bench_need(g, after);
                if (--s->missing[after]) continue;
                s->missing[after] = need;
                if (next == NO_NODE)
                    next = after;
                else
                    *top++ = after;
            }
            node = next;
        }
    }
}

static inline void serial_pass(struct serial *s, enum bench_body body)
{
    for (uint32_t i = 0; i < s->g->nodes; i++)
        if (!bench_need(s->g, i)) serial_from(s, body, i);
}

static void serial_run(void *built, uint64_t times)
{
    struct serial *s = built;
    while (times--)
        switch (s->body) {
        case BENCH_EMPTY: serial_pass(s, BENCH_EMPTY); break;
        case BENCH_850NS: serial_pass(s, BENCH_850NS); break;
        case BENCH_CHECKED: serial_pass(s, BENCH_CHECKED); break;
        }
}

const struct bench_graphs serial_graphs = {
    .build = serial_build,
    .run = serial_run,
    .destroy = serial_destroy,
};

/* --- ours ------------------------------------------------------------------ */

struct ours {
    heist_graph *graph;
    heist_flow_opts opts;
    size_t bytes; /* that the graph has now */
};

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    struct ours *o = user;
    void *p = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
    if (p) __atomic_fetch_add(&o->bytes, bytes, __ATOMIC_RELAXED);
    return p;
}

static void count_free(void *user, void *p, size_t bytes)
{
    struct ours *o = user;
    __atomic_fetch_sub(&o->bytes, bytes, __ATOMIC_RELAXED);
    free(p);
}

static int empty_node(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return 0;
}

static int work_node(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)arg;
    bench_850ns(heist_step_node(step).id);
    return 0;
}

static int checked_node(heist_ctx c, heist_step *step, void *arg)
{
    (void)c;
    bench_check_node(arg, heist_step_node(step).id);
    return 0;
}

static void *ours_build(const struct bench_graph *g, enum bench_body body)
{
    static heist_node_fn *const functions[] = {
        [BENCH_EMPTY] = empty_node,
        [BENCH_850NS] = work_node,
        [BENCH_CHECKED] = checked_node,
    };
    struct ours *o = malloc(sizeof *o);
    if (!o) bench_die("out of memory");
    *o = (struct ours){.opts.rt = ours_runtime};
    heist_allocator counting = {count_alloc, count_free, o};
    if (heist_graph_create(&o->graph, &counting) < 0) bench_die("no graph");
    for (uint32_t i = 0; i < g->nodes; i++)
        heist_graph_add(o->graph, NULL, functions[body], (void *)(uintptr_t)g);
    for (uint32_t k = 0; k < g->edges; k++)
        heist_graph_edge(o->graph, (heist_node){g->edge[k].from},
                         (heist_node){g->edge[k].to});
    if (heist_graph_check(o->graph, NULL, 0) < 0) bench_die("a wrong graph");
    return o;
}

static void ours_graph_run(void *built, uint64_t times)
{
    struct ours *o = built;
    if (heist_graph_run_n(o->graph, times, &o->opts, HEIST_FOREVER) < 0)
        bench_die("a graph that does not run");
}

static void ours_destroy(void *built)
{
    struct ours *o = built;
    heist_graph_destroy(o->graph);
    if (o->bytes) bench_die("memory that a graph has lost");
    free(o);
}

static size_t ours_bytes(void *built)
{
    struct ours *o = built;
    return o->bytes;
}

const struct bench_graphs ours_graphs = {
    .build = ours_build,
    .run = ours_graph_run,
    .destroy = ours_destroy,
    .bytes = ours_bytes,
};
