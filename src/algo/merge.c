/* SPDX-License-Identifier: MIT
 *
 * merge.c: merging.
 *
 * Which of two elements comes first nobody can guess, and a wrong guess of the
 * processor costs more than a comparison; so nothing branches on it.  What is
 * left is a chain: the next comparison needs the outcome of this one.  Therefore
 * a merge works at both ends at once, on two chains that do not need each other.
 * That the ends keep a distance is a matter of lengths, not of comparisons: with
 * a compare that contradicts itself the result is still a permutation.
 *
 * In parallel, the middle of the output is found in both inputs by bisection,
 * and the halves are merges of their own.
 */
#include "algo/merge.h"

#include "platform/platform.h"

#include <heist/fork.h>

enum {
    GRAIN_TIME = 10000, /* ns: thousands of forks */
    GRAIN_MOST = 4096,
    TIMED = 8,        /* comparisons that tell how long one takes, ... */
    TIMED_ROUNDS = 3, /* ... at best */
    FAR = 1 << 14,    /* elements that point to more than a cache holds */
    AHEAD = 6 /* elements between what is fetched and what is compared */
};

/* --- one after the other ----------------------------------------------------- */

/* b if so, else a: compilers make it a conditional move. */
HEIST_INLINE const char *pick(bool b_it_is, const char *a, const char *b)
{
    return b_it_is ? b : a;
}

/* size or nothing. */
HEIST_INLINE size_t step_if(bool it_is, size_t size)
{
    return it_is * size;
}

/* The element at p will be compared soon: have what it points to fetched. */
HEIST_INLINE void fetch(const char *p)
{
    const void *target;
    memcpy(&target, p, sizeof target);
    __builtin_prefetch(target);
}

/* Two of a run are left at least; the front one is the next to go. */
HEIST_INLINE void fetch_after(const char *front, const char *end, size_t size)
{
    bool many = (size_t)(end - front) > AHEAD * size;
    fetch(many ? front + AHEAD * size : front);
}

/* The same for the one before `end`. */
HEIST_INLINE void fetch_before(const char *end, const char *front, size_t size)
{
    bool many = (size_t)(end - front) > AHEAD * size;
    fetch(many ? end - AHEAD * size : front);
}

/* far: the elements are pointers, and what they point to is not in a cache. */
HEIST_INLINE void merge(const hi_by *by, size_t size, hi_less_fn *less,
                        bool far, char *out, const char *a, size_t a_n,
                        const char *b, size_t b_n)
{
    const char *a_end = a + a_n * size, *b_end = b + b_n * size;
    char *out_end = out + (a_n + b_n) * size;
    while ((size_t)(a_end - a) >= 2 * size && (size_t)(b_end - b) >= 2 * size) {
        bool front_b = less(b, a, by);
        const char *from = pick(front_b, a, b);
        if (far) fetch_after(from, pick(front_b, a_end, b_end), size);
        hi_move(out, from, size);
        out += size;
        a += step_if(!front_b, size);
        b += step_if(front_b, size);
        bool back_a = less(b_end - size, a_end - size, by);
        from = pick(back_a, b_end, a_end);
        if (far) fetch_before(from, pick(back_a, b, a), size);
        out_end -= size;
        hi_move(out_end, from - size, size);
        a_end -= step_if(back_a, size);
        b_end -= step_if(!back_a, size);
    }
    while (a < a_end && b < b_end) {
        bool front_b = less(b, a, by);
        hi_move(out, pick(front_b, a, b), size);
        out += size;
        a += step_if(!front_b, size);
        b += step_if(front_b, size);
    }
    memcpy(out, a, (size_t)(a_end - a));
    memcpy(out + (a_end - a), b, (size_t)(b_end - b));
}

/*
 * Two pairs are sorted, then the lesser of the first and the greater of the last
 * are known, and one comparison orders the two between them.  Of those, the one
 * that was further to the left is `x`.
 */
HEIST_INLINE void sort_four(const hi_by *by, size_t size, hi_less_fn *less,
                            char *out, const char *in)
{
    const char *second = in + 2 * size;
    bool turn = less(in + size, in, by);
    bool turn_second = less(second + size, second, by);
    const char *a = in + step_if(turn, size);
    const char *b = in + step_if(!turn, size);
    const char *c = second + step_if(turn_second, size);
    const char *d = second + step_if(!turn_second, size);
    bool c_first = less(c, a, by), b_last = less(d, b, by);
    const char *x = pick(c_first, pick(b_last, b, c), a);
    const char *y = pick(b_last, pick(c_first, c, b), d);
    bool turn_middle = less(y, x, by);
    hi_move(out, pick(c_first, a, c), size);
    hi_move(out + size, pick(turn_middle, x, y), size);
    hi_move(out + 2 * size, pick(turn_middle, y, x), size);
    hi_move(out + 3 * size, pick(b_last, d, b), size);
}

