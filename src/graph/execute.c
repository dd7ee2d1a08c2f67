/* SPDX-License-Identifier: MIT
 *
 * execute.c: running the nodes of a flow, in its owner's hands (alone.c) or
 * shared (ready.c).
 *
 * Invariants
 *   I1  a flow's pending is the number of its places that are ready or running;
 *       it counts them before anybody else can see them.  Zero ends the flow.
 *   I2  a node's count is ready for its next turn when the last one has arrived,
 *       or a condition has started it: nobody arrives between its being ready
 *       and its start (join.c sees to that).
 *
 * Edges
 *   E1  arrives   release left      ->  arrives   acquire left     outputs
 *   E2  pending_ends, next_or_pay  acq_rel pending;  end_nested  acq_rel open
 *         ->  the same, by who is last  all that was done
 */
#include "graph/alone.h"

#include <errno.h>

enum {
    TURNS = 64 /* nodes in a row before others get their turn */
};

/* What became of a node that was started. */
typedef enum outcome {
    RAN,     /* it is done */
    SKIPPED, /* the flow was stopped */
    WAITS,   /* for a limit */
    NESTED   /* for a flow of its own */
} outcome;

/* --- counting ------------------------------------------------------------- */

/* One of those that a node waits for is done.  True: it was the last; the count
 * is ready for the node's next turn. */
static inline bool arrives(heist_flow *f, uint32_t node, bool alone)
{
    hi_number *left = &f->left[node];
    if (alone) {
        uint32_t now = heist_load_relaxed(left) - 1; /* relaxed: own-field */
        bool last = now == 0;
        /* relaxed: own-field */
        heist_store_relaxed(left, last ? f->nodes[node].need : now);
        return last;
    }
    /* E1: what the node before it has done. */
    if (heist_sub_release(left, 1) != 1) return false;
    (void)heist_load_acquire(left); /* E1: what all before it have done. */
    heist_store_relaxed(left, f->nodes[node].need); /* relaxed: after-E1 */
    return true;
}

static inline void pending_add(heist_flow *f, uint64_t n, bool alone)
{
    if (alone) {
        uint64_t now = heist_load_relaxed(&f->pending); /* relaxed: own-field */
        heist_store_relaxed(&f->pending, now + n);      /* relaxed: own-field */
    } else {
        heist_add_relaxed(&f->pending, n); /* relaxed: counter */
    }
}

/* True: that was the last one. */
static inline bool pending_ends(heist_flow *f, bool alone)
{
    if (alone) {
        uint64_t now =
            heist_load_relaxed(&f->pending) - 1; /* relaxed: own-field */
        heist_store_relaxed(&f->pending, now);   /* relaxed: own-field */
        return now == 0;
    }
    return heist_sub_acq_rel(&f->pending, 1) == 1; /* E2: all that was done. */
}

/* With conditions a place could be made ready while it is or runs: that would
 * tie a knot into a list, or run the node beside itself. */
static void queue_once(heist_flow *f, hi_place *p, hi_batch *b)
{
    /* relaxed: hint (one of two gets it) */
    if (heist_swap_relaxed(&f->active[p - f->places], 1))
        hi_flow_stop(f->root, -EALREADY, p);
    else
        hi_batch_add(b, p);
}

/* A plain node is done: whom that makes ready.  *first: the node of the first,
 * which is found sooner from the edge than from its place. */
static inline hi_batch release_plain(heist_flow *f, const hi_node *n,
                                     bool alone, const hi_node **first)
{
    hi_batch b = {NULL, NULL, 0};
    hi_place *places = f->places;
    const uint32_t *end = f->to + n[1].out;
    for (const uint32_t *to = f->to + n->out; to < end; to++) {
        if (!arrives(f, *to, alone)) continue;
        if (b.count == 0) *first = &f->nodes[*to];
        hi_batch_add(&b, &places[*to]);
    }
    return b;
}

