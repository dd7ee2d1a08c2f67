/* SPDX-License-Identifier: MIT
 *
 * timer.c: deadlines in a pairing heap.
 *
 *              earliest
 *              |
 *              child -> next -> next        back: to the left, or up
 *              |                |
 *              child            child -> next
 *
 * Invariants
 *   I1  what is below a timer is not due before it.
 *   I2  of every timer but the earliest, back->child or back->next is itself.
 */
#include "core/timer.h"

#include "platform/platform.h"

static bool is_before(const hi_timer *a, const hi_timer *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline
                                      : a->order < b->order;
}

/* One heap of two; both are without neighbours, or NULL. */
static hi_timer *join(hi_timer *a, hi_timer *b)
{
    if (!a || !b) return a ? a : b;
    hi_timer *up = is_before(b, a) ? b : a, *down = up == a ? b : a;
    down->next = up->child;
    if (down->next) down->next->back = down;
    down->back = up;
    up->child = down;
    return up;
}

/* One heap of neighbours: in pairs from the left, then all from the right. */
static hi_timer *join_all(hi_timer *list)
{
    hi_timer *pairs = NULL, *all = NULL;
    while (list) {
        hi_timer *a = list, *b = a->next;
        list = b ? b->next : NULL;
        a->next = NULL;
        if (b) b->next = NULL;
        a = join(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        hi_timer *a = pairs;
        pairs = a->next;
        a->next = NULL;
        all = join(all, a);
    }
    return all;
}

void hi_timers_add(hi_timers *h, hi_timer *t)
{
    t->order = h->added++;
    t->child = t->next = NULL;
    t->set = true;
    h->earliest = join(h->earliest, t);
}

void hi_timers_remove(hi_timers *h, hi_timer *t)
{
    if (!t->set) return;
    t->set = false;
    hi_timer *below = join_all(t->child);
    if (t == h->earliest) {
        h->earliest = below;
        return;
    }
    *(t->back->child == t ? &t->back->child : &t->back->next) = t->next;
    if (t->next) t->next->back = t->back;
    h->earliest = join(h->earliest, below);
}

hi_timer *hi_timers_due(hi_timers *h, int64_t now)
{
    hi_timer *t = h->earliest;
    if (!t || t->deadline > now) return NULL;
    hi_timers_remove(h, t);
    return t;
}

void hi_timers_expire(hi_timers *h)
{
    if (!h->earliest) return;
    int64_t now = hi_clock();
    for (hi_timer *t; (t = hi_timers_due(h, now));)
        t->expired(t);
}
