/* SPDX-License-Identifier: MIT */
/*
 * The work itself, compiled once for all peers: the leaf of a region, the
 * iteration of a loop, the node of an UTS tree with SHA-1.
 */
#include "graph.h"

#include <math.h>

enum {
    LEAF_MIXES = 212,     /* 0.72 us */
    NODE_MIXES = 250,     /* 0.85 us */
    ITERATION_MIXES = 64, /* 0.2 us, on average */
    SHA1_MAX_CHILDREN = 100
};

static uint64_t chain(uint64_t z, uint64_t mixes)
{
    while (mixes--)
        z = bench_mix(z + 1);
    return z;
}

uint64_t bench_leaf(uint64_t i)
{
    return chain(i, LEAF_MIXES);
}

uint64_t bench_850ns(uint64_t i)
{
    return chain(i, NODE_MIXES);
}

uint64_t bench_iteration(uint64_t i, uint64_t n, bool skewed)
{
    /* The integral of 3x^2 over [0,1] is 1, so both loops do the same work;
     * the last eighth of the skewed one does a third of it. */
    double x = (double)i / (double)n;
    double share = skewed ? 3 * x * x : 1;
    return chain(i, (uint64_t)(share * ITERATION_MIXES));
}

/* --- SHA-1 of less than one block ----------------------------------------- */

static inline uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

struct sha1_regs {
    uint32_t a, b, c, d, e;
};

static inline void round1(struct sha1_regs *r, uint32_t f, uint32_t k,
                          uint32_t w)
{
    uint32_t t = rotate(r->a, 5) + f + r->e + k + w;
    r->e = r->d;
    r->d = r->c;
    r->c = rotate(r->b, 30);
    r->b = r->a;
    r->a = t;
}

static inline uint32_t schedule(uint32_t *w, int i)
{
    uint32_t x = w[(i + 13) & 15] ^ w[(i + 8) & 15] ^ w[(i + 2) & 15];
    return w[i & 15] = rotate(x ^ w[i & 15], 1);
}

/* w is a whole padded message, and is used up. */
static void sha1_block(uint32_t out[5], uint32_t w[16])
{
    struct sha1_regs r = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                          0xc3d2e1f0};
    const struct sha1_regs h = r;
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        round1(&r, (r.b & r.c) | (~r.b & r.d), 0x5a827999, w[i]);
#pragma GCC unroll 4
    for (int i = 16; i < 20; i++)
        round1(&r, (r.b & r.c) | (~r.b & r.d), 0x5a827999, schedule(w, i));
#pragma GCC unroll 20
    for (int i = 20; i < 40; i++)
        round1(&r, r.b ^ r.c ^ r.d, 0x6ed9eba1, schedule(w, i));
#pragma GCC unroll 20
    for (int i = 40; i < 60; i++)
        round1(&r, (r.b & r.c) | (r.d & (r.b | r.c)), 0x8f1bbcdc,
               schedule(w, i));
#pragma GCC unroll 20
    for (int i = 60; i < 80; i++)
        round1(&r, r.b ^ r.c ^ r.d, 0xca62c1d6, schedule(w, i));
    out[0] = h.a + r.a;
    out[1] = h.b + r.b;
    out[2] = h.c + r.c;
    out[3] = h.d + r.d;
    out[4] = h.e + r.e;
}

/* --- UTS as its authors define it: words are big-endian ------------------- */

struct sha1_node sha1_root(const struct sha1_tree *tree)
{
    struct sha1_node root = {{0}, 0};
    uint32_t w[16] = {[4] = tree->seed, [5] = 0x80000000, [15] = 20 * 8};
    sha1_block(root.word, w);
    return root;
}

struct sha1_node sha1_child(const struct sha1_node *parent, uint32_t i)
{
    struct sha1_node child;
    const uint32_t *s = parent->word;
    uint32_t w[16] = {s[0], s[1], s[2],       s[3],
                      s[4], i,    0x80000000, [15] = 24 * 8};
    sha1_block(child.word, w);
    child.depth = parent->depth + 1;
    return child;
}

int sha1_children(const struct sha1_tree *tree, const struct sha1_node *node)
{
    double x = (double)(node->word[4] & 0x7fffffff) / 2147483648.0;
    if (!tree->max_depth) {
        if (!node->depth) return (int)tree->root_children;
        return x < tree->chance ? tree->children : 0;
    }
    if (node->depth >= tree->max_depth) return 0;
    double p = 1 / (1 + tree->root_children);
    int n = (int)floor(log(1 - x) / log(1 - p));
    return n < SHA1_MAX_CHILDREN ? n : SHA1_MAX_CHILDREN;
}
