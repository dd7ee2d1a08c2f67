/* SPDX-License-Identifier: MIT
 *
 * graph.c: building a graph, and making it ready to run.
 *
 * Edges
 *   N1  sealed  release sealed  ->  hi_graph_seal  acquire sealed  all of it
 *   N2  hi_forked_end  release generation
 *         ->  hi_forked_begin  acquire generation  what was put right
 */
#include "graph/graph.h"

#include "graph/examine.h"
#include "graph/flow.h"
#include "queue/memory.h"

#include <errno.h>
#include <string.h>

const hi_extra hi_no_extra;

enum {
    FIRST_NODES = 16,
    CHUNK_BYTES = 4096
};

struct hi_chunk {
    hi_chunk *next;
    size_t bytes, used; /* of what follows */
    char memory[] HEIST_ALIGNED(HI_OUTPUT_ALIGN);
};

/* --- memory --------------------------------------------------------------- */

/* Room for so many more of what `*items` points to; false: no memory. */
static bool reserve(heist_graph *g, void *items, uint32_t *capacity,
                    uint32_t count, uint32_t more, size_t size)
{
    void **array = items;
    if (*array && *capacity - count >= more) return true;
    if (more > UINT32_MAX - 1 - count) return false;
    uint64_t grown = 2 * (uint64_t)*capacity;
    if (grown < FIRST_NODES) grown = FIRST_NODES;
    if (grown < (uint64_t)count + more) grown = (uint64_t)count + more;
    if (grown > UINT32_MAX) grown = UINT32_MAX;
    void *new = hi_alloc_raw(&g->allocator, grown * size, HEIST_LINE);
    if (!new) return false;
    if (*array) memcpy(new, *array, count * size);
    hi_free(&g->allocator, *array, *capacity * size);
    *array = new;
    *capacity = (uint32_t)grown;
    return true;
}

/* --- making and destroying ------------------------------------------------ */

/* One seal at a time in the process, so that graphs that are modules of each
 * other are found and not waited for. */
static hi_lock sealing;

static void after_fork(void)
{
    sealing = (hi_lock){0}; /* its holder is not in this process */
}

/* As hi_generation_watch. */
__attribute__((constructor)) static int watch_forks(void)
{
    static hi_at_fork forks = {.child = after_fork};
    int rc = hi_generation_watch();
    return rc < 0 ? rc : hi_watch_forks(&forks);
}

int heist_graph_create(heist_graph **out, const heist_allocator *allocator)
{
    if (!hi_allocator_is_whole(allocator)) return -EINVAL;
    int rc = watch_forks();
    if (rc < 0) return rc;
    heist_graph *g = hi_alloc(allocator, sizeof *g, HEIST_LINE);
    if (!g) return -ENOMEM;
    if (allocator) g->allocator = *allocator;
    heist_init(&g->generation, hi_generation());
    g->name_bytes = 1;  /* 0 is no name, */
    g->extra_count = 1; /* and no extra */
    *out = g;
    return 0;
}

static void free_sorted(heist_graph *g)
{
    const heist_allocator *a = &g->allocator;
    hi_free(a, g->to, g->to_capacity * sizeof *g->to);
    hi_free(a, g->source_list, g->source_capacity * sizeof *g->source_list);
    g->to = g->source_list = NULL;
    g->to_capacity = g->source_capacity = 0;
}

static void free_flows(heist_graph *g)
{
    while (g->flows) {
        heist_flow *f = g->flows;
        g->flows = f->next;
        hi_flow_free(f);
    }
}

static void free_extra(heist_graph *g, const hi_extra *e)
{
    hi_free(&g->allocator, e->limits, e->limit_count * sizeof *e->limits);
}

void heist_graph_destroy(heist_graph *g)
{
    if (!g) return;
    hi_graph_after_fork(g);
    hi_check(g->running == 0, "destroying a graph that has an open flow");
    const heist_allocator a = g->allocator;
    free_flows(g);
    for (uint32_t i = 1; i < g->extra_count; i++)
        free_extra(g, &g->extras[i]);
    while (g->chunks) {
        hi_chunk *c = g->chunks;
        g->chunks = c->next;
        hi_free(&a, c, sizeof *c + c->bytes);
    }
    hi_free(&a, g->nodes, g->capacity * sizeof *g->nodes);
    free_sorted(g);
    hi_free(&a, g->edges, g->edge_capacity * sizeof *g->edges);
    hi_free(&a, g->names, g->name_capacity);
    hi_free(&a, g->extras, g->extra_capacity * sizeof *g->extras);
    hi_free(&a, g, sizeof *g);
}

