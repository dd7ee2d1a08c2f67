/* SPDX-License-Identifier: MIT
 *
 * reduce.c: ranges folded into one value.
 *
 * Whoever folds goes on folding into the value that he has: a right half that
 * nobody took is simply what comes next, and nothing is combined.  Only a half
 * that somebody took is begun apart, and combined after the join.  So there are
 * as many combinations as thefts, and the grain follows the clock as in loop.c.
 *
 * In a fixed tree every right half is begun apart, whoever does it, and the
 * range alone says where the halves and the pieces end.  The clock only says
 * which halves are worth offering.
 *
 * Invariants:
 *   I1  The lowest failed index only falls.  A piece is passed over only if one
 *       before it has failed, so the first piece that fails is always run, and
 *       at each join the error of the left half goes before that of the right.
 *
 * Edges: none.  Values and errors pass from one worker to another at the joins.
 */
#include <errno.h>
#include <string.h>

#include "algo/loop.h"
#include "fork/scratch.h"
#include "platform/platform.h"

enum {
    ON_STACK = 256,   /* bytes of a value that needs no memory */
    FIXED_SHARE = 32, /* fixed tree: a piece is so much of the range, ... */
    FIXED_MOST = 4096 /* ... at most so long: nobody can help in it */
};

/* Room for a value, aligned for any vector, on lines of its own: somebody else
 * may write it. */
typedef struct room {
    char bytes[ON_STACK] HEIST_ALIGNED(64);
} room;

typedef struct folding folding;

struct folding {
    int (*piece)(heist_ctx c, const folding *f, size_t begin, size_t end,
                 void *sum);

    union {
        heist_fold_fn *plain;
        heist_try_fold_fn *fallible;
    } fold;

    heist_combine_fn *combine;
    void *arg;
    size_t size;
    const char *identity;        /* what a part is begun with, or NULL: ... */
    const char *elements;        /* ... its first element */
    bool may_fail;               /* then one iteration is timed first */
    size_t block, most;          /* fixed tree: its longest piece, its grain */
    HEIST_ATOMIC(size_t) failed; /* the lowest index of a failed piece */
};

/* How a part of the range went, and the grain to go on with. */
typedef struct outcome {
    size_t grain;
    int error;
} outcome;

/* --- what both ways of folding need ------------------------------------------- */

static bool is_needless(const folding *f, size_t begin)
{
    /* relaxed: hint (who sees it late has done a piece too many) */
    return heist_load_relaxed(&f->failed) < begin;
}

static void note_failure(folding *f, size_t begin)
{
    /* relaxed: hint */
    size_t lowest = heist_load_relaxed(&f->failed);
    while (begin < lowest)
        /* relaxed: hint */
        if (heist_cas_relaxed(&f->failed, &lowest, begin)) return;
}

static int run_piece(heist_ctx c, folding *f, size_t begin, size_t end,
                     void *sum)
{
    int error = f->piece(c, f, begin, end, sum);
    if (HEIST_LIKELY(error >= 0)) return 0;
    note_failure(f, begin);
    return error;
}

/* Begins a part apart from what is before it; returns what is left to fold. */
static size_t begin_apart(const folding *f, void *sum, size_t begin)
{
    if (f->identity) {
        memcpy(sum, f->identity, f->size);
        return begin;
    }
    memcpy(sum, f->elements + begin * f->size, f->size);
    return begin + 1;
}

/* The grain for iterations of which n took so long. */
static size_t grain_for(size_t n, uint64_t took, size_t most)
{
    double grain = (double)HI_PIECE_TIME * (double)n / (double)(took + 1);
    if (grain >= (double)most) return most;
    return grain < 1 ? 1 : (size_t)grain;
}

/* --- pieces as long as the clock says ------------------------------------------- */

static int timed(heist_ctx c, folding *f, size_t begin, size_t end, void *sum);

/* A part that somebody took.  Without memory for its value it is left to the
 * one who offered it. */
