/* SPDX-License-Identifier: MIT
 *
 * reduce_by.c: the best element, and how many, by functions of the user's.
 *
 * All of them are folds of a word or two, which need no memory and cannot fail.
 */
#include <heist/algo.h>

/* An array and what is asked of its elements. */
typedef struct question {
    const char *base;
    size_t size;

    union {
        heist_compare_fn *compare;
        heist_key_fn *key;
        heist_test_fn *test;
    } fn;

    void *arg;
    bool largest; /* not the smallest */
} question;

static const void *element(const question *q, size_t i)
{
    return q->base + i * q->size;
}

/* --- the best by a comparison ------------------------------------------------- */

static bool is_better(const question *q, size_t i, size_t best)
{
    const void *a = element(q, i), *b = element(q, best);
    if (q->largest) return q->fn.compare(b, a, q->arg) < 0;
    return q->fn.compare(a, b, q->arg) < 0;
}

static void best_of_piece(heist_ctx c, size_t begin, size_t end, void *sum,
                          void *arg)
{
    size_t *result = sum, best = *result;
    (void)c;
    if (best == HEIST_NONE) best = begin++;
    for (size_t i = begin; i < end; i++)
        if (is_better(arg, i, best)) best = i;
    *result = best;
}

static void better(void *left, const void *right, void *arg)
{
    size_t *best = left, other = *(const size_t *)right;
    if (is_better(arg, other, *best)) *best = other;
}

static size_t best_by_compare(heist_ctx c, question q, size_t n)
{
    size_t best = HEIST_NONE;
    heist_fold(c, 0, n, &best, sizeof best, best_of_piece, better, &q, 0);
    return best;
}

size_t heist_argmin(heist_ctx c, const void *base, size_t n, size_t size,
                    heist_compare_fn *compare, void *arg)
{
    question q = {base, size, {.compare = compare}, arg, false};
    return best_by_compare(c, q, n);
}

size_t heist_argmax(heist_ctx c, const void *base, size_t n, size_t size,
                    heist_compare_fn *compare, void *arg)
{
    question q = {base, size, {.compare = compare}, arg, true};
    return best_by_compare(c, q, n);
}

/* --- the best by a key ------------------------------------------------------------ */

typedef struct keyed {
    uint64_t key;
    size_t index;
} keyed;

/* A key that is smaller the better its element is. */
static uint64_t key_of(const question *q, size_t i)
{
    uint64_t key = q->fn.key(element(q, i), q->arg);
    return q->largest ? ~key : key;
}

static void best_key_of_piece(heist_ctx c, size_t begin, size_t end, void *sum,
                              void *arg)
{
    keyed *result = sum, best = *result;
    (void)c;
    if (best.index == HEIST_NONE) {
        best = (keyed){key_of(arg, begin), begin};
        begin++;
    }
    for (size_t i = begin; i < end; i++) {
        uint64_t key = key_of(arg, i);
        if (key < best.key) best = (keyed){key, i};
    }
    *result = best;
}

static void better_key(void *left, const void *right, void *arg)
{
    keyed *best = left;
    const keyed *other = right;
    (void)arg;
    if (other->key < best->key) *best = *other;
}

static size_t best_by_key(heist_ctx c, question q, size_t n)
{
    keyed best = {0, HEIST_NONE};
    heist_fold(c, 0, n, &best, sizeof best, best_key_of_piece, better_key, &q,
               0);
    return best.index;
}

size_t heist_argmin_by_key(heist_ctx c, const void *base, size_t n, size_t size,
                           heist_key_fn *key, void *arg)
{
    question q = {base, size, {.key = key}, arg, false};
    return best_by_key(c, q, n);
}

size_t heist_argmax_by_key(heist_ctx c, const void *base, size_t n, size_t size,
                           heist_key_fn *key, void *arg)
{
    question q = {base, size, {.key = key}, arg, true};
    return best_by_key(c, q, n);
}

/* --- how many ----------------------------------------------------------------------- */

static void count_piece(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    const question *q = arg;
    size_t *result = sum, count = *result;
    (void)c;
    for (size_t i = begin; i < end; i++)
        count += q->fn.test(element(q, i), q->arg);
    *result = count;
}

static void add_counts(void *left, const void *right, void *arg)
{
    (void)arg;
    *(size_t *)left += *(const size_t *)right;
}

size_t heist_count(heist_ctx c, const void *base, size_t n, size_t size,
                   heist_test_fn *test, void *arg)
{
    question q = {base, size, {.test = test}, arg, false};
    size_t count = 0;
    heist_fold(c, 0, n, &count, sizeof count, count_piece, add_counts, &q, 0);
    return count;
}
