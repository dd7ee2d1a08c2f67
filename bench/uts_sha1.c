/* SPDX-License-Identifier: MIT */
/*
 * Unbalanced Tree Search with SHA-1, the published trees: T1L is geometric and
 * 13 deep, T3L binomial and 17,844 deep.  Their sizes are known, so a lost or
 * doubled task shows.
 */
#include "ours.h"

struct job {
    const struct sha1_tree *tree;
    uint64_t nodes;
};

static uint64_t visit(const struct sha1_tree *tree,
                      const struct sha1_node *node)
{
    uint64_t nodes = 1;
    int n = sha1_children(tree, node);
    for (int i = 0; i < n; i++) {
        struct sha1_node child = sha1_child(node, (uint32_t)i);
        nodes += visit(tree, &child);
    }
    return nodes;
}

uint64_t serial_uts_sha1(const struct sha1_tree *tree)
{
    struct sha1_node root = sha1_root(tree);
    return visit(tree, &root);
}

static inline uint64_t par_visit(heist_ctx c, const struct sha1_tree *tree,
                                 const struct sha1_node *node);

static inline uint64_t par_child(heist_ctx c, const struct sha1_tree *tree,
                                 const struct sha1_node *parent, uint32_t i)
{
    struct sha1_node child = sha1_child(parent, i);
    return par_visit(c, tree, &child);
}

/* The parent's node is on its stack until it has joined us. */
static void child_right(heist_ctx c, heist_frame *f)
{
    f->result.u =
        par_child(c, f->arg[0].cp, f->arg[1].cp, (uint32_t)f->arg[2].u);
}

static inline uint64_t par_visit(heist_ctx c, const struct sha1_tree *tree,
                                 const struct sha1_node *node)
{
    int n = sha1_children(tree, node);
    if (!n) return 1;
    heist_ctx k = c;
    for (int i = 0; i < n - 1; i++) {
        heist_frame *f = heist_slot(k);
        f->arg[0].cp = tree;
        f->arg[1].cp = node;
        f->arg[2].u = (uint64_t)i;
        k = heist_fork(k, child_right);
    }
    uint64_t nodes = 1 + par_child(k, tree, node, (uint32_t)n - 1);
    for (int i = n - 2; i >= 0; i--) {
        k.frame--;
        if (heist_join(k))
            nodes += par_child(k, tree, node, (uint32_t)i);
        else
            nodes += heist_slot(k)->result.u;
    }
    return nodes;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    struct sha1_node node = sha1_root(job->tree);
    job->nodes = par_visit(c, job->tree, &node);
}

uint64_t ours_uts_sha1(const struct sha1_tree *tree)
{
    struct job job = {tree, 0};
    ours_run(root, &job);
    return job.nodes;
}
