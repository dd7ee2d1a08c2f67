/* SPDX-License-Identifier: MIT
 *
 * task.c: spawn, broadcast and scopes.
 *
 * Edges
 *   T1  taker  room + 1; fence; waiting  <>  spawner  waiting; fence; push
 *   T3  cancel  release cancelled        ->  task  acquire cancelled
 */
#include "core/task.h"

#include "core/frame.h"
#include "core/job.h"
#include "core/runtime.h"
#include "queue/memory.h"

#include <errno.h>

enum {
    TASKS_CACHED = 256, /* per worker */
    ERRNO_MAX = 4095
};

/* --- memory ------------------------------------------------------------------ */

static hi_task *task_alloc(hi_worker *w, heist_runtime *rt)
{
    if (w && w->free_tasks) {
        hi_task *t = w->free_tasks;
        w->free_tasks = (hi_task *)t->message.node.next;
        w->free_count--;
        return t;
    }
    return hi_alloc(&rt->config.allocator, sizeof(hi_task), _Alignof(hi_task));
}

static void task_free(hi_worker *w, heist_runtime *rt, hi_task *t)
{
    if (t->borrowed) return;
    if (w && !w->guest && w->free_count < TASKS_CACHED) {
        t->message.node.next = (hi_inbox_node *)w->free_tasks;
        w->free_tasks = t;
        w->free_count++;
        return;
    }
    hi_free(&rt->config.allocator, t, sizeof *t);
}

void hi_task_free_cached(hi_worker *w)
{
    while (w->free_tasks) {
        hi_task *t = w->free_tasks;
        w->free_tasks = (hi_task *)t->message.node.next;
        hi_free(&w->rt->config.allocator, t, sizeof *t);
    }
    w->free_count = 0;
}

/* --- running --------------------------------------------------------------------- */

/* Keeps the error of the task that was spawned first. */
static void scope_failed(heist_scope *s, uint64_t order, int rc)
{
    if (rc < -ERRNO_MAX) rc = -ERRNO_MAX; /* not an errno, but a failure */
    uint64_t mine = order << 16 | (uint64_t)-rc;
    heist_add_relaxed(&s->failures, 1);           /* relaxed: counter */
    uint64_t old = heist_load_relaxed(&s->error); /* relaxed: before-C2 */
    /* relaxed: before-C2 (an earlier one's error stays) */
    while (mine < old && !heist_cas_relaxed(&s->error, &old, mine))
        ;
}

static void task_call(const hi_task *t, heist_ctx c)
{
    if (t->scope && heist_scope_is_cancelled(t->scope)) return;
    int rc = t->fn(c, t->arg);
    if (t->scope && rc < 0) scope_failed(t->scope, t->order, rc);
}

/* Borrowed memory may be gone when the function has returned, so it is not
 * looked at after that. */
void hi_task_run(hi_worker *w, hi_task *t, heist_frame *cursor)
{
    heist_ctx c = {&hi_strand_of(cursor)->hot, cursor};
    const hi_task mine = *t;
    task_free(w, w->rt, t);
    task_call(&mine, c);
    hi_worker_check_process(w);
    hi_check_joined(cursor);
    hi_count(&w->stats.executed, 1);
    heist_latch *done = mine.scope ? &mine.scope->latch : mine.done;
    if (done) heist_latch_arrive(done);
}

static void nested(heist_ctx c, void *arg)
{
    task_call(arg, c);
    hi_count(&hi_worker_of(c)->stats.executed, 1);
}

/* --- into the runtime ------------------------------------------------------------ */

void hi_task_room(heist_runtime *rt)
{
    heist_fence_seq_cst(); /* T1: room was made, now look who waits. */
    /* relaxed: after-T1 */
    if (heist_load_relaxed(&rt->waiting) == 0) return;
    heist_add_relaxed(&rt->room, 1); /* relaxed: after-T1 */
    hi_futex_wake(&rt->room, INT32_MAX);
}

/*
 * Whose task finds room always?  A scope's: its owner cannot be told that there is
 * none, and were it to run the task itself, that might wait for what it would have
 * done next.  And one of who works for another runtime, or in a region of another
 * one: were it to wait, nobody would run what the tasks there wait for in turn.
 */
static bool has_room_always(const hi_task *t, heist_time deadline)
{
    return t->scope || (deadline > HEIST_NOW && hi_worker_self());
}

/* From a foreign thread.  Waits for room until the deadline. */
static int inject(heist_runtime *rt, hi_task *t, heist_time deadline)
{
    if (hi_injector_push(&rt->injector, (uintptr_t)t)) return 0;
    if (has_room_always(t, deadline)) {
        hi_inbox_post(&rt->overflow, &t->message.node);
        return 0;
    }
    if (deadline <= HEIST_NOW) return -EAGAIN;
    int rc = 0;
    heist_add_relaxed(&rt->waiting, 1); /* relaxed: before-T1 */
    for (;;) {
        uint32_t room = heist_load_relaxed(&rt->room); /* relaxed: before-T1 */
        heist_fence_seq_cst(); /* T1: announced, now try once more. */
        if (hi_injector_push(&rt->injector, (uintptr_t)t)) {
            rc = 0; /* also when the deadline has passed: it is in */
            break;
        }
        if (rc < 0) break;
        rc = hi_futex_wait(&rt->room, room, deadline);
    }
    heist_sub_relaxed(&rt->waiting, 1); /* relaxed: hint */
    return rc;
}