static void part_apart(heist_ctx c, heist_frame *right)
{
    folding *f = right->arg[0].p;
    size_t begin = right->arg[1].u, end = right->arg[2].u;
    void *sum = right->arg[3].p;
    if (f->size > ON_STACK) sum = hi_scratch_get(c, 1, f->size);
    right->result.p = sum;
    if (!sum) return;
    begin = begin_apart(f, sum, begin);
    right->arg[0].i = timed(c, f, begin, end, sum);
}

static heist_ctx offer(heist_ctx c, folding *f, size_t begin, size_t end,
                       room *value)
{
    heist_frame *right = heist_slot(c);
    right->arg[0].p = f;
    right->arg[1].u = begin;
    right->arg[2].u = end;
    right->arg[3].p = value;
    return heist_fork(c, part_apart);
}

/* Has somebody taken the part, and folded it? */
static bool is_folded(heist_ctx c)
{
    return !heist_join(c) && heist_slot(c)->result.p;
}

/* Puts what somebody else has folded behind sum. */
static int take_in(heist_ctx c, const folding *f, void *sum, int error)
{
    heist_frame *right = heist_slot(c);
    void *value = right->result.p;
    if (!error) error = (int)right->arg[0].i;
    if (!error) f->combine(sum, value, f->arg);
    if (f->size > ON_STACK) hi_scratch_put(c, value, 1, f->size);
    return error;
}

/* A piece, while the rest is open to others.  True: nothing is left to do. */
static bool piece_of(heist_ctx c, folding *f, size_t begin, size_t middle,
                     size_t end, void *sum, int *error)
{
    room value;
    heist_ctx left = offer(c, f, middle, end, &value);
    *error = run_piece(left, f, begin, middle, sum);
    if (is_folded(c)) {
        *error = take_in(c, f, sum, *error);
        return true;
    }
    return *error < 0 || is_needless(f, middle);
}

/* A range that will not last long, one piece after the other. */
static int small(heist_ctx c, folding *f, size_t begin, size_t end, void *sum)
{
    size_t grain = hi_about((end - begin) / HI_FEWEST);
    int error;
    while (end - begin > grain + grain / 4) {
        if (piece_of(c, f, begin, begin + grain, end, sum, &error))
            return error;
        begin += grain;
    }
    return run_piece(c, f, begin, end, sum);
}

/* Others, with a grain that follows the clock up to `most`. */
static outcome halves(heist_ctx c, folding *f, size_t begin, size_t end,
                      void *sum, size_t grain, size_t most)
{
    outcome o = {grain, 0};
    while (end - begin > o.grain) {
        if (is_needless(f, begin)) return o;
        size_t middle = begin + hi_about((end - begin) / 2);
        room value;
        heist_ctx left = offer(c, f, middle, end, &value);
        o = halves(left, f, begin, middle, sum, o.grain, most);
        if (is_folded(c)) {
            o.error = take_in(c, f, sum, o.error);
            return o;
        }
        if (o.error) return o;
        begin = middle;
    }
    if (is_needless(f, begin)) return o;
    uint64_t start = hi_ticks();
    o.error = run_piece(c, f, begin, end, sum);
    uint64_t took = hi_ticks() - start;
    o.grain = hi_smaller(hi_grain_after(o.grain, end - begin, took), most);
    return o;
}

/* Times the first iterations while others may already take the rest. */
static int timed(heist_ctx c, folding *f, size_t begin, size_t end, void *sum)
{
    size_t most = hi_longest_sample(end - begin), sampled;
    size_t n = f->may_fail ? 1 : hi_first_sample(most);
    uint64_t took;
    int error;
    if (is_needless(f, begin)) return 0;
    if (end - begin <= n) return run_piece(c, f, begin, end, sum);
    do {
        uint64_t start = hi_ticks();
        if (piece_of(c, f, begin, begin + n, end, sum, &error)) return error;
        took = hi_ticks() - start;
        begin += n;
        sampled = n;
        n = hi_next_sample(n, took, most);
    } while (n);
    size_t rest = end - begin;
    if ((double)took * (double)rest <= (double)HI_SMALL_TIME * (double)sampled)
        return small(c, f, begin, end, sum);
    most = rest / HI_ENOUGH + 1;
    size_t grain = grain_for(sampled, took, most);
    return halves(c, f, begin, end, sum, grain, most).error;
}

