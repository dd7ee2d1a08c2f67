/* SPDX-License-Identifier: MIT */
#ifndef HI_ALONE_H
#define HI_ALONE_H

/*
 * A flow in the hands of one worker, its owner.  The protocol: alone.c.
 */
#include "graph/flow.h"

/* Opens the frame that helpers take; the nodes run above it, with the context
 * that is returned. */
heist_ctx hi_alone_begin(heist_ctx c, heist_flow *root);

/*
 * Owner, outside of nodes: shares the flow if it must be or that is due, and
 * answers who has called.  True: still alone.  When it is not, the frame is
 * closed, and *c is as it was before hi_alone_begin.
 */
bool hi_alone_look(heist_ctx *c, heist_flow *root, bool must, hi_place **kept);

/* Owner: the flow ends in its hands. */
void hi_alone_end(heist_ctx c, heist_flow *root);

/* Owner: the next one to run, now that these are ready too. */
static inline hi_place *hi_alone_next(hi_solo *solo, const hi_batch *b)
{
    hi_place *p = b->first;
    if (b->count > 1) {
        b->last->next = solo->ready;
        solo->ready = p->next;
    } else if (b->count == 0) {
        p = solo->ready;
        if (!p) return NULL;
        solo->ready = p->next;
    }
    p->next = NULL;
    return p;
}

/* Owner, around the function of a node. */
static inline void hi_alone_enter(hi_solo *solo)
{
    if (HEIST_UNLIKELY(solo->pace.budget == 1)) solo->entered = hi_clock();
    /* E3: what we did to list and counters, for who takes over. */
    heist_store_release(&solo->in_body, 1);
}

/* True: still alone. */
static inline bool hi_alone_leave(heist_ctx *c, heist_flow *root,
                                  hi_place **kept)
{
    hi_solo *solo = &root->solo;
    /* E4: out of the node, now see whether somebody has called. */
    heist_store_relaxed(&solo->in_body, 0);
    /* E4: in this order.  kept: compilers are not checked by the checker but by
     * tools/check-assembly. */
    heist_fence_compiler();
    /* relaxed: after-E4 */
    bool called = heist_load_relaxed(&solo->called);
    if (HEIST_LIKELY(
            !called && --solo->pace.budget != 0 &&
            !hi_strand_is_called(hi_strand_from(c->strand), c->frame - 1)))
        return true;
    return hi_alone_look(c, root, false, kept);
}

#endif
