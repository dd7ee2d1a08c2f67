/* SPDX-License-Identifier: MIT */
#include "algo/order.h"
#include "inputs.h"

#include <math.h>

#define EACH(i, array) \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

/* --- numbers: the result is known bit by bit --------------------------------- */

/* A way to sort elements of some type. */
typedef struct kind {
    const char *name;
    size_t size;
    heist_compare_fn *compare;
    void (*sort)(heist_ctx c, void *base, size_t n);
} kind;

static void sort_i32(heist_ctx c, void *base, size_t n)
{
    heist_sort_i32(c, base, n);
}

static void sort_u32(heist_ctx c, void *base, size_t n)
{
    heist_sort_u32(c, base, n);
}

static void sort_i64(heist_ctx c, void *base, size_t n)
{
    heist_sort_i64(c, base, n);
}

static void sort_u64(heist_ctx c, void *base, size_t n)
{
    heist_sort_u64(c, base, n);
}

static void sort_f32(heist_ctx c, void *base, size_t n)
{
    heist_sort_f32(c, base, n);
}

static void sort_f64(heist_ctx c, void *base, size_t n)
{
    heist_sort_f64(c, base, n);
}

static void sort_pairs(heist_ctx c, void *base, size_t n)
{
    heist_sort_pairs(c, base, n);
}

static const kind kinds[] = {
    {"i32", 4, heist_by_i32, sort_i32},     {"u32", 4, heist_by_u32, sort_u32},
    {"i64", 8, heist_by_i64, sort_i64},     {"u64", 8, heist_by_u64, sort_u64},
    {"f32", 4, heist_by_f32, sort_f32},     {"f64", 8, heist_by_f64, sort_f64},
    {"pair", 16, heist_by_pair, sort_pairs}};

/* The reference needs no runtime, and no order of its own. */
static int compare_i32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return !!isnan(x) - !!isnan(y);
    if (x == y) return !!signbit(y) - !!signbit(x);
    return x > y ? 1 : -1;
}

static int compare_f32(const void *a, const void *b)
{
    double x = (double)*(const float *)a, y = (double)*(const float *)b;
    return compare_f64(&x, &y);
}

static int compare_pair(const void *a, const void *b)
{
    const heist_pair *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int (*const references[])(const void *a, const void *b) = {
    compare_i32, compare_u32, compare_i64, compare_u64,
    compare_f32, compare_f64, compare_pair};

enum {
    MOST = 300000
};

/* Bits that make for numbers of every sort: NaNs of both signs, both zeros. */
static uint64_t strange(uint64_t *seed)
{
    static const double some[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY};
    uint64_t r = test_random(seed), bits;
    double d = some[r % 6];
    float f = (float)d;
    uint32_t low;
    memcpy(&low, &f, 4);
    memcpy(&bits, &d, 8);
    if (r % 7 < 2) return bits;
    if (r % 7 < 4) return low | (uint64_t)low << 32;
    if (r % 7 == 4) return (r & HI_TOP_64) | (uint64_t)0x7ff8 << 48 | r >> 40;
    if (r % 7 == 5) return r | 0x7f8000007f800000u;
    return r;
}

/* Fills n elements of a kind by n 64-bit numbers of a shape. */
static void fill(const kind *k, input_shape shape, void *base, size_t n,
                 uint64_t *seed)
{
    uint64_t *numbers = malloc((n + 1) * 8);
    char *p = base;
    CHECK(numbers != NULL);
    input_fill(shape, numbers, n, seed);
    for (size_t i = 0; i < n; i++, p += k->size) {
        uint64_t x = shape == INPUT_SHAPES ? strange(seed) : numbers[i];
        uint64_t index = test_random(seed) % (n / 2 + 1);
        uint32_t high = (uint32_t)(x >> 32);
        memcpy(p, k->size == 4 ? (void *)&high : &x, k->size == 4 ? 4 : 8);
        if (k->size == 16) memcpy(p + 8, &index, 8);
    }
    free(numbers);
}

static bool is_nan(const kind *k, const char *p)
{
    float f;
    double d;
    memcpy(&f, p, 4);
    memcpy(&d, p, k->size < 8 ? 4 : 8);
    if (k->compare == heist_by_f32) return isnan(f);
    return k->compare == heist_by_f64 && isnan(d);
}

static uint64_t sum_of(const char *base, size_t bytes)
{
    uint64_t sum = 0, word = 0;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        memcpy(&word, base + i, 4);
        sum += word * word;
    }
    return sum;
}

