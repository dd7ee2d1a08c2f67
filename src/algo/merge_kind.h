/* SPDX-License-Identifier: MIT
 *
 * merge_kind.h: a hi_kind.  merge.c includes it once for each, with
 *
 *     NAME(what)  the name of what for this kind
 *     SIZE(by)    the size of an element
 *     LESS        an inline hi_less_fn
 */

static void NAME(merge)(const hi_by *by, char *out, const char *a, size_t a_n,
                        const char *b, size_t b_n)
{
    merge(by, SIZE(by), LESS, false, out, a, a_n, b, b_n);
}

static void NAME(sort_block)(const hi_by *by, char *base, char *scratch)
{
    sort_block(by, SIZE(by), LESS, base, scratch);
}

static size_t NAME(run)(const hi_by *by, const char *p, size_t n, bool *down)
{
    return run(by, SIZE(by), LESS, p, n, down);
}

static hi_kind NAME(kind)(hi_by by)
{
    return (hi_kind){.by = by,
                     .less = LESS,
                     .merge = NAME(merge),
                     .merge_far = NAME(merge),
                     .run = NAME(run),
                     .sort_block = NAME(sort_block),
                     .grain = GRAIN_MOST};
}

#undef NAME
#undef SIZE
#undef LESS
