/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "platform/platform.h"

#include <unistd.h>

enum {
    EXHAUSTIVE = 100,
    LONGEST = 300000
};

static const size_t sizes[] = {1, 4, 8, 12, 16, 100};

enum {
    SIZES = sizeof sizes / sizeof *sizes
};

/* All lengths up to EXHAUSTIVE, then a few up to LONGEST. */
static size_t next_length(size_t n, uint64_t *seed)
{
    if (n < EXHAUSTIVE) return n + 1;
    size_t step = n / 2 + test_random(seed) % (4 * n);
    return n < LONGEST && n + step >= LONGEST ? LONGEST : n + step;
}

#define EACH_LENGTH(n, seed) \
    for (size_t n = 0; n <= LONGEST; n = next_length(n, seed))

static char *room(size_t n, size_t size)
{
    char *p = malloc(n * size + 1);
    CHECK(p != NULL);
    return p;
}

static char *noise(size_t n, size_t size, uint64_t *seed)
{
    char *p = room(n, size);
    for (size_t i = 0; i < n * size; i += 8) {
        uint64_t word = test_random(seed);
        memcpy(p + i, &word, n * size - i < 8 ? n * size - i : 8);
    }
    return p;
}

static char *copy_of(const char *from, size_t n, size_t size)
{
    char *p = room(n, size);
    memcpy(p, from, n * size);
    return p;
}

/* Runs check for every length, with one element size each. */
typedef void check_fn(heist_ctx c, size_t n, size_t size, uint64_t *seed);

typedef struct property {
    check_fn *check;
} property;

static void for_all_lengths(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    size_t round = 0;
    EACH_LENGTH(n, &seed)
    {
        size_t size = sizes[round++ % SIZES];
        ((property *)arg)->check(c, n, n > LONGEST / 10 ? 8 : size, &seed);
    }
}

static void holds(check_fn *check)
{
    property p = {check};
    input_on_all_workers(for_all_lengths, &p);
}

/* --- made by a function ------------------------------------------------------------ */

static void widen(void *out, const void *in, size_t index, void *arg)
{
    uint64_t value = *(const uint32_t *)in + *(uint64_t *)arg + index;
    memcpy(out, &value, sizeof value);
}

static void negate(void *out, const void *in, size_t index, void *arg)
{
    (void)index;
    (void)arg;
    *(uint32_t *)out = ~*(const uint32_t *)in;
}

static void check_map(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    uint32_t *in = (uint32_t *)(void *)noise(n, 4, seed);
    uint64_t *out = (uint64_t *)(void *)room(n, 8), plus = size;
    heist_map(c, out, sizeof *out, in, sizeof *in, n, widen, &plus);
    for (size_t i = 0; i < n; i++)
        CHECK(out[i] == in[i] + plus + i);
    heist_map(c, in, sizeof *in, in, sizeof *in, n, negate, NULL);
    for (size_t i = 0; i < n; i++)
        CHECK(out[i] == ~in[i] + plus + i);
    free(in);
    free(out);
}

TEST(map_makes_each_element_from_its_own)
{
    holds(check_map);
}

static void weigh(void *out, const void *a, const void *b, size_t index,
                  void *arg)
{
    (void)arg;
    *(uint64_t *)out = *(const unsigned char *)a * *(const uint64_t *)b + index;
}

static void check_zip(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    unsigned char *a = (unsigned char *)noise(n, 1, seed);
    uint64_t *b = (uint64_t *)(void *)noise(n, 8, seed);
    uint64_t *out = (uint64_t *)(void *)room(n, 8);
    (void)size;
    heist_zip(c, out, 8, a, 1, b, 8, n, weigh, NULL);
    for (size_t i = 0; i < n; i++)
        CHECK(out[i] == a[i] * b[i] + i);
    free(a);
    free(b);
    free(out);
}

TEST(zip_makes_each_element_from_two)
{
    holds(check_zip);
}

static void square(void *out, size_t index, void *arg)
{
    *(uint64_t *)out = index * index + *(uint64_t *)arg;
}

static void check_generate(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    uint64_t *out = (uint64_t *)(void *)room(n, 8), plus = size;
    (void)seed;
    heist_generate(c, out, n, 8, square, &plus);
    for (size_t i = 0; i < n; i++)
        CHECK(out[i] == i * i + plus);
    free(out);
}

TEST(generate_makes_each_element_from_its_index)
{
    holds(check_generate);
}