/* What `got` is must be what a reference makes of `want`; NaNs keep their bits
 * but are in any order. */
static void check_sorted(const kind *k, const char *got, char *want, size_t n)
{
    size_t numbers = n, bytes = n * k->size;
    qsort(want, n, k->size, references[k - kinds]);
    while (numbers && is_nan(k, want + (numbers - 1) * k->size))
        numbers--;
    CHECK(numbers == 0 || memcmp(got, want, numbers * k->size) == 0);
    for (size_t i = numbers; i < n; i++)
        CHECK(is_nan(k, got + i * k->size));
    CHECK_EQ(sum_of(got, bytes), sum_of(want, bytes));
}

static char *new_bytes(size_t n)
{
    char *p = malloc(n + 1);
    CHECK(p != NULL);
    return p;
}

/* Sorts by the function of the kind, and by the general one at an odd address. */
static void check_kind(heist_ctx c, const kind *k, input_shape shape, size_t n,
                       uint64_t *seed)
{
    size_t bytes = n * k->size;
    char *in = new_bytes(bytes), *got = new_bytes(bytes);
    char *want = new_bytes(bytes);
    fill(k, shape, in, n, seed);
    memcpy(got, in, bytes);
    memcpy(want, in, bytes);
    k->sort(c, got, n);
    check_sorted(k, got, want, n);
    char *odd = new_bytes(bytes + 1) + 1;
    memcpy(odd, in, bytes);
    heist_sort(c, odd, n, k->size, k->compare, NULL);
    CHECK(bytes == 0 || memcmp(odd, got, bytes) == 0);
    free(odd - 1);
    free(in);
    free(got);
    free(want);
}

static void small_kinds(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH(k, kinds)
    {
        for (int shape = 0; shape <= INPUT_SHAPES; shape++) {
            for (size_t n = 0; n <= 100; n++)
                check_kind(c, &kinds[k], (input_shape)shape, n, &seed);
        }
    }
}

TEST(numbers_of_every_kind_and_small_count_are_sorted)
{
    input_on_all_workers(small_kinds, NULL);
}

static void large_kinds(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    EACH(k, kinds)
    {
        for (int shape = 0; shape <= INPUT_SHAPES; shape++) {
            size_t most = test_random(seed) % 4 ? 3000 : 60000;
            check_kind(c, &kinds[k], (input_shape)shape,
                       test_random(seed) % most, seed);
        }
    }
}

TEST(numbers_of_every_kind_and_any_count_are_sorted)
{
    uint64_t seed = test_seed;
    input_on_all_workers(large_kinds, &seed);
}

/* Numbers that are not spread evenly over their range. */
static uint64_t skewed(int how, size_t i, uint64_t *seed)
{
    uint64_t r = test_random(seed);
    switch (how) {
    case 0: return r >> r % 64; /* as many of each length */
    case 1: return i == 4711 ? UINT64_MAX : r >> 44; /* one far away */
    case 2: return r % 5 << 40 | r >> 60;            /* few, and then few */
    case 3: return (r & 1) << 63 | (r >> 1 & 0xfff);
    case 4: return r % 100 ? 7 : r;        /* nearly all the same */
    case 5: return i == 66000 ? r : r % 5; /* one that no sample finds */
    case 6: return r % 3 * (UINT64_MAX / 3) + (r >> 50);
    default: return r & 0x8000000080000001u;
    }
}

