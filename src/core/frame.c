/* SPDX-License-Identifier: MIT
 *
 * frame.c: exposure, theft and return of frames.
 *
 * Invariants
 *   I1  the exposed frames of a strand are a prefix: frames below the split are
 *       EXPOSED, TAKEN, WAITED or DONE, those above are PRIVATE.
 *   I2  state is EXPOSED only between expose and take or unexpose, so that a
 *       ticket left over from an earlier life of the slot cannot take it.
 *   I3  who changes EXPOSED owns the frame: the owner (to PRIVATE) or one thief
 *       (to TAKEN).
 *   I4  an open frame has a function from fork to join, a free slot none.
 *
 * Edges
 *   F1  fork    release fn     ->  rescue  acquire fn     the arguments
 *   F2  join    fn = 0; line   <>  rescue  line; barrier; fn   one sees the other
 *   F3  expose  release state  ->  take    acquire state  function, arguments
 *   F4  run     swap state     ->  settle  acquire state  the result
 *   F5  wait    CAS state      ->  run     swap state     the suspended strand
 *
 * F2 is a Dekker pair without a fence in join: the rescuer raises the line and
 * then makes every running thread of the process pass a full barrier
 * (hi_barrier_all).  If the owner's join had read the old line before its
 * barrier, its fn = 0 was before that too and the rescuer sees it; if not, the
 * join reads the raised line and comes to the slow path, which waits for the
 * strand's lock, held by the rescuer.
 *
 * Locks
 *   strand.lock  split, and every change from PRIVATE
 */
#include "core/frame.h"

#include "core/runtime.h"
#include "core/sleep.h"

enum {
    NESTED_MAX = 128, /* leapfrogged frames on one stack */
    HOPS_MAX = 8      /* from thief to thief's thief */
};

static uintptr_t state_of(const void *p, unsigned letter)
{
    return (uintptr_t)p | letter;
}

bool hi_frame_expose(hi_worker *w, hi_strand *s)
{
    /* relaxed: under-lock */
    heist_frame *f = heist_load_relaxed(&s->split);
    /* relaxed: own-slot (join will clear fn while a thief still needs it) */
    f->result.fn = heist_load_relaxed(&f->fn);
    /* F3: function and arguments before the state that lets thieves in. */
    heist_store_release(&f->state, HI_FRAME_EXPOSED);
    /* No memory for the ticket: back, unless it was taken by one left over. */
    if (hi_deque_push(&w->deque, hi_frame_ticket(f)) < 0 &&
        hi_frame_unexpose(w, f))
        return false;
    heist_store_relaxed(&s->split, f + 1); /* relaxed: under-lock */
    hi_count(&w->stats.exposed, 1);
    return true;
}

void hi_strand_expose_all(hi_worker *w, hi_strand *s)
{
    if (!w->rt || !hi_strand_has_private(s)) return;
    hi_lock_take(&s->lock);
    while (hi_strand_has_private(s) && hi_frame_expose(w, s))
        ;
    if (s->started == 0) s->started = HI_UNTIMED; /* not fresh any more */
    /* relaxed: under-lock (all joins of s come to the slow path) */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
    hi_lock_give(&s->lock);
    hi_sleep_post_frames(w->rt);
}

bool hi_frame_unexpose(hi_worker *w, heist_frame *f)
{
    uintptr_t exposed = HI_FRAME_EXPOSED;
    /* relaxed: own-slot (what it takes back it wrote itself) */
    if (!heist_cas_relaxed(&f->state, &exposed, HI_FRAME_PRIVATE)) return false;
    hi_deque_pop_if(&w->deque, hi_frame_ticket(f));
    return true;
}

bool hi_frame_take(heist_frame *f, heist_frame *cursor)
{
    uintptr_t exposed = HI_FRAME_EXPOSED;
    /* F3: what the owner wrote before it exposed the frame. */
    return heist_cas_acquire(&f->state, &exposed,
                             state_of(cursor, HI_FRAME_TAKEN));
}

void hi_frame_run(hi_worker *w, heist_frame *f, heist_frame *cursor)
{
    heist_ctx c = {&hi_strand_of(cursor)->hot, cursor};
    f->result.fn(c, f);
    hi_count(&w->stats.executed, 1);
    /* F4: the result.  F5: from here on the frame may be gone. */
    uintptr_t old = heist_swap_acq_rel(&f->state, HI_FRAME_DONE);
    if ((old & HI_FRAME_LETTER) == HI_FRAME_WAITED)
        hi_strand_resume((hi_strand *)(old & ~(uintptr_t)HI_FRAME_LETTER));
}

void hi_strand_call_again(hi_strand *s)
{
    heist_store_relaxed(&s->hungry, HI_CALLED);           /* relaxed: hint */
    heist_store_relaxed(&s->hot.limit, (heist_frame *)0); /* relaxed: hint */
    /* relaxed: hint (raising it is always safe; the owner lowers it) */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
}

void hi_strand_call(hi_strand *s)
{
    /* relaxed: hint */
    if (!heist_load_relaxed(&s->hungry)) hi_strand_call_again(s);
}

