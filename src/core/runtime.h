/* SPDX-License-Identifier: MIT */
#ifndef HI_RUNTIME_H
#define HI_RUNTIME_H

#include "core/sleep.h"
#include "core/worker.h"
#include "queue/injector.h"

#include <heist/runtime.h>

enum {
    HI_GUESTS_MAX = 1024, /* foreign threads with a seat, until they end */
    HI_GUESTS_NEAR = 16,  /* of them, those that thieves always visit */
    HI_SEAT_LEFT = 1,     /* in a cell of victims: not to be visited now */
    HI_GOING = 32,        /* visitors: above that bit who is about to be gone */
    HI_REGION_LASTS = 10000, /* ns from which a region profits from sharing, */
    HI_REGION_LONG = 60000   /* ... and from waking somebody for it */
};

typedef enum hi_phase {
    HI_RUNNING,
    HI_STOPPING, /* no work from outside; what is there is finished */
    HI_ENDING    /* the workers end */
} hi_phase;

/* What becomes of frames behind a long leaf, and who sees to strands that do not
 * look by themselves. */
typedef enum hi_rescue {
    HI_RESCUE_NONE,  /* nobody keeps watch: for tests */
    HI_RESCUE_TAKES, /* hi_barrier_all works here */
    HI_RESCUE_CALLS  /* it does not: the watchman can only call */
} hi_rescue;

/*
 * A runtime.
 *
 * Fields, and who touches them
 *   config, workers   set at start, read by all
 *   victims           a cell is filled under lock, read by all, never emptied
 *                     while the runtime lives; the guest of a far one says
 *                     there whether it may have anything
 *   phase, quiet      src/core/runtime.c
 *   room, waiting     src/core/task.c
 */
struct heist_runtime {
    /* What entering a region reads, on one line that is hardly ever written. */
    HEIST_ATOMIC(uint32_t) phase;
    HEIST_ATOMIC(uint32_t) watchman;   /* index + 1 of who keeps watch, or 0 */
    HEIST_ATOMIC(uint32_t) rescue;     /* hi_rescue */
    HEIST_ATOMIC(uint32_t) brief;      /* some may begin unwatched: run.c */
    HEIST_ATOMIC(uint32_t) generation; /* of the process that started it */
    unsigned workers;

    hi_sleep sleep HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(uint64_t)
    visitors; /* foreign threads, but guests: inside, going */

    heist_config config HEIST_ALIGNED(HEIST_LINE);
    int64_t spin;     /* how long a search lasts */
    int settle_spins; /* looks at a thief before the strand is put aside */
    int answer_spins; /* looks at a strand that was called, before a rescue */
    hi_worker *pool;
    HEIST_ATOMIC(uintptr_t) *victims; /* workers, then guests */
    HEIST_ATOMIC(uint32_t) victim_count;
    uint32_t near; /* seats below it are near ones */
    hi_lock lock;
    hi_futex quiet; /* counts reasons to look at the end */
    hi_injector injector;
    hi_inbox overflow; /* tasks for which there is no room elsewhere */
    hi_futex hooks;    /* may the workers' run: runtime.c */
    hi_futex room;     /* changes when the injector has room */
    HEIST_ATOMIC(uint32_t) waiting; /* threads that wait for room */
} HEIST_ALIGNED(HEIST_LINE);

/* The runtime that NULL means, started if need be; alive in this process even
 * after a fork().  NULL if it cannot be had. */
heist_runtime *hi_runtime_get(heist_runtime *rt);

/* Counts fork(): a process that came of one has another number. */
uint32_t hi_generation(void);

/* From now on forks are counted.  Done when the library is loaded: a fork() that
 * is under way leaves out what is asked for now.  If there was no memory then, it
 * is asked again before a lock is taken or anything is kept that a child has to put
 * right.  -ENOMEM. */
int hi_generation_watch(void);

/* The one that runs, or NULL. */
typedef HEIST_ATOMIC(heist_runtime *) hi_runtime_cell;
extern hi_runtime_cell hi_standard;

