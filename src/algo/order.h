/* SPDX-License-Identifier: MIT */
#ifndef HI_ORDER_H
#define HI_ORDER_H

#include <heist/algo.h>
#include <string.h>

/*
 * What all sorts know about elements: how they are compared, and how they are
 * moved.
 *
 * Numbers are compared by their keys: unsigned numbers of the same size and in
 * the same order, made from the bits of the number and turned back into them
 * without loss.  So there is one sort for 32 bits and one for 64.
 */

/* How the caller wants elements to be compared. */
typedef struct hi_by {
    heist_compare_fn *compare;
    void *arg;
    size_t size; /* of an element; not zero */
} hi_by;

/* The order of elements that are known without a call. */
typedef enum hi_order {
    HI_BY_CALL,
    HI_BY_U32,
    HI_BY_I32,
    HI_BY_F32,
    HI_BY_U64,
    HI_BY_I64,
    HI_BY_F64,
    HI_BY_PAIR
} hi_order;

/* HI_BY_CALL unless compare is one of heist_by_* and size is that of its
 * elements. */
hi_order hi_order_of(heist_compare_fn *compare, size_t size);

/* --- moving ------------------------------------------------------------------ */

enum {
    HI_HELD = 256 /* bytes of an element that may be held on the stack */
};

HEIST_INLINE uint32_t hi_get_u32(const void *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

HEIST_INLINE uint64_t hi_get_u64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

HEIST_INLINE heist_pair hi_get_pair(const void *p)
{
    heist_pair x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Word by word, the last one up to the end. */
HEIST_INLINE void hi_move_words(char *to, const char *from, size_t size)
{
    for (size_t at = 0; at + 8 < size; at += 8)
        memcpy(to + at, from + at, 8);
    memcpy(to + size - 8, from + size - 8, 8);
}

/* One element; a constant size makes it a load and a store. */
HEIST_INLINE void hi_move(void *to, const void *from, size_t size)
{
    if (__builtin_constant_p(size))
        memcpy(to, from, size);
    else if (size == 8)
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else if (size > 8 && size < 128)
        hi_move_words(to, from, size);
    else
        memcpy(to, from, size);
}

/* Exchanges two elements of any size, which may be the same one. */
HEIST_INLINE void hi_swap(void *a, void *b, size_t size)
{
    char held[HI_HELD], *x = a, *y = b;
    for (size_t part; size; size -= part, x += part, y += part) {
        part = size < sizeof held ? size : sizeof held;
        hi_move(held, x, part);
        memmove(x, y, part);
        hi_move(y, held, part);
    }
}

/* --- comparing --------------------------------------------------------------- */

/* Does a come before b? */
typedef bool hi_less_fn(const void *a, const void *b, const hi_by *by);

HEIST_INLINE bool hi_less_call(const void *a, const void *b, const hi_by *by)
{
    return by->compare(a, b, by->arg) < 0;
}

/* Without a branch: which way it goes nobody can guess. */
HEIST_INLINE bool hi_pair_less(heist_pair a, heist_pair b)
{
    return (a.key < b.key) | ((a.key == b.key) & (a.index < b.index));
}

HEIST_INLINE bool hi_less_pair(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_pair_less(hi_get_pair(a), hi_get_pair(b));
}

/* --- keys -------------------------------------------------------------------- */

/*
 * Of floats: negative numbers have all bits turned round, the others the first,
 * which leaves the NaNs with a sign before minus infinity.  What is subtracted
 * is the number of those: they go round to the end, to the other NaNs.
 */
enum {
    HI_SIGNED_NANS_32 = 0x007fffff
};

#define HI_TOP_32         UINT32_C(0x80000000)
#define HI_TOP_64         UINT64_C(0x8000000000000000)
#define HI_SIGNED_NANS_64 UINT64_C(0x000fffffffffffff)

/* The key of a number of that order, given by its bits. */
HEIST_INLINE uint32_t hi_key_32(uint32_t bits, hi_order order)
{
    if (order == HI_BY_U32) return bits;
    if (order == HI_BY_I32) return bits ^ HI_TOP_32;
    uint32_t sign = 0 - (bits >> 31);
    return (bits ^ (sign | HI_TOP_32)) - HI_SIGNED_NANS_32;
}

HEIST_INLINE uint64_t hi_key_64(uint64_t bits, hi_order order)
{
    if (order == HI_BY_U64) return bits;
    if (order == HI_BY_I64) return bits ^ HI_TOP_64;
    uint64_t sign = 0 - (bits >> 63);
    return (bits ^ (sign | HI_TOP_64)) - HI_SIGNED_NANS_64;
}

/* The bits of the number with that key. */
HEIST_INLINE uint32_t hi_bits_32(uint32_t key, hi_order order)
{
    if (order == HI_BY_U32) return key;
    if (order == HI_BY_I32) return key ^ HI_TOP_32;
    key += HI_SIGNED_NANS_32;
    uint32_t positive = 0 - (key >> 31);
    return key ^ (~positive | HI_TOP_32);
}

HEIST_INLINE uint64_t hi_bits_64(uint64_t key, hi_order order)
{
    if (order == HI_BY_U64) return key;
    if (order == HI_BY_I64) return key ^ HI_TOP_64;
    key += HI_SIGNED_NANS_64;
    uint64_t positive = 0 - (key >> 63);
    return key ^ (~positive | HI_TOP_64);
}

/* Comparisons of numbers, as hi_less_call. */
HEIST_INLINE bool hi_less_u32(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_32(hi_get_u32(a), HI_BY_U32) <
           hi_key_32(hi_get_u32(b), HI_BY_U32);
}

HEIST_INLINE bool hi_less_i32(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_32(hi_get_u32(a), HI_BY_I32) <
           hi_key_32(hi_get_u32(b), HI_BY_I32);
}

HEIST_INLINE bool hi_less_f32(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_32(hi_get_u32(a), HI_BY_F32) <
           hi_key_32(hi_get_u32(b), HI_BY_F32);
}

HEIST_INLINE bool hi_less_u64(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_64(hi_get_u64(a), HI_BY_U64) <
           hi_key_64(hi_get_u64(b), HI_BY_U64);
}

HEIST_INLINE bool hi_less_i64(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_64(hi_get_u64(a), HI_BY_I64) <
           hi_key_64(hi_get_u64(b), HI_BY_I64);
}

HEIST_INLINE bool hi_less_f64(const void *a, const void *b, const hi_by *by)
{
    (void)by;
    return hi_key_64(hi_get_u64(a), HI_BY_F64) <
           hi_key_64(hi_get_u64(b), HI_BY_F64);
}

/* Makes n numbers into their keys, in place, and back. */
void hi_to_keys(heist_ctx c, void *base, size_t n, hi_order order);
void hi_from_keys(heist_ctx c, void *base, size_t n, hi_order order);

/* --- a few elements ------------------------------------------------------------ */

/*
 * Insertion: stable, and safe with comparisons that contradict themselves.
 * With constants for size and less the compiler makes a sort of its own from it.
 */
HEIST_INLINE void hi_insertion_sort(char *base, size_t n, size_t size,
                                    hi_less_fn *less, const hi_by *by)
{
    char held[HI_HELD] HEIST_ALIGNED(HEIST_LINE);
    for (size_t i = 1; i < n; i++) {
        char *hole = base + i * size;
        if (!less(hole, hole - size, by)) continue;
        if (size > sizeof held) {
            do {
                hi_swap(hole, hole - size, size);
                hole -= size;
            } while (hole > base && less(hole, hole - size, by));
            continue;
        }
        hi_move(held, hole, size);
        do {
            hi_move(hole, hole - size, size);
            hole -= size;
        } while (hole > base && less(held, hole - size, by));
        hi_move(hole, held, size);
    }
}

#endif