void *heist_graph_alloc(heist_graph *g, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + HI_OUTPUT_ALIGN - 1) & ~(size_t)(HI_OUTPUT_ALIGN - 1);
    if (bytes == 0) bytes = HI_OUTPUT_ALIGN;
    hi_chunk *c = g->chunks;
    if (!c || c->bytes - c->used < bytes) {
        size_t room = bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes;
        c = hi_alloc(&g->allocator, sizeof *c + room, HI_OUTPUT_ALIGN);
        if (!c) return NULL;
        c->bytes = room;
        c->next = g->chunks;
        g->chunks = c;
    }
    void *p = c->memory + c->used;
    c->used += bytes;
    return p;
}

/* --- the last step of sealing --------------------------------------------- */

/* A fork() may come between any two lines: pointers change before what they
 * pointed to is freed. */

/* Gives back what was reserved for more nodes than there are. */
static void trim_nodes(heist_graph *g)
{
    uint32_t needed = g->count + 1;
    if (g->capacity - needed <= needed / 16) return;
    hi_node *exact =
        hi_alloc_raw(&g->allocator, needed * sizeof *exact, HEIST_LINE);
    if (!exact) return;
    hi_node *were = g->nodes;
    size_t bytes = g->capacity * sizeof *exact;
    memcpy(exact, were, needed * sizeof *exact);
    g->nodes = exact;
    g->capacity = needed;
    hi_free(&g->allocator, were, bytes);
}

static void free_list(heist_graph *g)
{
    hi_edge *were = g->edges;
    size_t bytes = g->edge_capacity * sizeof *were;
    g->edges = NULL;
    g->edge_capacity = 0;
    hi_free(&g->allocator, were, bytes);
}

static void sealed(heist_graph *g)
{
    if (heist_load_relaxed(&g->sealed)) return; /* relaxed: under-lock */
    free_list(g);
    trim_nodes(g);
    heist_store_release(&g->sealed, 1); /* N1: all of it. */
}

/* In a child whose parent's other thread was in the middle of that, there is no
 * list any more, and only the word is missing.  Before that nothing is lost: it
 * is sealed once more. */
static void finish_after_fork(heist_graph *g)
{
    /* relaxed: own-field (or under-lock: of who builds or seals) */
    if (heist_load_relaxed(&g->sealed)) return;
    if (g->edge_count && !g->edges) sealed(g);
}

/* --- changing ------------------------------------------------------------- */

/* Keeps the first error of building. */
static int failed(heist_graph *g, int rc, const char *call)
{
    if (g->error == 0) g->refused = call;
    if (g->error == 0) g->error = rc;
    return rc;
}

/* The edges as a list again.  -EBUSY: it runs; -ENOMEM. */
static int unseal(heist_graph *g)
{
    finish_after_fork(g);
    /* relaxed: own-field (what runs is sealed) */
    if (!heist_load_relaxed(&g->sealed)) return 0;
    hi_graph_after_fork(g);
    hi_lock_take(&g->lock);
    bool busy = g->running != 0;
    hi_lock_give(&g->lock);
    if (busy) return -EBUSY;
    hi_edge *edges = NULL;
    uint32_t capacity = 0;
    if (g->edge_count &&
        !reserve(g, &edges, &capacity, 0, g->edge_count, sizeof *edges))
        return -ENOMEM;
    for (uint32_t i = 0, e = 0; i < g->count; i++)
        for (; e < g->nodes[i + 1].out; e++)
            edges[e] = (hi_edge){i, g->to[e]};
    free_flows(g);
    free_sorted(g);
    g->edges = edges;
    g->edge_capacity = capacity;
    heist_store_relaxed(&g->sealed, 0); /* relaxed: own-field */
    return 0;
}

/* Before any change: 0, or why there is none.  A graph that runs is no worse for
 * having refused. */
