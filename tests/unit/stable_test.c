/* SPDX-License-Identifier: MIT */
#include "inputs.h"

enum {
    MOST = 300000
};

/* --- elements: a key of few or many values, where it was, and some ballast ------ */

/* Of any size from 4 bytes: the key and the old place, then a pattern. */
typedef struct shape {
    size_t size;
    unsigned key_bits; /* the rest of the first 4 or 8 bytes is the place */
} shape;

static const shape shapes[] = {{4, 12},  {8, 32},  {16, 32}, {24, 32},
                               {32, 32}, {40, 32}, {64, 32}, {72, 32},
                               {5, 12},  {13, 32}, {300, 32}};

#define EACH(i, array) \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static void put(const shape *s, char *p, uint64_t key, size_t place)
{
    for (size_t i = 0; i < s->size; i++)
        p[i] = (char)(place * 31 + i);
    if (s->size < 8) {
        uint32_t word = (uint32_t)(key >> 52 << 20 | place);
        memcpy(p, &word, sizeof word);
    } else {
        uint64_t word = key >> 32 << 32 | place;
        memcpy(p, &word, sizeof word);
    }
}

static uint64_t key_of(const shape *s, const char *p)
{
    uint32_t narrow;
    uint64_t wide;
    if (s->size < 8) {
        memcpy(&narrow, p, sizeof narrow);
        return narrow >> 20;
    }
    memcpy(&wide, p, sizeof wide);
    return wide >> 32;
}

static size_t place_of(const shape *s, const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return s->size < 8 ? word & 0xfffff : word;
}

static int by_key(const void *a, const void *b, void *arg)
{
    uint64_t x = key_of(arg, a), y = key_of(arg, b);
    return (x > y) - (x < y);
}

static uint64_t make_key(const void *element, void *arg)
{
    return key_of(arg, element);
}

/* Every element is there, whole, and comes after those that it must follow. */
static void check_stable(const shape *s, const char *base, size_t n)
{
    char whole[300];
    for (size_t i = 0; i < n; i++) {
        const char *p = base + i * s->size, *before = p - s->size;
        put(s, whole, key_of(s, p) << (s->size < 8 ? 52 : 32), place_of(s, p));
        CHECK(memcmp(whole, p, s->size) == 0);
        if (i == 0) continue;
        CHECK(key_of(s, before) <= key_of(s, p));
        if (key_of(s, before) == key_of(s, p))
            CHECK(place_of(s, before) < place_of(s, p));
    }
}

static void fill(const shape *s, char *base, size_t n, input_shape input,
                 uint64_t *seed)
{
    uint64_t *key = malloc((n + 1) * sizeof *key);
    input_fill(input, key, n, seed);
    for (size_t i = 0; i < n; i++)
        put(s, base + i * s->size, key[i], i);
    free(key);
}

/* --- the four ways to sort -------------------------------------------------------- */

static int stable(heist_ctx c, char *base, size_t n, const shape *s)
{
    return heist_sort_stable(c, base, n, s->size, by_key, (void *)s);
}

static int by_number(heist_ctx c, char *base, size_t n, const shape *s)
{
    return heist_sort_by_key(c, base, n, s->size, make_key, (void *)s);
}

/* Keys that end with the element's key; what is before it is of no matter. */
typedef struct cached {
    const shape *shape;
    size_t key_size;
} cached;

static void make_cached(void *out, const void *in, size_t index, void *arg)
{
    const cached *how = arg;
    uint64_t key = key_of(how->shape, in);
    CHECK_EQ(place_of(how->shape, in), index);
    memset(out, (int)index, how->key_size);
    memcpy((char *)out + how->key_size - sizeof key, &key, sizeof key);
}

static int by_cached(const void *a, const void *b, void *arg)
{
    const cached *how = arg;
    uint64_t x, y;
    memcpy(&x, (const char *)a + how->key_size - sizeof x, sizeof x);
    memcpy(&y, (const char *)b + how->key_size - sizeof y, sizeof y);
    return (x > y) - (x < y);
}

static int cached_short(heist_ctx c, char *base, size_t n, const shape *s)
{
    cached how = {s, 12};
    return heist_sort_by_cached_key(c, base, n, s->size, how.key_size,
                                    make_cached, by_cached, &how);
}

