/* SPDX-License-Identifier: MIT
 *
 * Loops, folds, scans, searches and transforms against serial ones.
 */
#include "arrays.h"

/* --- loops ---------------------------------------------------------------------- */

typedef struct visits {
    uint8_t *count;
    size_t first, least, grain, rows, columns, most_rows, most_columns;
    size_t bad[3]; /* where a body ends the loop or fails */
} visits;

static void visit(heist_ctx c, size_t begin_at, size_t end, void *arg)
{
    visits *v = arg;
    (void)c;
    FUZZ_CHECK(begin_at < end && end - begin_at <= v->grain);
    FUZZ_CHECK(end - begin_at >= v->least);
    for (size_t i = begin_at; i < end; i++)
        v->count[i - v->first]++;
}

/* At most what was given, and at least half of it unless there is no more. */
static bool is_side(size_t side, size_t all, size_t given)
{
    if (!given) return true;
    return side <= given && (2 * side >= given || side == all);
}

static void visit_tile(heist_ctx c, heist_tile t, void *arg)
{
    visits *v = arg;
    (void)c;
    FUZZ_CHECK(t.row < t.row_end && t.column < t.column_end);
    FUZZ_CHECK(is_side(t.row_end - t.row, v->rows, v->most_rows));
    FUZZ_CHECK(is_side(t.column_end - t.column, v->columns, v->most_columns));
    for (size_t y = t.row; y < t.row_end; y++)
        for (size_t x = t.column; x < t.column_end; x++)
            v->count[y * v->columns + x]++;
}

/* The first bad index decides: -1, -2, -3 or 0. */
static int visit_until(heist_ctx c, size_t begin_at, size_t end, void *arg)
{
    visits *v = arg;
    size_t first = 3;
    visit(c, begin_at, end, arg);
    for (size_t i = 0; i < 3; i++) {
        if (v->bad[i] < begin_at || v->bad[i] >= end) continue;
        if (first == 3 || v->bad[i] < v->bad[first]) first = i;
    }
    return first == 3 ? 0 : -1 - (int)first;
}

static bool visit_while(heist_ctx c, size_t begin_at, size_t end, void *arg)
{
    return visit_until(c, begin_at, end, arg) == 0;
}

static void check_loops(heist_ctx c, job *j)
{
    size_t n = j->n;
    visits v = {.first = (size_t)fuzz_edge(&j->in), .grain = SIZE_MAX};
    if (v.first > SIZE_MAX - n) v.first = SIZE_MAX - n;
    v.count = memset(room(j, n), 0, n);
    heist_for(c, v.first, v.first + n, visit, &v);
    size_t grain = (size_t)fuzz_take(&j->in, 2) % 1000;
    v.grain = grain ? grain : 1;
    v.least = n > v.grain ? v.grain / 2 : n;
    heist_for_grain(c, v.first, v.first + n, grain, visit, &v);
    v.columns = 1 + (size_t)fuzz_take(&j->in, 2) % (n + 1);
    v.most_rows = (size_t)fuzz_take(&j->in, 1) % 20;
    v.most_columns = (size_t)fuzz_take(&j->in, 1) % 20;
    v.rows = n / v.columns;
    heist_for_2d(c, v.rows, v.columns, v.most_rows, v.most_columns, visit_tile,
                 &v);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(v.count[i] == (i < v.rows * v.columns ? 3 : 2));
}

static void check_early_exit(heist_ctx c, job *j)
{
    size_t n = j->n, lowest = SIZE_MAX;
    int error = 0;
    visits v = {.grain = SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        v.bad[i] = (size_t)fuzz_take(&j->in, 2);
        if (v.bad[i] < n && v.bad[i] < lowest)
            lowest = v.bad[i], error = -1 - (int)i;
    }
    v.count = memset(room(j, n), 0, n);
    FUZZ_CHECK(heist_for_while(c, 0, n, visit_while, &v) == (error == 0));
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(v.count[i] == 1 || (error && v.count[i] == 0));
    for (size_t grain = 0; grain < 200; grain = 2 * grain + 13) {
        memset(v.count, 0, n);
        int rc = grain ? heist_try_for_grain(c, 0, n, grain, visit_until, &v)
                       : heist_try_for(c, 0, n, visit_until, &v);
        FUZZ_CHECK(rc == error);
        for (size_t i = 0; i < n; i++) /* before the failure none is left out */
            FUZZ_CHECK(v.count[i] == 1 || (i > lowest && v.count[i] == 0));
    }
}

