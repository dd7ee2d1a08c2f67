/* SPDX-License-Identifier: MIT
 *
 * flow.c: the life of a flow, and those who wait for it.
 *
 *        hi_flow_get        begin_pass         hi_flow_end       hi_flow_put
 *   free ----------> ready -----------> runs -------------> ended ---------> free
 *                                       ^  |
 *                                       +--+  another pass
 */
#include "graph/flow.h"

#include "queue/memory.h"

#include <errno.h>
#include <string.h>

enum {
    FIRST_LOOK = 4,   /* nodes before the owner looks around */
    HEAVY_RUNS = 16,  /* that begin shared before one shows again why */
    LONG_RUN = 40000, /* ns from which a run profits from waking somebody */
    HEAVY_NODE = 100  /* ns of the whole run per node, with helpers */
};

/* --- memory --------------------------------------------------------------- */

static void arm(heist_flow *f)
{
    for (uint32_t i = 0; i < f->graph->count; i++) {
        f->places[i].job.source = &f->source;
        heist_init(&f->left[i], f->nodes[i].need);
        if (f->active) heist_init(&f->active[i], 0);
    }
}

static heist_flow *create(heist_graph *g)
{
    size_t n = g->count;
    size_t places = sizeof(heist_flow);
    size_t left = places + (n + 1) * sizeof(hi_place);
    size_t active = left + n * sizeof(hi_number);
    size_t outputs = active + (g->weak ? n * sizeof(hi_number) : 0);
    outputs = (outputs + HI_OUTPUT_ALIGN - 1) & ~(size_t)(HI_OUTPUT_ALIGN - 1);
    size_t bytes = outputs + g->output_units * HI_OUTPUT_ALIGN;
    char *memory = hi_alloc_raw(&g->allocator, bytes, HEIST_LINE);
    if (!memory) return NULL;
    heist_flow *f = memset(memory, 0, sizeof *f);
    f->bytes = bytes;
    f->source.run = hi_flow_run_job;
    f->token.run = hi_flow_run_token;
    f->graph = g;
    f->nodes = g->nodes;
    f->to = g->to;
    f->places = (hi_place *)(void *)(memory + places);
    f->left = (hi_number *)(void *)(memory + left);
    f->active = g->weak ? (hi_number *)(void *)(memory + active) : NULL;
    f->outputs = memory + outputs;
    f->places[n].job.source = &f->token;
    arm(f);
    return f;
}

void hi_flow_free(heist_flow *f)
{
    hi_free(&f->graph->allocator, f, f->bytes);
}

heist_flow *hi_flow_get(heist_graph *g)
{
    hi_graph_after_fork(g);
    hi_lock_take(&g->lock);
    heist_flow *f = g->flows;
    if (f) g->flows = f->next;
    g->running++;
    hi_lock_give(&g->lock);
    if (!f) f = create(g);
    if (f) {
        memset(f->outputs, 0, g->output_units * HI_OUTPUT_ALIGN);
        return f;
    }
    hi_lock_take(&g->lock);
    g->running--;
    hi_lock_give(&g->lock);
    return NULL;
}

void hi_flow_put(heist_flow *f, bool stopped)
{
    heist_graph *g = f->graph;
    bool last_use = f->owns_graph;
    if (stopped || g->weak) arm(f);
    f->root = NULL;
    hi_graph_after_fork(g);
    hi_lock_take(&g->lock);
    f->next = g->flows;
    g->flows = f;
    if (g->running) g->running--; /* not if it began before a fork() */
    hi_lock_give(&g->lock);
    if (last_use) heist_graph_destroy(g);
}

/* --- stopping ------------------------------------------------------------- */

static void describe(heist_flow *root, int code, const hi_place *place)
{
    heist_failure *why = root->opts.failure;
    if (!why || !place) return;
    const heist_flow *f = hi_flow_of(place);
    *why = (heist_failure){.code = code, .pass = root->pass};
    why->node.id = (uint32_t)(place - f->places);
    const char *name = heist_graph_name(f->graph, why->node);
    snprintf(why->name, sizeof why->name, "%s", name);
}

/* Under the lock of who is outside of it, if anybody is.  Returns the waits of
 * it and of those inside of it before `left`. */
