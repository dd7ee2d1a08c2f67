/* SPDX-License-Identifier: MIT
 *
 * keys.c: sorting by keys that are made once.
 *
 * The keys are sorted with the indices of their elements, which are then moved
 * once.  Keys that are numbers are sorted as numbers.
 */
#include "algo/loop.h"
#include "algo/permute.h"
#include "algo/rank.h"
#include "algo/stable.h"
#include "fork/scratch.h"

#include <errno.h>

enum {
    KEY_MOST = 32 /* bytes: longer keys stay where they are */
};

/* Where the keys come from, and where they go. */
typedef struct making {
    hi_loop loop;
    const char *base;
    size_t size;
    heist_key_fn *key_of; /* or */
    heist_map_fn *make;
    hi_order order; /* of the keys that are made */
    void *arg;
    char *out;
    size_t key_size, stride; /* of a key, and of a key with its index */
    HEIST_ATOMIC(uint64_t) different; /* bits in which numbers differ */
} making;

/* --- numbers --------------------------------------------------------------------- */

static uint64_t number_of(const making *m, const char *element, size_t index)
{
    uint64_t bits = 0;
    if (m->key_of) return m->key_of(element, m->arg);
    m->make(&bits, element, index, m->arg);
    if (m->key_size == 8) return hi_key_64(bits, m->order);
    return hi_key_32(hi_get_u32(&bits), m->order);
}

/* All but the first, and how they differ from it. */
static void make_numbers(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    making *m = (making *)l;
    uint64_t *number = (uint64_t *)(void *)m->out;
    uint64_t first = number[0], different = 0;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        number[i] = number_of(m, m->base + i * m->size, i);
        different |= number[i] ^ first;
    }
    /* relaxed: counter (joins order the last look at it) */
    if (different & ~heist_load_relaxed(&m->different))
        heist_or_relaxed(&m->different, different); /* relaxed: counter */
}

/* Where the elements go, and that they do. */
static int sort_by_numbers(heist_ctx c, void *base, size_t n, making *m)
{
    uint64_t *number = hi_scratch_get(c, n, 2 * sizeof *number);
    int rc = 0;
    if (!number) return -ENOMEM;
    m->out = (char *)number;
    m->loop.piece = make_numbers;
    heist_init(&m->different, UINT64_C(0));
    number[0] = number_of(m, m->base, 0);
    hi_loop_run(c, &m->loop, 1, n);
    /* relaxed: counter (joined) */
    uint64_t different = heist_load_relaxed(&m->different);
    if (!heist_is_sorted(c, number, n, sizeof *number, heist_by_u64, NULL)) {
        hi_rank(c, number, n, different, number + n);
        rc = hi_permute(c, base, n, m->size, number + n);
    }
    hi_scratch_put(c, number, n, 2 * sizeof *number);
    return rc;
}

int heist_sort_by_key(heist_ctx c, void *base, size_t n, size_t size,
                      heist_key_fn *key, void *arg)
{
    making m = {.base = base, .size = size, .key_of = key, .arg = arg};
    return n < 2 ? 0 : sort_by_numbers(c, base, n, &m);
}

/* --- keys of any kind -------------------------------------------------------------- */

static void make_keys(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const making *m = (making *)l;
    bool indexed = m->stride > m->key_size;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        char *key = m->out + i * m->stride;
        uint64_t index = i;
        m->make(key, m->base + i * m->size, i, m->arg);
        if (indexed)
            memcpy(key + m->stride - sizeof index, &index, sizeof index);
    }
}

/* Keys and indices side by side are sorted. */
static int sort_by_short(heist_ctx c, void *base, size_t n, const making *m,
                         const hi_by *by)
{
    char *scratch = hi_scratch_get(c, n, m->stride);
    if (!scratch) return -ENOMEM;
    hi_kind k = hi_kind_of(by->size, by->compare, by->arg);
    int rc = 0;
    if (hi_sort_runs(c, &k, m->out, scratch, n)) {
        const char *word = m->out + m->stride - sizeof(uint64_t);
        hi_places places = {word, m->stride, 0, 1};
        rc = hi_permute_by(c, base, n, m->size, &places, scratch);
    }
    hi_scratch_put(c, scratch, n, m->stride);
    return rc;
}

/* A key with its index: both are aligned if the key size tells the truth. */
static size_t stride_of(size_t key_size)
{
    size_t align = key_size & (0 - key_size);
    if (key_size > KEY_MOST) return key_size;
    if (align < sizeof(uint64_t)) align = sizeof(uint64_t);
    return (key_size + sizeof(uint64_t) + align - 1) & ~(align - 1);
}

int heist_sort_by_cached_key(heist_ctx c, void *base, size_t n, size_t size,
                             size_t key_size, heist_map_fn *key,
                             heist_compare_fn *compare, void *arg)
{
    making m = {.base = base, .size = size, .make = key, .arg = arg};
    if (n < 2) return 0;
    m.key_size = key_size;
    m.order = hi_order_of(compare, key_size);
    if (m.order != HI_BY_CALL && m.order != HI_BY_PAIR)
        return sort_by_numbers(c, base, n, &m);
    m.stride = stride_of(key_size);
    m.out = hi_scratch_get(c, n, m.stride);
    if (!m.out) return -ENOMEM;
    m.loop.piece = make_keys;
    hi_loop_run(c, &m.loop, 0, n);
    hi_by by = {compare, arg, m.stride};
    int rc = key_size > KEY_MOST
                 ? hi_sort_by_address(c, base, n, size, m.out, &by)
                 : sort_by_short(c, base, n, &m, &by);
    hi_scratch_put(c, m.out, n, m.stride);
    return rc;
}