static int cached_long(heist_ctx c, char *base, size_t n, const shape *s)
{
    cached how = {s, 56};
    return heist_sort_by_cached_key(c, base, n, s->size, how.key_size,
                                    make_cached, by_cached, &how);
}

typedef int sort_fn(heist_ctx c, char *base, size_t n, const shape *s);

static sort_fn *const sorts[] = {stable, by_number, cached_short, cached_long};

static void check_one(heist_ctx c, sort_fn *sort, const shape *s, size_t n,
                      input_shape input, uint64_t *seed)
{
    char *base = malloc(n * s->size + 1);
    fill(s, base, n, input, seed);
    CHECK_EQ(sort(c, base, n, s), 0);
    check_stable(s, base, n);
    free(base);
}

static void small_sizes(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH(way, sorts)
    EACH(i, shapes)
    for (size_t n = 0; n <= 100; n++)
        for (int input = 0; input < INPUT_SHAPES; input++)
            check_one(c, sorts[way], &shapes[i], n, (input_shape)input, &seed);
}

TEST(every_sort_of_few_elements_of_any_size_is_stable)
{
    input_on_all_workers(small_sizes, NULL);
}

static void large_sizes(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH(way, sorts) for (int input = 0; input < INPUT_SHAPES; input++)
    {
        const shape *s = &shapes[test_random(&seed) % 8];
        size_t n = test_random(&seed) % (MOST / s->size);
        check_one(c, sorts[way], s, n, (input_shape)input, &seed);
    }
    check_one(c, stable, &shapes[1], MOST, INPUT_RANDOM, &seed);
    check_one(c, stable, &shapes[7], MOST / 8, INPUT_RANDOM, &seed);
}

TEST(every_sort_of_many_elements_is_stable)
{
    input_on_all_workers(large_sizes, NULL);
}

/* Pointers to keys with their places. */
static int by_pointed(const void *a, const void *b, void *arg)
{
    const char *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return by_key(x, y, arg);
}

static void pointers(heist_ctx c, void *arg)
{
    enum {
        N = 50000
    };

    const shape *s = &shapes[0]; /* some keys are equal, but not many */
    char *key = malloc(N * s->size), **at = malloc(N * sizeof *at);
    uint64_t seed = test_seed;
    (void)arg;
    fill(s, key, N, INPUT_RANDOM, &seed);
    for (size_t i = 0; i < N; i++)
        at[i] = key + i * s->size;
    CHECK_EQ(heist_sort_stable(c, at, N, sizeof *at, by_pointed, (void *)s), 0);
    for (size_t i = 1; i < N; i++) {
        int order = by_key(at[i - 1], at[i], (void *)s);
        CHECK(order < 0 || (order == 0 && at[i - 1] < at[i]));
    }
    free(at);
    free(key);
}

TEST(pointers_are_sorted_by_what_they_point_to)
{
    input_on_all_workers(pointers, NULL);
}

/* --- what is sorted already ------------------------------------------------------- */

static HEIST_ATOMIC(size_t) comparisons;

static int by_u64_counting(const void *a, const void *b, void *arg)
{
    heist_add_relaxed(&comparisons, 1);
    return heist_by_u64(a, b, arg);
}

static size_t comparisons_of(heist_ctx c, input_shape input, size_t n)
{
    uint64_t *a = malloc(n * sizeof *a), seed = test_seed;
    input_fill(input, a, n, &seed);
    heist_store_relaxed(&comparisons, 0);
    CHECK_EQ(heist_sort_stable(c, a, n, sizeof *a, by_u64_counting, NULL), 0);
    size_t count = heist_load_relaxed(&comparisons);
    for (size_t i = 1; i < n; i++)
        CHECK(a[i - 1] <= a[i]);
    free(a);
    return count;
}

static void natural_runs(heist_ctx c, void *arg)
{
    (void)arg;
    for (size_t n = 2; n <= 32; n++)
        CHECK_EQ(comparisons_of(c, INPUT_SORTED, n), n - 1);
    for (size_t n = 10000; n < 10070; n++) {
        CHECK(comparisons_of(c, INPUT_SORTED, n) < n + 64);
        CHECK(comparisons_of(c, INPUT_EQUAL, n) < n + 64);
        CHECK(comparisons_of(c, INPUT_REVERSED, n) < n + 64);
        CHECK(comparisons_of(c, INPUT_PIPE, n) < 3 * n);
    }
}

