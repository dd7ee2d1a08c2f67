/* SPDX-License-Identifier: MIT
 *
 * Every algorithm over arrays of every shape and of up to ten million elements,
 * on 1, 2, 8 and 70 workers, against serial loops.
 */
#include "inputs.h"
#include "scale.h"

#include <math.h>

enum {
    NANS = INPUT_SHAPES, /* one more shape: every third number is a NaN */
    SHAPES,
    BUCKETS = 256,
    PARTS = 1000
};

/* An array, room for what is made of it, and room for what it should be. */
typedef struct sample {
    size_t n;
    uint64_t *in, *out, *wanted;
    heist_pair *pair; /* keys of which there are few, with their places */
} sample;

static uint64_t *room(size_t n)
{
    uint64_t *p = calloc(n + 1, sizeof *p);
    CHECK(p != NULL);
    return p;
}

static sample sample_of(int shape, size_t n, uint64_t *seed)
{
    static const uint64_t nan = UINT64_C(0x7ff8) << 48;
    sample s = {n, room(n), room(n), room(n), NULL};
    s.pair = (heist_pair *)(void *)room(2 * n);
    input_fill(shape == NANS ? INPUT_RANDOM : (input_shape)shape, s.in, n,
               seed);
    for (size_t i = 0; i < n; i++) {
        if (shape == NANS && i % 3 == 0) s.in[i] = nan | s.in[i] >> 20 << 63;
        s.pair[i] = (heist_pair){s.in[i] >> 48, i};
    }
    return s;
}

static void sample_free(sample *s)
{
    free(s->in);
    free(s->out);
    free(s->wanted);
    free(s->pair);
}

static void check_out(const sample *s, size_t n)
{
    CHECK(memcmp(s->out, s->wanted, n * sizeof *s->out) == 0);
}

/* --- loops ------------------------------------------------------------------------ */

static uint64_t changed(uint64_t x, size_t index)
{
    return x * 3 + index;
}

static void change(heist_ctx c, size_t begin, size_t end, void *arg)
{
    const sample *s = arg;
    (void)c;
    for (size_t i = begin; i < end; i++)
        s->out[i] += changed(s->in[i], i);
}

static bool change_while(heist_ctx c, size_t begin, size_t end, void *arg)
{
    change(c, begin, end, arg);
    return true;
}

static int change_try(heist_ctx c, size_t begin, size_t end, void *arg)
{
    change(c, begin, end, arg);
    return 0;
}

static void change_tile(heist_ctx c, heist_tile t, void *arg)
{
    for (size_t row = t.row; row < t.row_end; row++)
        change(c, row * PARTS + t.column, row * PARTS + t.column_end, arg);
}

static void check_loops(heist_ctx c, sample *s)
{
    size_t n = s->n, whole = n / PARTS * PARTS;
    for (size_t i = 0; i < n; i++) {
        s->out[i] = 0;
        s->wanted[i] = changed(s->in[i], i) * (i < whole ? 5 : 4);
    }
    heist_for(c, 0, n, change, s);
    heist_for_grain(c, 0, n, 777, change, s);
    heist_for_2d(c, whole / PARTS, PARTS, 0, 0, change_tile, s);
    CHECK(heist_for_while(c, 0, n, change_while, s));
    CHECK_EQ(heist_try_for(c, 0, n, change_try, s), 0);
    check_out(s, n);
}

/* --- reductions ---------------------------------------------------------------------- */

/* x -> by * x + plus, one after the other: the order shows. */
typedef struct affine {
    uint64_t by, plus;
} affine;

static void then(void *left, const void *right, void *arg)
{
    affine *l = left;
    const affine *r = right;
    (void)arg;
    *l = (affine){l->by * r->by, l->plus * r->by + r->plus};
}

static void fold(heist_ctx c, size_t begin, size_t end, void *sum, void *arg)
{
    const sample *s = arg;
    (void)c;
    for (size_t i = begin; i < end; i++)
        then(sum, &(affine){s->in[i] | 1, i}, NULL);
}

static bool is_picked(const void *element, void *arg)
{
    (void)arg;
    return *(const uint64_t *)element >> 60 & 1;
}

static void check_folds(heist_ctx c, sample *s)
{
    affine wanted = {1, 0};
    uint64_t sum = 0;
    size_t picked = 0;
    fold(c, 0, s->n, &wanted, s);
    for (size_t i = 0; i < s->n; i++) {
        sum += s->in[i];
        picked += is_picked(&s->in[i], NULL);
    }
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        affine got = {1, 0};
        CHECK_EQ(heist_fold(c, 0, s->n, &got, sizeof got, fold, then, s, flags),
                 0);
        CHECK(got.by == wanted.by && got.plus == wanted.plus);
    }
    CHECK(heist_sum_u64(c, s->in, s->n) == sum);
    CHECK_EQ(heist_count(c, s->in, s->n, 8, is_picked, NULL), picked);
    CHECK_EQ(heist_any(c, s->in, s->n, 8, is_picked, NULL), picked > 0);
    CHECK_EQ(heist_none(c, s->in, s->n, 8, is_picked, NULL), picked == 0);
    CHECK_EQ(heist_all(c, s->in, s->n, 8, is_picked, NULL), picked == s->n);
}

