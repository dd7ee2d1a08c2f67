/* SPDX-License-Identifier: MIT
 *
 * More than 2^32 elements: an index that is cut to 32 bits somewhere on its way
 * misses the last of them, or meets the first ones twice.
 */
#include "scale.h"
#include "test.h"

#include <heist.h>

#include <errno.h>

#define WORD  ((size_t)1 << 32)
#define N     (WORD + (1 << 20) + 5)
#define RANGE (4 * WORD + 5) /* halves of halves begin behind WORD, too */

/* --- ranges, without an array ----------------------------------------------------- */

typedef HEIST_ATOMIC(size_t) counter;

static void count_range(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    CHECK(begin < end && end <= RANGE);
    heist_add_relaxed((counter *)arg, end - begin);
}

static void count_tile(heist_ctx c, heist_tile t, void *arg)
{
    (void)c;
    CHECK(t.row < t.row_end && t.column < t.column_end);
    heist_add_relaxed((counter *)arg,
                      (t.row_end - t.row) * (t.column_end - t.column));
}

static void fold_range(heist_ctx c, size_t begin, size_t end, void *sum,
                       void *arg)
{
    (void)c, (void)arg;
    *(size_t *)sum += end - begin;
}

static void add(void *left, const void *right, void *arg)
{
    (void)arg;
    *(size_t *)left += *(const size_t *)right;
}

static bool is_in(size_t begin, size_t end, const void *arg)
{
    size_t place = *(const size_t *)arg;
    return begin <= place && place < end;
}

static bool go_on_before(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    return !is_in(begin, end, arg);
}

static int fail_at(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    return is_in(begin, end, arg) ? -EDOM : 0;
}

static size_t find_in(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    return is_in(begin, end, arg) ? *(size_t *)arg : HEIST_NONE;
}

static void run_ranges(heist_ctx c, void *arg)
{
    counter all = {0};
    size_t sum = 0, fixed = 0, place = 3 * WORD + 7;
    (void)arg;
    heist_for(c, 0, RANGE, count_range, &all);
    CHECK_EQ(heist_load_relaxed(&all), RANGE);
    heist_for_grain(c, WORD - 3, RANGE, 1 << 20, count_range, &all);
    CHECK_EQ(heist_load_relaxed(&all), 2 * RANGE - WORD + 3);
    heist_store_relaxed(&all, 0);
    heist_for_2d(c, 3, RANGE, 0, 0, count_tile, &all);
    heist_for_2d(c, RANGE, 3, 0, 0, count_tile, &all);
    CHECK_EQ(heist_load_relaxed(&all), 6 * RANGE);
    heist_fold(c, 0, RANGE, &sum, sizeof sum, fold_range, add, NULL, 0);
    CHECK_EQ(sum, RANGE);
    heist_fold(c, 0, RANGE, &fixed, sizeof fixed, fold_range, add, NULL,
               HEIST_FIXED_TREE);
    CHECK_EQ(fixed, RANGE);
    CHECK(!heist_for_while(c, 0, RANGE, go_on_before, &place));
    CHECK_EQ(heist_try_for(c, 0, RANGE, fail_at, &place), -EDOM);
    CHECK_EQ(heist_find_any_in(c, 0, RANGE, find_in, &place), place);
    CHECK_EQ(heist_find_first_in(c, 0, RANGE, find_in, &place), place);
    place = 7;
    CHECK_EQ(heist_find_last_in(c, 0, RANGE, find_in, &place), place);
}

TEST(ranges_go_on_behind_the_last_word_index)
{
    CHECK_EQ(heist_run(NULL, run_ranges, NULL), 0);
}

/* --- an array of bytes ----------------------------------------------------------------- */

/* Only where it takes seconds: at full scale, and not under the tools. */
static bool is_too_slow(void)
{
    if (scaled(100) >= 100 && !getenv("HEIST_NO_FORK")) return false;
    printf("skipped, at full scale only: ");
    return true;
}

/* What the machine has to give; 0 if it does not say. */
static size_t available_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    if (f) fclose(f);
    return (size_t)kib << 10;
}

static void next_word(void *out, const void *in, size_t index, void *arg)
{
    (void)arg;
    *(uint8_t *)out = (uint8_t)(*(const uint8_t *)in + (index >> 32));
}

static bool is_equal(const void *element, void *arg)
{
    return *(const uint8_t *)element == *(uint8_t *)arg;
}

static uint64_t byte_of(const void *element, void *arg)
{
    (void)arg;
    return *(const uint8_t *)element;
}

/* Nines fall out. */
static size_t pack_others(void *out, const void *in, size_t n, void *arg)
{
    uint8_t *to = out;
    const uint8_t *from = in;
    size_t kept = 0;
    (void)arg;
    for (size_t i = 0; i < n; i++) {
        uint8_t x = from[i];
        to[kept] = x;
        kept += x != 9;
    }
    return kept;
}

static void add_bytes(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint8_t *)left = (uint8_t)(*(uint8_t *)left + *(const uint8_t *)right);
}

/* Elements from begin to end - 1 that are x. */
static void check_all(const uint8_t *base, size_t begin, size_t end, uint8_t x)
{
    size_t others = 0;
    for (size_t i = begin; i < end; i++)
        others += base[i] != x;
    CHECK_EQ(others, 0);
}

/* 2^32 sevens, then eights. */
static void fill_and_look(heist_ctx c, uint8_t *base)
{
    uint8_t seven = 7, eight = 8;
    heist_fill(c, base, N, 1, &seven);
    check_all(base, 0, N, 7);
    heist_map(c, base, 1, base, 1, N, next_word, NULL);
    check_all(base, 0, WORD, 7);
    check_all(base, WORD, N, 8);
    CHECK_EQ(heist_count(c, base, N, 1, is_equal, &seven), WORD);
    CHECK_EQ(heist_find_first(c, base, N, 1, is_equal, &eight), WORD);
    CHECK_EQ(heist_find_last(c, base, N, 1, is_equal, &seven), WORD - 1);
    size_t counts[9] = {0};
    CHECK_EQ(heist_histogram(c, counts, 9, base, N, 1, byte_of, NULL), 0);
    CHECK_EQ(counts[7], WORD);
    CHECK_EQ(counts[8], N - WORD);
}

/* One falls out of the front, so that all the others move up. */
static void filter_and_scan(heist_ctx c, uint8_t *base)
{
    uint8_t total = 0, one = 1;
    base[5] = 9;
    CHECK_EQ(heist_filter_in(c, base, base, N, 1, pack_others, NULL), N - 1);
    check_all(base, 0, WORD - 1, 7);
    check_all(base, WORD - 1, N - 1, 8);
    heist_fill(c, base, N, 1, &one);
    CHECK_EQ(heist_scan(c, base, base, N, 1, add_bytes, &total, NULL,
                        HEIST_INCLUSIVE),
             0);
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++)
        wrong += base[i] != (uint8_t)(i + 1);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(total, (uint8_t)N);
}

static void run_array(heist_ctx c, void *arg)
{
    fill_and_look(c, arg);
    filter_and_scan(c, arg);
}

TEST(arrays_go_on_behind_the_last_word_index)
{
    if (is_too_slow()) return;
    if (available_bytes() < 3 * N) {
        printf("skipped, less than 13 GB of memory: ");
        return;
    }
    uint8_t *base = malloc(N);
    CHECK(base != NULL);
    CHECK_EQ(heist_run(NULL, run_array, base), 0);
    free(base);
}
