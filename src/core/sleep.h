/* SPDX-License-Identifier: MIT */
#ifndef HI_SLEEP_H
#define HI_SLEEP_H

/*
 * Going to sleep and being woken.  The protocol and its proof: sleep.c.
 */
#include "core/worker.h"

typedef struct hi_sleep {
    HEIST_ATOMIC(uint32_t) searching; /* pool workers that look for work */
    HEIST_ATOMIC(uint32_t) awake;     /* workers and guests not asleep */
    HEIST_ATOMIC(uint32_t) forked;    /* somebody has looked since he looked */
    HEIST_ATOMIC(uint32_t) visits;    /* of guests, when he looked */
    unsigned workers;
    unsigned words;
    hi_counter *idle; /* a bit per pool worker */
} hi_sleep;

int hi_sleep_init(hi_sleep *s, unsigned workers,
                  const heist_allocator *allocator);
void hi_sleep_fini(hi_sleep *s, const heist_allocator *allocator);

/* After publishing a task: wakes a worker unless one is searching. */
void hi_sleep_post(heist_runtime *rt);

/* After w exposed frames: the same, but no more are woken than the runtime has
 * workers, the guests counted. */
void hi_sleep_post_frames(hi_worker *w);

/* True: the caller may search; at most half of the workers do. */
bool hi_sleep_search(hi_worker *w);

/* The caller stops searching because it found work, and sees to the rest. */
void hi_sleep_found(hi_worker *w);

/* A worker sleeps and may be woken, and nobody keeps watch or is about to. */
bool hi_sleep_unwatched(heist_runtime *rt);

/* The caller goes to work after a search.  looks: its next fork looks around, so
 * the watch may wait until then if nobody else works. */
void hi_sleep_see_to_watch(heist_runtime *rt, bool looks);

typedef enum hi_wake {
    HI_WAKE_WORK,    /* there is, or was, something to do */
    HI_WAKE_WATCH,   /* the watch is over */
    HI_WAKE_DEADLINE /* the caller's deadline has passed */
} hi_wake;

/* Sleeps until woken, until the deadline, or until the watch is over. */
hi_wake hi_sleep_park(hi_worker *w, int64_t deadline);

/* The caller is asleep or about to be: has it a token already? */
bool hi_sleep_is_called(const hi_worker *w);

/* There is room for a worker: if there is work or the watch for him, wakes one. */
void hi_sleep_make_room(heist_runtime *rt);

/* After posting to w's inbox: wakes w if it is asleep. */
void hi_sleep_wake(hi_worker *w);

/* Wakes everybody, to look at the runtime's state. */
void hi_sleep_wake_all(heist_runtime *rt);

/* True if every worker is asleep or about to be. */
bool hi_sleep_all_idle(heist_runtime *rt);

#endif