/* --- folds, reductions and scans ----------------------------------------------- */

/* x -> times x + plus: associative, and the order matters. */
typedef struct affine {
    uint64_t times, plus;
    char more[300]; /* not always there */
} affine;

static void affine_then(void *left, const void *right, void *arg)
{
    uint64_t l[2], r[2];
    (void)arg;
    memcpy(l, left, sizeof l);
    memcpy(r, right, sizeof r);
    l[1] = r[0] * l[1] + r[1];
    l[0] *= r[0];
    memcpy(left, l, sizeof l);
}

static void affine_at(const job *j, size_t i, uint64_t *out)
{
    out[0] = j->number[i] | 1;
    out[1] = mixed(j->number[i]);
}

static void affine_fold(heist_ctx c, size_t begin_at, size_t end, void *sum,
                        void *arg)
{
    (void)c;
    for (size_t i = begin_at; i < end; i++) {
        uint64_t at[2];
        affine_at(arg, i, at);
        affine_then(sum, at, NULL);
    }
}

/* Fails where the number says so. */
static int affine_try_fold(heist_ctx c, size_t begin_at, size_t end, void *sum,
                           void *arg)
{
    const job *j = arg;
    affine_fold(c, begin_at, end, sum, arg);
    for (size_t i = begin_at; i < end; i++)
        if (j->number[i] % 512 == 511) return -1000 - (int)(i % 100);
    return 0;
}

static void check_folds(heist_ctx c, job *j)
{
    uint64_t wanted[2] = {1, 0}, at[2];
    affine sum = {1, 0, {0}};
    int error = 0, flags = fuzz_take(&j->in, 1) & 1 ? HEIST_FIXED_TREE : 0;
    size_t size = fuzz_take(&j->in, 1) & 1 ? sizeof sum : sizeof at;
    char *all = element_room(j, j->n * size);
    memset(all, 0, j->n * size);
    for (size_t i = 0; i < j->n; i++) {
        affine_at(j, i, at);
        affine_then(wanted, at, NULL);
        memcpy(all + i * size, at, sizeof at);
        if (!error && j->number[i] % 512 == 511) error = -1000 - (int)(i % 100);
    }
    begin(j);
    int rc =
        heist_fold(c, 0, j->n, &sum, size, affine_fold, affine_then, j, flags);
    if (!failed(j, rc)) FUZZ_CHECK(memcmp(&sum, wanted, sizeof wanted) == 0);

    sum = (affine){1, 0, {0}};
    rc = heist_try_fold(c, 0, j->n, &sum, size, affine_try_fold, affine_then, j,
                        flags);
    FUZZ_CHECK(rc == error);
    if (!rc) FUZZ_CHECK(memcmp(&sum, wanted, sizeof wanted) == 0);

    affine whole = {3, 5, {0}}; /* what comes before */
    sum = whole;
    affine_then(&whole, wanted, NULL);
    begin(j);
    rc = heist_reduce(c, &sum, all, j->n, size, affine_then, NULL, flags);
    if (!failed(j, rc)) FUZZ_CHECK(memcmp(&sum, &whole, sizeof wanted) == 0);
}