/* --- a fixed tree ----------------------------------------------------------------- */

/* The values of one path down the tree are on the stack or, if they are large,
 * in `rooms`: one per level, each on lines of its own. */
static size_t room_bytes(const folding *f)
{
    return (f->size + HEIST_LINE - 1) / HEIST_LINE * HEIST_LINE;
}

static size_t levels(const folding *f, size_t n)
{
    size_t all = 0;
    for (; n > f->block; n -= n / 2)
        all++;
    return all;
}

/* Gets the rooms for n iterations, none if there is no need: false, no memory. */
static bool get_rooms(heist_ctx c, const folding *f, size_t n, char **rooms)
{
    *rooms = NULL;
    if (f->size <= ON_STACK || n <= f->block) return true;
    *rooms = hi_scratch_get(c, levels(f, n), room_bytes(f));
    return *rooms != NULL;
}

static void put_rooms(heist_ctx c, const folding *f, size_t n, char *rooms)
{
    if (rooms) hi_scratch_put(c, rooms, levels(f, n), room_bytes(f));
}

/* A tree, or what is left of one, that is too small to be offered. */
static int fixed_here(heist_ctx c, folding *f, size_t begin, size_t end,
                      void *sum, char *rooms)
{
    if (begin == end || is_needless(f, begin)) return 0;
    if (end - begin <= f->block) return run_piece(c, f, begin, end, sum);
    size_t middle = begin + (end - begin) / 2;
    room on_stack;
    void *value = rooms ? rooms : on_stack.bytes;
    if (rooms) rooms += room_bytes(f);
    int error = fixed_here(c, f, begin, middle, sum, rooms);
    if (error) return error;
    middle = begin_apart(f, value, middle);
    error = fixed_here(c, f, middle, end, value, rooms);
    if (!error) f->combine(sum, value, f->arg);
    return error;
}

/* The same by the clock, which is asked how large a tree is worth offering. */
static outcome fixed_timed(heist_ctx c, folding *f, size_t begin, size_t end,
                           void *sum, char *rooms, size_t grain)
{
    size_t n = end - begin;
    uint64_t start = hi_ticks();
    int error = fixed_here(c, f, begin, end, sum, rooms);
    uint64_t took = hi_ticks() - start;
    if (n == 0) return (outcome){grain, error};
    if (grain == 0) return (outcome){grain_for(n, took, f->most), error};
    grain = hi_grain_after(grain, n, took);
    return (outcome){hi_smaller(grain, f->most), error};
}

static outcome fixed(heist_ctx c, folding *f, size_t begin, size_t end,
                     void *sum, char *rooms, size_t grain);

/* The right half by somebody who took it.  result.p: the value, or NULL if it
 * is left to the one who offered it. */
static void fixed_apart(heist_ctx c, heist_frame *right)
{
    folding *f = right->arg[0].p;
    size_t begin = right->arg[1].u, end = right->arg[2].u;
    void *sum = right->arg[3].p;
    char *rooms;
    right->result.p = NULL;
    begin = begin_apart(f, sum, begin);
    size_t n = end - begin;
    if (!get_rooms(c, f, n, &rooms)) return;
    right->arg[0].i = fixed(c, f, begin, end, sum, rooms, 0).error;
    right->result.p = sum;
    put_rooms(c, f, n, rooms);
}

