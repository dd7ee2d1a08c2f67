/* SPDX-License-Identifier: MIT
 *
 * fork.c: the slow half of fork and join.
 *
 * The fast half, in <heist/fork.h>, comes here when the cursor meets one of two
 * marks that the strand keeps: a fork at or above `limit`, or a join below
 * `line`.  Frames that thieves may have taken are below the line.  Otherwise
 * the marks only say where to look around again, and they move so that a strand
 * looks every few microseconds: joins near the root of a region are rare, and so
 * are forks deeper than any before.  A hungry thief moves both marks so that
 * the very next fork or join looks (hi_strand_call).
 *
 * What a look does is the exposure policy.  On demand: expose half of the
 * private frames if a thief asked; or if somebody sleeps, nobody searches, and
 * the region has lasted longer than a wake-up costs, expose and wake one.
 *
 * Edges: src/core/frame.c.
 */
#include "core/frame.h"
#include "core/runtime.h"

enum {
    SHARE_AGE = 1000,        /* ns a region known to last is not shared */
    WAKE_AGE = 20000,        /* ns a region runs before it wakes anybody */
    PATIENCE_FIRST = 50000,  /* ns between two wake-ups by one strand, ... */
    PATIENCE_LAST = 1000000, /* ... at most, after many that brought nothing */
    LOOK_SOON = 4000,        /* ns between looks: less is too often, ... */
    LOOK_LATE = 20000,       /* ... more is too seldom */
    REACH_MAX = 64,
    REACH_MIN = -4096,
    STEP_MIN = 8,
    STEP_MAX = 4096
};

static heist_frame *later(heist_frame *a, heist_frame *b)
{
    return a > b ? a : b;
}

/* How many looks there should be from here on. */
static void pace(hi_strand *s, int64_t now)
{
    int64_t since = now - s->looked;
    if (s->looked == now) return; /* the first one */
    s->looked = now;
    if (since < LOOK_SOON) {
        s->reach = s->reach > 0 ? s->reach / 2 : s->reach * 2 - 1;
        if (s->reach < REACH_MIN) s->reach = REACH_MIN;
        if (s->step < STEP_MAX) s->step *= 2;
    } else if (since > LOOK_LATE) {
        s->reach = s->reach < 0 ? s->reach / 2 : s->reach + 1;
        if (s->reach > REACH_MAX) s->reach = REACH_MAX;
        if (s->step > STEP_MIN) s->step /= 2;
    }
}

static void set_line(hi_strand *s, heist_frame *line)
{
    /* relaxed: under-lock */
    line = later(line, heist_load_relaxed(&s->split));
    /* relaxed: under-lock (F2: no frame above the split is taken) */
    heist_store_relaxed(&s->hot.line, later(line, s->mark));
}

static void set_limit(hi_strand *s, heist_frame *limit)
{
    heist_frame *last = s->committed - 2; /* a fork needs the slot after it */
    /* relaxed: hint */
    heist_store_relaxed(&s->hot.limit, limit < last ? limit : last);
}

/* Exposes up to n frames; false: nothing was. */
static bool expose(hi_worker *w, hi_strand *s, ptrdiff_t n)
{
    bool any = false;
    for (; n > 0 && hi_frame_expose(w, s); n--)
        any = true;
    return any;
}

/* Is a wake-up worth its price now? */
static bool time_to_wake(const hi_strand *s, heist_runtime *rt, int64_t now)
{
    return now - s->started >= WAKE_AGE && now - s->woke >= s->patience &&
           hi_sleep_could_help(rt);
}

static void woken(hi_strand *s, int64_t now)
{
    s->woke = now;
    s->patience = s->patience ? 2 * s->patience : PATIENCE_FIRST;
    if (s->patience > PATIENCE_LAST) s->patience = PATIENCE_LAST;
}

/* A tiny region is over before sharing it pays: a root that is not known to last
 * has to show that first. */
static bool is_worth_sharing(const hi_worker *w, const hi_strand *s,
                             int64_t now)
{
    bool lasts = s != w->native || w->root == w->lasting_root;
    return now - s->started >= (lasts ? SHARE_AGE : HI_REGION_LASTS);
}

static bool look_on_demand(hi_worker *w, hi_strand *s, ptrdiff_t private,
                           int64_t now)
{
    if (heist_load_relaxed(&s->hungry)) { /* relaxed: hint */
        bool share = is_worth_sharing(w, s, now);
        /* relaxed: hint (if not, he has an answer and calls again) */
        heist_store_relaxed(&s->hungry, share ? 0u : HI_PUT_OFF);
        return share && expose(w, s, (private + 1) / 2);
    }
    if (private == 0 || !time_to_wake(s, w->rt, now)) return false;
    woken(s, now);
    return expose(w, s, (private + 1) / 2);
}

/*
 * A frame is eligible when it was open at the last boundary and still is; mark
 * is above the newest such frame, and the line is kept above the mark so that a
 * join that closes one of them comes here.  At a boundary the oldest eligible
 * frame is exposed, if there is a worker to take it.
 */
static bool look_quantum(hi_worker *w, hi_strand *s, heist_frame *top,
                         int64_t now)
{
    heist_runtime *rt = w->rt;
    if (s->mark > top) s->mark = top;
    if (now - s->boundary < rt->config.quantum) return false;
    s->boundary = now;
    /* relaxed: under-lock */
    bool eligible = heist_load_relaxed(&s->split) < s->mark;
    bool wanted = heist_load_relaxed(&s->hungry) ||
                  hi_sleep_could_help(rt); /* relaxed: hint */
    s->mark = top;
    heist_store_relaxed(&s->hungry, 0); /* relaxed: hint */
    return eligible && wanted && expose(w, s, 1);
}

