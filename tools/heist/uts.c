/* SPDX-License-Identifier: MIT */
#include "uts.h"

#include <math.h>
#include <string.h>

/* Sizes as published with the benchmark. */
const uts_sample uts_t1 = {
    .name = "T1",
    .tree = {.type = UTS_GEOMETRIC, .d = 10, .b = 4, .r = 19},
    .size = {.nodes = 4130071, .leaves = 3305118, .depth = 10},
};
const uts_sample uts_t3 = {
    .name = "T3",
    .tree = {.type = UTS_BINOMIAL, .b = 2000, .q = 0.124875, .m = 8, .r = 42},
    .size = {.nodes = 4112897, .leaves = 3599034, .depth = 1572},
};

/* --- SHA-1 of short messages (FIPS 180-4) ------------------------------- */

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void store32(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 24);
    p[1] = (uint8_t)(x >> 16);
    p[2] = (uint8_t)(x >> 8);
    p[3] = (uint8_t)x;
}

typedef struct sha1 {
    uint32_t a, b, c, d, e;
} sha1;

static inline sha1 round_of(sha1 s, uint32_t f, uint32_t k, uint32_t w)
{
    uint32_t a = rotate(s.a, 5) + f + s.e + k + w;
    return (sha1){a, s.a, rotate(s.b, 30), s.c, s.d};
}

/* The schedule's word t, in a window of sixteen. */
static inline uint32_t word(uint32_t *w, int t)
{
    if (t < 16) return w[t];
    return w[t & 15] = rotate(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^
                                  w[(t + 2) & 15] ^ w[t & 15],
                              1);
}

/* One block is all there is: messages here are at most 55 bytes long.  Unrolled
 * the state only changes names, which saves a third of the time. */
static void sha1_block(uint32_t w[16], uint8_t digest[20])
{
    const sha1 begin = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                        0xc3d2e1f0};
    sha1 s = begin;
#pragma GCC unroll 20
    for (int t = 0; t < 20; t++)
        s = round_of(s, s.d ^ (s.b & (s.c ^ s.d)), 0x5a827999, word(w, t));
#pragma GCC unroll 20
    for (int t = 20; t < 40; t++)
        s = round_of(s, s.b ^ s.c ^ s.d, 0x6ed9eba1, word(w, t));
#pragma GCC unroll 20
    for (int t = 40; t < 60; t++)
        s = round_of(s, (s.b & s.c) | (s.d & (s.b | s.c)), 0x8f1bbcdc,
                     word(w, t));
#pragma GCC unroll 20
    for (int t = 60; t < 80; t++)
        s = round_of(s, s.b ^ s.c ^ s.d, 0xca62c1d6, word(w, t));
    store32(digest, begin.a + s.a);
    store32(digest + 4, begin.b + s.b);
    store32(digest + 8, begin.c + s.c);
    store32(digest + 12, begin.d + s.d);
    store32(digest + 16, begin.e + s.e);
}

/* --- the tree ------------------------------------------------------------ */

/* The root: sixteen zero bytes and the seed. */
void uts_root(const uts_tree *t, uts_node *root)
{
    uint32_t w[16] = {0};
    w[4] = t->r;
    w[5] = 0x80000000; /* the end of the message, then its length in bits */
    w[15] = 20 * 8;
    sha1_block(w, root->digest);
    root->depth = 0;
}

void uts_child(const uts_node *parent, uint32_t i, uts_node *child)
{
    uint32_t w[16] = {0};
    for (int k = 0; k < 5; k++)
        w[k] = load32(parent->digest + 4 * k);
    w[5] = i;
    w[6] = 0x80000000;
    w[15] = 24 * 8;
    sha1_block(w, child->digest);
    child->depth = parent->depth + 1;
}

static uint32_t geometric(const uts_tree *t, uint32_t depth, double u)
{
    if (depth >= t->d) return 0;
    const double most = 100;
    double p = 1 / (1 + t->b);
    double n = floor(log(1 - u) / log(1 - p));
    return (uint32_t)(n < most ? n : most);
}

uint32_t uts_children(const uts_tree *t, const uts_node *n)
{
    double u = (load32(n->digest + 16) & 0x7fffffff) / 2147483648.0;
    if (t->type == UTS_GEOMETRIC) return geometric(t, n->depth, u);
    if (n->depth == 0) return (uint32_t)t->b;
    return u < t->q ? t->m : 0;
}

/* --- two ways to walk it -------------------------------------------------- */

static void add(uts_count *sum, uts_count part)
{
    sum->nodes += part.nodes;
    sum->leaves += part.leaves;
    if (part.depth > sum->depth) sum->depth = part.depth;
}

uts_count uts_walk_serial(const uts_tree *t, const uts_node *n)
{
    uint32_t children = uts_children(t, n);
    uts_count sum = {1, children == 0, n->depth};
    for (uint32_t i = 0; i < children; i++) {
        uts_node child;
        uts_child(n, i, &child);
        add(&sum, uts_walk_serial(t, &child));
    }
    return sum;
}

/* The parent's digest stays where it is until all its children are joined, so
 * a child is a pointer and a number; three words of result overwrite them. */
static void walk_frame(heist_ctx c, heist_frame *f)
{
    uts_node child;
    uts_child(f->arg[1].cp, (uint32_t)f->arg[2].u, &child);
    uts_count part = uts_walk(c, f->arg[0].cp, &child);
    f->arg[0].u = part.leaves;
    f->arg[1].u = part.depth;
    f->result.u = part.nodes;
}

uts_count uts_walk(heist_ctx c, const uts_tree *t, const uts_node *n)
{
    uint32_t children = uts_children(t, n);
    uts_count sum = {1, children == 0, n->depth};
    heist_ctx k = c;
    for (uint32_t i = 0; i < children; i++) {
        heist_frame *f = heist_slot(k);
        f->arg[0].cp = t;
        f->arg[1].cp = n;
        f->arg[2].u = i;
        k = heist_fork(k, walk_frame);
    }
    while (k.frame != c.frame) {
        heist_frame *f = heist_done(&k);
        add(&sum, (uts_count){f->result.u, f->arg[0].u, f->arg[1].u});
    }
    return sum;
}
