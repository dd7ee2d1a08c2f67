/* SPDX-License-Identifier: MIT */
/* The C side of peers/rayon/src/lib.rs. */
#include "../bench.h"

void rayon_start(unsigned workers);
uint64_t rayon_fib(unsigned n);
uint64_t rayon_nqueens(unsigned n);
uint64_t rayon_uts(uint64_t seed);
uint64_t rayon_uts_fine(uint64_t seed);
uint64_t rayon_uts_sha1(const struct sha1_tree *tree);
uint64_t rayon_tree(const struct bench_node *root);
uint64_t rayon_loop(uint64_t n, bool skewed);
uint64_t rayon_region(uint64_t leaves);
void rayon_alone(void (*fn)(void *arg), void *arg);
uint64_t rayon_steal(uint64_t *ns, uint64_t n);

static void start(unsigned workers, const char *policy)
{
    if (policy) bench_die("a policy is for heist");
    rayon_start(workers);
}

static void stop(void)
{
}

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .fib = rayon_fib,
    .nqueens = rayon_nqueens,
    .uts = rayon_uts,
    .uts_fine = rayon_uts_fine,
    .uts_sha1 = rayon_uts_sha1,
    .tree = rayon_tree,
    .loop = rayon_loop,
    .region = rayon_region,
    .alone = rayon_alone,
    .steal = rayon_steal,
};