/* --- moved --------------------------------------------------------------------------- */

static void check_fill(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *out = room(n, size), *value = noise(1, size, seed);
    for (int same = 0; same < 2; same++) {
        if (same) memset(value, 7, size);
        out[n * size] = 'x';
        heist_fill(c, out, n, size, value);
        for (size_t i = 0; i < n; i++)
            CHECK(memcmp(out + i * size, value, size) == 0);
        CHECK_EQ(out[n * size], 'x');
    }
    free(out);
    free(value);
}

TEST(fill_fills_all_and_no_more)
{
    holds(check_fill);
}

static void check_copy(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed), *out = room(n, size);
    out[n * size] = 'x';
    heist_copy(c, out, in, n, size);
    CHECK(memcmp(in, out, n * size) == 0);
    CHECK_EQ(out[n * size], 'x');
    free(in);
    free(out);
}

TEST(copy_copies_all_and_no_more)
{
    holds(check_copy);
}

static size_t *shuffled(size_t n, uint64_t *seed)
{
    size_t *index = (size_t *)(void *)room(n, sizeof *index);
    for (size_t i = 0; i < n; i++) {
        size_t j = test_random(seed) % (i + 1);
        index[i] = index[j];
        index[j] = i;
    }
    return index;
}

static void check_gather(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed), *out = room(n, size);
    char *back = room(n, size);
    size_t *index = shuffled(n, seed);
    heist_gather(c, out, in, index, n, size);
    for (size_t i = 0; i < n; i++)
        CHECK(memcmp(out + i * size, in + index[i] * size, size) == 0);
    heist_scatter(c, back, out, index, n, size);
    CHECK(memcmp(in, back, n * size) == 0);
    free(in);
    free(out);
    free(back);
    free(index);
}

TEST(gather_takes_by_index_and_scatter_puts_back)
{
    holds(check_gather);
}

/* --- flattened ------------------------------------------------------------------------ */

typedef enum split {
    SPLIT_ONE_HUGE,
    SPLIT_ALL_EMPTY_BUT_LAST,
    SPLIT_ANY,
    SPLIT_SINGLES,
    SPLITS
} split;

static size_t part_length(split how, size_t i, size_t parts, size_t left,
                          uint64_t *seed)
{
    if (i + 1 == parts) return left;
    switch (how) {
    case SPLIT_ONE_HUGE: return i == parts / 3 ? left : 0;
    case SPLIT_ALL_EMPTY_BUT_LAST: return 0;
    case SPLIT_SINGLES: return left > 0;
    case SPLIT_ANY:
    case SPLITS: break;
    }
    size_t n = test_random(seed) % 7;
    if (n == 6) n = test_random(seed) % 5000;
    return n < left ? n : left;
}

static void check_split(heist_ctx c, const char *in, size_t n, size_t size,
                        split how, uint64_t *seed)
{
    size_t parts = 1 + test_random(seed) % (n + 10), at = 0;
    heist_part *part = (heist_part *)(void *)room(parts, sizeof *part);
    size_t *offsets = (size_t *)(void *)room(parts + 1, sizeof *offsets);
    char *out = room(n, size);
    for (size_t i = 0; i < parts; i++) {
        size_t length = part_length(how, i, parts, n - at, seed);
        part[i] = (heist_part){length ? in + at * size : NULL, length};
        at += length;
    }
    out[n * size] = 'x';
    CHECK_EQ(heist_flatten(c, out, part, parts, size, offsets), n);
    CHECK(memcmp(in, out, n * size) == 0);
    CHECK_EQ(out[n * size], 'x');
    for (size_t i = 0, sum = 0; i < parts; sum += part[i++].n)
        CHECK_EQ(offsets[i], sum);
    CHECK_EQ(offsets[parts], n);
    memset(out, 0, n * size);
    CHECK_EQ(heist_flatten(c, out, part, parts, size, NULL), n);
    CHECK(memcmp(in, out, n * size) == 0);
    free(part);
    free(offsets);
    free(out);
}

static void check_flatten(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed);
    for (int how = 0; how < SPLITS; how++)
        check_split(c, in, n, size, (split)how, seed);
    free(in);
    size_t offset = 1;
    CHECK_EQ(heist_flatten(c, NULL, NULL, 0, size, &offset), 0);
    CHECK_EQ(offset, 0);
}

TEST(flatten_puts_parts_of_any_length_behind_one_another)
{
    holds(check_flatten);
}

