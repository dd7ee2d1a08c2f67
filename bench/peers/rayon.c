/* SPDX-License-Identifier: MIT */
/* The C side of peers/rayon/src. */
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
uint64_t rayon_sum(const uint64_t *in, size_t n);
void rayon_map(uint64_t *out, const uint64_t *in, size_t n);
size_t rayon_filter(uint64_t *out, const uint64_t *in, size_t n);
size_t rayon_find(const uint64_t *in, size_t n, uint64_t value);
void rayon_sort(uint64_t *base, size_t n);
void rayon_sort_stable(uint64_t *base, size_t n);
void rayon_sort_pairs(struct bench_pair *base, size_t n);
void rayon_sort_strings(const char **base, size_t n);
void rayon_sort_records(struct bench_record *base, size_t n);

static void start(unsigned workers, const char *policy)
{
    if (policy) bench_die("a policy is for heist");
    rayon_start(workers);
}

static void stop(void)
{
}

static const struct bench_algo algo = {
    .sum = rayon_sum,
    .map = rayon_map,
    .filter = rayon_filter,
    .find = rayon_find,
    .sort = rayon_sort,
    .sort_stable = rayon_sort_stable,
    .sort_pairs = rayon_sort_pairs,
    .sort_strings = rayon_sort_strings,
    .sort_records = rayon_sort_records,
};

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
    .algo = &algo,
};
