/* SPDX-License-Identifier: MIT
 *
 * line.c: how the tokens of a pipeline go through its stages.
 *
 * Token n uses line n % lines.  A place is a stage of a line; a serial place
 * waits for two arrivals: of its token, which has left the stage before, and of
 * the token before, which has left this stage.  At the first stage the token
 * has come when its line is free.  A parallel place waits for nothing: the
 * worker that brings the token goes on with it.
 *
 *     line 0   read 0 -> pack 0 -> write 0 -> read 3 ...      (its own token)
 *                v                    v
 *     line 1   read 1 -> pack 1 -> write 1 -> read 4 ...      (the one before)
 *                v                    v
 *     line 2   read 2 -> pack 2 -> write 2 -> read 5 ...
 *
 * The end.  When there are no more tokens the turn at the first stage goes
 * round all lines once more.  It gets to a line only when that is free, so
 * when it has been everywhere all tokens are through: nobody has to count
 * them.
 *
 * A run begins in the hands of its owner, the worker that called, who takes one
 * token after the other through all stages and touches no counters.  He shares
 * it for good when that seems worth it (owner.c) and somebody could help or
 * calls: an open frame lies below his stages, and who gets it (exposed by a
 * stage that forks or waits, or rescued from behind a long one) calls, and
 * without an answer takes over.
 *
 *             owner: meet, close_up           any worker: run_lines
 *        ALONE ------------------> SHARED <----------------------+
 *          | ^                       ^    -----------------------+
 *     help | | meet                  |
 *          v |     take_over         |
 *        CALLED ---------------------+
 *
 * Invariants
 *   I1  a line has at most one place that is ready or running; who made it
 *       ready or runs it is the only one to touch the line, but for its
 *       counters.
 *   I2  not shared: nobody looks at counters, and no line but the owner's is
 *       used.  lay_out, which sets them all, is called once.
 *   I3  steps is the number of stages that the owner has finished.  Who takes
 *       over counts what it says as done and the next stage as running: the
 *       owner, who looks at `others` after every stage, is then in that stage
 *       or before it.
 *   I4  the frame is joined before the owner's token goes on in a shared run,
 *       so a helper finds the run alive.
 *   I5  ending and drained belong to who is at the first stage.
 *
 * Edges
 *   P1  arrives    acq_rel left   ->  arrives    acq_rel left   payload, place
 *       run_lines  left again     ->  arrives    (at the next round)
 *   P2  run_alone  release steps  ->  take_over  acquire steps  what stages did
 *   P3  run_alone  steps; others  <>  help, take_over  others; barrier; steps
 *
 * Locks: a run's own, for taking over and for failures; no other one under it.
 */
#include "graph/line.h"

#include <errno.h>
#include <string.h>

enum {
    FIRST_LOOK = 1, /* stages before the owner looks around */
    TURNS = 64      /* stages in a row before others get their turn */
};

/* Who takes part. */
enum {
    ALONE,
    CALLED, /* somebody wants to */
    SHARED
};

static inline heist_token *line_after(hi_pipe *r, const heist_token *l)
{
    return l->index + 1 == r->lines ? hi_line_at(r, 0)
                                    : hi_line_at(r, l->index + 1);
}

static inline bool is_serial(const hi_pipe *r, uint32_t stage)
{
    return r->stages[stage].kind == HEIST_SERIAL;
}

/* --- stopping ------------------------------------------------------------- */

static void fail(hi_pipe *r, const heist_token *l, int code)
{
    hi_lock_take(&r->lock);
    if (!r->failed || l->number < r->failure.token) {
        r->failed = true;
        r->failure = (heist_pipeline_failure){
            .code = code, .stage = l->stage, .token = l->number};
    }
    /* relaxed: under-lock */
    if (l->number < heist_load_relaxed(&r->dropped))
        heist_store_relaxed(&r->dropped, l->number); /* relaxed: under-lock */
    hi_lock_give(&r->lock);
}

/* All tokens are dropped from now on; the first code is kept. */
static void stop(hi_pipe *r, int code)
{
    hi_lock_take(&r->lock);
    if (r->stopped == 0) r->stopped = code;
    heist_store_relaxed(&r->dropped, 0); /* relaxed: under-lock */
    hi_lock_give(&r->lock);
}

