/* SPDX-License-Identifier: MIT
 *
 * nodes.c: algorithms placed into a graph.
 *
 * A node's argument is the struct of its call, the caller's or a copy in the
 * graph's memory.  When there was none, the node says so when it runs.
 */
#include <heist/nodes.h>

#include <errno.h>
#include <string.h>

static void *copy_into(heist_graph *g, const void *from, size_t bytes)
{
    void *copy = heist_graph_alloc(g, bytes);
    if (copy) memcpy(copy, from, bytes);
    return copy;
}

/* A value to begin with, if there is one, kept by g.  False: no memory. */
static bool keep_identity(heist_graph *g, const void **identity, size_t size)
{
    if (!*identity) return true;
    *identity = copy_into(g, *identity, size);
    return *identity != NULL;
}

static int no_memory(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return -ENOMEM;
}

static heist_node add(heist_graph *g, const char *name, heist_node_fn *fn,
                      const void *call)
{
    if (!call) return heist_graph_add(g, name, no_memory, NULL);
    return heist_graph_add(g, name, fn, (void *)(uintptr_t)call);
}

/* With an output of so many bytes if the result goes nowhere else. */
static heist_node add_with(heist_graph *g, const char *name, heist_node_fn *fn,
                           const void *call, const void *result, size_t size)
{
    heist_node node = add(g, name, fn, call);
    if (call && !result) heist_graph_output(g, node, size);
    return node;
}

/* Where the result goes, with the identity in it.  NULL: nowhere. */
static void *begin_with(heist_step *step, void *result, const void *identity,
                        size_t size)
{
    if (!result) result = heist_step_output(step, size);
    if (result && identity) memcpy(result, identity, size);
    return result;
}

/* --- for ------------------------------------------------------------------ */

static int run_for(heist_ctx c, heist_step *step, void *arg)
{
    const heist_for_call *k = arg;
    (void)step;
    if (!k->body) return -EINVAL;
    heist_for(c, k->begin, k->end, k->body, k->arg);
    return 0;
}

heist_node heist_graph_call_for(heist_graph *g, const char *name,
                                const heist_for_call *call)
{
    return add(g, name, run_for, call);
}

heist_node heist_graph_add_for(heist_graph *g, const char *name, size_t begin,
                               size_t end, heist_range_fn *body, void *arg)
{
    heist_for_call k = {begin, end, body, arg};
    return heist_graph_call_for(g, name, copy_into(g, &k, sizeof k));
}

/* --- fold ----------------------------------------------------------------- */

static int run_fold(heist_ctx c, heist_step *step, void *arg)
{
    const heist_fold_call *k = arg;
    void *result = begin_with(step, k->result, k->identity, k->size);
    if (!result || !k->fold || !k->combine) return -EINVAL;
    return heist_fold(c, k->begin, k->end, result, k->size, k->fold, k->combine,
                      k->arg, k->flags);
}

heist_node heist_graph_call_fold(heist_graph *g, const char *name,
                                 const heist_fold_call *call)
{
    return add_with(g, name, run_fold, call, call->result, call->size);
}

heist_node heist_graph_add_fold(heist_graph *g, const char *name, size_t begin,
                                size_t end, void *result, const void *identity,
                                size_t size, heist_fold_fn *fold,
                                heist_combine_fn *combine, void *arg, int flags)
{
    heist_fold_call k = {begin, end,     result, identity, size,
                         fold,  combine, arg,    flags};
    const heist_fold_call *call = NULL;
    if (keep_identity(g, &k.identity, size)) call = copy_into(g, &k, sizeof k);
    return add_with(g, name, run_fold, call, result, size);
}

/* --- reduce --------------------------------------------------------------- */

static int run_reduce(heist_ctx c, heist_step *step, void *arg)
{
    const heist_reduce_call *k = arg;
    void *result = begin_with(step, k->result, k->identity, k->size);
    if (!result || !k->combine) return -EINVAL;
    return heist_reduce(c, result, k->base, k->n, k->size, k->combine, k->arg,
                        k->flags);
}

heist_node heist_graph_call_reduce(heist_graph *g, const char *name,
                                   const heist_reduce_call *call)
{
    return add_with(g, name, run_reduce, call, call->result, call->size);
}

heist_node heist_graph_add_reduce(heist_graph *g, const char *name,
                                  void *result, const void *identity,
                                  const void *base, size_t n, size_t size,
                                  heist_combine_fn *combine, void *arg,
                                  int flags)
{
    heist_reduce_call k = {result, identity, base, n,
                           size,   combine,  arg,  flags};
    const heist_reduce_call *call = NULL;
    if (keep_identity(g, &k.identity, size)) call = copy_into(g, &k, sizeof k);
    return add_with(g, name, run_reduce, call, result, size);
}

/* --- sort ----------------------------------------------------------------- */

static int run_sort(heist_ctx c, heist_step *step, void *arg)
{
    const heist_sort_call *k = arg;
    (void)step;
    if (!k->compare) return -EINVAL;
    heist_sort(c, k->base, k->n, k->size, k->compare, k->arg);
    return 0;
}

heist_node heist_graph_call_sort(heist_graph *g, const char *name,
                                 const heist_sort_call *call)
{
    return add(g, name, run_sort, call);
}

heist_node heist_graph_add_sort(heist_graph *g, const char *name, void *base,
                                size_t n, size_t size,
                                heist_compare_fn *compare, void *arg)
{
    heist_sort_call k = {base, n, size, compare, arg};
    return heist_graph_call_sort(g, name, copy_into(g, &k, sizeof k));
}

/* --- scan ----------------------------------------------------------------- */

static int run_scan(heist_ctx c, heist_step *step, void *arg)
{
    const heist_scan_call *k = arg;
    void *total = begin_with(step, k->total, k->identity, k->size);
    if (!total || !k->combine) return -EINVAL;
    return heist_scan(c, k->out, k->in, k->n, k->size, k->combine, total,
                      k->arg, k->kind);
}

heist_node heist_graph_call_scan(heist_graph *g, const char *name,
                                 const heist_scan_call *call)
{
    return add_with(g, name, run_scan, call, call->total, call->size);
}

heist_node heist_graph_add_scan(heist_graph *g, const char *name, void *out,
                                const void *in, size_t n, size_t size,
                                heist_combine_fn *combine, void *total,
                                const void *identity, void *arg,
                                heist_scan_kind kind)
{
    heist_scan_call k = {out, in, n, size, combine, total, identity, arg, kind};
    const heist_scan_call *call = NULL;
    if (keep_identity(g, &k.identity, size)) call = copy_into(g, &k, sizeof k);
    return add_with(g, name, run_scan, call, total, size);
}