static int submit_foreign(heist_runtime *rt, hi_task *t, heist_time deadline)
{
    hi_visit_begin(rt);
    bool running = hi_runtime_is(rt, HI_RUNNING);
    int rc = running ? inject(rt, t, deadline) : -ESHUTDOWN;
    if (rc == 0) hi_sleep_post(rt);
    hi_visit_end(rt);
    return rc;
}

static int submit(heist_runtime *rt, hi_worker *w, hi_task *t,
                  heist_time deadline)
{
    if (!w || w->rt != rt) return submit_foreign(rt, t, deadline);
    int rc = hi_worker_push_task(w, t);
    if (rc == 0) hi_sleep_post(rt);
    return rc;
}

int hi_task_submit(heist_runtime *rt, hi_task *t, heist_time deadline)
{
    return submit(rt, hi_worker_self(), t, deadline);
}

int heist_spawn(heist_runtime *rt, heist_task_fn *fn, void *arg,
                heist_latch *done, heist_time deadline)
{
    rt = hi_runtime_get(rt);
    if (!rt) return -ENOMEM;
    hi_worker *w = hi_worker_self();
    hi_task *t = task_alloc(w && w->rt == rt ? w : NULL, rt);
    if (!t) return -ENOMEM;
    *t = (hi_task){.fn = fn, .arg = arg, .done = done};
    heist_allocator a = rt->config.allocator; /* rt may be gone when refused */
    int rc = submit(rt, w, t, deadline);
    if (rc < 0) hi_free(&a, t, sizeof *t);
    return rc;
}

/* --- broadcast ------------------------------------------------------------------- */

int heist_broadcast(heist_runtime *rt, heist_task_fn *fn, void *arg)
{
    rt = hi_runtime_get(rt);
    if (!rt) return -ENOMEM;
    hi_worker *self = hi_worker_self();
    bool ours = self && self->rt == rt;
    size_t bytes = rt->workers * sizeof(hi_task);
    hi_task *t = hi_alloc(&rt->config.allocator, bytes, _Alignof(hi_task));
    if (!t) return -ENOMEM;
    heist_latch done;
    heist_latch_init(&done, rt->workers);
    hi_visit_begin(rt);
    bool go = ours || hi_runtime_is(rt, HI_RUNNING);
    for (unsigned i = 0; go && i < rt->workers; i++) {
        t[i] = (hi_task){.fn = fn, .arg = arg, .done = &done, .borrowed = true};
        t[i].message.kind = HI_MESSAGE_TASK;
        hi_inbox_post(&rt->pool[i].inbox, &t[i].message.node);
        hi_sleep_wake(&rt->pool[i]);
    }
    if (go) heist_latch_wait(&done, HEIST_FOREVER);
    hi_free(&rt->config.allocator, t, bytes);
    hi_visit_end(rt);
    return go ? 0 : -ESHUTDOWN;
}

/* --- scopes ---------------------------------------------------------------------- */

void heist_scope_open(heist_scope *s, heist_runtime *rt)
{
    s->rt = rt ? rt : hi_runtime_get(NULL);
    heist_latch_init(&s->latch, 1);
    heist_init(&s->spawned, 0);
    heist_init(&s->error, UINT64_MAX);
    heist_init(&s->failures, 0);
    heist_init(&s->cancelled, 0);
}

/* Nobody can take it: run it here.  A worker of another runtime stays in that
 * one: two of them that became each other's guests would wait for ever. */
static void run_here(heist_scope *s, hi_task *t)
{
    int rc = heist_run(hi_worker_self() ? NULL : s->rt, nested, t);
    if (rc < 0) scope_failed(s, t->order, rc);
    heist_latch_arrive(&s->latch);
}

void heist_scope_spawn(heist_scope *s, heist_task_fn *fn, void *arg)
{
    heist_runtime *rt = hi_runtime_get(s->rt);
    hi_worker *w = hi_worker_self();
    hi_task local = {.fn = fn, .arg = arg, .scope = s};
    local.order = heist_add_relaxed(&s->spawned, 1); /* relaxed: counter */
    /* relaxed: counter (the spawner is counted itself) */
    uint64_t open = heist_add_relaxed(&s->latch.count, 1);
    hi_check(open != 0, "spawning into a closed scope");
    (void)open;
    hi_task *t = rt ? task_alloc(w && w->rt == rt ? w : NULL, rt) : NULL;
    if (t) {
        heist_allocator a = rt->config.allocator; /* as in heist_spawn */
        *t = local;
        if (submit(rt, w, t, HEIST_NOW) == 0) return;
        hi_free(&a, t, sizeof *t);
    }
    run_here(s, &local);
}

void heist_scope_cancel(heist_scope *s)
{
    heist_store_release(&s->cancelled, 1); /* T3: why we cancel. */
}

bool heist_scope_is_cancelled(const heist_scope *s)
{
    return heist_load_acquire(&s->cancelled) != 0; /* T3: why it was. */
}

uint64_t heist_scope_failures(const heist_scope *s)
{
    return heist_load_relaxed(&s->failures); /* relaxed: counter */
}

int heist_scope_close(heist_scope *s, heist_time deadline)
{
    /* relaxed: counter */
    hi_check(heist_load_relaxed(&s->latch.count) != 0,
             "closing a closed scope");
    heist_latch_arrive(&s->latch);
    int rc = heist_latch_wait(&s->latch, deadline);
    if (rc < 0) {
        heist_scope_cancel(s);
        heist_latch_wait(&s->latch, HEIST_FOREVER);
    }
    uint64_t error = heist_load_relaxed(&s->error); /* relaxed: after-C2 */
    if (error != UINT64_MAX) return -(int)(error & 0xffff);
    if (rc < 0) return rc;
    return heist_scope_is_cancelled(s) ? -ECANCELED : 0;
}