static int change(heist_graph *g, const char *call)
{
    int rc = unseal(g);
    return rc == -ENOMEM ? failed(g, rc, call) : rc;
}

static bool is_node(const heist_graph *g, heist_node n)
{
    if (n.id >= g->count) return false;
    /* Most graphs have none, and looking at a node far away takes long. */
    return !g->erased || g->nodes[n.id].kind != HI_NODE_ERASED;
}

static int change_node(heist_graph *g, heist_node n, const char *call)
{
    int rc = change(g, call);
    if (rc < 0) return rc;
    return is_node(g, n) ? 0 : failed(g, -EINVAL, call);
}

/* Copies a name; *place is where, or 0 without one.  False: no memory. */
static bool keep_name(heist_graph *g, const char *name, uint32_t *place)
{
    *place = 0;
    if (!name || !*name) return true;
    size_t bytes = strlen(name) + 1;
    if (bytes > UINT32_MAX / 2) return false;
    if (!reserve(g, &g->names, &g->name_capacity, g->name_bytes,
                 (uint32_t)bytes, 1))
        return false;
    *place = g->name_bytes;
    memcpy(g->names + *place, name, bytes);
    g->name_bytes += (uint32_t)bytes;
    return true;
}

/* The extra of a node, made if it has none; NULL: no memory. */
static hi_extra *extra_of(heist_graph *g, hi_node *n)
{
    if (n->extra) return &g->extras[n->extra];
    if (!reserve(g, &g->extras, &g->extra_capacity, g->extra_count, 1,
                 sizeof *g->extras))
        return NULL;
    n->extra = g->extra_count++;
    g->extras[n->extra] = (hi_extra){0};
    return &g->extras[n->extra];
}

static heist_node add(heist_graph *g, const char *name, hi_node node,
                      const char *call)
{
    const heist_node none = {HEIST_NO_NODE};
    if (change(g, call) < 0) return none;
    /* One more than there are: the one that ends the list. */
    if (!reserve(g, &g->nodes, &g->capacity, g->count, 2, sizeof *g->nodes) ||
        !keep_name(g, name, &node.name)) {
        failed(g, -ENOMEM, call);
        return none;
    }
    g->nodes[g->count] = node;
    return (heist_node){g->count++};
}

heist_node heist_graph_add(heist_graph *g, const char *name, heist_node_fn *fn,
                           void *arg)
{
    return add(g, name, (hi_node){.fn = fn, .arg = arg}, __func__);
}

heist_node heist_graph_add_condition(heist_graph *g, const char *name,
                                     heist_node_fn *fn, void *arg)
{
    hi_node n = {.fn = fn, .arg = arg, .kind = HI_NODE_CONDITION};
    return add(g, name, n, __func__);
}

heist_node heist_graph_add_choice(heist_graph *g, const char *name,
                                  heist_node_fn *fn, void *arg)
{
    hi_node n = {.fn = fn, .arg = arg, .kind = HI_NODE_CHOICE};
    return add(g, name, n, __func__);
}

heist_node heist_graph_add_module(heist_graph *g, const char *name,
                                  heist_graph *module, void *context)
{
    heist_node n = {HEIST_NO_NODE};
    if (module)
        n = add(g, name, (hi_node){.arg = context}, __func__);
    else
        failed(g, -EINVAL, __func__);
    if (n.id == HEIST_NO_NODE) return n;
    hi_extra *e = extra_of(g, &g->nodes[n.id]);
    if (!e) {
        g->count--;
        failed(g, -ENOMEM, __func__);
        return (heist_node){HEIST_NO_NODE};
    }
    e->module = module;
    g->nodes[n.id].kind = HI_NODE_MODULE;
    return n;
}

int heist_graph_set(heist_graph *g, heist_node node, heist_node_fn *fn,
                    void *arg)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    hi_node *n = &g->nodes[node.id];
    if (n->kind == HI_NODE_MODULE) return failed(g, -EINVAL, __func__);
    n->fn = fn;
    n->arg = arg;
    return 0;
}

/* The call alone would not help: there are many of its kind. */
static int failed_edge(heist_graph *g, hi_edge edge, const char *flaw,
                       const char *call)
{
    if (g->error == 0) g->flawed = edge, g->flaw = flaw;
    return failed(g, -EINVAL, call);
}

