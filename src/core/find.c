/* SPDX-License-Identifier: MIT
 *
 * find.c: where a worker finds what it does next.
 *
 *     here       inbox, own deque, overflow and injector
 *     elsewhere  what lies in the deques of others, or is called for there
 *     hidden     frames behind somebody's long leaf (frame.c, rescue)
 */
#include "core/find.h"

#include "core/frame.h"
#include "core/job.h"
#include "core/runtime.h"
#include "core/task.h"

enum {
    TURN_TICK = 61,  /* picks from one turn of what has waited to the next */
    TURN_LOOK = 8,   /* picks from one look at the clock to the next */
    TURNS = 3,       /* ... and so many kinds of it there are */
    VISITS = 16,     /* to others' deques in one turn */
    SIFT_LEAST = 64, /* tickets left over before somebody cares */
    BATCH = 16,      /* taken from the injector in one go */
    CALL_AGAIN = 4   /* passes of a search from one call to the next */
};

/* --- here ----------------------------------------------------------------- */

static hi_work from_item(uintptr_t item, heist_frame *cursor)
{
    if (hi_ticket_is_task(item)) return (hi_work){HI_WORK_TASK, (void *)item};
    if (hi_ticket_is_job(item))
        return (hi_work){HI_WORK_JOB, hi_ticket_job(item)};
    heist_frame *f = hi_ticket_frame(item);
    if (hi_frame_take(f, cursor)) return (hi_work){HI_WORK_FRAME, f};
    return (hi_work){HI_WORK_NONE, NULL}; /* its owner has taken it back */
}

static hi_task *posted_task(hi_inbox_node *node)
{
    hi_message *m = heist_container(node, hi_message, node);
    return heist_container(m, hi_task, message);
}

hi_work hi_find_letter(hi_worker *w)
{
    if (!w->ready && !hi_inbox_is_empty(&w->inbox))
        w->ready = hi_inbox_take(&w->inbox);
    hi_inbox_node *node = w->ready;
    if (!node) return (hi_work){HI_WORK_NONE, NULL};
    w->ready = node->next;
    if (!w->ready && w->batches) w->batches--;
    hi_message *m = heist_container(node, hi_message, node);
    if (m->kind == HI_MESSAGE_TASK)
        return (hi_work){HI_WORK_TASK, posted_task(node)};
    return (hi_work){HI_WORK_STRAND, heist_container(m, hi_strand, message)};
}

/*
 * Frames and jobs are for as many threads as there are workers, tasks are for
 * every worker.  A thief sees the oldest item only: it is told if a task may be
 * behind one that is not.  It is told of each: when a task is pushed the newest
 * item is none (told now), or a task that has one before it (told when that was
 * pushed, and the deque was not empty since).
 */
int hi_worker_push_task(hi_worker *w, hi_task *t)
{
    if (hi_deque_is_empty(&w->deque))
        heist_store_relaxed(&w->mixed, 0); /* relaxed: before-D1 */
    else if (!hi_ticket_is_task(hi_deque_newest(&w->deque)))
        heist_store_relaxed(&w->mixed, 1); /* relaxed: before-D1 */
    return hi_deque_push(&w->deque, (uintptr_t)t);
}

static void sift_now_and_then(hi_worker *w)
{
    if (w->buried >= SIFT_LEAST && w->buried >= hi_deque_length(&w->deque) / 2)
        hi_worker_sift(w);
}

/* May this worker's oldest item be taken by more threads than there are workers? */
static bool is_for_all(const hi_worker *victim, uintptr_t oldest)
{
    if (!oldest) return false;
    /* relaxed: after-D1 */
    return hi_ticket_is_task(oldest) || heist_load_relaxed(&victim->mixed);
}

/*
 * A guest helps with its own region and no other: a frame of that may have to wait
 * long for something, perhaps for what this thread does next, and its strand would
 * keep the guest inside.  It is a look; the theft is sure of it.
 */
static bool may_help(const hi_worker *w, const hi_strand *s)
{
    return !w->guest || (s && hi_strand_region(s) == w);
}

static bool may_take(const hi_worker *w, uintptr_t item)
{
    return !w->guest || (hi_ticket_is_frame(item) &&
                         may_help(w, hi_strand_of(hi_ticket_frame(item))));
}

/* A guest that wants to leave begins no task but those that somebody waits for: it
 * may be one of its own. */
static bool may_begin(const hi_worker *w, uintptr_t item)
{
    if (!w->finishing || !hi_ticket_is_task(item)) return true;
    const hi_task *t = (const hi_task *)item;
    return t->scope || t->done || t->borrowed;
}

