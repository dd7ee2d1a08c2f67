/* SPDX-License-Identifier: MIT
 *
 * run.c: entering a parallel computation.
 */
#include "core/frame.h"
#include "core/runtime.h"
#include "core/task.h"

#include <errno.h>

/*
 * Runs fn on the current C stack, with frames of its own: where the cursor of
 * the code around it stands only that code knows.
 */
int hi_worker_run(hi_worker *w, heist_root_fn *fn, void *arg)
{
    hi_strand *outer = heist_load_relaxed(&w->strand); /* relaxed: own-field */
    hi_strand *s = hi_strand_create(0);
    if (!s) return -ENOMEM;
    heist_store_relaxed(&s->worker, w);    /* relaxed: own-field */
    heist_store_relaxed(&s->outer, outer); /* relaxed: before-W2 */
    s->context = outer->context;           /* the same C stack */
    hi_strand_reset(s, false);
    hi_strand_expose_all(w, outer);
    heist_store_release(&w->strand, s); /* W2: an empty strand. */
    fn((heist_ctx){&s->hot, s->base}, arg);
    heist_store_release(&w->strand, outer); /* W2: as it was. */
    hi_strand_destroy(s);
    return 0;
}

/*
 * After a region, while its lines are warm: makes the strand ready for the next
 * one, and remembers whether this root is worth an early wake-up.
 */
static HI_HOT void guest_clean(hi_worker *g, hi_strand *s)
{
    bool is_long = false;
    if (s->looked) {
        int64_t took = hi_clock() - s->started;
        is_long = took >= HI_REGION_LONG;
        hi_count(&g->stats.busy, (uint64_t)took);
    }
    if (is_long)
        g->long_root = g->root;
    else if (g->long_root == g->root)
        g->long_root = NULL;
    hi_strand_reset(s, true);
}

/* As a guest: on the thread's own stack, with the guest's frames. */
static HI_HOT void guest_run(hi_worker *g, heist_root_fn *fn, void *arg)
{
    hi_strand *s = g->native;
    /* After an idle gap these are far away: fetch them side by side. */
    __builtin_prefetch(&s->started, 1);
    __builtin_prefetch(s->base, 1);
    __builtin_prefetch(s->base + 1, 1);
    __builtin_prefetch(s->base + 2, 1);
    g->root = fn;
    heist_store_release(&g->strand, s); /* W2: an empty strand. */
    fn((heist_ctx){&s->hot, s->base}, arg);
    hi_worker_finish(g);
    heist_store_release(&g->strand, (hi_strand *)NULL); /* W2: none to see. */
    guest_clean(g, s);
}

/* Without a runtime: the same calls, and nobody to share the work with. */
static int serial_run(heist_root_fn *fn, void *arg)
{
    hi_worker alone = {.guest = true, .inside = 1};
    if (hi_worker_init(&alone, NULL) < 0) return -ENOMEM;
    alone.native = hi_strand_create(0);
    int rc = alone.native ? 0 : -ENOMEM;
    if (rc == 0) {
        void *before = hi_self_get();
        heist_store_relaxed(&alone.native->worker, &alone); /* relaxed: init */
        hi_strand_reset(alone.native, false);
        hi_self_set(&alone);
        guest_run(&alone, fn, arg);
        hi_self_set(before);
        hi_strand_destroy(alone.native);
    }
    hi_worker_fini(&alone);
    return rc;
}

typedef struct errand {
    heist_root_fn *fn;
    void *arg;
} errand;

static int run_errand(heist_ctx c, void *arg)
{
    errand *e = arg;
    e->fn(c, e->arg);
    return 0;
}

/* More guests than seats: send it in and wait outside. */
static int send_in(heist_runtime *rt, heist_root_fn *fn, void *arg)
{
    errand e = {fn, arg};
    heist_latch done;
    heist_latch_init(&done, 1);
    int rc = heist_spawn(rt, run_errand, &e, &done, HEIST_FOREVER);
    return rc < 0 ? rc : heist_latch_wait(&done, HEIST_FOREVER);
}

HI_HOT int heist_run(heist_runtime *rt, heist_root_fn *fn, void *arg)
{
    bool any = rt == NULL;
    hi_worker *w = hi_worker_self();
    if (w && w->rt && (any || w->rt == rt)) return hi_worker_run(w, fn, arg);
    rt = hi_runtime_get(rt);
    if (!rt) return w ? hi_worker_run(w, fn, arg) : serial_run(fn, arg);
    hi_worker *g;
    int rc = hi_guest_enter(rt, &g);
    if (rc == -EUSERS) return send_in(rt, fn, arg);
    if (rc < 0) return rc;
    guest_run(g, fn, arg);
    hi_guest_leave(g);
    return 0;
}
