/* SPDX-License-Identifier: MIT */
#ifndef HI_LOOP_H
#define HI_LOOP_H

#include <heist/algo.h>
#include <heist/fork.h>

/*
 * What most algorithms stand on: a range is cut into pieces, and how many of
 * them run elsewhere is decided by who asks for work.
 */
typedef struct hi_loop hi_loop;

struct hi_loop {
    /* Runs a piece. */
    void (*piece)(heist_ctx c, hi_loop *l, size_t begin, size_t end);
    /* Is this part of the range not needed any more?  NULL: all of it is. */
    bool (*skip)(hi_loop *l, size_t begin, size_t end);
    /* Halved: the longest piece; 0: it is found by the clock. */
    size_t grain;
    /* What the user's function is known by: if its loops are over at once they need
     * not be timed each time.  NULL: they are. */
    void (*body)(void);
};

/*
 * The range is halved again and again, the right half is forked, and pieces no
 * longer than the grain are run.  A fork that nobody takes costs a nanosecond or
 * two, so pieces are only made long enough to hide that.
 */
void hi_loop_run(heist_ctx c, hi_loop *l, size_t begin, size_t end);

/*
 * The same for loops that may end early, and have a skip: stretches of a few
 * pieces are taken in the order of the range, so that at no time anybody is far
 * ahead.  The grain is found by the clock.
 */
void hi_loop_in_order(heist_ctx c, hi_loop *l, size_t begin, size_t end);

/* What a grain by the clock goes by; loop.c says why. */
enum {
    HI_PIECE_TIME = 20000, /* ns: thousands of forks */
    HI_SMALL_TIME = 8000,  /* ns: less than it takes to wake somebody */
    HI_FEWEST = 3,         /* pieces of a range that does not last longer; */
    HI_ENOUGH = 16,        /* of others: so many or more */
    HI_SAMPLE_SHARE = 32, /* what is timed first is so much of the range, ... */
    HI_SAMPLE_MOST = 1024, /* ... at most so long, ... */
    HI_SAMPLE_FIRST = 16,  /* ... but in a long range so long at first, ... */
    HI_SAMPLE_GROWS = 16,  /* ... and so many times longer ... */
    HI_SAMPLE_TIME = 1000  /* ... until it takes so many ns */
};

static inline size_t hi_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* About n, not zero, and if that is many so that vectors stay aligned. */
static inline size_t hi_about(size_t n)
{
    if (n < 16) return n ? n : 1;
    return (n + 8) / 16 * 16;
}

/* What is timed before a grain is chosen: iterations that are dear show it soon,
 * and until then nobody else is heard; of cheap ones it takes many. */
static inline size_t hi_longest_sample(size_t range)
{
    return hi_smaller(hi_about(range / HI_SAMPLE_SHARE), HI_SAMPLE_MOST);
}

static inline size_t hi_first_sample(size_t most)
{
    return most <= 4 * HI_SAMPLE_FIRST ? most : HI_SAMPLE_FIRST;
}

/* After one of n that took so long; 0: that was enough. */
static inline size_t hi_next_sample(size_t n, uint64_t took, size_t most)
{
    if (n >= most || took >= HI_SAMPLE_TIME) return 0;
    return hi_smaller(n * HI_SAMPLE_GROWS, most);
}

/* The grain to go on with after a piece of n iterations that took so long. */
size_t hi_grain_after(size_t grain, size_t n, uint64_t took);

#endif
