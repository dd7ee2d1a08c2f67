/* SPDX-License-Identifier: MIT
 *
 * sort.c: which sort for which elements.
 *
 * First of all it is seen whether there is anything to do: elements that are in
 * order are left as they are, and those that are exactly the other way round are
 * reversed.  Numbers and pairs are then sorted by digits, or by quicksort if
 * they are few or there is no memory; others by quicksort.
 */
#include "algo/loop.h"
#include "algo/move.h"
#include "algo/quick.h"
#include "algo/radix.h"

enum {
    FEW = 32,     /* numbers that are too few for digits */
    PIECE = 4096, /* elements that one worker looks at */
    BLOCK = 8     /* numbers that are looked at without a branch */
};

/* --- is it sorted already? ----------------------------------------------------- */

typedef struct run run;

struct run {
    hi_loop loop;
    /* Are begin .. end - 1 as they should be, each with its left neighbour? */
    bool (*holds)(const run *r, size_t begin, size_t end);
    const char *base;
    const hi_by *by;
    bool down; /* each is before its left neighbour, else none is */
    size_t n;  /* for look_at_both_ends */
    HEIST_ATOMIC(bool) broken;
};

static bool holds_call(const run *r, size_t begin, size_t end)
{
    size_t size = r->by->size;
    const char *p = r->base + begin * size;
    for (; begin < end; begin++, p += size)
        if (hi_less_call(p, p - size, r->by) != r->down) return false;
    return true;
}

/* Two sums that are not added up, so that neither has to wait for the other. */
HEIST_INLINE bool holds(const run *r, size_t begin, size_t end, size_t size,
                        hi_less_fn *less)
{
    const char *p = r->base + begin * size;
    size_t half = r->down ? BLOCK / 2 : 0;
    for (; end - begin >= BLOCK; begin += BLOCK) {
        size_t below = 0, also = 0;
        for (size_t i = 0; i < BLOCK; i += 2, p += 2 * size) {
            below += less(p, p - size, r->by);
            also += less(p + size, p, r->by);
        }
        if (below != half || also != half) return false;
    }
    for (; begin < end; begin++, p += size)
        if (less(p, p - size, r->by) != r->down) return false;
    return true;
}

static bool holds_u32(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 4, hi_less_u32);
}

static bool holds_i32(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 4, hi_less_i32);
}

static bool holds_f32(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 4, hi_less_f32);
}

static bool holds_u64(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 8, hi_less_u64);
}

static bool holds_i64(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 8, hi_less_i64);
}

static bool holds_f64(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 8, hi_less_f64);
}

static bool holds_pair(const run *r, size_t begin, size_t end)
{
    return holds(r, begin, end, 16, hi_less_pair);
}

static bool (*const holds_by[])(const run *r, size_t begin, size_t end) = {
    [HI_BY_CALL] = holds_call, [HI_BY_U32] = holds_u32,
    [HI_BY_I32] = holds_i32,   [HI_BY_F32] = holds_f32,
    [HI_BY_U64] = holds_u64,   [HI_BY_I64] = holds_i64,
    [HI_BY_F64] = holds_f64,   [HI_BY_PAIR] = holds_pair};

static void look_at_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    run *r = heist_container(l, run, loop);
    (void)c;
    /* relaxed: hint (joins order the last look at it) */
    if (heist_load_relaxed(&r->broken) || r->holds(r, begin, end)) return;
    heist_store_relaxed(&r->broken, true); /* relaxed: hint */
}

/* The same, and as far from the other end: what is to be turned round will be
 * written by who has read it.  Where two workers have no cache in common it takes
 * nine times as long to write what the other one has read last. */
static void look_at_both_ends(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    run *r = heist_container(l, run, loop);
    look_at_piece(c, l, begin, end);
    look_at_piece(c, l, r->n - end + 1, r->n - begin + 1);
}

/* In parallel: by halves, since all of it is to be read, as a rule. */
static bool holds_all(heist_ctx c, run *r, size_t begin, size_t end)
{
    hi_loop_run(c, &r->loop, begin, end);
    return !heist_load_relaxed(&r->broken); /* relaxed: hint (joined) */
}

static run run_of(const void *base, hi_order order, const hi_by *by)
{
    run r = {.loop.piece = look_at_piece,
             .holds = holds_by[order],
             .base = base,
             .by = by};
    heist_init(&r.broken, false);
    return r;
}

bool heist_is_sorted(heist_ctx c, const void *base, size_t n, size_t size,
                     heist_compare_fn *compare, void *arg)
{
    hi_by by = {compare, arg, size};
    run r = run_of(base, hi_order_of(compare, size), &by);
    return n < 2 || holds_all(c, &r, 1, n);
}

/* Does what there is to do if the elements are in order or in reverse; false:
 * they are neither. */
static bool is_done(heist_ctx c, char *base, size_t n, hi_order order,
                    const hi_by *by)
{
    run r = run_of(base, order, by);
    if (n < 2) return true;
    r.down = !r.holds(&r, 1, 2);
    size_t look = n < PIECE ? n : PIECE;
    if (!r.holds(&r, 2, look)) return false;
    if (!r.down) return holds_all(c, &r, look, n);
    r.n = n;
    r.loop.piece = look_at_both_ends;
    if (look < n && !holds_all(c, &r, 1, n / 2 + 1)) return false;
    hi_turn_round(c, base, n, by->size);
    return true;
}

/* --- the sorts ------------------------------------------------------------------- */

static void sort_as(heist_ctx c, void *base, size_t n, hi_order order,
                    const hi_by *by)
{
    if (is_done(c, base, n, order, by)) return;
    if (order != HI_BY_CALL && n >= FEW && hi_radix_sort(c, base, n, order))
        return;
    hi_to_keys(c, base, n, order);
    hi_quick_for(order, by->size)->sort(c, base, n, by);
    hi_from_keys(c, base, n, order);
}

void heist_sort(heist_ctx c, void *base, size_t n, size_t size,
                heist_compare_fn *compare, void *arg)
{
    hi_by by = {compare, arg, size};
    sort_as(c, base, n, hi_order_of(compare, size), &by);
}

void heist_sort_i32(heist_ctx c, int32_t *base, size_t n)
{
    sort_as(c, base, n, HI_BY_I32, &(hi_by){.size = sizeof *base});
}

void heist_sort_u32(heist_ctx c, uint32_t *base, size_t n)
{
    sort_as(c, base, n, HI_BY_U32, &(hi_by){.size = sizeof *base});
}

void heist_sort_i64(heist_ctx c, int64_t *base, size_t n)
{
    sort_as(c, base, n, HI_BY_I64, &(hi_by){.size = sizeof *base});
}

void heist_sort_u64(heist_ctx c, uint64_t *base, size_t n)
{
    sort_as(c, base, n, HI_BY_U64, &(hi_by){.size = sizeof *base});
}

void heist_sort_f32(heist_ctx c, float *base, size_t n)
{
    sort_as(c, base, n, HI_BY_F32, &(hi_by){.size = sizeof *base});
}

void heist_sort_f64(heist_ctx c, double *base, size_t n)
{
    sort_as(c, base, n, HI_BY_F64, &(hi_by){.size = sizeof *base});
}

void heist_sort_pairs(heist_ctx c, heist_pair *base, size_t n)
{
    sort_as(c, base, n, HI_BY_PAIR, &(hi_by){.size = sizeof *base});
}
