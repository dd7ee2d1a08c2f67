/* SPDX-License-Identifier: MIT
 *
 * look.c: what those who write a graph down want to know of it.
 *
 * All of it takes time in proportion to nodes and edges, one piece of memory,
 * and no recursion.
 */
#include "graph/look.h"

#include "queue/memory.h"

#include <errno.h>
#include <string.h>

enum {
    WORKERS_MAX = 4096 /* of a runtime */
};

#define NONE   HEIST_NO_NODE
#define UNSEEN UINT32_MAX /* in `place`, during the search: not come to yet */

/* --- order ---------------------------------------------------------------- */

static bool is_live(const hi_look *k, hi_edge e)
{
    return !hi_look_is_erased(k, e.from) && !hi_look_is_erased(k, e.to);
}

/* Sorts the edges by the node they leave, in the order they were made. */
static void sort_edges(hi_look *k, uint32_t *to)
{
    const heist_graph *g = k->graph;
    uint32_t *end = k->first; /* of a node's edges; moved to their beginning */
    for (uint32_t i = 0; i < g->edge_count; i++)
        if (is_live(k, g->edges[i])) end[g->edges[i].from]++;
    for (uint32_t v = 1; v <= k->count; v++)
        end[v] += end[v - 1];
    for (uint32_t i = g->edge_count; i-- > 0;)
        if (is_live(k, g->edges[i]))
            to[--end[g->edges[i].from]] = g->edges[i].to;
    k->to = to;
    k->edge_count = k->first[k->count];
}

static void take_edges(hi_look *k)
{
    for (uint32_t v = 0; v <= k->count; v++)
        k->first[v] = k->count ? k->graph->nodes[v].out : 0;
    k->to = k->graph->to;
    k->edge_count = k->graph->edge_count;
}

/*
 * A search in depth from root.  `order` is its stack too: what is open grows
 * from the front, what is done fills it from the back.  left[v]: edges not
 * followed.
 */
static void search(hi_look *k, uint32_t root, uint32_t *left, uint32_t *done)
{
    uint32_t open = 1;
    if (k->place[root] != UNSEEN) return;
    k->order[0] = root;
    k->place[root] = 0;
    while (open) {
        uint32_t v = k->order[open - 1];
        if (left[v] == 0) {
            open--;
            k->place[v] = --*done;
            k->order[*done] = v;
            continue;
        }
        /* The last edge first: then the order is that of the numbers. */
        uint32_t next = k->to[k->first[v] + --left[v]];
        if (k->place[next] != UNSEEN) continue;
        k->place[next] = 0;
        k->order[open++] = next;
    }
}

/* From the sources, then from what no source leads to. */
static void find_order(hi_look *k, uint32_t *left, uint8_t *has_before)
{
    uint32_t done = k->count;
    for (uint32_t e = 0; e < k->edge_count; e++)
        has_before[k->to[e]] = 1;
    for (uint32_t v = 0; v < k->count; v++) {
        k->place[v] = UNSEEN;
        left[v] = k->first[v + 1] - k->first[v];
    }
    for (uint32_t v = k->count; v-- > 0;)
        if (!has_before[v]) search(k, v, left, &done);
    for (uint32_t v = 0; v < k->count; v++)
        search(k, v, left, &done);
}

/* --- times ---------------------------------------------------------------- */

static void find_longest_path(hi_look *k, int64_t *reached)
{
    uint32_t last = NONE;
    for (uint32_t v = 0; v < k->count; v++)
        k->before[v] = NONE;
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t v = k->order[i];
        const hi_lap *lap = hi_look_lap(k, v);
        if (!lap) continue;
        reached[v] += lap->total; /* it was that of the best before it */
        if (last == NONE || reached[v] >= reached[last]) last = v;
        for (uint32_t e = k->first[v]; e < k->first[v + 1]; e++) {
            uint32_t w = k->to[e];
            if (hi_look_leads_back(k, v, w)) continue;
            if (k->before[w] != NONE && reached[v] <= reached[w]) continue;
            k->before[w] = v;
            reached[w] = reached[v];
        }
    }
    if (last == NONE) return;
    heist_profile_summary *s = &k->summary;
    s->span = reached[last];
    if (s->span) s->parallelism = (double)s->work / (double)s->span;
    for (; last != NONE; last = k->before[last]) {
        k->critical[last] = 1;
        s->critical++;
    }
}

static void sum_up(hi_look *k)
{
    heist_profile_summary *s = &k->summary;
    uint64_t seen[WORKERS_MAX / 64] = {0};
    bool guests = false;
    int64_t end = INT64_MIN;
    k->begin = INT64_MAX;
    for (uint32_t v = 0; v < k->count; v++) {
        const hi_lap *lap = hi_look_lap(k, v);
        if (!lap) continue;
        if (lap->start < k->begin) k->begin = lap->start;
        if (lap->end > end) end = lap->end;
        if (lap->total > k->longest) k->longest = lap->total;
        s->work += lap->total;
        s->executions += lap->runs;
        if (lap->worker < WORKERS_MAX) {
            seen[lap->worker / 64] |= UINT64_C(1) << lap->worker % 64;
        } else {
            guests = true;
        }
    }
    s->wall = s->executions ? end - k->begin : 0;
    s->workers = guests;
    for (size_t i = 0; i < WORKERS_MAX / 64; i++)
        s->workers += (unsigned)__builtin_popcountll(seen[i]);
}

/* --- a look --------------------------------------------------------------- */

/* The next n items of a piece of memory. */
static void *carve(char **at, size_t n, size_t size)
{
    void *p = *at;
    *at += n * size;
    return p;
}