static void check_scan(heist_ctx c, job *j)
{
    size_t n = j->n, size = fuzz_take(&j->in, 1) & 1 ? sizeof(affine) : 16;
    uint64_t choice = fuzz_take(&j->in, 1), at[2];
    heist_scan_kind kind = choice & 1 ? HEIST_EXCLUSIVE : HEIST_INCLUSIVE;
    affine running = {3, 5, {0}}, total = running; /* what comes before */
    char *in = element_room(j, n * size), *wanted = room(j, n * size);
    memset(in, 0, n * size);
    memset(wanted, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        affine_at(j, i, at);
        memcpy(in + i * size, at, sizeof at);
        if (kind == HEIST_EXCLUSIVE)
            memcpy(wanted + i * size, &running, sizeof at);
        affine_then(&running, at, NULL);
        if (kind == HEIST_INCLUSIVE)
            memcpy(wanted + i * size, &running, sizeof at);
    }
    char *before = copy_of(j, in, n * size);
    char *out = choice & 2 ? in : element_room(j, n * size);
    begin(j);
    int rc = heist_scan(c, out, in, n, size, affine_then, &total, NULL, kind);
    if (failed(j, rc)) {
        FUZZ_CHECK(out == in && kind == HEIST_EXCLUSIVE && size > 256);
        FUZZ_CHECK(memcmp(in, before, n * size) == 0);
        return;
    }
    FUZZ_CHECK(memcmp(&total, &running, sizeof at) == 0);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(!memcmp(out + i * size, wanted + i * size, sizeof at));
}

/* The same bits as signed numbers, and floats: they are exact up to 2^24. */
static void check_other_scans(heist_ctx c, job *j)
{
    size_t n = j->n;
    heist_scan_kind kind = HEIST_INCLUSIVE;
    int64_t *i64 = copy_of(j, j->number, n * 8);
    int32_t *i32 = room(j, n * 4);
    float *f32 = room(j, n * 4);
    for (size_t i = 0; i < n; i++) {
        i32[i] = (int32_t)(uint32_t)j->number[i];
        f32[i] = (float)(j->number[i] % 64);
    }
    begin(j);
    FUZZ_CHECK(heist_scan_i64(c, i64, i64, n, kind) == 0);
    FUZZ_CHECK(heist_scan_i32(c, i32, i32, n, kind) == 0);
    FUZZ_CHECK(heist_scan_f32(c, f32, f32, n, kind) == 0);
    failed(j, 0);
    uint64_t sum = 0, small = 0;
    for (size_t i = 0; i < n; i++) {
        sum += j->number[i], small += j->number[i] % 64;
        FUZZ_CHECK((uint64_t)i64[i] == sum);
        FUZZ_CHECK((uint32_t)i32[i] == (uint32_t)sum);
        FUZZ_CHECK(f32[i] == (float)small);
    }
}

static void check_number_scans(heist_ctx c, job *j)
{
    size_t n = j->n;
    uint64_t choice = fuzz_take(&j->in, 1), sum = 0, small = 0;
    heist_scan_kind kind = choice & 1 ? HEIST_EXCLUSIVE : HEIST_INCLUSIVE;
    uint64_t *in = copy_of(j, j->number, n * 8);
    uint32_t *in_32 = room(j, n * 4);
    double *in_f64 = room(j, n * 8);
    for (size_t i = 0; i < n; i++) {
        in_32[i] = (uint32_t)in[i];
        in_f64[i] = (double)(in[i] % 4096);
    }
    bool same = choice & 2;
    uint64_t *out = same ? in : room(j, n * 8);
    uint32_t *out_32 = same ? in_32 : room(j, n * 4);
    double *out_f64 = same ? in_f64 : room(j, n * 8);
    begin(j);
    FUZZ_CHECK(heist_scan_u64(c, out, in, n, kind) == 0);
    FUZZ_CHECK(heist_scan_u32(c, out_32, in_32, n, kind) == 0);
    FUZZ_CHECK(heist_scan_f64(c, out_f64, in_f64, n, kind) == 0);
    failed(j, 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = j->number[i];
        if (kind == HEIST_INCLUSIVE) sum += v, small += v % 4096;
        FUZZ_CHECK(out[i] == sum);
        FUZZ_CHECK(out_32[i] == (uint32_t)sum);
        FUZZ_CHECK(out_f64[i] == (double)small);
        if (kind == HEIST_EXCLUSIVE) sum += v, small += v % 4096;
    }
}

/* --- sums and extremes ------------------------------------------------------------ */

