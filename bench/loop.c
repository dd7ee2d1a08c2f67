/* SPDX-License-Identifier: MIT */
/*
 * A loop of independent iterations with a sum: 0.2 us each (even), or from
 * nothing at the start to 0.6 us at the end (skewed).
 */
#include "ours.h"

#include <heist/algo.h>

struct job {
    uint64_t n;
    uint64_t sum;
    bool skewed;
};

uint64_t serial_loop(uint64_t n, bool skewed)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += bench_iteration(i, n, skewed);
    return sum;
}

static void fold(heist_ctx c, size_t begin, size_t end, void *sum, void *arg)
{
    const struct job *job = arg;
    uint64_t s = 0;
    (void)c;
    for (size_t i = begin; i < end; i++)
        s += bench_iteration(i, job->n, job->skewed);
    *(uint64_t *)sum += s;
}

static void add(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    if (heist_fold(c, 0, job->n, &job->sum, sizeof job->sum, fold, add, job,
                   0) < 0)
        bench_die("no memory for a fold");
}

uint64_t ours_loop(uint64_t n, bool skewed)
{
    struct job job = {n, 0, skewed};
    ours_run(root, &job);
    return job.sum;
}