static void leave_to_others(hi_worker *w, hi_task *t)
{
    hi_inbox_post(&w->rt->overflow, &t->message.node);
    hi_sleep_post(w->rt);
}

static hi_work from_deque(hi_worker *w, heist_frame *cursor)
{
    uintptr_t item;
    hi_work got = {HI_WORK_NONE, NULL};
    while (got.kind == HI_WORK_NONE && (item = hi_deque_pop(&w->deque)) != 0) {
        if (may_begin(w, item))
            got = from_item(item, cursor);
        else
            leave_to_others(w, (hi_task *)item);
    }
    return got;
}

/* Takes all that is in the overflow; but for the oldest it goes to its deque, the
 * newest first, so that the oldest is popped next. */
static hi_work from_overflow(hi_worker *w)
{
    hi_inbox_node *oldest = hi_inbox_take(&w->rt->overflow), *newest = NULL;
    if (!oldest) return (hi_work){HI_WORK_NONE, NULL};
    hi_count(&w->stats.injected, 1);
    for (hi_inbox_node *node = oldest->next, *next; node; node = next) {
        next = node->next;
        node->next = newest;
        newest = node;
        hi_count(&w->stats.injected, 1);
    }
    bool more = newest != NULL;
    for (hi_inbox_node *node = newest, *next; node; node = next) {
        next = node->next;
        if (hi_worker_push_task(w, posted_task(node)) < 0)
            hi_inbox_post(&w->rt->overflow, node); /* no memory for it there */
    }
    /* While they were in our hands nobody else could see them. */
    if (more) hi_sleep_post(w->rt);
    return (hi_work){HI_WORK_TASK, posted_task(oldest)};
}

/* Takes this worker's share of the injector; all but one go to its deque, where
 * others find them. */
static hi_work from_injector(hi_worker *w)
{
    heist_runtime *rt = w->rt;
    uintptr_t items[BATCH];
    if (w->guest || !hi_runtime_has_tasks(rt))
        return (hi_work){HI_WORK_NONE, NULL};
    /* By turns: either may be filled as fast as it is emptied. */
    w->overflow = !w->overflow;
    hi_work got = {HI_WORK_NONE, NULL};
    if (w->overflow) got = from_overflow(w);
    if (got.kind != HI_WORK_NONE) return got;
    size_t share = hi_injector_length(&rt->injector) / rt->workers;
    size_t room = hi_deque_room(&w->deque);
    size_t most = room < BATCH - 1 ? room : BATCH - 1;
    size_t n = hi_injector_take(&rt->injector, items,
                                1 + (share < most ? share : most));
    if (n == 0) return from_overflow(w);
    hi_task_room(rt);
    hi_count(&w->stats.injected, n);
    /* Newest first into the deque, so that the oldest is popped next. */
    for (size_t i = n; i > 1; i--)
        hi_worker_push_task(w, (hi_task *)items[i - 1]); /* there is room */
    /* While they were in our hands nobody else could see them. */
    if (n > 1) hi_sleep_post(rt);
    return (hi_work){HI_WORK_TASK, (hi_task *)items[0]};
}

/* --- elsewhere ------------------------------------------------------------ */

typedef struct pass {
    hi_work found;
    bool retry;  /* met a race: there is work, somebody else was faster */
    bool hidden; /* met private frames */
} pass;

static hi_steal take_oldest(const hi_worker *w, hi_deque *d,
                            heist_frame *cursor, hi_work *got)
{
    uintptr_t item;
    if (w->guest) { /* frames of its region */
        heist_frame *f = NULL;
        hi_steal result =
            hi_frame_take_wish(d, (hi_wish){.guest = w}, cursor, &f);
        if (f) *got = (hi_work){HI_WORK_FRAME, f};
        return result;
    }
    hi_steal result = hi_deque_steal(d, &item);
    if (result != HI_STEAL_TAKEN) return result;
    *got = from_item(item, cursor);
    /* A stale ticket: there may be more. */
    return got->kind == HI_WORK_NONE ? HI_STEAL_RETRY : HI_STEAL_TAKEN;
}

/* Visits every other worker once, from a random start; calls for what is hidden,
 * or calls again. */
