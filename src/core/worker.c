/* SPDX-License-Identifier: MIT
 *
 * worker.c: the loop that finds work, runs it and sleeps.
 *
 * Every strand of a worker runs the same loop.  When the code that a strand
 * runs has to wait, the strand is put aside in the middle of it, and the worker
 * goes on in the loop of another one; when it may go on, its message comes
 * through the inbox and the loop that finds it steps aside in turn.  All of it
 * happens on the worker's own thread.
 *
 * Edges (worker.h)
 *   W2  hi_worker_show  ->  hi_worker_shown   its base, split
 */
#include "core/worker.h"

#include "core/frame.h"
#include "core/job.h"
#include "core/runtime.h"
#include "core/task.h"
#include "queue/memory.h"

#include <errno.h>

enum {
    TURN_TIME = 1000000, /* ns from one turn of what has waited to the next, */
    TURN_TICK = 61,      /* ... and picks, whichever comes first */
    TURN_LOOK = 8,       /* picks from one look at the clock to the next */
    TURNS = 3,           /* ... and so many kinds of it there are */
    VISITS = 16,         /* to others' deques in one turn */
    WARM_SPARES = 4,     /* that keep their memory while the worker sleeps */
    SIFT_LEAST = 64,     /* tickets left over before somebody cares */
    BATCH = 16,          /* taken from the injector in one go */
    CALL_AGAIN = 4       /* passes of a search from one call to the next */
};

/* What a worker can do next. */
typedef enum work_kind {
    WORK_NONE,
    WORK_TASK,
    WORK_FRAME,
    WORK_JOB,
    WORK_STRAND,
    WORK_END
} work_kind;

typedef struct work {
    work_kind kind;
    void *what;
} work;

HI_HOT hi_worker *hi_worker_self(void)
{
    hi_worker *w = hi_self_get();
    return w && w->guest && !w->inside ? NULL : w;
}

int hi_worker_init(hi_worker *w, const heist_allocator *allocator)
{
    int rc = hi_deque_init(&w->deque, 64, 0, allocator);
    if (rc < 0) return rc;
    hi_inbox_init(&w->inbox);
    w->generation = hi_generation();
    heist_init(&w->strand, (hi_strand *)NULL);
    heist_init(&w->parker, 0);
    heist_init(&w->idle_own, 0);
    w->idle_word = &w->idle_own;
    w->idle_bit = 1;
    w->home = -1;
    return 0;
}

static void free_strands(hi_strand **list)
{
    for (hi_strand *s; (s = *list);) {
        *list = s->next;
        hi_strand_destroy(s);
    }
}

void hi_worker_free_spare(hi_worker *w)
{
    free_strands(&w->spare);
    w->warm = 0;
    free_strands(&w->hollow);
    free_strands(&w->bare);
}

void hi_worker_fini(hi_worker *w)
{
    hi_task_free_cached(w);
    hi_worker_free_spare(w);
    hi_deque_fini(&w->deque);
}

/* --- timers -------------------------------------------------------------- */

/* Runs the timers that are due: the strands that wait with them go on. */
static void expire(hi_worker *w)
{
    if (!w->timers.earliest) return;
    int64_t now = hi_clock();
    for (hi_timer *t; (t = hi_timers_due(&w->timers, now));)
        t->expired(t);
}

/* When the worker must be awake at the latest. */
static int64_t next_deadline(const hi_worker *w)
{
    const hi_timer *t = w->timers.earliest;
    return t ? t->deadline : HEIST_FOREVER;
}

/* --- where work comes from ------------------------------------------------ */

static work from_item(uintptr_t item, heist_frame *cursor)
{
    if (hi_ticket_is_task(item)) return (work){WORK_TASK, (void *)item};
    if (hi_ticket_is_job(item)) return (work){WORK_JOB, hi_ticket_job(item)};
    heist_frame *f = hi_ticket_frame(item);
    if (hi_frame_take(f, cursor)) return (work){WORK_FRAME, f};
    return (work){WORK_NONE, NULL}; /* its owner has taken it back */
}

