/* SPDX-License-Identifier: MIT */
#include "algo/chain.h"
#include "inputs.h"

#include <unistd.h>

enum {
    EXHAUSTIVE = 100,
    LONGEST = 300000
};

/* All lengths up to EXHAUSTIVE, then a few up to LONGEST. */
static size_t next_length(size_t n, uint64_t *seed)
{
    if (n < EXHAUSTIVE) return n + 1;
    size_t step = n / 2 + test_random(seed) % (2 * n);
    return n < LONGEST && n + step >= LONGEST ? LONGEST : n + step;
}

#define EACH_LENGTH(n, seed) \
    for (size_t n = 0; n <= LONGEST; n = next_length(n, seed))

static void *room(size_t n, size_t size)
{
    void *p = malloc(n * size + 1);
    CHECK(p != NULL);
    return p;
}

/* --- numbers -------------------------------------------------------------------- */

/* Against a serial loop; integers wrap, as those without a sign do.  Floats are
 * small integers: no rounding. */
#define SCAN(type, name, make, wide)                                         \
    static void check_##name(heist_ctx c, const uint64_t *from, size_t n,    \
                             int way)                                        \
    {                                                                        \
        heist_scan_kind kind = way & 1 ? HEIST_EXCLUSIVE : HEIST_INCLUSIVE;  \
        type *in = room(n, sizeof *in), *out = room(n, sizeof *out);         \
        wide sum = 0;                                                        \
        for (size_t i = 0; i < n; i++)                                       \
            in[i] = out[i] = (type)(make);                                   \
        CHECK_EQ(heist_scan_##name(c, out, way & 2 ? out : in, n, kind), 0); \
        for (size_t i = 0; i < n; i++) {                                     \
            wide next = sum + (wide)in[i];                                   \
            CHECK(out[i] == (type)(kind == HEIST_INCLUSIVE ? next : sum));   \
            sum = next;                                                      \
        }                                                                    \
        free(in);                                                            \
        free(out);                                                           \
    }

SCAN(int32_t, i32, from[i] >> 32, uint32_t)
SCAN(uint32_t, u32, from[i] >> 32, uint32_t)
SCAN(int64_t, i64, from[i], uint64_t)
SCAN(uint64_t, u64, from[i], uint64_t)
SCAN(float, f32, (int64_t)(from[i] >> 61) - 4, float)
SCAN(double, f64, (int64_t)(from[i] >> 44) - 1000, double)

static void numbers(heist_ctx c, void *arg)
{
    uint64_t *in = room(LONGEST, sizeof *in), seed = test_seed;
    (void)arg;
    EACH_LENGTH(n, &seed)
    {
        input_fill((input_shape)(n % INPUT_SHAPES), in, n, &seed);
        for (int way = 0; way < 4; way++) {
            check_u32(c, in, n, way);
            check_u64(c, in, n, way);
            check_f64(c, in, n, way);
        }
        check_i32(c, in, n, (int)(n % 4));
        check_i64(c, in, n, (int)(n % 4));
        check_f32(c, in, n, (int)(n % 4));
    }
    free(in);
}

TEST(prefix_sums_of_numbers_are_those_of_a_serial_loop)
{
    input_on_all_workers(numbers, NULL);
}

static void rounding(heist_ctx c, void *arg)
{
    double in[1000], out[1000], sum = 0;
    (void)arg;
    for (int i = 0; i < 1000; i++)
        in[i] = 1.0 / (i + 1);
    CHECK_EQ(heist_scan_f64(c, out, in, 1000, HEIST_INCLUSIVE), 0);
    for (int i = 0; i < 1000; i++) {
        sum += in[i];
        CHECK(memcmp(&out[i], &sum, sizeof sum) == 0);
    }
}

TEST(few_floats_are_rounded_as_by_a_serial_loop)
{
    input_on_all_workers(rounding, NULL);
}

/* --- any operation --------------------------------------------------------------- */

/* x -> by * x + plus, one after the other: associative, not commutative.  The
 * first `size` bytes of it and of a tail that both must carry along. */
typedef struct affine {
    uint64_t by, plus;
    uint64_t tail[36];
} affine;

enum {
    SMALL = 2 * sizeof(uint64_t),
    LARGE = sizeof(affine)
};

static void then(void *left, const void *right, void *arg)
{
    uint64_t a[2], b[2];
    memcpy(a, left, sizeof a);
    memcpy(b, right, sizeof b);
    a[0] *= b[0];
    a[1] = a[1] * b[0] + b[1];
    memcpy(left, a, sizeof a);
    size_t size = *(size_t *)arg;
    if (size > SMALL) {
        ((affine *)left)->tail[35] += ((const affine *)right)->tail[35];
    }
}

static void check_affine(heist_ctx c, size_t n, size_t size, int way,
                         uint64_t *seed)
{
    char *in = room(n, size), *out = room(n, size);
    affine total = {3, 5, {0}}, sum = total;
    heist_scan_kind kind = way & 1 ? HEIST_EXCLUSIVE : HEIST_INCLUSIVE;
    bool in_place = way & 2;
    for (size_t i = 0; i < n; i++) {
        affine a = {test_random(seed), test_random(seed), {0}};
        a.tail[35] = i;
        memcpy(in + i * size, &a, size);
    }
    if (in_place) memcpy(out, in, n * size);
    CHECK_EQ(heist_scan(c, out, in_place ? out : in, n, size, then, &total,
                        &size, kind),
             0);
    for (size_t i = 0; i < n; i++) {
        affine next = sum;
        then(&next, in + i * size, &size);
        CHECK(memcmp(out + i * size, kind == HEIST_INCLUSIVE ? &next : &sum,
                     size) == 0);
        sum = next;
    }
    CHECK(memcmp(&total, &sum, size) == 0);
    free(in);
    free(out);
}

static void operations(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH_LENGTH(n, &seed)
    {
        for (int way = 0; way < 4; way++) {
            check_affine(c, n, SMALL, way, &seed);
            if (n < LONGEST / 20) check_affine(c, n, LARGE, way, &seed);
        }
    }
}

TEST(a_scan_by_any_operation_keeps_its_order)
{
    input_on_all_workers(operations, NULL);
}

/* Bytes: the largest so far. */
static void largest(void *left, const void *right, void *arg)
{
    unsigned char *a = left;
    (void)arg;
    if (*(const unsigned char *)right > *a) *a = *(const unsigned char *)right;
}

static void bytes(heist_ctx c, void *arg)
{
    enum {
        N = 100000
    };

    unsigned char *in = room(N, 1), *out = room(N, 1), total = 0, most = 0;
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < N; i++)
        in[i] = (unsigned char)(test_random(&seed) % (i / 400 + 1));
    CHECK_EQ(
        heist_scan(c, out, in, N, 1, largest, &total, NULL, HEIST_INCLUSIVE),
        0);
    for (size_t i = 0; i < N; i++) {
        largest(&most, &in[i], NULL);
        CHECK_EQ(out[i], most);
    }
    CHECK_EQ(total, most);
    free(in);
    free(out);
}

