/* SPDX-License-Identifier: MIT
 *
 * owner.c: when the owner of a run looks around, and whether sharing pays.
 */
#include "graph/owner.h"

enum {
    SHARE_COST = 200,  /* ns per piece from which sharing pays */
    SHARE_AGE = 2000,  /* ns a run lasts before it is shared, */
    WAKE_AGE = 20000,  /* ... and before it wakes anybody */
    LOOK_SOON = 2000,  /* ns between looks: less is too often, */
    LOOK_LATE = 10000, /* ... more is too seldom */
    LOOK_MOST = 1024   /* pieces between looks */
};

void hi_pace_start(hi_pace *p, unsigned first)
{
    p->budget = p->every = first;
    p->started = p->looked = hi_clock();
}

int64_t hi_pace_look(hi_pace *p, int64_t now)
{
    int64_t since = now - p->looked, pieces = p->every - p->budget;
    if (since < LOOK_SOON && p->every < LOOK_MOST) p->every *= 2;
    if (since > LOOK_LATE && p->every > 1) p->every /= 2;
    p->budget = p->every;
    p->looked = now;
    return since / (pieces > 0 ? pieces : 1);
}

bool hi_pace_is_worth_sharing(const hi_pace *p, hi_worker *w, int64_t now,
                              int64_t cost, bool called)
{
    heist_runtime *rt = w->rt;
    int64_t age = now - p->started;
    if (cost < SHARE_COST || age < SHARE_AGE || !rt) return false;
    hi_sleep_count(w);
    if (age >= WAKE_AGE && hi_sleep_could_help(rt)) return true;
    /* relaxed: hint */
    return called || heist_load_relaxed(&rt->sleep.searching) > 0;
}