TEST(what_is_sorted_or_reversed_takes_one_pass)
{
    input_on_all_workers(natural_runs, NULL);
}

/* log2 n! is 18.5 n for n = 2^20; bisections and blocks take a little more. */
static void few_comparisons(heist_ctx c, void *arg)
{
    (void)arg;
    CHECK(comparisons_of(c, INPUT_RANDOM, 1 << 16) < 16 << 16);
}

TEST(a_sort_compares_less_than_n_log_n_times)
{
    input_on_all_workers(few_comparisons, NULL);
}

/* --- known comparisons -------------------------------------------------------------- */

static void known_f64(heist_ctx c, void *arg)
{
    enum {
        N = 3000
    };

    static const uint64_t odd[] = {
        0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0,
        0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000, 1};
    uint64_t seed = test_seed, got[N], wanted[N];
    (void)arg;
    for (size_t i = 0; i < N; i++) {
        uint64_t r = test_random(&seed);
        got[i] = r % 4 ? odd[r / 4 % 8] : test_random(&seed);
    }
    memcpy(wanted, got, sizeof got);
    CHECK_EQ(heist_sort_stable(c, got, N, 8, heist_by_f64, NULL), 0);
    for (size_t i = 1; i < N; i++) /* insertion: stable beyond doubt */
        for (size_t k = i; k && heist_by_f64(&wanted[k - 1], &wanted[k], 0) > 0;
             k--) {
            uint64_t x = wanted[k];
            wanted[k] = wanted[k - 1];
            wanted[k - 1] = x;
        }
    CHECK(memcmp(got, wanted, sizeof got) == 0);
}

