/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "known.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>

/* So many iterations would take days. */
#define ENDLESS ((size_t)1 << 40)

enum {
    LARGE = 300000,
    BIG_VALUE = 1000 /* bytes: more than lie on the stack */
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* 0 .. 100, then some at random, up to most. */
static size_t nth_size(size_t i, size_t most, uint64_t *seed)
{
    return i <= 100 ? i : (size_t)(test_random(seed) % (most + 1));
}

/* --- a fold in which the order shows: x -> a * x + b, one after the other --------- */

typedef struct affine {
    uint64_t a, b;
} affine;

static const affine unchanged = {1, 0};

static affine affine_at(size_t i)
{
    uint64_t state = i;
    uint64_t a = test_random(&state), b = test_random(&state);
    return (affine){a | 1, b};
}

static void then(void *left, const void *right, void *arg)
{
    affine *l = left;
    const affine *r = right;
    (void)arg;
    *l = (affine){l->a * r->a, l->b * r->a + r->b};
}

static affine serially(size_t begin, size_t end, affine sum)
{
    for (size_t i = begin; i < end; i++) {
        affine next = affine_at(i);
        then(&sum, &next, NULL);
    }
    return sum;
}

static void fold_affine(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    (void)c, (void)arg;
    CHECK(begin < end);
    affine *s = sum;
    *s = serially(begin, end, *s);
}

static void check_same(affine got, affine wanted)
{
    CHECK_EQ(got.a, wanted.a);
    CHECK_EQ(got.b, wanted.b);
}

static void check_fold(heist_ctx c, void *arg)
{
    int flags = *(int *)arg;
    uint64_t seed = test_seed;
    for (size_t i = 0; i < 110; i++) {
        size_t n = nth_size(i, i < 106 ? 5000 : LARGE, &seed);
        size_t begin = (size_t)(test_random(&seed) % 1000);
        affine got = unchanged;
        CHECK_EQ(heist_fold(c, begin, begin + n, &got, sizeof got, fold_affine,
                            then, NULL, flags),
                 0);
        check_same(got, serially(begin, begin + n, unchanged));
    }
    /* Backwards there is nothing. */
    affine got = {3, 4};
    CHECK_EQ(
        heist_fold(c, 5, 3, &got, sizeof got, fold_affine, then, NULL, flags),
        0);
    check_same(got, (affine){3, 4});
}

TEST(a_fold_keeps_the_serial_order)
{
    int flags[] = {0, HEIST_FIXED_TREE};
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        input_on_all_workers(check_fold, &flags[i]);
}

/* Pieces that last until others have come. */
static HEIST_ATOMIC(int) taken;

static void fold_affine_slowly(heist_ctx c, size_t begin, size_t end, void *sum,
                               void *arg)
{
    pthread_t *root = arg;
    if (!pthread_equal(*root, pthread_self())) heist_add_relaxed(&taken, 1);
    heist_time until = heist_after(20 * HEIST_MICROSECOND);
    while (heist_now() < until)
        sched_yield();
    fold_affine(c, begin, end, sum, NULL);
}

static void check_taken_folds(heist_ctx c, void *arg)
{
    int *flags = arg;
    pthread_t root = pthread_self();
    for (size_t n = 1; n <= 200; n += 37) {
        affine got = unchanged;
        CHECK_EQ(heist_fold(c, 0, n, &got, sizeof got, fold_affine_slowly, then,
                            &root, *flags),
                 0);
        check_same(got, serially(0, n, unchanged));
    }
}

static void on_eager(unsigned workers, heist_root_fn *root, void *arg)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = workers, .exposure = HEIST_EAGER};
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK_EQ(heist_run(rt, root, arg), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(parts_that_others_take_are_combined_in_order)
{
    int flags[] = {0, HEIST_FIXED_TREE};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        heist_store_relaxed(&taken, 0);
        for (int round = 0; round < 100 && !heist_load_relaxed(&taken); round++)
            on_eager(8, check_taken_folds, &flags[i]);
        CHECK(heist_load_relaxed(&taken) > 0);
    }
}

