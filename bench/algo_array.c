/* SPDX-License-Identifier: MIT */
/*
 * Passes over arrays of numbers: sum, map, prefix sums, filter, search.  The
 * loops are plain C, and the same in both solutions; the compiler vectorizes
 * what it can.
 */
#include "ours.h"

#include <heist/algo.h>

struct job {
    uint64_t *out;
    const uint64_t *in;
    size_t n;
    uint64_t value;
    uint64_t answer;
};

static void map_range(uint64_t *out, const uint64_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = bench_mapped(in[i]);
}

/* Without a branch: it would be guessed wrong every other time. */
static size_t filter_range(uint64_t *out, const uint64_t *in, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        out[kept] = in[i];
        kept += bench_kept(in[i]);
    }
    return kept;
}

/* --- serial ---------------------------------------------------------------- */

static uint64_t serial_sum(const uint64_t *in, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += in[i];
    return sum;
}

static void serial_scan(uint64_t *out, const uint64_t *in, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = sum += in[i];
}

static size_t serial_find(const uint64_t *in, size_t n, uint64_t value)
{
    return bench_find(in, n, value);
}

const struct bench_algo serial_algo = {
    .sum = serial_sum,
    .map = map_range,
    .scan = serial_scan,
    .filter = filter_range,
    .find = serial_find,
};

/* --- ours ------------------------------------------------------------------ */

static void sum_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->answer = heist_sum_u64(c, job->in, job->n);
}

static uint64_t ours_sum(const uint64_t *in, size_t n)
{
    struct job job = {.in = in, .n = n};
    ours_run(sum_root, &job);
    return job.answer;
}

static void map_piece(heist_ctx c, size_t begin, size_t end, void *arg)
{
    const struct job *job = arg;
    (void)c;
    map_range(job->out + begin, job->in + begin, end - begin);
}

static void map_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    heist_for(c, 0, job->n, map_piece, job);
}

static void ours_map(uint64_t *out, const uint64_t *in, size_t n)
{
    struct job job = {.out = out, .in = in, .n = n};
    ours_run(map_root, &job);
}

static void scan_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    if (heist_scan_u64(c, job->out, job->in, job->n, HEIST_INCLUSIVE) < 0)
        bench_die("no memory for a scan");
}

static void ours_scan(uint64_t *out, const uint64_t *in, size_t n)
{
    struct job job = {.out = out, .in = in, .n = n};
    ours_run(scan_root, &job);
}

static size_t pack(void *out, const void *in, size_t n, void *arg)
{
    (void)arg;
    return filter_range(out, in, n);
}

static void filter_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    ptrdiff_t kept = heist_filter_in(c, job->out, job->in, job->n,
                                     sizeof *job->in, pack, NULL);
    if (kept < 0) bench_die("no memory for a filter");
    job->answer = (uint64_t)kept;
}

static size_t ours_filter(uint64_t *out, const uint64_t *in, size_t n)
{
    struct job job = {.out = out, .in = in, .n = n};
    ours_run(filter_root, &job);
    return job.answer;
}

static size_t find_piece(heist_ctx c, size_t begin, size_t end, void *arg)
{
    const struct job *job = arg;
    (void)c;
    size_t n = end - begin, at = bench_find(job->in + begin, n, job->value);
    return at < n ? begin + at : HEIST_NONE;
}

static void find_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->answer = heist_find_first_in(c, 0, job->n, find_piece, job);
}

static size_t ours_find(const uint64_t *in, size_t n, uint64_t value)
{
    struct job job = {.in = in, .n = n, .value = value};
    ours_run(find_root, &job);
    return job.answer == HEIST_NONE ? n : job.answer;
}

const struct bench_algo ours_algo = {
    .sum = ours_sum,
    .map = ours_map,
    .scan = ours_scan,
    .filter = ours_filter,
    .find = ours_find,
    .sort = ours_sort,
    .sort_stable = ours_sort_stable,
    .sort_pairs = ours_sort_pairs,
    .sort_strings = ours_sort_strings,
    .sort_records = ours_sort_records,
};
