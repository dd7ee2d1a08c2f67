/* SPDX-License-Identifier: MIT */
#ifndef HEIST_ALGO_H
#define HEIST_ALGO_H

#include <heist/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parallel algorithms: the serial call with a context in front.
 *
 *     static void brighten(heist_ctx c, size_t begin, size_t end, void *arg)
 *     {
 *         uint8_t *pixel = arg;
 *         for (size_t i = begin; i < end; i++) pixel[i] = pixel[i] / 2 + 128;
 *     }
 *
 *     heist_for(c, 0, n, brighten, pixel);
 *     double total = heist_sum_f64(c, x, n);
 *     heist_sort_u64(c, keys, n);
 *     ptrdiff_t kept = heist_filter(c, out, in, n, sizeof *in, alive, NULL);
 *
 * The context is that of the calling parallel function (<heist/fork.h>); a
 * thread outside enters by heist_run.  Work is split while others ask for it;
 * small inputs stay where they are.  Every function returns when all of its
 * work is done.  Arrays have n elements of `size` bytes each, of any alignment
 * up to 64 that the element type allows; n may be 0, size not.  Functions of
 * yours run at the same time on several threads; those that get a context may
 * fork.
 *
 * From (all of them): a parallel function, with its own context.
 * Memory: an algorithm that uses some says so.  Without it most are only slower;
 * one that can fail returns -ENOMEM, and the input is as it was.
 */

/* No such element. */
#define HEIST_NONE SIZE_MAX

/* Iterations begin .. end - 1: write the loop yourself, it vectorizes. */
typedef void heist_range_fn(heist_ctx c, size_t begin, size_t end, void *arg);
/* The same; false: no more iterations are needed. */
typedef bool heist_while_fn(heist_ctx c, size_t begin, size_t end, void *arg);
/* The same; negative errno: it has failed. */
typedef int heist_try_fn(heist_ctx c, size_t begin, size_t end, void *arg);

/* Below zero, zero, above zero: a before b, equal, after. */
typedef int heist_compare_fn(const void *a, const void *b, void *arg);
typedef bool heist_equal_fn(const void *a, const void *b, void *arg);
typedef bool heist_test_fn(const void *element, void *arg);
/* Folds `right` into `left`, which comes before it.  Associative. */
typedef void heist_combine_fn(void *left, const void *right, void *arg);
/* Folds iterations begin .. end - 1 into `sum`. */
typedef void heist_fold_fn(heist_ctx c, size_t begin, size_t end, void *sum,
                           void *arg);
/* The same; negative errno: it has failed. */
typedef int heist_try_fold_fn(heist_ctx c, size_t begin, size_t end, void *sum,
                              void *arg);
/* Makes out from in, the element at index. */
typedef void heist_map_fn(void *out, const void *in, size_t index, void *arg);
typedef void heist_zip_fn(void *out, const void *a, const void *b, size_t index,
                          void *arg);
typedef void heist_make_fn(void *out, size_t index, void *arg);
/* A key that sorts as the element does. */
typedef uint64_t heist_key_fn(const void *element, void *arg);

/* --- loops ---------------------------------------------------------------- */

/* Runs body over the range, in pieces. */
HEIST_API void heist_for(heist_ctx c, size_t begin, size_t end,
                         heist_range_fn *body, void *arg);

/* The same with pieces of at most `grain` iterations, and of at least half of
 * that unless the range is shorter.  0 is 1. */
HEIST_API void heist_for_grain(heist_ctx c, size_t begin, size_t end,
                               size_t grain, heist_range_fn *body, void *arg);

/* A tile of a plane. */
typedef struct heist_tile {
    size_t row, row_end, column, column_end;
} heist_tile;

typedef void heist_tile_fn(heist_ctx c, heist_tile tile, void *arg);

/* Runs body over a plane in tiles of at most that size, and at least half of it
 * on each side unless the plane is smaller; 0: the clock chooses. */
HEIST_API void heist_for_2d(heist_ctx c, size_t rows, size_t columns,
                            size_t tile_rows, size_t tile_columns,
                            heist_tile_fn *body, void *arg);