static void skewed_numbers(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    uint64_t *got = (uint64_t *)(void *)new_bytes(MOST * 8);
    uint64_t *want = (uint64_t *)(void *)new_bytes(MOST * 8);
    for (int how = 0; how < 8; how++) {
        size_t n =
            how == 1 || how == 3 ? 20000 + test_random(seed) % 20000 : 70000;
        if (how == 0 || how == 4) n = 150000;
        for (size_t i = 0; i < n; i++)
            want[i] = got[i] = skewed(how, i, seed);
        heist_sort_u64(c, got, n);
        qsort(want, n, 8, compare_u64);
        CHECK(memcmp(got, want, n * 8) == 0);
        for (size_t i = 0; i < n / 2; i++)
            want[i] = got[i] = skewed(how, i / 2 * 2, seed);
        heist_sort_pairs(c, (heist_pair *)(void *)got, n / 4);
        qsort(want, n / 4, 16, compare_pair);
        CHECK(memcmp(got, want, n / 4 * 16) == 0);
    }
    free(got);
    free(want);
}

TEST(numbers_that_are_not_spread_evenly_are_sorted)
{
    uint64_t seed = test_seed;
    input_on_all_workers(skewed_numbers, &seed);
}

enum {
    MANY = 1200000 /* enough for digits as wide as they get */
};

static void many_numbers(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    uint64_t *a = (uint64_t *)(void *)new_bytes(MANY * 8);
    static const int hows[] = {0, 1, 4, 6};
    EACH(h, hows)
    {
        for (size_t i = 0; i < MANY; i++)
            a[i] = skewed(hows[h], i, seed);
        uint64_t print = input_print(a, MANY);
        heist_sort_i64(c, (int64_t *)a, MANY);
        for (size_t i = 1; i < MANY; i++)
            CHECK((int64_t)a[i - 1] <= (int64_t)a[i]);
        CHECK(input_print(a, MANY) == print);
    }
    free(a);
}

TEST(many_numbers_are_sorted)
{
    uint64_t seed = test_seed;
    input_on_all_workers(many_numbers, &seed);
}

TEST(zeros_have_signs_and_nans_come_last)
{
    static const double d[] = {-INFINITY, -1e300, -1.0, -5e-324,  -0.0, 0.0,
                               5e-324,    1.0,    2.0,  INFINITY, NAN};
    EACH(i, d) EACH(j, d)
    {
        float x = (float)d[i], y = (float)d[j];
        double minus = copysign(NAN, -1.0);
        int want = (i > j) - (i < j);
        CHECK_EQ(heist_by_f64(&d[i], &d[j], NULL), want);
        if (i < 10) CHECK_EQ(heist_by_f64(&d[i], &minus, NULL), -1);
        if (d[i] == (double)x && d[j] == (double)y)
            CHECK_EQ(heist_by_f32(&x, &y, NULL), want);
    }
}

TEST(keys_give_the_numbers_back)
{
    uint64_t seed = test_seed;
    for (int i = 0; i < 10000; i++) {
        uint64_t x = strange(&seed);
        uint32_t y = (uint32_t)x;
        CHECK(hi_bits_64(hi_key_64(x, HI_BY_F64), HI_BY_F64) == x);
        CHECK(hi_bits_64(hi_key_64(x, HI_BY_I64), HI_BY_I64) == x);
        CHECK(hi_bits_32(hi_key_32(y, HI_BY_F32), HI_BY_F32) == y);
        CHECK(hi_bits_32(hi_key_32(y, HI_BY_I32), HI_BY_I32) == y);
    }
}

/* --- elements of any size: a number of one to three bytes, then who it is ------- */

typedef struct thing {
    size_t size;
    HEIST_ATOMIC(size_t) calls;
} thing;