TEST(floats_with_nans_and_zeroes_come_out_as_a_serial_sort_leaves_them)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    CHECK_EQ(heist_run(rt, known_f64, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A key that is a number: the float itself, whatever it is. */
static void float_of(void *out, const void *in, size_t index, void *arg)
{
    (void)index, (void)arg;
    memcpy(out, (const char *)in + 4, 4);
}

static void cached_numbers(heist_ctx c, void *arg)
{
    enum {
        N = 20000
    };

    typedef struct item {
        int32_t place;
        float value;
    } item;

    uint64_t seed = test_seed;
    item *a = malloc(N * sizeof *a);
    (void)arg;
    for (int32_t i = 0; i < N; i++)
        a[i] = (item){i, (float)(int)(test_random(&seed) % 100) - 50};
    CHECK_EQ(heist_sort_by_cached_key(c, a, N, sizeof *a, sizeof(float),
                                      float_of, heist_by_f32, NULL),
             0);
    for (size_t i = 1; i < N; i++) {
        CHECK(a[i - 1].value <= a[i].value);
        if (a[i - 1].value >= a[i].value) CHECK(a[i - 1].place < a[i].place);
    }
    free(a);
}

TEST(cached_keys_that_are_numbers_sort_as_numbers)
{
    input_on_all_workers(cached_numbers, NULL);
}

static HEIST_ATOMIC(size_t) keys_made;

static uint64_t whole_key(const void *element, void *arg)
{
    uint64_t key;
    (void)arg;
    heist_add_relaxed(&keys_made, 1);
    memcpy(&key, element, sizeof key);
    return key;
}

/* Every bit of a key counts: each key is there twice, and there is one that
 * differs from it in one bit. */
static void whole_keys(heist_ctx c, void *arg)
{
    enum {
        N = 30000
    };

    typedef struct item {
        uint64_t key, place;
    } item;

    uint64_t seed = test_seed;
    item *a = malloc(N * sizeof *a);
    (void)arg;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t third = seed + i % (N / 3), key = test_random(&third);
        if (i < N / 3) key ^= UINT64_C(1) << i % 64;
        a[i] = (item){key, i};
    }
    heist_store_relaxed(&keys_made, 0);
    CHECK_EQ(heist_sort_by_key(c, a, N, sizeof *a, whole_key, NULL), 0);
    CHECK_EQ(heist_load_relaxed(&keys_made), N);
    for (size_t i = 1; i < N; i++) {
        CHECK(a[i - 1].key <= a[i].key);
        if (a[i - 1].key == a[i].key) CHECK(a[i - 1].place < a[i].place);
    }
    free(a);
}

TEST(keys_are_made_once_and_every_bit_of_them_counts)
{
    input_on_all_workers(whole_keys, NULL);
}

/* --- comparisons that contradict themselves ------------------------------------------ */

/* Anything at all. */
static int by_dice(const void *a, const void *b, void *arg)
{
    uint64_t x = (uintptr_t)a * 31 + (uintptr_t)b;
    (void)arg;
    x = (x ^ (x >> 15)) * 0x9e3779b97f4a7c15u;
    return (int)(x >> 60) - 8;
}

static int by_never(const void *a, const void *b, void *arg)
{
    (void)a, (void)b, (void)arg;
    return -1;
}

static int by_always(const void *a, const void *b, void *arg)
{
    (void)a, (void)b, (void)arg;
    return 1;
}

static void contradictions(heist_ctx c, void *arg)
{
    static heist_compare_fn *const mad[] = {by_dice, by_never, by_always};
    uint64_t seed = test_seed;
    (void)arg;
    EACH(how, mad) EACH(i, shapes) for (size_t n = 0; n < 9000; n += n / 2 + 1)
    {
        const shape *s = &shapes[i];
        if (s->size > 72) continue;
        char *base = malloc(n * s->size + 1), *seen = calloc(n + 1, 1);
        fill(s, base, n, INPUT_RANDOM, &seed);
        CHECK_EQ(heist_sort_stable(c, base, n, s->size, mad[how], NULL), 0);
        for (size_t k = 0; k < n; k++) {
            size_t place = place_of(s, base + k * s->size);
            CHECK(place < n && !seen[place]);
            seen[place] = 1;
        }
        free(base);
        free(seen);
    }
}

TEST(a_comparison_that_contradicts_itself_loses_no_element)
{
    input_on_all_workers(contradictions, NULL);
}

/* Decides as late as it can which element is how large: the classic way to
 * make a quicksort quadratic. */
typedef struct killer {
    size_t *value;
    size_t n, solid, candidate;
} killer;

static int by_killer(const void *a, const void *b, void *arg)
{
    killer *k = arg;
    size_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (k->value[x] == k->n && k->value[y] == k->n)
        k->value[x == k->candidate ? x : y] = k->solid++;
    if (k->value[x] == k->n)
        k->candidate = x;
    else if (k->value[y] == k->n)
        k->candidate = y;
    return (k->value[x] > k->value[y]) - (k->value[x] < k->value[y]);
}

static void killed(heist_ctx c, void *arg)
{
    enum {
        N = 20000
    };

    killer k = {malloc(N * sizeof(size_t)), N, 0, 0};
    size_t *a = malloc(N * sizeof *a);
    (void)arg;
    for (size_t i = 0; i < N; i++) {
        a[i] = i;
        k.value[i] = N;
    }
    CHECK_EQ(heist_sort_stable(c, a, N, sizeof *a, by_killer, &k), 0);
    for (size_t i = 1; i < N; i++)
        CHECK(k.value[a[i - 1]] <= k.value[a[i]]);
    free(a);
    free(k.value);
}

TEST(an_adversary_gains_nothing)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, killed, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- alignment ------------------------------------------------------------------- */

typedef struct aligned_element {
    uint32_t key;
    char rest[60];
} HEIST_ALIGNED(64) aligned_element;

static int by_aligned_key(const void *a, const void *b, void *arg)
{
    const aligned_element *x = a, *y = b;
    (void)arg;
    CHECK((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    return (x->key > y->key) - (x->key < y->key);
}

static void sort_aligned(heist_ctx c, void *arg)
{
    enum {
        N = 10000
    };

    aligned_element *a = aligned_alloc(64, N * sizeof *a);
    uint64_t seed = 5;
    (void)arg;
    CHECK(a);
    for (unsigned stable = 0; stable < 2; stable++) {
        for (size_t i = 0; i < N; i++)
            a[i].key = (uint32_t)test_random(&seed);
        if (stable)
            CHECK_EQ(heist_sort_stable(c, a, N, sizeof *a, by_aligned_key, 0),
                     0);
        else
            heist_sort(c, a, N, sizeof *a, by_aligned_key, NULL);
        for (size_t i = 1; i < N; i++)
            CHECK(a[i - 1].key <= a[i].key);
    }
    free(a);
}

TEST(a_comparison_gets_elements_that_are_aligned)
{
    CHECK_EQ(heist_run(NULL, sort_aligned, NULL), 0);
}