/* Runs body until one of its calls returns false: no piece is begun after that
 * was seen.  True: all iterations were run. */
HEIST_API bool heist_for_while(heist_ctx c, size_t begin, size_t end,
                               heist_while_fn *body, void *arg);

/*
 * Runs body until a piece fails; what runs then is finished, nothing else is
 * begun but pieces before the failed one.
 *
 * Returns: 0, or the error of the failed piece of lowest index: the one that a
 *          serial loop with the same pieces would have met first.
 */
HEIST_API int heist_try_for(heist_ctx c, size_t begin, size_t end,
                            heist_try_fn *body, void *arg);

/* The same with pieces as those of heist_for_grain: for bodies that have
 * something to prepare.  What is begun before a failure is seen may be far
 * behind it. */
HEIST_API int heist_try_for_grain(heist_ctx c, size_t begin, size_t end,
                                  size_t grain, heist_try_fn *body, void *arg);

/* --- reductions ----------------------------------------------------------- */

enum {
    /* The tree of combinations depends on the range only, so that rounding is
     * the same on one worker and on seventy. */
    HEIST_FIXED_TREE = 1
};

/*
 * Folds a range into *result, which holds the identity before.  fold adds one
 * piece to what it finds in sum, combine puts two neighbours together, in serial
 * order; that is only done where somebody else has taken a part, or always with
 * HEIST_FIXED_TREE.
 *
 * Memory:  a copy of the identity and a value for each part that somebody takes
 *          (with HEIST_FIXED_TREE, for each level of the tree): on the stack and
 *          aligned to 64 bytes if they have up to 256, else allocated.
 * Returns: 0, or -ENOMEM and *result is as it was.
 */
HEIST_API int heist_fold(heist_ctx c, size_t begin, size_t end, void *result,
                         size_t size, heist_fold_fn *fold,
                         heist_combine_fn *combine, void *arg, int flags);

/* The same with a fold that may fail: the error of the failed piece of lowest
 * index, as heist_try_for; *result is then of no use.  Pieces of a fixed tree are
 * long, so that a failure ends it late. */
HEIST_API int heist_try_fold(heist_ctx c, size_t begin, size_t end,
                             void *result, size_t size, heist_try_fold_fn *fold,
                             heist_combine_fn *combine, void *arg, int flags);

/* Folds the elements of an array into *result, which holds the identity (or
 * what comes before) at first.  Returns 0; with HEIST_FIXED_TREE and elements of
 * more than 256 bytes, -ENOMEM and *result is as it was. */
HEIST_API int heist_reduce(heist_ctx c, void *result, const void *base,
                           size_t n, size_t size, heist_combine_fn *combine,
                           void *arg, int flags);

/* Sums; integers wrap, floats are added in a fixed tree of blocks, so that the
 * result does not depend on who did what. */
HEIST_API int64_t heist_sum_i32(heist_ctx c, const int32_t *base, size_t n);
HEIST_API uint64_t heist_sum_u32(heist_ctx c, const uint32_t *base, size_t n);
HEIST_API int64_t heist_sum_i64(heist_ctx c, const int64_t *base, size_t n);
HEIST_API uint64_t heist_sum_u64(heist_ctx c, const uint64_t *base, size_t n);
HEIST_API double heist_sum_f32(heist_ctx c, const float *base, size_t n);
HEIST_API double heist_sum_f64(heist_ctx c, const double *base, size_t n);

/* The smallest and the largest element; NaNs are passed over.  Of nothing (or
 * of NaNs only): the largest, or the smallest, number of the type, for floats
 * the infinities. */