static void check_sums(heist_ctx c, job *j)
{
    uint64_t i32 = 0, u32 = 0, u64 = 0, small = 0;
    float *f32 = room(j, j->n * sizeof *f32);
    double *f64 = room(j, j->n * sizeof *f64);
    const int32_t *x = numbers(j, I32);
    const uint32_t *y = numbers(j, U32);
    const int64_t *z = numbers(j, I64);
    for (size_t i = 0; i < j->n; i++) {
        i32 += (uint64_t)(int64_t)x[i];
        u32 += y[i];
        u64 += j->number[i];
        small += j->number[i] % 512;
        f32[i] = (float)(j->number[i] % 512);
        f64[i] = (double)(j->number[i] % 512);
    }
    FUZZ_CHECK((uint64_t)heist_sum_i32(c, x, j->n) == i32);
    FUZZ_CHECK(heist_sum_u32(c, y, j->n) == u32);
    FUZZ_CHECK((uint64_t)heist_sum_i64(c, z, j->n) == u64);
    FUZZ_CHECK(heist_sum_u64(c, j->number, j->n) == u64);
    FUZZ_CHECK(heist_sum_f32(c, f32, j->n) == (double)small);
    FUZZ_CHECK(heist_sum_f64(c, f64, j->n) == (double)small);
}

static void add_inverses(heist_ctx c, size_t begin_at, size_t end, void *sum,
                         void *arg)
{
    const job *j = arg;
    (void)c;
    for (size_t i = begin_at; i < end; i++)
        *(double *)sum += 1 / (double)(j->number[i] | 1);
}

static void add(void *left, const void *right, void *arg)
{
    (void)arg;
    *(double *)left += *(const double *)right;
}

/* Sums that are rounded; run_one compares the runtimes. */
static void check_rounding(heist_ctx c, job *j)
{
    float *f32 = room(j, j->n * sizeof *f32);
    double *f64 = room(j, j->n * sizeof *f64), folded = 0, reduced = 0;
    for (size_t i = 0; i < j->n; i++) {
        f64[i] = 1 / (double)(j->number[i] | 1);
        f32[i] = (float)f64[i];
    }
    int rc = heist_fold(c, 0, j->n, &folded, sizeof folded, add_inverses, add,
                        j, HEIST_FIXED_TREE);
    FUZZ_CHECK(rc == 0);
    rc = heist_reduce(c, &reduced, f64, j->n, sizeof *f64, add, NULL,
                      HEIST_FIXED_TREE);
    FUZZ_CHECK(rc == 0);
    j->sum = heist_sum_f64(c, f64, j->n) + heist_sum_f32(c, f32, j->n) * 3 +
             folded * 5 + reduced * 7;
    j->rounded = true;
}

/* The extreme value, as the library says. */
static long double extreme(heist_ctx c, type t, const void *p, size_t n,
                           bool most)
{
    switch (t) {
    case I32: return most ? heist_max_i32(c, p, n) : heist_min_i32(c, p, n);
    case U32: return most ? heist_max_u32(c, p, n) : heist_min_u32(c, p, n);
    case I64: return most ? heist_max_i64(c, p, n) : heist_min_i64(c, p, n);
    case U64: return most ? heist_max_u64(c, p, n) : heist_min_u64(c, p, n);
    case F32: return most ? heist_max_f32(c, p, n) : heist_min_f32(c, p, n);
    default: return most ? heist_max_f64(c, p, n) : heist_min_f64(c, p, n);
    }
}

static size_t place_of(heist_ctx c, type t, const void *p, size_t n, bool most)
{
    switch (t) {
    case I32:
        return most ? heist_argmax_i32(c, p, n) : heist_argmin_i32(c, p, n);
    case U32:
        return most ? heist_argmax_u32(c, p, n) : heist_argmin_u32(c, p, n);
    case I64:
        return most ? heist_argmax_i64(c, p, n) : heist_argmin_i64(c, p, n);
    case U64:
        return most ? heist_argmax_u64(c, p, n) : heist_argmin_u64(c, p, n);
    case F32:
        return most ? heist_argmax_f32(c, p, n) : heist_argmin_f32(c, p, n);
    default:
        return most ? heist_argmax_f64(c, p, n) : heist_argmin_f64(c, p, n);
    }
}

