/* SPDX-License-Identifier: MIT
 *
 * rank.c: the order of keys.
 *
 * A word has room for an index and for a part of a key before it.  Such words
 * are plain numbers, half as long as a key with its index, and as no two are
 * the same any sort of them is stable.
 *
 * If keys differ in more bits than there is room for, the first of these bits
 * nearly always suffice.  Where some keys have them in common they are
 * compared; where many do, all starts again, from the other end: by the last
 * bits, then by those before them in the order that has come out of that, and
 * so on.
 */
#include "algo/rank.h"

#include "algo/loop.h"
#include "fork/scratch.h"

#include <errno.h>

enum {
    BLOCK = 1 << 13, /* words that one worker makes, or compares keys of */
    SAMPLE = 64,     /* keys that are looked at for a first impression */
    SOME = 16        /* keys with a beginning in common, at most */
};

typedef struct ranking {
    hi_loop loop;
    const uint64_t *key;
    size_t n;
    uint64_t *word;
    const uint64_t *before; /* the order so far; NULL: as they are */
    unsigned shift;         /* bits of a key that come after its part */
    unsigned index_bits;
} ranking;

HEIST_INLINE uint64_t index_of(const ranking *r, uint64_t word)
{
    return word & ((UINT64_C(1) << r->index_bits) - 1);
}

HEIST_INLINE uint64_t part_of(const ranking *r, uint64_t word)
{
    return word >> r->index_bits;
}

/* --- words --------------------------------------------------------------------- */

static void pack_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const ranking r = *heist_container(l, ranking, loop);
    (void)c;
    for (size_t i = begin; i < end; i++) {
        uint64_t key = r.key[r.before ? r.before[i] : i];
        r.word[i] = key >> r.shift << r.index_bits | i;
    }
}

/* What is left of a word is an index. */
static void unpack_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const ranking r = *heist_container(l, ranking, loop);
    (void)c;
    for (size_t i = begin; i < end; i++) {
        uint64_t index = index_of(&r, r.word[i]);
        r.word[i] = r.before ? r.before[index] : index;
    }
}

/* Sorts by the part of the keys before the last `shift` bits. */
static void sort_part(heist_ctx c, ranking *r, unsigned shift)
{
    r->shift = shift;
    r->loop = (hi_loop){.piece = pack_piece, .grain = BLOCK};
    hi_loop_run(c, &r->loop, 0, r->n);
    heist_sort_u64(c, r->word, r->n);
}

static void unpack(heist_ctx c, ranking *r)
{
    r->loop = (hi_loop){.piece = unpack_piece, .grain = BLOCK};
    hi_loop_run(c, &r->loop, 0, r->n);
}

/* --- the first bits ------------------------------------------------------------ */

/* Sorts words that have the part of their keys in common by all of the key.
 * They are in the order of their indices, and equal keys stay in it. */
static void compare_keys(const ranking *r, size_t begin, size_t end)
{
    uint64_t *word = r->word;
    for (size_t i = begin + 1; i < end; i++) {
        uint64_t held = word[i], key = r->key[index_of(r, held)];
        size_t hole = i;
        for (; hole > begin; hole--) {
            if (r->key[index_of(r, word[hole - 1])] <= key) break;
            word[hole] = word[hole - 1];
        }
        word[hole] = held;
    }
}

/* The words from begin on that have the same part, up to the one before end. */
HEIST_INLINE size_t same_part(const ranking *r, size_t begin, size_t end)
{
    uint64_t part = part_of(r, r->word[begin]);
    size_t i = begin + 1;
    while (i < end && part_of(r, r->word[i]) == part)
        i++;
    return i;
}

/* Compares keys where they are the same so far; a heist_find_fn that finds
 * where there are too many of them. */
static size_t compare_in_blocks(heist_ctx c, size_t begin, size_t end,
                                void *arg)
{
    const ranking *r = arg;
    size_t i = begin * BLOCK, last = hi_smaller(end * BLOCK, r->n);
    (void)c;
    for (size_t next; i < last; i = next) {
        next = same_part(r, i, last);
        if (HEIST_LIKELY(next == i + 1)) continue;
        if (next - i > SOME) return begin;
        compare_keys(r, i, next);
    }
    return HEIST_NONE;
}

/* The same across the end of a block; there are not many on either side. */
static void compare_over(const ranking *r, size_t border)
{
    uint64_t part = part_of(r, r->word[border]);
    size_t begin = border;
    while (begin && part_of(r, r->word[begin - 1]) == part)
        begin--;
    if (begin < border) compare_keys(r, begin, same_part(r, border, r->n));
}

/* Are there keys with the same part in a sample?  Then there are many. */
static bool has_same_parts(const ranking *r, unsigned shift)
{
    uint64_t part[SAMPLE];
    for (size_t i = 0; i < SAMPLE; i++) {
        uint64_t x = r->key[r->n / SAMPLE * i] >> shift << r->index_bits;
        size_t hole = i;
        for (; hole && part[hole - 1] > x; hole--)
            part[hole] = part[hole - 1];
        part[hole] = x;
        if (hole && part[hole - 1] == x) return true;
    }
    return false;
}

/* Sorts by as many of the first bits as there is room for, and compares the
 * rest.  False: that would take too long. */
static bool sort_first(heist_ctx c, ranking *r, unsigned shift)
{
    size_t blocks = (r->n + BLOCK - 1) / BLOCK;
    if (r->n >= BLOCK && has_same_parts(r, shift)) return false;
    sort_part(c, r, shift);
    if (heist_find_any_in(c, 0, blocks, compare_in_blocks, r) != HEIST_NONE)
        return false;
    for (size_t b = 1; b < blocks; b++)
        compare_over(r, b * BLOCK);
    unpack(c, r);
    return true;
}

/* --- all bits ------------------------------------------------------------------ */

/* Sorts by parts of the keys, the last one first.  `other` may be NULL if there
 * is but one. */
static void sort_parts(heist_ctx c, ranking *r, unsigned parts, uint64_t *other)
{
    uint64_t *to = parts % 2 ? r->word : other;
    uint64_t *next = parts % 2 ? other : r->word;
    for (unsigned part = 0; part < parts; part++) {
        r->word = to;
        sort_part(c, r, part * (64 - r->index_bits));
        unpack(c, r);
        r->before = to;
        to = next;
        next = r->word;
    }
}

static unsigned bits_of(uint64_t x)
{
    return 64 - (unsigned)__builtin_clzll(x);
}

int hi_rank(heist_ctx c, const uint64_t *key, size_t n, uint64_t different,
            uint64_t *from)
{
    ranking r = {.key = key, .n = n, .word = from};
    r.index_bits = bits_of(n - 1);
    unsigned bits = bits_of(different), room = 64 - r.index_bits;
    unsigned parts = (bits + room - 1) / room;
    if (parts > 1 && sort_first(c, &r, bits - room)) return 0;
    uint64_t *other = NULL;
    if (parts > 1) {
        other = hi_scratch_get(c, n, sizeof *other);
        if (!other) return -ENOMEM;
    }
    sort_parts(c, &r, parts, other);
    hi_scratch_put(c, other, n, sizeof *other);
    return 0;
}
