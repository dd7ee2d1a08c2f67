/* SPDX-License-Identifier: MIT */
/*
 * Sorts: of numbers by the calls that know their type, of other things by a
 * comparison or a key.  The serial ones are in peers/std.cpp and peers/qsort.c.
 */
#include "ours.h"

#include <heist/algo.h>

#include <string.h>

struct job {
    void *base;
    size_t n;
};

static void must(int result)
{
    if (result < 0) bench_die("no memory for a sort");
}

static void sort_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    heist_sort_u64(c, job->base, job->n);
}

void ours_sort(uint64_t *base, size_t n)
{
    struct job job = {base, n};
    ours_run(sort_root, &job);
}

static void stable_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    must(heist_sort_stable(c, job->base, job->n, sizeof(uint64_t), heist_by_u64,
                           NULL));
}

void ours_sort_stable(uint64_t *base, size_t n)
{
    struct job job = {base, n};
    ours_run(stable_root, &job);
}

static int by_key(const void *a, const void *b, void *arg)
{
    const struct bench_pair *x = a, *y = b;
    (void)arg;
    return (x->key > y->key) - (x->key < y->key);
}

static void pairs_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    must(heist_sort_stable(c, job->base, job->n, sizeof(struct bench_pair),
                           by_key, NULL));
}

void ours_sort_pairs(struct bench_pair *base, size_t n)
{
    struct job job = {base, n};
    ours_run(pairs_root, &job);
}

static int by_text(const void *a, const void *b, void *arg)
{
    (void)arg;
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void strings_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    heist_sort(c, job->base, job->n, sizeof(char *), by_text, NULL);
}

void ours_sort_strings(const char **base, size_t n)
{
    struct job job = {base, n};
    ours_run(strings_root, &job);
}

static uint64_t key_of(const void *element, void *arg)
{
    (void)arg;
    return ((const struct bench_record *)element)->key;
}

static void records_root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    must(heist_sort_by_key(c, job->base, job->n, sizeof(struct bench_record),
                           key_of, NULL));
}

void ours_sort_records(struct bench_record *base, size_t n)
{
    struct job job = {base, n};
    ours_run(records_root, &job);
}