/* Of nothing. */
static long double no_extreme(type t, bool most)
{
    switch (t) {
    case I32: return most ? INT32_MIN : INT32_MAX;
    case U32: return most ? 0 : UINT32_MAX;
    case I64: return most ? INT64_MIN : INT64_MAX;
    case U64: return most ? 0 : UINT64_MAX;
    default: return most ? -INFINITY : INFINITY;
    }
}

static void check_extremes(heist_ctx c, job *j)
{
    type t = (type)(fuzz_take(&j->in, 1) % TYPES);
    const void *p = numbers(j, t);
    for (int most = 0; most < 2; most++) {
        size_t best = HEIST_NONE;
        for (size_t i = 0; i < j->n; i++) {
            long double v = value(t, p, i);
            if (isnan(v)) continue;
            if (best == HEIST_NONE ||
                (most ? v > value(t, p, best) : v < value(t, p, best)))
                best = i;
        }
        long double wanted =
            best == HEIST_NONE ? no_extreme(t, most) : value(t, p, best);
        FUZZ_CHECK(extreme(c, t, p, j->n, most) == wanted);
        if (best == HEIST_NONE && j->n) best = 0; /* NaNs */
        FUZZ_CHECK(place_of(c, t, p, j->n, most) == best);
    }
}

static void check_extreme_keys(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size, low = HEIST_NONE, high = HEIST_NONE;
    const char *p = j->element;
    for (size_t i = 0; i < n; i++) {
        uint64_t k = key(j, p, i);
        if (low == HEIST_NONE || k < key(j, p, low)) low = i;
        if (high == HEIST_NONE || k > key(j, p, high)) high = i;
    }
    FUZZ_CHECK(heist_argmin(c, p, n, size, by_key, j) == low);
    FUZZ_CHECK(heist_argmax(c, p, n, size, by_key, j) == high);
    FUZZ_CHECK(heist_argmin_by_key(c, p, n, size, key_of, j) == low);
    FUZZ_CHECK(heist_argmax_by_key(c, p, n, size, key_of, j) == high);
}

/* --- searches --------------------------------------------------------------------- */

static bool is_wanted(const void *element_, void *arg)
{
    return key_of(element_, arg) == 0;
}

static size_t find_wanted(heist_ctx c, size_t begin_at, size_t end, void *arg)
{
    const job *j = arg;
    (void)c;
    for (size_t i = begin_at; i < end; i++)
        if (is_wanted(element(j, i), arg)) return i;
    return HEIST_NONE;
}

static size_t find_last_wanted(heist_ctx c, size_t begin_at, size_t end,
                               void *arg)
{
    const job *j = arg;
    (void)c;
    for (size_t i = end; i-- > begin_at;)
        if (is_wanted(element(j, i), arg)) return i;
    return HEIST_NONE;
}

static void check_searches(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size, first = HEIST_NONE, last = HEIST_NONE;
    size_t count = 0, any;
    const char *p = j->element;
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(element(j, i), j)) continue;
        if (!count++) first = i;
        last = i;
    }
    FUZZ_CHECK(heist_count(c, p, n, size, is_wanted, j) == count);
    FUZZ_CHECK(heist_any(c, p, n, size, is_wanted, j) == (count > 0));
    FUZZ_CHECK(heist_all(c, p, n, size, is_wanted, j) == (count == n));
    FUZZ_CHECK(heist_none(c, p, n, size, is_wanted, j) == (count == 0));
    FUZZ_CHECK(heist_find_first(c, p, n, size, is_wanted, j) == first);
    FUZZ_CHECK(heist_find_last(c, p, n, size, is_wanted, j) == last);
    any = heist_find_any(c, p, n, size, is_wanted, j);
    FUZZ_CHECK((any == HEIST_NONE) == (count == 0));
    if (count) FUZZ_CHECK(any < n && is_wanted(element(j, any), j));
    any = heist_find_any_in(c, 0, n, find_wanted, j);
    FUZZ_CHECK((any == HEIST_NONE) == (count == 0));
    if (count) FUZZ_CHECK(any < n && is_wanted(element(j, any), j));
    FUZZ_CHECK(heist_find_first_in(c, 0, n, find_wanted, j) == first);
    FUZZ_CHECK(heist_find_last_in(c, 0, n, find_last_wanted, j) == last);
    if (count) /* ranges that begin elsewhere */
        FUZZ_CHECK(heist_find_first_in(c, last, n, find_wanted, j) == last);
    if (count)
        FUZZ_CHECK(heist_find_last_in(c, 0, first + 1, find_last_wanted, j) ==
                   first);
}

