/* SPDX-License-Identifier: MIT
 *
 * permute.c: elements move to their places, in place.
 *
 * A permutation is a set of cycles: what belongs to a place lies in the next
 * one.  To have work for many, cycles are cut: the elements of some places all
 * over the array are put aside, and from each of these places on elements move
 * up until the next one that was put aside.  Where a path ends depends on the
 * permutation, but no two of them meet, so that nobody waits for anybody.  Each
 * worker follows several paths by turns, because every step goes to memory that
 * is in no cache.
 *
 * Cycles that were not cut, hardly any as a rule, are left.  They are cut at
 * the first places that are not done, as many as fit, until all are.
 */
#include "algo/permute.h"

#include "algo/loop.h"
#include "algo/move.h"
#include "algo/order.h"
#include "fork/scratch.h"

#include <errno.h>

enum {
    PIECE = 1 << 13,      /* words that one worker reads */
    ALONE = 1 << 15,      /* bytes of elements that need no help */
    SHARE = 128,          /* one place of so many is a cut, ... */
    CUTS_LEAST = 64,      /* and so many more, ... */
    CUTS_BYTES = 1 << 16, /* ... or of large elements so many bytes */
    CUTS_PIECE = 64,      /* that one worker takes */
    LANES = 16,           /* paths that he follows at a time */
    AHEAD_MOST = 256      /* bytes of an element that are asked for before */
};

/* --- one by one ---------------------------------------------------------------- */

/* Cycle by cycle, while they are in a cache anyway. */
static void move_alone(char *base, size_t n, size_t size, uint64_t *from)
{
    char held[HI_HELD];
    for (size_t first = 0; first < n; first++) {
        if (from[first] == first) continue;
        size_t place = first, next;
        hi_move(held, hi_at(base, first, size), size);
        for (; (next = from[place]) != first; place = next) {
            hi_move(hi_at(base, place, size), hi_at(base, next, size), size);
            from[place] = place;
        }
        hi_move(hi_at(base, place, size), held, size);
        from[place] = place;
    }
}

/* --- by many ------------------------------------------------------------------- */

typedef struct permutation {
    hi_loop loop;
    char *base;
    size_t n, size;
    uint64_t *from;               /* at a cut: n and the number of the cut */
    size_t first, distance, cuts; /* where they are, and how many */
    char *aside;                  /* their elements */
    uint64_t *start;              /* what was in `from` */
} permutation;

/* A place that is empty, and which element comes there. */
typedef struct path {
    size_t place, next;
} path;

HEIST_INLINE size_t cut_at(const permutation *p, size_t cut)
{
    return p->first + cut * p->distance;
}

/* Puts elements aside, unless they are in their places. */
static void cut_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const permutation *p = heist_container(l, permutation, loop);
    (void)c;
    for (size_t cut = begin; cut < end; cut++) {
        size_t place = cut_at(p, cut);
        p->start[cut] = p->from[place];
        if (p->from[place] == place) continue;
        hi_move(hi_at(p->aside, cut, p->size), hi_at(p->base, place, p->size),
                p->size);
        p->from[place] = p->n + cut;
    }
}

HEIST_INLINE void look_ahead(const permutation *p, size_t next, size_t size)
{
    const char *element = hi_in(p->base, next, size);
    size_t most = size < AHEAD_MOST ? size : AHEAD_MOST;
    __builtin_prefetch(p->from + next, 1);
    for (size_t at = 0; at < most; at += HEIST_LINE)
        __builtin_prefetch(element + at, 1);
    __builtin_prefetch(element + most - 1, 1);
}

/* Begins the next path, from `*cut` on; false: there is none. */
HEIST_INLINE bool begin_path(const permutation *p, path *t, size_t *cut,
                             size_t end, size_t size)
{
    for (; *cut < end; ++*cut) {
        t->place = cut_at(p, *cut);
        t->next = p->start[*cut];
        if (t->place == t->next) continue;
        look_ahead(p, t->next, size);
        ++*cut;
        return true;
    }
    return false;
}

