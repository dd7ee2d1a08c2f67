/* SPDX-License-Identifier: MIT
 *
 * radix.c: sorting by digits.
 *
 * The whole array is dealt out by its first digit into as many buckets, from the
 * array into scratch memory, by many pieces side by side.  Each bucket is then
 * small enough for a cache, and one worker sorts it by the next two digits, the
 * second of them first.  They are wide enough to tell nearly all elements apart;
 * insertion, with hardly anything to do, puts the rest right.  Where keys are not
 * spread evenly, a bucket may still be large: it is dealt out again; or many of
 * its elements may have the same digits: they are sorted by the following ones.
 *
 * A digit begins at the first bit in which elements differ, so that keys from a
 * small range lose nothing.  Every step uses up the bits that it looked at.  If
 * most elements have the smallest first digit, as when there are as many small
 * numbers as large ones, the first digit is the length of the number and the two
 * bits after its first.
 */
#include "algo/radix.h"

#include "algo/loop.h"
#include "algo/quick.h"
#include "fork/scratch.h"

enum {
    WIDEST = 11,       /* bits of a digit inside of a bucket */
    FIRST_LEAST = 3,   /* bits of the first digit: for one line ... */
    FIRST_MOST = 8,    /* ... per bucket in the first cache */
    BUCKET = 12,       /* bits of the number of elements of a good bucket */
    HANDFUL = 24,      /* elements that are sorted by insertion */
    LARGE = 1 << 19,   /* bytes of a bucket that is dealt out in parallel */
    LEAST = 1 << 15,   /* the same for the whole array */
    PIECE = 1 << 13,   /* elements that a worker counts and deals, at least */
    PIECES = 128,      /* at most */
    CLUSTER = 1 << 12, /* elements in buckets that are not forked apart */
    SAMPLE = 256,      /* elements looked at for a first impression */
    VALUES = 32,       /* different ones that are a few */
    SLOTS = 256        /* of the table in which they are counted */
};

/* Which bits of a key decide. */
typedef struct digit {
    unsigned shift;
    unsigned width;
    bool second; /* of the second word of a key */
    bool length; /* not these bits, but how many there are up to them */
} digit;

/* How many pieces n elements are dealt out in, and where one of them begins. */
static size_t pieces_of(size_t n)
{
    return n / PIECE < PIECES ? n / PIECE : PIECES;
}

static size_t piece_at(size_t n, size_t pieces, size_t piece)
{
    size_t more = n % pieces; /* the first ones are longer by one */
    return n / pieces * piece + (piece < more ? piece : more);
}

static unsigned log2_of(size_t n)
{
    return 63u - (unsigned)__builtin_clzll(n | 1);
}

/* Counts become places: where the first element of each bucket goes. */
static void places_of(uint32_t *counts, size_t buckets)
{
    uint32_t sum = 0;
    for (size_t b = 0; b < buckets; b++) {
        uint32_t count = counts[b];
        counts[b] = sum;
        sum += count;
    }
}

/* The same for a row of counts per piece: bucket by bucket, in it piece by
 * piece.  The row after the last gets where the buckets end. */
static void places_of_pieces(size_t *counts, size_t pieces, size_t buckets)
{
    size_t *ends = counts + pieces * buckets;
    memset(ends, 0, buckets * sizeof *ends);
    for (size_t p = 0; p < pieces; p++) {
        for (size_t b = 0; b < buckets; b++) {
            size_t count = counts[p * buckets + b];
            counts[p * buckets + b] = ends[b];
            ends[b] += count;
        }
    }
    size_t sum = 0;
    for (size_t b = 0; b < buckets; b++) {
        size_t count = ends[b];
        ends[b] = sum;
        sum += count;
    }
    for (size_t p = 0; p < pieces; p++) {
        for (size_t b = 0; b < buckets; b++)
            counts[p * buckets + b] += ends[b];
    }
    for (size_t b = 0; b + 1 < buckets; b++)
        ends[b] = ends[b + 1];
    ends[buckets - 1] = sum;
}

/* Elements as they lie in the caller's array, of any alignment. */
typedef uint32_t loose_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t loose_u64 __attribute__((aligned(1), may_alias));

typedef struct loose_pair {
    uint64_t key, index;
} __attribute__((packed, may_alias)) loose_pair;

/* The digit that begins with the first bit that is set in `different`. */
static digit digit_at(uint64_t different, unsigned width, bool second)
{
    unsigned bits = log2_of(different) + 1;
    if (width > bits) width = bits;
    return (digit){bits - width, width, second, false};
}

/* The bits of a word up to the digit. */
HEIST_INLINE uint64_t bits_to(uint64_t word, digit d)
{
    return word & (UINT64_MAX >> (64 - d.shift - d.width));
}

HEIST_INLINE size_t value_of(uint64_t word, digit d)
{
    if (HEIST_LIKELY(!d.length)) return word >> d.shift & ((1u << d.width) - 1);
    uint64_t bits = bits_to(word, d);
    bits += bits < UINT64_MAX - 4 ? 4 : 0;
    unsigned length = log2_of(bits);
    return (length - 2) * 4 + (bits >> (length - 2) & 3);
}

/* A slot of SLOTS for a value. */
HEIST_INLINE size_t slot_of(uint64_t x, uint64_t factor)
{
    return (x ^ x >> 32) * factor >> 56;
}

