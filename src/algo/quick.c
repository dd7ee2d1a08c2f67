/* SPDX-License-Identifier: MIT
 *
 * quick.c: quicksort, once for each kind of elements.
 */
#include "algo/quick.h"

enum {
    FEW = 20,     /* elements that are sorted by insertion */
    BLOCK = 128,  /* large elements that are looked at before any is moved */
    PIECE = 2048, /* elements that one worker splits */
    /* A pivot near the low end of many elements, for one of the first n / LOW, is
     * taken from a sample. */
    MANY = 4096,
    LOW = 32,
    SHARE = 1024, /* elements of which there is one in a sample, ... */
    SAMPLE_LEAST = 64,
    SAMPLE_MOST = 1024
};

/* What goes to the left of a pivot. */
typedef enum side {
    BELOW,     /* what is below it */
    FEW_BELOW, /* the same; most are not */
    UP_TO      /* what is not above it */
} side;

#define QUICK(name) name##_u32
#define SIZE        ((size_t)4)
#define LESS        hi_less_u32
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE
#undef LESS

#define QUICK(name) name##_u64
#define SIZE        ((size_t)8)
#define LESS        hi_less_u64
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE
#undef LESS

#define QUICK(name) name##_pair
#define SIZE        ((size_t)16)
#define LESS        hi_less_pair
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE
#undef LESS

#define LESS hi_less_call

#define QUICK(name) name##_call_4
#define SIZE        ((size_t)4)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#define QUICK(name) name##_call_8
#define SIZE        ((size_t)8)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#define QUICK(name) name##_call_16
#define SIZE        ((size_t)16)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#define QUICK(name) name##_call_32
#define SIZE        ((size_t)32)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#define QUICK(name) name##_call_64
#define SIZE        ((size_t)64)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#define QUICK(name) name##_call
#define SIZE        (by->size)
#include "algo/quick_body.h"
#undef QUICK
#undef SIZE

#undef LESS

const hi_quick *hi_quick_for(hi_order order, size_t size)
{
    if (order == HI_BY_PAIR) return &quick_pair;
    if (order != HI_BY_CALL) return size == 4 ? &quick_u32 : &quick_u64;
    if (size == 4) return &quick_call_4;
    if (size == 8) return &quick_call_8;
    if (size == 16) return &quick_call_16;
    if (size == 32) return &quick_call_32;
    if (size == 64) return &quick_call_64;
    return &quick_call;
}