/* --- kept ------------------------------------------------------------------------------ */

static bool is_odd(const void *element, void *arg)
{
    (void)arg;
    return *(const unsigned char *)element & 1;
}

static bool is_small(const void *element, void *arg)
{
    return *(const unsigned char *)element < *(unsigned char *)arg;
}

/* Those that pass, or those that do not, behind one another; how many. */
static size_t serially(char *out, const char *in, size_t n, size_t size,
                       heist_test_fn *test, void *arg, bool wanted)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (test(in + i * size, arg) != wanted) continue;
        memcpy(out + kept++ * size, in + i * size, size);
    }
    return kept;
}

typedef struct packing {
    size_t size;
    heist_test_fn *test;
    void *arg;
} packing;

static size_t pack(void *out, const void *in, size_t n, void *arg)
{
    const packing *p = arg;
    char *to = out;
    for (size_t i = 0; i < n; i++) {
        const char *from = (const char *)in + i * p->size;
        bool keep = p->test(from, p->arg);
        memmove(to, from, p->size);
        to += keep ? p->size : 0;
    }
    return (size_t)(to - (char *)out) / p->size;
}

static void check_filter_by(heist_ctx c, const char *in, size_t n, size_t size,
                            heist_test_fn *test, void *arg)
{
    packing p = {size, test, arg};
    char *wanted = room(n, size);
    size_t kept = serially(wanted, in, n, size, test, arg, true);
    for (int way = 0; way < 4; way++) {
        char *out = way & 1 ? copy_of(in, n, size) : room(n, size);
        const char *from = way & 1 ? out : in;
        out[n * size] = 'x';
        ptrdiff_t got = way & 2
                            ? heist_filter_in(c, out, from, n, size, pack, &p)
                            : heist_filter(c, out, from, n, size, test, arg);
        CHECK_EQ(got, kept);
        CHECK(memcmp(out, wanted, kept * size) == 0);
        CHECK_EQ(out[n * size], 'x');
        free(out);
    }
    free(wanted);
}

static void check_filter(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed);
    unsigned char limits[] = {0, 1, 255};
    check_filter_by(c, in, n, size, is_odd, NULL);
    for (size_t i = 0; i < sizeof limits; i++)
        check_filter_by(c, in, n, size, is_small, &limits[i]);
    memset(in, 0, n * size);
    check_filter_by(c, in, n, size, is_small, &limits[1]);
    free(in);
}

TEST(filter_keeps_those_that_pass_in_their_order)
{
    holds(check_filter);
}

static void check_partition(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed), *wanted = room(n, size);
    size_t passed = serially(wanted, in, n, size, is_odd, NULL, true);
    serially(wanted + passed * size, in, n, size, is_odd, NULL, false);
    for (int in_place = 0; in_place < 2; in_place++) {
        char *out = in_place ? copy_of(in, n, size) : room(n, size);
        out[n * size] = 'x';
        CHECK_EQ(
            heist_partition(c, out, in_place ? out : in, n, size, is_odd, NULL),
            passed);
        CHECK(memcmp(out, wanted, n * size) == 0);
        CHECK_EQ(out[n * size], 'x');
        free(out);
    }
    free(in);
    free(wanted);
}

TEST(partition_is_stable_on_both_sides)
{
    holds(check_partition);
}

static bool same_low_bit(const void *a, const void *b, void *arg)
{
    return is_odd(a, arg) == is_odd(b, arg);
}

static bool same_bytes(const void *a, const void *b, void *arg)
{
    return memcmp(a, b, *(size_t *)arg) == 0;
}

static size_t unique_serially(char *out, const char *in, size_t n, size_t size,
                              heist_equal_fn *equal)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && equal(in + (i - 1) * size, in + i * size, &size)) continue;
        memcpy(out + kept++ * size, in + i * size, size);
    }
    return kept;
}

/* NULL stands for same_bytes. */
static void check_unique_by(heist_ctx c, const char *in, size_t n, size_t size,
                            heist_equal_fn *equal)
{
    char *wanted = room(n, size);
    size_t kept =
        unique_serially(wanted, in, n, size, equal ? equal : same_bytes);
    for (int in_place = 0; in_place < 2; in_place++) {
        char *out = in_place ? copy_of(in, n, size) : room(n, size);
        out[n * size] = 'x';
        CHECK_EQ(
            heist_unique(c, out, in_place ? out : in, n, size, equal, &size),
            kept);
        CHECK(memcmp(out, wanted, kept * size) == 0);
        CHECK_EQ(out[n * size], 'x');
        free(out);
    }
    free(wanted);
}