/* A value with its ends far apart. */
typedef struct wide {
    affine first;
    char between[BIG_VALUE - 2 * sizeof(affine)];
    affine last;
} wide;

static void fold_wide(heist_ctx c, size_t begin, size_t end, void *sum,
                      void *arg)
{
    wide *w = sum;
    CHECK_EQ((uintptr_t)sum % _Alignof(wide), 0);
    CHECK_EQ(w->between[0], 'w');
    fold_affine_slowly(c, begin, end, &w->first, arg);
    fold_affine(c, begin, end, &w->last, NULL);
}

static void combine_wide(void *left, const void *right, void *arg)
{
    wide *l = left;
    const wide *r = right;
    then(&l->first, &r->first, arg);
    then(&l->last, &r->last, arg);
}

static void check_wide(heist_ctx c, void *arg)
{
    int *flags = arg;
    pthread_t root = pthread_self();
    wide got = {.first = unchanged, .last = unchanged};
    memset(got.between, 'w', sizeof got.between);
    CHECK_EQ(heist_fold(c, 0, 150, &got, sizeof got, fold_wide, combine_wide,
                        &root, *flags),
             0);
    check_same(got.first, serially(0, 150, unchanged));
    check_same(got.last, got.first);
}

TEST(values_may_be_large)
{
    int flags[] = {0, HEIST_FIXED_TREE};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        input_on_all_workers(check_wide, &flags[i]);
        heist_store_relaxed(&taken, 0);
        for (int round = 0; round < 100 && !heist_load_relaxed(&taken); round++)
            on_eager(8, check_wide, &flags[i]);
        CHECK(heist_load_relaxed(&taken) > 0);
    }
}

/* The widest value on the stack, for vectors of 64 bytes. */
typedef struct vectors {
    uint64_t lane[32];
} HEIST_ALIGNED(64) vectors;

static void fold_vectors(heist_ctx c, size_t begin, size_t end, void *sum,
                         void *arg)
{
    (void)c, (void)arg;
    vectors *v = sum;
    CHECK_EQ((uintptr_t)sum % 64, 0);
    for (size_t i = begin; i < end; i++)
        v->lane[i % 32] += i;
}

static void combine_vectors(void *left, const void *right, void *arg)
{
    (void)arg;
    vectors *l = left;
    const vectors *r = right;
    CHECK_EQ((uintptr_t)right % 64, 0);
    for (size_t k = 0; k < 32; k++)
        l->lane[k] += r->lane[k];
}

static void check_vectors(heist_ctx c, void *arg)
{
    (void)arg;
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        vectors got = {{0}};
        CHECK_EQ(heist_fold(c, 0, 32000, &got, sizeof got, fold_vectors,
                            combine_vectors, NULL, flags),
                 0);
        for (size_t k = 0; k < 32; k++)
            CHECK_EQ(got.lane[k], 1000 * k + 32 * (999 * 1000 / 2));
    }
}

TEST(values_are_aligned_for_vectors)
{
    input_on_all_workers(check_vectors, NULL);
}

/* A fold whose body is parallel itself. */
static void fold_rows(heist_ctx c, size_t begin, size_t end, void *sum,
                      void *arg)
{
    uint64_t *s = sum;
    const uint32_t *row = arg;
    for (size_t i = begin; i < end; i++)
        *s += heist_sum_u32(c, row, 50000) * i;
}

static void add_u64(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void check_rows(heist_ctx c, void *arg)
{
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        uint64_t got = 0;
        CHECK_EQ(heist_fold(c, 0, 100, &got, sizeof got, fold_rows, add_u64,
                            arg, flags),
                 0);
        CHECK_EQ(got, (uint64_t)50000 * 3 * 4950);
    }
}