/* A node is done: whom that makes ready.  Returns how many. */
static uint32_t release(heist_flow *f, const hi_node *n, bool alone,
                        hi_batch *b)
{
    uint32_t before = b->count;
    for (uint32_t e = n->out; e < n[1].out; e++) {
        hi_place *p = &f->places[f->to[e]];
        if (!arrives(f, f->to[e], alone)) continue;
        if (f->graph->weak)
            queue_once(f, p, b);
        else
            hi_batch_add(b, p);
    }
    return b->count - before;
}

static void lap_ends(heist_flow *f, const hi_node *n, const hi_worker *w)
{
    const heist_flow *root = f->root;
    if (f != root || !root->opts.profile) return;
    hi_lap *lap = &root->opts.profile->laps[n - f->nodes];
    int64_t now = hi_clock();
    lap->total += now - lap->end; /* which is where it began */
    lap->end = now;
    lap->runs++;
    lap->worker = w->guest ? UINT32_MAX : w->index;
}

static void lap_begins(heist_flow *f, const hi_node *n)
{
    const heist_flow *root = f->root;
    if (f != root || !root->opts.profile) return;
    hi_lap *lap = &root->opts.profile->laps[n - f->nodes];
    lap->end = hi_clock();
    if (!lap->runs) lap->start = lap->end;
}

/* p may be started again. */
static inline void deactivate(heist_flow *f, hi_place *p)
{
    if (!f->active) return;
    heist_store_relaxed(&f->active[p - f->places], 0); /* relaxed: hint */
}

/* A node other than the plainest is over. */
static uint32_t release_special(heist_ctx c, heist_flow *f, const hi_node *n,
                                bool alone, hi_batch *b)
{
    const hi_extra *e = hi_graph_extra(f->graph, n);
    lap_ends(f, n, hi_worker_of(c));
    if (e->limit_count) hi_limits_give(c, f, e);
    if (hi_node_is_weak(n) || hi_flow_stopped(f->root)) return 0;
    return release(f, n, alone, b);
}

/*
 * f is at its end, and so is the node that waits for it, and perhaps the flow of
 * that.  True: the run is over.
 */
static __attribute__((noinline)) bool end_nested(heist_ctx c, heist_flow *f,
                                                 bool alone, hi_batch *b)
{
    for (;;) {
        heist_flow *root = f->root;
        hi_place *outer = f->outer;
        if (f != root) hi_flow_put(f, hi_flow_stopped(root));
        /* E2: what was detached is done too. */
        if (!outer) return heist_sub_acq_rel(&root->open, 1) == 1;
        f = hi_flow_of(outer);
        deactivate(f, outer);
        uint32_t released =
            release_special(c, f, hi_node_of(f, outer), alone, b);
        if (released > 1) pending_add(f, released - 1, alone);
        if (released || !pending_ends(f, alone)) return false;
    }
}

/* One place of f is done and has released so many others.  True: the run is
 * over. */
static inline bool settle(heist_ctx c, heist_flow *f, uint32_t released,
                          bool alone, hi_batch *b)
{
    if (released > 1) pending_add(f, released - 1, alone);
    if (released || !pending_ends(f, alone)) return false;
    return end_nested(c, f, alone, b);
}

/* --- nodes that are more than a function ---------------------------------- */

/* Starts a flow for the node at `outer`; NULL: for none.  0 or why not. */
static int nest(heist_flow *f, heist_graph *g, void *context, hi_place *outer,
                bool owned, hi_batch *b)
{
    heist_flow *root = f->root;
    int rc = hi_graph_seal(g, NULL, 0);
    heist_flow *inner = rc == 0 ? hi_flow_get(g) : NULL;
    if (!inner) return rc < 0 ? rc : -ENOMEM;
    inner->root = root;
    inner->outer = outer;
    inner->context = context;
    inner->owns_graph = owned;
    inner->level = (uint8_t)(outer ? hi_level_of(outer) : 0);
    heist_store_relaxed(&inner->pending, g->sources); /* relaxed: init */
    if (g->prioritized)
        heist_store_relaxed(&root->ranked, 1); /* relaxed: hint */
    for (uint32_t i = 0; i < g->sources; i++)
        hi_batch_add(b, &inner->places[g->source_list[i]]);
    return 0;
}

