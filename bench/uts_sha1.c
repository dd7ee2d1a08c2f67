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

static inline uint64_t par_children(heist_ctx c, const struct sha1_tree *tree,
                                    const struct sha1_node *node, int i, int n);

/* The node is on its parent's stack until that has joined us. */
static void rest_of_children(heist_ctx c, heist_frame *f)
{
    f->result.u = par_children(c, f->arg[0].cp, f->arg[1].cp, (int)f->arg[2].i,
                               (int)f->arg[3].i);
}

static inline uint64_t par_visit(heist_ctx c, const struct sha1_tree *tree,
                                 const struct sha1_node *parent, int i)
{
    struct sha1_node node = sha1_child(parent, (uint32_t)i);
    return 1 + par_children(c, tree, &node, 0, sha1_children(tree, &node));
}

static inline uint64_t par_children(heist_ctx c, const struct sha1_tree *tree,
                                    const struct sha1_node *node, int i, int n)
{
    uint64_t nodes = 0;
    heist_frame *rest = heist_slot(c);
    if (i == n) return 0;
    rest->arg[0].cp = tree;
    rest->arg[1].cp = node;
    rest->arg[3].i = n;
    for (; i + 1 < n; i++) {
        rest->arg[2].i = i + 1;
        nodes += par_visit(heist_fork(c, rest_of_children), tree, node, i);
        if (!heist_join(c)) return nodes + rest->result.u;
    }
    return nodes + par_visit(c, tree, node, i);
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    struct sha1_node node = sha1_root(job->tree);
    int n = sha1_children(job->tree, &node);
    job->nodes = 1 + par_children(c, job->tree, &node, 0, n);
}

uint64_t ours_uts_sha1(const struct sha1_tree *tree)
{
    struct job job = {tree, 0};
    ours_run(root, &job);
    return job.nodes;
}