static bool is_eager(const hi_worker *w)
{
    return w->rt && w->rt->config.exposure == HEIST_EAGER;
}

/*
 * The first look of a region.  It wakes somebody at once if the root took long
 * the last time; else not before the region has shown that it lasts.
 */
static bool begin(hi_worker *w, hi_strand *s)
{
    heist_runtime *rt = w->rt;
    s->started = HI_UNTIMED;
    s->reach = HI_REACH_FIRST;
    if (!heist_load_relaxed(&rt->sleep.forked))    /* relaxed: hint */
        heist_store_relaxed(&rt->sleep.forked, 1); /* relaxed: hint */
    bool expected = w->guest && w->root == w->long_root;
    return expected && hi_sleep_could_help(rt);
}

/* Nobody keeps watch.  Is s of a brief region, which may do without until it has
 * shown that it is none? (core/run.c, enter_unwatched) */
static bool may_go_unwatched(const hi_worker *w, const hi_strand *s)
{
    bool timed = s == w->native && w->unwatched && s->started > 0;
    return timed && hi_clock() - s->started < WAKE_AGE;
}

/*
 * Looks around; top is one past the newest open frame.  Called with the lock
 * held.  True: frames were exposed, or nobody keeps watch (after a long
 * idleness): somebody is to be told.
 */
static bool look(hi_worker *w, hi_strand *s, heist_frame *top)
{
    if (!w->rt) return false;
    hi_sleep_count(w);
    bool first = s->started == 0;
    bool wake = first && begin(w, s);
    if (hi_sleep_unwatched(w->rt) && !may_go_unwatched(w, s)) wake = true;
    /* A small region ends without having looked at the clock, unless somebody
     * is waiting: for him its age counts from now on. */
    bool called = heist_load_relaxed(&s->hungry); /* relaxed: hint */
    if (first && !wake && !called && !is_eager(w) && s->skip > 0) return false;
    int64_t now = hi_clock();
    if (s->started == HI_UNTIMED) s->started = s->boundary = s->looked = now;
    if (wake) s->skip = 0, woken(s, now);
    pace(s, now);
    /* relaxed: under-lock */
    ptrdiff_t private = top - heist_load_relaxed(&s->split);
    switch (w->rt->config.exposure) {
    case HEIST_EAGER: return expose(w, s, private) || wake;
    case HEIST_QUANTUM: return look_quantum(w, s, top, now) || wake;
    case HEIST_ON_DEMAND: break;
    }
    if (!wake) return look_on_demand(w, s, private, now);
    expose(w, s, (private + 1) / 2);
    return true;
}

HI_HOT heist_frame *heist_fork_slow(heist_strand *hot, heist_frame *f)
{
    hi_strand *s = hi_strand_from(hot);
    hi_worker *w = heist_load_relaxed(&s->worker); /* relaxed: own-field */
    if (f + 3 >= s->committed && !hi_strand_grow(s, f + 64) &&
        f + 1 >= s->committed - 1)
        hi_die(__FILE__, __LINE__, "no room for another fork on this strand");
    hi_lock_take(&s->lock);
    bool tell = look(w, s, f + 1);
    set_limit(s, is_eager(w) ? NULL : f + s->step);
    set_line(s, f + 1 + s->reach);
    hi_lock_give(&s->lock);
    if (tell) hi_sleep_post_frames(w);
    return f + 1;
}

/* The join of a frame that nobody could have taken. */
static bool join_private(hi_worker *w, hi_strand *s, heist_frame *f)
{
    bool tell = look(w, s, f);
    set_limit(s, is_eager(w) ? NULL : f + s->step);
    set_line(s, f + s->reach);
    hi_lock_give(&s->lock);
    if (tell) hi_sleep_post_frames(w);
    return true;
}

/* f is closed: the frames below it are exposed, the slots above it are free. */
static void close_exposed(hi_strand *s, heist_frame *f)
{
    heist_store_relaxed(&s->split, f); /* relaxed: under-lock */
    if (s->mark > f) s->mark = f;
    set_line(s, f);
    hi_lock_give(&s->lock);
}

/*
 * The first joins of a region need not look.  The line was not raised when f was
 * closed already: nobody has taken f, or is about to (F2).
 */
static bool may_skip(hi_strand *s, const heist_frame *f)
{
    /* relaxed: after-F2 */
    if (heist_load_relaxed(&s->hot.line) == HI_LINE_RAISED) return false;
    /* relaxed: own-field (others move it only while the line is raised) */
    if (s->skip == 0 || f < heist_load_relaxed(&s->split)) return false;
    s->skip--;
    return true;
}

static __attribute__((noinline)) bool join_locked(hi_strand *s, heist_frame *f)
{
    hi_worker *w = heist_load_relaxed(&s->worker); /* relaxed: own-field */
    hi_lock_take(&s->lock);
    /* relaxed: under-lock */
    if (f >= heist_load_relaxed(&s->split)) return join_private(w, s, f);
    if (hi_frame_unexpose(w, f)) {
        close_exposed(s, f);
        return true;
    }
    heist_store_relaxed(&s->split, f + 1); /* relaxed: under-lock */
    hi_lock_give(&s->lock);
    hi_frame_settle(w, s, f);
    s->patience = 0; /* whoever was woken was of use */
    hi_lock_take(&s->lock);
    close_exposed(s, f);
    return false;
}

HI_HOT bool heist_join_slow(heist_strand *hot, heist_frame *f)
{
    hi_strand *s = hi_strand_from(hot);
    return may_skip(s, f) || join_locked(s, f);
}
