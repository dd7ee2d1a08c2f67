/* SPDX-License-Identifier: MIT
 *
 * Sorts, selections and merges against qsort; and with a comparison that
 * contradicts itself: no element is lost.
 */
#include "arrays.h"

enum {
    TEXT = 40 /* bytes of a long key */
};

/* The same for the same elements in any order. */
static uint64_t sum_of(const void *base, size_t n, size_t size)
{
    const uint8_t *byte = base;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++, byte += size) {
        uint64_t hash = 0;
        for (size_t k = 0; k < size; k++)
            hash = mixed(hash + byte[k]);
        sum += hash;
    }
    return sum;
}

static int by_pair(const void *a, const void *b)
{
    const heist_pair *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The n elements from begin_at on, sorted by key, equal ones in their order. */
static char *sorted(job *j, size_t begin_at, size_t n)
{
    heist_pair *pair = room(j, n * sizeof *pair);
    char *out = element_room(j, n * j->size);
    for (size_t i = 0; i < n; i++)
        pair[i] = (heist_pair){key(j, j->element, begin_at + i), i};
    if (n) qsort(pair, n, sizeof *pair, by_pair);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * j->size, element(j, begin_at + pair[i].index),
               j->size);
    return out;
}

static void sort_numbers(heist_ctx c, type t, void *p, size_t n, bool generic)
{
    static heist_compare_fn *const by[TYPES] = {heist_by_i32, heist_by_u32,
                                                heist_by_i64, heist_by_u64,
                                                heist_by_f32, heist_by_f64};
    if (generic) {
        heist_sort(c, p, n, size_of(t), by[t], NULL);
        return;
    }
    switch (t) {
    case I32: heist_sort_i32(c, p, n); break;
    case U32: heist_sort_u32(c, p, n); break;
    case I64: heist_sort_i64(c, p, n); break;
    case U64: heist_sort_u64(c, p, n); break;
    case F32: heist_sort_f32(c, p, n); break;
    default: heist_sort_f64(c, p, n);
    }
}

static bool in_order(long double a, long double b)
{
    if (isnan(a) || isnan(b)) return isnan(b);
    return a < b || (a == b && signbit(a) >= signbit(b));
}

static void check_number_sorts(heist_ctx c, job *j)
{
    uint64_t choice = fuzz_take(&j->in, 1);
    type t = (type)(choice % TYPES);
    void *p = numbers(j, t);
    char *before = copy_of(j, p, j->n * size_of(t));
    begin(j);
    sort_numbers(c, t, p, j->n, choice & 128);
    failed(j, 0);
    for (size_t i = 1; i < j->n; i++)
        if (t == F32 || t == F64)
            FUZZ_CHECK(in_order(value(t, p, i - 1), value(t, p, i)));
        else
            FUZZ_CHECK(value(t, p, i - 1) <= value(t, p, i));
    FUZZ_CHECK(sum_of(p, j->n, size_of(t)) == sum_of(before, j->n, size_of(t)));

    heist_pair *pair = room(j, j->n * sizeof *pair);
    for (size_t i = 0; i < j->n; i++)
        pair[i] = (heist_pair){j->number[i] % j->few, mixed(i) % 64};
    heist_pair *wanted = copy_of(j, pair, j->n * sizeof *pair);
    if (j->n) qsort(wanted, j->n, sizeof *wanted, by_pair);
    heist_pair *same = copy_of(j, pair, j->n * sizeof *pair);
    begin(j);
    heist_sort_pairs(c, pair, j->n);
    heist_sort(c, same, j->n, sizeof *same, heist_by_pair, NULL);
    failed(j, 0);
    FUZZ_CHECK(memcmp(pair, wanted, j->n * sizeof *pair) == 0);
    FUZZ_CHECK(memcmp(same, wanted, j->n * sizeof *pair) == 0);
}

/* A number, or a text of many digits. */
static void cache_key(void *out, const void *in, size_t index, void *arg)
{
    const job *j = arg;
    uint64_t number = key_of(in, arg);
    char text[TEXT + 1];
    (void)index;
    snprintf(text, sizeof text, "%0*x", TEXT, (unsigned)number);
    if (j->key_size <= sizeof number)
        memcpy(out, &number, j->key_size);
    else
        memcpy(out, text + TEXT - j->key_size, j->key_size);
}

