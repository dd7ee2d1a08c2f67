/* SPDX-License-Identifier: MIT
 *
 * Sorting a few different values by counting them, for one kind of elements;
 * included by radix_body.h, whose names it uses.
 *
 * A sample says which values there may be.  Each gets a slot of its own in a
 * table; an element that is not what its slot says ends the attempt before
 * anything was written.
 */

typedef struct RADIX(tally) {
    hi_loop loop;
    ELEMENT *base;
    size_t n, pieces;
    hi_order order;
    VALUE slot[SLOTS];
    uint64_t factor; /* gives every value its slot */
    size_t *counts;  /* a row of slots per piece */
    bool wrong[PIECES];
    size_t values;
    VALUE value[VALUES]; /* in order; where each ends */
    size_t end[VALUES];
} RADIX(tally);

/* Finds the values of the sample; false: there are too many. */
static bool RADIX(few_values)(RADIX(tally) * t)
{
    t->values = 0;
    for (size_t i = 0; i < SAMPLE; i++) {
        VALUE x = KEY(t->base[t->n / SAMPLE * i], t->order);
        size_t at = t->values;
        while (at && RADIX(less)(x, t->value[at - 1]))
            at--;
        if (at && !RADIX(less)(t->value[at - 1], x)) continue; /* known */
        if (t->values == VALUES) return false;
        for (size_t k = t->values++; k > at; k--)
            t->value[k] = t->value[k - 1];
        t->value[at] = x;
    }
    return true;
}

/* Finds a factor for which no two values share a slot.  Where there is no value
 * a slot has one that belongs elsewhere. */
static bool RADIX(few_slots)(RADIX(tally) * t)
{
    bool used[SLOTS];
    t->factor = 0x9e3779b97f4a7c15u;
    for (int tries = 0; tries < 32; tries++, t->factor *= t->factor + 2) {
        bool good = true;
        memset(used, 0, sizeof used);
        for (size_t v = 0; v < t->values && good; v++) {
            size_t s = RADIX(slot)(t->value[v], t->factor);
            good = !used[s];
            used[s] = true;
            t->slot[s] = t->value[v];
        }
        if (!good) continue;
        for (size_t s = 0; s < SLOTS; s++)
            if (!used[s]) t->slot[s] = t->value[0];
        return true;
    }
    return false;
}

HEIST_INLINE void RADIX(tally_piece)(RADIX(tally) * t, size_t piece,
                                     hi_order order)
{
    size_t *counts = t->counts + piece * SLOTS;
    size_t end = piece_at(t->n, t->pieces, piece + 1);
    const ELEMENT *base = t->base;
    uint64_t factor = t->factor;
    VALUE different = NOTHING;
    memset(counts, 0, SLOTS * sizeof *counts);
    for (size_t i = piece_at(t->n, t->pieces, piece); i < end; i++) {
        VALUE x = KEY(base[i], order);
        size_t s = RADIX(slot)(x, factor);
        different = RADIX(mix)(different, x, t->slot[s]);
        counts[s]++;
    }
    t->wrong[piece] = RADIX(any)(different);
}

static void RADIX(tally_pieces)(heist_ctx c, hi_loop *l, size_t begin,
                                size_t end)
{
    RADIX(tally) *t = heist_container(l, RADIX(tally), loop);
    (void)c;
    for (; begin < end; begin++) {
        if (t->order == PLAIN)
            RADIX(tally_piece)(t, begin, PLAIN);
        else if (t->order == SIGNED)
            RADIX(tally_piece)(t, begin, SIGNED);
        else
            RADIX(tally_piece)(t, begin, FLOAT);
    }
}

/* Writes the values that belong into these pieces. */
static void RADIX(write_pieces)(heist_ctx c, hi_loop *l, size_t begin,
                                size_t end)
{
    RADIX(tally) *t = heist_container(l, RADIX(tally), loop);
    size_t i = piece_at(t->n, t->pieces, begin);
    size_t last = piece_at(t->n, t->pieces, end);
    (void)c;
    for (size_t v = 0; i < last; v++) {
        size_t stop = t->end[v] < last ? t->end[v] : last;
        VALUE x = BITS(t->value[v], t->order);
        for (; i < stop; i++)
            t->base[i] = x;
    }
}

static void RADIX(run_pieces)(heist_ctx c, RADIX(tally) * t, size_t begin,
                              void (*piece)(heist_ctx c, hi_loop *l,
                                            size_t begin, size_t end))
{
    t->loop = (hi_loop){.piece = piece, .grain = 1};
    hi_loop_run(c, &t->loop, begin, t->pieces);
}

/* The first piece alone shows whether the sample was good for anything. */
static bool RADIX(tally_all)(heist_ctx c, RADIX(tally) * t)
{
    RADIX(tally_pieces)(c, &t->loop, 0, 1);
    if (t->wrong[0]) return false;
    RADIX(run_pieces)(c, t, 1, RADIX(tally_pieces));
    for (size_t p = 1; p < t->pieces; p++)
        if (t->wrong[p]) return false;
    return true;
}

/* Sorts if there are only a few values; else false. */
static bool RADIX(sort_few)(heist_ctx c, ELEMENT *base, size_t n,
                            hi_order order, size_t pieces)
{
    RADIX(tally) t;
    t.base = base, t.n = n, t.order = order, t.pieces = pieces;
    if (!RADIX(few_values)(&t) || !RADIX(few_slots)(&t)) return false;
    t.counts = hi_scratch_get(c, pieces * SLOTS, sizeof *t.counts);
    if (!t.counts) return false;
    bool done = RADIX(tally_all)(c, &t);
    size_t sum = 0;
    for (size_t v = 0; done && v < t.values; v++) {
        size_t s = RADIX(slot)(t.value[v], t.factor);
        for (size_t p = 0; p < pieces; p++)
            sum += t.counts[p * SLOTS + s];
        t.end[v] = sum;
    }
    if (done) RADIX(run_pieces)(c, &t, 0, RADIX(write_pieces));
    hi_scratch_put(c, t.counts, pieces * SLOTS, sizeof *t.counts);
    return done;
}
