/* SPDX-License-Identifier: MIT
 *
 * worker.c: the loop that finds work (find.c), runs it and sleeps (sleep.c).
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

#include "core/find.h"
#include "core/frame.h"
#include "core/job.h"
#include "core/runtime.h"
#include "core/task.h"

#include <errno.h>

enum {
    WARM_SPARES = 4 /* that keep their memory while the worker sleeps */
};

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

static void free_spares(hi_spares *list)
{
    free_strands(&list->warm);
    free_strands(&list->hollow);
    list->count = 0;
}

void hi_worker_free_spare(hi_worker *w)
{
    free_spares(&w->spare);
    free_spares(&w->bare);
}

void hi_spares_put(hi_spares *list, hi_strand *s)
{
    s->next = list->warm;
    list->warm = s;
    list->count++;
}

hi_strand *hi_spares_take(hi_spares *list)
{
    hi_strand **from = list->warm ? &list->warm : &list->hollow, *s = *from;
    if (!s) return NULL;
    if (from == &list->warm) list->count--;
    *from = s->next;
    return s;
}

/* False: there is no more time for it. */
static bool tidy(hi_worker *w, hi_spares *list, int64_t until)
{
    if (list->count <= WARM_SPARES) return true;
    hi_strand **rest = &list->warm;
    for (int i = 0; i < WARM_SPARES; i++)
        rest = &(*rest)->next;
    for (hi_strand *s; (s = *rest); list->count--) {
        size_t done = 0;
        do
            if (hi_sleep_is_called(w) || hi_clock() >= until) return false;
        while (!hi_strand_hollow(s, &done));
        *rest = s->next;
        s->next = list->hollow;
        list->hollow = s;
    }
    return true;
}

void hi_worker_tidy(hi_worker *w, int64_t until)
{
    if (tidy(w, &w->spare, until)) tidy(w, &w->bare, until);
}

void hi_worker_fini(hi_worker *w)
{
    hi_task_free_cached(w);
    hi_worker_free_spare(w);
    hi_deque_fini(&w->deque);
}

/* --- the loop --------------------------------------------------------------- */

/* A guest's regions are counted when they end: run.c. */
static void count_busy(hi_worker *w, int64_t now)
{
    if (w->guest) return;
    hi_count(&w->stats.busy, (uint64_t)(now - w->busy_since));
    w->busy_since = now;
}

static void unpin(hi_worker *w)
{
    if (w->pinned) hi_cpu_unpin();
    w->pinned = false;
}

/* The first fork of what begins on a strand looks around (begin_own): until then the
 * watch may wait.  A strand that goes on may have forked long ago. */
static bool looks(const hi_work *got)
{
    return got->kind == HI_WORK_TASK || got->kind == HI_WORK_JOB;
}

static void see_to_watch(hi_worker *w, const hi_work *got)
{
    w->owes_watch = looks(got);
    hi_sleep_see_to_watch(w->rt, looks(got));
}

static hi_work next_work(hi_worker *w, hi_strand *s)
{
    hi_work got = hi_find_local(w, s->base);
    if (got.kind != HI_WORK_NONE) {
        if (hi_find_is_turn(w))
            count_busy(w, hi_clock()); /* it may never be idle */
        hi_sleep_found(w);
        if (w->owes_watch && !looks(&got)) see_to_watch(w, &got);
        return got;
    }
    hi_worker_show(w, NULL);
    int64_t since = hi_clock();
    count_busy(w, since);
    for (hi_wake why = HI_WAKE_WORK;;) {
        if (why != HI_WAKE_WATCH) got = hi_find_search(w, s->base);
        if (got.kind != HI_WORK_NONE) break;
        if (hi_runtime_is(w->rt, HI_ENDING) && !w->guest) {
            got.kind = HI_WORK_END;
            break;
        }
        why = hi_sleep_park(w, hi_timers_next(&w->timers));
        if (why == HI_WAKE_WATCH) got = hi_find_hidden(w, s->base);
        if (got.kind == HI_WORK_NONE) got = hi_find_local(w, s->base);
        if (got.kind == HI_WORK_NONE) continue;
        hi_sleep_found(w);
        break;
    }
    unpin(w);
    w->watch = 0;
    w->busy_since = hi_clock();
    if (w->guest && w->native->looked) w->waited += w->busy_since - since;
    hi_worker_show(w, s);
    if (got.kind != HI_WORK_END) see_to_watch(w, &got);
    return got;
}

static void step_aside(hi_worker *w, hi_strand *self, hi_strand *to)
{
    hi_spares_put(&w->spare, self);
    hi_worker_show(w, to);
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

/* For a frame: what it forks is of the same region. */
static void begin_stolen(hi_worker *w, hi_strand *s, const heist_frame *f)
{
    hi_strand_enter_region(s, hi_strand_region(hi_strand_of(f)));
    hi_strand_reset(s, false);
    if (w->rt->config.exposure == HEIST_EAGER) hi_strand_look_first(s);
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
        hi_work got = next_work(w, s);
        /* A spare strand comes back as it was left, maybe by another thread. */
        if (w->guest && got.kind != HI_WORK_STRAND)
            hi_float_modes_set(w->modes);
        switch (got.kind) {
        case HI_WORK_TASK:
            begin_own(w, s);
            hi_task_run(w, got.what, s->base);
            break;
        case HI_WORK_FRAME:
            begin_stolen(w, s, got.what);
            hi_frame_run(w, got.what, s->base);
            break;
        case HI_WORK_JOB:
            begin_own(w, s);
            run_job(w, s, got.what);
            break;
        case HI_WORK_STRAND: step_aside(w, s, got.what); break;
        case HI_WORK_END:
            hi_spares_put(&w->spare, s);
            hi_context_switch(&s->context, &w->thread_context);
            break;
        case HI_WORK_NONE: break;
        }
        hi_worker_check_process(w);
    }
}

/* A strand that runs the loop, from those put aside or a new one. */
static hi_strand *loop_strand(hi_worker *w)
{
    hi_strand *s = hi_spares_take(&w->spare);
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
    hi_spares_put(&w->spare, s);
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
        hi_work got = hi_find_letter(w);
        if (got.kind == HI_WORK_STRAND) {
            to = got.what;
        } else if (got.kind == HI_WORK_TASK) {
            *last = &((hi_task *)got.what)->message.node;
            last = &(*last)->next;
        } else {
            /* Nobody tells when there is memory again: look now and then. */
            int64_t until = hi_clock() + HI_MEMORY_LOOK;
            hi_timers_expire(&w->timers);
            int64_t first = hi_timers_next(&w->timers);
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