static hi_task *posted_task(hi_inbox_node *node)
{
    hi_message *m = heist_container(node, hi_message, node);
    return heist_container(m, hi_task, message);
}

static work from_inbox(hi_worker *w)
{
    if (!w->ready && !hi_inbox_is_empty(&w->inbox))
        w->ready = hi_inbox_take(&w->inbox);
    hi_inbox_node *node = w->ready;
    if (!node) return (work){WORK_NONE, NULL};
    w->heard = true;
    w->ready = node->next;
    hi_message *m = heist_container(node, hi_message, node);
    if (m->kind == HI_MESSAGE_TASK) return (work){WORK_TASK, posted_task(node)};
    return (work){WORK_STRAND, heist_container(m, hi_strand, message)};
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

/*
 * Is this item, with all newer ones seen before it, needed?  Of a frame that is not
 * exposed no ticket is, of one that is only the newest: the exposed frames of a strand
 * were exposed from the lowest up, so going back in time they come from the highest
 * down.  A ticket at or above one of its strand that was kept is left over.
 */
static bool is_needed(uintptr_t item)
{
    if (!hi_ticket_is_frame(item)) return true;
    heist_frame *f = hi_ticket_frame(item);
    hi_strand *s = hi_strand_of(f);
    if (f >= s->sifted || !hi_frame_is_exposed(f)) return false;
    s->sifted = f;
    return true;
}

/* Takes all items out of the deque, newest first; how many of them are needed.  There
 * were `most`, and others only take some. */
static size_t pop_needed(hi_worker *w, uintptr_t *items, size_t most)
{
    size_t n = 0, needed = 0;
    while (n < most && (items[n] = hi_deque_pop(&w->deque)) != 0)
        n++;
    for (size_t i = 0; i < n; i++) {
        if (!hi_ticket_is_frame(items[i])) continue;
        hi_strand *s = hi_strand_of(hi_ticket_frame(items[i]));
        s->sifted = hi_strand_end(s);
    }
    for (size_t i = 0; i < n; i++)
        if (is_needed(items[i])) items[needed++] = items[i];
    return needed;
}

void hi_worker_sift(hi_worker *w)
{
    size_t n = hi_deque_length(&w->deque), bytes = n * sizeof(uintptr_t);
    uintptr_t *items = NULL;
    if (n && !(items = hi_alloc_raw(&w->allocator, bytes, HEIST_LINE)))
        return; /* another time */
    w->buried = 0;
    size_t needed = pop_needed(w, items, n);
    for (size_t i = needed; i-- > 0;) { /* there is room */
        if (hi_ticket_is_task(items[i]))
            hi_worker_push_task(w, (hi_task *)items[i]);
        else
            hi_deque_push(&w->deque, items[i]);
    }
    hi_free(&w->allocator, items, bytes);
    /* While they were in our hands nobody else could see them. */
    if (needed) hi_sleep_post(w->rt);
}

/* A frame taken back leaves its ticket behind if something lies above it, and strands
 * that wake each other would heap up ever more of them. */
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

static work from_deque(hi_worker *w, heist_frame *cursor)
{
    uintptr_t item;
    work got = {WORK_NONE, NULL};
    while (got.kind == WORK_NONE && (item = hi_deque_pop(&w->deque)) != 0) {
        if (may_begin(w, item))
            got = from_item(item, cursor);
        else
            leave_to_others(w, (hi_task *)item);
    }
    return got;
}

/* Takes all that is in the overflow; but for the oldest it goes to its deque, the
 * newest first, so that the oldest is popped next. */
static work from_overflow(hi_worker *w)
{
    hi_inbox_node *oldest = hi_inbox_take(&w->rt->overflow), *newest = NULL;
    if (!oldest) return (work){WORK_NONE, NULL};
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
    return (work){WORK_TASK, posted_task(oldest)};
}

/* Takes this worker's share of the injector; all but one go to its deque, where
 * others find them. */
static work from_injector(hi_worker *w)
{
    heist_runtime *rt = w->rt;
    uintptr_t items[BATCH];
    if (w->guest || !hi_runtime_has_tasks(rt)) return (work){WORK_NONE, NULL};
    /* By turns: either may be filled as fast as it is emptied. */
    w->overflow = !w->overflow;
    work got = {WORK_NONE, NULL};
    if (w->overflow) got = from_overflow(w);
    if (got.kind != WORK_NONE) return got;
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
    return (work){WORK_TASK, (hi_task *)items[0]};
}

typedef struct pass {
    work found;
    bool retry;  /* met a race: there is work, somebody else was faster */
    bool hidden; /* met private frames */
} pass;

static hi_steal take_oldest(const hi_worker *w, hi_deque *d,
                            heist_frame *cursor, work *got)
{
    uintptr_t item;
    if (w->guest) { /* frames of its region */
        heist_frame *f = NULL;
        hi_steal result =
            hi_frame_take_wish(d, (hi_wish){.guest = w}, cursor, &f);
        if (f) *got = (work){WORK_FRAME, f};
        return result;
    }
    hi_steal result = hi_deque_steal(d, &item);
    if (result != HI_STEAL_TAKEN) return result;
    *got = from_item(item, cursor);
    /* A stale ticket: there may be more. */
    return got->kind == WORK_NONE ? HI_STEAL_RETRY : HI_STEAL_TAKEN;
}

/* Of n victims the i-th after w, which is none of them; NULL: it is not here. */
static hi_worker *victim_after(const hi_worker *w, uint32_t n, uint32_t i)
{
    return hi_victim(w->rt, (w->index + 1 + i % (n - 1)) % n);
}

/* Visits every other worker once, from a random start; calls for what is hidden,
 * or calls again. */
static pass steal_pass(hi_worker *w, heist_frame *cursor, bool again)
{
    pass p = {{WORK_NONE, NULL}, false, false};
    heist_runtime *rt = w->rt;
    uint32_t n = hi_victim_count(rt);
    bool crowded = hi_worker_is_crowded(rt);
    uint32_t start = n > 1 ? hi_random_below(&w->random, n - 1) : 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        hi_worker *victim = victim_after(w, n, start + i);
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

hi_job *hi_job_pop(hi_worker *w)
{
    if (!hi_ticket_is_job(hi_deque_newest(&w->deque))) return NULL;
    uintptr_t item = hi_deque_pop(&w->deque);
    return item ? hi_ticket_job(item) : NULL;
}

hi_job *hi_job_pop_in(hi_worker *w, const hi_job *low, const hi_job *high)
{
    uintptr_t item = hi_deque_newest(&w->deque);
    if (item < hi_job_ticket(low) || item >= hi_job_ticket(high)) return NULL;
    return hi_job_pop(w);
}

hi_job *hi_job_steal(hi_worker *w, const hi_job *low, const hi_job *high)
{
    uint32_t n = hi_victim_count(w->rt);
    uint32_t start = n > 1 ? hi_random_below(&w->random, n - 1) : 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uintptr_t item;
        hi_worker *victim = victim_after(w, n, start + i);
        if (!victim ||
            hi_deque_steal_range(&victim->deque, hi_job_ticket(low),
                                 hi_job_ticket(high), &item) != HI_STEAL_TAKEN)
            continue;
        hi_count(&w->stats.stolen, 1);
        return hi_ticket_job(item);
    }
    return NULL;
}

/* One of the owner's jobs, as far as one can be had. */
static hi_job *find_job(heist_ctx c, hi_worker *w, const hi_job_owner *owner)
{
    hi_job *job = hi_job_pop(w);
    if (!job) return w->rt ? hi_job_steal(w, owner->low, owner->high) : NULL;
    if (owner->has(owner, job)) return job;
    if (hi_job_push(w, job))
        hi_job_post(w);
    else
        job->source->run(c, job); /* no memory to put it back */
    return NULL;
}

void hi_job_help(heist_ctx c, const hi_job_owner *owner)
{
    hi_worker *w = hi_worker_of(c);
    int64_t until = 0;
    while (heist_latch_wait(owner->ended, HEIST_NOW) < 0) {
        hi_job *job = find_job(c, w, owner);
        if (job) {
            job->source->run(c, job);
            until = 0;
            continue;
        }
        int64_t now = hi_clock();
        if (!until) until = now + (w->rt ? w->rt->spin : 0);
        if (now >= until) break;
        for (int i = 0; i < 8; i++)
            hi_cpu_relax();
    }
}

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

/* Takes a frame from behind somebody's long leaf; and calls those who would not
 * look by themselves, because all their forks are at one depth. */
static work rescue_pass(hi_worker *w, heist_frame *cursor)
{
    heist_runtime *rt = w->rt;
    uint32_t rescue = heist_load_relaxed(&rt->rescue); /* relaxed: hint */
    if (rescue == HI_RESCUE_NONE || hi_worker_is_crowded(rt))
        return (work){WORK_NONE, NULL};
    uint32_t n = hi_victim_count(rt);
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
            return (work){WORK_FRAME, f};
        }
    }
    return (work){WORK_NONE, NULL};
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