TEST(the_body_of_a_fold_may_fork)
{
    uint32_t *row = malloc(50000 * sizeof *row);
    for (size_t i = 0; i < 50000; i++)
        row[i] = 3;
    input_on_all_workers(check_rows, row);
    free(row);
}

/* --- a fixed tree -------------------------------------------------------------------- */

typedef struct rounding {
    const double *x;
    bool slow;
    double fold[8], reduce[8]; /* of each size, as somebody has found before */
} rounding;

static const size_t rounding_sizes[8] = {1,    2,    100,   257,
                                         1000, 5000, 50001, LARGE};

static void fold_doubles(heist_ctx c, size_t begin, size_t end, void *sum,
                         void *arg)
{
    rounding *r = arg;
    double *s = sum;
    (void)c;
    if (r->slow) sched_yield();
    for (size_t i = begin; i < end; i++)
        *s += r->x[i];
}

static void add_doubles(void *left, const void *right, void *arg)
{
    rounding *r = arg;
    (void)r;
    *(double *)left += *(const double *)right;
}

static void check_bits(double got, double wanted)
{
    CHECK(memcmp(&got, &wanted, sizeof got) == 0);
}

static void round_off(heist_ctx c, void *arg)
{
    rounding *r = arg;
    bool first = r->fold[0] == 0;
    for (size_t k = 0; k < COUNT_OF(rounding_sizes); k++) {
        size_t n = rounding_sizes[k];
        double fold = 0, reduce = 0;
        CHECK_EQ(heist_fold(c, 0, n, &fold, sizeof fold, fold_doubles,
                            add_doubles, r, HEIST_FIXED_TREE),
                 0);
        CHECK_EQ(heist_reduce(c, &reduce, r->x, n, sizeof reduce, add_doubles,
                              r, HEIST_FIXED_TREE),
                 0);
        if (first) r->fold[k] = fold;
        if (first) r->reduce[k] = reduce;
        check_bits(fold, r->fold[k]);
        check_bits(reduce, r->reduce[k]);
    }
}

/* Numbers of very different sizes: any other order gives other bits. */
static double *wild_doubles(size_t n)
{
    double *x = malloc(n * sizeof *x);
    uint64_t seed = test_seed;
    for (size_t i = 0; i < n; i++) {
        double mantissa = (double)(test_random(&seed) >> 11) * 0x1p-52 - 1;
        x[i] = ldexp(mantissa, (int)(test_random(&seed) % 60));
    }
    return x;
}

TEST(a_fixed_tree_rounds_alike_on_any_number_of_workers)
{
    rounding r = {.x = wild_doubles(LARGE)};
    input_on_all_workers(round_off, &r);
    r.slow = true;
    on_eager(8, round_off, &r);
    on_eager(70, round_off, &r);
    free((void *)r.x);
}

typedef struct sums {
    const double *x;
    const float *y;
    double f64, f32;
} sums;

static void sum_wild(heist_ctx c, void *arg)
{
    sums *s = arg;
    double f64 = heist_sum_f64(c, s->x, LARGE);
    double f32 = heist_sum_f32(c, s->y, LARGE);
    if (s->f64 == 0) s->f64 = f64, s->f32 = f32;
    check_bits(f64, s->f64);
    check_bits(f32, s->f32);
}

TEST(sums_of_floats_round_alike_on_any_number_of_workers)
{
    float *y = malloc(LARGE * sizeof *y);
    sums s = {.x = wild_doubles(LARGE), .y = y};
    for (size_t i = 0; i < LARGE; i++)
        y[i] = (float)s.x[i];
    for (int round = 0; round < 20; round++)
        on_eager(8, sum_wild, &s);
    input_on_all_workers(sum_wild, &s);
    free((void *)s.x);
    free(y);
}

/* --- folds that fail ----------------------------------------------------------------- */

typedef struct failing {
    size_t each; /* one in so many indices fails, ... */
    size_t from; /* ... from which on */
    bool slow;
    HEIST_ATOMIC(size_t) begun; /* pieces behind the first that fails */
} failing;

