/* SPDX-License-Identifier: MIT
 *
 * The sum over a lopsided binary tree.  Nobody knows how big a subtree is, and
 * nobody needs to: a fork that is not taken costs about a nanosecond, so there
 * is no cut-off to tune.
 */
#include <errno.h>
#include <heist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *left, *right;
    long value;
};

static inline long tree_sum(heist_ctx c, const struct node *t);

static void right_subtree(heist_ctx c, heist_frame *f)
{
    f->result.i = tree_sum(c, f->arg[0].cp);
}

static inline long tree_sum(heist_ctx c, const struct node *t)
{
    if (!t) return 0;
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = t->right;
    long sum = t->value + tree_sum(heist_fork(c, right_subtree), t->left);
    if (heist_join(c)) return sum + tree_sum(c, t->right);
    return sum + right->result.i;
}

struct job {
    const struct node *tree;
    long sum;
};

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->sum = tree_sum(c, job->tree);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A tree of n nodes in preorder, split at random. */
static struct node *build(struct node *node, size_t n, uint64_t *seed)
{
    if (n == 0) return NULL;
    size_t left = (size_t)next_random(seed) % n;
    node->value = (long)(next_random(seed) % 1000);
    node->left = build(node + 1, left, seed);
    node->right = build(node + 1 + left, n - 1 - left, seed);
    return node;
}

int main(void)
{
    size_t n = 1000000;
    struct node *nodes = calloc(n, sizeof *nodes);
    if (!nodes) return fprintf(stderr, "%s\n", strerror(ENOMEM)), 1;
    uint64_t seed = 1;
    struct job job = {.tree = build(nodes, n, &seed)};
    int rc = heist_run(NULL, root, &job);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    long wanted = 0;
    for (size_t i = 0; i < n; i++)
        wanted += nodes[i].value;
    printf("sum of %zu nodes = %ld, wanted %ld\n", n, job.sum, wanted);
    free(nodes);
    return job.sum != wanted;
}