HEIST_API int32_t heist_min_i32(heist_ctx c, const int32_t *base, size_t n);
HEIST_API uint32_t heist_min_u32(heist_ctx c, const uint32_t *base, size_t n);
HEIST_API int64_t heist_min_i64(heist_ctx c, const int64_t *base, size_t n);
HEIST_API uint64_t heist_min_u64(heist_ctx c, const uint64_t *base, size_t n);
HEIST_API float heist_min_f32(heist_ctx c, const float *base, size_t n);
HEIST_API double heist_min_f64(heist_ctx c, const double *base, size_t n);
HEIST_API int32_t heist_max_i32(heist_ctx c, const int32_t *base, size_t n);
HEIST_API uint32_t heist_max_u32(heist_ctx c, const uint32_t *base, size_t n);
HEIST_API int64_t heist_max_i64(heist_ctx c, const int64_t *base, size_t n);
HEIST_API uint64_t heist_max_u64(heist_ctx c, const uint64_t *base, size_t n);
HEIST_API float heist_max_f32(heist_ctx c, const float *base, size_t n);
HEIST_API double heist_max_f64(heist_ctx c, const double *base, size_t n);

/* The index of the first smallest or largest element, or HEIST_NONE.  NaNs are
 * passed over; of an array of NaNs it is the first. */
HEIST_API size_t heist_argmin_i32(heist_ctx c, const int32_t *base, size_t n);
HEIST_API size_t heist_argmin_u32(heist_ctx c, const uint32_t *base, size_t n);
HEIST_API size_t heist_argmin_i64(heist_ctx c, const int64_t *base, size_t n);
HEIST_API size_t heist_argmin_u64(heist_ctx c, const uint64_t *base, size_t n);
HEIST_API size_t heist_argmin_f32(heist_ctx c, const float *base, size_t n);
HEIST_API size_t heist_argmin_f64(heist_ctx c, const double *base, size_t n);
HEIST_API size_t heist_argmax_i32(heist_ctx c, const int32_t *base, size_t n);
HEIST_API size_t heist_argmax_u32(heist_ctx c, const uint32_t *base, size_t n);
HEIST_API size_t heist_argmax_i64(heist_ctx c, const int64_t *base, size_t n);
HEIST_API size_t heist_argmax_u64(heist_ctx c, const uint64_t *base, size_t n);
HEIST_API size_t heist_argmax_f32(heist_ctx c, const float *base, size_t n);
HEIST_API size_t heist_argmax_f64(heist_ctx c, const double *base, size_t n);

/* The same by a comparison (by heist_by_f64 NaNs are the largest), and by a key
 * that is made once per element. */
HEIST_API size_t heist_argmin(heist_ctx c, const void *base, size_t n,
                              size_t size, heist_compare_fn *compare,
                              void *arg);
HEIST_API size_t heist_argmax(heist_ctx c, const void *base, size_t n,
                              size_t size, heist_compare_fn *compare,
                              void *arg);
HEIST_API size_t heist_argmin_by_key(heist_ctx c, const void *base, size_t n,
                                     size_t size, heist_key_fn *key, void *arg);
HEIST_API size_t heist_argmax_by_key(heist_ctx c, const void *base, size_t n,
                                     size_t size, heist_key_fn *key, void *arg);

/* How many elements pass the test; whether any, all, none do (none is looked
 * at after the answer is known). */
HEIST_API size_t heist_count(heist_ctx c, const void *base, size_t n,
                             size_t size, heist_test_fn *test, void *arg);
HEIST_API bool heist_any(heist_ctx c, const void *base, size_t n, size_t size,
                         heist_test_fn *test, void *arg);
HEIST_API bool heist_all(heist_ctx c, const void *base, size_t n, size_t size,
                         heist_test_fn *test, void *arg);
HEIST_API bool heist_none(heist_ctx c, const void *base, size_t n, size_t size,
                          heist_test_fn *test, void *arg);

/* --- search --------------------------------------------------------------- */

/* The index of an element that passes the test, of the first one, of the last
 * one; or HEIST_NONE.  Parts that cannot matter any more are not looked at. */
HEIST_API size_t heist_find_any(heist_ctx c, const void *base, size_t n,
                                size_t size, heist_test_fn *test, void *arg);
HEIST_API size_t heist_find_first(heist_ctx c, const void *base, size_t n,
                                  size_t size, heist_test_fn *test, void *arg);
