/* SPDX-License-Identifier: MIT
 *
 * control.c: what cannot work in a graph with conditions.
 */
#include "graph/examine.h"

#include <errno.h>

/* What only conditions lead to is not ready from the beginning. */
static void clear_sources(heist_graph *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (!hi_node_is_weak(&g->nodes[i])) continue;
        for (uint32_t e = g->nodes[i].out; e < g->nodes[i + 1].out; e++) {
            hi_node *n = &g->nodes[g->to[e]];
            g->sources -= n->source;
            n->source = false;
        }
    }
}

static int no_source(hi_why *why, uint32_t node)
{
    hi_why_say(why, "no source: nothing starts ");
    hi_why_node(why, node);
    return -ENOENT;
}

static int check_sources(const hi_walk *w, hi_why *why)
{
    const heist_graph *g = w->graph;
    for (uint32_t i = 0; i < g->count; i++)
        if (!w->number[i] && g->nodes[i].kind != HI_NODE_ERASED)
            return no_source(why, i);
    return 0;
}

/* --- loops ---------------------------------------------------------------- */

/* Marks all from which k is reached and that no earlier loop has: since nodes
 * are taken in the walk's order these are in one loop with k.  `rank` is not
 * needed any more and makes the list. */
static void mark_loop(hi_walk *w, uint32_t k)
{
    uint32_t list = k;
    w->spots[k].loop = k;
    w->spots[k].rank = 0;
    while (list) {
        const hi_spot *s = &w->spots[list];
        list = s->rank;
        for (uint32_t i = s->first; i < s[1].first; i++) {
            uint32_t from = w->arrivals[i].from;
            if (w->spots[from].loop) continue;
            w->spots[from].loop = k;
            w->spots[from].rank = list;
            list = from;
        }
    }
}

/* Alone, and without an edge to itself: a loop of no rounds. */
static bool is_loop(const hi_walk *w, uint32_t k)
{
    const hi_spot *s = &w->spots[k];
    for (uint32_t i = s->first; i < s[1].first; i++)
        if (w->spots[w->arrivals[i].from].loop == s->loop) return true;
    return false;
}

static int leaves_loop(hi_why *why, uint32_t from, uint32_t to)
{
    hi_why_say(why, "loop: ");
    hi_why_node(why, to);
    hi_why_say(why, " would start in every round of the loop of ");
    hi_why_node(why, from);
    hi_why_say(why, "; leave a loop through a condition");
    return -EINVAL;
}

static int half_waited(const hi_walk *w, hi_why *why, uint32_t k)
{
    hi_why_say(why, "loop: a round may leave ");
    hi_why_node(why, w->spots[k].node);
    hi_why_say(why, " waiting for a branch of ");
    hi_why_node(why, w->spots[w->spots[k].unsure].node);
    hi_why_say(why, "; lead its other branches there too");
    return -EINVAL;
}

static int check_loops(hi_walk *w, hi_why *why)
{
    const heist_graph *g = w->graph;
    for (uint32_t i = w->begin; i < g->count; i++)
        if (!w->spots[w->order[i]].loop) mark_loop(w, w->order[i]);
    for (uint32_t k = 1; k <= w->reached; k++) {
        const hi_spot *s = &w->spots[k];
        const hi_node *n = &g->nodes[s->node];
        if (s->unsure && is_loop(w, k)) return half_waited(w, why, k);
        if (hi_node_is_weak(n) || !is_loop(w, k)) continue;
        for (uint32_t e = n->out; e < n[1].out; e++) {
            uint32_t to = g->to[e];
            if (w->spots[w->number[to]].loop != s->loop)
                return leaves_loop(why, s->node, to);
        }
    }
    return 0;
}

int hi_graph_examine_control(heist_graph *g, hi_why *why)
{
    hi_walk w;
    clear_sources(g);
    int rc = hi_walk_start(&w, g);
    if (rc < 0) return rc;
    rc = check_sources(&w, why);
    if (rc == 0) rc = hi_graph_examine_joins(g, &w, why);
    if (rc == 0 && w.loops) rc = check_loops(&w, why);
    hi_walk_end(&w);
    return rc;
}