static bool is_empty(const heist_graph *g)
{
    return heist_graph_size(g) == 0 && g->error == 0;
}

/* The node has returned, and left a subflow.  False: it waits for it. */
static bool start_subflow(heist_step *s, hi_batch *b)
{
    heist_flow *f = s->flow, *root = f->root;
    heist_graph *g = s->subflow;
    if (hi_flow_stopped(root) || is_empty(g)) {
        heist_graph_destroy(g);
        return true;
    }
    /* relaxed: counter (the flow itself is counted) */
    if (s->detached) heist_add_relaxed(&root->open, 1);
    int rc = nest(f, g, f->context, s->detached ? NULL : s->place, true, b);
    if (rc == 0) return s->detached;
    /* relaxed: counter (the flow itself is counted) */
    if (s->detached) heist_sub_relaxed(&root->open, 1);
    hi_flow_stop(root, rc, s->place);
    heist_graph_destroy(g);
    return true;
}

/* Waits before the next attempt, unless the flow is stopped. */
static bool wait_for_attempt(heist_flow *root, const heist_retry *r,
                             unsigned attempt)
{
    heist_time delay = r->delay;
    for (unsigned i = 1; i < attempt && r->factor > 1; i++) {
        if (r->longest && delay >= r->longest) break;
        if (__builtin_mul_overflow(delay, (heist_time)r->factor, &delay))
            delay = HEIST_FOREVER;
    }
    if (r->longest && delay > r->longest) delay = r->longest;
    heist_time until = heist_after(delay);
    if (until > root->opts.deadline) until = root->opts.deadline;
    if (delay > 0 && heist_latch_wait(&root->halted, until) == 0) return false;
    return !hi_flow_stopped_now(root);
}

static void forget(heist_step *s)
{
    while (s->picked.count) {
        hi_place *p = hi_batch_take(&s->picked);
        /* relaxed: own-field */
        heist_store_relaxed(&s->flow->active[p - s->flow->places], 0);
    }
    heist_graph_destroy(s->subflow);
    s->subflow = NULL;
    s->detached = false;
}

static int call(heist_ctx c, heist_step *s, const hi_node *n)
{
    if (!n->fn) return 0;
    int rc = n->fn(c, s, n->arg);
    const heist_retry *r = &hi_graph_extra(s->flow->graph, n)->retry;
    while (rc < 0 && s->attempt + 1 < r->attempts) {
        forget(s);
        s->attempt++;
        if (!wait_for_attempt(s->flow->root, r, s->attempt)) break;
        rc = n->fn(c, s, n->arg);
    }
    hi_check_joined(c.frame);
    return rc;
}

/* Before the function of a node of any kind, and the function.  *rc is what it
 * returned. */
static outcome start(heist_ctx c, heist_step *s, const hi_node *n, int *rc)
{
    heist_flow *f = s->flow;
    const hi_extra *e = hi_graph_extra(f->graph, n);
    if (hi_flow_stopped_now(f->root)) return SKIPPED;
    if (e->limit_count && !hi_limits_take(f, s->place, e)) return WAITS;
    if (e->limit_count && hi_flow_stopped(f->root)) return SKIPPED;
    lap_begins(f, n);
    if (n->kind == HI_NODE_MODULE) return NESTED;
    *rc = call(c, s, n);
    return RAN;
}

