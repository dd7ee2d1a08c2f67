/* SPDX-License-Identifier: MIT
 *
 * loop.c: ranges in pieces.
 *
 * Where the cost of an iteration is not known the clock finds the grain: a piece
 * should take about HI_PIECE_TIME.  A first, small piece is timed while the rest is
 * already open to others, and longer ones until the clock says something.  If
 * the rest would not last HI_SMALL_TIME it is run without the clock; but in a few
 * pieces still, because the first iterations may have been the cheap ones.
 * Else every piece is timed, and the grain follows: an iteration may cost more
 * at one end of the range than at the other.  Whoever takes a part of the range
 * times it for himself.
 *
 * Two looks at the clock take as long as a hundred cheap iterations.  So a strand
 * remembers the function whose loop was over at once, and runs its next loops, if
 * they are not longer, in a few pieces without the clock.
 *
 * In order, everybody who takes part takes the next stretch, the one at `next`,
 * and halves it as any range.  A stretch is longer than a piece: memory is read
 * fastest by who goes on where he was, and pieces taken by turns make everybody
 * begin anew each time.
 */
#include "algo/loop.h"

#include "fork/scratch.h"
#include "platform/platform.h"

enum {
    ORDERED_LEAST = 2000,     /* ns of a stretch in order, or ... */
    ORDERED_PART = 4,         /* ... so much of the time that has passed, ... */
    ORDERED_LONGEST = 100000, /* ... at most so long */
    ORDERED_GROWS = 16, /* times, while that is far away; the first is one */
    ORDERED_SHARE = 4,  /* no stretch is more of what is left */
    ORDERED_STEPS = 2,  /* pieces of the half of a stretch, at most */
    QUICK_TIME = 1000,  /* ns of a loop beside which the clock is dear */
    QUICK_TIMES = 15    /* such loops until one is timed again */
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

/* Unless there is nothing in it, or nobody needs it any more. */
static inline void run_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin < end && !(l->skip && l->skip(l, begin, end)))
        l->piece(c, l, begin, end);
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
    run_piece(c, l, begin, end);
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
    run_piece(c, l, begin, end);
    grain = hi_grain_after(grain, end - begin, hi_ticks() - start);
    return hi_smaller(grain, most);
}

/* A few pieces one after the other, the rest always open to others.  False:
 * somebody took it.  Out of line: a context given to an inlined call would go
 * through memory. */
static __attribute__((noinline)) bool run_small(heist_ctx c, hi_loop *l,
                                                size_t begin, size_t end)
{
    size_t grain = hi_about((end - begin) / HI_FEWEST);
    while (end - begin > grain + grain / 4) {
        size_t middle = begin + grain;
        run_piece(fork_part(c, l, middle, end, 1), l, begin, middle);
        if (!heist_join(c)) return false;
        begin = middle;
    }
    run_piece(c, l, begin, end);
    return true;
}

static __attribute__((noinline)) void
run_long(heist_ctx c, hi_loop *l, size_t begin, size_t end, double each)
{
    size_t most = (end - begin) / HI_ENOUGH + 1;
    double grain = HI_PIECE_TIME / each;
    size_t first = grain < (double)most ? (size_t)grain : most;
    timed_halves(c, l, begin, end, not_zero(first), most);
}

/* Times n iterations while others may already take the rest.  False: somebody
 * did. */
static bool sample(heist_ctx c, hi_loop *l, size_t begin, size_t n, size_t end,
                   uint64_t *took)
{
    heist_ctx left = fork_part(c, l, begin + n, end, 1);
    uint64_t start = hi_ticks();
    run_piece(left, l, begin, begin + n);
    *took = hi_ticks() - start;
    return heist_join(c);
}

/* Who takes the rest during a sample has seen that it is long, and begins with a
 * sample of one. */
static void by_the_clock(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                         size_t first)
{
    size_t whole = end - begin, most = hi_longest_sample(whole), sampled;
    size_t n = hi_smaller(first, hi_first_sample(most));
    uint64_t took;
    if (n >= whole) {
        run_piece(c, l, begin, end);
        return;
    }
    do {
        if (!sample(c, l, begin, n, end, &took)) return;
        begin += n;
        sampled = n;
        n = hi_next_sample(n, took, most);
    } while (n);
    double each = (double)took / (double)sampled;
    double rest = (double)(end - begin) * each;
    if (rest > HI_SMALL_TIME)
        run_long(c, l, begin, end, each);
    else if (run_small(c, l, begin, end) && rest <= QUICK_TIME && l->body)
        hi_quick_note(c, l->body, whole, QUICK_TIMES);
}

