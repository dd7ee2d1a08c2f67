/* SPDX-License-Identifier: MIT */
/*
 * The body of uts.c and uts_fine.c, which differ in UTS_MIXES only; it must be
 * a constant for the compiler, so this is text to include, not functions.
 *
 * A node's task makes the node's own state from its parent's: all the work is
 * in the tasks, nothing in the loop that forks them.  The tree is as bad as
 * trees get: most children are leaves, and one path holds most of the nodes.
 */
#include "ours.h"

/* The work of a node, the same code for both sides: inlined, the compilers
 * schedule the mixing differently around calls than around forks. */
static UTS_INLINE uint64_t child(uint64_t parent, uint64_t i)
{
    return uts_child(parent, i, UTS_MIXES);
}

static uint64_t visit(uint64_t parent, uint64_t i)
{
    uint64_t state = child(parent, i), nodes = 1;
    if (uts_is_leaf(state)) return 1;
    for (uint64_t k = 0; k < UTS_CHILDREN; k++)
        nodes += visit(state, k);
    return nodes;
}

static uint64_t serial_nodes(uint64_t seed)
{
    uint64_t nodes = 1;
    for (uint64_t k = 0; k < UTS_ROOT_CHILDREN; k++)
        nodes += visit(seed, k);
    return nodes;
}

static inline uint64_t par_visit(heist_ctx c, uint64_t parent, uint64_t i);

static void visit_right(heist_ctx c, heist_frame *f)
{
    f->result.u = par_visit(c, f->arg[0].u, f->arg[1].u);
}

static inline uint64_t par_children(heist_ctx c, uint64_t state, uint64_t n)
{
    heist_ctx k = c;
    for (uint64_t i = 0; i + 1 < n; i++) {
        heist_frame *f = heist_slot(k);
        f->arg[0].u = state;
        f->arg[1].u = i;
        k = heist_fork(k, visit_right);
    }
    uint64_t nodes = par_visit(k, state, n - 1);
    for (uint64_t i = n - 1; i-- > 0;) {
        k.frame--;
        if (heist_join(k))
            nodes += par_visit(k, state, i);
        else
            nodes += heist_slot(k)->result.u;
    }
    return nodes;
}

static inline uint64_t par_visit(heist_ctx c, uint64_t parent, uint64_t i)
{
    uint64_t state = child(parent, i);
    if (uts_is_leaf(state)) return 1;
    return 1 + par_children(c, state, UTS_CHILDREN);
}

static void root(heist_ctx c, void *arg)
{
    uint64_t *inout = arg;
    *inout = 1 + par_children(c, *inout, UTS_ROOT_CHILDREN);
}

static uint64_t parallel_nodes(uint64_t seed)
{
    ours_run(root, &seed);
    return seed;
}
