/* SPDX-License-Identifier: MIT
 *
 * The idle bitmap with 1 .. 200 workers, under UBSan: every worker has one bit,
 * no two have the same, none is outside, and who is woken is who was asked for.
 */
#include "../test.h"

#include "core/runtime.c"

#include "core/sleep.c"

enum {
    WORKERS = 200
};

static void open_pool(heist_runtime *rt, unsigned workers)
{
    memset(rt, 0, sizeof *rt);
    rt->config.workers = rt->workers = workers;
    rt->config.queue_capacity = 2;
    rt->config.stack_bytes = 64 << 10;
    rt->config.unpinned = true;
    CHECK_EQ(pool_create(rt), 0);
}

static unsigned bits_set(const heist_runtime *rt)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rt->sleep.words; i++)
        n += (unsigned)__builtin_popcountll(
            heist_load_relaxed(&rt->sleep.idle[i]));
    return n;
}

static void announce(const hi_worker *w)
{
    heist_or_relaxed(w->idle_word, w->idle_bit);
}

static void check_bits(heist_runtime *rt)
{
    hi_sleep *s = &rt->sleep;
    CHECK_EQ(s->words, rt->workers / 64 + (rt->workers % 64 != 0));
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        CHECK(w->idle_word >= s->idle && w->idle_word < s->idle + s->words);
        CHECK_EQ(__builtin_popcountll(w->idle_bit), 1);
        CHECK(!hi_sleep_all_idle(rt));
        CHECK_EQ(bits_set(rt), i);
        announce(w); /* a bit that nobody had before */
        CHECK_EQ(bits_set(rt), i + 1);
    }
    CHECK(hi_sleep_all_idle(rt));
}

/* All sleep.  Each wake-up reaches another one, and then there is nobody. */
static void check_wakes(heist_runtime *rt)
{
    for (unsigned i = 0; i < rt->workers; i++) {
        CHECK(wake_one(rt));
        CHECK_EQ(bits_set(rt), rt->workers - i - 1);
        /* The lowest first: the decoding is the inverse of the coding. */
        CHECK_EQ(heist_load_relaxed(&rt->pool[i].parker), TOKEN);
        if (i + 1 < rt->workers)
            CHECK_EQ(heist_load_relaxed(&rt->pool[i + 1].parker), AWAKE);
    }
    CHECK(!wake_one(rt));
    CHECK_EQ(heist_load_relaxed(&rt->sleep.searching), rt->workers);
}

/* One sleeps: it alone is found, whoever it is. */
static void check_one_sleeper(heist_runtime *rt)
{
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        announce(w);
        heist_init(&w->parker, AWAKE);
        CHECK(wake_one(rt));
        CHECK_EQ(heist_load_relaxed(&w->parker), TOKEN);
        CHECK_EQ(bits_set(rt), 0);
        CHECK(!take_bit(w));
    }
}

TEST(every_worker_has_one_bit_of_its_own)
{
    for (unsigned n = 1; n <= WORKERS; n++) {
        heist_runtime rt;
        open_pool(&rt, n);
        check_bits(&rt);
        check_wakes(&rt);
        check_one_sleeper(&rt);
        pool_destroy(&rt);
    }
}
