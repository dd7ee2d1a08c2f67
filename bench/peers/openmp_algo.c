/* SPDX-License-Identifier: MIT */
/*
 * Algorithms with OpenMP: loops, reductions, the inscan reduction for prefix
 * sums.  Filter is written by hand, as it has none: every thread counts its
 * share, then writes it.  So is search: blocks from left to right until one has
 * it.
 */
#include "openmp.h"

#include <omp.h>

enum {
    FIND_BLOCK = 4096
};

static uint64_t sum(const uint64_t *in, size_t n)
{
    uint64_t r = 0;
#pragma omp parallel for reduction(+ : r)
    for (size_t i = 0; i < n; i++)
        r += in[i];
    return r;
}

static void map(uint64_t *out, const uint64_t *in, size_t n)
{
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        out[i] = bench_mapped(in[i]);
}

static void scan(uint64_t *out, const uint64_t *in, size_t n)
{
    uint64_t s = 0;
#pragma omp parallel for reduction(inscan, + : s)
    for (size_t i = 0; i < n; i++) {
        s += in[i];
#pragma omp scan inclusive(s)
        out[i] = s;
    }
}

static size_t filter(uint64_t *out, const uint64_t *in, size_t n)
{
    size_t threads = (size_t)omp_get_max_threads();
    size_t before[threads + 1];
    before[0] = 0;
#pragma omp parallel
    {
        size_t t = (size_t)omp_get_thread_num(), kept = 0;
        size_t begin = n / threads * t;
        size_t end = t + 1 == threads ? n : begin + n / threads;
        for (size_t i = begin; i < end; i++)
            kept += bench_kept(in[i]);
        before[t + 1] = kept;
#pragma omp barrier
#pragma omp single
        for (size_t i = 0; i < threads; i++)
            before[i + 1] += before[i];
        /* Without a branch, and not beyond the last one that is kept. */
        size_t at = before[t];
        for (size_t i = begin; at < before[t + 1]; i++) {
            out[at] = in[i];
            at += bench_kept(in[i]);
        }
    }
    return before[threads];
}

static size_t find(const uint64_t *in, size_t n, uint64_t value)
{
    size_t first = n;
#pragma omp parallel for schedule(dynamic) shared(first)
    for (size_t begin = 0; begin < n; begin += FIND_BLOCK) {
        size_t seen, end = begin + FIND_BLOCK < n ? begin + FIND_BLOCK : n;
#pragma omp atomic read
        seen = first;
        if (begin > seen) continue;
        size_t at = begin + bench_find(in + begin, end - begin, value);
        if (at == end) continue;
#pragma omp critical
        if (at < first) {
#pragma omp atomic write
            first = at;
        }
    }
    return first;
}

const struct bench_algo openmp_algo = {
    .sum = sum,
    .map = map,
    .scan = scan,
    .filter = filter,
    .find = find,
};