/* --- 32 bits ----------------------------------------------------------------- */

HEIST_INLINE uint32_t mix_u32(uint32_t different, uint32_t a, uint32_t b)
{
    return different | (a ^ b);
}

HEIST_INLINE bool any_u32(uint32_t different)
{
    return different != 0;
}

/* Is a bit of `different` left when the digit is dealt with? */
HEIST_INLINE bool rest_u32(uint32_t different, digit d)
{
    return different & ((UINT32_C(1) << d.shift) - 1);
}

HEIST_INLINE digit first_u32(uint32_t different, unsigned width)
{
    return digit_at(different, width, false);
}

HEIST_INLINE size_t value_u32(uint32_t x, digit d)
{
    return value_of(x, d);
}

HEIST_INLINE size_t slot_u32(uint32_t x, uint64_t factor)
{
    return slot_of(x, factor);
}

HEIST_INLINE bool less_u32(uint32_t a, uint32_t b)
{
    return a < b;
}

#define RADIX(name) name##_u32
#define ELEMENT     loose_u32
#define VALUE       uint32_t
#define NOTHING     0
#define KEY         hi_key_32
#define BITS        hi_bits_32
#define PLAIN       HI_BY_U32
#define SIGNED      HI_BY_I32
#define FLOAT       HI_BY_F32
#include "algo/radix_body.h"
#undef RADIX
#undef ELEMENT
#undef VALUE
#undef NOTHING
#undef KEY
#undef BITS
#undef PLAIN
#undef SIGNED
#undef FLOAT

/* --- 64 bits ----------------------------------------------------------------- */

HEIST_INLINE uint64_t mix_u64(uint64_t different, uint64_t a, uint64_t b)
{
    return different | (a ^ b);
}

HEIST_INLINE bool any_u64(uint64_t different)
{
    return different != 0;
}

HEIST_INLINE bool rest_u64(uint64_t different, digit d)
{
    return different & ((UINT64_C(1) << d.shift) - 1);
}

HEIST_INLINE digit first_u64(uint64_t different, unsigned width)
{
    return digit_at(different, width, false);
}

HEIST_INLINE size_t value_u64(uint64_t x, digit d)
{
    return value_of(x, d);
}

HEIST_INLINE size_t slot_u64(uint64_t x, uint64_t factor)
{
    return slot_of(x, factor);
}

HEIST_INLINE bool less_u64(uint64_t a, uint64_t b)
{
    return a < b;
}

#define RADIX(name) name##_u64
#define ELEMENT     loose_u64
#define VALUE       uint64_t
#define NOTHING     0
#define KEY         hi_key_64
#define BITS        hi_bits_64
#define PLAIN       HI_BY_U64
#define SIGNED      HI_BY_I64
#define FLOAT       HI_BY_F64
#include "algo/radix_body.h"
#undef RADIX
#undef ELEMENT
#undef VALUE
#undef NOTHING
#undef KEY
#undef BITS
#undef PLAIN
#undef SIGNED
#undef FLOAT

/* --- pairs ------------------------------------------------------------------- */

HEIST_INLINE loose_pair mix_pair(loose_pair different, loose_pair a,
                                 loose_pair b)
{
    different.key |= a.key ^ b.key;
    different.index |= a.index ^ b.index;
    return different;
}

HEIST_INLINE bool any_pair(loose_pair different)
{
    return different.key | different.index;
}

HEIST_INLINE bool rest_pair(loose_pair different, digit d)
{
    uint64_t below = (UINT64_C(1) << d.shift) - 1;
    if (d.second) return different.index & below;
    return (different.key & below) | different.index;
}

HEIST_INLINE digit first_pair(loose_pair different, unsigned width)
{
    if (different.key) return digit_at(different.key, width, false);
    return digit_at(different.index, width, true);
}

HEIST_INLINE size_t value_pair(loose_pair x, digit d)
{
    return value_of(d.second ? x.index : x.key, d);
}

HEIST_INLINE size_t slot_pair(loose_pair x, uint64_t factor)
{
    return slot_of(x.key + x.index * factor, factor);
}

HEIST_INLINE bool less_pair(loose_pair a, loose_pair b)
{
    return hi_pair_less((heist_pair){a.key, a.index},
                        (heist_pair){b.key, b.index});
}

HEIST_INLINE loose_pair same_pair(loose_pair x, hi_order order)
{
    (void)order;
    return x;
}

#define RADIX(name) name##_pair
#define ELEMENT     loose_pair
#define VALUE       loose_pair
#define NOTHING     ((loose_pair){0, 0})
#define KEY         same_pair
#define BITS        same_pair
#define PLAIN       HI_BY_PAIR
#define SIGNED      HI_BY_PAIR
#define FLOAT       HI_BY_PAIR
#include "algo/radix_body.h"
#undef RADIX
#undef ELEMENT
#undef VALUE
#undef NOTHING
#undef KEY
#undef BITS
#undef PLAIN
#undef SIGNED
#undef FLOAT

bool hi_radix_sort(heist_ctx c, void *base, size_t n, hi_order order)
{
    if (order == HI_BY_PAIR) return radix_pair(c, base, n, order);
    if (order >= HI_BY_U64) return radix_u64(c, base, n, order);
    return radix_u32(c, base, n, order);
}
