/* SPDX-License-Identifier: MIT */
#ifndef HI_RADIX_H
#define HI_RADIX_H

#include "algo/order.h"

/*
 * Sorts numbers or pairs by their digits.  It is stable.
 *
 * Memory: n elements, and for large n some thousand words.
 * Returns: false if that could not be had; nothing was done then.
 */
bool hi_radix_sort(heist_ctx c, void *base, size_t n, hi_order order);

#endif
