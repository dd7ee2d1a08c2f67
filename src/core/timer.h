/* SPDX-License-Identifier: MIT */
#ifndef HI_TIMER_H
#define HI_TIMER_H

/*
 * Deadlines of one owner: a pairing heap.  To add one takes a few steps however
 * many there are, to remove one their logarithm.
 */
#include <heist/base.h>

typedef struct hi_timer {
    int64_t deadline;
    void (*expired)(struct hi_timer *t);
    uint64_t order;         /* among those with the same deadline */
    struct hi_timer *child; /* the first of those below it */
    struct hi_timer *next;  /* beside it, below the same one */
    struct hi_timer *back;  /* whose child or next it is */
    bool set;
} hi_timer;

typedef struct hi_timers {
    hi_timer *earliest;
    uint64_t added;
} hi_timers;

/* t has a deadline and a function, and is not set. */
void hi_timers_add(hi_timers *h, hi_timer *t);

/* Nothing happens if it is not set. */
void hi_timers_remove(hi_timers *h, hi_timer *t);

/* The earliest, if its deadline is not after `now`; it is not set any more.  Of
 * those with one deadline the one that came first.  Or NULL. */
hi_timer *hi_timers_due(hi_timers *h, int64_t now);

/* Calls the functions of those that are due now. */
void hi_timers_expire(hi_timers *h);

/* The earliest deadline. */
static inline int64_t hi_timers_next(const hi_timers *h)
{
    return h->earliest ? h->earliest->deadline : HEIST_FOREVER;
}

#endif
