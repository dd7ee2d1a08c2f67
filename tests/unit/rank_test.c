/* SPDX-License-Identifier: MIT */
#include "algo/rank.h"
#include "inputs.h"

enum {
    MANY = 40000,
    LATE =
        14 /* the last bits of a key: no room for them beside 40000 indices */
};

/* n keys, of which `group` each have all but the last bits in common. */
static void fill_groups(uint64_t *key, size_t n, size_t group, uint64_t *seed)
{
    uint64_t secret = test_random(seed);
    for (size_t i = 0; i < n; i++) {
        uint64_t first = secret + test_random(seed) % (n / group + 1);
        uint64_t beginning = test_random(&first) >> LATE << LATE;
        key[i] = beginning | test_random(seed) >> (64 - LATE);
    }
}

static uint64_t differences(const uint64_t *key, size_t n)
{
    uint64_t different = 0;
    for (size_t i = 1; i < n; i++)
        different |= key[i] ^ key[0];
    return different;
}

/* By key, then by index: then each index is there once, if all are below n. */
static void check_ranks(heist_ctx c, const uint64_t *key, size_t n)
{
    uint64_t *from = malloc(n * sizeof *from);
    uint64_t different = differences(key, n);
    if (different) {
        hi_rank(c, key, n, different, from);
        for (size_t i = 0; i < n; i++)
            CHECK(from[i] < n);
        for (size_t i = 1; i < n; i++) {
            uint64_t a = key[from[i - 1]], b = key[from[i]];
            CHECK(a < b || (a == b && from[i - 1] < from[i]));
        }
    }
    free(from);
}

static void shapes(heist_ctx c, void *arg)
{
    uint64_t *key = malloc(MANY * sizeof *key), seed = test_seed;
    (void)arg;
    for (int shape = 0; shape < INPUT_SHAPES; shape++) {
        for (size_t n = 2; n <= 100; n++) {
            input_fill((input_shape)shape, key, n, &seed);
            check_ranks(c, key, n);
        }
        input_fill((input_shape)shape, key, MANY, &seed);
        check_ranks(c, key, MANY);
    }
    free(key);
}

TEST(keys_of_all_shapes_are_ranked_by_key_then_by_index)
{
    input_on_all_workers(shapes, NULL);
}

/* Groups of two and three lie across the ends of blocks, too; most of those of 20
 * are too large to be compared. */
static void groups(heist_ctx c, void *arg)
{
    static const size_t group[] = {2, 3, 8, 20, 1000, MANY};
    uint64_t *key = malloc(MANY * sizeof *key), seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        fill_groups(key, MANY, group[i], &seed);
        check_ranks(c, key, MANY);
    }
    free(key);
}

TEST(keys_that_differ_late_are_ranked_by_their_last_bits)
{
    input_on_all_workers(groups, NULL);
}

/* The first bit and the last ones: in between all keys are the same. */
static void ends(heist_ctx c, void *arg)
{
    uint64_t *key = malloc(MANY * sizeof *key), seed = test_seed;
    (void)arg;
    for (size_t i = 0; i < MANY; i++)
        key[i] = test_random(&seed) & (UINT64_C(1) << 63 | 0xfff);
    check_ranks(c, key, MANY);
    free(key);
}

TEST(keys_that_differ_at_both_ends_are_ranked_by_both)
{
    input_on_all_workers(ends, NULL);
}
