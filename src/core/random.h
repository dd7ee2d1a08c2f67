/* SPDX-License-Identifier: MIT */
#ifndef HI_RANDOM_H
#define HI_RANDOM_H

/*
 * The workers' choice of victims: PCG-XSH-RR 64/32, one stream per worker.
 */
#include <stdint.h>

typedef struct hi_random {
    uint64_t state;
    uint64_t stream; /* odd */
} hi_random;

static inline uint32_t hi_random_next(hi_random *r)
{
    uint64_t old = r->state;
    r->state = old * 6364136223846793005u + r->stream;
    uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);
    return (x >> turn) | (x << ((32 - turn) & 31));
}

static inline void hi_random_seed(hi_random *r, uint64_t seed, uint64_t stream)
{
    r->state = 0;
    r->stream = stream << 1 | 1;
    hi_random_next(r);
    r->state += seed;
    hi_random_next(r);
}

/* Uniform below n > 0: multiply and shift, with rejection of the few values
 * that would make some results likelier. */
static inline uint32_t hi_random_below(hi_random *r, uint32_t n)
{
    uint64_t product = (uint64_t)hi_random_next(r) * n;
    if ((uint32_t)product < n) {
        uint32_t reject = (uint32_t)-n % n;
        while ((uint32_t)product < reject)
            product = (uint64_t)hi_random_next(r) * n;
    }
    return (uint32_t)(product >> 32);
}

#endif
