/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "race.h"

typedef struct hits {
    uint64_t *a; /* 1: a hit */
    size_t n, tests;
    size_t first, last; /* HEIST_NONE: none */
} hits;

static hits hits_of(size_t n)
{
    hits h = {.n = n, .first = HEIST_NONE, .last = HEIST_NONE};
    h.a = calloc(n + 1, sizeof *h.a);
    CHECK(h.a != NULL);
    return h;
}

static void hit(hits *h, size_t i)
{
    h->a[i] = 1;
    if (h->first == HEIST_NONE || i < h->first) h->first = i;
    if (h->last == HEIST_NONE || i > h->last) h->last = i;
}

static bool is_hit(const void *element, void *arg)
{
    hits *h = arg;
    const uint64_t *p = element;
    CHECK(p >= h->a && p < h->a + h->n);
    return *p;
}

static bool is_miss(const void *element, void *arg)
{
    return !is_hit(element, arg);
}

static void check_hits(heist_ctx c, hits *h)
{
    enum {
        SIZE = sizeof *h->a
    };

    size_t any = heist_find_any(c, h->a, h->n, SIZE, is_hit, h);
    CHECK(any == HEIST_NONE ? h->first == HEIST_NONE : h->a[any] == 1);
    CHECK_EQ(heist_find_first(c, h->a, h->n, SIZE, is_hit, h), h->first);
    CHECK_EQ(heist_find_last(c, h->a, h->n, SIZE, is_hit, h), h->last);
    bool none = h->first == HEIST_NONE;
    CHECK_EQ(heist_any(c, h->a, h->n, SIZE, is_hit, h), !none);
    CHECK_EQ(heist_none(c, h->a, h->n, SIZE, is_hit, h), none);
    CHECK_EQ(heist_all(c, h->a, h->n, SIZE, is_miss, h), none);
}

static void small(heist_ctx c, void *arg)
{
    (void)arg;
    for (size_t n = 0; n <= 100; n++)
        for (size_t i = 0; i <= n; i += 1 + n / 30) {
            hits h = hits_of(n);
            if (i < n) hit(&h, i);
            check_hits(c, &h);
            if (n) hit(&h, i * 7 % n);
            check_hits(c, &h);
            free(h.a);
        }
}

static void large(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (int i = 0; i < 24; i++) {
        size_t n = 1 + test_random(&seed) % 300000;
        hits h = hits_of(n);
        for (int k = 0; k < i % 5; k++)
            hit(&h, test_random(&seed) % n);
        check_hits(c, &h);
        for (size_t k = 0; i == 20 && k < n; k++)
            hit(&h, k);
        check_hits(c, &h);
        free(h.a);
    }
}

TEST(any_first_and_last_are_those_of_a_serial_search)
{
    input_on_all_workers(small, NULL);
    input_on_all_workers(large, NULL);
}

/* --- ranges ----------------------------------------------------------------- */

typedef struct interval {
    size_t low, high; /* hits: low .. high - 1 */
    size_t begin, end;
} interval;

static void check_part(const interval *v, size_t begin, size_t end)
{
    CHECK(begin < end);
    CHECK(begin >= v->begin && end <= v->end);
}

static size_t find_low(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    interval *v = arg;
    check_part(v, begin, end);
    volatile size_t i;
    for (i = begin; i < end; i++)
        if (i >= v->low && i < v->high) return i;
    return HEIST_NONE;
}

static size_t find_high(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    interval *v = arg;
    check_part(v, begin, end);
    volatile size_t i;
    for (i = end; i > begin; i--)
        if (i - 1 >= v->low && i - 1 < v->high) return i - 1;
    return HEIST_NONE;
}

static void check_interval(heist_ctx c, interval v, size_t begin, size_t end)
{
    v.begin = begin;
    v.end = end;
    bool none = v.low >= v.high;
    CHECK_EQ(heist_find_first_in(c, begin, end, find_low, &v),
             none ? HEIST_NONE : v.low);
    CHECK_EQ(heist_find_last_in(c, begin, end, find_high, &v),
             none ? HEIST_NONE : v.high - 1);
    size_t any = heist_find_any_in(c, begin, end, find_low, &v);
    CHECK(none ? any == HEIST_NONE : any >= v.low && any < v.high);
}