static uint64_t itself(const void *element, void *arg)
{
    (void)arg;
    return *(const uint64_t *)element;
}

static void check_extremes(heist_ctx c, sample *s)
{
    const double *x = (const double *)(void *)s->in;
    size_t n = s->n, low = 0, high = 0, f_low = HEIST_NONE, f_high = HEIST_NONE;
    for (size_t i = 0; i < n; i++) {
        if (s->in[i] < s->in[low]) low = i;
        if (s->in[i] > s->in[high]) high = i;
        if (isnan(x[i])) continue;
        if (f_low == HEIST_NONE || x[i] < x[f_low]) f_low = i;
        if (f_high == HEIST_NONE || x[i] > x[f_high]) f_high = i;
    }
    CHECK_EQ(heist_argmin_u64(c, s->in, n), low);
    CHECK_EQ(heist_argmax_u64(c, s->in, n), high);
    CHECK_EQ(heist_argmin(c, s->in, n, 8, heist_by_u64, NULL), low);
    CHECK_EQ(heist_argmax_by_key(c, s->in, n, 8, itself, NULL), high);
    CHECK_EQ(heist_argmin_f64(c, x, n), f_low == HEIST_NONE ? 0 : f_low);
    CHECK_EQ(heist_argmax_f64(c, x, n), f_high == HEIST_NONE ? 0 : f_high);
    CHECK(heist_min_u64(c, s->in, n) == s->in[low]);
    CHECK(heist_max_u64(c, s->in, n) == s->in[high]);
}

static bool is_equal(const void *element, void *arg)
{
    return *(const uint64_t *)element == *(const uint64_t *)arg;
}

static void check_searches(heist_ctx c, sample *s)
{
    uint64_t value = s->in[s->n / 2];
    size_t first = 0, last = s->n - 1;
    while (s->in[first] != value)
        first++;
    while (s->in[last] != value)
        last--;
    CHECK_EQ(heist_find_first(c, s->in, s->n, 8, is_equal, &value), first);
    CHECK_EQ(heist_find_last(c, s->in, s->n, 8, is_equal, &value), last);
    size_t any = heist_find_any(c, s->in, s->n, 8, is_equal, &value);
    CHECK(any < s->n && s->in[any] == value);
}

/* --- transforms ----------------------------------------------------------------------- */

static void map_changed(void *out, const void *in, size_t index, void *arg)
{
    (void)arg;
    *(uint64_t *)out = changed(*(const uint64_t *)in, index);
}

static void zip_changed(void *out, const void *a, const void *b, size_t index,
                        void *arg)
{
    (void)arg;
    *(uint64_t *)out = changed(*(const uint64_t *)a, index) +
                       *(const uint64_t *)b - *(const uint64_t *)a;
}

static void make_changed(void *out, size_t index, void *arg)
{
    const sample *s = arg;
    *(uint64_t *)out = changed(s->in[index], index);
}

static void check_maps(heist_ctx c, sample *s)
{
    size_t n = s->n;
    for (size_t i = 0; i < n; i++)
        s->wanted[i] = changed(s->in[i], i);
    heist_map(c, s->out, 8, s->in, 8, n, map_changed, NULL);
    check_out(s, n);
    heist_copy(c, s->out, s->in, n, 8);
    heist_map(c, s->out, 8, s->out, 8, n, map_changed, NULL);
    check_out(s, n);
    heist_zip(c, s->out, 8, s->in, 8, s->in, 8, n, zip_changed, NULL);
    check_out(s, n);
    heist_fill(c, s->out, n, 8, &s->in[n / 2]);
    for (size_t i = 0; i < n; i++)
        CHECK(s->out[i] == s->in[n / 2]);
    heist_generate(c, s->out, n, 8, make_changed, s);
    check_out(s, n);
}

