/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_H
#define HEIST_BENCH_H

/*
 * What the harness (main.c) asks of a peer, and the pieces of the problems
 * that every peer must do in the same way: what a node, a leaf and a loop
 * iteration cost is decided here, who runs it where is the peer's affair.
 *
 * The header compiles as C++, for the peers that are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A binary tree, laid out in preorder: 24 bytes a node. */
struct bench_node {
    const struct bench_node *left;
    const struct bench_node *right; /* NULL if left is */
    int64_t value;
};

/* A tree that is grown by hashing; m children with chance q, else none. */
enum {
    UTS_ROOT_CHILDREN = 2000,
    UTS_CHILDREN = 8
};

#define UTS_CHANCE 0.124875

/* The parallel work before a task is alone: 1.5 ms, enough to wake a pool. */
enum {
    BENCH_ALONE_LEAVES = 2048
};

/* An UTS tree with SHA-1 as its authors define it. */
struct sha1_tree {
    uint32_t seed;
    int max_depth;        /* geometric trees end there; 0: binomial tree */
    double root_children; /* b0 */
    double chance;        /* q */
    int children;         /* m */
};

struct sha1_node {
    uint32_t word[5];
    int depth;
};

/* A key with the place it had at first: shows whether a sort was stable. */
struct bench_pair {
    uint64_t key;
    uint64_t index;
};

/* A record of a cache line. */
struct bench_record {
    uint64_t key;
    uint64_t rest[7];
};

/*
 * The algorithms: each is one region over arrays that the harness has made.
 * Elements are mapped by bench_mapped and kept if bench_kept.
 */
struct bench_algo {
    uint64_t (*sum)(const uint64_t *in, size_t n);
    void (*map)(uint64_t *out, const uint64_t *in, size_t n);
    /* Sums of all elements up to and including this one. */
    void (*scan)(uint64_t *out, const uint64_t *in, size_t n);
    /* Kept elements in their order; returns how many. */
    size_t (*filter)(uint64_t *out, const uint64_t *in, size_t n);
    /* The first index of the value, or n. */
    size_t (*find)(const uint64_t *in, size_t n, uint64_t value);
    void (*sort)(uint64_t *base, size_t n);
    void (*sort_stable)(uint64_t *base, size_t n);
    void (*sort_pairs)(struct bench_pair *base, size_t n); /* stable, by key */
    void (*sort_strings)(const char **base, size_t n);
    void (*sort_records)(struct bench_record *base, size_t n); /* by key */
};

struct bench_graphs; /* graph.h */

/*
 * A peer fills in this table; NULL is a problem it does not solve.  Every
 * function is one region: it is called by a thread outside of the pool and
 * returns when all is done.
 */
struct bench_peer {
    /* policy is the exposure policy of heist, NULL for the others. */
    void (*start)(unsigned workers, const char *policy);
    void (*stop)(void);
    uint64_t (*fib)(unsigned n);
    uint64_t (*nqueens)(unsigned n);
    uint64_t (*uts)(uint64_t seed);      /* 24 mixes per node */
    uint64_t (*uts_fine)(uint64_t seed); /* 1 mix per node */
    uint64_t (*uts_sha1)(const struct sha1_tree *tree);
    uint64_t (*tree)(const struct bench_node *root);
    uint64_t (*loop)(uint64_t n, bool skewed);
    uint64_t (*region)(uint64_t leaves);
    /* A little parallel work, then fn alone while the others have nothing. */
    void (*alone)(void (*fn)(void *arg), void *arg);
    /* n thefts in one region; ns[i] is the time from fork to join of one.
     * Returns how many ran on another thread. */
    uint64_t (*steal)(uint64_t *ns, uint64_t n);
    const struct bench_algo *algo;     /* NULL: none of them */
    const struct bench_graphs *graphs; /* the same */
};

extern const struct bench_peer bench_peer;

/* Monotonic nanoseconds. */
uint64_t bench_now(void);

/* Ends the program: a peer that cannot be measured must not look measured. */
__attribute__((noreturn)) void bench_die(const char *why);

/* 0.72 us of arithmetic on the reference machine; bench/README.md. */
uint64_t bench_leaf(uint64_t i);

/* Iteration i of a loop of n. */
uint64_t bench_iteration(uint64_t i, uint64_t n, bool skewed);

/* Child i of a node; the root; and how many children a node has. */
struct sha1_node sha1_child(const struct sha1_node *parent, uint32_t i);
struct sha1_node sha1_root(const struct sha1_tree *tree);
int sha1_children(const struct sha1_tree *tree, const struct sha1_node *node);

/* The finaliser of splitmix64: a good hash, 3 ns. */
static inline uint64_t bench_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t bench_mapped(uint64_t x)
{
    return x ^ (x >> 29);
}

/* Half of random numbers, and no processor can guess which. */
static inline bool bench_kept(uint64_t x)
{
    return x & 1;
}

/* The first index of the value, or n. */
static inline size_t bench_find(const uint64_t *in, size_t n, uint64_t value)
{
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        if (in[i] == value) return i;
    return n;
}

/* The state of child i; the whole cost of a node is in here. */
static inline uint64_t uts_child(uint64_t parent, uint64_t i, int mixes)
{
    uint64_t z = parent + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (int k = 0; k < mixes; k++)
        z = bench_mix(z);
    return z;
}

static inline bool uts_is_leaf(uint64_t state)
{
    return (double)(state >> 11) * 0x1p-53 >= UTS_CHANCE;
}

#ifdef __cplusplus
}
#endif

#endif
