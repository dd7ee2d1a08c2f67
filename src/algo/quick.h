/* SPDX-License-Identifier: MIT */
#ifndef HI_QUICK_H
#define HI_QUICK_H

#include "algo/order.h"

#include <heist/fork.h>

/*
 * Sorting and selecting in place, in parallel.  O(n log n) whatever the
 * elements and the comparison do; with a comparison that contradicts itself the
 * elements are still all there, in some order.
 */
typedef struct hi_quick {
    void (*sort)(heist_ctx c, char *base, size_t n, const hi_by *by);
    /* The element that belongs at k < n is put there, smaller ones before it. */
    void (*select)(heist_ctx c, char *base, size_t n, size_t k,
                   const hi_by *by);
} hi_quick;

/* Those for elements of that order: numbers are given as their keys. */
const hi_quick *hi_quick_for(hi_order order, size_t size);

#endif