int heist_graph_edge(heist_graph *g, heist_node before, heist_node after)
{
    int rc = change(g, __func__);
    if (rc < 0) return rc;
    hi_edge edge = {before.id, after.id};
    if (!is_node(g, before) || !is_node(g, after))
        return failed_edge(g, edge, "no such node", __func__);
    if (before.id == after.id && !hi_node_is_weak(&g->nodes[before.id]))
        return failed_edge(g, edge, "to itself", __func__);
    if (!reserve(g, &g->edges, &g->edge_capacity, g->edge_count, 1,
                 sizeof *g->edges))
        return failed(g, -ENOMEM, __func__);
    g->edges[g->edge_count++] = edge;
    return 0;
}

int heist_graph_precede(heist_graph *g, heist_node node,
                        const heist_node *after, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = heist_graph_edge(g, node, after[i]);
    return rc;
}

int heist_graph_succeed(heist_graph *g, heist_node node,
                        const heist_node *before, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = heist_graph_edge(g, before[i], node);
    return rc;
}

int heist_graph_linearize(heist_graph *g, const heist_node *nodes, size_t n)
{
    int rc = 0;
    for (size_t i = 1; i < n && rc == 0; i++)
        rc = heist_graph_edge(g, nodes[i - 1], nodes[i]);
    return rc;
}

/* The edges of erased nodes go when the graph is sealed: erasing many nodes is
 * not to look at all edges each time. */
int heist_graph_erase(heist_graph *g, heist_node node)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    hi_node *n = &g->nodes[node.id];
    uint32_t extra = n->extra;
    if (extra) {
        free_extra(g, &g->extras[extra]);
        g->extras[extra] = (hi_extra){0};
    }
    *n = (hi_node){.kind = HI_NODE_ERASED};
    g->erased++;
    return 0;
}

int heist_graph_output(heist_graph *g, heist_node node, size_t bytes)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    if (bytes > (size_t)PTRDIFF_MAX) return failed(g, -ENOMEM, __func__);
    hi_extra *e = extra_of(g, &g->nodes[node.id]);
    if (!e) return failed(g, -ENOMEM, __func__);
    e->output_bytes = bytes;
    return 0;
}

int heist_graph_priority(heist_graph *g, heist_node node,
                         heist_priority priority)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    if ((unsigned)priority >= HI_LEVELS) return failed(g, -EINVAL, __func__);
    g->nodes[node.id].priority = (uint8_t)priority;
    return 0;
}

int heist_graph_retry(heist_graph *g, heist_node node, const heist_retry *retry)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    if (!retry || retry->delay < 0 || retry->longest < 0)
        return failed(g, -EINVAL, __func__);
    hi_extra *e = extra_of(g, &g->nodes[node.id]);
    if (!e) return failed(g, -ENOMEM, __func__);
    e->retry = *retry;
    return 0;
}

int heist_graph_limit(heist_graph *g, heist_node node, heist_limit *limit)
{
    int rc = change_node(g, node, __func__);
    if (rc < 0) return rc;
    if (!limit) return failed(g, -EINVAL, __func__);
    hi_extra *e = extra_of(g, &g->nodes[node.id]);
    if (!e) return failed(g, -ENOMEM, __func__);
    uint32_t n = e->limit_count, at = 0;
    while (at < n && (uintptr_t)e->limits[at] < (uintptr_t)limit)
        at++;
    if (at < n && e->limits[at] == limit) return -EEXIST;
    heist_limit **new =
        hi_alloc(&g->allocator, (n + 1) * sizeof *new, sizeof *new);
    if (!new) return failed(g, -ENOMEM, __func__);
    for (uint32_t i = 0; i <= n; i++)
        new[i] = i < at ? e->limits[i] : i == at ? limit : e->limits[i - 1];
    free_extra(g, e);
    e->limits = new;
    e->limit_count = n + 1;
    return 0;
}

size_t heist_graph_size(const heist_graph *g)
{
    return g->count - g->erased;
}

const char *heist_graph_name(const heist_graph *g, heist_node node)
{
    if (node.id >= g->count || !g->nodes[node.id].name) return "";
    return g->names + g->nodes[node.id].name;
}

/* --- sealing -------------------------------------------------------------- */

