/* SPDX-License-Identifier: MIT */
#ifndef HEIST_TEST_RACE_H
#define HEIST_TEST_RACE_H

/*
 * Two things happen in a loop of RACE iterations, at EARLY and at all from LATE
 * on.  Each may be held up until the other has come: in either order the early
 * one counts.  The holding up only makes an order likely; no test relies on it.
 */
#include <heist/atomic.h>
#include <time.h>

enum {
    WAITS = 3, /* in the same piece as EARLY, or the one before */
    EARLY = 7,
    LATE = 40,
    RACE = 64
};

typedef HEIST_ATOMIC(int) flag;

typedef struct race {
    bool late_first;
    flag early, late;
} race;

static inline void await(flag *happened)
{
    for (int ms = 0; ms < 200 && !heist_load_relaxed(happened); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

#endif