static int by_text(const void *a, const void *b, void *arg)
{
    return memcmp(a, b, ((const job *)arg)->key_size);
}

static int sort_by_cached(heist_ctx c, job *j, char *p)
{
    static const size_t sizes[] = {4, 8, 9, TEXT};
    heist_compare_fn *const by[] = {heist_by_u32, heist_by_u64, by_text,
                                    by_text};
    size_t which = (size_t)fuzz_take(&j->in, 1) % 4;
    j->key_size = sizes[which];
    return heist_sort_by_cached_key(c, p, j->n, j->size, j->key_size, cache_key,
                                    by[which], j);
}

static void check_stable_sorts(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    char *wanted = sorted(j, 0, n), *p = copy_of_elements(j);
    int rc = 0;
    begin(j);
    switch (fuzz_take(&j->in, 1) % 3) {
    case 0: rc = heist_sort_stable(c, p, n, size, by_key, j); break;
    case 1: rc = heist_sort_by_key(c, p, n, size, key_of, j); break;
    case 2: rc = sort_by_cached(c, j, p); break;
    }
    bool no_memory = failed(j, rc);
    FUZZ_CHECK(memcmp(p, no_memory ? j->element : wanted, n * size) == 0);
}

static void check_sort(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    uint64_t choice = fuzz_take(&j->in, 1) % 3;
    size_t k = n ? (size_t)fuzz_take(&j->in, 2) % n : 0;
    char *wanted = sorted(j, 0, n), *p = copy_of_elements(j);
    size_t ordered = choice == 0 ? n : choice == 1 ? k + (n > 0) : 0;
    begin(j);
    if (choice == 0) heist_sort(c, p, n, size, by_key, j);
    if (choice == 1) heist_top(c, p, n, size, ordered, by_key, j);
    if (choice == 2 && n) heist_nth(c, p, n, size, k, by_key, j);
    failed(j, 0);
    FUZZ_CHECK(sum_of(p, n, size) == sum_of(wanted, n, size));
    for (size_t i = 0; i < ordered; i++)
        FUZZ_CHECK(key(j, p, i) == key(j, wanted, i));
    for (size_t i = 0; choice == 2 && i < n; i++) {
        uint64_t middle = key(j, wanted, k);
        FUZZ_CHECK(i >= k || key(j, p, i) <= middle);
        FUZZ_CHECK(i != k || key(j, p, i) == middle);
        FUZZ_CHECK(i <= k || key(j, p, i) >= middle);
    }
}

static void check_merge(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    size_t a_n = (size_t)fuzz_take(&j->in, 2) % (n + 1);
    char *wanted = sorted(j, 0, n), *out = element_room(j, n * size);
    char *a = sorted(j, 0, a_n), *b = sorted(j, a_n, n - a_n);
    heist_merge(c, out, a, a_n, b, n - a_n, size, by_key, j);
    FUZZ_CHECK(memcmp(out, wanted, n * size) == 0);
    FUZZ_CHECK(heist_is_sorted(c, out, n, size, by_key, j));
    bool is_sorted = true;
    for (size_t i = 1; i < n; i++)
        is_sorted &= key(j, j->element, i - 1) <= key(j, j->element, i);
    FUZZ_CHECK(heist_is_sorted(c, j->element, n, size, by_key, j) == is_sorted);
}

/* Contradicts itself, but always in the same way. */
static int by_whim(const void *a, const void *b, void *arg)
{
    return (int)(mixed(key_of(a, arg) * 65536 + key_of(b, arg)) % 3) - 1;
}

static void check_whims(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    char *p = copy_of_elements(j);
    uint64_t choice = fuzz_take(&j->in, 1) % 4;
    size_t k = n ? (size_t)fuzz_take(&j->in, 2) % n : 0;
    if (choice == 0) heist_sort(c, p, n, size, by_whim, j);
    if (choice == 1) heist_sort_stable(c, p, n, size, by_whim, j);
    if (choice == 2) heist_top(c, p, n, size, k, by_whim, j);
    if (choice == 3 && n) heist_nth(c, p, n, size, k, by_whim, j);
    FUZZ_CHECK(sum_of(p, n, size) == sum_of(j->element, n, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static operation *const operations[] = {check_number_sorts, check_sort,
                                            check_stable_sorts, check_merge,
                                            check_whims};
    run_one(data, size, operations, sizeof operations / sizeof *operations);
    return 0;
}