static hi_wait *stop(heist_flow *root, int code, const hi_place *place,
                     hi_wait *left)
{
    hi_lock_take(&root->lock);
    bool first = root->code == 0 && !root->over;
    if (first) {
        root->code = code;
        describe(root, code, place);
        heist_or_relaxed(&root->heed, HI_STOPPED); /* relaxed: hint */
        left = hi_limits_leave(root, left);
        for (heist_flow *f = root->inner; f; f = f->next_inner)
            left = stop(f, -ECANCELED, NULL, left);
        heist_latch_arrive(&root->halted);
    }
    hi_lock_give(&root->lock);
    return left;
}

void hi_flow_stop(heist_flow *root, int code, const hi_place *place)
{
    hi_limits_send_back(stop(root, code, place, NULL));
}

bool hi_flow_stopped_now(heist_flow *root)
{
    uint32_t heed = heist_load_relaxed(&root->heed); /* relaxed: hint */
    if (heed & HI_STOPPED) return true;
    if (!(heed & HI_TIMED) || hi_clock() < root->opts.deadline) return false;
    hi_flow_stop(root, -ETIMEDOUT, NULL);
    return true;
}

/* Tied to the run of a node that waits for f, which stops f when it is. */
static void tie(heist_flow *f, heist_flow *within)
{
    f->within = within;
    if (!within) return;
    hi_lock_take(&within->lock);
    f->next_inner = within->inner;
    within->inner = f;
    bool stopped = within->code != 0;
    hi_lock_give(&within->lock);
    if (stopped) hi_flow_stop(f, -ECANCELED, NULL);
}

static void untie(heist_flow *f)
{
    heist_flow *within = f->within;
    if (!within) return;
    hi_lock_take(&within->lock);
    heist_flow **link = &within->inner;
    while (*link != f)
        link = &(*link)->next_inner;
    *link = f->next_inner;
    hi_lock_give(&within->lock);
}

static void check_open(const heist_flow *flow)
{
    hi_check(flow->root == flow, "a flow that was closed");
    (void)flow;
}

void heist_flow_cancel(heist_flow *flow)
{
    check_open(flow);
    hi_flow_stop(flow, -ECANCELED, NULL);
}

/* --- passes --------------------------------------------------------------- */

/* Makes f the root of a run; -EBUSY: another one uses the profile. */
static int prepare(heist_flow *f, const heist_flow_opts *opts, bool async,
                   heist_flow *within)
{
    heist_profile *profile = opts->profile;
    uint32_t heed = 0;
    if (profile &&
        (profile->graph != f->graph || profile->count != f->graph->count))
        return -EINVAL;
    if (profile && !hi_profile_take(profile)) return -EBUSY;
    if (opts->deadline != HEIST_FOREVER) heed |= HI_TIMED;
    if (profile) heed |= HI_PROFILED;
    heist_init(&f->heed, heed);
    heist_init(&f->ranked, f->graph->prioritized);
    f->opts = *opts;
    f->root = f;
    f->outer = NULL;
    f->context = opts->context;
    f->owns_graph = false;
    f->level = 0;
    f->pass = 0;
    f->code = 0;
    f->async = async;
    f->picks = 0;
    f->over = false;
    f->inner = NULL;
    f->waits = NULL;
    heist_latch_init(&f->halted, 1);
    heist_latch_init(&f->ended, 1);
    tie(f, within);
    return 0;
}

/* From here on nothing stops it any more. */
static void unprepare(heist_flow *f)
{
    heist_profile *profile = f->opts.profile;
    untie(f);
    hi_lock_take(&f->lock);
    f->over = true;
    hi_lock_give(&f->lock);
    if (profile) heist_store_relaxed(&profile->used, 0); /* relaxed: hint */
}

/* Is there a pass to do?  Passes over nothing are done here. */
static bool is_due(heist_flow *f)
{
    for (;; f->pass++) {
        if (hi_flow_stopped_now(f) || f->pass >= f->opts.times) return false;
        if (f->opts.until && f->opts.until(f->opts.context)) return false;
        if (f->graph->sources) return true;
    }
}

static void begin_pass(heist_flow *f)
{
    const heist_profile *profile = f->opts.profile;
    /* Branches that were not taken may have left arrivals behind. */
    if (f->graph->weak && f->pass) arm(f);
    heist_store_relaxed(&f->pending, f->graph->sources); /* relaxed: init */
    heist_store_relaxed(&f->open, 1);                    /* relaxed: init */
    if (profile)
        memset(f->opts.profile->laps, 0, profile->count * sizeof(hi_lap));
}