static uint32_t number_of(const void *element, size_t size)
{
    const unsigned char *p = element;
    uint32_t number = p[0];
    if (size > 1) number = number << 8 | p[1];
    if (size > 6) number = number << 8 | p[2];
    return number;
}

static int by_number(const void *a, const void *b, void *arg)
{
    thing *t = arg;
    uint32_t x = number_of(a, t->size), y = number_of(b, t->size);
    heist_add_relaxed(&t->calls, 1);
    return (x > y) - (x < y);
}

static void fill_things(input_shape shape, unsigned char *p, size_t n,
                        size_t size, uint64_t *seed)
{
    uint64_t *numbers = (uint64_t *)(void *)new_bytes(n * 8);
    input_fill(shape, numbers, n, seed);
    for (size_t i = 0; i < n; i++, p += size) {
        for (size_t byte = 0; byte < size; byte++)
            p[byte] = (unsigned char)(byte * 37);
        for (size_t byte = 0; byte < 3 && byte < size; byte++)
            p[byte] = (unsigned char)(numbers[i] >> (56 - 8 * byte));
        uint32_t who = (uint32_t)i;
        if (size > 6) memcpy(p + size - 4, &who, 4);
    }
    free(numbers);
}

/* Everybody is there once, unharmed. */
static void check_everybody(const unsigned char *in, const unsigned char *out,
                            size_t n, size_t size)
{
    uint64_t numbers = 0;
    for (size_t i = 0; i < n; i++) {
        numbers += number_of(in + i * size, size);
        numbers -= number_of(out + i * size, size);
    }
    CHECK_EQ(numbers, 0);
    if (size <= 6) return;
    char *seen = calloc(n + 1, 1);
    CHECK(seen != NULL);
    for (size_t i = 0; i < n; i++) {
        uint32_t who;
        memcpy(&who, out + (i + 1) * size - 4, 4);
        CHECK(who < n && !seen[who]);
        seen[who] = 1;
        CHECK(memcmp(out + i * size, in + who * size, size) == 0);
    }
    free(seen);
}

static void check_things(heist_ctx c, input_shape shape, size_t n, size_t size,
                         uint64_t *seed)
{
    thing t = {.size = size};
    unsigned char *in = (unsigned char *)new_bytes(n * size);
    unsigned char *out = (unsigned char *)new_bytes(n * size);
    fill_things(shape, in, n, size, seed);
    memcpy(out, in, n * size);
    heist_sort(c, out, n, size, by_number, &t);
    for (size_t i = 1; i < n; i++)
        CHECK(by_number(out + (i - 1) * size, out + i * size, &t) <= 0);
    check_everybody(in, out, n, size);
    free(in);
    free(out);
}

static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 64, 100, 300, 700};

static void small_things(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    EACH(s, sizes)
    {
        for (int shape = 0; shape < INPUT_SHAPES; shape++) {
            for (size_t n = 0; n <= 100; n += shape % 3 ? 1 : 2)
                check_things(c, (input_shape)shape, n, sizes[s], seed);
        }
    }
}

TEST(elements_of_any_size_and_small_count_are_sorted)
{
    uint64_t seed = test_seed;
    input_on_all_workers(small_things, &seed);
}

static void large_things(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    EACH(s, sizes)
    {
        for (int shape = 0; shape < INPUT_SHAPES; shape++) {
            size_t most = test_random(seed) % 8 ? 2000 : 400000 / sizes[s];
            check_things(c, (input_shape)shape, test_random(seed) % most,
                         sizes[s], seed);
        }
    }
}

TEST(elements_of_any_size_and_count_are_sorted)
{
    uint64_t seed = test_seed;
    input_on_all_workers(large_things, &seed);
}

