/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_HARNESS_H
#define HEIST_BENCH_HARNESS_H

/* What the files of the harness share: main.c, arrays.c for the algorithms, and
 * graph.c for the task graphs.  Peers see bench.h and graph.h only. */
#include "bench.h"

struct plan {
    const char *name;
    void (*measure)(const struct plan *p);
    uint64_t size;
    uint64_t repeats;
    uint64_t gap; /* ns between two regions */
    unsigned workers;
    const struct sha1_tree *sha1;
    const struct bench_node *tree; /* set by measure_tree and measure_batch */
};

/* malloc, or the program ends. */
void *bench_allocate(size_t bytes);

/* One line for one long thing. */
void bench_print_one(double seconds, uint64_t result);
/* One line for n short things; each took ns[i] and was `batch` of them. */
void bench_print_spread(uint64_t *ns, uint64_t n, uint64_t batch,
                        uint64_t result);

/* Measures the algorithm that the plan is named after. */
void bench_measure_array(const struct plan *p);
/* The same with many regions per sample, for what is soon done. */
void bench_measure_short_array(const struct plan *p);
bool bench_can_array(const struct plan *p);

/* Runs the graph that the plan is named after. */
void bench_measure_graph(const struct plan *p);
/* Builds two of them: what takes how long, and how much memory. */
void bench_measure_build(const struct plan *p);
bool bench_can_graph(const struct plan *p);

#endif
