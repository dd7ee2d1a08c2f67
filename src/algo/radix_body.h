/* SPDX-License-Identifier: MIT
 *
 * The radix sort for one kind of elements; included once for each by radix.c,
 * which says before
 *
 *     RADIX(name)           the names of its functions,
 *     ELEMENT, VALUE        how an element lies in memory, and in registers,
 *     NOTHING               no difference,
 *     KEY, BITS             its key, and back,
 *     PLAIN, SIGNED, FLOAT  the orders that it can have; PLAIN has no keys,
 *
 * and the functions mix, any, rest, first, value and less of such keys.
 */

/* Deals an array out: from `from`, of the order `in`, to `to`, as keys. */
typedef struct RADIX(deal) {
    hi_loop loop;
    ELEMENT *from, *to;
    size_t n;
    size_t pieces;
    digit digit;
    size_t *counts;          /* a row per piece, and the ends of the buckets */
    VALUE different[PIECES]; /* how elements of a piece differ from the first */
    VALUE same;              /* what all are, if they do not */
    bool home; /* the result belongs into `to`, else into `from` */
    hi_order in;
    hi_order out; /* of the result: what the keys were made from */
} RADIX(deal);

/* --- in one cache -------------------------------------------------------------- */

/* Copies elements that are nearly in order, or leaves them where they are, and
 * puts them in order.  False: it was given up after so many moves. */
HEIST_INLINE bool RADIX(insertion)(const ELEMENT *from, ELEMENT *to, size_t n,
                                   size_t moves)
{
    for (size_t i = 0; i < n; i++) {
        VALUE x = from[i];
        size_t hole = i;
        for (; hole && RADIX(less)(x, to[hole - 1]); hole--)
            to[hole] = to[hole - 1];
        to[hole] = x;
        if (HEIST_LIKELY(hole == i)) continue;
        if (i - hole > moves) return false;
        moves -= i - hole;
    }
    return true;
}

HEIST_INLINE void RADIX(decode)(ELEMENT *a, size_t n, hi_order order)
{
    for (size_t i = 0; i < n; i++)
        a[i] = BITS(a[i], order);
}

/* Keys become numbers again. */
static void RADIX(finish)(ELEMENT *a, size_t n, hi_order order)
{
    if (order == PLAIN) return;
    if (order == SIGNED)
        RADIX(decode)(a, n, SIGNED);
    else
        RADIX(decode)(a, n, FLOAT);
}

static VALUE RADIX(differences)(const ELEMENT *a, size_t n)
{
    VALUE first = a[0], different = NOTHING;
    for (size_t i = 1; i < n; i++)
        different = RADIX(mix)(different, a[i], first);
    return different;
}

/* Sorts the keys at a by two digits, by way of b. */
static void RADIX(sort_digits)(ELEMENT *a, ELEMENT *b, size_t n, digit low,
                               digit high)
{
    uint32_t lows[1 << WIDEST], highs[1 << WIDEST];
    memset(lows, 0, sizeof *lows << low.width);
    memset(highs, 0, sizeof *highs << high.width);
    for (size_t i = 0; i < n; i++) {
        lows[RADIX(value)(a[i], low)]++;
        highs[RADIX(value)(a[i], high)]++;
    }
    places_of(lows, (size_t)1 << low.width);
    places_of(highs, (size_t)1 << high.width);
    for (size_t i = 0; i < n; i++) {
        VALUE x = a[i];
        b[lows[RADIX(value)(x, low)]++] = x;
    }
    for (size_t i = 0; i < n; i++) {
        VALUE x = b[i];
        a[highs[RADIX(value)(x, high)]++] = x;
    }
}

static void RADIX(settle)(ELEMENT *a, ELEMENT *b, size_t n, bool home);

/* Each row of elements that have that digit in common. */
static void RADIX(settle_rows)(ELEMENT *a, ELEMENT *b, size_t n, digit d,
                               bool home)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        size_t common = RADIX(value)(a[begin], d);
        for (end = begin + 1; end < n; end++)
            if (RADIX(value)(a[end], d) != common) break;
        RADIX(settle)(a + begin, b + begin, end - begin, home);
    }
}

/* Sorts the keys at a, by way of b, into b if `home` says so, else into a. */
static void RADIX(settle)(ELEMENT *a, ELEMENT *b, size_t n, bool home)
{
    ELEMENT *to = home ? b : a;
    if (n <= HANDFUL) {
        RADIX(insertion)(a, to, n, SIZE_MAX);
        return;
    }
    VALUE different = RADIX(differences)(a, n);
    unsigned width = log2_of(n) + 4;
    if (width > 2 * WIDEST) width = 2 * WIDEST;
    digit d = RADIX(first)(different, width), low = d, high = d;
    low.width = d.width / 2;
    high.width = d.width - low.width;
    high.shift += low.width;
    if (RADIX(any)(different)) RADIX(sort_digits)(a, b, n, low, high);
    if (!RADIX(rest)(different, d)) {
        if (home) memcpy(b, a, n * sizeof *a);
    } else if (!RADIX(insertion)(a, to, n, n)) {
        RADIX(settle_rows)(a, b, n, d, home);
    }
}