/* Moves one element; false: it was one that was aside, the end of a path. */
HEIST_INLINE bool step(const permutation *p, path *t, size_t size)
{
    size_t next = t->next, after = p->from[next];
    char *to = hi_at(p->base, t->place, size);
    p->from[next] = next;
    if (after >= p->n) {
        hi_move(to, hi_at(p->aside, after - p->n, size), size);
        return false;
    }
    hi_move(to, hi_at(p->base, next, size), size);
    *t = (path){next, after};
    look_ahead(p, after, size);
    return true;
}

HEIST_INLINE void follow(const permutation *p, size_t begin, size_t end,
                         size_t size)
{
    path lane[LANES];
    size_t lanes = 0;
    while (lanes < LANES && begin_path(p, &lane[lanes], &begin, end, size))
        lanes++;
    while (lanes) {
        for (size_t i = 0; i < lanes; i++) {
            if (HEIST_LIKELY(step(p, &lane[i], size))) continue;
            if (!begin_path(p, &lane[i], &begin, end, size))
                lane[i] = lane[--lanes];
        }
    }
}

static void follow_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const permutation *p = heist_container(l, permutation, loop);
    (void)c;
    if (p->size == 64)
        follow(p, begin, end, 64);
    else
        HI_BY_SIZE(p->size, follow, p, begin, end);
}

/* Cuts the cycles at some places, and moves what belongs to them. */
static void move_some(heist_ctx c, permutation *p, size_t first,
                      size_t distance)
{
    size_t cuts = p->cuts;
    p->first = first;
    p->distance = distance;
    p->loop = (hi_loop){.piece = cut_piece, .grain = CUTS_PIECE};
    hi_loop_run(c, &p->loop, 0, cuts);
    p->loop.piece = follow_piece;
    hi_loop_run(c, &p->loop, 0, cuts);
}

/* The first place that is not done. */
static size_t find_open(heist_ctx c, size_t begin, size_t end, void *arg)
{
    const uint64_t *from = arg;
    (void)c;
    for (size_t i = begin; i < end; i++)
        if (from[i] != i) return i;
    return HEIST_NONE;
}

static void move_all(heist_ctx c, permutation *p)
{
    size_t most = p->cuts, open = 0;
    move_some(c, p, 0, p->n / most);
    for (;;) {
        open = heist_find_first_in(c, open, p->n, find_open, p->from);
        if (open == HEIST_NONE) return;
        p->cuts = hi_smaller(most, p->n - open);
        move_some(c, p, open, 1);
        open += p->cuts;
    }
}

int hi_permute(heist_ctx c, void *base, size_t n, size_t size, uint64_t *from)
{
    if (size <= HI_HELD && n <= ALONE / size) {
        move_alone(base, n, size, from);
        return 0;
    }
    permutation p = {.base = base, .n = n, .size = size, .from = from};
    size_t more = hi_smaller(CUTS_LEAST, CUTS_BYTES / size + 1);
    size_t cuts = hi_smaller(n, n / SHARE + more);
    p.cuts = cuts;
    p.aside = hi_scratch_get(c, cuts, size);
    p.start = hi_scratch_get(c, cuts, sizeof *p.start);
    bool can = p.aside && p.start;
    if (can) move_all(c, &p);
    hi_scratch_put(c, p.start, cuts, sizeof *p.start);
    hi_scratch_put(c, p.aside, cuts, size);
    return can ? 0 : -ENOMEM;
}

/* --- from words of any kind ------------------------------------------------------ */

typedef struct reading {
    hi_loop loop;
    hi_places places;
    uint64_t *from;
} reading;

static void read_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const reading *r = heist_container(l, reading, loop);
    const hi_places *places = &r->places;
    const char *word = (const char *)places->words + begin * places->stride;
    (void)c;
    for (size_t i = begin; i < end; i++, word += places->stride)
        r->from[i] = (hi_get_u64(word) - places->first) / places->unit;
}

int hi_permute_by(heist_ctx c, void *base, size_t n, size_t size,
                  const hi_places *places, void *scratch)
{
    reading r = {{.piece = read_piece, .grain = PIECE}, *places, scratch};
    hi_loop_run(c, &r.loop, 0, n);
    return hi_permute(c, base, n, size, scratch);
}
