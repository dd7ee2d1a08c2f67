/* SPDX-License-Identifier: MIT
 *
 * filter.c: some of the elements, in their order.
 *
 * A chain (chain.h) of blocks that fit into a cache.  A block of which it is known
 * how many were kept before it is packed to where it belongs; the others are
 * packed into a room of their worker's, and copied from there when it is known.
 * So memory is read once and written once, and elements are tested once.
 *
 * In place: what is written for a block ends not behind the block, and nothing of
 * it is written before all blocks up to it have been read.  The last element of
 * a block is written by none but its own, and then only if it is not where it
 * was: heist_unique looks at the last element of the block before.
 *
 * A partition has the others, too.  Where they begin is known at the end only: they
 * are put down from the end of `out`, and turned round at last.
 */
#include "algo/chain.h"
#include "algo/loop.h"
#include "algo/move.h"
#include "fork/scratch.h"

#include <errno.h>

enum {
    BLOCK_BYTES = 128 << 10,
    TURN_BYTES = 64 << 10
};

typedef struct filter filter;

struct filter {
    hi_chain chain; /* first: found by it */
    /* Puts what is kept of a block to `to`; returns how many. */
    size_t (*keep)(const filter *f, void *to, size_t begin, size_t end);
    void *out;
    const void *in;
    size_t n, size;
    heist_pack_fn *pack; /* of a filter by blocks */
    heist_test_fn *test;
    heist_equal_fn *equal;
    void *arg;
};

static void add(hi_chain *h, void *before, const void *sum)
{
    (void)h;
    *(size_t *)before += *(const size_t *)sum;
}

/* Puts a packed block where it belongs, unless it is there. */
static void finish(hi_chain *h, size_t begin, size_t end, void *before,
                   void *sum, const void *room)
{
    const filter *f = (const filter *)h;
    size_t to = *(size_t *)before, kept = *(size_t *)sum;
    if (f->out == f->in && to == begin && kept == end - begin) return;
    memcpy(hi_at(f->out, to, f->size), room, kept * f->size);
}

static size_t run(heist_ctx c, filter *f)
{
    size_t kept = 0, spare;
    f->chain.add = add;
    if (!f->chain.finish) f->chain.finish = finish;
    f->chain.value = sizeof kept;
    f->chain.room = f->size;
    f->chain.most = hi_block(BLOCK_BYTES, f->size);
    f->chain.timed = true;
    hi_chain_run(c, &f->chain, f->n, &kept, &spare);
    return kept;
}

/* What is kept of a block goes to its place, or to a room of its own. */
static void keep_pass(hi_chain *h, size_t begin, size_t end, void *before,
                      void *spare)
{
    const filter *f = (const filter *)h;
    size_t *kept = before;
    (void)spare;
    *kept += f->keep(f, hi_at(f->out, *kept, f->size), begin, end);
}

static void keep_sum(hi_chain *h, size_t begin, size_t end, void *sum,
                     void *room)
{
    const filter *f = (const filter *)h;
    *(size_t *)sum = f->keep(f, room, begin, end);
}

/* --- by blocks ----------------------------------------------------------------- */

static size_t packed(const filter *f, void *to, size_t begin, size_t end)
{
    return f->pack(to, hi_in(f->in, begin, f->size), end - begin, f->arg);
}

ptrdiff_t heist_filter_in(heist_ctx c, void *out, const void *in, size_t n,
                          size_t size, heist_pack_fn *pack, void *arg)
{
    filter f = {.chain = {.pass = keep_pass, .sum = keep_sum},
                .keep = packed,
                .out = out,
                .in = in,
                .n = n,
                .size = size,
                .pack = pack,
                .arg = arg};
    return (ptrdiff_t)run(c, &f);
}

/* --- by elements --------------------------------------------------------------- */

/* Every element is written, and the next one over it if it is not kept: there is
 * nothing to be guessed.  In place it is written over what has been read. */
HEIST_INLINE size_t pack_tested(const filter *f, void *out, size_t begin,
                                size_t end, size_t size)
{
    size_t kept = 0;
    for (size_t i = begin; i < end; i++) {
        const void *from = hi_in(f->in, i, size);
        bool keep = f->test(from, f->arg);
        memmove(hi_at(out, kept, size), from, size);
        kept += keep;
    }
    return kept;
}

static size_t tested(const filter *f, void *out, size_t begin, size_t end)
{
    return HI_BY_SIZE(f->size, pack_tested, f, out, begin, end);
}

ptrdiff_t heist_filter(heist_ctx c, void *out, const void *in, size_t n,
                       size_t size, heist_test_fn *test, void *arg)
{
    filter f = {.chain = {.pass = keep_pass, .sum = keep_sum},
                .keep = tested,
                .out = out,
                .in = in,
                .n = n,
                .size = size,
                .test = test,
                .arg = arg};
    return (ptrdiff_t)run(c, &f);
}

/* --- neighbours ---------------------------------------------------------------- */