static pass steal_pass(hi_worker *w, heist_frame *cursor, bool again)
{
    pass p = {{HI_WORK_NONE, NULL}, false, false};
    heist_runtime *rt = w->rt;
    uint32_t n = hi_victim_count(rt);
    bool crowded = hi_worker_is_crowded(rt);
    uint32_t start = n > 1 ? hi_random_below(&w->random, n - 1) : 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        hi_worker *victim = hi_victim_after(w, n, start + i);
        if (!victim) continue;
        uintptr_t item = hi_deque_oldest(&victim->deque);
        if (crowded && !is_for_all(victim, item)) continue;
        if (item && !may_take(w, item)) continue;
        hi_steal got = take_oldest(w, &victim->deque, cursor, &p.found);
        if (got == HI_STEAL_TAKEN) {
            hi_count(&w->stats.stolen, 1);
            return p;
        }
        if (got == HI_STEAL_RETRY) {
            hi_count(&w->stats.retries, 1);
            p.retry = true;
            continue;
        }
        hi_count(&w->stats.failed, 1);
        hi_strand *s = hi_worker_shown(victim);
        if (s && may_help(w, s) && hi_strand_has_private(s)) {
            (again ? hi_strand_call_again : hi_strand_call)(s);
            p.hidden = true;
        }
    }
    return p;
}

/* --- hidden --------------------------------------------------------------- */

/*
 * Calls for work and waits a moment: whose strand answers is not in a long leaf,
 * and shares what is worth it.
 */
static bool answers(heist_runtime *rt, hi_strand *s)
{
    hi_strand_call_again(s);
    for (int i = 0; i < rt->answer_spins; i++) {
        /* relaxed: hint */
        if (heist_load_relaxed(&s->hungry) != HI_CALLED) return true;
        hi_cpu_relax();
    }
    return false;
}

/* How many threads are, the caller counted: also guests that have not looked around
 * yet, as those do not whose frames are hidden. */
static uint32_t at_work(heist_runtime *rt, uint32_t victims)
{
    uint32_t count = heist_load_relaxed(&rt->sleep.awake); /* relaxed: hint */
    for (uint32_t i = rt->workers; i < victims; i++) {
        hi_worker *g = hi_victim(rt, i);
        /* relaxed: hint */
        if (g && hi_worker_shown(g) && !heist_load_relaxed(&g->counted))
            count++;
    }
    return count;
}

hi_work hi_find_hidden(hi_worker *w, heist_frame *cursor)
{
    heist_runtime *rt = w->rt;
    uint32_t rescue = heist_load_relaxed(&rt->rescue); /* relaxed: hint */
    uint32_t n = hi_victim_count(rt);
    if (rescue == HI_RESCUE_NONE || at_work(rt, n) > rt->workers)
        return (hi_work){HI_WORK_NONE, NULL};
    for (uint32_t i = 0; i < n; i++) {
        hi_worker *victim = hi_victim(rt, i);
        hi_strand *s = victim && victim != w ? hi_worker_shown(victim) : NULL;
        while (s) {
            heist_frame *f = NULL;
            if (may_help(w, s) && hi_strand_has_private(s) && !answers(rt, s) &&
                rescue == HI_RESCUE_TAKES)
                f = hi_frame_rescue(s, cursor, w->guest ? w : NULL);
            s = heist_load_relaxed(&s->outer); /* relaxed: hint */
            if (!f) continue;
            hi_count(&w->stats.rescued, 1);
            hi_count(&w->stats.stolen, 1);
            return (hi_work){HI_WORK_FRAME, f};
        }
    }
    return (hi_work){HI_WORK_NONE, NULL};
}

bool hi_worker_is_crowded(heist_runtime *rt)
{
    /* relaxed: hint */
    return heist_load_relaxed(&rt->sleep.awake) > rt->workers;
}

bool hi_worker_visible_work(heist_runtime *rt)
{
    if (hi_runtime_has_tasks(rt)) return true;
    /* relaxed: hint */
    bool frames = heist_load_relaxed(&rt->sleep.awake) < rt->workers;
    uint32_t n = hi_victim_count(rt);
    for (uint32_t i = 0; i < n; i++) {
        hi_worker *v = hi_victim(rt, i);
        uintptr_t item = v ? hi_deque_oldest(&v->deque) : 0;
        if (item && (frames || is_for_all(v, item))) return true;
    }
    return false;
}

/* --- by turns ------------------------------------------------------------- */

/* The oldest of the own deque. */
static hi_work from_own_oldest(hi_worker *w, heist_frame *cursor)
{
    uintptr_t item;
    if (hi_deque_steal(&w->deque, &item) != HI_STEAL_TAKEN)
        return (hi_work){HI_WORK_NONE, NULL};
    return from_item(item, cursor);
}

/* The oldest of somebody else's, who may be away for long.  A few visits; the next
 * turn goes on after the last one. */
