/* SPDX-License-Identifier: MIT
 *
 * examine.c: what is wrong with a graph, and how many arrivals start a node.
 *
 * Most graphs have no conditions and edges that lead to nodes made later.  They
 * need one pass over the edges: it counts arrivals, and a stamp in each node
 * says who led to it last.  If only some edges lead to nodes made later, a
 * second pass takes nodes away as if they had run; what is left then contains a
 * cycle.  Conditions are the business of control.c.
 */
#include "graph/examine.h"
#include "queue/memory.h"

#include <errno.h>
#include <string.h>

/* --- the line ------------------------------------------------------------- */

static void put(hi_why *why, char c)
{
    static const char cut[] = "...";
    if (why->cut || !why->text || why->bytes == 0) return;
    if (why->used + 1 < why->bytes) {
        why->text[why->used++] = (unsigned char)c < ' ' ? '?' : c;
        why->text[why->used] = '\0';
        return;
    }
    why->cut = true;
    size_t dots = why->bytes < sizeof cut ? why->bytes - 1 : sizeof cut - 1;
    memcpy(why->text + why->bytes - 1 - dots, cut, dots);
}

void hi_why_say(hi_why *why, const char *text)
{
    while (*text)
        put(why, *text++);
}

void hi_why_number(hi_why *why, uint32_t number)
{
    uint32_t power = 1;
    while (number / power >= 10)
        power *= 10;
    for (; power; power /= 10)
        put(why, (char)('0' + number / power % 10));
}

void hi_why_node(hi_why *why, uint32_t node)
{
    const heist_graph *g = why->graph;
    uint32_t name = node < g->count ? g->nodes[node].name : 0;
    if (node == HEIST_NO_NODE) {
        hi_why_say(why, "HEIST_NO_NODE");
    } else if (name) {
        hi_why_say(why, g->names + name);
    } else {
        put(why, '#');
        hi_why_number(why, node);
    }
}

void hi_why_edge(hi_why *why, uint32_t from, uint32_t to)
{
    hi_why_say(why, "edge ");
    hi_why_node(why, from);
    hi_why_say(why, " -> ");
    hi_why_node(why, to);
}

/* How far ahead memory is asked for: edges, and nodes in a list. */
enum {
    AHEAD = 32,
    FAR = 24,
    NEAR = 12,
    NEXT = 6
};

/* --- edges ---------------------------------------------------------------- */

typedef struct cell {
    uint32_t in;   /* arrivals that are waited for */
    uint32_t link; /* who led here last, plus 1; later: a list */
} cell;

typedef struct survey {
    uint32_t weak; /* edges */
    bool conditions;
    /* Strong edges lead to nodes made later, to nodes made before. */
    bool forwards, backwards;
} survey;

static int made_twice(hi_why *why, uint32_t from, uint32_t to)
{
    hi_why_edge(why, from, to);
    hi_why_say(why, " made twice");
    return -EEXIST;
}

static int count_arrivals(const heist_graph *g, cell *cells, survey *s,
                          hi_why *why)
{
    uint32_t last = g->nodes[g->count].out;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t end = g->nodes[i + 1].out;
        bool weak = hi_node_is_weak(&g->nodes[i]);
        for (uint32_t e = g->nodes[i].out; e < end; e++) {
            uint32_t v = g->to[e];
            if (last - e > AHEAD)
                __builtin_prefetch(&cells[g->to[e + AHEAD]], 1);
            if (HEIST_UNLIKELY(cells[v].link == i + 1))
                return made_twice(why, i, v);
            cells[v].link = i + 1;
            cells[v].in += !weak;
            s->forwards |= v >= i && !weak;
            s->backwards |= v <= i && !weak;
        }
        s->conditions |= weak;
        s->weak += weak ? end - g->nodes[i].out : 0;
    }
    return 0;
}

static void set_needs(heist_graph *g, const cell *cells)
{
    g->sources = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        hi_node *n = &g->nodes[i];
        n->need = cells[i].in;
        n->source = n->need == 0 && n->kind != HI_NODE_ERASED;
        g->sources += n->source;
    }
}

