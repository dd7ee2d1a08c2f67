/* SPDX-License-Identifier: MIT
 *
 * alone.c: one worker runs a flow, and others may take it out of its hands.
 *
 * While a flow is its owner's alone, its counters are plain numbers and what is
 * ready is a plain list: a graph of tiny nodes costs a few nanoseconds each.
 * Now and then the owner looks at the clock (owner.c); when the nodes have
 * shown that they are worth sharing, and somebody could help, it shares the
 * flow for good: what is ready goes to its deque, and every worker counts with
 * atomic operations.
 *
 *             owner: hi_alone_look, hi_alone_end
 *        ALONE ---------------------------> SHARED
 *          |      helper: take_over           ^
 *          +----------------------------------+
 *
 * What is ready must not be stranded behind a node that takes long or waits.  So
 * the owner leaves a frame open below its nodes, and whoever gets that frame (as
 * frames are got: exposed by a node that forks or waits, or rescued from behind
 * a long leaf) helps: it calls the owner, who answers at its next node; and if
 * there is no answer it takes the list out of the owner's hands.
 *
 * Invariants
 *   I1  not shared: only the owner touches counters and list, outside of nodes;
 *       a helper does while the owner is in a node and it holds the lock.
 *   I2  the frame is joined before the flow can end, so that a helper finds it
 *       alive: the owner of a flow that is shared now joins it before its node is
 *       done.
 *
 * Edges
 *   E3  hi_alone_enter  release in_body  ->  take_over  acquire in_body
 *       list, counts
 *   E4  hi_alone_leave  in_body; called  <>  help, take_over  called; barrier;
 *       in_body
 */
#include "graph/alone.h"

static uint32_t length_of(const hi_place *p)
{
    uint32_t n = 0;
    for (; p; p = p->next)
        n++;
    return n;
}

/* Under the lock.  The list, which is nobody's any more. */
static hi_place *open_up(hi_solo *solo)
{
    hi_place *list = solo->ready;
    solo->ready = NULL;
    heist_store_relaxed(&solo->shared, 1); /* relaxed: under-lock */
    return list;
}

/* Helper: takes the list out of the hands of an owner that does not answer.
 * False: the owner is not in a node, it will answer. */
static bool take_over(heist_flow *root, hi_place **list)
{
    hi_solo *solo = &root->solo;
    hi_lock_take(&root->lock);
    /* relaxed: under-lock */
    bool mine = !heist_load_relaxed(&solo->shared);
    hi_barrier_all(); /* E4: we have called, now see where it is. */
    /* E3: as it was when it went into the node. */
    bool stuck = heist_load_acquire(&solo->in_body);
    if (mine && stuck) *list = open_up(solo);
    hi_lock_give(&root->lock);
    return !mine || stuck;
}

/* The function of the open frame. */
static void help(heist_ctx c, heist_frame *f)
{
    heist_flow *root = f->arg[0].p;
    hi_worker *w = hi_worker_of(c);
    hi_place *list = NULL, *kept = NULL;
    heist_store_relaxed(&root->solo.called, 1); /* relaxed: before-E4 */
    for (unsigned spins = 0;; spins++) {
        /* relaxed: hint (the owner has answered, and goes on alone) */
        if (!heist_load_relaxed(&root->solo.called)) return;
        if (spins >= HI_CALL_SPINS && take_over(root, &list)) break;
        hi_cpu_relax();
    }
    if (list) hi_ready_push(w, list, length_of(list), &kept);
    if (kept) hi_flow_run(c, root, kept, false);
}

heist_ctx hi_alone_begin(heist_ctx c, heist_flow *root)
{
    return hi_owner_open(c, help, root);
}

/* cost: ns per node.  A call alone is only answered. */
static bool worth_sharing(hi_worker *w, const hi_solo *solo, int64_t now,
                          int64_t cost)
{
    return solo->ready &&
           hi_pace_is_worth_sharing(&solo->pace, w, now, cost, false);
}

/* What waits elsewhere has its turns, as if the worker had come back meanwhile. */
static bool is_turn(hi_worker *w, int64_t now)
{
    if (now - w->turned < HI_TURN_TIME) return false;
    w->turned = now;
    return hi_worker_visible_work(w->rt);
}

/* Other work waits for a worker that would not come back for long. */
static bool is_wanted(hi_worker *w, const heist_flow *root, int64_t now)
{
    return root->async &&
           (!hi_inbox_is_empty(&w->inbox) || !hi_deque_is_empty(&w->deque) ||
            (w->timers.earliest && w->timers.earliest->deadline <= now) ||
            (w->rt && (hi_runtime_has_tasks(w->rt) || is_turn(w, now))));
}

/* What a node takes: the average since the last look, but not more than the one
 * that was timed.  An average alone counts interrupts and cold memory, which
 * sharing does not make better. */
static int64_t pace(hi_solo *solo, int64_t now)
{
    int64_t own = solo->entered ? now - solo->entered : 0;
    int64_t average = hi_pace_look(&solo->pace, now);
    solo->entered = 0;
    return own < average ? own : average;
}

bool hi_alone_look(heist_ctx *c, heist_flow *root, bool must, hi_place **kept)
{
    hi_solo *solo = &root->solo;
    hi_worker *w = hi_worker_of(*c);
    heist_ctx below = {c->strand, c->frame - 1};
    int64_t now = hi_clock();
    int64_t cost = pace(solo, now);
    hi_lock_take(&root->lock);
    /* relaxed: after-E4 (one word: a call between a look and an answer would be
     * lost) */
    bool called = heist_swap_relaxed(&solo->called, 0);
    bool shared = heist_load_relaxed(&solo->shared); /* relaxed: under-lock */
    hi_place *list = NULL;
    if (!shared && (must || worth_sharing(w, solo, now, cost) ||
                    is_wanted(w, root, now))) {
        list = open_up(solo);
        shared = true;
    }
    hi_lock_give(&root->lock);
    hi_strand_answer(hi_strand_from(c->strand), below.frame);
    if (list) hi_ready_push(w, list, length_of(list), kept);
    if (!shared && !called) return true;
    heist_join(below); /* whoever took it is done by now, or soon */
    if (!shared) {
        hi_owner_reopen(below, help, root);
        return true;
    }
    *c = below;
    return false;
}

void hi_alone_end(heist_ctx c, heist_flow *root)
{
    hi_lock_take(&root->lock);
    open_up(&root->solo); /* or a helper would wait for an answer */
    root->solo.light = true;
    hi_lock_give(&root->lock);
    heist_join((heist_ctx){c.strand, c.frame - 1});
}