/* A grain of 0 is not known yet. */
static outcome fixed(heist_ctx c, folding *f, size_t begin, size_t end,
                     void *sum, char *rooms, size_t grain)
{
    size_t n = end - begin, middle = begin + n / 2;
    if (n <= f->block || n <= grain)
        return fixed_timed(c, f, begin, end, sum, rooms, grain);
    if (is_needless(f, begin)) return (outcome){grain, 0};
    room on_stack;
    void *value = rooms ? rooms : on_stack.bytes;
    if (rooms) rooms += room_bytes(f);
    heist_frame *right = heist_slot(c);
    right->arg[0].p = f;
    right->arg[1].u = middle;
    right->arg[2].u = end;
    right->arg[3].p = value;
    heist_ctx left = heist_fork(c, fixed_apart);
    outcome o = fixed(left, f, begin, middle, sum, rooms, grain);
    if (is_folded(c)) {
        if (!o.error) o.error = (int)right->arg[0].i;
    } else if (!o.error) {
        middle = begin_apart(f, value, middle);
        o = fixed(c, f, middle, end, value, rooms, o.grain);
    }
    if (!o.error) f->combine(sum, value, f->arg);
    return o;
}

static int fixed_tree(heist_ctx c, folding *f, size_t begin, size_t end,
                      void *result)
{
    size_t n = end - begin;
    char *rooms;
    f->block = hi_smaller(n / FIXED_SHARE, FIXED_MOST);
    if (f->block == 0) f->block = 1;
    f->most = n / HI_ENOUGH + 1;
    if (!get_rooms(c, f, n, &rooms)) return -ENOMEM;
    int error = fixed(c, f, begin, end, result, rooms, 0).error;
    put_rooms(c, f, n, rooms);
    return error;
}

/* --- the calls -------------------------------------------------------------------- */

static int run(heist_ctx c, folding *f, size_t begin, size_t end, void *result,
               int flags)
{
    /* relaxed: init */
    heist_store_relaxed(&f->failed, SIZE_MAX);
    if (flags & HEIST_FIXED_TREE) return fixed_tree(c, f, begin, end, result);
    return timed(c, f, begin, end, result);
}

static int run_from_identity(heist_ctx c, folding *f, size_t begin, size_t end,
                             void *result, int flags)
{
    room on_stack;
    char *identity = on_stack.bytes;
    if (begin >= end) return 0;
    if (f->size > ON_STACK) identity = hi_scratch_get(c, 1, f->size);
    if (!identity) return -ENOMEM;
    memcpy(identity, result, f->size);
    f->identity = identity;
    int error = run(c, f, begin, end, result, flags);
    if (f->size > ON_STACK) hi_scratch_put(c, identity, 1, f->size);
    return error;
}

static int plain_piece(heist_ctx c, const folding *f, size_t begin, size_t end,
                       void *sum)
{
    f->fold.plain(c, begin, end, sum, f->arg);
    return 0;
}

int heist_fold(heist_ctx c, size_t begin, size_t end, void *result, size_t size,
               heist_fold_fn *fold, heist_combine_fn *combine, void *arg,
               int flags)
{
    folding f = {.piece = plain_piece,
                 .fold.plain = fold,
                 .combine = combine,
                 .arg = arg,
                 .size = size};
    return run_from_identity(c, &f, begin, end, result, flags);
}

static int fallible_piece(heist_ctx c, const folding *f, size_t begin,
                          size_t end, void *sum)
{
    return f->fold.fallible(c, begin, end, sum, f->arg);
}

int heist_try_fold(heist_ctx c, size_t begin, size_t end, void *result,
                   size_t size, heist_try_fold_fn *fold,
                   heist_combine_fn *combine, void *arg, int flags)
{
    folding f = {.piece = fallible_piece,
                 .may_fail = true,
                 .fold.fallible = fold,
                 .combine = combine,
                 .arg = arg,
                 .size = size};
    return run_from_identity(c, &f, begin, end, result, flags);
}

static int elements_piece(heist_ctx c, const folding *f, size_t begin,
                          size_t end, void *sum)
{
    (void)c;
    for (size_t i = begin; i < end; i++)
        f->combine(sum, f->elements + i * f->size, f->arg);
    return 0;
}

int heist_reduce(heist_ctx c, void *result, const void *base, size_t n,
                 size_t size, heist_combine_fn *combine, void *arg, int flags)
{
    folding f = {.piece = elements_piece,
                 .combine = combine,
                 .arg = arg,
                 .size = size,
                 .elements = base};
    return n ? run(c, &f, 0, n, result, flags) : 0;
}