/* --- cycles --------------------------------------------------------------- */

/* Fetches what is needed soon for the nodes that wait in the list; each step
 * needs what an earlier one has fetched. */
static void look_ahead(const heist_graph *g, const cell *cells, uint32_t head,
                       uint32_t tail)
{
    if (tail - head <= FAR) return;
    __builtin_prefetch(&g->nodes[cells[head + FAR].link]);
    __builtin_prefetch(&g->to[g->nodes[cells[head + NEAR].link].out]);
    const hi_node *n = &g->nodes[cells[head + NEXT].link];
    for (uint32_t e = n->out; e < n[1].out; e++)
        __builtin_prefetch(&cells[g->to[e]]);
}

/* Takes nodes away as if they had run; returns how many.  The links are the
 * list of them, by place and not by node. */
static uint32_t take_away(const heist_graph *g, cell *cells)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->nodes[i].need == 0) cells[tail++].link = i;
    while (head < tail) {
        look_ahead(g, cells, head, tail);
        uint32_t u = cells[head++].link;
        if (hi_node_is_weak(&g->nodes[u])) continue;
        for (uint32_t e = g->nodes[u].out; e < g->nodes[u + 1].out; e++) {
            uint32_t v = g->to[e];
            if (--cells[v].in == 0) cells[tail++].link = v;
        }
    }
    return tail;
}

/* What is left has arrivals from what is left: going back from any of it ends
 * in a cycle.  Returns the node of it that was made first, with links to the
 * next from there on. */
static uint32_t find_cycle(const heist_graph *g, cell *cells)
{
    uint32_t at = 0;
    for (uint32_t u = 0; u < g->count; u++) {
        if (!cells[u].in || hi_node_is_weak(&g->nodes[u])) continue;
        for (uint32_t e = g->nodes[u].out; e < g->nodes[u + 1].out; e++)
            cells[g->to[e]].link = u;
        at = u;
    }
    /* Back until a node is met again, which 0 marks: it is no count here. */
    while (cells[at].in) {
        cells[at].in = 0;
        at = cells[at].link;
    }
    uint32_t first = at, next = at, u = cells[at].link;
    while (u != at) {
        uint32_t before = cells[u].link;
        cells[u].link = next;
        next = u;
        u = before;
        if (next < first) first = next;
    }
    cells[at].link = next;
    return first;
}

static int check_cycles(const heist_graph *g, cell *cells, hi_why *why)
{
    if (take_away(g, cells) == g->count) return 0;
    uint32_t start = find_cycle(g, cells), u = start;
    hi_why_say(why, "cycle: ");
    do {
        hi_why_node(why, u);
        hi_why_say(why, " -> ");
        u = cells[u].link;
    } while (u != start && !why->cut);
    hi_why_node(why, start);
    return -EDEADLK;
}

/* --- all ------------------------------------------------------------------ */

static int examine(heist_graph *g, cell *cells, hi_why *why)
{
    survey s = {0};
    int rc = count_arrivals(g, cells, &s, why);
    if (rc < 0) return rc;
    set_needs(g, cells);
    g->weak = s.conditions;
    if (s.forwards && s.backwards) rc = check_cycles(g, cells, why);
    return rc < 0 || !s.weak ? rc : hi_graph_examine_control(g, why);
}

int hi_graph_examine(heist_graph *g, char *why, size_t bytes)
{
    hi_why line = {.graph = g, .text = why, .bytes = bytes};
    if (why && bytes) why[0] = '\0';
    g->weak = false;
    g->sources = 0;
    if (g->count == 0) return 0;
    cell *cells = NULL;
    size_t size = g->count * sizeof *cells;
    cells = hi_alloc(&g->allocator, size, _Alignof(cell));
    if (!cells) return -ENOMEM;
    int rc = examine(g, cells, &line);
    hi_free(&g->allocator, cells, size);
    return rc;
}