static size_t first_failure(const failing *f)
{
    return (f->from + f->each - 1) / f->each * f->each;
}

static int fold_or_fail(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    failing *f = arg;
    (void)c;
    if (f->slow) {
        heist_time until = heist_after(5 * HEIST_MICROSECOND);
        while (heist_now() < until)
            sched_yield();
    }
    if (begin > first_failure(f)) heist_add_relaxed(&f->begun, 1);
    for (size_t i = begin; i < end; i++) {
        if (i >= f->from && i % f->each == 0) return -1 - (int)i;
        affine next = affine_at(i);
        then(sum, &next, NULL);
    }
    return 0;
}

static void check_try_fold(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < 240; i++) {
        size_t n = 1 + nth_size(i % 120, 20000, &seed);
        failing f = {.each = 1 + test_random(&seed) % n,
                     .from = test_random(&seed) % (2 * n),
                     .slow = n < 30};
        int flags = i < 120 ? 0 : HEIST_FIXED_TREE;
        affine got = unchanged;
        int rc = heist_try_fold(c, 0, n, &got, sizeof got, fold_or_fail, then,
                                &f, flags);
        size_t first = first_failure(&f);
        CHECK_EQ(rc, first < n ? -1 - (int)first : 0);
        if (rc == 0) check_same(got, serially(0, n, unchanged));
    }
}

TEST(the_failure_of_the_lowest_index_is_returned)
{
    input_on_all_workers(check_try_fold, NULL);
    on_eager(8, check_try_fold, NULL);
}

static void check_prompt(heist_ctx c, void *arg)
{
    (void)arg;
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        failing f = {.each = 1, .from = 40, .slow = true};
        affine got = unchanged;
        CHECK_EQ(heist_try_fold(c, 0, ENDLESS, &got, sizeof got, fold_or_fail,
                                then, &f, flags),
                 -41);
        CHECK_EQ(heist_load_relaxed(&f.begun), 0);
    }
}

TEST(after_a_failure_nothing_behind_it_is_begun)
{
    on_eager(1, check_prompt, NULL);
}

/* The first index fails when somebody else has begun, or nobody wants to. */
static int fail_at_last(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    failing *f = arg;
    if (begin > 0) return fold_or_fail(c, begin, end, sum, arg);
    heist_time until = heist_after(HEIST_SECOND / 10);
    while (!heist_load_relaxed(&f->begun) && heist_now() < until)
        sched_yield();
    return -7;
}

static void check_others_stop(heist_ctx c, void *arg)
{
    failing *f = arg;
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        affine got = unchanged;
        CHECK_EQ(heist_try_fold(c, 0, ENDLESS, &got, sizeof got, fail_at_last,
                                then, f, flags),
                 -7);
    }
}

TEST(after_a_failure_others_stop_too)
{
    failing f = {.each = ENDLESS};
    for (int round = 0; round < 100 && !heist_load_relaxed(&f.begun); round++)
        on_eager(8, check_others_stop, &f);
    CHECK(heist_load_relaxed(&f.begun) > 0);
}

/* --- elements ------------------------------------------------------------------------ */

static void check_reduce(heist_ctx c, void *arg)
{
    affine *a = arg;
    uint64_t seed = test_seed;
    for (size_t i = 0; i < 220; i++) {
        size_t n = nth_size(i % 110, i % 110 < 106 ? 5000 : LARGE, &seed);
        int flags = i < 110 ? 0 : HEIST_FIXED_TREE;
        affine before = {5, i}, got = before;
        CHECK_EQ(heist_reduce(c, &got, a, n, sizeof *a, then, NULL, flags), 0);
        check_same(got, serially(0, n, before));
    }
}

TEST(elements_are_reduced_behind_what_comes_before)
{
    affine *a = malloc(LARGE * sizeof *a);
    for (size_t i = 0; i < LARGE; i++)
        a[i] = affine_at(i);
    input_on_all_workers(check_reduce, a);
    for (int round = 0; round < 3; round++)
        on_eager(8, check_reduce, a);
    free(a);
}

