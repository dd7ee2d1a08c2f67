/* SPDX-License-Identifier: MIT
 *
 * After a long idleness nobody keeps watch over hidden frames.  The first fork of a
 * region wakes somebody for it, unless its root is known to be brief: that would be
 * dearer than the region.  One that is long all the same is found later.
 */
#include "core/runtime.h"
#include "test.h"

#include <heist.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) flag;

static flag ran; /* somewhere else, while its root waits */

static void right_half(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.i = 1;
    if (f->arg[0].i) heist_store_release(&ran, 1);
}

/* Forks so often that it looks around.  *arg: its first left half does not return
 * before the right one has run. */
static void root(heist_ctx c, void *arg)
{
    bool waits = *(const bool *)arg;
    for (int i = 0; i < 10; i++) {
        heist_slot(c)->arg[0].i = waits;
        heist_ctx k = heist_fork(c, right_half);
        while (waits && !heist_load_acquire(&ran))
            hi_cpu_relax();
        CHECK_EQ(heist_done(&k)->result.i, 1);
    }
}

/* Who falls asleep has decided before whether he is the watchman. */
static bool nobody_watches(heist_runtime *rt)
{
    const uint32_t asleep = 1;
    bool none = heist_load_acquire(&rt->watchman) == 0;
    for (unsigned i = 0; i < rt->workers; i++)
        none = none && heist_load_acquire(&rt->pool[i].parker) == asleep;
    return none && heist_load_acquire(&rt->watchman) == 0;
}

/* How many workers the region wakes that begins after a long idleness. */
static uint64_t wakes(heist_runtime *rt, bool waits)
{
    heist_stats before, after;
    while (!nobody_watches(rt))
        sched_yield();
    heist_store_relaxed(&ran, 0);
    CHECK_EQ(heist_stats_read(rt, rt->workers, &before), 0);
    CHECK_EQ(heist_run(rt, root, &waits), 0);
    CHECK_EQ(heist_stats_read(rt, rt->workers, &after), 0);
    return after.woken - before.woken;
}

/* On a busy machine it may take longer than it does. */
static bool becomes_known(heist_runtime *rt)
{
    for (int i = 0; i < 100; i++)
        if (wakes(rt, false) == 0) return true;
    return false;
}

static heist_runtime *start(heist_exposure exposure)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 2, .exposure = exposure};
    CHECK_EQ(heist_start(&rt, &config), 0);
    return rt;
}

TEST(a_region_known_to_be_brief_wakes_nobody_after_a_long_idleness)
{
    for (int policy = HEIST_ON_DEMAND; policy <= HEIST_QUANTUM; policy++) {
        heist_runtime *rt = start((heist_exposure)policy);
        CHECK(wakes(rt, false) > 0); /* nothing is known of it yet */
        CHECK(becomes_known(rt));
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

TEST(a_long_leaf_in_a_region_known_to_be_brief_hides_nothing_for_ever)
{
    if (!hi_barrier_init()) exit(77); /* the rescue needs membarrier */
    heist_runtime *rt = start(HEIST_ON_DEMAND);
    for (int i = 0; i < 2; i++) {
        CHECK(becomes_known(rt));
        wakes(rt, true);
        for (int k = 0; k < 3; k++) /* it is not known any more */
            CHECK(wakes(rt, false) > 0);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
