/* SPDX-License-Identifier: MIT
 *
 * stable.c: the stable sort, by merging.
 *
 * Blocks of HI_BLOCK elements are sorted, then neighbours are merged, from the
 * array into scratch and back, level by level.  The levels are a recursion that
 * forks at each step, so what is merged has just been sorted by the same worker
 * unless another one asked for it.
 *
 * Runs that are there already are not touched: a block that is in order, up or
 * strictly down, stays as it is, and so do two neighbours that continue each
 * other.  What turns out not to be the end of the matter is then turned round,
 * or copied to where it is needed.
 *
 * Long elements stay where they are until the order of their addresses is known.
 */
#include "algo/stable.h"

#include "algo/loop.h"
#include "algo/move.h"
#include "algo/permute.h"
#include "fork/scratch.h"

#include <errno.h>

enum {
    ALONE = 1 << 15, /* bytes that are copied without a fork */
    ON_STACK = 2048  /* bytes of scratch */
};

/* What is known of a part of the array. */
typedef enum run {
    UP,   /* untouched, it is sorted */
    DOWN, /* untouched, it is sorted from behind, no two are equal */
    HERE, /* sorted */
    THERE /* sorted, but in scratch */
} run;

typedef struct sort {
    hi_kind kind;
    char *base, *scratch;
} sort;

static void copy(heist_ctx c, char *out, const char *in, size_t n, size_t size)
{
    if (n <= ALONE / size)
        memcpy(out, in, n * size);
    else
        heist_copy(c, out, in, n, size);
}

/* --- blocks -------------------------------------------------------------------- */

/* Sorts at most HI_BLOCK elements, to where they are wanted. */
static run sort_block(const sort *s, size_t first, size_t n, run wanted)
{
    const hi_kind *k = &s->kind;
    size_t size = k->by.size;
    char *base = s->base + first * size, *scratch = s->scratch + first * size;
    bool down = false;
    if (n < 2 || k->run(&k->by, base, n, &down) == n) return down ? DOWN : UP;
    if (n == HI_BLOCK)
        k->sort_block(&k->by, base, scratch);
    else
        hi_insertion_sort(base, n, size, k->less, &k->by);
    if (wanted == THERE) memcpy(scratch, base, n * size);
    return wanted;
}

/* --- runs ---------------------------------------------------------------------- */

/* Two neighbours of left_n and n - left_n elements. */
typedef struct pair {
    size_t first, left_n, n;
    run left, right;
} pair;

/* A run of neither kind any more, but sorted: HERE or THERE. */
static run settle(heist_ctx c, const sort *s, size_t first, size_t n, run r)
{
    size_t size = s->kind.by.size;
    if (r == DOWN) hi_turn_round(c, s->base + first * size, n, size);
    return r == THERE ? THERE : HERE;
}

/* Puts the right one where the left one is. */
static void bring_together(heist_ctx c, const sort *s, const pair *p)
{
    size_t size = s->kind.by.size, at = (p->first + p->left_n) * size;
    if (p->left == p->right) return;
    char *to = p->left == HERE ? s->base : s->scratch;
    char *from = p->left == HERE ? s->scratch : s->base;
    copy(c, to + at, from + at, p->n - p->left_n, size);
}

/* Do two untouched runs continue each other? */
static bool continues(const sort *s, const pair *p)
{
    const hi_by *by = &s->kind.by;
    const char *middle = s->base + (p->first + p->left_n) * by->size;
    if (p->left != p->right || p->left > DOWN) return false;
    return s->kind.less(middle, middle - by->size, by) == (p->left == DOWN);
}

/* Makes one run of two. */
static run join(heist_ctx c, const sort *s, pair *p)
{
    const hi_kind *k = &s->kind;
    size_t size = k->by.size, right_n = p->n - p->left_n;
    size_t middle = p->first + p->left_n;
    if (right_n == 1 && p->left == DOWN) p->right = DOWN;
    if (continues(s, p)) return p->left;
    p->left = settle(c, s, p->first, p->left_n, p->left);
    p->right = settle(c, s, middle, right_n, p->right);
    bring_together(c, s, p);
    char *from = p->left == HERE ? s->base : s->scratch;
    char *to = p->left == HERE ? s->scratch : s->base;
    char *b = from + middle * size;
    if (!k->less(b, b - size, &k->by)) return p->left;
    hi_merge(c, k, to + p->first * size, from + p->first * size, p->left_n, b,
             right_n);
    return p->left == HERE ? THERE : HERE;
}