/* A condition has chosen, or a choice. */
static uint32_t follow(heist_flow *f, heist_step *s, const hi_node *n, int rc,
                       hi_batch *b)
{
    uint32_t before = b->count;
    if (n->kind == HI_NODE_CHOICE) {
        while (s->picked.count)
            hi_batch_add(b, hi_batch_take(&s->picked));
    } else if ((uint32_t)rc < n[1].out - n->out) {
        queue_once(f, &f->places[f->to[n->out + (uint32_t)rc]], b);
    }
    return b->count - before;
}

/* A node that was not started is over. */
static bool skip(heist_ctx c, heist_step *s, const hi_node *n, bool alone,
                 hi_batch *b)
{
    heist_flow *f = s->flow;
    const hi_extra *e = hi_graph_extra(f->graph, n);
    deactivate(f, s->place);
    if (e->limit_count) hi_limits_give(c, f, e);
    return settle(c, f, 0, alone, b);
}

/* After the function of a node of any kind.  True: the run is over. */
static bool finish(heist_ctx c, heist_step *s, const hi_node *n, outcome got,
                   int rc, bool alone, hi_batch *b)
{
    heist_flow *f = s->flow;
    uint32_t released = 0;
    if (got == WAITS) return false;
    if (got == SKIPPED) return skip(c, s, n, alone, b);
    if (got == NESTED) {
        heist_graph *module = hi_graph_extra(f->graph, n)->module;
        void *context = n->arg ? n->arg : f->context;
        if (!is_empty(module)) {
            rc = nest(f, module, context, s->place, false, b);
            if (rc == 0) return false;
        }
    }
    if (rc < 0) {
        hi_flow_stop(f->root, rc, s->place);
        forget(s);
    }
    if (s->subflow && !start_subflow(s, b)) return false;
    deactivate(f, s->place);
    if (rc >= 0 && hi_node_is_weak(n)) released = follow(f, s, n, rc, b);
    released += release_special(c, f, n, alone, b);
    return settle(c, f, released, alone, b);
}

/* Limits and priorities are for flows that are shared; a subflow may bring them
 * along. */
static bool must_share(const heist_flow *root, const heist_flow *f,
                       const hi_node *n)
{
    if (hi_graph_extra(f->graph, n)->limit_count) return true;
    return heist_load_relaxed(&root->ranked); /* relaxed: hint */
}

/* --- the loop ------------------------------------------------------------- */

/* Others get their turn on this worker, if there is memory to put p aside. */
static hi_place *make_way(hi_worker *w, hi_place *p)
{
    if (!p || !hi_job_push(w, &p->job)) return p;
    hi_job_post(w);
    return NULL;
}

/*
 * A node that is only its function, which is called.  *alone: is the flow still
 * its owner's?  True: it has returned 0 and left no subflow; else finish() goes
 * on from there with *rc, what it has returned.
 */
static inline bool run_plain(heist_ctx *c, heist_flow *root, heist_step *s,
                             const hi_node *n, bool *alone, int *rc,
                             hi_place **kept)
{
    if (*alone) hi_alone_enter(&root->solo);
    *rc = n->fn(*c, s, n->arg);
    hi_check_joined(c->frame);
    if (*alone) *alone = hi_alone_leave(c, root, kept);
    return HEIST_LIKELY(*rc == 0 && !s->subflow);
}

/* Any other node.  True: the run is over. */
static __attribute__((noinline)) bool
run_special(heist_ctx *c, heist_flow *root, heist_step *s, const hi_node *n,
            bool *alone, hi_place **kept, hi_batch *ready)
{
    heist_flow *f = s->flow;
    int rc = 0;
    /* relaxed: after-E1 (a condition has started it, whoever has arrived) */
    if (f->active) heist_store_relaxed(&f->left[n - f->nodes], n->need);
    if (*alone && must_share(root, f, n))
        *alone = hi_alone_look(c, root, true, kept);
    if (*alone) hi_alone_enter(&root->solo);
    outcome got = start(*c, s, n, &rc);
    if (*alone) *alone = hi_alone_leave(c, root, kept);
    return finish(*c, s, n, got, rc, *alone, ready);
}

