/* SPDX-License-Identifier: MIT
 *
 * scan.c: prefix sums.
 *
 * A chain (chain.h) of blocks that fit into a cache: a block whose prefix is known
 * is scanned at once.  Of the others, those of numbers are scanned as if nothing
 * came before them, and what does is added when it is known: on a cache that is
 * cheaper than to read them twice.  Where an addition is a call they are summed
 * first, and scanned then.  Either way memory is read once and written once, by
 * any number of workers.
 */
#include "algo/chain.h"
#include "algo/move.h"
#include "fork/scratch.h"

#include <heist/algo.h>

#include <errno.h>

enum {
    BLOCK_BYTES = 128 << 10,
    LEAST = 16, /* elements of a block, each an addition that may be dear */
    SPARE_BYTES = 256 /* elements not longer than that need no memory */
};

typedef struct scan {
    hi_chain chain; /* first: found by it */
    void *out;
    const void *in;
    heist_scan_kind kind;
    /* Of elements of any kind: */
    size_t size;
    heist_combine_fn *combine;
    void *arg;
} scan;

#define TYPE    uint32_t
#define NAME(x) x##_u32
#include "algo/scan_typed.h"
#undef TYPE
#undef NAME

#define TYPE    uint64_t
#define NAME(x) x##_u64
#include "algo/scan_typed.h"
#undef TYPE
#undef NAME

#define TYPE    float
#define NAME(x) x##_f32
#include "algo/scan_typed.h"
#undef TYPE
#undef NAME

#define TYPE    double
#define NAME(x) x##_f64
#include "algo/scan_typed.h"
#undef TYPE
#undef NAME

/* Sums that wrap have the same bits with a sign and without. */
int heist_scan_i32(heist_ctx c, int32_t *out, const int32_t *in, size_t n,
                   heist_scan_kind kind)
{
    return heist_scan_u32(c, (uint32_t *)out, (const uint32_t *)in, n, kind);
}

int heist_scan_i64(heist_ctx c, int64_t *out, const int64_t *in, size_t n,
                   heist_scan_kind kind)
{
    return heist_scan_u64(c, (uint64_t *)out, (const uint64_t *)in, n, kind);
}

HEIST_INLINE void inclusive(const scan *s, size_t begin, size_t end,
                            void *before, size_t size)
{
    for (size_t i = begin; i < end; i++) {
        s->combine(before, hi_in(s->in, i, size), s->arg);
        memcpy(hi_at(s->out, i, size), before, size);
    }
}

/* In place the element is gone once its prefix is written: what comes before it
 * waits in the spare value until it has been added. */
HEIST_INLINE void exclusive(const scan *s, size_t begin, size_t end,
                            void *before, void *spare, size_t size)
{
    for (size_t i = begin; i < end; i++) {
        const void *in = hi_in(s->in, i, size);
        void *out = hi_at(s->out, i, size);
        void *keep = out == in ? spare : out;
        memcpy(keep, before, size);
        s->combine(before, in, s->arg);
        if (keep != out) memcpy(out, keep, size);
    }
}

static void pass(hi_chain *h, size_t begin, size_t end, void *before,
                 void *spare)
{
    const scan *s = (const scan *)h;
    if (s->kind == HEIST_INCLUSIVE)
        HI_BY_SIZE(s->size, inclusive, s, begin, end, before);
    else
        HI_BY_SIZE(s->size, exclusive, s, begin, end, before, spare);
}

static void sum(hi_chain *h, size_t begin, size_t end, void *sum, void *room)
{
    const scan *s = (const scan *)h;
    (void)room;
    memcpy(sum, hi_in(s->in, begin, s->size), s->size);
    for (size_t i = begin + 1; i < end; i++)
        s->combine(sum, hi_in(s->in, i, s->size), s->arg);
}

static void add(hi_chain *h, void *before, const void *sum)
{
    const scan *s = (const scan *)h;
    s->combine(before, sum, s->arg);
}

static void finish(hi_chain *h, size_t begin, size_t end, void *before,
                   void *sum, const void *room)
{
    (void)room;
    pass(h, begin, end, before, sum);
}

int heist_scan(heist_ctx c, void *out, const void *in, size_t n, size_t size,
               heist_combine_fn *combine, void *total, void *arg,
               heist_scan_kind kind)
{
    scan s = {.chain = {.pass = pass,
                        .sum = sum,
                        .add = add,
                        .finish = finish,
                        .value = size,
                        .most = hi_block(BLOCK_BYTES, size),
                        .least = LEAST,
                        .timed = true},
              .out = out,
              .in = in,
              .kind = kind,
              .size = size,
              .combine = combine,
              .arg = arg};
    unsigned char small[SPARE_BYTES] HEIST_ALIGNED(64), *spare = small;
    if (size > SPARE_BYTES && kind == HEIST_EXCLUSIVE && out == in && n > 0) {
        spare = hi_scratch_get(c, 1, size);
        if (!spare) return -ENOMEM;
    }
    hi_chain_run(c, &s.chain, n, total, spare);
    if (spare != small) hi_scratch_put(c, spare, 1, size);
    return 0;
}