HEIST_API size_t heist_find_last(heist_ctx c, const void *base, size_t n,
                                 size_t size, heist_test_fn *test, void *arg);

/* The same for ranges: `find` searches a piece, begin .. end - 1, and returns the
 * first index there (any, the last) that is wanted, or HEIST_NONE. */
typedef size_t heist_find_fn(heist_ctx c, size_t begin, size_t end, void *arg);
HEIST_API size_t heist_find_any_in(heist_ctx c, size_t begin, size_t end,
                                   heist_find_fn *find, void *arg);
HEIST_API size_t heist_find_first_in(heist_ctx c, size_t begin, size_t end,
                                     heist_find_fn *find, void *arg);
HEIST_API size_t heist_find_last_in(heist_ctx c, size_t begin, size_t end,
                                    heist_find_fn *find, void *arg);

/* --- transforms ----------------------------------------------------------- */

/* out[i] from in[i]; out may be in if the elements have the same size. */
HEIST_API void heist_map(heist_ctx c, void *out, size_t out_size,
                         const void *in, size_t in_size, size_t n,
                         heist_map_fn *map, void *arg);
/* out[i] from a[i] and b[i]; out may be one of them if the elements have the
 * same size. */
HEIST_API void heist_zip(heist_ctx c, void *out, size_t out_size, const void *a,
                         size_t a_size, const void *b, size_t b_size, size_t n,
                         heist_zip_fn *zip, void *arg);
/* out[i] from i. */
HEIST_API void heist_generate(heist_ctx c, void *out, size_t n, size_t size,
                              heist_make_fn *make, void *arg);
HEIST_API void heist_fill(heist_ctx c, void *out, size_t n, size_t size,
                          const void *value);
/* out and in do not overlap. */
HEIST_API void heist_copy(heist_ctx c, void *out, const void *in, size_t n,
                          size_t size);
/* out[i] = in[index[i]]; out[index[i]] = in[i], the indices all different.  out
 * overlaps nothing. */
HEIST_API void heist_gather(heist_ctx c, void *out, const void *in,
                            const size_t *index, size_t n, size_t size);
HEIST_API void heist_scatter(heist_ctx c, void *out, const void *in,
                             const size_t *index, size_t n, size_t size);

/* One of several arrays that are put behind one another. */
typedef struct heist_part {
    const void *base;
    size_t n;
} heist_part;

/* Puts the parts behind one another into out and, if offsets is not NULL, the
 * place of each and the total into it (parts + 1 of them).  Memory: a word per
 * part unless offsets are given, if it can be had.  Returns the total. */
HEIST_API size_t heist_flatten(heist_ctx c, void *out, const heist_part *part,
                               size_t parts, size_t size, size_t *offsets);

/*
 * The elements that pass the test, in their order.  out has room for n and does
 * not overlap in, or is in.
 *
 * Memory:  seven blocks of 128 KiB (of one element, if that is longer) per
 *          worker, more while one of them is held up, in all at most sixteen times
 *          that and a ninth of the input; 256 bytes per block of the input; if it
 *          can be had.
 * Returns: how many they are (at most PTRDIFF_MAX); it does not fail.
 */
HEIST_API ptrdiff_t heist_filter(heist_ctx c, void *out, const void *in,
                                 size_t n, size_t size, heist_test_fn *test,
                                 void *arg);

/* Copies those of n elements that pass to out, which has room for n, in their
 * order, and returns how many they are.  If out is in, out is not behind in and
 * nothing may be written that has not been read. */
typedef size_t heist_pack_fn(void *out, const void *in, size_t n, void *arg);

/*
 * The same with a loop of yours, for tests of a few instructions:
 *
 *     for (size_t i = 0; i < n; i++) to[kept] = from[i], kept += from[i] > 9;
 */
HEIST_API ptrdiff_t heist_filter_in(heist_ctx c, void *out, const void *in,
                                    size_t n, size_t size, heist_pack_fn *pack,
                                    void *arg);