static void check_unique(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed);
    check_unique_by(c, in, n, size, NULL);
    check_unique_by(c, in, n, size, same_low_bit);
    for (size_t i = 0; i < n; i++)
        memset(in + i * size, (int)(i / (1 + i % 3000)), size);
    check_unique_by(c, in, n, size, NULL);
    memset(in, 5, n * size);
    check_unique_by(c, in, n, size, NULL);
    free(in);
}

TEST(unique_keeps_the_first_of_equal_neighbours)
{
    holds(check_unique);
}

/* --- shared ------------------------------------------------------------------------ */

enum {
    SLOW = 500
};

static HEIST_ATOMIC(uint64_t) seen; /* workers, a bit for each */

/* Sleeps for one in eight: others come, and blocks wait for one another. */
static bool is_odd_slowly(const void *element, void *arg)
{
    uint64_t bit = (uint64_t)1 << (heist_worker_index() & 63);
    if (*(const unsigned char *)element % 8 == 1) usleep(50);
    heist_or_relaxed(&seen, bit);
    return is_odd(element, arg);
}

static bool same_slowly(const void *a, const void *b, void *arg)
{
    return is_odd_slowly(a, arg) == is_odd(b, arg);
}

static uint64_t bucket_slowly(const void *element, void *arg)
{
    (void)is_odd_slowly(element, arg);
    return *(const unsigned char *)element;
}

static void slow_filters(heist_ctx c, const char *in, size_t size)
{
    char *out = copy_of(in, SLOW, size), *wanted = room(SLOW, size);
    size_t kept = serially(wanted, in, SLOW, size, is_odd, NULL, true);
    serially(wanted + kept * size, in, SLOW, size, is_odd, NULL, false);
    CHECK_EQ(heist_filter(c, out, out, SLOW, size, is_odd_slowly, NULL), kept);
    CHECK(memcmp(out, wanted, kept * size) == 0);
    memcpy(out, in, SLOW * size);
    CHECK_EQ(heist_partition(c, out, out, SLOW, size, is_odd_slowly, NULL),
             kept);
    CHECK(memcmp(out, wanted, SLOW * size) == 0);
    memcpy(out, in, SLOW * size);
    kept = unique_serially(wanted, in, SLOW, size, same_low_bit);
    CHECK_EQ(heist_unique(c, out, out, SLOW, size, same_slowly, NULL), kept);
    CHECK(memcmp(out, wanted, kept * size) == 0);
    free(out);
    free(wanted);
}

static void slow_histogram(heist_ctx c, const char *in, size_t size)
{
    size_t counts[256] = {0};
    CHECK_EQ(
        heist_histogram(c, counts, 256, in, SLOW, size, bucket_slowly, NULL),
        0);
    for (size_t i = 0; i < SLOW; i++)
        counts[((const unsigned char *)in)[i * size]]--;
    for (size_t i = 0; i < 256; i++)
        CHECK_EQ(counts[i], 0);
}

static void slow_ones(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < SIZES; i += 2) {
        char *in = noise(SLOW, sizes[i], &seed);
        slow_filters(c, in, sizes[i]);
        slow_histogram(c, in, sizes[i]);
        free(in);
    }
}

TEST(elements_that_take_long_are_shared_among_the_workers)
{
    heist_store_relaxed(&seen, 0);
    input_on_all_workers(slow_ones, NULL);
    uint64_t workers = heist_load_relaxed(&seen);
    CHECK((workers & (workers - 1)) != 0);
}

static bool is_odd_and_seldom_slow(const void *element, void *arg)
{
    uint64_t value = *(const uint64_t *)element;
    (void)arg;
    if (value % 2048 == 1) usleep(50);
    return value & 1;
}

/* All stay where they are up to one in the middle of somebody's block. */
static void late_gap(heist_ctx c, void *arg)
{
    enum {
        N = 100000
    };

    uint64_t *in = (uint64_t *)(void *)room(N, sizeof *in), seed = test_seed;
    (void)arg;
    for (int round = 0; round < 5; round++) {
        size_t gap = N / 4 + test_random(&seed) % (N / 2);
        for (size_t i = 0; i < N; i++)
            in[i] = i == gap ? 0 : 2 * i + 1;
        CHECK_EQ(heist_filter(c, in, in, N, 8, is_odd_and_seldom_slow, NULL),
                 N - 1);
        for (size_t i = 0; i < N - 1; i++)
            CHECK_EQ(in[i], 2 * (i + (i >= gap)) + 1);
    }
    free(in);
}

