/* SPDX-License-Identifier: MIT */
#ifndef HI_RANK_H
#define HI_RANK_H

#include <heist/fork.h>

/*
 * Says which of n > 1 keys comes to place i, in `from[i]`; equal ones stay in
 * their order.  `different` has the bits in which some key differs from another,
 * and not none.
 *
 * Memory: n words if they can be had.
 */
void hi_rank(heist_ctx c, const uint64_t *key, size_t n, uint64_t different,
             uint64_t *from);

#endif
