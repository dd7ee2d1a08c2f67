/* SPDX-License-Identifier: MIT
 *
 * A sparse matrix times a vector.  The rows are of very different lengths: the
 * first holds as many numbers as thousands of the last.  Equal shares of rows
 * would leave most workers idle; here a range is split again wherever somebody
 * asks for work.
 */
#include <errno.h>
#include <heist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 200000
};

/* Row i is value[first[i]] .. value[first[i + 1] - 1]. */
struct matrix {
    uint64_t *first;
    uint32_t *column;
    double *value;
};

struct product {
    struct matrix a;
    double *x, *y; /* y = a x */
    int error;
};

static void row_lengths(heist_ctx c, size_t begin, size_t end, void *arg)
{
    struct product *p = arg;
    (void)c;
    for (size_t i = begin; i < end; i++)
        p->a.first[i] = i < ROWS ? 1 + ROWS / (i + 1) : 0;
}

static void fill_rows(heist_ctx c, size_t begin, size_t end, void *arg)
{
    struct product *p = arg;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        p->x[i] = 1 / (double)(i + 1);
        for (uint64_t j = p->a.first[i]; j < p->a.first[i + 1]; j++) {
            p->a.column[j] = (uint32_t)(j * 7919 % ROWS);
            p->a.value[j] = (double)(j % 100) - 50;
        }
    }
}

static void multiply(heist_ctx c, size_t begin, size_t end, void *arg)
{
    struct product *p = arg;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        double sum = 0;
        for (uint64_t j = p->a.first[i]; j < p->a.first[i + 1]; j++)
            sum += p->a.value[j] * p->x[p->a.column[j]];
        p->y[i] = sum;
    }
}

/* Lengths, then places by a scan, then numbers, then the product. */
static void root(heist_ctx c, void *arg)
{
    struct product *p = arg;
    uint64_t *first = p->a.first;
    heist_for(c, 0, ROWS + 1, row_lengths, p);
    p->error = heist_scan_u64(c, first, first, ROWS + 1, HEIST_EXCLUSIVE);
    if (p->error < 0) return;
    p->a.column = malloc(first[ROWS] * sizeof *p->a.column);
    p->a.value = malloc(first[ROWS] * sizeof *p->a.value);
    p->error = p->a.column && p->a.value ? 0 : -ENOMEM;
    if (p->error < 0) return;
    heist_for(c, 0, ROWS, fill_rows, p);
    heist_for(c, 0, ROWS, multiply, p);
}

/* Row by row from the definition: nothing of the above is used. */
static size_t wrong_rows(const struct product *p)
{
    size_t wrong = 0, j = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t end = j + 1 + ROWS / (i + 1); j < end; j++)
            sum += ((double)(j % 100) - 50) / (double)(j * 7919 % ROWS + 1);
        wrong += fabs(sum - p->y[i]) > 1e-9 * (1 + fabs(sum));
    }
    return wrong;
}

int main(void)
{
    struct product p = {.error = 0};
    p.a.first = malloc((ROWS + 1) * sizeof *p.a.first);
    p.x = malloc(ROWS * sizeof *p.x);
    p.y = malloc(ROWS * sizeof *p.y);
    if (!p.a.first || !p.x || !p.y) return fprintf(stderr, "no memory\n"), 1;
    int rc = heist_run(NULL, root, &p);
    if (rc == 0) rc = p.error;
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    size_t wrong = wrong_rows(&p);
    printf("%d rows of %d to %d numbers, %zu of the sums wrong\n", ROWS, 2,
           ROWS + 1, wrong);
    free(p.a.first);
    free(p.a.column);
    free(p.a.value);
    free(p.x);
    free(p.y);
    return wrong != 0;
}
