/* SPDX-License-Identifier: MIT */
/* An unbalanced tree at 3 ns per node: the fork is as much work as the node. */
enum {
    UTS_MIXES = 1
};

#define UTS_INLINE inline
#include "uts_visit.h"

uint64_t serial_uts_fine(uint64_t seed)
{
    return serial_nodes(seed);
}

uint64_t ours_uts_fine(uint64_t seed)
{
    return parallel_nodes(seed);
}
