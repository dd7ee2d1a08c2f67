/* SPDX-License-Identifier: MIT
 *
 * pipeline.c: the life of a run of a pipeline, and what a stage can ask.
 */
#include "graph/line.h"
#include "queue/memory.h"

#include <errno.h>

enum {
    PAYLOAD_ALIGN = 16
};

/* --- taking part and waiting ---------------------------------------------- */

/* Who takes part in a run, as somebody who helps with jobs. */
typedef struct partner {
    hi_job_owner owner; /* first: has_job finds the run by it */
    const hi_pipe *run;
} partner;

static bool has_job(const hi_job_owner *owner, const hi_job *job)
{
    return job->source == &((const partner *)(const void *)owner)->run->source;
}

/* The caller's part of a run. */
static void region(heist_ctx c, void *arg)
{
    hi_pipe *r = arg;
    const hi_job *low = &hi_line_at(r, 0)->job;
    const hi_job *high = &hi_line_at(r, r->lines)->job;
    partner p = {{&r->ended, low, high, has_job}, r};
    hi_pipe_begin(c, r);
    hi_job_help(c, &p.owner);
    heist_latch_wait(&r->ended, HEIST_FOREVER);
}

/* --- making a run --------------------------------------------------------- */

static int check(const heist_pipeline *p)
{
    if (!p || !p->stages || p->count == 0 || p->count >= UINT32_MAX ||
        p->lines >= UINT32_MAX || p->stages[0].kind != HEIST_SERIAL)
        return -EINVAL;
    for (size_t i = 0; i < p->count; i++)
        if (!p->stages[i].fn) return -EINVAL;
    return 0;
}

/* Sets where things are in a line.  Returns the bytes of all; 0: too many. */
static size_t measure(hi_pipe *r)
{
    size_t bytes = sizeof(heist_token) + r->count * sizeof(hi_arrivals);
    r->payload = (bytes + PAYLOAD_ALIGN - 1) & ~(size_t)(PAYLOAD_ALIGN - 1);
    if (__builtin_add_overflow(r->payload, r->pipeline->token_bytes, &bytes) ||
        __builtin_add_overflow(bytes, HEIST_LINE - 1, &bytes))
        return 0;
    r->stride = bytes & ~(size_t)(HEIST_LINE - 1);
    if (__builtin_mul_overflow(r->stride, (size_t)r->lines, &bytes) ||
        __builtin_add_overflow(bytes, sizeof *r, &bytes))
        return 0;
    return bytes;
}

static void init(hi_pipe *r)
{
    r->source.run = hi_pipe_run_job;
    r->heeds = r->deadline != HEIST_FOREVER || r->cancel || r->step;
    heist_init(&r->dropped, UINT64_MAX);
    heist_latch_init(&r->ended, 1);
    for (uint32_t i = 0; i < r->lines; i++) {
        heist_token *l = hi_line_at(r, i);
        l->job.source = &r->source;
        l->run = r;
        l->index = i;
    }
    hi_line_at(r, 0)->number = 0;
    hi_line_at(r, 0)->stage = 0;
}

static int result_of(const hi_pipe *r, heist_pipeline_failure *why)
{
    if (!r->failed) return r->stopped;
    if (why) {
        const char *name = r->stages[r->failure.stage].name;
        *why = r->failure;
        why->name = name ? name : "";
    }
    return r->failure.code;
}

/* Runs it as planned.  c NULL: the caller has no context, and gets one. */
static int run_pipeline(const heist_ctx *c, hi_pipe *plan,
                        const heist_pipeline_opts *opts)
{
    const heist_pipeline *p = plan->pipeline;
    int rc = hi_allocator_is_whole(opts->allocator) ? check(p) : -EINVAL;
    if (rc < 0) return rc;
    unsigned workers = p->lines ? 0 : heist_workers(opts->rt);
    plan->stages = p->stages;
    plan->count = (uint32_t)p->count;
    plan->lines = p->lines ? (uint32_t)p->lines : 2 * (workers ? workers : 1);
    size_t bytes = measure(plan);
    hi_pipe *r =
        bytes ? hi_alloc_raw(opts->allocator, bytes, HEIST_LINE) : NULL;
    if (!r) return -ENOMEM;
    *r = *plan;
    init(r);
    if (c)
        region(*c, r);
    else
        rc = heist_run(opts->rt, region, r);
    if (rc == 0) rc = result_of(r, opts->failure);
    hi_free(opts->allocator, r, bytes);
    return rc;
}

int heist_pipeline_run(const heist_pipeline *pipeline,
                       const heist_pipeline_opts *opts, heist_time deadline)
{
    heist_pipeline_opts o = {0};
    if (opts) o = *opts;
    hi_pipe plan = {.pipeline = pipeline,
                    .context = o.context,
                    .deadline = deadline,
                    .cancel = o.cancel};
    return run_pipeline(NULL, &plan, &o);
}

static int run_node(heist_ctx c, heist_step *step, void *arg)
{
    heist_pipeline_opts o = {.allocator = &step->flow->graph->allocator};
    hi_pipe plan = {.pipeline = arg,
                    .context = heist_step_context(step),
                    .deadline = step->flow->root->opts.deadline,
                    .step = step};
    return run_pipeline(&c, &plan, &o);
}

heist_node heist_graph_add_pipeline(heist_graph *g, const char *name,
                                    const heist_pipeline *pipeline)
{
    return heist_graph_add(g, name, run_node, (void *)(uintptr_t)pipeline);
}

/* --- in a stage ----------------------------------------------------------- */

void *heist_token_data(heist_token *token, size_t bytes)
{
    size_t has = token->run->pipeline->token_bytes;
    hi_check(bytes <= has, "a token's payload is not that large");
    (void)bytes;
    return has ? hi_line_payload(token) : NULL;
}

uint64_t heist_token_number(const heist_token *token)
{
    return token->number;
}

size_t heist_token_line(const heist_token *token)
{
    return token->index;
}

size_t heist_token_stage(const heist_token *token)
{
    return token->stage;
}

void *heist_token_context(const heist_token *token)
{
    return token->run->context;
}

bool heist_token_stopped(const heist_token *token)
{
    return hi_pipe_is_dropped(token->run, token);
}

void heist_token_stop(heist_token *token)
{
    hi_check(token->stage == 0, "only the first stage ends a pipeline");
    if (token->stage == 0) token->run->ending = true;
}