/* Turned by a third, and back; cut into parts, and put together. */
static void check_moves(heist_ctx c, sample *s)
{
    size_t n = s->n, *index = (size_t *)(void *)room(n);
    heist_part part[PARTS];
    for (size_t i = 0; i < n; i++)
        index[i] = (i + n / 3) % n;
    heist_gather(c, s->out, s->in, index, n, 8);
    for (size_t i = 0; i < n; i++)
        CHECK(s->out[i] == s->in[index[i]]);
    heist_scatter(c, s->wanted, s->out, index, n, 8);
    CHECK(memcmp(s->wanted, s->in, n * 8) == 0);
    free(index);
    for (size_t i = 0, at = 0; i < PARTS; at += part[i++].n) {
        size_t length = i + 1 < PARTS ? n / PARTS * (i % 3) / 2 : n - at;
        part[i] = (heist_part){s->in + at, length};
    }
    memset(s->out, 0, n * 8);
    CHECK_EQ(heist_flatten(c, s->out, part, PARTS, 8, NULL), n);
    CHECK(memcmp(s->out, s->in, n * 8) == 0);
}

static size_t pack(void *out, const void *in, size_t n, void *arg)
{
    uint64_t *to = out;
    size_t kept = 0;
    for (const uint64_t *from = in; n > 0; n--, from++)
        if (is_picked(from, arg)) to[kept++] = *from;
    return kept;
}

static void check_filters(heist_ctx c, sample *s)
{
    size_t n = s->n, kept = pack(s->wanted, s->in, n, NULL), others = kept;
    CHECK_EQ(heist_filter(c, s->out, s->in, n, 8, is_picked, NULL), kept);
    check_out(s, kept);
    CHECK_EQ(heist_filter_in(c, s->out, s->in, n, 8, pack, NULL), kept);
    check_out(s, kept);
    memcpy(s->out, s->in, n * 8);
    CHECK_EQ(heist_filter(c, s->out, s->out, n, 8, is_picked, NULL), kept);
    check_out(s, kept);
    for (size_t i = 0; i < n; i++)
        if (!is_picked(&s->in[i], NULL)) s->wanted[others++] = s->in[i];
    CHECK_EQ(heist_partition(c, s->out, s->in, n, 8, is_picked, NULL), kept);
    check_out(s, n);
    memcpy(s->out, s->in, n * 8);
    CHECK_EQ(heist_partition(c, s->out, s->out, n, 8, is_picked, NULL), kept);
    check_out(s, n);
}

static uint64_t bucket_of(const void *element, void *arg)
{
    return itself(element, arg) >> 56;
}