static void add_bytes(void *left, const void *right, void *arg)
{
    unsigned char *l = left;
    const unsigned char *r = right;
    (void)arg;
    for (int k = 0; k < 3; k++)
        l[k] = (unsigned char)(l[k] + r[k]);
}

static void check_odd_size(heist_ctx c, void *arg)
{
    const unsigned char *a = arg;
    for (size_t n = 0; n <= 100; n++) {
        unsigned char got[4] = {1, 2, 3, 4}, wanted[4] = {1, 2, 3, 4};
        for (size_t i = 0; i < n; i++)
            add_bytes(wanted, a + 3 * i, NULL);
        int flags = n % 2 ? HEIST_FIXED_TREE : 0;
        CHECK_EQ(heist_reduce(c, got, a, n, 3, add_bytes, NULL, flags), 0);
        CHECK(memcmp(got, wanted, 4) == 0);
    }
}

TEST(elements_may_have_any_size)
{
    unsigned char a[300];
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (unsigned char)(i * i);
    input_on_all_workers(check_odd_size, a);
}

/* --- plain numbers -------------------------------------------------------------------- */

static uint64_t source[LARGE + 1];

static void fill_source(size_t round, size_t n, uint64_t *seed)
{
    input_fill((input_shape)(round % INPUT_SHAPES), source, n, seed);
}

/* From the bits of the inputs; one in `nans` of them is a NaN. */
static double make_float(uint64_t x, uint64_t nans)
{
    if (nans && x / 8 % nans == 0) return NAN;
    if (x % 1000 == 998) return INFINITY;
    if (x % 1000 == 999) return -INFINITY;
    return (double)(int64_t)x / (1 << 20);
}

static uint64_t make_integer(uint64_t x, uint64_t nans)
{
    (void)nans;
    return x;
}

/* Serial references, and the check against them: of all inputs, the array
 * beginning anywhere. */
