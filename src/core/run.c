/* SPDX-License-Identifier: MIT
 *
 * run.c: entering a parallel computation.
 */
#include "core/frame.h"
#include "core/runtime.h"
#include "core/task.h"

#include <errno.h>

enum {
    DOUBTS_MAX = 16,
    BRIEF_KNOWN = 3 /* times in vain that somebody was woken for a root */
};

/*
 * Runs fn on the current C stack, with frames of its own: where the cursor of
 * the code around it stands only that code knows.
 */
int hi_worker_run(hi_worker *w, heist_root_fn *fn, void *arg)
{
    hi_strand *outer = heist_load_relaxed(&w->strand); /* relaxed: own-field */
    hi_strand *s = hi_spares_take(&w->bare);
    if (!s) s = hi_strand_create(0);
    if (!s) return -ENOMEM;
    heist_store_relaxed(&s->worker, w);    /* relaxed: own-field */
    heist_store_relaxed(&s->outer, outer); /* relaxed: before-W2 */
    hi_strand_enter_region(s, hi_strand_region(outer));
    s->context = outer->context; /* the same C stack */
    hi_strand_reset(s, false);
    s->nested = outer->nested;
    /* As in enter: if nobody keeps watch its first fork looks.
     * relaxed: after-S9 */
    if (w->rt && (w->rt->config.exposure == HEIST_EAGER ||
                  !heist_load_relaxed(&w->rt->watchman)))
        hi_strand_look_first(s);
    hi_strand_expose_all(w, outer);
    hi_worker_show(w, s);
    fn((heist_ctx){&s->hot, s->base}, arg);
    hi_check_joined(s->base);
    hi_worker_show(w, outer);
    /* Kept until the runtime ends: a thief may still look at it, and must not
     * find the frames of another runtime there. */
    heist_store_relaxed(&s->outer, (hi_strand *)NULL); /* relaxed: hint */
    hi_spares_put(&w->bare, s);
    return 0;
}

/*
 * Whether this root is worth sharing early the next time.  If it was shared and
 * ended soon, that may be because of it or in spite of it: after some of those it
 * has to run alone once.
 */
static void remember_lasting(hi_worker *g, int64_t took)
{
    uint64_t exposed =
        heist_load_relaxed(&g->stats.exposed); /* relaxed: counter */
    bool alone = exposed == g->exposed_before;
    g->exposed_before = exposed;
    if (took >= HI_REGION_LASTS) {
        g->lasting_root = g->root;
        g->doubts = 0;
    } else if (g->lasting_root == g->root &&
               (alone || ++g->doubts == DOUBTS_MAX)) {
        g->lasting_root = NULL;
    }
}

/*
 * Nobody keeps watch, as after a long idleness: the first fork would wake somebody
 * who does, in case that a long leaf follows.  That is dearer than many a region
 * is long.  A root for which it was in vain a few times goes without, but is timed.
 */
HI_HOT static __attribute__((noinline)) void enter_unwatched(hi_worker *g,
                                                             heist_root_fn *fn)
{
    g->unwatched = true;
    if (fn == g->brief_root && g->brief_runs >= BRIEF_KNOWN)
        hi_strand_time(g->native, hi_clock());
    else
        hi_strand_look_first(g->native);
}

/* True: it was as brief as expected, has not looked, and there is no more to do. */
HI_HOT static __attribute__((noinline)) bool leave_unwatched(hi_worker *g,
                                                             hi_strand *s)
{
    bool timed = g->unwatched && s->started != 0;
    if (!timed || g->waited || !hi_strand_is_quiet(s)) return false;
    int64_t took = hi_clock() - s->started;
    if (took >= HI_REGION_LONG) return false;
    hi_count(&g->stats.busy, (uint64_t)took);
    hi_strand_untime(s);
    g->unwatched = false;
    return true;
}

static void remember_brief(hi_worker *g, const hi_strand *s, int64_t took)
{
    if (!g->unwatched) return;
    g->unwatched = false;
    if (!s->looked || g->orphan)
        return; /* it has not forked; or it has fork()ed */
    if (g->brief_root != g->root || took >= HI_REGION_LONG) g->brief_runs = 0;
    g->brief_root = g->root;
    if (took >= HI_REGION_LONG || g->brief_runs == BRIEF_KNOWN) return;
    /* relaxed: hint */
    if (++g->brief_runs == BRIEF_KNOWN) heist_store_relaxed(&g->rt->brief, 1);
}

/*
 * After a region that has looked around: makes the strand ready for the next
 * one, and remembers what is to be known of this root.
 */
static __attribute__((noinline)) void guest_clean(hi_worker *g, hi_strand *s)
{
    int64_t took = 0;
    if (s->looked) {
        took = hi_clock() - s->started;
        hi_count(&g->stats.busy, (uint64_t)(took - g->waited));
        g->waited = 0;
    }
    if (took >= HI_REGION_LONG)
        g->long_root = g->root;
    else if (g->long_root == g->root)
        g->long_root = NULL;
    remember_lasting(g, took);
    remember_brief(g, s, took);
    hi_strand_reset(s, true);
}

/* As a guest: on the thread's own stack, with the guest's frames, which are shown. */
static inline void guest_run(hi_worker *g, heist_root_fn *fn, void *arg)
{
    hi_strand *s = g->native;
    g->root = fn;
    fn((heist_ctx){&s->hot, hi_strand_base(s)}, arg);
    hi_check_joined(hi_strand_base(s));
    /* relaxed: own-field */
    if (HEIST_UNLIKELY(heist_load_relaxed(&g->put_aside))) hi_worker_finish(g);
    hi_worker_show(g, NULL);
    if (HEIST_LIKELY(hi_strand_is_fresh(s)))
        s->skip = HI_SKIP_FIRST;
    else if (!leave_unwatched(g, s))
        guest_clean(g, s);
}