TEST(a_filter_in_place_may_find_its_first_gap_in_anybodys_block)
{
    input_on_all_workers(late_gap, NULL);
}

/* --- counted --------------------------------------------------------------------------- */

static uint64_t bucket_of(const void *element, void *arg)
{
    return *(const unsigned char *)element * *(size_t *)arg / 200;
}

static void check_buckets(heist_ctx c, const char *in, size_t n, size_t size,
                          size_t buckets)
{
    size_t *got = calloc(buckets + 1, sizeof *got);
    size_t *wanted = calloc(buckets + 1, sizeof *wanted);
    got[buckets] = wanted[buckets] = 1;
    if (buckets) got[0] = wanted[0] = 10;
    CHECK_EQ(heist_histogram(c, got, buckets, in, n, size, bucket_of, &buckets),
             0);
    for (size_t i = 0; i < n; i++) {
        uint64_t bucket = bucket_of(in + i * size, &buckets);
        if (bucket < buckets) wanted[bucket]++;
    }
    CHECK(memcmp(got, wanted, (buckets + 1) * sizeof *got) == 0);
    free(got);
    free(wanted);
}

static void check_histogram(heist_ctx c, size_t n, size_t size, uint64_t *seed)
{
    char *in = noise(n, size, seed);
    static const size_t buckets[] = {0, 1, 2, 100, 256, 5000};
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++)
        check_buckets(c, in, n, size, buckets[i]);
    free(in);
}

TEST(histogram_counts_every_element_once)
{
    holds(check_histogram);
}

/* --- memory ------------------------------------------------------------------ */

enum {
    HELD_UP = 4 << 20, /* elements, of 16 bytes */
    STUCK = HELD_UP / 128,
    STUCK_TIME = 1000000 /* ns */
};

typedef struct meter {
    HEIST_ATOMIC(size_t) now, most;
} meter;

static void *meter_alloc(void *arg, size_t bytes, size_t align)
{
    meter *m = arg;
    size_t now = heist_add_relaxed(&m->now, bytes) + bytes;
    size_t most = heist_load_relaxed(&m->most);
    while (now > most && !heist_cas_relaxed(&m->most, &most, now))
        ;
    void *p = NULL;
    return posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes) ? NULL
                                                                          : p;
}

static void meter_free(void *arg, void *p, size_t bytes)
{
    meter *m = arg;
    heist_sub_relaxed(&m->now, bytes);
    free(p);
}

/* A few hold up whoever comes to them: others go on meanwhile. */
static bool hold_up(const void *element, void *arg)
{
    (void)arg;
    if (*(const size_t *)element % STUCK == 0)
        for (int64_t end = hi_clock() + STUCK_TIME; hi_clock() < end;)
            hi_cpu_relax();
    return *(const size_t *)element % 2;
}

static void filter_held_up(heist_ctx c, void *arg)
{
    meter *m = arg;
    size_t before = heist_load_relaxed(&m->now), size = 16;
    size_t *in = calloc(HELD_UP, size);
    CHECK(in != NULL);
    for (size_t i = 0; i < HELD_UP; i++)
        in[2 * i] = i;
    heist_store_relaxed(&m->most, before);
    CHECK_EQ(heist_filter(c, in, in, HELD_UP, size, hold_up, NULL),
             HELD_UP / 2);
    for (size_t i = 0; i < HELD_UP / 2; i++)
        CHECK_EQ(in[2 * i], 2 * i + 1);
    CHECK_EQ(heist_load_relaxed(&m->now), before);
    /* Sixteen times seven blocks, a ninth of the input, and the table. */
    size_t most = 16 * 7 * (128 << 10) + HELD_UP * size / 9 + (1 << 20);
    CHECK(heist_load_relaxed(&m->most) - before <= most);
    free(in);
}

TEST(a_worker_that_is_held_up_does_not_cost_more_and_more_memory)
{
    meter m = {{0}, {0}};
    heist_allocator a = {meter_alloc, meter_free, &m};
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 3, .allocator = a};
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK_EQ(heist_run(rt, filter_held_up, &m), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
