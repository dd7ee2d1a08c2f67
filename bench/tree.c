/* SPDX-License-Identifier: MIT */
/*
 * The sum over a balanced binary tree that lies in memory in preorder: one
 * nanosecond of work per node.  With 2^23 nodes it shows what a fork costs
 * where there is memory to read, with 1,000 what a tiny region costs.
 */
#include "ours.h"

static int64_t sum(const struct bench_node *t)
{
    if (!t->right) return t->value + (t->left ? sum(t->left) : 0);
    return t->value + sum(t->left) + sum(t->right);
}

uint64_t serial_tree(const struct bench_node *t)
{
    return (uint64_t)sum(t);
}

static inline int64_t par_sum(heist_ctx c, const struct bench_node *t);

static void sum_right(heist_ctx c, heist_frame *f)
{
    f->result.i = par_sum(c, f->arg[0].cp);
}

static inline int64_t par_sum(heist_ctx c, const struct bench_node *t)
{
    if (!t->right) return t->value + (t->left ? par_sum(c, t->left) : 0);
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = t->right;
    int64_t left = par_sum(heist_fork(c, sum_right), t->left);
    if (heist_join(c)) return t->value + left + par_sum(c, t->right);
    return t->value + left + right->result.i;
}

struct job {
    const struct bench_node *tree;
    int64_t sum;
};

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->sum = par_sum(c, job->tree);
}

uint64_t ours_tree(const struct bench_node *t)
{
    struct job job = {t, 0};
    ours_run(root, &job);
    return (uint64_t)job.sum;
}