/*
 * The ones that pass first, then the others, both in their order.  out has room
 * for n and does not overlap in, or is in.
 *
 * Memory:  as heist_filter; if out is in, n elements.
 * Returns: how many passed, or -ENOMEM (only if out is in).
 */
HEIST_API ptrdiff_t heist_partition(heist_ctx c, void *out, const void *in,
                                    size_t n, size_t size, heist_test_fn *test,
                                    void *arg);

/* The first of each row of equal neighbours; NULL compares bytes.  Memory and
 * result as heist_filter. */
HEIST_API ptrdiff_t heist_unique(heist_ctx c, void *out, const void *in,
                                 size_t n, size_t size, heist_equal_fn *equal,
                                 void *arg);

/* Adds to counts[b] how many elements have bucket b; a bucket not below
 * `buckets` is not counted.  Memory: `buckets` words per worker, if they can be
 * had.  Returns 0. */
HEIST_API int heist_histogram(heist_ctx c, size_t *counts, size_t buckets,
                              const void *base, size_t n, size_t size,
                              heist_key_fn *bucket, void *arg);

/* --- scans ---------------------------------------------------------------- */

typedef enum heist_scan_kind {
    HEIST_INCLUSIVE, /* out[i] = in[0] . ... . in[i] */
    HEIST_EXCLUSIVE  /* out[i] = identity . in[0] . ... . in[i - 1] */
} heist_scan_kind;

/*
 * Prefix sums by any associative operation.  `total` holds the identity at
 * first (or what comes before), and the sum of all at the end.  out does not
 * overlap in, or is in.
 *
 * Memory:  two elements, one of them with 24 bytes more, each rounded up to 128
 *          bytes, per block of 20 us: of 16 elements at least, of 128 KiB (one
 *          element, if that is longer) at most.  No more than 2048 blocks, unless
 *          those of 128 KiB are more.  If it can be had.
 * Returns: 0, or -ENOMEM (only for exclusive scans in place of elements of more
 *          than 256 bytes; nothing was changed).
 */
HEIST_API int heist_scan(heist_ctx c, void *out, const void *in, size_t n,
                         size_t size, heist_combine_fn *combine, void *total,
                         void *arg, heist_scan_kind kind);

/* Prefix sums of numbers, of their own type.  Integers wrap; floats of up to
 * 16384 elements are rounded as by a serial loop, of more of them as the work was
 * split.  Memory as heist_scan.  Return 0. */
HEIST_API int heist_scan_i32(heist_ctx c, int32_t *out, const int32_t *in,
                             size_t n, heist_scan_kind kind);
HEIST_API int heist_scan_u32(heist_ctx c, uint32_t *out, const uint32_t *in,
                             size_t n, heist_scan_kind kind);
HEIST_API int heist_scan_i64(heist_ctx c, int64_t *out, const int64_t *in,
                             size_t n, heist_scan_kind kind);
HEIST_API int heist_scan_u64(heist_ctx c, uint64_t *out, const uint64_t *in,
                             size_t n, heist_scan_kind kind);
HEIST_API int heist_scan_f32(heist_ctx c, float *out, const float *in, size_t n,
                             heist_scan_kind kind);
HEIST_API int heist_scan_f64(heist_ctx c, double *out, const double *in,
                             size_t n, heist_scan_kind kind);

/* --- sorts ---------------------------------------------------------------- */

/* Comparisons of plain numbers.  What takes a comparison of elements knows them,
 * and makes no call per comparison then.  Floats: -0 before 0, NaNs at the end. */
HEIST_API int heist_by_i32(const void *a, const void *b, void *arg);
HEIST_API int heist_by_u32(const void *a, const void *b, void *arg);
HEIST_API int heist_by_i64(const void *a, const void *b, void *arg);
HEIST_API int heist_by_u64(const void *a, const void *b, void *arg);
HEIST_API int heist_by_f32(const void *a, const void *b, void *arg);
HEIST_API int heist_by_f64(const void *a, const void *b, void *arg);

/* A key with the index of what it belongs to. */
typedef struct heist_pair {
    uint64_t key;
    uint64_t index;
} heist_pair;

