/* SPDX-License-Identifier: MIT */
#ifndef HI_LINE_H
#define HI_LINE_H

/*
 * One run of a pipeline, and its lines.  How they are run: line.c.
 *
 * Fields, and who touches them
 *   dropped, failed,      set under the lock
 *   stopped, failure
 *   ending, drained       whose turn it is at the first stage
 *   steps, others, handed line.c
 *   pace, cost            the owner
 *   a line                who has it ready or runs it; left: all
 *   the rest              set before the run begins
 */
#include "graph/flow.h"

#include <heist/pipeline.h>

typedef HEIST_ATOMIC(uint32_t) hi_arrivals;

typedef struct hi_pipe {
    hi_job_source source; /* of its lines' jobs */
    const heist_stage *stages;
    uint32_t count; /* of stages */
    uint32_t lines;
    size_t stride;  /* of lines, from one to the next */
    size_t payload; /* where it begins in a line */
    const heist_pipeline *pipeline;
    void *context;
    heist_time deadline;
    heist_latch *cancel;
    const heist_step *step;         /* whose node it is; NULL: nobody's */
    bool heeds;                     /* one of these three can end it */
    HEIST_ATOMIC(uint64_t) dropped; /* tokens from this one on are */
    hi_lock lock;
    bool failed;
    int stopped; /* why all were dropped, or 0 */
    heist_pipeline_failure failure;
    heist_latch ended;

    /* Whose turn it is at the first stage. */
    bool ending;      /* there are no more tokens */
    uint32_t drained; /* lines found free since */

    /* The owner's. */
    HEIST_ATOMIC(uint64_t) steps HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(uint32_t) others;
    hi_pace pace;
    int64_t cost;    /* ns per stage, at the last look */
    uint64_t handed; /* steps when it was shared */
} hi_pipe;

/* A line, and the token on it. */
struct heist_token {
    hi_job job;
    hi_pipe *run;
    uint64_t number;
    heist_token *next; /* in a list of those that no deque had room for */
    uint32_t index;
    uint32_t stage;
    bool dropped;
    hi_arrivals left[]; /* to come, for each stage; then the payload */
};

static inline heist_token *hi_line_at(hi_pipe *r, uint64_t index)
{
    return (heist_token *)(void *)((char *)(r + 1) + index * r->stride);
}

static inline void *hi_line_payload(heist_token *l)
{
    return (char *)l + l->run->payload;
}

/* Is this one dropped, or about to be? */
bool hi_pipe_is_dropped(const hi_pipe *r, const heist_token *l);

/* The caller's part of a run, as far as he gets alone. */
void hi_pipe_begin(heist_ctx c, hi_pipe *r);

/* The function of lines' jobs. */
void hi_pipe_run_job(heist_ctx c, hi_job *job);

#endif
