/* SPDX-License-Identifier: MIT
 *
 * select.c: the k-th element, and the k smallest.
 */
#include "algo/quick.h"

void heist_nth(heist_ctx c, void *base, size_t n, size_t size, size_t k,
               heist_compare_fn *compare, void *arg)
{
    hi_by by = {compare, arg, size};
    hi_order order = hi_order_of(compare, size);
    if (k >= n) return;
    hi_to_keys(c, base, n, order);
    hi_quick_for(order, size)->select(c, base, n, k, &by);
    hi_from_keys(c, base, n, order);
}

void heist_top(heist_ctx c, void *base, size_t n, size_t size, size_t k,
               heist_compare_fn *compare, void *arg)
{
    if (k < n) heist_nth(c, base, n, size, k, compare, arg);
    heist_sort(c, base, k < n ? k : n, size, compare, arg);
}