int hi_look_open(hi_look *k, const heist_graph *g, const heist_profile *profile)
{
    *k = (hi_look){.graph = g, .count = g->count, .saved = errno};
    if (profile && profile->graph != g) return -EINVAL;
    /* relaxed: own-field (who looks has built it; then the edges are sorted
     * already) */
    bool sealed = heist_load_relaxed(&g->sealed);
    size_t n = g->count, edges = sealed ? 0 : g->edge_count;
    k->bytes = n * (sizeof(int64_t) + 4 * sizeof(uint32_t) + 1) +
               (edges + 1) * sizeof(uint32_t);
    char *at = k->memory = hi_alloc(&g->allocator, k->bytes, HEIST_LINE);
    if (!at) return -ENOMEM;
    int64_t *reached = carve(&at, n, sizeof *reached);
    k->first = carve(&at, n + 1, sizeof *k->first);
    uint32_t *to = carve(&at, edges, sizeof *to);
    k->order = carve(&at, n, sizeof *k->order);
    k->place = carve(&at, n, sizeof *k->place);
    k->before = carve(&at, n, sizeof *k->before);
    k->critical = carve(&at, n, 1);
    if (sealed) {
        take_edges(k);
    } else {
        sort_edges(k, to);
    }
    find_order(k, k->before, k->critical);
    memset(k->critical, 0, n);
    if (!profile) return 0;
    k->laps = profile->laps;
    k->lap_count = profile->count < g->count ? profile->count : g->count;
    sum_up(k);
    find_longest_path(k, reached);
    if (k->summary.executions == 0) k->laps = NULL, k->lap_count = 0;
    return 0;
}

void hi_look_close(hi_look *k)
{
    hi_free(&k->graph->allocator, k->memory, k->bytes);
    errno = k->saved;
}

int hi_look_finish(hi_look *k, FILE *to, int rc)
{
    /* What is still in a buffer has not arrived. */
    if (rc == 0 && (fflush(to) != 0 || ferror(to))) rc = -EIO;
    hi_look_close(k);
    return rc;
}

/* --- words ---------------------------------------------------------------- */

const char *hi_look_name(const hi_look *k, uint32_t v, char spare[HI_WORD])
{
    const char *name = heist_graph_name(k->graph, (heist_node){v});
    if (*name) return name;
    snprintf(spare, HI_WORD, "#%u", v);
    return spare;
}

void hi_look_time(char out[HI_WORD], int64_t ns)
{
    static const char *const unit[] = {"us", "ms", "s"};
    int64_t tenth = 100; /* of the unit, in nanoseconds */
    size_t u = 0;
    if (ns < 1000) {
        snprintf(out, HI_WORD, "%lld ns", (long long)ns);
        return;
    }
    for (; u < 2 && ns / tenth >= 9999; u++)
        tenth *= 1000;
    int64_t tenths = ns / tenth + (ns % tenth >= tenth / 2);
    snprintf(out, HI_WORD, "%lld.%lld %s", (long long)(tenths / 10),
             (long long)(tenths % 10), unit[u]);
}

void hi_look_cost(const hi_look *k, uint32_t v, char out[HI_WORD])
{
    const hi_lap *lap = hi_look_lap(k, v);
    *out = 0;
    if (!lap) {
        if (k->laps) snprintf(out, HI_WORD, "not run");
        return;
    }
    hi_look_time(out, lap->total);
    size_t used = strlen(out);
    if (lap->runs > 1)
        snprintf(out + used, HI_WORD - used, ", %u times", lap->runs);
}

void hi_look_inside(const hi_look *k, uint32_t v, char out[HI_WORD])
{
    const hi_node *n = hi_look_node(k, v);
    *out = 0;
    if (n->kind != HI_NODE_MODULE) return;
    size_t size = heist_graph_size(hi_graph_extra(k->graph, n)->module);
    snprintf(out, HI_WORD, "%zu node%s", size, size == 1 ? "" : "s");
}

void hi_look_sum(const hi_look *k, char out[4 * HI_WORD])
{
    const heist_profile_summary *s = &k->summary;
    char work[HI_WORD], span[HI_WORD];
    uint64_t tenths = (uint64_t)(s->parallelism * 10 + 0.5);
    hi_look_time(work, s->work);
    hi_look_time(span, s->span);
    snprintf(out, 4 * HI_WORD, "work %s, span %s, parallelism %llu.%llu", work,
             span, (unsigned long long)(tenths / 10),
             (unsigned long long)(tenths % 10));
}

const char *const hi_look_shades[HI_SHADES] = {"#f4f9fd", "#e3f0f9", "#d0e5f4",
                                               "#badaef", "#a3cee9", "#8bc1e3",
                                               "#73b3dc", "#5ca5d5", "#4697cd"};

const char *hi_look_colour(const hi_look *k, uint32_t v)
{
    const hi_lap *lap = hi_look_lap(k, v);
    if (!lap) return k->laps ? "#eceef0" : "#f4f9fd";
    double share = k->longest ? (double)lap->total / (double)k->longest : 0;
    return hi_look_shades[(size_t)(share * (HI_SHADES - 1) + 0.5)];
}

/* What the bytes after the first may be, for the first ones that are picky: too
 * long a form, a surrogate, beyond the last character. */
static bool second_is_right(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0: return second >= 0xa0;
    case 0xed: return second < 0xa0;
    case 0xf0: return second >= 0x90;
    case 0xf4: return second < 0x90;
    default: return true;
    }
}

size_t hi_utf8(const char *s)
{
    const unsigned char *b = (const unsigned char *)s;
    if (b[0] < 0x80) return b[0] != 0;
    size_t n = b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (n == 0 || b[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80) return 0;
    return second_is_right(b[0], b[1]) ? n : 0;
}
