/* SPDX-License-Identifier: MIT */
#ifndef HI_MERGE_H
#define HI_MERGE_H

#include "algo/order.h"

/*
 * Merging: what the stable sorts are made of.  All of it is a permutation of
 * its input whatever compare says.
 */

enum {
    HI_BLOCK = 32 /* elements that are sorted in one go */
};

/* Merges in one go; out overlaps neither. */
typedef void hi_merge_fn(const hi_by *by, char *out, const char *a, size_t a_n,
                         const char *b, size_t b_n);

/* Elements of one size and order, and the code made for them. */
typedef struct hi_kind {
    hi_by by;
    hi_less_fn *less;
    hi_merge_fn *merge;
    hi_merge_fn *merge_far; /* for many elements */
    /* How many of n elements, two at least, begin with a run; *down: each is
     * less than the one before, else none is. */
    size_t (*run)(const hi_by *by, const char *p, size_t n, bool *down);
    /* HI_BLOCK elements, in place. */
    void (*sort_block)(const hi_by *by, char *base, char *scratch);
    size_t grain; /* elements that are merged in one go */
} hi_kind;

/* Elements of `size` bytes that compare gets. */
hi_kind hi_kind_of(size_t size, heist_compare_fn *compare, void *arg);

/* Pointers: compare gets what they point to. */
hi_kind hi_kind_of_pointers(heist_compare_fn *compare, void *arg);

/* Finds the grain by the time of a comparison, and looks whether the elements
 * are pointers; base has n of them, at least one. */
void hi_kind_fit(hi_kind *k, const char *base, size_t n);

/* Merges in parallel; equal elements: a first. */
void hi_merge(heist_ctx c, const hi_kind *k, char *out, const char *a,
              size_t a_n, const char *b, size_t b_n);

#endif