/* --- in parallel --------------------------------------------------------------- */

/* Counts the digits of a piece, and sees how its elements differ. */
HEIST_INLINE void RADIX(count)(RADIX(deal) * r, size_t piece, hi_order order)
{
    size_t *counts = r->counts + (piece << r->digit.width);
    size_t end = piece_at(r->n, r->pieces, piece + 1);
    VALUE first = KEY(r->from[0], order), different = NOTHING;
    const ELEMENT *from = r->from;
    digit d = r->digit;
    memset(counts, 0, sizeof *counts << d.width);
    for (size_t i = piece_at(r->n, r->pieces, piece); i < end; i++) {
        VALUE x = KEY(from[i], order);
        different = RADIX(mix)(different, x, first);
        counts[RADIX(value)(x, d)]++;
    }
    r->different[piece] = different;
}

static void RADIX(count_pieces)(heist_ctx c, hi_loop *l, size_t begin,
                                size_t end)
{
    RADIX(deal) *r = heist_container(l, RADIX(deal), loop);
    (void)c;
    for (; begin < end; begin++) {
        if (r->in == PLAIN)
            RADIX(count)(r, begin, PLAIN);
        else if (r->in == SIGNED)
            RADIX(count)(r, begin, SIGNED);
        else
            RADIX(count)(r, begin, FLOAT);
    }
}

HEIST_INLINE void RADIX(deal_out)(const RADIX(deal) * r, size_t piece,
                                  hi_order order)
{
    size_t *places = r->counts + (piece << r->digit.width);
    size_t end = piece_at(r->n, r->pieces, piece + 1);
    const ELEMENT *from = r->from;
    ELEMENT *to = r->to;
    digit d = r->digit;
    for (size_t i = piece_at(r->n, r->pieces, piece); i < end; i++) {
        VALUE x = KEY(from[i], order);
        to[places[RADIX(value)(x, d)]++] = x;
    }
}

static void RADIX(deal_pieces)(heist_ctx c, hi_loop *l, size_t begin,
                               size_t end)
{
    RADIX(deal) *r = heist_container(l, RADIX(deal), loop);
    (void)c;
    for (; begin < end; begin++) {
        if (r->in == PLAIN)
            RADIX(deal_out)(r, begin, PLAIN);
        else if (r->in == SIGNED)
            RADIX(deal_out)(r, begin, SIGNED);
        else
            RADIX(deal_out)(r, begin, FLOAT);
    }
}

/* All elements are the same. */
static void RADIX(fill_pieces)(heist_ctx c, hi_loop *l, size_t begin,
                               size_t end)
{
    RADIX(deal) *r = heist_container(l, RADIX(deal), loop);
    ELEMENT *to = r->home ? r->to : r->from;
    size_t last = piece_at(r->n, r->pieces, end);
    (void)c;
    for (size_t i = piece_at(r->n, r->pieces, begin); i < last; i++)
        to[i] = r->same;
}

static void RADIX(each_piece)(heist_ctx c, RADIX(deal) * r,
                              void (*piece)(heist_ctx c, hi_loop *l,
                                            size_t begin, size_t end))
{
    r->loop = (hi_loop){.piece = piece, .grain = 1};
    hi_loop_run(c, &r->loop, 0, r->pieces);
}

static bool RADIX(again)(heist_ctx c, ELEMENT *a, ELEMENT *b, size_t n,
                         bool home, hi_order in, hi_order out);

/* The buckets begin .. end - 1: each is in `to`, its elements are keys. */
static void RADIX(finish_buckets)(heist_ctx c, const RADIX(deal) * r,
                                  size_t begin, size_t end);

static void RADIX(buckets_right)(heist_ctx c, heist_frame *f)
{
    RADIX(finish_buckets)(c, f->arg[0].cp, f->arg[1].u, f->arg[2].u);
}

static void RADIX(finish_bucket)(heist_ctx c, const RADIX(deal) * r,
                                 size_t begin, size_t end)
{
    ELEMENT *a = r->to + begin, *b = r->from + begin;
    size_t n = end - begin;
    if (n * sizeof *a <= LARGE) {
        RADIX(settle)(a, b, n, !r->home);
    } else if (RADIX(again)(c, a, b, n, !r->home, PLAIN, r->out)) {
        return;
    } else {
        if (!r->home) memcpy(b, a, n * sizeof *a);
        hi_quick_for(PLAIN, sizeof *a)
            ->sort(c, (char *)(r->home ? a : b), n,
                   &(hi_by){.size = sizeof *a});
    }
    RADIX(finish)(r->home ? a : b, n, r->out);
}