static hi_work from_another(hi_worker *w, heist_frame *cursor)
{
    uint32_t n = hi_victim_count(w->rt);
    bool crowded = hi_worker_is_crowded(w->rt);
    hi_work got = {HI_WORK_NONE, NULL};
    if (w->guest) return got;
    for (uint32_t i = 0, visits = 0; visits < VISITS && i + 1 < n; i++) {
        hi_worker *victim = hi_victim_after(w, n, w->visited++);
        if (!victim) continue;
        visits++;
        uintptr_t item = hi_deque_oldest(&victim->deque);
        if (!item || (crowded && !is_for_all(victim, item))) continue;
        if (take_oldest(w, &victim->deque, cursor, &got) != HI_STEAL_TAKEN)
            continue;
        hi_count(&w->stats.stolen, 1);
        break;
    }
    return got;
}

/*
 * Now and then what has waited longest comes first: the injector, the oldest of
 * the own deque, that of another one.  Strands that wake each other, tasks that
 * spawn each other, and whoever keeps the injector full would keep the worker to
 * themselves for ever.
 */
static hi_work in_turn(hi_worker *w, heist_frame *cursor)
{
    hi_work got = {HI_WORK_NONE, NULL};
    if (w->finishing) return got;
    for (uint32_t i = 0; i < TURNS; i++) {
        switch ((w->turns + i) % TURNS) {
        case 0: got = from_injector(w); break;
        case 1: got = from_own_oldest(w, cursor); break;
        case 2: got = from_another(w, cursor); break;
        }
        if (got.kind != HI_WORK_NONE) break;
    }
    return got;
}

static bool has_letters(const hi_worker *w)
{
    return w->ready || !hi_inbox_is_empty(&w->inbox);
}

/*
 * Is it time, and have the letters that lay there at the last turn all been read?
 * What has been begun and put aside comes before what would be begun.
 */
static bool is_due(hi_worker *w)
{
    if (w->tick % TURN_LOOK != 0) return false; /* the clock is dear */
    if (w->batches && has_letters(w)) return false;
    return hi_clock() - w->turned >= HI_TURN_TIME;
}

static void next_pick(hi_worker *w)
{
    if (++w->tick < TURN_TICK && !is_due(w)) return;
    w->batches =
        (w->ready ? 1u : 0u) + (hi_inbox_is_empty(&w->inbox) ? 0u : 1u);
    w->tick = 0;
    w->turns++;
    w->turned = hi_clock();
}

hi_work hi_find_local(hi_worker *w, heist_frame *cursor)
{
    hi_work got = {HI_WORK_NONE, NULL};
    hi_timers_expire(&w->timers);
    next_pick(w);
    if (hi_find_is_turn(w)) {
        sift_now_and_then(w);
        got = in_turn(w, cursor);
    }
    if (got.kind == HI_WORK_NONE) got = hi_find_letter(w);
    if (got.kind != HI_WORK_NONE) return got;
    /* relaxed: own-field */
    if (w->finishing && heist_load_relaxed(&w->put_aside) == 1)
        return (hi_work){HI_WORK_STRAND, w->native};
    got = from_deque(w, cursor);
    return got.kind != HI_WORK_NONE ? got : from_injector(w);
}

hi_work hi_find_search(hi_worker *w, heist_frame *cursor)
{
    hi_work got = {HI_WORK_NONE, NULL};
    const heist_runtime *rt = w->rt;
    int64_t spin = rt->spin;
    bool may = w->guest || hi_sleep_search(w);
    if (w->finishing) may = false;
    if (hi_worker_is_crowded(w->rt)) spin = 0;
    int64_t until = may && spin ? hi_clock() + spin : 0;
    /* By quanta a call stands until the next boundary. */
    bool again = rt->config.exposure == HEIST_ON_DEMAND;
    for (unsigned passes = 1; may; passes++) {
        pass p = steal_pass(w, cursor, again && passes % CALL_AGAIN == 0);
        got = p.found.kind != HI_WORK_NONE ? p.found : hi_find_local(w, cursor);
        if (got.kind != HI_WORK_NONE) break;
        if (p.retry) continue;
        bool late = hi_clock() >= until;
        if (late && p.hidden) got = hi_find_hidden(w, cursor);
        if (got.kind != HI_WORK_NONE || hi_runtime_is(w->rt, HI_ENDING)) break;
        if (late && (!spin || passes > rt->config.steal_attempts)) break;
        for (unsigned i = 0; i < 8; i++)
            hi_cpu_relax();
    }
    if (got.kind != HI_WORK_NONE) hi_sleep_found(w);
    return got;
}
