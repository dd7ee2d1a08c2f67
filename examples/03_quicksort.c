/* SPDX-License-Identifier: MIT
 *
 * Quicksort.  The two halves do not overlap, so each may be sorted by another
 * worker.  Two arguments go into the slot; there is no result.
 */
#include <errno.h>
#include <heist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int median(int a, int b, int c)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Hoare's: both parts are shorter than n, none of the left is above any of the
 * right.  n is at least 2. */
static size_t partition(int *a, size_t n)
{
    int pivot = median(a[0], a[n / 2 - 1], a[n - 2]);
    size_t i = 0, j = n - 1;
    for (;; i++, j--) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i >= j) return j + 1;
        int x = a[i];
        a[i] = a[j];
        a[j] = x;
    }
}

static inline void quicksort(heist_ctx c, int *a, size_t n);

static void quicksort_right(heist_ctx c, heist_frame *f)
{
    quicksort(c, f->arg[0].p, f->arg[1].u);
}

static inline void quicksort(heist_ctx c, int *a, size_t n)
{
    if (n <= 32) {
        insertion_sort(a, n);
        return;
    }
    size_t p = partition(a, n);
    heist_frame *right = heist_slot(c);
    right->arg[0].p = a + p;
    right->arg[1].u = n - p;
    quicksort(heist_fork(c, quicksort_right), a, p);
    if (heist_join(c)) quicksort(c, a + p, n - p);
}

struct job {
    int *a;
    size_t n;
};

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    quicksort(c, job->a, job->n);
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    size_t n = 1000000;
    int *a = malloc(n * sizeof *a), *wanted = malloc(n * sizeof *wanted);
    if (!a || !wanted) return fprintf(stderr, "%s\n", strerror(ENOMEM)), 1;
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        a[i] = wanted[i] = (int)(seed >> 40) - (1 << 23);
    }
    struct job job = {a, n};
    int rc = heist_run(NULL, root, &job);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    qsort(wanted, n, sizeof *wanted, by_value);
    bool right = memcmp(a, wanted, n * sizeof *a) == 0;
    printf("%zu numbers sorted: %s\n", n, right ? "as qsort does" : "WRONG");
    free(a);
    free(wanted);
    return !right;
}