/* Why the run is to end now, apart from failures; or 0. */
static int reason_to_stop(const hi_pipe *r)
{
    if (r->deadline != HEIST_FOREVER && hi_clock() >= r->deadline)
        return -ETIMEDOUT;
    if (r->cancel && heist_latch_wait(r->cancel, HEIST_NOW) == 0)
        return -ECANCELED;
    if (r->step && heist_step_stopped(r->step)) return -ECANCELED;
    return 0;
}

static inline bool is_dropped(const hi_pipe *r, const heist_token *l)
{
    /* relaxed: hint (who has not heard of it yet runs a stage more) */
    return l->number >= heist_load_relaxed(&r->dropped);
}

bool hi_pipe_is_dropped(const hi_pipe *r, const heist_token *l)
{
    return is_dropped(r, l) || (r->heeds && reason_to_stop(r) != 0);
}

static bool may_go_on(hi_pipe *r, const heist_token *l)
{
    if (is_dropped(r, l)) return false;
    int code = r->heeds ? reason_to_stop(r) : 0;
    if (code == 0) return true;
    stop(r, code);
    return false;
}

/* --- stages --------------------------------------------------------------- */

static void drop(hi_pipe *r, heist_token *l)
{
    const heist_pipeline *p = r->pipeline;
    l->dropped = true;
    if (p->drop) p->drop(l, p->drop_arg);
}

/* Makes a token, if there is one more. */
static __attribute__((noinline)) bool play_first(heist_ctx c, hi_pipe *r,
                                                 heist_token *l)
{
    if (r->ending) return false;
    l->dropped = false;
    if (!may_go_on(r, l)) {
        r->ending = true;
        return false;
    }
    if (l->number < r->lines)
        memset(hi_line_payload(l), 0, r->pipeline->token_bytes);
    int rc = r->stages[0].fn(c, l, r->stages[0].arg);
    hi_check_joined(c.frame);
    if (rc < 0) {
        fail(r, l, rc);
        r->ending = true;
    }
    return !r->ending;
}

/* Runs the stage at which l is.  False: its token is none, or is dropped. */
static inline bool play(heist_ctx c, hi_pipe *r, heist_token *l)
{
    if (l->stage == 0) return play_first(c, r, l);
    if (l->dropped) return false;
    if (HEIST_UNLIKELY(!may_go_on(r, l))) {
        drop(r, l);
        return false;
    }
    const heist_stage *stage = &r->stages[l->stage];
    int rc = stage->fn(c, l, stage->arg);
    hi_check_joined(c.frame);
    if (HEIST_LIKELY(rc >= 0)) return true;
    fail(r, l, rc);
    drop(r, l);
    return false;
}

/* --- shared --------------------------------------------------------------- */

/* True: it was the last one that the place waited for. */
static inline bool arrives(heist_token *l, uint32_t stage)
{
    return heist_sub_acq_rel(&l->left[stage], 1) == 1; /* P1: what we did. */
}

/* No more tokens, and l is free: on to the next line.  At the end the run may
 * be gone when this returns. */
static heist_token *drain(hi_pipe *r, const heist_token *l)
{
    heist_token *next = line_after(r, l);
    if (++r->drained == r->lines) {
        heist_latch_arrive(&r->ended);
        return NULL;
    }
    return arrives(next, 0) ? next : NULL;
}

/*
 * l has been through its stage: whom that makes ready, itself first.  Without
 * anybody ready the run may be gone when this returns.
 */
static heist_token *settle(hi_pipe *r, heist_token *l, heist_token **other)
{
    uint32_t stage = l->stage;
    heist_token *after = line_after(r, l);
    *other = NULL;
    if (stage == 0 && r->ending) return drain(r, l);
    if (is_serial(r, stage) && arrives(after, stage)) *other = after;
    if (++stage == r->count) {
        stage = 0;
        l->number += r->lines;
    }
    l->stage = stage;
    return !is_serial(r, stage) || arrives(l, stage) ? l : NULL;
}

static void offer(hi_worker *w, heist_token *l, heist_token **kept)
{
    if (hi_job_push(w, &l->job)) {
        hi_job_post(w);
        return;
    }
    l->next = *kept; /* no memory: we run it ourselves */
    *kept = l;
}