#define EXTREMES(type, name, make, least, greatest)                         \
    static void check_extremes_##name(heist_ctx c, size_t n, uint64_t nans) \
    {                                                                       \
        type *all = malloc((n + 1) * sizeof *all), *x = all + n % 2;        \
        for (size_t i = 0; i < n; i++)                                      \
            x[i] = (type)make(source[i], nans);                             \
        type low = greatest, high = least;                                  \
        size_t low_at = n ? 0 : HEIST_NONE, high_at = low_at;               \
        bool low_none = true, high_none = true;                             \
        for (size_t i = 0; i < n; i++) {                                    \
            if (x[i] < low || (low_none && x[i] <= low))                    \
                low = x[i], low_at = i, low_none = false;                   \
            if (x[i] > high || (high_none && x[i] >= high))                 \
                high = x[i], high_at = i, high_none = false;                \
        }                                                                   \
        CHECK(heist_min_##name(c, x, n) == low);                            \
        CHECK(heist_max_##name(c, x, n) == high);                           \
        CHECK_EQ(heist_argmin_##name(c, x, n), low_at);                     \
        CHECK_EQ(heist_argmax_##name(c, x, n), high_at);                    \
        free(all);                                                          \
    }

EXTREMES(int32_t, i32, make_integer, INT32_MIN, INT32_MAX)
EXTREMES(uint32_t, u32, make_integer, 0, UINT32_MAX)
EXTREMES(int64_t, i64, make_integer, INT64_MIN, INT64_MAX)
EXTREMES(uint64_t, u64, make_integer, 0, UINT64_MAX)
EXTREMES(float, f32, make_float, -INFINITY, INFINITY)
EXTREMES(double, f64, make_float, -INFINITY, INFINITY)

static void check_extremes(heist_ctx c, void *arg)
{
    static const uint64_t one_in[] = {0, 1, 2, 7};
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < 110; i++) {
        size_t n = nth_size(i, i < 106 ? 20000 : LARGE, &seed);
        uint64_t nans = one_in[i % COUNT_OF(one_in)];
        fill_source((size_t)test_random(&seed), n, &seed);
        check_extremes_i32(c, n, nans);
        check_extremes_u32(c, n, nans);
        check_extremes_i64(c, n, nans);
        check_extremes_u64(c, n, nans);
        check_extremes_f32(c, n, nans);
        check_extremes_f64(c, n, nans);
    }
}

TEST(extremes_are_the_first_ones_and_never_nan)
{
    input_on_all_workers(check_extremes, NULL);
}

/* The only number that is none is far behind the first block. */
static void check_lonely_infinity(heist_ctx c, void *arg)
{
    double *x = arg;
    CHECK(heist_min_f64(c, x, LARGE) == INFINITY);
    CHECK_EQ(heist_argmin_f64(c, x, LARGE), LARGE / 2);
    CHECK_EQ(heist_argmax_f64(c, x, LARGE), LARGE / 2);
    x[LARGE / 2] = -x[LARGE / 2];
    CHECK_EQ(heist_argmin_f64(c, x, LARGE), LARGE / 2);
    CHECK_EQ(heist_argmax_f64(c, x, LARGE), LARGE / 2);
    x[LARGE / 2] = -x[LARGE / 2];
    CHECK_EQ(heist_argmin_f64(c, x, LARGE / 2), 0);
    CHECK_EQ(heist_argmax_f64(c, x, LARGE / 2), 0);
    CHECK(heist_max_f64(c, x, LARGE / 2) == -INFINITY);
}

TEST(an_infinity_among_nans_is_found)
{
    double *x = malloc(LARGE * sizeof *x);
    for (size_t i = 0; i < LARGE; i++)
        x[i] = NAN;
    x[LARGE / 2] = INFINITY;
    input_on_all_workers(check_lonely_infinity, x);
    free(x);
}

/* Integers wrap; whole numbers of 20 bits are added exactly in floats too. */
#define SUMS(type, name, of, wide)                                   \
    static void check_sum_##name(heist_ctx c, size_t n)              \
    {                                                                \
        type *all = malloc((n + 1) * sizeof *all), *x = all + n % 2; \
        wide sum = 0;                                                \
        for (size_t i = 0; i < n; i++) {                             \
            x[i] = (type)(of);                                       \
            sum += (wide)x[i];                                       \
        }                                                            \
        CHECK((wide)heist_sum_##name(c, x, n) == sum);               \
        free(all);                                                   \
    }

SUMS(int32_t, i32, source[i], uint64_t)
SUMS(uint32_t, u32, source[i], uint64_t)
SUMS(int64_t, i64, source[i], uint64_t)
SUMS(uint64_t, u64, source[i], uint64_t)
SUMS(float, f32, (int64_t)source[i] >> 44, double)
SUMS(double, f64, (int64_t)source[i] >> 44, double)

static void check_sums(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < 110; i++) {
        size_t n = nth_size(i, i < 106 ? 20000 : LARGE, &seed);
        fill_source((size_t)test_random(&seed), n, &seed);
        check_sum_i32(c, n);
        check_sum_u32(c, n);
        check_sum_i64(c, n);
        check_sum_u64(c, n);
        check_sum_f32(c, n);
        check_sum_f64(c, n);
    }
}

TEST(sums_are_right)
{
    input_on_all_workers(check_sums, NULL);
}

/* --- by functions of the user's ---------------------------------------------------------- */

/* Says what it has to say as strongly as an int can. */
static int by_high_half(const void *a, const void *b, void *arg)
{
    uint64_t mask = *(uint64_t *)arg;
    uint64_t x = *(const uint64_t *)a & mask, y = *(const uint64_t *)b & mask;
    return x < y ? INT32_MIN : x > y;
}

static uint64_t high_half(const void *element, void *arg)
{
    return *(const uint64_t *)element & *(uint64_t *)arg;
}

static bool is_odd(const void *element, void *arg)
{
    (void)arg;
    return *(const uint64_t *)element % 2;
}

static void check_by(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < 110; i++) {
        size_t n = nth_size(i, i < 106 ? 20000 : LARGE, &seed), odd = 0;
        size_t low = n ? 0 : HEIST_NONE, high = low;
        uint64_t mask = i % 2 ? UINT64_MAX : (uint64_t)7 << 61;
        fill_source((size_t)test_random(&seed), n, &seed);
        const uint64_t *x = source;
        for (size_t k = 0; k < n; k++) {
            odd += x[k] % 2;
            if ((x[k] & mask) < (x[low] & mask)) low = k;
            if ((x[k] & mask) > (x[high] & mask)) high = k;
        }
        CHECK_EQ(heist_argmin(c, x, n, 8, by_high_half, &mask), low);
        CHECK_EQ(heist_argmax(c, x, n, 8, by_high_half, &mask), high);
        CHECK_EQ(heist_argmin_by_key(c, x, n, 8, high_half, &mask), low);
        CHECK_EQ(heist_argmax_by_key(c, x, n, 8, high_half, &mask), high);
        CHECK_EQ(heist_count(c, x, n, 8, is_odd, NULL), odd);
    }
}

TEST(the_first_best_and_the_count_are_right)
{
    input_on_all_workers(check_by, NULL);
}

static void check_known_best(heist_ctx c, int kind, size_t n, uint64_t *seed)
{
    size_t size = known[kind].size, low = n ? 0 : HEIST_NONE, high = low;
    heist_compare_fn *compare = known[kind].compare;
    char *x = malloc(n * size + 1);
    known_fill(x, n, size, seed);
    for (size_t i = 0; i < n; i++) {
        if (compare(x + i * size, x + low * size, NULL) < 0) low = i;
        if (compare(x + i * size, x + high * size, NULL) > 0) high = i;
    }
    CHECK_EQ(heist_argmin(c, x, n, size, compare, NULL), low);
    CHECK_EQ(heist_argmax(c, x, n, size, compare, NULL), high);
    free(x);
}

static void check_known_bests(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (int kind = 0; kind < KNOWN; kind++) {
        for (size_t n = 0; n <= 100; n++)
            check_known_best(c, kind, n, &seed);
        check_known_best(c, kind, LARGE / 5, &seed);
    }
}

TEST(the_best_of_numbers_and_pairs_is_what_their_comparison_says)
{
    input_on_all_workers(check_known_bests, NULL);
}

static void note_first(heist_ctx c, size_t begin, size_t end, void *sum,
                       void *arg)
{
    (void)c;
    (void)sum;
    if (begin == 0) *(size_t *)arg = end;
}

static void combine_nothing(void *left, const void *right, void *arg)
{
    (void)left;
    (void)right;
    (void)arg;
}

static void first_piece(heist_ctx c, void *arg)
{
    char nothing = 0;
    CHECK_EQ(heist_fold(c, 0, 300000, &nothing, 1, note_first, combine_nothing,
                        arg, 0),
             0);
}

/* Or, if its iterations are dear, others would not be heard for long. */
TEST(a_long_fold_begins_with_few_iterations)
{
    size_t first = 0;
    CHECK_EQ(heist_run(NULL, first_piece, &first), 0);
    CHECK(first > 0 && first <= 16);
}

static int fail_at_once(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    (void)c;
    (void)sum;
    if (begin == 0) *(size_t *)arg = end;
    return -EIO;
}

static void first_fallible_piece(heist_ctx c, void *arg)
{
    char nothing = 0;
    CHECK_EQ(heist_try_fold(c, 0, 2048, &nothing, 1, fail_at_once,
                            combine_nothing, arg, 0),
             -EIO);
}

TEST(a_fold_that_may_fail_begins_with_one_iteration)
{
    size_t end = 0;
    CHECK_EQ(heist_run(NULL, first_fallible_piece, &end), 0);
    CHECK_EQ(end, 1);
}
