/* SPDX-License-Identifier: MIT
 *
 * reduce_by.c: the best element, and how many, by functions of the user's.
 *
 * All of them are folds of a word or two, which need no memory and cannot fail.
 */
#include "algo/order.h"

enum {
    BLOCK = 32 /* numbers that are looked at without a branch */
};

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

HEIST_INLINE bool is_better(const question *q, size_t i, size_t best,
                            size_t size, hi_less_fn *less)
{
    hi_by by = {q->fn.compare, q->arg, size};
    const char *a = q->base + i * size, *b = q->base + best * size;
    return q->largest ? less(b, a, &by) : less(a, b, &by);
}

/* The best of `best` and those from begin to end - 1. */
HEIST_INLINE size_t best_of(const question *q, size_t best, size_t begin,
                            size_t end, size_t size, hi_less_fn *less)
{
    for (size_t i = begin; i < end; i++)
        if (is_better(q, i, best, size, less)) best = i;
    return best;
}

/* The same where comparing is no call: it is seldom that one is better, and in
 * a block without one nothing has to wait for anything. */
HEIST_INLINE size_t best_known(const question *q, size_t best, size_t begin,
                               size_t end, size_t size, hi_less_fn *less)
{
    for (; begin < end && end - begin >= BLOCK; begin += BLOCK) {
        size_t better = 0;
        for (size_t i = begin; i < begin + BLOCK; i++)
            better += is_better(q, i, best, size, less);
        if (better) best = best_of(q, best, begin, begin + BLOCK, size, less);
    }
    return best_of(q, best, begin, end, size, less);
}

static size_t best_in(const question *q, size_t best, size_t begin, size_t end)
{
    switch (hi_order_of(q->fn.compare, q->size)) {
    case HI_BY_U32: return best_known(q, best, begin, end, 4, hi_less_u32);
    case HI_BY_I32: return best_known(q, best, begin, end, 4, hi_less_i32);
    case HI_BY_F32: return best_known(q, best, begin, end, 4, hi_less_f32);
    case HI_BY_U64: return best_known(q, best, begin, end, 8, hi_less_u64);
    case HI_BY_I64: return best_known(q, best, begin, end, 8, hi_less_i64);
    case HI_BY_F64: return best_known(q, best, begin, end, 8, hi_less_f64);
    case HI_BY_PAIR: return best_known(q, best, begin, end, 16, hi_less_pair);
    case HI_BY_CALL: break;
    }
    return best_of(q, best, begin, end, q->size, hi_less_call);
}

static void best_of_piece(heist_ctx c, size_t begin, size_t end, void *sum,
                          void *arg)
{
    size_t *best = sum;
    (void)c;
    if (*best == HEIST_NONE) *best = begin++;
    *best = best_in(arg, *best, begin, end);
}

static void better(void *left, const void *right, void *arg)
{
    size_t *best = left, other = *(const size_t *)right;
    *best = best_in(arg, *best, other, other + 1);
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
