/* SPDX-License-Identifier: MIT */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H

/*
 * The comparisons that the algorithms know, and elements for each of them.
 */
#include "test.h"

#include <heist/algo.h>

static const struct {
    heist_compare_fn *compare;
    size_t size;
} known[] = {{heist_by_i32, 4},  {heist_by_u32, 4}, {heist_by_i64, 8},
             {heist_by_u64, 8},  {heist_by_f32, 4}, {heist_by_f64, 8},
             {heist_by_pair, 16}};

enum {
    KNOWN = sizeof known / sizeof *known
};

/* n elements of any bits; in one array of two many are equal, and as floats both
 * zeros and NaNs of both signs. */
static inline void known_fill(void *base, size_t n, size_t size, uint64_t *seed)
{
    static const uint32_t special[] = {0, 0x80000000, 0x7ff80000, 0xfff80000};
    uint64_t share = test_random(seed) % 2;
    for (size_t i = 0; i < n * size / 4; i++) {
        uint64_t random = test_random(seed);
        uint32_t half = (uint32_t)(random >> 32);
        if (random & share) half = special[random / 2 % 4];
        memcpy((char *)base + 4 * i, &half, sizeof half);
    }
}

#endif
