/* SPDX-License-Identifier: MIT
 *
 * reduce_best.h: a template, included by reduce_typed.h for the smallest and for
 * the largest.  A NaN is not better than anything, and so passed over.
 */

static inline void BEST(step_)(TYPE *lane, const TYPE *x)
{
    for (size_t k = 0; k < SIDE; k++)
        lane[k] = IS_BETTER(x[k], lane[k]) ? x[k] : lane[k];
}

static TYPE BEST(best_)(const TYPE *x, size_t n)
{
    TYPE lane[SIDE], best = WORST;
    if (n < SIDE) {
        for (size_t i = 0; i < n; i++)
            best = IS_BETTER(x[i], best) ? x[i] : best;
        return best;
    }
    for (size_t k = 0; k < SIDE; k++)
        lane[k] = WORST;
    for (size_t i = 0; n - i >= SIDE; i += SIDE)
        BEST(step_)(lane, x + i);
    /* The rest, and some once more: that does no harm. */
    BEST(step_)(lane, x + n - SIDE);
    for (size_t width = SIDE / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lane[k] =
                IS_BETTER(lane[k + width], lane[k]) ? lane[k + width] : lane[k];
    return lane[0];
}

static part BEST(block_)(const void *base, size_t begin, size_t end)
{
    const TYPE *x = base;
    part p = {.at = begin};
    if (begin > 0) x += begin; /* there may be no array */
    p.value.WORD = BEST(best_)(x, end - begin);
    return p;
}

static part BEST(combine_)(part left, part right)
{
    return IS_BETTER(right.value.WORD, left.value.WORD) ? right : left;
}

static part BEST(tree_)(heist_ctx c, const TYPE *base, size_t n)
{
    enum {
        BLOCK = BLOCK_BYTES / sizeof(TYPE)
    };

    static const reduction best = {BLOCK, BEST(block_), BEST(combine_)};
    if (n <= BLOCK) return BEST(block_)(base, 0, n);
    return tree(c, &best, base, 0, n);
}

TYPE BEST(heist_)(heist_ctx c, const TYPE *base, size_t n)
{
    return (TYPE)BEST(tree_)(c, base, n).value.WORD;
}

/* The index is looked for in the best block only.  If the best is the worst
 * there is, the blocks before it may be NaNs: then it is looked for from there
 * to the end. */
size_t BEST(heist_arg)(heist_ctx c, const TYPE *base, size_t n)
{
    if (n == 0) return HEIST_NONE;
    part best = BEST(tree_)(c, base, n);
    return NAME(first_of)(base, best.at, n, (TYPE)best.value.WORD);
}

#undef BEST
#undef IS_BETTER
#undef WORST
