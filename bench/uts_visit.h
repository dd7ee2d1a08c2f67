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

static inline uint64_t par_children(heist_ctx c, uint64_t state, uint64_t i,
                                    uint64_t n);

static void rest_of_children(heist_ctx c, heist_frame *f)
{
    f->result.u = par_children(c, f->arg[0].u, f->arg[1].u, f->arg[2].u);
}

static inline uint64_t par_visit(heist_ctx c, uint64_t parent, uint64_t i)
{
    uint64_t state = child(parent, i);
    if (uts_is_leaf(state)) return 1;
    return 1 + par_children(c, state, 0, UTS_CHILDREN);
}

/* What is forked is the rest: one slot for all children, of which only the index
 * changes from fork to fork. */
static inline uint64_t par_children(heist_ctx c, uint64_t state, uint64_t i,
                                    uint64_t n)
{
    uint64_t nodes = 0;
    heist_frame *rest = heist_slot(c);
    rest->arg[0].u = state;
    rest->arg[2].u = n;
    for (; i + 1 < n; i++) {
        rest->arg[1].u = i + 1;
        nodes += par_visit(heist_fork(c, rest_of_children), state, i);
        if (!heist_join(c)) return nodes + rest->result.u;
    }
    return nodes + par_visit(c, state, i);
}

static void root(heist_ctx c, void *arg)
{
    uint64_t *inout = arg;
    *inout = 1 + par_children(c, *inout, 0, UTS_ROOT_CHILDREN);
}

static uint64_t parallel_nodes(uint64_t seed)
{
    ours_run(root, &seed);
    return seed;
}