/* Runs l, and what that makes ready, until there is nothing more to be had
 * without a search.  `ran`: its stage has been run already. */
static void run_lines(heist_ctx c, hi_pipe *r, heist_token *l, bool ran)
{
    hi_worker *w = hi_worker_of(c);
    heist_token *kept = NULL, *other;
    for (unsigned turn = 1; l; turn++) {
        if (!ran) {
            /* P1: nobody arrives here again before we have gone on. */
            heist_store_relaxed(&l->left[l->stage], 2);
            play(c, r, l);
        }
        ran = false;
        l = settle(r, l, &other);
        if (other) offer(w, other, &kept);
        if (!l && kept) {
            l = kept;
            kept = l->next;
        }
        /* Now and then others get their turn. */
        if (turn % TURNS == 0 && l && !kept && hi_job_push(w, &l->job)) {
            hi_job_post(w);
            l = NULL;
        }
    }
}

/* What a worker does that has found a line. */
void hi_pipe_run_job(heist_ctx c, hi_job *job)
{
    heist_token *l = heist_container(job, heist_token, job);
    run_lines(c, l->run, l, false);
}

/*
 * Sets the counters to what they are when the owner, alone so far, has
 * finished so many stages and is in the next one.  Returns the line that is
 * ready, or NULL.
 */
static heist_token *lay_out(hi_pipe *r, uint64_t steps)
{
    uint64_t token = steps / r->count;
    uint32_t stage = (uint32_t)(steps % r->count);
    heist_token *own = hi_line_at(r, token % r->lines), *l = own;
    for (uint32_t ahead = 0; ahead < r->lines; ahead++) {
        if (ahead > 0) {
            l->number = token + ahead;
            l->stage = 0;
        }
        for (uint32_t i = 0; i < r->count; i++) {
            bool free = ahead > 0 && i == 0;
            bool has_left = ahead == 0 ? i > stage : ahead == 1 && i < stage;
            heist_init(&l->left[i], free || has_left ? 1 : 2);
        }
        l = line_after(r, l);
    }
    r->handed = steps;
    heist_store_relaxed(&r->others, SHARED); /* relaxed: under-lock */
    return stage > 0 ? line_after(r, own) : NULL;
}

/* --- alone ---------------------------------------------------------------- */

/* Helper: takes the other lines out of the hands of an owner that does not
 * answer. */
static heist_token *take_over(hi_pipe *r)
{
    heist_token *ready = NULL;
    hi_lock_take(&r->lock);
    if (heist_load_relaxed(&r->others) == CALLED) { /* relaxed: under-lock */
        hi_barrier_all(); /* P3: we have called, now see where it is. */
        /* P2: as it was before the stage it is in. */
        ready = lay_out(r, heist_load_acquire(&r->steps));
    }
    hi_lock_give(&r->lock);
    return ready;
}

/* The function of the open frame. */
static void help(heist_ctx c, heist_frame *f)
{
    hi_pipe *r = f->arg[0].p;
    uint32_t alone = ALONE;
    heist_token *kept = NULL;
    /* P3: we call. */
    if (!heist_cas_relaxed(&r->others, &alone, CALLED)) return;
    for (unsigned spins = 0; spins < HI_CALL_SPINS; spins++) {
        /* relaxed: hint (that the owner has answered) */
        if (heist_load_relaxed(&r->others) != CALLED) return;
        hi_cpu_relax();
    }
    heist_token *ready = take_over(r);
    if (ready) offer(hi_worker_of(c), ready, &kept);
    if (kept) run_lines(c, r, kept, false);
}

/* Owner: what a stage costs, by this look and the last one: one of them alone
 * may have seen the machine do something else.  After a single stage this look
 * is enough. */
static int64_t pace(hi_pipe *r, int64_t now)
{
    bool is_one_stage = r->pace.every - r->pace.budget <= 1;
    int64_t before = r->cost, cost = hi_pace_look(&r->pace, now);
    r->cost = cost;
    return is_one_stage || cost < before ? cost : before;
}

/*
 * Owner, between stages, with the frame at c open: shares the run if that is
 * due, and answers who has called.  True: it is shared, and the frame closed.
 */
