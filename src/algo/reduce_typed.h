/* SPDX-License-Identifier: MIT
 *
 * reduce_typed.h: a template, included by reduce_typed.c for each type.
 */

/* Sixteen lanes: as many as hide the time of an addition. */
static LANE NAME(sum_of)(const TYPE *x, size_t n)
{
    LANE lane[16], rest = 0;
    size_t whole = n - n % 16;
    for (size_t i = whole; i < n; i++)
        rest += (LANE)x[i];
    if (n < 16) return rest;
    for (size_t k = 0; k < 16; k++)
        lane[k] = (LANE)x[k];
    for (size_t i = 16; i < whole; i += 16)
        for (size_t k = 0; k < 16; k++)
            lane[k] += (LANE)x[i + k];
    for (size_t width = 8; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lane[k] += lane[k + width];
    return lane[0] + rest;
}

static part NAME(sum_of_block)(const void *base, size_t begin, size_t end)
{
    const TYPE *x = base;
    part p = {.at = begin};
    p.value.LANE_WORD = NAME(sum_of)(x + begin, end - begin);
    return p;
}

SUM NAME(heist_sum)(heist_ctx c, const TYPE *base, size_t n)
{
    enum {
        BLOCK = BLOCK_BYTES / sizeof(TYPE)
    };

    static const reduction sum = {BLOCK, NAME(sum_of_block), ADD};
    if (n <= BLOCK) return (SUM)NAME(sum_of)(base, n);
    return (SUM)tree(c, &sum, base, 0, n).value.LANE_WORD;
}

/* The first of that value; 0 if there is none, because all are NaNs. */
static size_t NAME(first_of)(const TYPE *x, size_t begin, size_t end,
                             TYPE value)
{
    for (size_t i = begin; i < end; i++)
        if (x[i] == value) return i;
    return 0;
}

#define BEST(name)      NAME(name##min)
#define IS_BETTER(a, b) ((a) < (b))
#define WORST           GREATEST
#include "algo/reduce_best.h"

#define BEST(name)      NAME(name##max)
#define IS_BETTER(a, b) ((a) > (b))
#define WORST           LEAST
#include "algo/reduce_best.h"

#undef TYPE
#undef NAME
#undef SUM
#undef LANE
#undef LANE_WORD
#undef ADD
#undef WORD
#undef SIDE
#undef LEAST
#undef GREATEST
