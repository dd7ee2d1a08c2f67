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

/* Sorts n elements by n keys, which stay where they are; by->size is theirs.
 * Memory: two words per element, and what hi_permute needs.  0 or -ENOMEM. */
int hi_sort_by_address(heist_ctx c, void *base, size_t n, size_t size,
                       const void *keys, const hi_by *by);

#endif
