/* SPDX-License-Identifier: MIT
 *
 * dominance.c: the walk over a graph with conditions, and what cannot be
 * avoided on the way to a node.
 *
 * The walk goes deep first and numbers the nodes as it meets them.  For each
 * node i, from the last to the first, the *leap* is the least number from which
 * a way leads to i through nodes greater than i only.  The last node that no
 * way to i avoids is then, of i's parent and those that no way to the parent
 * avoids, the last one that is not greater than the leap.  Both are found by
 * climbing trees whose long ways are cut short, so that the whole takes hardly
 * more than linear time whatever the graph.  Without loops nobody asks.
 */
#include "graph/examine.h"
#include "queue/memory.h"

#include <errno.h>

static void *make(const hi_walk *w, size_t n, size_t size)
{
    return hi_alloc(&w->graph->allocator, n * size, _Alignof(max_align_t));
}

static void give(const hi_walk *w, void *p, size_t n, size_t size)
{
    hi_free(&w->graph->allocator, p, n * size);
}

/* --- walking -------------------------------------------------------------- */

static uint32_t meet(hi_walk *w, uint32_t node, uint32_t parent)
{
    uint32_t k = ++w->reached;
    w->number[node] = k;
    w->spots[k] = (hi_spot){
        .node = node, .parent = parent, .first = w->graph->nodes[node].out};
    return k;
}

/* Fills `order` from its end, with each node before all that were met from it;
 * `first` is the edge that is next. */
static void walk_from(hi_walk *w, uint32_t source)
{
    const heist_graph *g = w->graph;
    uint32_t at = meet(w, source, 0);
    while (at) {
        hi_spot *s = &w->spots[at];
        if (s->first < g->nodes[s->node + 1].out) {
            uint32_t to = g->to[s->first++];
            if (!w->number[to]) at = meet(w, to, at);
        } else {
            s->rank = --w->begin;
            w->order[s->rank] = at;
            at = s->parent;
        }
    }
}

static void sort_arrivals(hi_walk *w)
{
    const heist_graph *g = w->graph;
    for (uint32_t k = 1; k <= w->reached + 1; k++)
        w->spots[k].first = 0;
    for (uint32_t k = 1; k <= w->reached; k++) {
        const hi_node *n = &g->nodes[w->spots[k].node];
        for (uint32_t e = n->out; e < n[1].out; e++)
            w->spots[w->number[g->to[e]]].first++;
    }
    for (uint32_t k = 1; k <= w->reached + 1; k++)
        w->spots[k].first += w->spots[k - 1].first;
    for (uint32_t k = w->reached; k > 0; k--) {
        const hi_node *n = &g->nodes[w->spots[k].node];
        for (uint32_t e = n[1].out; e > n->out; e--) {
            uint32_t to = w->number[g->to[e - 1]];
            w->arrivals[--w->spots[to].first] = (hi_arrival){k, e - 1};
        }
    }
}

/* --- dominators ----------------------------------------------------------- */

typedef struct step {
    uint32_t leap;
    uint32_t up;   /* an ancestor in the walk */
    uint32_t best; /* the least leap from here up to before that */
} step;

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How far v reaches back by nodes greater than i; halves the way it takes. */
static uint32_t reach(step *steps, uint32_t v, uint32_t i)
{
    uint32_t found = v;
    while (v > i) {
        step *s = &steps[v], *above = &steps[s->up];
        if (s->up > i) {
            s->best = least(s->best, above->best);
            s->up = above->up;
        }
        found = least(found, s->best);
        v = s->up;
    }
    return found;
}

static void find_leaps(const hi_walk *w, step *steps)
{
    for (uint32_t i = w->reached; i > 0; i--) {
        const hi_spot *s = &w->spots[i];
        uint32_t leap = s->parent;
        for (uint32_t a = s->first; a < s[1].first; a++)
            leap = least(leap, reach(steps, w->arrivals[a].from, i));
        steps[i] = (step){.leap = leap, .up = s->parent, .best = leap};
    }
}

static void find_dominators(hi_walk *w, const step *steps)
{
    const hi_rung *tree = w->dominators;
    for (uint32_t i = 1; i <= w->reached; i++) {
        uint32_t v = w->spots[i].parent, leap = steps[i].leap;
        while (v > leap)
            v = tree[v].jump > leap ? tree[v].jump : tree[v].up;
        hi_tree_hang(w->dominators, i, v);
    }
}

static int dominate(hi_walk *w)
{
    size_t n = (size_t)w->reached + 1;
    step *steps = make(w, n, sizeof *steps);
    w->dominators = make(w, (size_t)w->graph->count + 1, sizeof *w->dominators);
    if (steps && w->dominators) {
        find_leaps(w, steps);
        find_dominators(w, steps);
    }
    give(w, steps, n, sizeof *steps);
    return steps && w->dominators ? 0 : -ENOMEM;
}

/* --- all ------------------------------------------------------------------ */

static bool make_room(hi_walk *w)
{
    size_t n = w->graph->count;
    w->number = make(w, n, sizeof *w->number);
    w->order = make(w, n, sizeof *w->order);
    w->spots = make(w, n + 2, sizeof *w->spots);
    w->arrivals = make(w, w->edges, sizeof *w->arrivals);
    return w->number && w->order && w->spots && w->arrivals;
}

static bool has_loops(const hi_walk *w)
{
    for (uint32_t k = 1; k <= w->reached; k++) {
        const hi_spot *s = &w->spots[k];
        for (uint32_t a = s->first; a < s[1].first; a++)
            if (w->spots[w->arrivals[a].from].rank >= s->rank) return true;
    }
    return false;
}

int hi_walk_start(hi_walk *w, const heist_graph *g)
{
    *w = (hi_walk){.graph = g, .edges = g->nodes[g->count].out};
    if (!make_room(w)) goto fail;
    w->begin = g->count;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->nodes[i].source) walk_from(w, i);
    sort_arrivals(w);
    w->loops = has_loops(w);
    if (w->loops && dominate(w) < 0) goto fail;
    return 0;
fail:
    hi_walk_end(w);
    return -ENOMEM;
}

void hi_walk_end(hi_walk *w)
{
    size_t n = w->graph->count;
    give(w, w->number, n, sizeof *w->number);
    give(w, w->order, n, sizeof *w->order);
    give(w, w->spots, n + 2, sizeof *w->spots);
    give(w, w->arrivals, w->edges, sizeof *w->arrivals);
    give(w, w->dominators, n + 1, sizeof *w->dominators);
}