/*
 * A plain place is done and has made others ready.  In a run that is shared the
 * worker does not take every one off the root's count at once, which all workers
 * share: it owes them, and what is ready next pays for that.  As long as it owes,
 * the root does not end.  True: the run is over.
 */
static inline bool account(heist_ctx c, heist_flow *f, bool alone,
                           uint64_t *debt, hi_batch *ready)
{
    if (alone || f != f->root) return settle(c, f, ready->count, alone, ready);
    if (ready->count == 0) {
        ++*debt;
    } else if (ready->count - 1 <= *debt) {
        *debt -= ready->count - 1;
    } else {
        pending_add(f, ready->count - 1 - *debt, alone);
        *debt = 0;
    }
    return false;
}

/* A worker that owes something: the next of the run in its own deque, or it pays.
 * *over: that was the end. */
static hi_place *next_or_pay(heist_ctx c, heist_flow *root, uint64_t debt,
                             bool tired, bool *over)
{
    const hi_place *end = &root->places[root->graph->count];
    hi_job *job = NULL;
    if (!tired)
        job = hi_job_pop_in(hi_worker_of(c), &root->places[0].job, &end->job);
    if (job) return heist_container(job, hi_place, job);
    hi_batch none = {NULL, NULL, 0};
    /* E2: all that was done. */
    if (heist_sub_acq_rel(&root->pending, debt) == debt)
        *over = end_nested(c, root, false, &none);
    return NULL;
}

void hi_flow_run(heist_ctx c, heist_flow *root, hi_place *p, bool alone)
{
    hi_worker *w = hi_worker_of(c);
    hi_place *kept = NULL;
    heist_flow *f = NULL;
    const hi_node *known = NULL; /* p's, and p is f's */
    uint64_t debt = 0;
    bool over = false;
    if (alone) c = hi_alone_begin(c, root);
    for (unsigned turn = 1; p; turn++) {
        hi_batch ready = {NULL, NULL, 0};
        if (!known) f = hi_flow_of(p);
        const hi_node *n = known ? known : hi_node_of(f, p);
        heist_step s;
        int rc;
        known = NULL;
        hi_step_init(&s, f, p);
        if (!alone && p->next) hi_ready_push_rest(w, p, &kept);
        /* relaxed: hint */
        if (HEIST_UNLIKELY(heist_load_relaxed(&root->heed) | n->special)) {
            over = run_special(&c, root, &s, n, &alone, &kept, &ready);
        } else if (run_plain(&c, root, &s, n, &alone, &rc, &kept)) {
            ready = release_plain(f, n, alone, &known);
            over = account(c, f, alone, &debt, &ready);
        } else {
            over = finish(c, &s, n, RAN, rc, alone, &ready);
        }
        if (over) break;
        if (!alone) known = NULL; /* another one may be next */
        p = alone ? hi_alone_next(&root->solo, &ready)
                  : hi_ready_next(w, root, &ready, &kept);
        bool tired = turn % TURNS == 0 && !alone && !kept;
        if (tired) p = make_way(w, p);
        if (!p && debt) p = next_or_pay(c, root, debt, tired, &over);
    }
    if (!over) return;
    if (alone) hi_alone_end(c, root);
    hi_flow_end(root);
}

/* A chain that a worker has found. */
void hi_flow_run_job(heist_ctx c, hi_job *job)
{
    hi_place *p = heist_container(job, hi_place, job);
    hi_flow_run(c, hi_flow_of(p)->root, p, false);
}

void hi_flow_offer(heist_ctx c, heist_flow *root, hi_batch *b)
{
    hi_place *kept = NULL;
    hi_place *p = hi_ready_next(hi_worker_of(c), root, b, &kept);
    if (kept) hi_ready_keep(&kept, p), p = kept;
    hi_flow_run(c, root, p, false);
}
