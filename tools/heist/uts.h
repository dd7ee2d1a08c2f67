/* SPDX-License-Identifier: MIT */
#ifndef UTS_H
#define UTS_H

#include <heist.h>

/*
 * The Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006): a tree so
 * lopsided that no division in advance balances it.  A node is a SHA-1 digest
 * and has as many children as a random number drawn from it says; the digest
 * of child i is that of the parent's digest and i.  So the same parameters
 * give the same tree everywhere, and its published size proves that no node
 * was lost or visited twice.
 */
typedef enum uts_type {
    UTS_BINOMIAL, /* -t 0 */
    UTS_GEOMETRIC /* -t 1 with the fixed shape, -a 3 */
} uts_type;

/* Options of the reference implementation, by its letters. */
typedef struct uts_tree {
    uts_type type;
    double b;   /* -b: children of the root, or of a node on average */
    unsigned d; /* -d: geometric: deepest level */
    double q;   /* -q: binomial: chance of having children at all */
    unsigned m; /* -m: binomial: how many then */
    uint32_t r; /* -r: the root's seed */
} uts_tree;

typedef struct uts_count {
    uint64_t nodes, leaves, depth;
} uts_count;

/* A published tree and its size. */
typedef struct uts_sample {
    const char *name;
    uts_tree tree;
    uts_count size;
} uts_sample;

extern const uts_sample uts_t1, uts_t3;

typedef struct uts_node {
    uint8_t digest[20];
    uint32_t depth;
} uts_node;

void uts_root(const uts_tree *t, uts_node *root);
void uts_child(const uts_node *parent, uint32_t i, uts_node *child);
uint32_t uts_children(const uts_tree *t, const uts_node *n);

/* Counts the tree below and with n, as plain C and by forks. */
uts_count uts_walk_serial(const uts_tree *t, const uts_node *n);
uts_count uts_walk(heist_ctx c, const uts_tree *t, const uts_node *n);

#endif
