/* SPDX-License-Identifier: MIT */
#ifndef HI_LOOK_H
#define HI_LOOK_H

/*
 * A look at a graph, for who writes it down: its edges by node, whether it is
 * sealed or not, an order of its nodes, and with a profile its longest path.
 * The graph is not changed.
 */
#include "graph/graph.h"

typedef struct hi_look {
    const heist_graph *graph;
    uint32_t count;      /* of nodes, erased ones too */
    uint32_t edge_count; /* none of erased nodes */
    uint32_t *first;     /* where in `to` a node's edges begin; count + 1 */
    const uint32_t *to;
    uint32_t *order; /* each node after all that lead to it, but for loops */
    uint32_t *place; /* of a node in the order */

    /* With a profile: */
    const hi_lap *laps; /* NULL: there is none */
    uint32_t lap_count;
    uint32_t *before;  /* of a critical node: the critical one before it */
    uint8_t *critical; /* is it on the longest path? */
    int64_t begin;     /* the first start */
    int64_t longest;   /* the largest total of a node */
    heist_profile_summary summary;

    void *memory;
    size_t bytes;
    int saved; /* errno, which is not ours to change */
} hi_look;

/*
 * Looks at g.  profile may be NULL.
 *
 * Returns: 0; -ENOMEM; -EINVAL: the profile is not of g.
 */
int hi_look_open(hi_look *k, const heist_graph *g,
                 const heist_profile *profile);
void hi_look_close(hi_look *k);

/* Ends the writing of a look: rc if that is an error, or -EIO if not all of it
 * has arrived, else 0. */
int hi_look_finish(hi_look *k, FILE *to, int rc);

static inline const hi_node *hi_look_node(const hi_look *k, uint32_t v)
{
    return &k->graph->nodes[v];
}

static inline bool hi_look_is_erased(const hi_look *k, uint32_t v)
{
    return hi_look_node(k, v)->kind == HI_NODE_ERASED;
}

/* Has it nothing to run, and is only passed? */
static inline bool hi_look_is_empty(const hi_look *k, uint32_t v)
{
    const hi_node *n = hi_look_node(k, v);
    return !n->fn && n->kind != HI_NODE_MODULE;
}

/* Does an edge close a loop? */
static inline bool hi_look_leads_back(const hi_look *k, uint32_t from,
                                      uint32_t to)
{
    return k->place[to] <= k->place[from];
}

/* What is known of a node; NULL: it has not run, or there is no profile. */
static inline const hi_lap *hi_look_lap(const hi_look *k, uint32_t v)
{
    return v < k->lap_count && k->laps[v].runs ? &k->laps[v] : NULL;
}

static inline bool hi_look_is_critical(const hi_look *k, uint32_t from,
                                       uint32_t to)
{
    return k->critical[from] && k->critical[to] && k->before[to] == from;
}

/* --- words ---------------------------------------------------------------- */

enum {
    HI_WORD = 48 /* bytes that a short text fits into */
};

/* The name of a node; of one without, its number, which is put into `spare`. */
const char *hi_look_name(const hi_look *k, uint32_t v, char spare[HI_WORD]);

/* A length of time: "12.3 us".  Printed from integers: a locale's decimal comma
 * has no place in these files. */
void hi_look_time(char out[HI_WORD], int64_t ns);

/* How long a node has taken and, in a loop, how often it ran; "" without a
 * profile. */
void hi_look_cost(const hi_look *k, uint32_t v, char out[HI_WORD]);

/* What is inside a module: "12 nodes"; "" if it is none. */
void hi_look_inside(const hi_look *k, uint32_t v, char out[HI_WORD]);

/* Work, span and parallelism, in a line. */
void hi_look_sum(const hi_look *k, char out[4 * HI_WORD]);

/* The colour of a node: the more of the time it has taken the stronger. */
const char *hi_look_colour(const hi_look *k, uint32_t v);

/* The colours of a scale: from nothing to the largest total. */
enum {
    HI_SHADES = 9
};

extern const char *const hi_look_shades[HI_SHADES];

/* Of what the longest path is drawn in, and the rest. */
#define HI_CRITICAL_COLOUR "#c8102e"
#define HI_LINE_COLOUR     "#5b6770"
#define HI_TEXT_COLOUR     "#14202b"

/* The bytes of the UTF-8 character at s; 0: it is not one, or s ends. */
size_t hi_utf8(const char *s);

#endif
