/* SPDX-License-Identifier: MIT
 *
 * ready.c: what is ready in a flow that is shared, in the workers' deques.
 *
 * Places that become ready together are offered in a few chains, so that a thief
 * has work for a while; who takes a chain runs its head and offers the rest
 * again.  Where priorities count, the places wait in the root by level, and the
 * deques hold a token for each: who takes a token runs the most urgent one.
 *
 * Invariants
 *   I1  ranked: there are as many tokens as places in the levels.
 */
#include "graph/flow.h"

enum {
    PATIENCE = 8 /* starts of which one is not the most urgent one's */
};

/* Keeps a chain that the deque has no memory for. */
void hi_ready_keep(hi_place **kept, hi_place *chain)
{
    hi_place *last = chain;
    while (last->next)
        last = last->next;
    last->next = *kept;
    *kept = chain;
}

/* Offers n linked places in a chain for each worker: who takes one has work for a
 * while. */
void hi_ready_push(hi_worker *w, hi_place *p, uint32_t n, hi_place **kept)
{
    uint32_t parts = w->rt ? w->rt->workers : 1;
    uint32_t length = (n + parts - 1) / parts;
    while (p) {
        hi_place *chain = p;
        for (uint32_t i = 1; i < length && p->next; i++)
            p = p->next;
        hi_place *after = p->next;
        p->next = NULL;
        if (!hi_job_push(w, &chain->job)) hi_ready_keep(kept, chain);
        p = after;
    }
    hi_job_post(w);
}

/* The order of heist_priority's values. */
unsigned hi_level_of(const hi_place *p)
{
    static const uint8_t levels[HI_LEVELS] = {1, 0, 2, 3};
    const heist_flow *f = hi_flow_of(p);
    unsigned level = levels[hi_node_of(f, p)->priority];
    return level > f->level ? level : f->level;
}

hi_place *hi_batch_take(hi_batch *b)
{
    hi_place *p = b->first;
    b->first = p->next;
    b->count--;
    p->next = NULL;
    return p;
}

/* Under the root's lock; one is there.  The most urgent one, but now and then it
 * is the turn of one level after the other. */
static hi_place *take_ranked(heist_flow *root)
{
    unsigned picks = ++root->picks;
    unsigned top = picks % PATIENCE ? HI_LEVELS - 1 : picks / PATIENCE;
    for (unsigned i = 0; i < HI_LEVELS; i++) {
        hi_batch *b = &root->levels[(top - i) % HI_LEVELS];
        if (b->count) return hi_batch_take(b);
    }
    return NULL;
}

/* Puts what is ready by its urgency, a token for each into the deque; the most
 * urgent one is run in exchange for one of the tokens. */
static hi_place *next_ranked(hi_worker *w, heist_flow *root, hi_batch *b)
{
    hi_job *token = &root->places[root->graph->count].job;
    hi_lock_take(&root->lock);
    uint32_t n = b->count;
    for (hi_place *p = b->first, *next; p; p = next) {
        next = p->next;
        hi_batch_add(&root->levels[hi_level_of(p)], p);
    }
    hi_place *best = take_ranked(root);
    hi_place *more = NULL; /* without memory for a token: run here */
    for (uint32_t i = 1; i < n; i++) {
        if (hi_job_push(w, token)) continue;
        hi_place *p = take_ranked(root);
        p->next = more;
        more = p;
    }
    hi_lock_give(&root->lock);
    if (n > 1) hi_job_post(w);
    best->next = more;
    return best;
}

/* The first of what is ready; the others are offered. */
hi_place *hi_ready_next(hi_worker *w, heist_flow *root, hi_batch *b,
                        hi_place **kept)
{
    if (b->count == 0) {
        hi_place *p = *kept;
        if (p) *kept = p->next, p->next = NULL;
        return p;
    }
    /* relaxed: hint (what is not ranked is run all the same) */
    if (heist_load_relaxed(&root->ranked)) {
        hi_place *p = next_ranked(w, root, b);
        if (p->next) hi_ready_keep(kept, p->next), p->next = NULL;
        return p;
    }
    hi_place *p = hi_batch_take(b);
    if (b->count) hi_ready_push(w, b->first, b->count, kept);
    return p;
}

/* p was the head of a chain: offers the rest again. */
void hi_ready_push_rest(hi_worker *w, hi_place *p, hi_place **kept)
{
    hi_place *rest = p->next;
    p->next = NULL;
    if (!hi_job_push(w, &rest->job)) hi_ready_keep(kept, rest);
    hi_job_post(w);
}

/* A token: the most urgent one that is ready now. */
void hi_flow_run_token(heist_ctx c, hi_job *job)
{
    heist_flow *root =
        heist_container((uintptr_t)job->source, heist_flow, token);
    hi_lock_take(&root->lock);
    hi_place *p = take_ranked(root);
    hi_lock_give(&root->lock);
    hi_flow_run(c, root, p, false);
}