static hi_batch sources(heist_flow *f)
{
    hi_batch b = {NULL, NULL, 0};
    for (uint32_t i = 0; i < f->graph->sources; i++)
        hi_batch_add(&b, &f->places[f->graph->source_list[i]]);
    return b;
}

/* A run can be one worker's only where it could be taken out of its hands; and
 * it is not worth the trouble if the last one was shared in the end. */
static bool begins_alone(const heist_flow *f, const hi_worker *w)
{
    const heist_graph *g = f->graph;
    if (g->prioritized || g->limited) return false;
    if (!w->rt) return true;
    if (w->rt->config.exposure == HEIST_EAGER) return false;
    /* relaxed: hint */
    return heist_load_relaxed(&w->rt->rescue) && !heist_load_relaxed(&g->heavy);
}

/* Runs a pass as far as one worker can. */
static void take_part(heist_ctx c, heist_flow *f)
{
    hi_solo *solo = &f->solo;
    hi_batch b = sources(f);
    bool alone = begins_alone(f, hi_worker_of(c));
    heist_init(&solo->shared, !alone);
    heist_init(&solo->in_body, 0);
    heist_init(&solo->called, 0);
    solo->ready = NULL;
    solo->light = false;
    solo->entered = 0;
    hi_pace_start(&solo->pace, FIRST_LOOK);
    if (!alone) {
        hi_flow_offer(c, f, &b);
        return;
    }
    solo->ready = b.first->next;
    b.first->next = NULL;
    hi_flow_run(c, f, b.first, true);
}

static int task_of_flow(heist_ctx c, void *arg)
{
    take_part(c, arg);
    return 0;
}

/* Remembers whether the next run is to be shared from the beginning. */
static void remember(heist_flow *f)
{
    heist_graph *g = f->graph;
    int64_t took = f->solo.light ? 0 : hi_clock() - f->solo.pace.started;
    uint32_t was = heist_load_relaxed(&g->heavy); /* relaxed: hint */
    bool dear = took >= LONG_RUN && took / g->count >= HEAVY_NODE;
    uint32_t heavy = !dear ? 0 : was ? was - 1 : HEAVY_RUNS;
    if (heavy != was) heist_store_relaxed(&g->heavy, heavy); /* relaxed: hint */
}

static void end_async(heist_flow *f)
{
    heist_latch *done = f->opts.done;
    unprepare(f);
    heist_latch_arrive(&f->ended); /* it may be closed from here on */
    if (done) heist_latch_arrive(done);
}

void hi_flow_end(heist_flow *f)
{
    remember(f);
    f->pass++;
    if (!f->async) {
        heist_latch_arrive(&f->ended);
        return;
    }
    if (is_due(f)) {
        begin_pass(f);
        int rc = hi_task_submit(f->rt, &f->task, HEIST_FOREVER);
        if (rc == 0) return;
        hi_flow_stop(f, rc, NULL);
    }
    end_async(f);
}

/* --- taking part and waiting ---------------------------------------------- */

/* Who takes part in a flow, as somebody who helps with jobs. */
typedef struct partner {
    hi_job_owner owner; /* first: has_job finds the flow by it */
    const heist_flow *flow;
} partner;

static bool has_job(const hi_job_owner *owner, const hi_job *job)
{
    const heist_flow *f = ((const partner *)(const void *)owner)->flow;
    const hi_place *p = (const hi_place *)(const void *)job;
    if (job->source == &f->token) return true;
    return job->source->run == hi_flow_run_job && hi_flow_of(p)->root == f;
}

static bool has_ended(heist_flow *f)
{
    return heist_latch_wait(&f->ended, HEIST_NOW) == 0;
}

/* The caller's part of a pass: takes part, helps, waits. */
static void pass_region(heist_ctx c, void *arg)
{
    heist_flow *f = arg;
    const hi_place *end = &f->places[f->graph->count + 1];
    partner p = {{&f->ended, &f->places[0].job, &end->job, has_job}, f};
    f->rt = hi_worker_of(c)->rt;
    take_part(c, f);
    hi_job_help(c, &p.owner);
    if (heist_latch_wait(&f->ended, f->opts.deadline) == 0) return;
    hi_flow_stop(f, -ETIMEDOUT, NULL);
    heist_latch_wait(&f->ended, HEIST_FOREVER);
}