/* Leaves out the edges of nodes that were erased. */
static void drop_edges(heist_graph *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->edge_count; i++) {
        hi_edge e = g->edges[i];
        if (g->nodes[e.from].kind == HI_NODE_ERASED) continue;
        if (g->nodes[e.to].kind == HI_NODE_ERASED) continue;
        g->edges[kept++] = e;
    }
    g->edge_count = kept;
}

/* Sorts the edges by the node they leave, in the order they were made. */
static int sort_edges(heist_graph *g)
{
    hi_node end = {0};
    if (!g->nodes &&
        !reserve(g, &g->nodes, &g->capacity, 0, 1, sizeof *g->nodes))
        return -ENOMEM;
    if (g->erased) drop_edges(g);
    uint32_t n = g->edge_count ? g->edge_count : 1;
    g->to = hi_alloc_raw(&g->allocator, n * sizeof *g->to, HEIST_LINE);
    if (!g->to) return -ENOMEM;
    g->to_capacity = n;
    g->nodes[g->count] = end;
    for (uint32_t i = 0; i < g->count; i++)
        g->nodes[i].out = 0;
    for (uint32_t e = 0; e < g->edge_count; e++)
        g->nodes[g->edges[e].from].out++;
    uint32_t at = 0;
    for (uint32_t i = 0; i <= g->count; i++) {
        at += g->nodes[i].out;
        g->nodes[i].out = at; /* where its edges end */
    }
    for (uint32_t e = g->edge_count; e-- > 0;)
        g->to[--g->nodes[g->edges[e].from].out] = g->edges[e].to;
    return 0;
}

/* Where in a flow something of that many bytes is; 0 if it is nothing. */
static uint32_t place_output(heist_graph *g, size_t bytes)
{
    size_t units = (bytes + HI_OUTPUT_ALIGN - 1) / HI_OUTPUT_ALIGN;
    uint32_t at = (uint32_t)g->output_units + 1;
    g->output_units += units;
    return units ? at : 0;
}

/* What a flow needs besides a place for each node, and what kind of graph it
 * is.  -ENOMEM: the outputs are too large. */
static int lay_out(heist_graph *g)
{
    g->output_units = 0;
    g->prioritized = g->limited = g->modules = false;
    for (uint32_t i = 0; i < g->count; i++) {
        hi_node *n = &g->nodes[i];
        hi_extra *e = n->extra ? &g->extras[n->extra] : NULL;
        n->output = 0;
        n->special = n->kind != HI_NODE_PLAIN || !n->fn || g->weak;
        g->modules |= n->kind == HI_NODE_MODULE;
        if (n->priority != HEIST_NORMAL) n->special = g->prioritized = true;
        if (!e) continue;
        n->special |= e->limit_count || e->retry.attempts > 1;
        g->limited |= e->limit_count != 0;
        n->output = place_output(g, e->output_bytes);
        e->wait = place_output(g, e->limit_count ? sizeof(hi_wait) : 0);
        if (g->output_units >= UINT32_MAX / 2) return -ENOMEM;
    }
    return 0;
}

static int list_sources(heist_graph *g)
{
    uint32_t n = g->sources ? g->sources : 1, at = 0;
    g->source_list =
        hi_alloc_raw(&g->allocator, n * sizeof *g->source_list, HEIST_LINE);
    if (!g->source_list) return -ENOMEM;
    g->source_capacity = n;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->nodes[i].source) g->source_list[at++] = i;
    return 0;
}

bool hi_forked_begin(hi_number *generation)
{
    uint32_t now = hi_generation();
    /* N2: it is put right. */
    if (HEIST_LIKELY(heist_load_acquire(generation) == now)) return false;
    hi_lock_take(&sealing);
    /* relaxed: under-lock */
    if (heist_load_relaxed(generation) != now) return true;
    hi_lock_give(&sealing);
    return false;
}

void hi_forked_end(hi_number *generation)
{
    /* N2: it is put right. */
    heist_store_release(generation, hi_generation());
    hi_lock_give(&sealing);
}

void hi_graph_after_fork(heist_graph *g)
{
    if (!hi_forked_begin(&g->generation)) return;
    g->lock = (hi_lock){0};
    g->running = 0;
    g->flows = NULL; /* perhaps in somebody's hands: left alone */
    hi_forked_end(&g->generation);
}