void hi_loop_run(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin >= end) return;
    if (l->grain)
        halves(c, l, begin, end, l->grain);
    else if (!l->body || !hi_quick_again(c, l->body, end - begin))
        by_the_clock(c, l, begin, end, SIZE_MAX);
    /* If somebody came in time to take a part, it was not over at once. */
    else if (!run_small(c, l, begin, end))
        hi_quick_note(c, NULL, 0, 0);
}

/* --- in order ------------------------------------------------------------- */

typedef struct queue {
    hi_loop *loop;
    HEIST_ATOMIC(size_t) next; /* nobody has begun this one */
    size_t end;
} queue;

/*
 * Takes the next stretch: at most the longest, and not so much of what is left
 * that others have nothing to do if it turns out to last; where stretches are
 * short there is no need for that.  False: there is none.
 */
static bool next_stretch(queue *q, size_t longest, size_t *begin, size_t *end)
{
    hi_loop *l = q->loop;
    /* relaxed: counter (all that goes with a stretch is ordered by forks and
     * joins) */
    size_t at = heist_load_relaxed(&q->next), after;
    do {
        if (at == q->end || l->skip(l, at, q->end)) return false;
        size_t rest = q->end - at, share = rest / ORDERED_SHARE;
        if (share < longest / 8) share = longest / 8;
        after = at + hi_smaller(hi_smaller(longest, not_zero(share)), rest);
        /* relaxed: counter */
    } while (!heist_cas_relaxed(&q->next, &at, after));
    *begin = at;
    *end = after;
    return true;
}

/* Step by step: who is not needed any more is to end soon, and a fork for each
 * step would only make others take less than a stretch. */
static void run_half(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                     size_t grain)
{
    if (end - begin > grain) {
        halves(c, l, begin, end, grain);
        return;
    }
    size_t step = (end - begin) / ORDERED_STEPS + 1;
    while (begin < end) {
        size_t next = begin + hi_smaller(step, end - begin);
        run_piece(c, l, begin, next);
        begin = next;
    }
}

/* With a fork in any case, if only of an empty half: that is where others are
 * heard. */
static void run_stretch(heist_ctx c, hi_loop *l, size_t begin, size_t end,
                        size_t grain)
{
    size_t middle = end - (end - begin) / 2;
    run_half(fork_part(c, l, middle, end, grain), l, begin, middle, grain);
    if (heist_join(c)) run_half(c, l, middle, end, grain);
}

/* How long a stretch should take: if what was wanted is found, stretches behind
 * it were in vain, and that should be little beside the whole. */
static uint64_t ordered_time(uint64_t since)
{
    uint64_t time = since / ORDERED_PART;
    if (time < ORDERED_LEAST) return ORDERED_LEAST;
    return time < ORDERED_LONGEST ? time : ORDERED_LONGEST;
}

/* The next one's length, after one of n that took so long.  Nobody is to wait for
 * a first stretch whose cost nobody knew, so that is one iteration. */
static size_t stretch_for(uint64_t time, size_t longest, size_t n,
                          uint64_t took)
{
    if (n == longest && took <= time / (2 * ORDERED_GROWS) &&
        longest <= SIZE_MAX / ORDERED_GROWS)
        return longest * ORDERED_GROWS;
    return grain_for(time, longest, n, took);
}

static void take_part(heist_ctx c, queue *q, size_t longest);

/* One more takes part. */
static void another(heist_ctx c, heist_frame *f)
{
    take_part(c, f->arg[0].p, f->arg[1].u);
}

/* Runs stretches until there are none. */
static void take_part(heist_ctx c, queue *q, size_t longest)
{
    heist_frame *f = heist_slot(c);
    f->arg[0].p = q;
    f->arg[1].u = longest;
    heist_ctx left = heist_fork(c, another);
    uint64_t start = hi_ticks(), before = start, time = ORDERED_LEAST;
    size_t begin, end;
    while (next_stretch(q, longest, &begin, &end)) {
        size_t grain = longest / (time / HI_PIECE_TIME + 1);
        run_stretch(left, q->loop, begin, end, not_zero(grain));
        uint64_t now = hi_ticks();
        time = ordered_time(now - start);
        longest = stretch_for(time, longest, end - begin, now - before);
        before = now;
    }
    heist_join(c); /* where nobody has taken part nothing is left to do */
}

void hi_loop_in_order(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    if (begin >= end) return;
    queue q = {.loop = l, .end = end};
    heist_init(&q.next, begin);
    take_part(c, &q, 1);
}