static void RADIX(finish_buckets)(heist_ctx c, const RADIX(deal) * r,
                                  size_t begin, size_t end)
{
    const size_t *ends = r->counts + (r->pieces << r->digit.width);
    size_t start = begin ? ends[begin - 1] : 0;
    while (end - begin > 1 && ends[end - 1] - start > CLUSTER) {
        size_t half = begin + (end - begin) / 2;
        heist_frame *right = heist_slot(c);
        right->arg[0].cp = r;
        right->arg[1].u = half;
        right->arg[2].u = end;
        heist_ctx left = heist_fork(c, RADIX(buckets_right));
        RADIX(finish_buckets)(left, r, begin, half);
        if (!heist_join(c)) return;
        begin = half;
        start = ends[begin - 1];
    }
    for (; begin < end; start = ends[begin++]) {
        if (ends[begin] > start) RADIX(finish_bucket)(c, r, start, ends[begin]);
    }
}

/* --- the sort ------------------------------------------------------------------ */

/* How some elements differ from the first. */
static VALUE RADIX(sample)(const RADIX(deal) * r)
{
    VALUE first = KEY(r->from[0], r->in), different = NOTHING;
    for (size_t i = 0; i < SAMPLE; i++) {
        VALUE x = KEY(r->from[r->n / SAMPLE * i], r->in);
        different = RADIX(mix)(different, x, first);
    }
    return different;
}

/* Is the digit the smallest one in most of them? */
static bool RADIX(is_low)(const RADIX(deal) * r, digit d)
{
    size_t low = 0;
    for (size_t i = 0; i < SAMPLE; i++) {
        VALUE x = KEY(r->from[r->n / SAMPLE * i], r->in);
        low += RADIX(value)(x, d) == 0;
    }
    return low > SAMPLE / 2;
}

/* Counts the first digit.  A sample says where it begins; if it turns out that
 * other elements differ earlier, counts again.  False: they are all the same. */
static bool RADIX(count_all)(heist_ctx c, RADIX(deal) * r, unsigned width)
{
    VALUE different = RADIX(sample)(r), nothing = NOTHING;
    digit d = RADIX(first)(different, width);
    do {
        r->digit = d;
        r->digit.length = d.width == FIRST_MOST && RADIX(is_low)(r, d);
        RADIX(each_piece)(c, r, RADIX(count_pieces));
        for (size_t p = 0; p < r->pieces; p++)
            different = RADIX(mix)(different, r->different[p], nothing);
        if (!RADIX(any)(different)) return false;
        d = RADIX(first)(different, width);
    } while (d.shift + d.width != r->digit.shift + r->digit.width ||
             d.second != r->digit.second);
    return true;
}

static void RADIX(deal_and_finish)(heist_ctx c, RADIX(deal) * r, unsigned width)
{
    if (RADIX(count_all)(c, r, width)) {
        places_of_pieces(r->counts, r->pieces, (size_t)1 << r->digit.width);
        RADIX(each_piece)(c, r, RADIX(deal_pieces));
        RADIX(finish_buckets)(c, r, 0, (size_t)1 << r->digit.width);
    } else {
        r->same = BITS(KEY(r->from[0], r->in), r->out);
        RADIX(each_piece)(c, r, RADIX(fill_pieces));
    }
}

/* Sorts n elements at a, of the order `in`, by way of b, into b if `home` says
 * so, else into a, where they are of the order `out` at the end.  False: there
 * is no memory. */
static bool RADIX(again)(heist_ctx c, ELEMENT *a, ELEMENT *b, size_t n,
                         bool home, hi_order in, hi_order out)
{
    unsigned width = log2_of(n) - BUCKET;
    if (width < FIRST_LEAST) width = FIRST_LEAST;
    if (width > FIRST_MOST) width = FIRST_MOST;
    size_t pieces = pieces_of(n);
    size_t words = (pieces + 1) << width;
    RADIX(deal) r;
    r.from = a, r.to = b, r.n = n, r.pieces = pieces;
    r.home = home, r.in = in, r.out = out;
    r.counts = hi_scratch_get(c, words, sizeof *r.counts);
    if (!r.counts) return false;
    RADIX(deal_and_finish)(c, &r, width);
    hi_scratch_put(c, r.counts, words, sizeof *r.counts);
    return true;
}

/* --- all in all ---------------------------------------------------------------- */

#include "algo/radix_few.h"

static void RADIX(encode)(ELEMENT *a, size_t n, hi_order order)
{
    for (size_t i = 0; i < n; i++)
        a[i] = KEY(a[i], order);
}

static bool RADIX(radix)(heist_ctx c, void *base, size_t n, hi_order order)
{
    if (n >= LEAST && RADIX(sort_few)(c, base, n, order, pieces_of(n)))
        return true;
    ELEMENT *scratch = hi_scratch_get(c, n, sizeof *scratch);
    bool done = scratch != NULL;
    if (done && n >= LEAST) {
        done = RADIX(again)(c, base, scratch, n, false, order, order);
    } else if (done) {
        RADIX(encode)(base, n, order);
        RADIX(settle)(base, scratch, n, false);
        RADIX(finish)(base, n, order);
    }
    hi_scratch_put(c, scratch, n, sizeof *scratch);
    return done;
}
