/* SPDX-License-Identifier: MIT */
/* An unbalanced tree at 70 ns per node. */
enum {
    UTS_MIXES = 24
};

#define UTS_INLINE __attribute__((noinline))
#include "uts_visit.h"

uint64_t serial_uts(uint64_t seed)
{
    return serial_nodes(seed);
}

uint64_t ours_uts(uint64_t seed)
{
    return parallel_nodes(seed);
}
