/* SPDX-License-Identifier: MIT
 *
 * hi_random_below is uniform: each result below n has floor(2^32 / n) of the
 * 2^32 values behind it.  The values behind r are an interval of which at most
 * the first is rejected; so its two ends say how many there are.
 * hi_round_up gives the least power of two that is large enough.
 */
#include "core/random.h"
#include "fuzz.h"
#include "queue/memory.h"

/* A generator whose next value is x. */
static hi_random about_to_give(uint32_t x, uint64_t stream)
{
    uint64_t old = 0, wanted = (uint64_t)x << 27;
    for (int i = 58; i >= 27; i--)
        old |= ((wanted >> i & 1) ^ (old >> 18 >> i & 1)) << i;
    hi_random r = {old, stream | 1}, copy = r;
    FUZZ_CHECK(hi_random_next(&copy) == x);
    return r;
}

/* Is the value x turned into r, or into nothing (and another one drawn)? */
static bool gives(uint32_t x, uint32_t n, uint32_t *result)
{
    hi_random r = about_to_give(x, 12345), once = r;
    hi_random_next(&once);
    *result = hi_random_below(&r, n);
    FUZZ_CHECK(*result < n);
    return r.state == once.state;
}

/* ceil(r * 2^32 / n): the first value behind r. */
static uint64_t first_of(uint64_t r, uint64_t n)
{
    return ((r << 32) + n - 1) / n;
}

static void check_uniform(uint32_t n, uint32_t r)
{
    uint32_t result;
    uint64_t low = first_of(r, n), end = first_of((uint64_t)r + 1, n);
    uint64_t share = ((uint64_t)1 << 32) / n;
    bool whole = end - low == share;
    FUZZ_CHECK(whole || end - low == share + 1);
    FUZZ_CHECK(gives((uint32_t)low, n, &result) == whole);
    if (whole) FUZZ_CHECK(result == r);
    if (end - low > 1) {
        FUZZ_CHECK(gives((uint32_t)low + 1, n, &result) && result == r);
        FUZZ_CHECK(gives((uint32_t)(end - 1), n, &result) && result == r);
    }
}

static void check_round_up(size_t n, size_t least)
{
    size_t power = hi_round_up(n, least);
    if (n > SIZE_MAX / 2 + 1) {
        FUZZ_CHECK(power == 0);
        return;
    }
    FUZZ_CHECK(power >= n && power >= least && power != 0);
    FUZZ_CHECK((power & (power - 1)) == 0);
    FUZZ_CHECK(power == least || power / 2 < n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    uint32_t n = (uint32_t)fuzz_edge(&in), r = (uint32_t)fuzz_edge(&in);
    if (n) check_uniform(n, r % n);
    check_round_up((size_t)fuzz_edge(&in),
                   (size_t)1 << (fuzz_take(&in, 1) % 64));
    return 0;
}