/* --- transforms ------------------------------------------------------------------- */

/* Shorter or longer than what it is made from. */
static void widen(void *out, const void *in, size_t index, void *arg)
{
    uint64_t v = key_of(in, arg) + index;
    memcpy(out, &v, sizeof v);
}

static void invert(void *out, const void *in, size_t index, void *arg)
{
    const job *j = arg;
    const char *from = in;
    char *to = out;
    (void)index;
    for (size_t i = 0; i < j->size; i++)
        to[i] = (char)~from[i];
}

static void put_together(void *out, const void *a, const void *b, size_t index,
                         void *arg)
{
    uint64_t v = key_of(a, arg) * 3, number;
    memcpy(&number, b, sizeof number);
    v += number + index;
    memcpy(out, &v, sizeof v);
}

static void make_square(void *out, size_t index, void *arg)
{
    uint64_t v = (uint64_t)index * index;
    (void)arg;
    memcpy(out, &v, sizeof v);
}

static void check_maps(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    uint64_t *out = room(j, n * sizeof *out);
    heist_map(c, out, sizeof *out, j->element, size, n, widen, j);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(out[i] == key(j, j->element, i) + i);
    heist_zip(c, out, sizeof *out, j->element, size, j->number, 8, n,
              put_together, j);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(out[i] == key(j, j->element, i) * 3 + j->number[i] + i);
    heist_generate(c, out, n, sizeof *out, make_square, NULL);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(out[i] == (uint64_t)i * i);
    char *copy = element_room(j, n * size);
    heist_copy(c, copy, j->element, n, size);
    FUZZ_CHECK(memcmp(copy, j->element, n * size) == 0);
    heist_map(c, copy, size, copy, size, n, invert, j);
    for (size_t i = 0; i < n * size; i++)
        FUZZ_CHECK(copy[i] == (char)~j->element[i]);
    if (n) heist_fill(c, copy, n, size, element(j, n - 1));
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(!memcmp(copy + i * size, element(j, n - 1), size));
}

/* A permutation, and there and back by it. */
static void check_moves(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size;
    size_t *index = room(j, n * sizeof *index);
    for (size_t i = 0; i < n; i++) {
        size_t k = mixed(j->number[i]) % (i + 1);
        index[i] = index[k];
        index[k] = i;
    }
    char *there = element_room(j, n * size);
    char *back = element_room(j, n * size);
    heist_gather(c, there, j->element, index, n, size);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(!memcmp(there + i * size, element(j, index[i]), size));
    heist_scatter(c, back, there, index, n, size);
    FUZZ_CHECK(memcmp(back, j->element, n * size) == 0);

    /* Cut into parts, some of them empty, and put together again. */
    size_t parts = (size_t)fuzz_take(&j->in, 2) % 400, at = 0;
    heist_part *part = room(j, parts * sizeof *part);
    size_t *offset = room(j, (parts + 1) * sizeof *offset);
    for (size_t i = 0; i < parts; i++) {
        size_t left = n - at, some = mixed(i + n) % (2 * n / (parts + 1) + 2);
        part[i] = (heist_part){element(j, at), some < left ? some : left};
        at += part[i].n;
    }
    bool ask = fuzz_take(&j->in, 1) & 1;
    char *flat = element_room(j, at * size);
    FUZZ_CHECK(heist_flatten(c, flat, part, parts, size, ask ? offset : NULL) ==
               at);
    FUZZ_CHECK(memcmp(flat, j->element, at * size) == 0);
    for (size_t i = 0, sum = 0; ask && i <= parts; sum += part[i++].n) {
        FUZZ_CHECK(offset[i] == sum);
        if (i == parts) break;
    }
}

