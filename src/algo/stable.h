/* SPDX-License-Identifier: MIT */
#ifndef HI_STABLE_H
#define HI_STABLE_H

#include "algo/merge.h"

enum {
    HI_MOVED_MOST = 64 /* bytes: of longer elements pointers are sorted */
};

/* Sorts n elements; scratch has room for as many, and anything in it later.
 * False: nothing was moved, they were sorted. */
bool hi_sort_runs(heist_ctx c, hi_kind *k, void *base, void *scratch, size_t n);

/*
 * Says which element comes to place i: the word at words + i * stride is `first`
 * for the first one, and `unit` more for each further one.
 */
typedef struct hi_places {
    const void *words;
    size_t stride;
    uintptr_t first;
    size_t unit;
} hi_places;

/* Moves n elements to their places.  Memory: n elements.  0 or -ENOMEM, and
 * nothing was moved. */
int hi_permute(heist_ctx c, void *base, size_t n, size_t size,
               const hi_places *places);

/* Sorts n elements by n keys, which stay where they are; by->size is theirs.
 * Memory: two words per element, and n elements.  0 or -ENOMEM. */
int hi_sort_by_address(heist_ctx c, void *base, size_t n, size_t size,
                       const void *keys, const hi_by *by);

#endif