static inline heist_runtime *hi_runtime_standard(void)
{
    return heist_load_acquire(&hi_standard); /* G2: it runs. */
}

/* A worker has become idle, or a guest has left: look whether all is done. */
void hi_runtime_maybe_quiet(heist_runtime *rt);

static inline bool hi_runtime_is(heist_runtime *rt, hi_phase phase)
{
    /* S6: for the hooks of a worker that ends. */
    return heist_load_acquire(&rt->phase) == (uint32_t)phase;
}

/*
 * A foreign thread is about to touch rt, or what is in it: until the visit ends
 * rt will not be stopped.  After the end the thread does not touch rt.
 */
static inline void hi_visit_begin(heist_runtime *rt)
{
    heist_add_relaxed(&rt->visitors, 1); /* relaxed: before-S5 */
    heist_fence_after_rmw();             /* S5: counted, now look. */
}

/*
 * A visitor that is not inside any more must still tell a stopper that waits
 * for it, and so is counted until it has.
 */
static inline void hi_visit_end(heist_runtime *rt)
{
    const uint64_t going = UINT64_C(1) << HI_GOING;
    heist_add_release(&rt->visitors, going - 1); /* S5: not inside. */
    heist_fence_after_rmw();                     /* S5: who waits for it? */
    if (HEIST_UNLIKELY(!hi_runtime_is(rt, HI_RUNNING)))
        hi_runtime_maybe_quiet(rt);
    heist_sub_release(&rt->visitors, going); /* S5: gone. */
}

/* Have threads that are no workers left tasks that none has taken yet? */
static inline bool hi_runtime_has_tasks(const heist_runtime *rt)
{
    return !hi_injector_is_empty(&rt->injector) ||
           !hi_inbox_is_empty(&rt->overflow);
}

/* Somebody sleeps and nobody searches: a wake-up could help. */
static inline bool hi_sleep_could_help(heist_runtime *rt)
{
    /* relaxed: hint */
    return heist_load_relaxed(&rt->sleep.awake) < rt->workers &&
           heist_load_relaxed(&rt->sleep.searching) == 0; /* relaxed: hint */
}

/*
 * A fence of guests, for each region, and those who look for all of them, now and
 * then.  Of the two the guest's side needs no instruction where the kernel puts it
 * into all threads at once (hi_barrier_all).
 */
static inline void hi_fence_light(heist_runtime *rt)
{
    /* S5, S9: first say it, then look.  kept: compilers are not checked by the
     * checker. */
    heist_fence_compiler();
    /* relaxed: after-V1 */
    if (HEIST_UNLIKELY(heist_load_relaxed(&rt->rescue) != HI_RESCUE_TAKES))
        heist_fence_seq_cst(); /* S5, S9: the same. */
}

static inline void hi_fence_heavy(heist_runtime *rt)
{
    /* relaxed: after-V1 */
    if (heist_load_relaxed(&rt->rescue) == HI_RESCUE_TAKES)
        hi_barrier_all(); /* S5, S9: the fence of each guest, and ours. */
    else
        heist_fence_seq_cst(); /* S5, S9: ours. */
}

/* A guest's visit begins and ends: as those above, but without a word to others,
 * who ask each guest when they have to know. */
static inline void hi_guest_enter(heist_runtime *rt, hi_worker *g)
{
    uint32_t visit = heist_load_relaxed(&g->visit); /* relaxed: own-field */
    /* relaxed: before-S5 */
    heist_store_relaxed(&g->visit, visit + HI_VISIT + HI_INSIDE);
    g->inside = true;
    hi_worker_show(g, g->native);
    hi_fence_light(rt); /* S5, S9: inside and at work, now look. */
}

static inline void hi_guest_leave(heist_runtime *rt, hi_worker *g)
{
    uint32_t visit = heist_load_relaxed(&g->visit); /* relaxed: own-field */
    /* S5: not inside. */
    heist_store_release(&g->visit, visit - HI_INSIDE + HI_LEAVING);
    hi_fence_light(rt); /* S5: who waits for it? */
    if (HEIST_UNLIKELY(!hi_runtime_is(rt, HI_RUNNING)))
        hi_runtime_maybe_quiet(rt);
    heist_store_release(&g->visit, visit - HI_INSIDE); /* S5: gone. */
}