/* Merges neighbours of n elements each. */
HEIST_INLINE void merge_block(const hi_by *by, size_t size, hi_less_fn *less,
                              char *out, const char *in, size_t n)
{
    for (size_t i = 0; i < HI_BLOCK; i += 2 * n)
        merge(by, size, less, false, out + i * size, in + i * size, n,
              in + (i + n) * size, n);
}

HEIST_INLINE void sort_block(const hi_by *by, size_t size, hi_less_fn *less,
                             char *base, char *scratch)
{
    for (size_t i = 0; i < HI_BLOCK; i += 4)
        sort_four(by, size, less, scratch + i * size, base + i * size);
    merge_block(by, size, less, base, scratch, 4);
    merge_block(by, size, less, scratch, base, 8);
    merge_block(by, size, less, base, scratch, 16);
}

HEIST_INLINE size_t run(const hi_by *by, size_t size, hi_less_fn *less,
                        const char *p, size_t n, bool *down)
{
    size_t length = 2;
    *down = less(p + size, p, by);
    for (p += size; length < n; length++, p += size)
        if (less(p + size, p, by) != *down) break;
    return length;
}

/* --- kinds ------------------------------------------------------------------- */

HEIST_INLINE const void *target(const void *p)
{
    const void *at;
    memcpy(&at, p, sizeof at);
    return at;
}

HEIST_INLINE bool less_pointed(const void *a, const void *b, const hi_by *by)
{
    return by->compare(target(a), target(b), by->arg) < 0;
}

#define NAME(what) what##_4
#define SIZE(by)   4
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_8
#define SIZE(by)   8
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_16
#define SIZE(by)   16
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_24
#define SIZE(by)   24
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_32
#define SIZE(by)   32
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_any
#define SIZE(by)   (by)->size
#define LESS       hi_less_call
#include "algo/merge_kind.h"

#define NAME(what) what##_pointers
#define SIZE(by)   sizeof(void *)
#define LESS       less_pointed
#include "algo/merge_kind.h"

/* Elements of 8 bytes that look like pointers. */
static void merge_8_far(const hi_by *by, char *out, const char *a, size_t a_n,
                        const char *b, size_t b_n)
{
    merge(by, 8, hi_less_call, true, out, a, a_n, b, b_n);
}

static void merge_pointers_far(const hi_by *by, char *out, const char *a,
                               size_t a_n, const char *b, size_t b_n)
{
    merge(by, sizeof(void *), less_pointed, true, out, a, a_n, b, b_n);
}

/* Numbers and pairs, without a call per comparison.  Which they are is asked
 * once per piece. */
static void merge_known(const hi_by *by, char *out, const char *a, size_t a_n,
                        const char *b, size_t b_n)
{
#define MERGE(size, less) merge(by, size, less, false, out, a, a_n, b, b_n)
    switch (hi_order_of(by->compare, by->size)) {
    case HI_BY_U32: MERGE(4, hi_less_u32); break;
    case HI_BY_I32: MERGE(4, hi_less_i32); break;
    case HI_BY_F32: MERGE(4, hi_less_f32); break;
    case HI_BY_U64: MERGE(8, hi_less_u64); break;
    case HI_BY_I64: MERGE(8, hi_less_i64); break;
    case HI_BY_F64: MERGE(8, hi_less_f64); break;
    case HI_BY_PAIR: MERGE(16, hi_less_pair); break;
    case HI_BY_CALL: MERGE(by->size, hi_less_call); break;
    }
#undef MERGE
}

static hi_kind kind_by_size(hi_by by)
{
    switch (by.size) {
    case 4: return kind_4(by);
    case 8: return kind_8(by);
    case 16: return kind_16(by);
    case 24: return kind_24(by);
    case 32: return kind_32(by);
    default: return kind_any(by);
    }
}

hi_kind hi_kind_of(size_t size, heist_compare_fn *compare, void *arg)
{
    hi_kind k = kind_by_size((hi_by){compare, arg, size});
    if (hi_order_of(compare, size) != HI_BY_CALL)
        k.merge = k.merge_far = merge_known;
    return k;
}

hi_kind hi_kind_of_pointers(heist_compare_fn *compare, void *arg)
{
    hi_kind k = kind_pointers((hi_by){compare, arg, sizeof(void *)});
    k.merge_far = merge_pointers_far;
    return k;
}

static bool is_near(uint64_t word, uintptr_t address)
{
    return word - address + (UINT64_C(1) << 37) < UINT64_C(1) << 38;
}

/* Numbers of 8 bytes that are near the array or the program may be addresses:
 * what is there is worth fetching, and if nothing is, only time is lost. */