/* Known comparisons of elements that are longer are calls like any other. */
static void padded_numbers(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;

    struct padded {
        uint64_t number, other;
    } *p = (void *)new_bytes(5000 * sizeof *p);

    for (size_t i = 0; i < 5000; i++)
        p[i].other = ~(p[i].number = test_random(seed));
    heist_sort(c, p, 5000, sizeof *p, heist_by_u64, NULL);
    for (size_t i = 0; i < 5000; i++) {
        CHECK(i == 0 || p[i - 1].number <= p[i].number);
        CHECK(p[i].other == ~p[i].number);
    }
    free(p);
}

TEST(a_known_comparison_of_longer_elements_looks_at_their_beginning)
{
    uint64_t seed = test_seed;
    input_on_all_workers(padded_numbers, &seed);
}

/* In order but for the last; so slow that somebody takes a part of it. */
static int by_slow(const void *a, const void *b, void *arg)
{
    for (HEIST_ATOMIC(int) i = {0}; heist_load_relaxed(&i) < 20;)
        heist_add_relaxed(&i, 1);
    return heist_by_u64(a, b, arg);
}

static void last_root(heist_ctx c, void *arg)
{
    uint64_t *a = (uint64_t *)(void *)new_bytes(30000 * 8);
    (void)arg;
    for (int down = 0; down < 2; down++) {
        for (size_t i = 0; i < 30000; i++)
            a[i] = down ? 30000 - i : i;
        a[29999] = down ? 60000 : 0;
        heist_sort(c, a, 30000, 8, by_slow, NULL);
        for (size_t i = 1; i < 30000; i++)
            CHECK(a[i - 1] <= a[i]);
    }
    free(a);
}

TEST(one_that_is_out_of_order_is_noticed)
{
    input_on_all_workers(last_root, NULL);
}

/* n numbers that fall, but for two neighbours at `odd`. */
static void falling_but_for(heist_ctx c, uint64_t *a, size_t n, size_t odd)
{
    for (size_t i = 0; i < n; i++)
        a[i] = n - i;
    if (odd > 0) a[odd] = n - odd + 1, a[odd - 1] = n - odd;
    heist_sort_u64(c, a, n);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(a[i], i + 1);
}

/* It is looked at from both ends, to where they meet. */
static void falling_root(heist_ctx c, void *arg)
{
    static const size_t many[] = {4097, 4098, 14001};
    uint64_t *a = (uint64_t *)(void *)new_bytes(14001 * 8);
    (void)arg;
    for (size_t n = 2; n < 70; n++)
        for (size_t odd = 0; odd < n; odd++)
            falling_but_for(c, a, n, odd);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        for (size_t odd = 4000; odd < many[i]; odd++) /* before: by one */
            falling_but_for(c, a, many[i], odd);
    free(a);
}

TEST(one_that_does_not_fall_is_noticed_wherever_it_is)
{
    input_on_all_workers(falling_root, NULL);
}

static int by_counted(const void *a, const void *b, void *arg)
{
    heist_add_relaxed((HEIST_ATOMIC(size_t) *)arg, 1); /* relaxed: counter */
    return heist_by_u64(a, b, NULL);
}

static void one_look_root(heist_ctx c, void *arg)
{
    enum {
        FALLING = 30000
    };

    uint64_t *a = (uint64_t *)(void *)new_bytes(FALLING * 8);
    HEIST_ATOMIC(size_t) calls = {0};
    (void)arg;
    for (size_t i = 0; i < FALLING; i++)
        a[i] = FALLING - i;
    heist_sort(c, a, FALLING, 8, by_counted, &calls);
    for (size_t i = 0; i < FALLING; i++)
        CHECK_EQ(a[i], i + 1);
    CHECK(heist_load_relaxed(&calls) < 2 * (size_t)FALLING); /* relaxed: test */
    free(a);
}

TEST(what_falls_is_looked_at_and_turned_round)
{
    input_on_all_workers(one_look_root, NULL);
}

/* --- enemies --------------------------------------------------------------------- */

/*
 * Decides only when asked, and so that the pivot is always among the smallest: all
 * elements are "gas", larger than every solid one, until one of two gases that are
 * compared must become solid.  Elements are indices.
 */
