/* SPDX-License-Identifier: MIT */
/*
 * A loop of independent iterations, halved until one is left: 0.2 us each
 * (even), or from nothing at the start to 0.6 us at the end (skewed).
 */
#include "ours.h"

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

static inline uint64_t span(heist_ctx c, const struct job *job, uint64_t from,
                            uint64_t to);

static void span_right(heist_ctx c, heist_frame *f)
{
    f->result.u = span(c, f->arg[0].cp, f->arg[1].u, f->arg[2].u);
}

static inline uint64_t span(heist_ctx c, const struct job *job, uint64_t from,
                            uint64_t to)
{
    if (to - from == 1) return bench_iteration(from, job->n, job->skewed);
    uint64_t middle = from + (to - from) / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = job;
    right->arg[1].u = middle;
    right->arg[2].u = to;
    uint64_t left = span(heist_fork(c, span_right), job, from, middle);
    if (heist_join(c)) return left + span(c, job, middle, to);
    return left + right->result.u;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->sum = span(c, job, 0, job->n);
}

uint64_t ours_loop(uint64_t n, bool skewed)
{
    struct job job = {n, 0, skewed};
    ours_run(root, &job);
    return job.sum;
}