static bool may_be_pointers(const hi_kind *k, const char *base, size_t n)
{
    for (size_t i = 0; i < n; i += n / TIMED + 1) {
        uint64_t word = hi_get_u64(base + i * 8);
        if (word <= UINT32_MAX) return false;
        if (!is_near(word, (uintptr_t)base) &&
            !is_near(word, (uintptr_t)k->by.compare))
            return false;
    }
    return true;
}

void hi_kind_fit(hi_kind *k, const char *base, size_t n)
{
    size_t count = n - 1 < TIMED ? n - 1 : TIMED, size = k->by.size;
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < TIMED_ROUNDS; round++) {
        uint64_t start = hi_ticks();
        for (size_t i = 0; i < count; i++)
            k->less(base + i * size, base + (i + 1) * size, &k->by);
        uint64_t took = hi_ticks() - start;
        if (took < least) least = took;
    }
    uint64_t grain = GRAIN_TIME * TIMED / (least + TIMED);
    if (grain < HI_BLOCK) grain = HI_BLOCK;
    if (grain < k->grain) k->grain = (size_t)grain;
    if (k->merge == merge_8 && n > FAR && may_be_pointers(k, base, n))
        k->merge_far = merge_8_far;
}

/* --- in parallel ------------------------------------------------------------- */

/* A merge that is still to be done. */
typedef struct todo {
    hi_merge_fn *merge;
    char *out;
    const char *a, *b;
    size_t a_n, b_n;
} todo;

/* How many of the first n elements of the output are from a. */
static size_t split(const hi_kind *k, const todo *t, size_t n)
{
    size_t low = n > t->b_n ? n - t->b_n : 0;
    size_t high = n < t->a_n ? n : t->a_n;
    while (low < high) {
        size_t i = low + (high - low) / 2;
        const char *a = t->a + i * k->by.size;
        const char *b = t->b + (n - 1 - i) * k->by.size;
        if (k->less(b, a, &k->by))
            high = i;
        else
            low = i + 1;
    }
    return low;
}

/* What need not be merged is copied. */
static void merge_piece(const hi_kind *k, const todo *t)
{
    size_t size = k->by.size, a_bytes = t->a_n * size, b_bytes = t->b_n * size;
    if (!t->a_n || !t->b_n || !k->less(t->b, t->a + a_bytes - size, &k->by)) {
        memcpy(t->out, t->a, a_bytes);
        memcpy(t->out + a_bytes, t->b, b_bytes);
    } else if (k->less(t->b + b_bytes - size, t->a, &k->by)) {
        memcpy(t->out, t->b, b_bytes);
        memcpy(t->out + b_bytes, t->a, a_bytes);
    } else {
        t->merge(&k->by, t->out, t->a, t->a_n, t->b, t->b_n);
    }
}

static void merge_halves(heist_ctx c, const hi_kind *k, const todo *t);

static void merge_right(heist_ctx c, heist_frame *f)
{
    merge_halves(c, f->arg[0].cp, f->arg[1].cp);
}

static void merge_halves(heist_ctx c, const hi_kind *k, const todo *t)
{
    if (t->a_n + t->b_n <= k->grain) {
        merge_piece(k, t);
        return;
    }
    size_t size = k->by.size, half = (t->a_n + t->b_n) / 2;
    size_t a_n = split(k, t, half), b_n = half - a_n;
    todo left = {t->merge, t->out, t->a, t->b, a_n, b_n};
    todo right = {t->merge,          t->out + half * size, t->a + a_n * size,
                  t->b + b_n * size, t->a_n - a_n,         t->b_n - b_n};
    heist_slot(c)->arg[0].cp = k;
    heist_slot(c)->arg[1].cp = &right;
    merge_halves(heist_fork(c, merge_right), k, &left);
    if (heist_join(c)) merge_halves(c, k, &right);
}

void hi_merge(heist_ctx c, const hi_kind *k, char *out, const char *a,
              size_t a_n, const char *b, size_t b_n)
{
    hi_merge_fn *fn = a_n + b_n > FAR ? k->merge_far : k->merge;
    if (a_n + b_n <= k->grain)
        fn(&k->by, out, a, a_n, b, b_n);
    else
        merge_halves(c, k, &(todo){fn, out, a, b, a_n, b_n});
}

void heist_merge(heist_ctx c, void *out, const void *a, size_t a_n,
                 const void *b, size_t b_n, size_t size,
                 heist_compare_fn *compare, void *arg)
{
    if (!a_n || !b_n) {
        heist_copy(c, out, a_n ? a : b, a_n + b_n, size);
        return;
    }
    hi_kind k = hi_kind_of(size, compare, arg);
    if (a_n + b_n > HI_BLOCK) hi_kind_fit(&k, a, a_n);
    hi_merge(c, &k, out, a, a_n, b, b_n);
}