HEIST_INLINE size_t pack_unique(const filter *f, void *out, size_t begin,
                                size_t end, size_t size)
{
    char *to = out;
    for (size_t i = begin; i < end; i++) {
        const char *from = hi_in(f->in, i, size);
        if (i > 0 && (f->equal ? f->equal(from - size, from, f->arg)
                               : memcmp(from - size, from, size) == 0))
            continue;
        if (to != from) memcpy(to, from, size);
        to += size;
    }
    return (size_t)(to - (char *)out) / size;
}

static size_t uniques(const filter *f, void *out, size_t begin, size_t end)
{
    return HI_BY_SIZE(f->size, pack_unique, f, out, begin, end);
}

ptrdiff_t heist_unique(heist_ctx c, void *out, const void *in, size_t n,
                       size_t size, heist_equal_fn *equal, void *arg)
{
    filter f = {.chain = {.pass = keep_pass, .sum = keep_sum},
                .keep = uniques,
                .out = out,
                .in = in,
                .n = n,
                .size = size,
                .equal = equal,
                .arg = arg};
    return (ptrdiff_t)run(c, &f);
}

/* --- partition ----------------------------------------------------------------- */

/* Those that pass upwards from `up`, the others downwards from before `down`.  As
 * above: every element is written to both ends of what is free. */
HEIST_INLINE size_t pack_both(const filter *f, char *up, char *down,
                              size_t begin, size_t end, size_t size)
{
    size_t passed = 0;
    for (size_t i = begin; i < end; i++) {
        const void *from = hi_in(f->in, i, size);
        bool passes = f->test(from, f->arg);
        memcpy(up + passed * size, from, size);
        memcpy(down - (i - begin - passed + 1) * size, from, size);
        passed += passes;
    }
    return passed;
}

/* The end of the place for those that do not pass: `others` of them are behind
 * it. */
static char *others_end(const filter *f, size_t others)
{
    return hi_at(f->out, f->n - others, f->size);
}

static void both_pass(hi_chain *h, size_t begin, size_t end, void *before,
                      void *spare)
{
    const filter *f = (const filter *)h;
    size_t *passed = before;
    char *up = hi_at(f->out, *passed, f->size);
    char *down = others_end(f, begin - *passed);
    (void)spare;
    *passed += HI_BY_SIZE(f->size, pack_both, f, up, down, begin, end);
}

static void both_sum(hi_chain *h, size_t begin, size_t end, void *sum,
                     void *room)
{
    const filter *f = (const filter *)h;
    char *up = room, *down = hi_at(room, end - begin, f->size);
    *(size_t *)sum = HI_BY_SIZE(f->size, pack_both, f, up, down, begin, end);
}

static void both_finish(hi_chain *h, size_t begin, size_t end, void *before,
                        void *sum, const void *room)
{
    const filter *f = (const filter *)h;
    size_t to = *(size_t *)before, passed = *(size_t *)sum;
    size_t others = end - begin - passed;
    memcpy(hi_at(f->out, to, f->size), room, passed * f->size);
    memcpy(others_end(f, begin - to + others), hi_in(room, passed, f->size),
           others * f->size);
}

/* Elements first .. last - 1 go to `to` in the opposite order. */
typedef struct turn {
    hi_loop loop; /* first: found by it */
    const char *last;
    char *to;
    size_t size;
} turn;

HEIST_INLINE void copy_range(const turn *t, size_t begin, size_t end,
                             size_t size)
{
    for (size_t i = begin; i < end; i++)
        memcpy(t->to + i * size, t->last - (i + 1) * size, size);
}

static void copy_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const turn *t = (const turn *)l;
    (void)c;
    HI_BY_SIZE(t->size, copy_range, t, begin, end);
}

/* Those that did not pass are turned round, into `to`. */
static void turn_others(heist_ctx c, const filter *f, size_t passed, void *to)
{
    size_t others = f->n - passed;
    char *first = hi_at(f->out, passed, f->size);
    turn t = {
        .loop = {.piece = copy_piece, .grain = hi_block(TURN_BYTES, f->size)},
        .last = hi_at(f->out, f->n, f->size),
        .to = hi_at(to, passed, f->size),
        .size = f->size};
    if (t.to == first)
        hi_turn_round(c, first, others, f->size);
    else
        hi_loop_run(c, &t.loop, 0, others);
}

static size_t both(heist_ctx c, void *out, const void *in, size_t n,
                   size_t size, heist_test_fn *test, void *arg, void *to)
{
    filter f = {
        .chain = {.pass = both_pass, .sum = both_sum, .finish = both_finish},
        .out = out,
        .in = in,
        .n = n,
        .size = size,
        .test = test,
        .arg = arg};
    size_t passed = run(c, &f);
    if (to != out) heist_copy(c, to, out, passed, size);
    turn_others(c, &f, passed, to);
    return passed;
}

ptrdiff_t heist_partition(heist_ctx c, void *out, const void *in, size_t n,
                          size_t size, heist_test_fn *test, void *arg)
{
    if (n == 0) return 0;
    if (out != in) return (ptrdiff_t)both(c, out, in, n, size, test, arg, out);
    void *room = hi_scratch_get(c, n, size);
    if (!room) return -ENOMEM;
    size_t passed = both(c, room, in, n, size, test, arg, out);
    hi_scratch_put(c, room, n, size);
    return (ptrdiff_t)passed;
}
