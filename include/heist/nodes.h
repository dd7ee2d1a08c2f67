/* SPDX-License-Identifier: MIT */
#ifndef HEIST_NODES_H
#define HEIST_NODES_H

#include <heist/algo.h>
#include <heist/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Algorithms placed into a graph: a node that is a call of <heist/algo.h>.
 *
 *     double zero = 0;
 *     heist_node fill = heist_graph_add_for(g, "fill", 0, n, fill_fn, x);
 *     heist_node sort = heist_graph_add_sort(g, "sort", x, n, sizeof *x,
 *                                            heist_by_f64, NULL);
 *     heist_node sum = heist_graph_add_reduce(g, "sum", NULL, &zero, x, n,
 *                                             sizeof *x, add_f64, NULL, 0);
 *     heist_graph_linearize(g, (heist_node[]){fill, sort, sum}, 3);
 *
 * The arguments are those of the algorithm.  Each has two forms: _add_ copies
 * them; _call_ is given a struct of the caller's that is read when the node
 * starts, so that nodes before it may set what is not known earlier.
 *
 * Results.  result, of a scan total, says where the result goes; NULL: to the
 * node's output, of `size` bytes, which each flow has for itself:
 *
 *     printf("%g\n", heist_in(step, sum, double));
 *
 * Each time a node runs it begins with the identity, of which `size` bytes are
 * copied; NULL: with what is there.
 *
 * From (all of them): whoever builds g.
 * Returns: as heist_graph_add.  What the algorithm returns is what the node
 * does.  A node that there was no memory for to copy its arguments fails with
 * -ENOMEM.
 * Memory: arrays and the structs of calls are the caller's, and there as long
 * as g runs; what is copied is g's.
 */

/* heist_for. */
typedef struct heist_for_call {
    size_t begin, end;
    heist_range_fn *body;
    void *arg;
} heist_for_call;

HEIST_API heist_node heist_graph_add_for(heist_graph *g, const char *name,
                                         size_t begin, size_t end,
                                         heist_range_fn *body, void *arg);
HEIST_API heist_node heist_graph_call_for(heist_graph *g, const char *name,
                                          const heist_for_call *call);

/* heist_fold. */
typedef struct heist_fold_call {
    size_t begin, end;
    void *result;
    const void *identity;
    size_t size; /* not changed after it was added, if result is NULL */
    heist_fold_fn *fold;
    heist_combine_fn *combine;
    void *arg;
    int flags;
} heist_fold_call;

HEIST_API heist_node heist_graph_add_fold(heist_graph *g, const char *name,
                                          size_t begin, size_t end,
                                          void *result, const void *identity,
                                          size_t size, heist_fold_fn *fold,
                                          heist_combine_fn *combine, void *arg,
                                          int flags);
HEIST_API heist_node heist_graph_call_fold(heist_graph *g, const char *name,
                                           const heist_fold_call *call);

/* heist_reduce. */
typedef struct heist_reduce_call {
    void *result;
    const void *identity;
    const void *base;
    size_t n, size; /* size: as of heist_fold_call */
    heist_combine_fn *combine;
    void *arg;
    int flags;
} heist_reduce_call;

HEIST_API heist_node heist_graph_add_reduce(heist_graph *g, const char *name,
                                            void *result, const void *identity,
                                            const void *base, size_t n,
                                            size_t size,
                                            heist_combine_fn *combine,
                                            void *arg, int flags);
HEIST_API heist_node heist_graph_call_reduce(heist_graph *g, const char *name,
                                             const heist_reduce_call *call);

/* heist_sort. */
typedef struct heist_sort_call {
    void *base;
    size_t n, size;
    heist_compare_fn *compare;
    void *arg;
} heist_sort_call;

HEIST_API heist_node heist_graph_add_sort(heist_graph *g, const char *name,
                                          void *base, size_t n, size_t size,
                                          heist_compare_fn *compare, void *arg);
HEIST_API heist_node heist_graph_call_sort(heist_graph *g, const char *name,
                                           const heist_sort_call *call);

/* heist_scan. */
typedef struct heist_scan_call {
    void *out;
    const void *in;
    size_t n, size; /* size: as of heist_fold_call */
    heist_combine_fn *combine;
    void *total;
    const void *identity;
    void *arg;
    heist_scan_kind kind;
} heist_scan_call;

HEIST_API heist_node heist_graph_add_scan(heist_graph *g, const char *name,
                                          void *out, const void *in, size_t n,
                                          size_t size,
                                          heist_combine_fn *combine,
                                          void *total, const void *identity,
                                          void *arg, heist_scan_kind kind);
HEIST_API heist_node heist_graph_call_scan(heist_graph *g, const char *name,
                                           const heist_scan_call *call);

#ifdef __cplusplus
}
#endif

#endif