/*
 * A guest is counted among those awake from its first look around on.  Most regions
 * end without; and who has to know whether anybody works sees its strand.
 */
static inline void hi_sleep_count(hi_worker *w)
{
    /* relaxed: own-field */
    if (HEIST_LIKELY(!w->guest || heist_load_relaxed(&w->counted))) return;
    heist_store_relaxed(&w->counted, 1);       /* relaxed: hint */
    heist_add_relaxed(&w->rt->sleep.awake, 1); /* relaxed: hint */
}

/* A guest stops working. */
static inline void hi_sleep_uncount(hi_worker *g)
{
    /* relaxed: own-field */
    if (HEIST_LIKELY(!heist_load_relaxed(&g->counted))) return;
    heist_runtime *rt = g->rt;
    heist_store_relaxed(&g->counted, 0); /* relaxed: hint */
    /* relaxed: hint */
    uint32_t before = heist_sub_relaxed(&rt->sleep.awake, 1);
    if (HEIST_UNLIKELY(before >= rt->workers)) hi_sleep_make_room(rt);
}

/* The runtime that the guest is a victim of; NULL: that one has stopped. */
static inline heist_runtime *hi_guest_seat(const hi_worker *g)
{
    /* G3: as the stopper left it.  kept: the fence of the visit that follows does
     * the same, but take_seat comes before it. */
    return heist_load_acquire(&g->seat);
}

/* The workers and guests that may be stolen from are those below the count. */
static inline uint32_t hi_victim_count(heist_runtime *rt)
{
    return heist_load_acquire(&rt->victim_count); /* V1: their fields. */
}

/* NULL: a guest that is not here and has left nothing. */
static inline hi_worker *hi_victim(heist_runtime *rt, uint32_t i)
{
    uintptr_t cell =
        heist_load_relaxed(&rt->victims[i]); /* relaxed: after-V1 */
    return cell & HI_SEAT_LEFT ? NULL : (hi_worker *)cell;
}

/* Of n victims the i-th after w, which is none of them; NULL: it is not here. */
static inline hi_worker *hi_victim_after(const hi_worker *w, uint32_t n,
                                         uint32_t i)
{
    return hi_victim(w->rt, (w->index + 1 + i % (n - 1)) % n);
}

/* Here or not. */
static inline hi_worker *hi_seated(heist_runtime *rt, uint32_t i)
{
    uintptr_t cell =
        heist_load_relaxed(&rt->victims[i]); /* relaxed: after-V1 */
    return (hi_worker *)(cell & ~(uintptr_t)HI_SEAT_LEFT);
}

/*
 * Guest with a far seat, before it is counted: from now on it is visited.  Where
 * many threads have been, to visit them all would take longer than most of what is
 * to be found; the first few are spared the trouble to say so.
 */
static inline void hi_guest_appear(heist_runtime *rt, hi_worker *g)
{
    /* The watchman does not see its visits while it is away. */
    if (!heist_load_relaxed(&rt->sleep.forked))    /* relaxed: hint */
        heist_store_relaxed(&rt->sleep.forked, 1); /* relaxed: hint */
    /* relaxed: before-S1 (as all it publishes in there) */
    heist_store_relaxed(&rt->victims[g->index], (uintptr_t)g);
}

/* The same, after its region: thieves pass it by, unless it leaves work behind. */
void hi_guest_vanish(heist_runtime *rt, hi_worker *g);

/* Worker, before its hooks.  False: the start has failed, and nobody shall hear of
 * it. */
bool hi_runtime_may_hook(heist_runtime *rt);

/* Gives the calling thread a seat in rt.  -ENOMEM; -EUSERS: none is left. */
int hi_guest_sit(heist_runtime *rt, hi_worker **out);

/* Guest of one runtime, entered by a worker of another: back to that one. */
void hi_guest_stand(hi_worker *g);

#endif
