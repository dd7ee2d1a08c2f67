/* SPDX-License-Identifier: MIT */
#include "core/timer.h"

#include "../test.h"

enum {
    TIMERS = 20000,
    DEADLINES = 3000 /* so that several have the same */
};

static hi_timer timers[TIMERS];
static hi_timers heap;

static void add(int i, int64_t deadline)
{
    timers[i].deadline = deadline;
    hi_timers_add(&heap, &timers[i]);
}

static void start_afresh(void)
{
    memset(&heap, 0, sizeof heap);
    memset(timers, 0, sizeof timers);
}

/* Takes all of them: the earliest first, of equal ones the first that came. */
static int take_all(void)
{
    int n = 0;
    const hi_timer *last = NULL;
    for (hi_timer *t; (t = hi_timers_due(&heap, INT64_MAX)); last = t, n++) {
        CHECK(!t->set);
        CHECK(!last || last->deadline < t->deadline ||
              (last->deadline == t->deadline && last->order < t->order));
    }
    CHECK(heap.earliest == NULL);
    return n;
}

TEST(nothing_is_due_without_timers)
{
    start_afresh();
    CHECK(hi_timers_due(&heap, INT64_MAX) == NULL);
    hi_timers_remove(&heap, &timers[0]); /* not set */
    CHECK(heap.earliest == NULL);
}

TEST(only_what_is_due_is_given)
{
    start_afresh();
    add(0, 5);
    add(1, 3);
    CHECK(hi_timers_due(&heap, 2) == NULL);
    CHECK(hi_timers_due(&heap, 4) == &timers[1]);
    CHECK(hi_timers_due(&heap, 4) == NULL);
    CHECK(hi_timers_due(&heap, 5) == &timers[0]);
}

TEST(timers_come_by_deadline_and_then_in_their_order)
{
    uint64_t state = test_seed;
    for (int kind = 0; kind < 3; kind++) {
        start_afresh();
        for (int i = 0; i < TIMERS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int64_t by_chance = (int64_t)(state >> 33) % DEADLINES;
            add(i, kind == 0 ? i : kind == 1 ? -i : by_chance);
        }
        CHECK_EQ(take_all(), TIMERS);
    }
}

TEST(what_is_removed_does_not_come_and_the_rest_does)
{
    uint64_t state = test_seed;
    for (int round = 0; round < 20; round++) {
        int set = 0;
        start_afresh();
        for (int step = 0; step < TIMERS; step++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int i = (int)(state >> 33) % TIMERS;
            hi_timer *t = &timers[i];
            int64_t now = (int64_t)(state >> 40) % DEADLINES;
            if (!t->set)
                add(i, now), set++;
            else
                hi_timers_remove(&heap, t), set--;
            if (step % 7 == 0 && hi_timers_due(&heap, now)) set--;
        }
        CHECK_EQ(take_all(), set);
    }
}