static int run_passes(heist_flow *f)
{
    int rc = 0;
    while (rc == 0 && is_due(f)) {
        begin_pass(f);
        heist_latch_init(&f->ended, 1);
        rc = heist_run(f->opts.rt, pass_region, f);
    }
    return rc;
}

static int run_sync(heist_graph *g, const heist_flow_opts *opts,
                    heist_flow *within)
{
    int rc = hi_graph_seal(g, NULL, 0);
    if (rc < 0) return rc;
    heist_flow *f = hi_flow_get(g);
    if (!f) return -ENOMEM;
    rc = prepare(f, opts, false, within);
    if (rc == 0) {
        rc = run_passes(f);
        unprepare(f);
        if (rc == 0) rc = f->code;
    }
    hi_flow_put(f, rc != 0);
    if (opts->done) heist_latch_arrive(opts->done);
    return rc;
}

static heist_flow_opts options(const heist_flow_opts *opts, heist_time deadline)
{
    heist_flow_opts o = {0};
    if (opts) o = *opts;
    if (o.times == 0) o.times = 1;
    if (o.deadline == 0) o.deadline = HEIST_FOREVER;
    if (deadline < o.deadline) o.deadline = deadline;
    return o;
}

int heist_graph_run(heist_graph *g, const heist_flow_opts *opts,
                    heist_time deadline)
{
    heist_flow_opts o = options(opts, deadline);
    if (o.until && !opts->times) o.times = UINT64_MAX;
    return run_sync(g, &o, NULL);
}

int heist_graph_run_n(heist_graph *g, uint64_t n, const heist_flow_opts *opts,
                      heist_time deadline)
{
    heist_flow_opts o = options(opts, deadline);
    o.times = n;
    return run_sync(g, &o, NULL);
}

int heist_graph_run_until(heist_graph *g, bool (*until)(void *ctx),
                          const heist_flow_opts *opts, heist_time deadline)
{
    heist_flow_opts o = options(opts, deadline);
    if (!until) return -EINVAL;
    o.times = UINT64_MAX;
    o.until = until;
    return run_sync(g, &o, NULL);
}

int hi_flow_run_inner(heist_flow *outer, heist_graph *g)
{
    heist_flow *root = outer->root;
    heist_flow_opts o = {
        .context = outer->context, .times = 1, .deadline = root->opts.deadline};
    return run_sync(g, &o, root);
}

int heist_flow_start(heist_flow **out, heist_graph *g,
                     const heist_flow_opts *opts, heist_time deadline)
{
    heist_flow_opts o = options(opts, HEIST_FOREVER);
    if (o.until && !opts->times) o.times = UINT64_MAX;
    int rc = hi_graph_seal(g, NULL, 0);
    if (rc < 0) return rc;
    heist_runtime *rt = hi_runtime_get(o.rt);
    heist_flow *f = rt ? hi_flow_get(g) : NULL;
    if (!f) return -ENOMEM;
    rc = prepare(f, &o, true, NULL);
    if (rc < 0) {
        hi_flow_put(f, false);
        return rc;
    }
    f->rt = rt;
    f->task = (hi_task){.fn = task_of_flow, .arg = f, .borrowed = true};
    *out = f;
    if (is_due(f)) {
        begin_pass(f);
        rc = hi_task_submit(rt, &f->task, deadline);
        if (rc == 0) return 0;
        unprepare(f);
        hi_flow_put(f, false);
        return rc;
    }
    end_async(f);
    return 0;
}

bool heist_flow_has_ended(heist_flow *flow)
{
    check_open(flow);
    return has_ended(flow);
}

int heist_flow_wait(heist_flow *flow, heist_time deadline)
{
    check_open(flow);
    heist_time end = flow->opts.deadline;
    int rc = heist_latch_wait(&flow->ended, end < deadline ? end : deadline);
    if (rc < 0 && end < deadline) {
        hi_flow_stop(flow, -ETIMEDOUT, NULL);
        rc = heist_latch_wait(&flow->ended, deadline);
    }
    return rc < 0 ? rc : flow->code;
}

int heist_flow_close(heist_flow *flow)
{
    int rc = heist_flow_wait(flow, HEIST_FOREVER);
    hi_flow_put(flow, rc != 0);
    return rc;
}