/* By key, then by index. */
HEIST_API int heist_by_pair(const void *a, const void *b, void *arg);

/*
 * Sorts in place; equal elements end up in any order.
 *
 * Memory: for known comparisons n elements and tables of counts (of 258 KiB at
 *         most each, one or a few at a time) if they can be had; else a little
 *         stack.  Never fails.
 */
HEIST_API void heist_sort(heist_ctx c, void *base, size_t n, size_t size,
                          heist_compare_fn *compare, void *arg);
/*
 * Sorts in place; equal elements stay in their order.  What is sorted already,
 * or strictly the other way round, takes one comparison per element.
 *
 * Memory:  n elements; of more than 64 bytes two words each, and one element of
 *          128 and 64 KiB or one more; none for known comparisons if there is
 *          none, and for up to 2048 bytes of elements.
 * Returns: 0 or -ENOMEM.
 */
HEIST_API int heist_sort_stable(heist_ctx c, void *base, size_t n, size_t size,
                                heist_compare_fn *compare, void *arg);

/* heist_sort by heist_by_i32 and its like: numbers, the smallest first. */
HEIST_API void heist_sort_i32(heist_ctx c, int32_t *base, size_t n);
HEIST_API void heist_sort_u32(heist_ctx c, uint32_t *base, size_t n);
HEIST_API void heist_sort_i64(heist_ctx c, int64_t *base, size_t n);
HEIST_API void heist_sort_u64(heist_ctx c, uint64_t *base, size_t n);
HEIST_API void heist_sort_f32(heist_ctx c, float *base, size_t n);
HEIST_API void heist_sort_f64(heist_ctx c, double *base, size_t n);
/* By key, then by index. */
HEIST_API void heist_sort_pairs(heist_ctx c, heist_pair *base, size_t n);

/* By a key that is made once per element; stable.  Memory: three words per
 * element, one element of 128, and 64 KiB or one more.  0 or -ENOMEM. */
HEIST_API int heist_sort_by_key(heist_ctx c, void *base, size_t n, size_t size,
                                heist_key_fn *key, void *arg);

/*
 * The same with keys of any kind: `key` makes one per element, of key_size bytes,
 * and compare gets two of them.  Where comparing means going to look somewhere
 * else, a key that holds the beginning of what is there saves most of the way:
 * for strings, their first 8 bytes as a number and the pointer.  Keys that are
 * compared by heist_by_f64 or its relatives are sorted as heist_sort_by_key does.
 *
 * Memory:  n keys with their indices, twice, each as long as the next power of
 *          two (of more than 32 bytes once, and two words each); one element of
 *          128, and 64 KiB or one more.
 * Returns: 0 or -ENOMEM.
 */
HEIST_API int heist_sort_by_cached_key(heist_ctx c, void *base, size_t n,
                                       size_t size, size_t key_size,
                                       heist_map_fn *key,
                                       heist_compare_fn *compare, void *arg);

/* Puts the element that a sort would put at index k there, those before it
 * before it, those after it after it.  k not below n: nothing is done. */
HEIST_API void heist_nth(heist_ctx c, void *base, size_t n, size_t size,
                         size_t k, heist_compare_fn *compare, void *arg);
/* Sorts the k smallest to the front; the rest is in any order.  k above n: all
 * are sorted.  Memory: as heist_sort for k elements. */
HEIST_API void heist_top(heist_ctx c, void *base, size_t n, size_t size,
                         size_t k, heist_compare_fn *compare, void *arg);

/* Merges two sorted arrays into out, which overlaps neither; equal elements: a
 * first. */
HEIST_API void heist_merge(heist_ctx c, void *out, const void *a, size_t a_n,
                           const void *b, size_t b_n, size_t size,
                           heist_compare_fn *compare, void *arg);
HEIST_API bool heist_is_sorted(heist_ctx c, const void *base, size_t n,
                               size_t size, heist_compare_fn *compare,
                               void *arg);

#ifdef __cplusplus
}
#endif

#endif