TEST(elements_may_be_bytes)
{
    input_on_all_workers(bytes, NULL);
}

/* --- the chain --------------------------------------------------------------------- */

/* Writes down the number of elements before each, and how it was done. */
typedef struct probe {
    hi_chain chain;
    size_t *before;
    int *times;
    unsigned slow_pass, slow_sum; /* microseconds of a block */
    HEIST_ATOMIC(long) sums;
    long wanted; /* sums of others, for which the one who knows waits */
} probe;

static void note(probe *p, size_t begin, size_t end, size_t before)
{
    for (size_t i = begin; i < end; i++) {
        p->before[i] = before + i - begin;
        p->times[i]++;
    }
}

static void probe_pass(hi_chain *h, size_t begin, size_t end, void *before,
                       void *spare)
{
    probe *p = (probe *)h;
    memset(spare, 0xee, sizeof(size_t));
    if (p->slow_pass) usleep(p->slow_pass);
    /* relaxed: test (a count) */
    while (begin > 100 && heist_load_relaxed(&p->sums) < p->wanted)
        usleep(p->slow_pass);
    note(p, begin, end, *(size_t *)before);
    *(size_t *)before += end - begin;
}

static void probe_sum(hi_chain *h, size_t begin, size_t end, void *sum,
                      void *room_of_block)
{
    probe *p = (probe *)h;
    if (p->slow_sum) usleep(p->slow_sum);
    heist_add_relaxed(&p->sums, 1);
    *(size_t *)sum = end - begin;
    memset(room_of_block, (int)(begin % 251), end - begin);
}

