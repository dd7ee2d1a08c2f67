/* SPDX-License-Identifier: MIT */
/* The C library's qsort: serial, and what every C program has. */
#include "../bench.h"

#include <stdlib.h>
#include <string.h>

static void start(unsigned workers, const char *policy)
{
    if (workers || policy) bench_die("qsort means 0 workers and no policy");
}

static void stop(void)
{
}

/* Also of pairs and records: the key comes first. */
static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(uint64_t *base, size_t n)
{
    qsort(base, n, sizeof *base, by_key);
}

static void sort_records(struct bench_record *base, size_t n)
{
    qsort(base, n, sizeof *base, by_key);
}

static void sort_strings(const char **base, size_t n)
{
    qsort(base, n, sizeof *base, by_text);
}

static const struct bench_algo algo = {
    .sort = sort,
    .sort_strings = sort_strings,
    .sort_records = sort_records,
};

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .algo = &algo,
};