bool hi_strand_has_private(const hi_strand *s)
{
    heist_frame *f = heist_load_relaxed(&s->split); /* relaxed: hint */
    return heist_load_relaxed(&f->fn) != NULL;      /* relaxed: hint */
}

heist_frame *hi_frame_rescue(hi_strand *s, heist_frame *cursor)
{
    if (!hi_strand_has_private(s) || !hi_lock_try(&s->lock)) return NULL;
    heist_frame *f = heist_load_relaxed(&s->split); /* relaxed: under-lock */
    /* F2: first the line, so that a join of f comes to the lock. */
    heist_store_relaxed(&s->hot.line, HI_LINE_RAISED);
    hi_barrier_all();
    /* F1: arguments of an open frame.  F2: closed if join was faster. */
    heist_frame_fn *fn = heist_load_acquire(&f->fn);
    if (fn) {
        f->result.fn = fn;
        /* relaxed: under-lock */
        heist_store_relaxed(&f->state, state_of(cursor, HI_FRAME_TAKEN));
        heist_store_relaxed(&s->split, f + 1); /* relaxed: under-lock */
    }
    hi_lock_give(&s->lock);
    return fn ? f : NULL;
}

/*
 * Leapfrogging: while f runs on the thief's strand, run what the thief has
 * exposed on top of it, on our own stack above f; and if the thief waits for a
 * thief in turn, what that one has exposed.  What we take is a descendant of f,
 * so no deeper in the tree than the serial program would be; and because C
 * stacks are finite, at most NESTED_MAX of them stand on one stack.
 */
typedef enum leap {
    LEAP_NOTHING, /* nothing to be had */
    LEAP_AGAIN    /* ran something, or something changed: look again */
} leap;

/* One thief: its cursor is in the state of the frame it took. */
static leap leap_from(hi_worker *w, hi_strand *s, heist_frame *f,
                      uintptr_t state, hi_strand **next)
{
    heist_frame *cursor = (heist_frame *)(state & ~(uintptr_t)HI_FRAME_LETTER);
    hi_strand *thief = hi_strand_of(cursor);
    hi_worker *tw = heist_load_relaxed(&thief->worker); /* relaxed: hint */
    uintptr_t item;
    hi_steal got =
        hi_deque_steal_range(&tw->deque, hi_frame_ticket(cursor),
                             hi_frame_ticket(hi_strand_end(thief)), &item);
    if (got == HI_STEAL_RETRY) return LEAP_AGAIN;
    if (got == HI_STEAL_TAKEN && hi_frame_take(hi_ticket_frame(item), f + 1)) {
        hi_count(&w->stats.stolen, 1);
        s->nested++;
        hi_frame_run(w, hi_ticket_frame(item), f + 1);
        s->nested--;
        return LEAP_AGAIN;
    }
    if (hi_strand_has_private(thief)) hi_strand_call(thief);
    *next = thief;
    return LEAP_NOTHING;
}

static leap leapfrog(hi_worker *w, hi_strand *s, heist_frame *f,
                     uintptr_t state)
{
    hi_strand *thief = NULL;
    for (int hops = 0; hops < HOPS_MAX && s->nested < NESTED_MAX; hops++) {
        if (leap_from(w, s, f, state, &thief) == LEAP_AGAIN) return LEAP_AGAIN;
        heist_frame *g =
            heist_load_relaxed(&thief->waiting); /* relaxed: hint */
        if (!g) break;
        /* F4: who took it.  kept: his strand; to see an old one takes more
         * stale reads than the checker's bounds. */
        state = heist_load_acquire(&g->state);
        if ((state & HI_FRAME_LETTER) != HI_FRAME_TAKEN) break;
    }
    return LEAP_NOTHING;
}

void hi_frame_settle(hi_worker *w, hi_strand *s, heist_frame *f)
{
    int spins = 0;
    heist_store_relaxed(&s->waiting, f); /* relaxed: hint */
    for (;;) {
        uintptr_t state = heist_load_acquire(&f->state); /* F4: the result. */
        if (state == HI_FRAME_DONE) break;
        if (leapfrog(w, s, f, state) == LEAP_AGAIN) {
            heist_store_relaxed(&s->waiting, f); /* relaxed: hint */
            spins = 0;
        } else if (w->orphan) { /* its runtime may have been stopped */
            hi_die(__FILE__, __LINE__,
                   "fork() inside a task: the child joined what a worker of "
                   "the parent had taken");
        } else if (++spins < w->rt->settle_spins) {
            hi_cpu_relax();
        } else if (heist_cas_release(&f->state, &state, /* F5: wake us. */
                                     state_of(s, HI_FRAME_WAITED))) {
            hi_worker_suspend(w, s);
            spins = 0;
        }
    }
    heist_store_relaxed(&s->waiting, (heist_frame *)0); /* relaxed: hint */
    heist_store_relaxed(&f->state, HI_FRAME_PRIVATE);   /* relaxed: own-slot */
}
