/* SPDX-License-Identifier: MIT
 *
 * Timers against an array: those that are due expire, the
 * earliest first and equal ones in the order they came, the others stay.
 */
#include "fuzz.h"
#include "platform/platform.h"

static int64_t the_time;

static int64_t fuzz_clock(void)
{
    return the_time;
}

#define hi_clock fuzz_clock
#include "core/timer.c"
#undef hi_clock

enum {
    TIMERS = 24
};

static hi_timers heap;
static hi_timer timers[TIMERS];

static struct {
    bool set[TIMERS];
    uint64_t since[TIMERS]; /* when it was added */
    uint64_t added;
    size_t expired[TIMERS], count; /* in this turn */
} model;

static void on_expired(hi_timer *t)
{
    FUZZ_CHECK(model.count < TIMERS);
    model.expired[model.count++] = (size_t)(t - timers);
}

/* The one that must expire next; TIMERS: none. */
static size_t next_due(void)
{
    size_t best = TIMERS;
    for (size_t i = 0; i < TIMERS; i++) {
        if (!model.set[i] || timers[i].deadline > the_time) continue;
        if (best == TIMERS || timers[i].deadline < timers[best].deadline ||
            (timers[i].deadline == timers[best].deadline &&
             model.since[i] < model.since[best]))
            best = i;
    }
    return best;
}

static void check_expire(void)
{
    model.count = 0;
    hi_timers_expire(&heap);
    for (size_t i = 0; i < model.count; i++) {
        FUZZ_CHECK(model.expired[i] == next_due());
        model.set[model.expired[i]] = false;
    }
    FUZZ_CHECK(next_due() == TIMERS);
}

static void add(size_t i, int64_t deadline)
{
    if (model.set[i]) return;
    timers[i].deadline = deadline;
    timers[i].expired = on_expired;
    hi_timers_add(&heap, &timers[i]);
    model.set[i] = true;
    model.since[i] = model.added++;
}

/* May run over the end of time: the list does not care. */
static int64_t later(uint64_t ns)
{
    return (int64_t)((uint64_t)the_time + ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    memset(&model, 0, sizeof model);
    memset(&heap, 0, sizeof heap);
    memset(timers, 0, sizeof timers);
    the_time = (int64_t)fuzz_edge(&in);
    while (in.left) {
        uint64_t op = fuzz_take(&in, 1);
        size_t i = op / 4 % TIMERS;
        switch (op % 4) {
        case 0: add(i, (int64_t)fuzz_edge(&in)); break;
        case 1: add(i, later(fuzz_take(&in, 1) % 4)); break;
        case 2: /* also one that is not there */
            hi_timers_remove(&heap, &timers[i]);
            model.set[i] = false;
            break;
        case 3:
            the_time = op & 4 ? (int64_t)fuzz_edge(&in) : later(op >> 4);
            check_expire();
            break;
        }
    }
    the_time = INT64_MAX;
    check_expire();
    FUZZ_CHECK(heap.earliest == NULL);
    return 0;
}
