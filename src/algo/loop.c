/* SPDX-License-Identifier: MIT
 *
 * loop.c: ranges in pieces.
 *
 * Where the cost of an iteration is not known the clock finds the grain: a piece
 * should take about HI_PIECE_TIME.  A first, small piece is timed while the rest is
 * already open to others.  If the rest would not last HI_SMALL_TIME it is run without
 * the clock; but in a few pieces still, because the first iterations may have
 * been the cheap ones.  Else every piece is timed, and the grain follows: an
 * iteration may cost more at one end of the range than at the other.  Whoever
 * takes a part of the range times it for himself.
 *
 * In order, the next piece is the one at `next`, for everybody who takes part.
 */
#include "algo/loop.h"

#include "platform/platform.h"

enum {
    ORDERED_LEAST = 1000, /* ns of a piece in order, or ... */
    ORDERED_PART = 8,     /* ... so much of the time that has passed */
    ORDERED_MOST = 64, /* of the first piece in order: nobody is to wait long */
    ORDERED_SHARE = 4  /* in order no piece is more of what is left */
};

static size_t not_zero(size_t n)
{
    return n ? n : 1;
}

/* The grain for pieces of that time, after one of n iterations that took so
 * long. */
static size_t grain_for(uint64_t time, size_t grain, size_t n, uint64_t took)
{
    if (took > 2 * time) return not_zero(n / (took / time));
    if (took > time / 2 || n < grain / 4) return grain;
    size_t factor = took > time / 8 ? 2 : 4;
    return grain <= SIZE_MAX / factor ? grain * factor : grain;
}

size_t hi_grain_after(size_t grain, size_t n, uint64_t took)
{
    return grain_for(HI_PIECE_TIME, grain, n, took);
}

/* --- halves --------------------------------------------------------------- */

static void by_the_clock(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                         size_t first);
static void halves(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                   size_t grain);

/* A part that somebody took. */
static void part(heist_ctx c, heist_frame *f)
{
    hi_loop *l = f->arg[0].p;
    if (l->grain)
        halves(c, l, f->arg[1].u, f->arg[2].u, l->grain);
    else
        by_the_clock(c, l, f->arg[1].u, f->arg[2].u, f->arg[3].u);
}

/* Whoever takes it begins with a piece of `first`. */
static inline heist_ctx fork_part(heist_ctx c, hi_loop *l, size_t begin,
                                  size_t end, size_t first)
{
    heist_frame *f = heist_slot(c);
    f->arg[0].p = l;
    f->arg[1].u = begin;
    f->arg[2].u = end;
    f->arg[3].u = first;
    return heist_fork(c, part);
}

/* In pieces of at most that grain. */
static void halves(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                   size_t grain)
{
    while (end - begin > grain) {
        size_t middle = begin + (end - begin) / 2;
        halves(fork_part(c, l, middle, end, grain), l, begin, middle, grain);
        if (!heist_join(c)) return;
        begin = middle;
    }
    l->piece(c, l, begin, end);
}

/* With a grain that follows the clock, up to `most`; returns the last one. */
static size_t timed_halves(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                           size_t grain, size_t most)
{
    while (end - begin > grain) {
        size_t middle = begin + hi_about((end - begin) / 2);
        heist_ctx left = fork_part(c, l, middle, end, grain);
        grain = timed_halves(left, l, begin, middle, grain, most);
        if (!heist_join(c)) return grain;
        begin = middle;
    }
    uint64_t start = hi_ticks();
    l->piece(c, l, begin, end);
    grain = hi_grain_after(grain, end - begin, hi_ticks() - start);
    return hi_smaller(grain, most);
}

/* One piece after the other, the rest always open to others.  Out of line: a
 * context given to an inlined call would go through memory. */
static __attribute__((noinline)) void
run_small(heist_ctx c, hi_loop *l, size_t begin, size_t end, size_t grain)
{
    while (end - begin > grain + grain / 4) {
        size_t middle = begin + grain;
        l->piece(fork_part(c, l, middle, end, 1), l, begin, middle);
        if (!heist_join(c)) return;
        begin = middle;
    }
    l->piece(c, l, begin, end);
}

static __attribute__((noinline)) void
run_long(heist_ctx c, hi_loop *l, size_t begin, size_t end, double each)
{
    size_t most = (end - begin) / HI_ENOUGH + 1;
    double grain = HI_PIECE_TIME / each;
    size_t first = grain < (double)most ? (size_t)grain : most;
    timed_halves(c, l, begin, end, not_zero(first), most);
}

