/* SPDX-License-Identifier: MIT */
#ifndef HEIST_PIPELINE_H
#define HEIST_PIPELINE_H

#include <heist/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Pipelines: tokens go through stages, many at a time, a few in flight.
 *
 *     static int read_block(heist_ctx c, heist_token *t, void *arg)
 *     {
 *         struct block *b = &heist_data(t, struct block);
 *         b->bytes = fread(b->plain, 1, sizeof b->plain, arg);
 *         if (b->bytes == 0) heist_token_stop(t);
 *         return 0;
 *     }
 *
 *     heist_stage stages[] = {{HEIST_SERIAL, read_block, stdin, "read"},
 *                             {HEIST_PARALLEL, pack_block, NULL, "pack"},
 *                             {HEIST_SERIAL, write_block, stdout, "write"}};
 *     heist_pipeline p = {.stages = stages, .count = 3,
 *                         .token_bytes = sizeof(struct block)};
 *     int rc = heist_pipeline_run(&p, NULL, HEIST_FOREVER);
 *
 * Stages.  An array as long as you like, given at run time.  A serial stage
 * gets the tokens one at a time and in their order, a parallel one as they
 * come.  The first stage is serial and makes the tokens until it calls
 * heist_token_stop.
 *
 * Lines.  No more tokens are in flight than there are lines: the first stage
 * waits, without holding up a worker, until the line is free whose turn it is.
 * Each line has a payload of token_bytes, which its tokens use one after the
 * other; stages change it in place.  Nothing is allocated per token.
 *
 * Failing.  A stage that fails ends the pipeline as a serial loop would: tokens
 * before the failed one go through all stages, that one and those after it are
 * dropped, and of several failures that of the lowest token is reported.
 *
 * A pipeline runs on one worker until it has shown that it is worth sharing.
 * To run one in the background, or to cancel it together with other work, make
 * it a node of a graph.
 */
typedef struct heist_token heist_token; /* one token in one stage */

typedef enum heist_stage_kind {
    HEIST_SERIAL = 0, /* one token at a time, in order */
    HEIST_PARALLEL    /* any number, in any order */
} heist_stage_kind;

/* A stage's function.  Zero, or a negative errno: it has failed. */
typedef int heist_stage_fn(heist_ctx c, heist_token *token, void *arg);

typedef struct heist_stage {
    heist_stage_kind kind;
    heist_stage_fn *fn;
    void *arg;
    const char *name; /* for reports; NULL: none */
} heist_stage;

/* A pipeline; any number of runs may use it at a time.  Zero in a field from
 * `lines` on means the default. */
typedef struct heist_pipeline {
    const heist_stage *stages;
    size_t count;
    size_t lines;       /* tokens in flight at most; 2 for each worker */
    size_t token_bytes; /* of a payload; none */
    /* Called once for each token that the first stage has made and that does
     * not go through all the others; of several tokens at the same time. */
    void (*drop)(heist_token *token, void *arg);
    void *drop_arg;
    uintptr_t reserved[4];
} heist_pipeline;

/* Why a pipeline failed. */
typedef struct heist_pipeline_failure {
    int code;         /* what the stage returned */
    size_t stage;     /* counted from zero */
    uint64_t token;   /* counted from zero */
    const char *name; /* the stage's */
} heist_pipeline_failure;

/* How to run.  Zero in any field means the default. */
typedef struct heist_pipeline_opts {
    heist_runtime *rt;                /* the caller's, else the default one */
    void *context;                    /* heist_token_context */
    heist_latch *cancel;              /* open: no more stages start */
    heist_pipeline_failure *failure;  /* filled in if a stage fails */
    const heist_allocator *allocator; /* of the lines; malloc */
    uintptr_t reserved[4];
} heist_pipeline_opts;

/*
 * Runs a pipeline and returns when its tokens are through.  The calling thread
 * takes part.  At the deadline, or when opts->cancel opens, what runs is
 * finished and all tokens are dropped.  opts may be NULL.
 *
 * From:    any thread; a task; a stage.
 * Returns: the negative errno of the failed token of lowest number; if none has
 *          failed, -ETIMEDOUT or -ECANCELED if that was seen before the end; 0.
 *          -EINVAL: no stages, one without a function, or the first is not
 *          serial; half an allocator;
 *          -ENOMEM; -ESHUTDOWN: rt is stopping; nothing was run then.
 * Memory:  for each line 48 bytes, 4 for each stage, and the payload, rounded
 *          up to 128; in one piece, for the time of the call.
 */
HEIST_API int heist_pipeline_run(const heist_pipeline *pipeline,
                                 const heist_pipeline_opts *opts,
                                 heist_time deadline);

/*
 * Adds a node that runs a pipeline, which is looked at when the node starts:
 * nodes before it may set it.  The flow's context is that of the tokens; a
 * flow that ends early ends the pipeline; a failure of the pipeline is one of
 * the node.
 *
 * From:    whoever builds g.
 * Returns: as heist_graph_add.
 * Memory:  the pipeline is the caller's, and there as long as g runs.  That of
 *          the lines is from g's allocator.
 */
HEIST_API heist_node heist_graph_add_pipeline(heist_graph *g, const char *name,
                                              const heist_pipeline *pipeline);

/* --- in a stage ----------------------------------------------------------- */

/*
 * The token's payload, aligned to 16; NULL if there is none.  The first token
 * of a line finds it zeroed, each later one as the one before has left it.
 * The macro is the typed way:
 *
 *     heist_data(token, double) *= 2;
 *
 * From:   a stage, with its own token.
 * Misuse: more bytes than the pipeline's token_bytes abort in a checked build.
 */
HEIST_API void *heist_token_data(heist_token *token, size_t bytes);

#define heist_data(token, T) (*(T *)heist_token_data((token), sizeof(T)))

/*
 * The token's number, its line and its stage, all counted from zero; the
 * context of the run; and whether the token is to be dropped, so that what
 * takes long may give up.
 *
 * From: a stage, with its own token.
 */
HEIST_API uint64_t heist_token_number(const heist_token *token);
HEIST_API size_t heist_token_line(const heist_token *token);
HEIST_API size_t heist_token_stage(const heist_token *token);
HEIST_API void *heist_token_context(const heist_token *token);
HEIST_API bool heist_token_stopped(const heist_token *token);

/*
 * There are no more tokens: this one is none, and the first stage is not called
 * again.
 *
 * From:   the first stage, with its own token.
 * Misuse: a call from another stage aborts in a checked build.
 */
HEIST_API void heist_token_stop(heist_token *token);

#ifdef __cplusplus
}
#endif

#endif
