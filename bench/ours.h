/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_OURS_H
#define HEIST_BENCH_OURS_H

/*
 * The two solutions of each problem that live in its file: serial_* in plain
 * C, ours_* with heist.  peers/serial.c and peers/heist.c put them into
 * the table that the harness asks for.
 */
#include "bench.h"

#include <heist/fork.h>
#include <heist/runtime.h>

extern heist_runtime *ours_runtime;

void ours_start(unsigned workers, const char *policy);
void ours_stop(void);

/* heist_run in it, or the program ends. */
static inline void ours_run(heist_root_fn *fn, void *arg)
{
    if (heist_run(ours_runtime, fn, arg) < 0) bench_die("heist does not run");
}

uint64_t serial_fib(unsigned n);
uint64_t serial_nqueens(unsigned n);
uint64_t serial_uts(uint64_t seed);
uint64_t serial_uts_fine(uint64_t seed);
uint64_t serial_uts_sha1(const struct sha1_tree *tree);
uint64_t serial_tree(const struct bench_node *root);
uint64_t serial_loop(uint64_t n, bool skewed);
uint64_t serial_region(uint64_t leaves);
void serial_alone(void (*fn)(void *arg), void *arg);

extern const struct bench_algo serial_algo; /* no sorts: peers/std.cpp */

uint64_t ours_fib(unsigned n);
uint64_t ours_nqueens(unsigned n);
uint64_t ours_uts(uint64_t seed);
uint64_t ours_uts_fine(uint64_t seed);
uint64_t ours_uts_sha1(const struct sha1_tree *tree);
uint64_t ours_tree(const struct bench_node *root);
uint64_t ours_loop(uint64_t n, bool skewed);
uint64_t ours_region(uint64_t leaves);
void ours_alone(void (*fn)(void *arg), void *arg);
uint64_t ours_steal(uint64_t *ns, uint64_t n);

extern const struct bench_graphs serial_graphs, ours_graphs;

extern const struct bench_algo ours_algo;
void ours_sort(uint64_t *base, size_t n);
void ours_sort_stable(uint64_t *base, size_t n);
void ours_sort_pairs(struct bench_pair *base, size_t n);
void ours_sort_strings(const char **base, size_t n);
void ours_sort_records(struct bench_record *base, size_t n);

#endif