static __attribute__((noinline)) bool meet(heist_ctx c, hi_pipe *r,
                                           uint64_t steps)
{
    hi_worker *w = hi_worker_of(c);
    heist_token *ready = NULL, *kept = NULL;
    int64_t now = hi_clock(), cost = pace(r, now);
    hi_lock_take(&r->lock);
    uint32_t others = heist_load_relaxed(&r->others); /* relaxed: under-lock */
    bool shared = others == SHARED;
    if (!shared &&
        hi_pace_is_worth_sharing(&r->pace, w, now, cost, others == CALLED)) {
        ready = lay_out(r, steps);
        shared = true;
    } else if (others == CALLED) {
        heist_store_relaxed(&r->others, ALONE); /* relaxed: under-lock */
    }
    hi_lock_give(&r->lock);
    hi_strand_answer(hi_strand_from(c.strand), c.frame);
    if (!shared && others == ALONE) return false;
    heist_join(c); /* whoever took it is done by now, or soon */
    if (!shared) hi_owner_reopen(c, help, r);
    if (ready) offer(w, ready, &kept);
    if (kept) run_lines(c, r, kept, false);
    return shared;
}

/* Owner: no more tokens.  True: the run was taken over before, others have
 * some. */
static bool close_up(heist_ctx c, hi_pipe *r)
{
    hi_lock_take(&r->lock);
    /* relaxed: under-lock */
    bool shared = heist_load_relaxed(&r->others) == SHARED;
    heist_store_relaxed(&r->others, SHARED); /* relaxed: under-lock */
    hi_lock_give(&r->lock);
    heist_join(c);
    return shared;
}

/* Where an owner is going. */
typedef struct spot {
    heist_token *line;
    uint64_t number;
    uint32_t stage;
} spot;

/* The next stage; after the last one, the first stage of the next token. */
static inline spot spot_after(hi_pipe *r, heist_token *l)
{
    if (l->stage + 1 < r->count) return (spot){l, l->number, l->stage + 1};
    return (spot){line_after(r, l), l->number + 1, 0};
}

static inline heist_token *move_to(spot s)
{
    s.line->number = s.number;
    s.line->stage = s.stage;
    return s.line;
}

static void run_alone(heist_ctx c, hi_pipe *r)
{
    heist_token *l = hi_line_at(r, 0);
    heist_ctx above = hi_owner_open(c, help, r);
    const hi_strand *s = hi_strand_from(c.strand);
    for (uint64_t steps = 1; play(above, r, l); steps++) {
        spot next = spot_after(r, l);          /* I3: l may not be ours then. */
        heist_store_release(&r->steps, steps); /* P2: what it did. */
        /* P3: out of the stage, now see who calls.  kept: compilers are not
         * checked by the checker. */
        heist_fence_compiler();
        /* relaxed: after-P3 */
        bool company = heist_load_relaxed(&r->others) != ALONE;
        if (HEIST_UNLIKELY(--r->pace.budget == 0 || company ||
                           hi_strand_is_called(s, c.frame)) &&
            meet(c, r, steps)) {
            bool counted = r->handed == steps;
            run_lines(c, r, counted ? move_to(next) : l, !counted);
            return;
        }
        l = move_to(next);
    }
    if (close_up(c, r))
        run_lines(c, r, l, true);
    else
        heist_latch_arrive(&r->ended);
}

/* Nobody could help. */
static void run_single(heist_ctx c, hi_pipe *r)
{
    heist_token *l = hi_line_at(r, 0);
    while (play(c, r, l))
        l = move_to(spot_after(r, l));
    heist_latch_arrive(&r->ended);
}

void hi_pipe_begin(heist_ctx c, hi_pipe *r)
{
    const hi_worker *w = hi_worker_of(c);
    if (r->lines == 1 || r->count == 1 || !w->rt) {
        run_single(c, r);
        return;
    }
    hi_pace_start(&r->pace, FIRST_LOOK);
    /* Alone only where it could be taken over.  relaxed: hint */
    if (heist_load_relaxed(&w->rt->rescue) &&
        w->rt->config.exposure != HEIST_EAGER) {
        run_alone(c, r);
        return;
    }
    lay_out(r, 0);
    run_lines(c, r, hi_line_at(r, 0), false);
}