/* --- the loop --------------------------------------------------------------- */

/* A guest's regions are counted when they end: run.c. */
static void count_busy(hi_worker *w, int64_t now)
{
    if (w->guest) return;
    hi_count(&w->stats.busy, (uint64_t)(now - w->busy_since));
    w->busy_since = now;
}

/* The oldest of the own deque. */
static work from_own_oldest(hi_worker *w, heist_frame *cursor)
{
    uintptr_t item;
    if (hi_deque_steal(&w->deque, &item) != HI_STEAL_TAKEN)
        return (work){WORK_NONE, NULL};
    return from_item(item, cursor);
}

/* The oldest of somebody else's, who may be away for long.  A few visits; the next
 * turn goes on from there. */
static work from_another(hi_worker *w, heist_frame *cursor)
{
    uint32_t n = hi_victim_count(w->rt), turn = w->turns / TURNS;
    bool crowded = hi_worker_is_crowded(w->rt);
    work got = {WORK_NONE, NULL};
    if (w->guest) return got;
    for (uint32_t i = 0, visits = 0; visits < VISITS && i + 1 < n; i++) {
        hi_worker *victim = victim_after(w, n, turn * VISITS + i);
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
static work in_turn(hi_worker *w, heist_frame *cursor)
{
    work got = {WORK_NONE, NULL};
    if (w->finishing) return got;
    for (uint32_t i = 0; i < TURNS; i++) {
        switch ((w->turns + i) % TURNS) {
        case 0: got = from_injector(w); break;
        case 1: got = from_own_oldest(w, cursor); break;
        case 2: got = from_another(w, cursor); break;
        }
        if (got.kind != WORK_NONE) break;
    }
    return got;
}

/* Is it one of the picks in which what has waited longest comes first? */
static bool is_turn(const hi_worker *w)
{
    return w->tick == 0;
}

/*
 * Is it time, and have letters, if there are some, had their turn as well?  What has
 * been begun and put aside comes before what would be begun.
 */
static bool is_due(hi_worker *w)
{
    if (w->tick % TURN_LOOK != 0) return false; /* the clock is dear */
    bool letters = w->ready || !hi_inbox_is_empty(&w->inbox);
    /* relaxed: own-field */
    uint64_t begun = heist_load_relaxed(&w->put_aside);
    if (letters && (!w->heard || w->tick <= begun)) return false;
    return hi_clock() - w->turned >= TURN_TIME;
}

static void next_pick(hi_worker *w)
{
    if (++w->tick < TURN_TICK && !is_due(w)) return;
    w->heard = false;
    w->tick = 0;
    w->turns++;
    w->turned = hi_clock();
}

/* What needs no search: strands whose deadline has come, own deque and inbox, the
 * injector, and now and then what has waited longest. */
static work local(hi_worker *w, heist_frame *cursor)
{
    work got = {WORK_NONE, NULL};
    expire(w);
    next_pick(w);
    if (is_turn(w)) {
        sift_now_and_then(w);
        got = in_turn(w, cursor);
    }
    if (got.kind == WORK_NONE) got = from_inbox(w);
    if (got.kind != WORK_NONE) return got;
    /* relaxed: own-field */
    if (w->finishing && heist_load_relaxed(&w->put_aside) == 1)
        return (work){WORK_STRAND, w->native};
    got = from_deque(w, cursor);
    return got.kind != WORK_NONE ? got : from_injector(w);
}

/*
 * Searches until there is something or it has been long enough; not after a pass
 * that met a race, there is work.  A guest does not count as a
 * searcher: nobody relies on it.
 */
static work search(hi_worker *w, heist_frame *cursor)
{
    work got = {WORK_NONE, NULL};
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
        got = p.found.kind != WORK_NONE ? p.found : local(w, cursor);
        if (got.kind != WORK_NONE) break;
        if (p.retry) continue;
        bool late = hi_clock() >= until;
        if (late && p.hidden) got = rescue_pass(w, cursor);
        if (got.kind != WORK_NONE || hi_runtime_is(w->rt, HI_ENDING)) break;
        if (late && (!spin || passes > rt->config.steal_attempts)) break;
        for (unsigned i = 0; i < 8; i++)
            hi_cpu_relax();
    }
    if (got.kind != WORK_NONE) hi_sleep_found(w);
    return got;
}

static void unpin(hi_worker *w)
{
    if (w->pinned) hi_cpu_unpin();
    w->pinned = false;
}

static work next_work(hi_worker *w, hi_strand *s)
{
    work got = local(w, s->base);
    if (got.kind != WORK_NONE) {
        if (is_turn(w)) count_busy(w, hi_clock()); /* it may never be idle */
        hi_sleep_found(w);
        return got;
    }
    hi_worker_show(w, NULL);
    int64_t since = hi_clock();
    count_busy(w, since);
    for (hi_wake why = HI_WAKE_WORK;;) {
        if (why != HI_WAKE_WATCH) got = search(w, s->base);
        if (got.kind != WORK_NONE) break;
        if (hi_runtime_is(w->rt, HI_ENDING) && !w->guest) {
            got.kind = WORK_END;
            break;
        }
        why = hi_sleep_park(w, next_deadline(w));
        if (why == HI_WAKE_DEADLINE) expire(w);
        if (why == HI_WAKE_WATCH) got = rescue_pass(w, s->base);
        if (got.kind == WORK_NONE) got = local(w, s->base);
        if (got.kind == WORK_NONE) continue;
        hi_sleep_found(w);
        break;
    }
    unpin(w);
    w->watch = 0;
    w->busy_since = hi_clock();
    if (w->guest && w->native->looked) w->waited += w->busy_since - since;
    hi_worker_show(w, s);
    if (got.kind != WORK_END)
        hi_sleep_see_to_watch(w->rt, got.kind != WORK_FRAME);
    return got;
}

static void put_spare(hi_worker *w, hi_strand *s)
{
    s->next = w->spare;
    w->spare = s;
    w->warm++;
}

static hi_strand *take_spare(hi_worker *w)
{
    hi_strand **list = w->spare ? &w->spare : &w->hollow, *s = *list;
    if (!s) return NULL;
    if (list == &w->spare) w->warm--;
    *list = s->next;
    return s;
}

void hi_worker_tidy(hi_worker *w, int64_t until)
{
    if (w->warm <= WARM_SPARES) return;
    hi_strand **rest = &w->spare;
    for (int i = 0; i < WARM_SPARES; i++)
        rest = &(*rest)->next;
    for (hi_strand *s; (s = *rest); w->warm--) {
        if (hi_sleep_is_called(w) || hi_clock() >= until) break;
        hi_strand_hollow(s);
        *rest = s->next;
        s->next = w->hollow;
        w->hollow = s;
    }
}

static void step_aside(hi_worker *w, hi_strand *self, hi_strand *to)
{
    put_spare(w, self);
    hi_worker_show(w, to);
    hi_strand_look_first(to);
    hi_context_switch(&self->context, &to->context);
    hi_worker_show(w, self);
}

static void run_job(hi_worker *w, hi_strand *s, hi_job *job)
{
    job->source->run((heist_ctx){&s->hot, s->base}, job);
    hi_count(&w->stats.executed, 1);
}

/* For a task or a job.  Those that a guest runs are of its region: what they fork
 * it takes. */
static void begin_own(hi_worker *w, hi_strand *s)
{
    hi_strand_enter_region(s, w->guest ? w : NULL);
    hi_strand_reset(s, true);
    hi_strand_look_first(s);
}

void hi_worker_check_process(const hi_worker *w)
{
    if (HEIST_UNLIKELY(w->generation != hi_generation()))
        hi_die(__FILE__, __LINE__,
               "fork() on a worker: the child returned from what it ran there");
}

static void loop(void *strand)
{
    hi_strand *s = strand;
    hi_worker *w = heist_load_relaxed(&s->worker); /* relaxed: own-field */
    hi_float_modes_set(w->modes); /* not those of the code that waits */
    hi_worker_show(w, s);
    for (;;) {
        work got = next_work(w, s);
        /* A spare strand comes back as it was left, maybe by another thread. */
        if (w->guest && got.kind != WORK_STRAND) hi_float_modes_set(w->modes);
        switch (got.kind) {
        case WORK_TASK:
            begin_own(w, s);
            hi_task_run(w, got.what, s->base);
            break;
        case WORK_FRAME:
            hi_strand_enter_region(s, hi_strand_region(hi_strand_of(got.what)));
            hi_strand_reset(s, false);
            if (w->rt->config.exposure == HEIST_EAGER) hi_strand_look_first(s);
            hi_frame_run(w, got.what, s->base);
            break;
        case WORK_JOB:
            begin_own(w, s);
            run_job(w, s, got.what);
            break;
        case WORK_STRAND: step_aside(w, s, got.what); break;
        case WORK_END:
            put_spare(w, s);
            hi_context_switch(&s->context, &w->thread_context);
            break;
        case WORK_NONE: break;
        }
        hi_worker_check_process(w);
    }
}

/* A strand that runs the loop, from those put aside or a new one. */
static hi_strand *loop_strand(hi_worker *w)
{
    hi_strand *s = take_spare(w);
    if (s) return s;
    s = hi_strand_create(w->rt->config.stack_bytes);
    if (!s) return NULL;
    heist_store_relaxed(&s->worker, w); /* relaxed: own-field */
    hi_strand_reset(s, true);
    hi_context_make(&s->context, s->stack, s->stack_bytes, loop, s);
    return s;
}

int hi_worker_prepare(hi_worker *w)
{
    hi_strand *s = loop_strand(w);
    if (!s) return -ENOMEM;
    put_spare(w, s);
    return 0;
}

/*
 * Without memory for another strand: wait here for our own message, for that of
 * another strand, or for memory.  Tasks that are sent to us are kept for the
 * next loop: on top of this strand they would cover it, and it could not go on
 * before them.
 */
static hi_strand *wait_in_place(hi_worker *w)
{
    hi_inbox_node *kept = NULL, **last = &kept;
    hi_strand *to = NULL;
    int64_t since = hi_clock();
    while (!to && !(to = loop_strand(w))) {
        work got = from_inbox(w);
        if (got.kind == WORK_STRAND) {
            to = got.what;
        } else if (got.kind == WORK_TASK) {
            *last = &((hi_task *)got.what)->message.node;
            last = &(*last)->next;
        } else {
            /* Nobody tells when there is memory again: look now and then. */
            int64_t until = hi_clock() + HI_MEMORY_LOOK;
            expire(w);
            int64_t first = next_deadline(w);
            if (first < until) until = first;
            hi_wake why = hi_sleep_park(w, until);
            hi_sleep_found(w);
            hi_sleep_see_to_watch(w->rt, false); /* we cannot */
            /* What there is to do may not be for us; a letter can wait. */
            hi_futex nobody;
            heist_init(&nobody, 0);
            if (why == HI_WAKE_WORK && hi_inbox_is_empty(&w->inbox))
                hi_futex_wait(&nobody, 0, until);
        }
    }
    unpin(w);
    int64_t slept = hi_clock() - since;
    w->busy_since += slept;
    if (w->guest && w->native->looked) w->waited += slept;
    *last = w->ready;
    w->ready = kept;
    return to;
}

/* Does s stand on the stack of the guest's thread? */
static bool is_native(const hi_worker *g, const hi_strand *s)
{
    while (s && s != g->native)
        s = heist_load_relaxed(&s->outer); /* relaxed: own-field */
    return s != NULL;
}

void hi_worker_suspend(hi_worker *w, hi_strand *s)
{
    hi_thread_state saved; /* the thread's, and so every strand's of it */
    hi_thread_state_take(&saved);
    if (w->guest && is_native(w, s)) w->modes = hi_float_modes();
    hi_count(&w->stats.suspended, 1);
    hi_count(&w->put_aside, 1);
    hi_strand *to = loop_strand(w);
    if (!to) to = wait_in_place(w);
    if (to != s) {
        hi_worker_show(w, to);
        hi_context_switch(&s->context, &to->context);
    }
    hi_worker_show(w, s);
    uint64_t aside = heist_load_relaxed(&w->put_aside); /* relaxed: own-field */
    /* S8: w is awake, and then has one strand less put aside.  kept: only after
     * wait_in_place no fence of S9 stands between. */
    heist_store_release(&w->put_aside, aside - 1);
    hi_thread_state_put(&saved);
}

void hi_worker_finish(hi_worker *g)
{
    if (g->orphan) return; /* they are the parent's */
    g->finishing = true;
    hi_worker_suspend(g, g->native);
    g->finishing = false;
}

void hi_strand_resume(hi_strand *s)
{
    /* relaxed: own-field (a suspended strand's worker does not change) */
    hi_worker *w = heist_load_relaxed(&s->worker);
    if (w->generation != hi_generation()) return; /* of the parent's thread */
    heist_runtime *rt = w->rt;
    hi_worker *self = hi_worker_self();
    /* Once posted, the strand may end, and with it the runtime: unless the
     * caller works for it, it counts as a visitor until it has woken w. */
    bool visit = !self || self->rt != rt;
    if (visit) hi_visit_begin(rt);
    hi_inbox_post(&w->inbox, &s->message.node);
    hi_sleep_wake(w);
    if (visit) hi_visit_end(rt);
}

void hi_worker_main(void *worker)
{
    hi_worker *w = worker;
    heist_runtime *rt = w->rt;
    hi_context_adopt(&w->thread_context);
    /* The hooks are foreign to the runtime, as any thread's code is; one that
     * was a guest in it has a seat. */
    if (!hi_runtime_may_hook(rt)) return;
    if (rt->config.on_worker_start)
        rt->config.on_worker_start(rt->config.user, w->index);
    hi_worker_check_process(w);
    void *seat = hi_self_get();
    hi_self_set(w);
    w->modes = hi_float_modes();
    w->busy_since = hi_clock();
    hi_strand *s = loop_strand(w); /* made by heist_start: cannot fail */
    hi_context_switch(&w->thread_context, &s->context);
    hi_self_set(seat);
    if (rt->config.on_worker_stop)
        rt->config.on_worker_stop(rt->config.user, w->index);
    hi_worker_check_process(w);
}
