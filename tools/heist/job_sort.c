/* SPDX-License-Identifier: MIT
 *
 * Merge sort in which the merge is divided too: the middle of the longer run
 * is looked up in the shorter one, and both sides are merged apart.
 */
#include "demo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SORT_LEAF = 32,   /* insertion sort is faster below */
    MERGE_LEAF = 2048 /* a binary search is lost in so many comparisons */
};

typedef struct state {
    size_t n;
    int *input, *a, *b;
    uint64_t sum; /* of the input's hashes */
} state;

static uint64_t hash(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The same for every order of the same numbers, and hardly for others. */
static uint64_t sum_of_hashes(const int *a, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hash((uint32_t)a[i] + 1u);
    return sum;
}

static void job_close(void *arg)
{
    state *s = arg;
    free(s->input);
    free(s->a);
    free(s->b);
    free(s);
}

static int job_open(void **out, bool small, char *title)
{
    state *s = calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->n = small ? 100000 : 4000000;
    s->input = malloc(s->n * sizeof *s->input);
    s->a = calloc(s->n, sizeof *s->a);
    s->b = calloc(s->n, sizeof *s->b);
    if (!s->input || !s->a || !s->b) {
        job_close(s);
        return -ENOMEM;
    }
    for (size_t i = 0; i < s->n; i++)
        s->input[i] = (int)(uint32_t)hash(i);
    s->sum = sum_of_hashes(s->input, s->n);
    snprintf(title, DEMO_TITLE, "sort %zu ints", s->n);
    *out = s;
    return 0;
}

static void job_prepare(void *arg)
{
    state *s = arg;
    memcpy(s->a, s->input, s->n * sizeof *s->a);
    memset(s->b, 0, s->n * sizeof *s->b);
}

static void insertion_sort(int *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static void sort_leaf(int *a, int *b, size_t n, bool to_b)
{
    insertion_sort(a, n);
    if (to_b) memcpy(b, a, n * sizeof *a);
}

static void merge_leaf(const int *x, size_t nx, const int *y, size_t ny,
                       int *out)
{
    size_t i = 0, j = 0;
    while (i < nx && j < ny) {
        bool from_y = y[j] < x[i]; /* no branch to guess wrongly */
        *out++ = from_y ? y[j] : x[i];
        j += from_y;
        i += !from_y;
    }
    memcpy(out, x + i, (nx - i) * sizeof *x);
    memcpy(out + (nx - i), y + j, (ny - j) * sizeof *y);
}

static size_t lower_bound(const int *a, size_t n, int key)
{
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (a[low + half] < key) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Where to cut two runs so that all of one side is at most all of the other. */
typedef struct cut {
    size_t x, y;
} cut;

static cut cut_runs(const int *x, size_t nx, const int *y, size_t ny)
{
    if (nx >= ny) return (cut){nx / 2, lower_bound(y, ny, x[nx / 2])};
    return (cut){lower_bound(x, nx, y[ny / 2]), ny / 2};
}

static void merge_serial(const int *x, size_t nx, const int *y, size_t ny,
                         int *out)
{
    if (nx + ny <= MERGE_LEAF) {
        merge_leaf(x, nx, y, ny, out);
        return;
    }
    cut m = cut_runs(x, nx, y, ny);
    merge_serial(x, m.x, y, m.y, out);
    merge_serial(x + m.x, nx - m.x, y + m.y, ny - m.y, out + m.x + m.y);
}

/* Sorts a, with b as room; the result is in b if to_b. */
static void sort_serial(int *a, int *b, size_t n, bool to_b)
{
    if (n <= SORT_LEAF) {
        sort_leaf(a, b, n, to_b);
        return;
    }
    size_t half = n / 2;
    sort_serial(a, b, half, !to_b);
    sort_serial(a + half, b + half, n - half, !to_b);
    const int *from = to_b ? a : b;
    merge_serial(from, half, from + half, n - half, to_b ? b : a);
}

static void merge(heist_ctx c, const int *x, size_t nx, const int *y, size_t ny,
                  int *out);

static void merge_right(heist_ctx c, heist_frame *f)
{
    merge(c, f->arg[0].cp, f->arg[1].u, f->arg[2].cp, f->arg[3].u, f->arg[4].p);
}

static void merge(heist_ctx c, const int *x, size_t nx, const int *y, size_t ny,
                  int *out)
{
    if (nx + ny <= MERGE_LEAF) {
        merge_leaf(x, nx, y, ny, out);
        return;
    }
    cut m = cut_runs(x, nx, y, ny);
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = x + m.x;
    right->arg[1].u = nx - m.x;
    right->arg[2].cp = y + m.y;
    right->arg[3].u = ny - m.y;
    right->arg[4].p = out + m.x + m.y;
    merge(heist_fork(c, merge_right), x, m.x, y, m.y, out);
    if (heist_join(c))
        merge(c, x + m.x, nx - m.x, y + m.y, ny - m.y, out + m.x + m.y);
}

static void sort(heist_ctx c, int *a, int *b, size_t n, bool to_b);

static void sort_right(heist_ctx c, heist_frame *f)
{
    sort(c, f->arg[0].p, f->arg[1].p, f->arg[2].u, f->arg[3].u);
}

static void sort(heist_ctx c, int *a, int *b, size_t n, bool to_b)
{
    if (n <= SORT_LEAF) {
        sort_leaf(a, b, n, to_b);
        return;
    }
    size_t half = n / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].p = a + half;
    right->arg[1].p = b + half;
    right->arg[2].u = n - half;
    right->arg[3].u = !to_b;
    sort(heist_fork(c, sort_right), a, b, half, !to_b);
    if (heist_join(c)) sort(c, a + half, b + half, n - half, !to_b);
    const int *from = to_b ? a : b;
    merge(c, from, half, from + half, n - half, to_b ? b : a);
}

static void job_serial(void *arg)
{
    state *s = arg;
    sort_serial(s->a, s->b, s->n, false);
}

static void job_parallel(heist_ctx c, void *arg)
{
    state *s = arg;
    sort(c, s->a, s->b, s->n, false);
}

static bool job_right(void *arg, char *why)
{
    state *s = arg;
    for (size_t i = 1; i < s->n; i++) {
        if (s->a[i - 1] <= s->a[i]) continue;
        snprintf(why, DEMO_WHY, "out of order at %zu", i);
        return false;
    }
    snprintf(why, DEMO_WHY, "in order, but not the numbers that were given");
    return sum_of_hashes(s->a, s->n) == s->sum;
}

const demo_job demo_sort = {
    .name = "sort",
    .open = job_open,
    .close = job_close,
    .prepare = job_prepare,
    .serial = job_serial,
    .parallel = job_parallel,
    .right = job_right,
};
