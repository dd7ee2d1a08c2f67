/* SPDX-License-Identifier: MIT
 *
 * rank.c: the order of keys.
 *
 * A word has room for an index and for a part of a key before it.  Such words
 * are plain numbers, half as long as a key with its index, and as no two are
 * the same any sort of them is stable.
 *
 * If keys differ in more bits than there is room for, the first of these bits
 * nearly always suffice.  Where a few keys have them in common they are
 * compared; where more do, their words are made again, from the bits that
 * follow, and sorted where they lie.
 */
#include "algo/rank.h"

#include "algo/loop.h"

enum {
    BLOCK = 1 << 13, /* words that one worker makes, or compares keys of */
    SOME = 16        /* keys with a beginning in common that are compared */
};

typedef struct ranking {
    const uint64_t *key;
    uint64_t *word;
    unsigned index_bits;
} ranking;

HEIST_INLINE uint64_t index_of(const ranking *r, uint64_t word)
{
    return word & ((UINT64_C(1) << r->index_bits) - 1);
}

HEIST_INLINE uint64_t part_of(const ranking *r, size_t i)
{
    return r->word[i] >> r->index_bits;
}

/* --- words --------------------------------------------------------------------- */

typedef struct making {
    hi_loop loop;
    const ranking *r;
    bool again;     /* there are words already */
    unsigned shift; /* bits of a key that come after its part */
} making;

static void pack_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const making m = *heist_container(l, making, loop);
    const ranking r = *m.r;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        uint64_t index = m.again ? index_of(&r, r.word[i]) : i;
        r.word[i] = r.key[index] >> m.shift << r.index_bits | index;
    }
}

/* What is left of a word is an index. */
static void unpack_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const ranking r = *heist_container(l, making, loop)->r;
    (void)c;
    for (size_t i = begin; i < end; i++)
        r.word[i] = index_of(&r, r.word[i]);
}

/* --- rows of words that have their part in common ---------------------------------- */

static void sort_words(heist_ctx c, const ranking *r, size_t begin, size_t end,
                       bool again, unsigned bits);

/* Sorts SOME at most by all of the key.  They are in the order of their indices,
 * and equal keys stay in it. */
static void compare_keys(const ranking *r, size_t begin, size_t n)
{
    uint64_t key[SOME], *word = r->word + begin;
    for (size_t i = 0; i < n; i++)
        key[i] = r->key[index_of(r, word[i])];
    for (size_t i = 1; i < n; i++) {
        uint64_t held = word[i], held_key = key[i];
        size_t hole = i;
        for (; hole && key[hole - 1] > held_key; hole--) {
            word[hole] = word[hole - 1];
            key[hole] = key[hole - 1];
        }
        word[hole] = held;
        key[hole] = held_key;
    }
}

static void sort_row(heist_ctx c, const ranking *r, size_t begin, size_t end,
                     unsigned bits)
{
    if (end - begin > SOME)
        sort_words(c, r, begin, end, true, bits);
    else
        compare_keys(r, begin, end - begin);
}

/* The first word of begin .. end - 1 that has a part of at least `part`. */
static size_t first_with(const ranking *r, size_t begin, size_t end,
                         uint64_t part)
{
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (part_of(r, middle) < part)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static void sort_rows(heist_ctx c, const ranking *r, size_t begin, size_t end,
                      unsigned bits);

static void sort_rows_right(heist_ctx c, heist_frame *f)
{
    sort_rows(c, f->arg[0].cp, f->arg[1].u, f->arg[2].u, (unsigned)f->arg[3].u);
}

/* begin .. end - 1 are whole rows, of keys that differ in their last `bits`.
 * Many are split where a row ends: the one in the middle is neither left nor
 * right. */
static void sort_rows(heist_ctx c, const ranking *r, size_t begin, size_t end,
                      unsigned bits)
{
    while (end - begin > BLOCK) {
        size_t middle = begin + (end - begin) / 2;
        uint64_t part = part_of(r, middle);
        size_t row = first_with(r, begin, middle, part);
        size_t row_end = first_with(r, middle, end, part + 1);
        heist_frame *right = heist_slot(c);
        right->arg[0].cp = r;
        right->arg[1].u = row_end;
        right->arg[2].u = end;
        right->arg[3].u = bits;
        heist_ctx left = heist_fork(c, sort_rows_right);
        sort_rows(left, r, begin, row, bits);
        sort_row(left, r, row, row_end, bits);
        if (!heist_join(c)) return;
        begin = row_end;
    }
    for (size_t next; begin < end; begin = next) {
        uint64_t part = part_of(r, begin);
        for (next = begin + 1; next < end; next++)
            if (part_of(r, next) != part) break;
        if (next - begin > 1) sort_row(c, r, begin, next, bits);
    }
}

/* --- all of them --------------------------------------------------------------- */

/* Makes words of keys that are the same but for their last `bits`, and sorts
 * them. */
static void sort_words(heist_ctx c, const ranking *r, size_t begin, size_t end,
                       bool again, unsigned bits)
{
    unsigned room = 64 - r->index_bits, rest = bits > room ? bits - room : 0;
    making m = {{.piece = pack_piece, .grain = BLOCK}, r, again, rest};
    hi_loop_run(c, &m.loop, begin, end);
    heist_sort_u64(c, r->word + begin, end - begin);
    if (rest) sort_rows(c, r, begin, end, rest);
}

static unsigned bits_of(uint64_t x)
{
    return 64 - (unsigned)__builtin_clzll(x);
}

void hi_rank(heist_ctx c, const uint64_t *key, size_t n, uint64_t different,
             uint64_t *from)
{
    ranking r = {key, from, bits_of(n - 1)};
    making m = {.loop = {.piece = unpack_piece, .grain = BLOCK}, .r = &r};
    sort_words(c, &r, 0, n, false, bits_of(different));
    hi_loop_run(c, &m.loop, 0, n);
}