static bool are_equal(const void *a, const void *b, void *arg)
{
    (void)arg;
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

static void check_counts(heist_ctx c, sample *s)
{
    size_t n = s->n, kept = 0, counts[BUCKETS] = {0}, wanted[BUCKETS] = {0};
    for (size_t i = 0; i < n; i++) {
        wanted[bucket_of(&s->in[i], NULL)]++;
        if (i == 0 || s->in[i] != s->in[i - 1]) s->wanted[kept++] = s->in[i];
    }
    CHECK_EQ(heist_histogram(c, counts, BUCKETS, s->in, n, 8, bucket_of, NULL),
             0);
    CHECK(memcmp(counts, wanted, sizeof counts) == 0);
    CHECK_EQ(heist_unique(c, s->out, s->in, n, 8, NULL, NULL), kept);
    check_out(s, kept);
    memcpy(s->out, s->in, n * 8);
    CHECK_EQ(heist_unique(c, s->out, s->out, n, 8, are_equal, NULL), kept);
    check_out(s, kept);
}

/* --- scans ------------------------------------------------------------------------------ */

static void add(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void check_scans(heist_ctx c, sample *s)
{
    for (int way = 0; way < 4; way++) {
        heist_scan_kind kind = way & 1 ? HEIST_EXCLUSIVE : HEIST_INCLUSIVE;
        const uint64_t *in = way & 2 ? s->out : s->in;
        uint64_t sum = 0, total = 0;
        for (size_t i = 0; i < s->n; i++) {
            sum += s->in[i];
            s->wanted[i] = kind == HEIST_INCLUSIVE ? sum : sum - s->in[i];
        }
        memcpy(s->out, s->in, s->n * 8);
        CHECK_EQ(heist_scan_u64(c, s->out, in, s->n, kind), 0);
        check_out(s, s->n);
        memcpy(s->out, s->in, s->n * 8);
        CHECK_EQ(heist_scan(c, s->out, in, s->n, 8, add, &total, NULL, kind),
                 0);
        check_out(s, s->n);
        CHECK(total == sum);
    }
}

/* --- sorts ------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b, void *arg)
{
    return heist_by_u64(a, b, arg);
}

static void check_number_sorts(heist_ctx c, sample *s)
{
    size_t n = s->n, k = n / 3;
    uint64_t print = input_print(s->in, n);
    heist_copy(c, s->wanted, s->in, n, 8);
    heist_sort_u64(c, s->wanted, n);
    CHECK(input_print(s->wanted, n) == print);
    for (size_t i = 1; i < n; i++)
        CHECK(s->wanted[i - 1] <= s->wanted[i]);
    CHECK(heist_is_sorted(c, s->wanted, n, 8, by_number, NULL));
    heist_copy(c, s->out, s->in, n, 8);
    heist_sort(c, s->out, n, 8, by_number, NULL);
    check_out(s, n);
    heist_copy(c, s->out, s->in, n, 8);
    heist_top(c, s->out, n, 8, k, by_number, NULL);
    check_out(s, k);
    heist_copy(c, s->out, s->in, n, 8);
    heist_nth(c, s->out, n, 8, k, heist_by_u64, NULL);
    CHECK(s->out[k] == s->wanted[k] && input_print(s->out, n) == print);
    for (size_t i = 0; i < n; i++)
        CHECK(i < k ? s->out[i] <= s->out[k] : s->out[i] >= s->out[k]);
    heist_copy(c, s->out, s->in, n, 8);
    heist_sort_f64(c, (double *)(void *)s->out, n);
    CHECK(input_print(s->out, n) == print);
    for (size_t i = 1; i < n; i++)
        CHECK(heist_by_f64(&s->out[i - 1], &s->out[i], NULL) <= 0);
}

static int by_key(const void *a, const void *b, void *arg)
{
    const heist_pair *x = a, *y = b;
    (void)arg;
    return (x->key > y->key) - (x->key < y->key);
}

static uint64_t key_of(const void *element, void *arg)
{
    (void)arg;
    return ((const heist_pair *)element)->key;
}

static void copy_key(void *out, const void *in, size_t index, void *arg)
{
    (void)index, (void)arg;
    memcpy(out, in, 12); /* 4 bytes of the place: nobody looks at them */
}

static void check_stable_sorts(heist_ctx c, sample *s)
{
    size_t n = s->n, half = n / 2;
    heist_pair *a = (heist_pair *)(void *)room(2 * n);
    heist_pair *b = (heist_pair *)(void *)room(2 * n);
    for (int way = 0; way < 4; way++) {
        heist_copy(c, a, s->pair, n, sizeof *a);
        int rc = 0;
        if (way == 0) rc = heist_sort_stable(c, a, n, sizeof *a, by_key, NULL);
        if (way == 1) rc = heist_sort_by_key(c, a, n, sizeof *a, key_of, NULL);
        if (way == 2)
            rc = heist_sort_by_cached_key(c, a, n, sizeof *a, 12, copy_key,
                                          by_key, NULL);
        if (way == 3) heist_sort_pairs(c, a, n);
        CHECK_EQ(rc, 0);
        for (size_t i = 0; i < n; i++) {
            CHECK(a[i].key == s->in[a[i].index] >> 48);
            CHECK(i == 0 || heist_by_pair(&a[i - 1], &a[i], NULL) < 0);
        }
    }
    heist_copy(c, b, s->pair, n, sizeof *b);
    CHECK_EQ(heist_sort_stable(c, b, half, sizeof *b, by_key, NULL), 0);
    CHECK_EQ(heist_sort_stable(c, b + half, n - half, sizeof *b, by_key, NULL),
             0);
    memset(a, 0, n * sizeof *a);
    heist_merge(c, a, b, half, b + half, n - half, sizeof *b, by_key, NULL);
    for (size_t i = 1; i < n; i++)
        CHECK(heist_by_pair(&a[i - 1], &a[i], NULL) < 0);
    free(a);
    free(b);
}

/* --- all of them -------------------------------------------------------------------------- */

static void run_all(heist_ctx c, void *arg)
{
    static void (*const checks[])(heist_ctx c, sample * s) = {
        check_loops, check_folds,        check_extremes,    check_searches,
        check_maps,  check_moves,        check_filters,     check_counts,
        check_scans, check_number_sorts, check_stable_sorts};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](c, arg);
}

/* Up to `most`, with as many of each length. */
static size_t any_size(size_t most, uint64_t *seed)
{
    size_t below = most >> test_random(seed) % 16;
    return 1 + (size_t)(test_random(seed) % (below + 1));
}

TEST(every_algorithm_does_what_a_serial_loop_would_for_ten_million)
{
    static const unsigned workers[] = {1, 2, 8, 70};
    uint64_t seed = test_seed;
    size_t most = (size_t)scaled(10000000);
    for (int w = 0; w < 4; w++) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers[w]}), 0);
        for (int shape = 0; shape < SHAPES; shape++) {
            bool full = shape == w; /* another shape for each */
            size_t n = full ? most : any_size(most, &seed);
            sample s = sample_of(shape, n, &seed);
            CHECK_EQ(heist_run(rt, run_all, &s), 0);
            sample_free(&s);
        }
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}