static size_t first_of(size_t n)
{
    return hi_smaller(hi_about(n / HI_FIRST_SHARE), HI_FIRST_MOST);
}

/* Times the first iterations while others may already take the rest; who does
 * that during the first piece has seen that it is long, and begins with one. */
static void by_the_clock(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                         size_t first)
{
    size_t n = hi_smaller(first, first_of(end - begin));
    if (n == end - begin) {
        l->piece(c, l, begin, end);
        return;
    }
    heist_ctx left = fork_part(c, l, begin + n, end, 1);
    uint64_t start = hi_ticks();
    l->piece(left, l, begin, begin + n);
    uint64_t took = hi_ticks() - start;
    if (!heist_join(c)) return;
    double each = (double)took / (double)n;
    size_t rest = end - begin - n;
    if ((double)rest * each <= HI_SMALL_TIME)
        run_small(c, l, begin + n, end, hi_about(rest / HI_FEWEST));
    else
        run_long(c, l, begin + n, end, each);
}

void hi_loop_run(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin >= end) return;
    if (l->grain)
        halves(c, l, begin, end, l->grain);
    else
        by_the_clock(c, l, begin, end, HI_FIRST_MOST);
}

/* --- in order ------------------------------------------------------------- */

typedef struct queue {
    hi_loop *loop;
    HEIST_ATOMIC(size_t) next; /* nobody has begun this one */
    size_t end;
} queue;

/*
 * Takes the next piece: at most `grain`, and not so much of what is left that
 * others have nothing to do if it turns out to be long; where pieces are short
 * there is no need for that.  False: there is none.
 */
static bool next_piece(queue *q, size_t grain, size_t *begin, size_t *end)
{
    hi_loop *l = q->loop;
    /* relaxed: counter (all that goes with the pieces is ordered by forks and
     * joins) */
    size_t at = heist_load_relaxed(&q->next), after;
    do {
        if (at == q->end || l->skip(l, at, q->end)) return false;
        size_t rest = q->end - at, share = rest / ORDERED_SHARE;
        if (share < grain / 8) share = grain / 8;
        after = at + hi_smaller(hi_smaller(grain, not_zero(share)), rest);
        /* relaxed: counter */
    } while (!heist_cas_relaxed(&q->next, &at, after));
    *begin = at;
    *end = after;
    return true;
}

/* Unless there is nothing in it, or nobody needs it any more. */
static void run_half(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin < end && !l->skip(l, begin, end)) l->piece(c, l, begin, end);
}

static void second_half(heist_ctx c, heist_frame *f)
{
    run_half(c, f->arg[0].p, f->arg[1].u, f->arg[2].u);
}

/* A fork between two pieces, even if one is empty, is where others are heard. */
static void run_in_two(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    size_t middle = end - (end - begin) / 2;
    heist_frame *f = heist_slot(c);
    f->arg[0].p = l;
    f->arg[1].u = middle;
    f->arg[2].u = end;
    run_half(heist_fork(c, second_half), l, begin, middle);
    if (heist_join(c)) run_half(c, l, middle, end);
}

/* How long a piece should take: who finds what was wanted has to wait for the
 * others' pieces, and that should be short beside the whole. */
static uint64_t ordered_time(uint64_t since)
{
    uint64_t time = since / ORDERED_PART;
    if (time < ORDERED_LEAST) return ORDERED_LEAST;
    return time < HI_PIECE_TIME ? time : HI_PIECE_TIME;
}

static void take_part(heist_ctx c, queue *q, size_t grain);

/* One more takes part. */
static void another(heist_ctx c, heist_frame *f)
{
    take_part(c, f->arg[0].p, f->arg[1].u);
}

/* Runs pieces until there are none. */
static void take_part(heist_ctx c, queue *q, size_t grain)
{
    heist_frame *f = heist_slot(c);
    f->arg[0].p = q;
    f->arg[1].u = grain;
    heist_ctx left = heist_fork(c, another);
    uint64_t start = hi_ticks(), before = start;
    size_t begin, end;
    while (next_piece(q, grain, &begin, &end)) {
        run_in_two(left, q->loop, begin, end);
        uint64_t now = hi_ticks();
        uint64_t time = ordered_time(now - start);
        grain = grain_for(time, grain, end - begin, now - before);
        before = now;
    }
    heist_join(c); /* where nobody has taken part nothing is left to do */
}

void hi_loop_in_order(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin >= end) return;
    queue q = {.loop = l, .end = end};
    heist_init(&q.next, begin);
    size_t n = not_zero((end - begin) / HI_FIRST_SHARE);
    take_part(c, &q, hi_smaller(n, ORDERED_MOST));
}
