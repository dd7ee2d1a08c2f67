/* SPDX-License-Identifier: MIT
 *
 * order.c: the comparisons that are known.
 */
#include "algo/order.h"

#include "algo/loop.h"

static int compare_keys_32(const void *a, const void *b, hi_order order)
{
    uint32_t x = hi_key_32(hi_get_u32(a), order);
    uint32_t y = hi_key_32(hi_get_u32(b), order);
    return (x > y) - (x < y);
}

static int compare_keys_64(const void *a, const void *b, hi_order order)
{
    uint64_t x = hi_key_64(hi_get_u64(a), order);
    uint64_t y = hi_key_64(hi_get_u64(b), order);
    return (x > y) - (x < y);
}

int heist_by_i32(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_32(a, b, HI_BY_I32);
}

int heist_by_u32(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_32(a, b, HI_BY_U32);
}

int heist_by_i64(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_64(a, b, HI_BY_I64);
}

int heist_by_u64(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_64(a, b, HI_BY_U64);
}

int heist_by_f32(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_32(a, b, HI_BY_F32);
}

int heist_by_f64(const void *a, const void *b, void *arg)
{
    (void)arg;
    return compare_keys_64(a, b, HI_BY_F64);
}

int heist_by_pair(const void *a, const void *b, void *arg)
{
    (void)arg;
    heist_pair x = hi_get_pair(a), y = hi_get_pair(b);
    return hi_pair_less(y, x) - hi_pair_less(x, y);
}

hi_order hi_order_of(heist_compare_fn *compare, size_t size)
{
    if (size == 4 && compare == heist_by_u32) return HI_BY_U32;
    if (size == 4 && compare == heist_by_i32) return HI_BY_I32;
    if (size == 4 && compare == heist_by_f32) return HI_BY_F32;
    if (size == 8 && compare == heist_by_u64) return HI_BY_U64;
    if (size == 8 && compare == heist_by_i64) return HI_BY_I64;
    if (size == 8 && compare == heist_by_f64) return HI_BY_F64;
    if (size == 16 && compare == heist_by_pair) return HI_BY_PAIR;
    return HI_BY_CALL;
}

/* --- keys -------------------------------------------------------------------- */

enum {
    PIECE = 1 << 14 /* numbers that one worker turns round */
};

typedef struct turn {
    hi_loop loop;
    char *base;
    hi_order order;
} turn;

HEIST_INLINE void keys_32(turn *t, size_t begin, size_t end, hi_order order)
{
    for (size_t i = begin; i < end; i++) {
        uint32_t key = hi_key_32(hi_get_u32(t->base + i * 4), order);
        memcpy(t->base + i * 4, &key, 4);
    }
}

HEIST_INLINE void keys_64(turn *t, size_t begin, size_t end, hi_order order)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t key = hi_key_64(hi_get_u64(t->base + i * 8), order);
        memcpy(t->base + i * 8, &key, 8);
    }
}

static void to_keys(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    turn *t = heist_container(l, turn, loop);
    (void)c;
    if (t->order == HI_BY_I32) keys_32(t, begin, end, HI_BY_I32);
    if (t->order == HI_BY_F32) keys_32(t, begin, end, HI_BY_F32);
    if (t->order == HI_BY_I64) keys_64(t, begin, end, HI_BY_I64);
    if (t->order == HI_BY_F64) keys_64(t, begin, end, HI_BY_F64);
}

HEIST_INLINE void bits_32(turn *t, size_t begin, size_t end, hi_order order)
{
    for (size_t i = begin; i < end; i++) {
        uint32_t bits = hi_bits_32(hi_get_u32(t->base + i * 4), order);
        memcpy(t->base + i * 4, &bits, 4);
    }
}

HEIST_INLINE void bits_64(turn *t, size_t begin, size_t end, hi_order order)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t bits = hi_bits_64(hi_get_u64(t->base + i * 8), order);
        memcpy(t->base + i * 8, &bits, 8);
    }
}

static void from_keys(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    turn *t = heist_container(l, turn, loop);
    (void)c;
    if (t->order == HI_BY_I32) bits_32(t, begin, end, HI_BY_I32);
    if (t->order == HI_BY_F32) bits_32(t, begin, end, HI_BY_F32);
    if (t->order == HI_BY_I64) bits_64(t, begin, end, HI_BY_I64);
    if (t->order == HI_BY_F64) bits_64(t, begin, end, HI_BY_F64);
}

static bool has_keys(hi_order order)
{
    return order == HI_BY_I32 || order == HI_BY_F32 || order == HI_BY_I64 ||
           order == HI_BY_F64;
}

void hi_to_keys(heist_ctx c, void *base, size_t n, hi_order order)
{
    turn t = {{.piece = to_keys, .grain = PIECE}, base, order};
    if (has_keys(order)) hi_loop_run(c, &t.loop, 0, n);
}

void hi_from_keys(heist_ctx c, void *base, size_t n, hi_order order)
{
    turn t = {{.piece = from_keys, .grain = PIECE}, base, order};
    if (has_keys(order)) hi_loop_run(c, &t.loop, 0, n);
}