static void probe_add(hi_chain *h, void *before, const void *sum)
{
    (void)h;
    *(size_t *)before += *(const size_t *)sum;
}

static void probe_finish(hi_chain *h, size_t begin, size_t end, void *before,
                         void *sum, const void *room_of_block)
{
    CHECK_EQ(*(size_t *)sum, end - begin);
    for (size_t i = begin; i < end; i++)
        CHECK_EQ(((const unsigned char *)room_of_block)[i - begin],
                 begin % 251);
    note((probe *)h, begin, end, *(size_t *)before);
    memset(before, 0xee, sizeof(size_t));
    memset(sum, 0xee, sizeof(size_t));
}

static void check_chain(heist_ctx c, probe *p, size_t n, size_t most)
{
    p->chain = (hi_chain){.pass = probe_pass,
                          .sum = probe_sum,
                          .add = probe_add,
                          .finish = probe_finish,
                          .value = sizeof(size_t),
                          .room = 1,
                          .most = most};
    p->before = room(n, sizeof *p->before);
    p->times = calloc(n + 1, sizeof *p->times);
    size_t before = 1000, spare;
    hi_chain_run(c, &p->chain, n, &before, &spare);
    CHECK_EQ(before, 1000 + n);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(p->before[i], 1000 + i);
        CHECK_EQ(p->times[i], 1);
    }
    free(p->before);
    free(p->times);
}

static void small_blocks(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t n = 0; n < 200; n++) {
        probe p = {.slow_pass = 0};
        check_chain(c, &p, n, 1 + n % 7);
    }
    for (int i = 0; i < 20; i++) {
        probe p = {.slow_pass = 0};
        size_t n = 10000 + test_random(&seed) % 10000;
        check_chain(c, &p, n, 1 + test_random(&seed) % 9);
    }
}

TEST(every_element_is_done_once_and_knows_what_comes_before)
{
    input_on_all_workers(small_blocks, NULL);
}

static void slow_ones(heist_ctx c, void *arg)
{
    probe *p = arg;
    check_chain(c, p, 400, 2);
}

/* If others do not take so many blocks meanwhile it stands still. */
static long sums_of(unsigned workers, unsigned slow_pass, unsigned slow_sum,
                    long wanted)
{
    heist_runtime *rt = NULL;
    probe p = {.slow_pass = slow_pass, .slow_sum = slow_sum, .wanted = wanted};
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers}), 0);
    CHECK_EQ(heist_run(rt, slow_ones, &p), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    return heist_load_relaxed(&p.sums);
}

TEST(others_take_blocks_while_one_is_at_work)
{
    CHECK(sums_of(2, 200, 200, 21) > 20);
    CHECK(sums_of(8, 200, 200, 51) > 50);
}

TEST(alone_nobody_makes_sums)
{
    CHECK_EQ(sums_of(1, 0, 0, 0), 0);
}

TEST(blocks_whose_holder_has_gone_are_finished_by_others)
{
    CHECK(sums_of(2, 1000, 0, 21) > 20);
    CHECK(sums_of(8, 500, 0, 21) > 20);
}