static run sort_range(heist_ctx c, const sort *s, size_t first, size_t n,
                      run wanted);

static void sort_right(heist_ctx c, heist_frame *f)
{
    f->result.u =
        sort_range(c, f->arg[0].cp, f->arg[1].u, f->arg[2].u, (run)f->arg[3].u);
}

/* Sorts a range, if it can be to where it is wanted. */
static run sort_range(heist_ctx c, const sort *s, size_t first, size_t n,
                      run wanted)
{
    if (n <= HI_BLOCK) return sort_block(s, first, n, wanted);
    size_t blocks = (n + HI_BLOCK - 1) / HI_BLOCK;
    run from = wanted == HERE ? THERE : HERE;
    pair p = {.first = first, .left_n = blocks / 2 * HI_BLOCK, .n = n};
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = s;
    right->arg[1].u = first + p.left_n;
    right->arg[2].u = n - p.left_n;
    right->arg[3].u = from;
    p.left = sort_range(heist_fork(c, sort_right), s, first, p.left_n, from);
    if (heist_join(c))
        p.right = sort_range(c, s, first + p.left_n, n - p.left_n, from);
    else
        p.right = (run)right->result.u;
    return join(c, s, &p);
}

bool hi_sort_runs(heist_ctx c, hi_kind *k, void *base, void *scratch, size_t n)
{
    if (n > HI_BLOCK) hi_kind_fit(k, base, n);
    sort s = {*k, base, scratch};
    run r = sort_range(c, &s, 0, n, HERE);
    if (settle(c, &s, 0, n, r) == THERE) copy(c, base, scratch, n, k->by.size);
    return r != UP;
}

/* --- long elements --------------------------------------------------------------- */

typedef struct listing {
    hi_loop loop;
    const char *base;
    size_t size;
    const void **address;
} listing;

static void list_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const listing *t = (listing *)l;
    (void)c;
    for (size_t i = begin; i < end; i++)
        t->address[i] = t->base + i * t->size;
}

int hi_sort_by_address(heist_ctx c, void *base, size_t n, size_t size,
                       const void *keys, const hi_by *by)
{
    const void **address = hi_scratch_get(c, 2 * n, sizeof *address);
    if (!address) return -ENOMEM;
    listing t = {
        {.piece = list_piece, .grain = ALONE}, keys, by->size, address};
    hi_loop_run(c, &t.loop, 0, n);
    hi_kind k = hi_kind_of_pointers(by->compare, by->arg);
    int rc = 0;
    if (hi_sort_runs(c, &k, address, address + n, n)) {
        hi_places places = {address, sizeof *address, (uintptr_t)keys,
                            by->size};
        rc = hi_permute_by(c, base, n, size, &places, address + n);
    }
    hi_scratch_put(c, address, 2 * n, sizeof *address);
    return rc;
}

/* --- all of it ------------------------------------------------------------------- */

static int sort_short(heist_ctx c, void *base, size_t n, size_t size,
                      heist_compare_fn *compare, void *arg)
{
    hi_kind k = hi_kind_of(size, compare, arg);
    char small[ON_STACK] HEIST_ALIGNED(HEIST_LINE);
    if (n <= sizeof small / size) {
        hi_sort_runs(c, &k, base, small, n);
        return 0;
    }
    char *scratch = hi_scratch_get(c, n, size);
    if (!scratch) return -ENOMEM;
    hi_sort_runs(c, &k, base, scratch, n);
    hi_scratch_put(c, scratch, n, size);
    return 0;
}

int heist_sort_stable(heist_ctx c, void *base, size_t n, size_t size,
                      heist_compare_fn *compare, void *arg)
{
    if (n < 2) return 0;
    if (hi_order_of(compare, size) != HI_BY_CALL) {
        /* What such a comparison calls equal is the same bits. */
        heist_sort(c, base, n, size, compare, arg);
        return 0;
    }
    if (size > HI_MOVED_MOST && n > ON_STACK / size)
        return hi_sort_by_address(c, base, n, size, base,
                                  &(hi_by){compare, arg, size});
    return sort_short(c, base, n, size, compare, arg);
}