/* Without a runtime: the same calls, and nobody to share the work with. */
static int serial_run(heist_root_fn *fn, void *arg)
{
    hi_worker alone = {.guest = true, .inside = 1};
    if (hi_worker_init(&alone, NULL) < 0) return -ENOMEM;
    alone.native = hi_strand_create(0);
    /* No room for one more?  A start that failed has left some in the pool. */
    if (!alone.native) alone.native = hi_strand_create(HI_STACK_BYTES);
    int rc = alone.native ? 0 : -ENOMEM;
    if (rc == 0) {
        alone.before = hi_self_get();
        heist_store_relaxed(&alone.native->worker, &alone); /* relaxed: init */
        hi_context_adopt(&alone.native->context);
        hi_strand_reset(alone.native, false);
        hi_self_set(&alone);
        hi_worker_show(&alone, alone.native);
        guest_run(&alone, fn, arg);
        hi_self_set(alone.orphan ? NULL : alone.before); /* fork() in fn */
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

/* No seat, or no memory for a guest: send it in and wait outside. */
static int send_in(heist_runtime *rt, heist_root_fn *fn, void *arg)
{
    errand e = {fn, arg};
    heist_latch done;
    heist_latch_init(&done, 1);
    int rc = heist_spawn(rt, run_errand, &e, &done, HEIST_FOREVER);
    return rc < 0 ? rc : heist_latch_wait(&done, HEIST_FOREVER);
}

enum {
    SEATED = 1 /* not done yet, but the thread has a seat now */
};

/* The thread has no seat in rt: gives it one, or runs fn in another way. */
static __attribute__((noinline)) int
arrive(heist_runtime *rt, heist_root_fn *fn, void *arg, hi_worker **out)
{
    bool any = rt == NULL;
    hi_worker *w = hi_worker_self();
    if (w && w->rt && (any || w->rt == rt)) return hi_worker_run(w, fn, arg);
    rt = hi_runtime_get(rt);
    if (!rt) return w ? hi_worker_run(w, fn, arg) : serial_run(fn, arg);
    if (w) hi_worker_expose_all(w); /* it is in another runtime meanwhile */
    int rc = hi_guest_sit(rt, out);
    if (rc == -EUSERS || rc == -ENOMEM) return send_in(rt, fn, arg);
    return rc < 0 ? rc : SEATED;
}

/* False: the runtime is stopping. */
static inline bool enter(heist_runtime *rt, hi_worker *g, heist_root_fn *fn)
{
    if (HEIST_UNLIKELY(g->far)) hi_guest_appear(rt, g);
    hi_guest_enter(rt, g);
    bool running = HEIST_LIKELY(hi_runtime_is(rt, HI_RUNNING));
    if (HEIST_UNLIKELY(!running))
        hi_worker_show(g, NULL);
    else if (HEIST_UNLIKELY(fn == g->long_root || g->eager))
        hi_strand_look_first(g->native); /* somebody is worth waking at once */
    /* relaxed: after-S9 (nobody would find hidden frames) */
    else if (HEIST_UNLIKELY(!heist_load_relaxed(&rt->watchman)))
        enter_unwatched(g, fn);
    return running;
}

static inline void leave(heist_runtime *rt, hi_worker *g)
{
    bool stranger = g->stranger;
    g->inside = false;
    if (HEIST_UNLIKELY(g->orphan)) return; /* fork() in fn */
    if (HEIST_UNLIKELY(g->far)) hi_guest_vanish(rt, g);
    hi_sleep_uncount(g);
    hi_guest_leave(rt, g);
    if (HEIST_UNLIKELY(stranger)) hi_guest_stand(g);
}

/* What a region touches in the guest's page.  If it is none, to ask would take
 * longer than to fetch lines in vain. */
static inline void fetch(hi_worker *g)
{
    hi_strand *s = hi_guest_native(g);
    __builtin_prefetch(&g->strand, 1);
    __builtin_prefetch(s, 1);
    for (int i = 0; i < 3; i++)
        __builtin_prefetch(hi_strand_base(s) + i, 1);
}

HI_HOT int heist_run(heist_runtime *rt, heist_root_fn *fn, void *arg)
{
    /* After an idle gap all is far away, this code too: fetch it side by side. */
    __builtin_prefetch(rt);
    for (unsigned i = 2; i < 9; i++)
        __builtin_prefetch((const char *)(uintptr_t)heist_run + 64 * i);
    __builtin_prefetch((const char *)(uintptr_t)heist_join_slow);
    hi_worker *g = hi_self_get();
    if (HEIST_LIKELY(g)) fetch(g);
    heist_runtime *in = rt ? rt : hi_runtime_standard();
    /* A thread that was here before; in the child of a fork() none was. */
    if (HEIST_UNLIKELY(!g || !g->guest || g->inside || hi_guest_seat(g) != in ||
                       !in)) {
        int rc = arrive(rt, fn, arg, &g);
        if (rc != SEATED) return rc;
        in = g->rt;
    }
    bool running = enter(in, g, fn);
    if (HEIST_LIKELY(running)) guest_run(g, fn, arg);
    leave(in, g);
    return running ? 0 : -ESHUTDOWN;
}