static void say(char *why, size_t bytes, const char *text)
{
    if (why && bytes) snprintf(why, bytes, "%s", text);
}

static int refuse(const heist_graph *g, char *why, size_t bytes)
{
    const char *reason = g->error == -ENOMEM ? "no memory" : "wrong argument";
    hi_why line = {.graph = g, .text = why, .bytes = bytes};
    if (g->flaw)
        hi_why_edge(&line, g->flawed.from, g->flawed.to);
    else
        hi_why_say(&line, g->refused);
    hi_why_say(&line, ": ");
    hi_why_say(&line, g->flaw ? g->flaw : reason);
    return g->error;
}

/* Makes one graph ready, but for its modules. */
static int seal_one(heist_graph *g, char *why, size_t bytes)
{
    if (g->error) return refuse(g, why, bytes);
    int rc = sort_edges(g);
    if (rc == 0) rc = hi_graph_examine(g, why, bytes);
    if (rc == 0) rc = list_sources(g);
    if (rc == 0) rc = lay_out(g);
    if (rc < 0) free_sorted(g);
    return rc;
}

/* The next graph that is a module of g, from where the walk stands; or NULL. */
static heist_graph *next_module(heist_graph *g)
{
    while (g->walk_at < g->count && g->modules) {
        const hi_node *n = &g->nodes[g->walk_at++];
        if (n->kind == HI_NODE_MODULE) return hi_graph_extra(g, n)->module;
    }
    return NULL;
}

/* What a graph is, because a module of it is. */
static void inherit(heist_graph *g, const heist_graph *module)
{
    if (heist_load_relaxed(&g->sealed)) return; /* relaxed: under-lock */
    g->prioritized |= module->prioritized;
    g->limited |= module->limited;
}

/* Goes down into g.  The graphs from there up to the first are `visiting`. */
static int walk_into(heist_graph *g, heist_graph *up, uint64_t walk, char *why,
                     size_t bytes)
{
    finish_after_fork(g);
    /* relaxed: under-lock */
    bool done = heist_load_relaxed(&g->sealed);
    int rc = 0;
    if (!done) rc = seal_one(g, why, bytes);
    if (done && g->error) rc = refuse(g, why, bytes);
    if (rc < 0) return rc;
    g->walk = walk;
    g->walk_up = up;
    g->walk_at = 0;
    g->visiting = true;
    return 0;
}

/* g and all that are modules of it, those of modules too; one that leads back to
 * itself is found.  Under `sealing`. */
static int walk_modules(heist_graph *g, char *why, size_t bytes)
{
    static uint64_t walks;
    uint64_t walk = ++walks;
    int rc = walk_into(g, NULL, walk, why, bytes);
    if (rc < 0) return rc;
    while (g) {
        heist_graph *m = rc == 0 ? next_module(g) : NULL;
        if (m && m->walk != walk) {
            rc = walk_into(m, g, walk, why, bytes);
            if (rc == 0) g = m;
        } else if (m && m->visiting) {
            say(why, bytes, "a graph is a module of itself");
            rc = -EDEADLK;
        } else if (m) {
            inherit(g, m);
        } else {
            heist_graph *up = g->walk_up;
            g->visiting = false;
            if (rc == 0) sealed(g);
            /* relaxed: under-lock */
            if (!heist_load_relaxed(&g->sealed)) free_sorted(g);
            if (up) inherit(up, g);
            g = up;
        }
    }
    return rc;
}

static int seal(heist_graph *g, char *why, size_t bytes)
{
    hi_lock_take(&sealing);
    int rc = walk_modules(g, why, bytes);
    hi_lock_give(&sealing);
    return rc;
}

int hi_graph_seal(heist_graph *g, char *why, size_t bytes)
{
    /* An error after it was sealed: a change for which there was no memory. */
    if (heist_load_acquire(&g->sealed)) return g->error; /* N1: all of it. */
    return seal(g, why, bytes);
}

/* Looks at the modules again even when g itself has not changed. */
int heist_graph_check(heist_graph *g, char *why, size_t bytes)
{
    say(why, bytes, "");
    return seal(g, why, bytes);
}
