/* SPDX-License-Identifier: MIT
 *
 * search.c: finding an element, and whether there is one.
 *
 * The range is searched in order, from the end where the answer is wanted, so
 * that what others search meanwhile is what comes next.  Places are counted from
 * that end; the nearest hit so far is all that the workers share.
 */
#include "algo/loop.h"

typedef enum choice {
    ANY,
    FIRST,
    LAST
} choice;

typedef struct search {
    hi_loop loop;
    heist_find_fn *find;
    void *arg;
    size_t begin, end;
    choice which;
    HEIST_ATOMIC(size_t) place; /* of the nearest hit; HEIST_NONE at first */
} search;

/* Unless there is a nearer one. */
static void note_hit(search *s, size_t place)
{
    /* relaxed: hint (joins order the last look at it) */
    size_t nearest = heist_load_relaxed(&s->place);
    while (place < nearest)
        /* relaxed: hint */
        if (heist_cas_relaxed(&s->place, &nearest, place)) return;
}

static void search_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    search *s = heist_container(l, search, loop);
    size_t hit;
    if (s->which == LAST) {
        hit = s->find(c, s->end - end, s->end - begin, s->arg);
        if (hit != HEIST_NONE) note_hit(s, s->end - 1 - hit);
    } else {
        hit = s->find(c, s->begin + begin, s->begin + end, s->arg);
        if (hit != HEIST_NONE) note_hit(s, hit - s->begin);
    }
}

static bool search_skip(hi_loop *l, size_t begin, size_t end)
{
    (void)end;
    search *s = heist_container(l, search, loop);
    size_t nearest = heist_load_relaxed(&s->place); /* relaxed: hint */
    return s->which == ANY ? nearest != HEIST_NONE : begin > nearest;
}

static size_t search_range(heist_ctx c, size_t begin, size_t end,
                           heist_find_fn *find, void *arg, choice which)
{
    if (begin >= end) return HEIST_NONE;
    search s = {.loop = {.piece = search_piece, .skip = search_skip},
                .find = find,
                .arg = arg,
                .begin = begin,
                .end = end,
                .which = which};
    heist_init(&s.place, HEIST_NONE);
    hi_loop_in_order(c, &s.loop, 0, end - begin);
    size_t place = heist_load_relaxed(&s.place); /* relaxed: hint (joined) */
    if (place == HEIST_NONE) return HEIST_NONE;
    return which == LAST ? end - 1 - place : begin + place;
}

size_t heist_find_any_in(heist_ctx c, size_t begin, size_t end,
                         heist_find_fn *find, void *arg)
{
    return search_range(c, begin, end, find, arg, ANY);
}

size_t heist_find_first_in(heist_ctx c, size_t begin, size_t end,
                           heist_find_fn *find, void *arg)
{
    return search_range(c, begin, end, find, arg, FIRST);
}

size_t heist_find_last_in(heist_ctx c, size_t begin, size_t end,
                          heist_find_fn *find, void *arg)
{
    return search_range(c, begin, end, find, arg, LAST);
}

/* --- elements --------------------------------------------------------------- */

typedef struct array {
    const char *base;
    size_t size;
    heist_test_fn *test;
    void *arg;
    bool wanted; /* what the test is to say */
} array;

/* Copies of what is in the array: the test might change it, for all that the
 * compiler knows. */
static size_t find_up(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    const array a = *(const array *)arg;
    const char *element = a.base + begin * a.size;
    const char *last = a.base + end * a.size;
    for (; element != last; element += a.size)
        if (a.test(element, a.arg) == a.wanted)
            return (size_t)(element - a.base) / a.size;
    return HEIST_NONE;
}

static size_t find_down(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    const array a = *(const array *)arg;
    const char *first = a.base + begin * a.size;
    const char *element = a.base + end * a.size;
    while (element != first) {
        element -= a.size;
        if (a.test(element, a.arg) == a.wanted)
            return (size_t)(element - a.base) / a.size;
    }
    return HEIST_NONE;
}

size_t heist_find_any(heist_ctx c, const void *base, size_t n, size_t size,
                      heist_test_fn *test, void *arg)
{
    array a = {base, size, test, arg, true};
    return search_range(c, 0, n, find_up, &a, ANY);
}

size_t heist_find_first(heist_ctx c, const void *base, size_t n, size_t size,
                        heist_test_fn *test, void *arg)
{
    array a = {base, size, test, arg, true};
    return search_range(c, 0, n, find_up, &a, FIRST);
}

size_t heist_find_last(heist_ctx c, const void *base, size_t n, size_t size,
                       heist_test_fn *test, void *arg)
{
    array a = {base, size, test, arg, true};
    return search_range(c, 0, n, find_down, &a, LAST);
}

/* --- questions ------------------------------------------------------------- */

bool heist_any(heist_ctx c, const void *base, size_t n, size_t size,
               heist_test_fn *test, void *arg)
{
    return heist_find_any(c, base, n, size, test, arg) != HEIST_NONE;
}

bool heist_all(heist_ctx c, const void *base, size_t n, size_t size,
               heist_test_fn *test, void *arg)
{
    array a = {base, size, test, arg, false};
    return search_range(c, 0, n, find_up, &a, ANY) == HEIST_NONE;
}

bool heist_none(heist_ctx c, const void *base, size_t n, size_t size,
                heist_test_fn *test, void *arg)
{
    return !heist_any(c, base, n, size, test, arg);
}