static void ranges(heist_ctx c, void *arg)
{
    (void)arg;
    size_t max = SIZE_MAX;
    check_interval(c, (interval){.low = 0}, 5, 4);
    check_interval(c, (interval){.low = 0}, max, 0);
    check_interval(c, (interval){.low = 9, .high = 10}, 9, 10);
    check_interval(c, (interval){.low = 9, .high = 9}, 9, 10);
    check_interval(c, (interval){.low = max - 1, .high = max}, max - 900, max);
    check_interval(c, (interval){.low = max - 9, .high = max}, max - 9, max);
    check_interval(c, (interval){.low = 700, .high = 901}, 300, 1000);
}

TEST(ranges_may_be_empty_and_end_where_numbers_do)
{
    input_on_all_workers(ranges, NULL);
}

static void endless(heist_ctx c, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 1000000; i = 10 * i + 1) {
        interval v = {i, SIZE_MAX - i, 0, SIZE_MAX};
        CHECK_EQ(heist_find_first_in(c, 0, SIZE_MAX, find_low, &v), i);
        CHECK_EQ(heist_find_last_in(c, 0, SIZE_MAX, find_high, &v),
                 SIZE_MAX - i - 1);
        size_t any = heist_find_any_in(c, 0, SIZE_MAX, find_low, &v);
        CHECK(any >= v.low && any < v.high);
    }
}

TEST(a_search_among_2_to_the_64_ends_soon_after_the_hit)
{
    input_on_all_workers(endless, NULL);
}

/*
 * Two hits, EARLY and all from LATE on, from one end or the other.  The first
 * waits until the second is found, or nearly so and waiting for the first in
 * turn.
 */
static size_t race_up(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    race *r = arg;
    for (size_t i = begin; i < end; i++) {
        if (i == WAITS) await(&r->late);
        if (i == EARLY) {
            heist_store_relaxed(&r->early, 1);
            return i;
        }
        if (i < LATE) continue;
        heist_store_relaxed(&r->late, 1);
        if (!r->late_first) await(&r->early);
        return i;
    }
    return HEIST_NONE;
}

static size_t race_down(heist_ctx c, size_t begin, size_t end, void *arg)
{
    size_t place = race_up(c, RACE - end, RACE - begin, arg);
    return place == HEIST_NONE ? HEIST_NONE : RACE - 1 - place;
}

static void races(heist_ctx c, void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        race r = {.late_first = i % 2};
        CHECK_EQ(heist_find_first_in(c, 0, RACE, race_up, &r), EARLY);
        r = (race){.late_first = i % 2};
        CHECK_EQ(heist_find_last_in(c, 0, RACE, race_down, &r),
                 RACE - 1 - EARLY);
    }
}

TEST(the_nearer_of_two_hits_wins_whichever_comes_first)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 8}), 0);
    CHECK_EQ(heist_run(rt, races, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- effort ------------------------------------------------------------------ */

static bool counted(const void *element, void *arg)
{
    hits *h = arg;
    h->tests++;
    return is_hit(element, arg);
}

static void effort(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (int i = 0; i < 40; i++) {
        hits h = hits_of(10000);
        hit(&h, test_random(&seed) % h.n);
        heist_find_first(c, h.a, h.n, sizeof *h.a, counted, &h);
        CHECK_EQ(h.tests, h.first + 1);
        h.tests = 0;
        heist_find_last(c, h.a, h.n, sizeof *h.a, counted, &h);
        CHECK_EQ(h.tests, h.n - h.last);
        h.tests = 0;
        CHECK(heist_any(c, h.a, h.n, sizeof *h.a, counted, &h));
        CHECK_EQ(h.tests, h.first + 1);
        free(h.a);
    }
}

TEST(one_worker_tests_no_more_elements_than_a_serial_search)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, effort, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Finds the first index there is; what it is asked for at first is noted. */
static size_t find_at_once(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    if (begin == 0) *(size_t *)arg = end;
    return begin;
}

static void first_stretch(heist_ctx c, void *arg)
{
    CHECK_EQ(heist_find_first_in(c, 0, 300000, find_at_once, arg), 0);
}

/* If iterations are dear, who has found it waits for the others' stretches. */
TEST(a_search_begins_with_one_iteration)
{
    size_t end = 0;
    CHECK_EQ(heist_run(NULL, first_stretch, &end), 0);
    CHECK_EQ(end, 1);
}