typedef struct enemy {
    size_t *value;
    size_t gas, solid, candidate;
    uint64_t calls;
} enemy;

static int by_enemy(const void *a, const void *b, void *arg)
{
    enemy *e = arg;
    size_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    e->calls++;
    if (e->value[x] == e->gas && e->value[y] == e->gas)
        e->value[x == e->candidate ? x : y] = e->solid++;
    if (e->value[x] == e->gas)
        e->candidate = x;
    else if (e->value[y] == e->gas)
        e->candidate = y;
    return (e->value[x] > e->value[y]) - (e->value[x] < e->value[y]);
}

enum {
    ENEMIES = 30000
};

static enemy *new_enemy(size_t n, size_t **index)
{
    enemy *e = calloc(1, sizeof *e);
    *index = malloc(n * sizeof **index);
    CHECK(e && *index);
    e->value = malloc(n * sizeof *e->value);
    CHECK(e->value != NULL);
    e->gas = n;
    for (size_t i = 0; i < n; i++) {
        e->value[i] = e->gas;
        (*index)[i] = i;
    }
    /* Up and down at first: else a look at whether all is sorted makes it so. */
    for (size_t i = 0; i < 64; i++)
        e->value[i] = n + 1 + (i % 2 ? 64 - i : i);
    return e;
}

static void enemy_root(heist_ctx c, void *arg)
{
    size_t *index, n = ENEMIES;
    enemy *e = new_enemy(n, &index);
    if (*(int *)arg == 0)
        heist_sort(c, index, n, sizeof *index, by_enemy, e);
    else
        heist_nth(c, index, n, sizeof *index, n / 2, by_enemy, e);
    CHECK(e->calls < 60 * (uint64_t)n); /* log2 n is 15; a killed one: n * n */
    if (*(int *)arg == 0) { /* and its victims are no better the second time */
        e->calls = 0;
        for (size_t i = 0; i < n; i++)
            index[i] = i;
        heist_sort(c, index, n, sizeof *index, by_enemy, e);
        CHECK(e->calls < 60 * (uint64_t)n);
        for (size_t i = 1; i < n; i++)
            CHECK(e->value[index[i - 1]] <= e->value[index[i]]);
    }
    free(e->value);
    free(e);
    free(index);
}

