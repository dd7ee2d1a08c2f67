/* SPDX-License-Identifier: MIT */
#include "algo/merge.h"
#include "inputs.h"
#include "known.h"

enum {
    MOST = 100000
};

/* The key in the upper half, where it was in the lower one. */
static int by_upper(const void *a, const void *b, void *arg)
{
    uint64_t x, y;
    (void)arg;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x >> 32 > y >> 32) - (x >> 32 < y >> 32);
}

static int by_whole(const void *a, const void *b)
{
    return heist_by_u64(a, b, NULL);
}

/* n sorted keys with their places from `first` on, `size` bytes apart. */
static char *sorted(input_shape shape, size_t n, size_t size, size_t first,
                    uint64_t *seed)
{
    uint64_t *key = malloc((n + 1) * sizeof *key);
    char *a = malloc(n * size + 1);
    input_fill(shape, key, n, seed);
    for (size_t i = 0; i < n; i++)
        key[i] = key[i] >> 32 << 32;
    qsort(key, n, sizeof *key, by_whole);
    for (size_t i = 0; i < n; i++) {
        uint64_t x = key[i] | (first + i);
        memset(a + i * size, (int)(first + i), size);
        memcpy(a + i * size, &x, sizeof x);
    }
    free(key);
    return a;
}

static void check_merge(heist_ctx c, input_shape shape, size_t a_n, size_t b_n,
                        size_t size, uint64_t *seed)
{
    char *a = sorted(shape, a_n, size, 0, seed);
    char *b = sorted(shape, b_n, size, a_n, seed);
    char *out = malloc((a_n + b_n) * size + 1);
    out[(a_n + b_n) * size] = 77;
    heist_merge(c, out, a, a_n, b, b_n, size, by_upper, NULL);
    size_t i = 0, k = 0;
    for (size_t at = 0; at < a_n + b_n; at++) {
        bool from_b = i == a_n || (k < b_n && by_upper(b + k * size,
                                                       a + i * size, NULL) < 0);
        const char *wanted = from_b ? b + k++ * size : a + i++ * size;
        CHECK(memcmp(out + at * size, wanted, size) == 0);
    }
    CHECK_EQ(out[(a_n + b_n) * size], 77);
    free(a);
    free(b);
    free(out);
}

static void merges(heist_ctx c, void *arg)
{
    static const size_t sizes[] = {8, 16, 24, 32, 13, 200};
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t a_n = 0; a_n <= 100; a_n++)
        for (size_t b_n = 0; b_n <= 100; b_n += a_n % 7 + 1)
            check_merge(c, INPUT_FEW, a_n, b_n, sizes[a_n % 6], &seed);
    for (int shape = 0; shape < INPUT_SHAPES; shape++) {
        size_t a_n = test_random(&seed) % MOST;
        size_t b_n = test_random(&seed) % MOST;
        check_merge(c, (input_shape)shape, a_n, b_n, 8, &seed);
        check_merge(c, (input_shape)shape, a_n, b_n % 100, 16, &seed);
        check_merge(c, (input_shape)shape, a_n % 100, b_n, 24, &seed);
    }
}

TEST(a_merge_is_stable_and_takes_the_first_array_first)
{
    input_on_all_workers(merges, NULL);
}

/* --- pointers ---------------------------------------------------------------- */

/* n sorted keys with their places, and as many pointers to them. */
typedef struct list {
    char *key;
    char **at; /* not a byte longer: a sanitizer sees what is read beyond */
} list;

static list list_of(size_t n, size_t first, uint64_t *seed)
{
    list l = {sorted(INPUT_RANDOM, n, 8, first, seed),
              malloc(n * sizeof *l.at)};
    for (size_t i = 0; i < n; i++)
        l.at[i] = l.key + i * 8;
    return l;
}

static void list_free(list l)
{
    free(l.key);
    free(l.at);
}

static int by_pointed(const void *a, const void *b, void *arg)
{
    const uint64_t *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return by_upper(x, y, arg);
}

static void merge_pointers(heist_ctx c, void *arg)
{
    enum {
        N = 20000
    };

    uint64_t seed = test_seed;
    list a = list_of(N, 0, &seed), b = list_of(N, N, &seed);
    char **out = malloc(2 * N * sizeof *out);
    (void)arg;
    heist_merge(c, out, a.at, N, b.at, N, sizeof *out, by_pointed, NULL);
    for (size_t i = 1; i < 2 * N; i++)
        CHECK(by_pointed(&out[i - 1], &out[i], NULL) <= 0);
    list_free(a);
    list_free(b);
    free(out);
}

TEST(many_pointers_are_merged_by_what_they_point_to)
{
    input_on_all_workers(merge_pointers, NULL);
}

TEST(what_is_fetched_ahead_is_never_beyond_the_end)
{
    hi_kind k = hi_kind_of_pointers(by_upper, NULL);
    uint64_t seed = test_seed;
    for (size_t a_n = 1; a_n < 20; a_n++)
        for (size_t b_n = 1; b_n < 20; b_n++) {
            list a = list_of(a_n, 0, &seed), b = list_of(b_n, a_n, &seed);
            char **out = malloc((a_n + b_n) * sizeof *out);
            k.merge_far(&k.by, (char *)out, (char *)a.at, a_n, (char *)b.at,
                        b_n);
            for (size_t i = 1; i < a_n + b_n; i++)
                CHECK(by_pointed(&out[i - 1], &out[i], NULL) <= 0);
            list_free(a);
            list_free(b);
            free(out);
        }
}