static bool same_key(const void *a, const void *b, void *arg)
{
    return by_key(a, b, arg) == 0;
}

typedef enum packing {
    FILTER,
    FILTER_IN,
    UNIQUE,
    UNIQUE_BYTES,
    PARTITION,
    PACKINGS
} packing;

static bool is_kept(job *j, packing what, size_t i)
{
    if (what != UNIQUE && what != UNIQUE_BYTES) return is_odd(element(j, i), j);
    if (i == 0) return true;
    return what == UNIQUE ? !same_key(element(j, i - 1), element(j, i), j)
                          : memcmp(element(j, i - 1), element(j, i), j->size);
}

static size_t pack(void *out, const void *in, size_t n, void *arg)
{
    const job *j = arg;
    char *to = out;
    const char *from = in;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++, from += j->size)
        if (is_odd(from, arg)) memmove(to + kept++ * j->size, from, j->size);
    return kept;
}

static ptrdiff_t call_packing(heist_ctx c, job *j, packing what, char *out,
                              const char *in)
{
    size_t n = j->n, size = j->size;
    switch (what) {
    case FILTER: return (ptrdiff_t)heist_filter(c, out, in, n, size, is_odd, j);
    case FILTER_IN:
        return (ptrdiff_t)heist_filter_in(c, out, in, n, size, pack, j);
    case UNIQUE:
        return (ptrdiff_t)heist_unique(c, out, in, n, size, same_key, j);
    case UNIQUE_BYTES:
        return (ptrdiff_t)heist_unique(c, out, in, n, size, NULL, NULL);
    default: return heist_partition(c, out, in, n, size, is_odd, j);
    }
}

static void check_packing(heist_ctx c, job *j)
{
    size_t n = j->n, size = j->size, kept = 0, others = 0;
    uint64_t choice = fuzz_take(&j->in, 1);
    packing what = (packing)(choice / 2 % PACKINGS);
    char *wanted = room(j, n * size), *rest = room(j, n * size);
    for (size_t i = 0; i < n; i++)
        memcpy(is_kept(j, what, i) ? wanted + kept++ * size
                                   : rest + others++ * size,
               element(j, i), size);
    char *in = copy_of_elements(j);
    char *out = choice & 1 ? in : element_room(j, n * size);
    begin(j);
    ptrdiff_t rc = call_packing(c, j, what, out, in);
    if (failed(j, rc)) {
        FUZZ_CHECK(what == PARTITION && out == in);
        FUZZ_CHECK(memcmp(in, j->element, n * size) == 0);
        return;
    }
    FUZZ_CHECK((size_t)rc == kept);
    FUZZ_CHECK(memcmp(out, wanted, kept * size) == 0);
    if (what == PARTITION)
        FUZZ_CHECK(memcmp(out + kept * size, rest, others * size) == 0);
    if (out != in) FUZZ_CHECK(memcmp(in, j->element, n * size) == 0);
}

static void check_histogram(heist_ctx c, job *j)
{
    size_t buckets = (size_t)fuzz_take(&j->in, 2) % (j->few + 2);
    size_t *counts = room(j, buckets * sizeof *counts);
    size_t *wanted = room(j, buckets * sizeof *wanted);
    for (size_t i = 0; i < buckets; i++)
        counts[i] = wanted[i] = i;
    for (size_t i = 0; i < j->n; i++)
        if (key(j, j->element, i) < buckets) wanted[key(j, j->element, i)]++;
    begin(j);
    heist_histogram(c, counts, buckets, j->element, j->n, j->size, key_of, j);
    failed(j, 0);
    FUZZ_CHECK(memcmp(counts, wanted, buckets * sizeof *counts) == 0);
}

/* --- all of them ------------------------------------------------------------------ */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static operation *const operations[] = {
        check_loops,        check_early_exit,   check_folds,    check_scan,
        check_number_scans, check_other_scans,  check_sums,     check_rounding,
        check_extremes,     check_extreme_keys, check_searches, check_maps,
        check_moves,        check_packing,      check_histogram};
    run_one(data, size, operations, sizeof operations / sizeof *operations);
    return 0;
}