TEST(no_comparison_makes_it_quadratic)
{
    for (int select = 0; select < 2; select++) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
        CHECK_EQ(heist_run(rt, enemy_root, &select), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

typedef struct liar {
    int how;
    HEIST_ATOMIC(const void *) last;
    HEIST_ATOMIC(uint64_t) calls;
} liar;

static int by_liar(const void *a, const void *b, void *arg)
{
    liar *l = arg;
    uint64_t call = heist_add_relaxed(&l->calls, 1);
    (void)b;
    if (l->how == 0) return -1;
    if (l->how == 1) return 1;
    if (l->how == 2) { /* the same one again is less than everybody */
        bool again = heist_load_relaxed(&l->last) == a;
        heist_store_relaxed(&l->last, a);
        return again || call == 0 ? -1 : 1;
    }
    return (int)(test_random(&call) % 3) - 1;
}

static void liars_root(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    static const size_t some[] = {4, 8, 16, 24, 64, 300};
    EACH(s, some) for (int how = 0; how < 4; how++)
    {
        size_t size = some[s], n = 3000 + test_random(seed) % 20000 / size;
        liar l = {.how = how};
        unsigned char *in = (unsigned char *)new_bytes(n * size);
        unsigned char *out = (unsigned char *)new_bytes((n + 2) * size);
        fill_things(INPUT_RANDOM, in, n, size, seed);
        for (int what = 0; what < 3; what++) {
            memset(out, 0xee, (n + 2) * size);
            unsigned char *base = out + size;
            memcpy(base, in, n * size);
            if (what == 0) heist_sort(c, base, n, size, by_liar, &l);
            if (what == 1) heist_nth(c, base, n, size, n / 3, by_liar, &l);
            if (what == 2) heist_top(c, base, n, size, n / 3, by_liar, &l);
            check_everybody(in, base, n, size);
            for (size_t i = 0; i < size; i++)
                CHECK(out[i] == 0xee && base[n * size + i] == 0xee);
            CHECK(heist_load_relaxed(&l.calls) < n * 200);
            heist_store_relaxed(&l.calls, 0);
        }
        free(in);
        free(out);
    }
}

TEST(a_comparison_that_lies_loses_nobody_and_comes_to_an_end)
{
    uint64_t seed = test_seed;
    input_on_all_workers(liars_root, &seed);
}

/* --- no memory ------------------------------------------------------------------- */

typedef struct miser {
    HEIST_ATOMIC(long) patience; /* so many are granted, then none */
    HEIST_ATOMIC(long) refused;
} miser;

static void *miser_alloc(void *user, size_t bytes, size_t align)
{
    miser *m = user;
    if (heist_sub_relaxed(&m->patience, 1) > 0)
        return aligned_alloc(align, (bytes + align - 1) / align * align);
    heist_add_relaxed(&m->refused, 1);
    return NULL;
}

static void miser_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

typedef struct meanness {
    miser *miser;
    long patience;
} meanness;

static void miser_root(heist_ctx c, void *arg)
{
    meanness *m = arg;
    uint64_t seed = test_seed;
    heist_store_relaxed(&m->miser->patience, m->patience);
    EACH(k, kinds)
    {
        check_kind(c, &kinds[k], INPUT_RANDOM, 45000, &seed);
        check_kind(c, &kinds[k], INPUT_SHAPES, 1000, &seed);
        heist_store_relaxed(&m->miser->patience, m->patience);
    }
    heist_store_relaxed(&m->miser->patience, m->patience);
    check_kind(c, &kinds[5], INPUT_FEW, 140000, &seed);
    heist_store_relaxed(&m->miser->patience, m->patience);
    uint64_t *a = (uint64_t *)(void *)new_bytes(150000 * 8);
    for (size_t i = 0; i < 150000; i++) /* most of them in one bucket */
        a[i] = skewed(1, i, &seed);
    heist_sort_f64(c, (double *)a, 150000);
    for (size_t i = 1; i < 150000; i++)
        CHECK(heist_by_f64(a + i - 1, a + i, NULL) <= 0);
    free(a);
    check_things(c, INPUT_RANDOM, 5000, 300, &seed);
    heist_store_relaxed(&m->miser->patience, 1L << 40);
}

TEST(without_memory_it_sorts_all_the_same)
{
    for (long patience = 0; patience < 4; patience++) {
        miser m = {.patience = {1L << 40}};
        heist_allocator a = {miser_alloc, miser_free, &m};
        heist_config config = {.workers = 2, .allocator = a};
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &config), 0);
        meanness mean = {&m, patience};
        CHECK_EQ(heist_run(rt, miser_root, &mean), 0);
        CHECK(heist_load_relaxed(&m.refused) > 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

/* --- selection -------------------------------------------------------------------- */

static void check_nth(heist_ctx c, const kind *k, input_shape shape, size_t n,
                      size_t at, uint64_t *seed)
{
    size_t bytes = n * k->size;
    char *in = new_bytes(bytes), *got = new_bytes(bytes);
    char *want = new_bytes(bytes);
    fill(k, shape, in, n, seed);
    memcpy(want, in, bytes);
    heist_sort(c, want, n, k->size, k->compare, NULL);
    memcpy(got, in, bytes);
    heist_nth(c, got, n, k->size, at, k->compare, NULL);
    char *nth = got + at * k->size;
    CHECK(memcmp(nth, want + at * k->size, k->size) == 0);
    for (size_t i = 0; i < n; i++) {
        int order = k->compare(got + i * k->size, nth, NULL);
        CHECK(i < at ? order <= 0 : order >= 0);
    }
    heist_sort(c, got, n, k->size, k->compare, NULL);
    CHECK(memcmp(got, want, bytes) == 0);
    memcpy(got, in, bytes);
    heist_top(c, got, n, k->size, at, k->compare, NULL);
    CHECK(memcmp(got, want, at * k->size) == 0);
    heist_sort(c, got, n, k->size, k->compare, NULL);
    CHECK(memcmp(got, want, bytes) == 0);
    free(in);
    free(got);
    free(want);
}

static void nth_root(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    EACH(k, kinds) for (int shape = 0; shape <= INPUT_SHAPES; shape++)
    {
        input_shape s = (input_shape)shape;
        for (size_t n = 1; n <= 60; n += 1 + n / 8)
            check_nth(c, &kinds[k], s, n, test_random(seed) % n, seed);
        size_t n = 1 + test_random(seed) % (shape ? 5000 : 40000);
        size_t places[] = {0, n - 1, n / 2, test_random(seed) % n};
        EACH(p, places) check_nth(c, &kinds[k], s, n, places[p], seed);
    }
}

TEST(nth_and_top_are_what_a_sort_would_have_put_there)
{
    uint64_t seed = test_seed;
    input_on_all_workers(nth_root, &seed);
}

static void nth_things_root(heist_ctx c, void *arg)
{
    uint64_t *seed = arg;
    EACH(s, sizes) for (int shape = 0; shape < INPUT_SHAPES; shape++)
    {
        size_t size = sizes[s], n = 1 + test_random(seed) % (100000 / size);
        size_t at = test_random(seed) % n;
        thing t = {.size = size};
        unsigned char *in = (unsigned char *)new_bytes(n * size);
        unsigned char *out = (unsigned char *)new_bytes(n * size);
        fill_things((input_shape)shape, in, n, size, seed);
        memcpy(out, in, n * size);
        heist_nth(c, out, n, size, at, by_number, &t);
        CHECK(n < 1000 || heist_load_relaxed(&t.calls) < 12 * n);
        for (size_t i = 0; i < n; i++) {
            int order = by_number(out + i * size, out + at * size, &t);
            CHECK(i < at ? order <= 0 : order >= 0);
        }
        check_everybody(in, out, n, size);
        memcpy(out, in, n * size);
        heist_top(c, out, n, size, at, by_number, &t);
        for (size_t i = 1; i < n; i++) {
            size_t left = i < at ? i - 1 : at ? at - 1 : i;
            CHECK(by_number(out + left * size, out + i * size, &t) <= 0);
        }
        check_everybody(in, out, n, size);
        free(in);
        free(out);
    }
}

TEST(nth_and_top_work_for_elements_of_any_size)
{
    uint64_t seed = test_seed;
    input_on_all_workers(nth_things_root, &seed);
}

static void beyond_root(heist_ctx c, void *arg)
{
    uint32_t a[] = {3, 1, 2};
    (void)arg;
    heist_nth(c, a, 3, 4, 3, heist_by_u32, NULL);
    CHECK(a[0] == 3 && a[1] == 1 && a[2] == 2);
    heist_nth(c, a, 0, 4, 0, heist_by_u32, NULL);
    heist_top(c, a, 3, 4, 0, heist_by_u32, NULL);
    heist_top(c, a, 3, 4, 7, heist_by_u32, NULL);
    CHECK(a[0] == 1 && a[1] == 2 && a[2] == 3);
    heist_sort(c, NULL, 0, 4, heist_by_u32, NULL);
    heist_top(c, NULL, 0, 4, 7, heist_by_u32, NULL);
}

TEST(nth_beyond_the_end_does_nothing_and_top_sorts_all)
{
    input_on_all_workers(beyond_root, NULL);
}