/* --- is it sorted? --------------------------------------------------------------- */

static void sortedness(heist_ctx c, void *arg)
{
    enum {
        N = 50000
    };

    uint64_t seed = test_seed, *a = malloc((N + 1) * sizeof *a);
    (void)arg;
    CHECK(heist_is_sorted(c, NULL, 0, 8, by_upper, NULL));
    for (size_t i = 0; i < N; i++)
        a[i] = (uint64_t)(i / 3) << 32;
    for (size_t n = 0; n <= 100; n++)
        CHECK(heist_is_sorted(c, a, n, 8, by_upper, NULL));
    CHECK(heist_is_sorted(c, a, N, 8, by_upper, NULL));
    for (int round = 0; round < 100; round++) {
        size_t n = 2 + test_random(&seed) % (round < 50 ? N - 2 : 98);
        if (round == 1) n = 2;
        size_t i = round == 0 ? 1 : 1 + test_random(&seed) % (n - 1);
        uint64_t held = a[i - 1];
        a[i - 1] = a[i] + (UINT64_C(1) << 32);
        CHECK(!heist_is_sorted(c, a, n, 8, by_upper, NULL));
        CHECK(heist_is_sorted(c, a + i, n - i, 8, by_upper, NULL));
        CHECK(heist_is_sorted(c, a, i, 8, by_upper, NULL));
        a[i - 1] = held;
    }
    free(a);
}

TEST(one_descent_anywhere_is_found)
{
    input_on_all_workers(sortedness, NULL);
}

static HEIST_ATOMIC(size_t) comparisons;

static int by_u64_counting(const void *a, const void *b, void *arg)
{
    heist_add_relaxed(&comparisons, 1);
    return heist_by_u64(a, b, arg);
}

static void early_exit(heist_ctx c, void *arg)
{
    enum {
        N = 1 << 20
    };

    uint64_t seed = test_seed, *a = malloc(N * sizeof *a);
    (void)arg;
    input_fill(INPUT_RANDOM, a, N, &seed);
    heist_store_relaxed(&comparisons, 0);
    CHECK(!heist_is_sorted(c, a, N, sizeof *a, by_u64_counting, NULL));
    CHECK(heist_load_relaxed(&comparisons) < 1000);
    free(a);
}

TEST(the_first_descent_ends_the_search)
{
    input_on_all_workers(early_exit, NULL);
}

/* One worker goes from left to right; a piece is a 16th at most. */
static void early_descent(heist_ctx c, void *arg)
{
    enum {
        N = 1 << 20,
        AT = 5000
    };

    uint64_t seed = test_seed, *a = malloc(N * sizeof *a);
    (void)arg;
    input_fill(INPUT_SORTED, a, N, &seed);
    a[AT] = 0;
    heist_store_relaxed(&comparisons, 0);
    CHECK(!heist_is_sorted(c, a, N, sizeof *a, by_u64_counting, NULL));
    CHECK(heist_load_relaxed(&comparisons) < N / 8);
    free(a);
}

TEST(what_comes_after_a_descent_is_not_looked_at)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, early_descent, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- known comparisons ----------------------------------------------------------- */

static void check_known(heist_ctx c, int kind, size_t a_n, size_t b_n,
                        uint64_t *seed)
{
    size_t size = known[kind].size;
    heist_compare_fn *compare = known[kind].compare;
    char *a = malloc((a_n + b_n) * size + 1), *b = a + a_n * size;
    char *out = malloc((a_n + b_n) * size + 1);
    known_fill(a, a_n + b_n, size, seed);
    heist_sort(c, a, a_n, size, compare, NULL);
    heist_sort(c, b, b_n, size, compare, NULL);
    heist_merge(c, out, a, a_n, b, b_n, size, compare, NULL);
    size_t i = 0, k = 0;
    for (size_t at = 0; at < a_n + b_n; at++) {
        const char *x = a + i * size, *y = b + k * size;
        bool from_b = i == a_n || (k < b_n && compare(y, x, NULL) < 0);
        CHECK(memcmp(out + at * size, from_b ? y : x, size) == 0);
        *(from_b ? &k : &i) += 1;
    }
    free(a);
    free(out);
}

static void known_merges(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (int kind = 0; kind < KNOWN; kind++) {
        for (size_t n = 0; n <= 60; n++)
            check_known(c, kind, n, test_random(&seed) % 60, &seed);
        check_known(c, kind, 20000, test_random(&seed) % 20000, &seed);
    }
}

TEST(numbers_and_pairs_are_merged_as_their_comparison_says)
{
    input_on_all_workers(known_merges, NULL);
}

TEST(numbers_and_pairs_are_merged_without_a_call_per_comparison)
{
    for (int kind = 0; kind < KNOWN; kind++) {
        size_t size = known[kind].size;
        hi_kind called = hi_kind_of(size, by_upper, NULL);
        hi_kind k = hi_kind_of(size, known[kind].compare, NULL);
        CHECK(k.merge != called.merge && k.merge_far != called.merge);
        /* Of other elements they look at the beginning. */
        k = hi_kind_of(24, known[kind].compare, NULL);
        CHECK(k.merge == hi_kind_of(24, by_upper, NULL).merge);
    }
}
