/* SPDX-License-Identifier: MIT */
#ifndef HEIST_STRESS_SCALE_H
#define HEIST_STRESS_SCALE_H

#include <stdlib.h>

/* n, or as many percent of it as HEIST_STRESS_SCALE says; at least 1. */
static inline long scaled(long n)
{
    const char *percent = getenv("HEIST_STRESS_SCALE");
    long p = percent ? strtol(percent, NULL, 10) : 100;
    long m = n / 100 * p + n % 100 * p / 100;
    return m > 0 ? m : 1;
}

#endif
