/* SPDX-License-Identifier: MIT */
#ifndef HEIST_TEST_TOKENS_H
#define HEIST_TEST_TOKENS_H

/*
 * A pipeline whose stages watch over what a pipeline promises: every token once
 * through every stage, one stage after the other; serial stages one token at a
 * time and in order; never more tokens than lines; payloads that nobody else
 * touches.
 *
 *     watch w;
 *     watch_init(&w, 3, 2, 4, 1000);    3 stages, the second parallel; 4 lines
 *     CHECK_EQ(heist_pipeline_run(&w.pipeline, NULL, HEIST_FOREVER), 0);
 *     watch_check(&w);
 */
#include "test.h"

#include <errno.h>
#include <heist.h>

enum {
    WATCH_STAGES = 6,
    WATCH_WORDS = 5 /* of a payload */
};

struct watch;

/* A stage's argument. */
typedef struct watch_stage {
    struct watch *watch;
    uint64_t expected; /* serial: the next token.  Plain: one at a time */
    HEIST_ATOMIC(uint64_t) calls;
} watch_stage;

typedef struct watch {
    heist_pipeline pipeline;
    heist_stage stages[WATCH_STAGES];
    watch_stage own[WATCH_STAGES];
    uint64_t tokens;     /* that the first stage makes */
    uint64_t seed;       /* of delays; 0: none */
    uint64_t fails_at;   /* from this token on they fail ... */
    size_t fails_in;     /* ... in this stage; 0: none does */
    uint64_t cancels_at; /* what opens the latch, at the end; 0: nobody */
    heist_latch cancel;
    HEIST_ATOMIC(uint64_t) made, passed, dropped, flying;
} watch;

static inline void watch_spin(uint64_t turns)
{
    for (volatile uint64_t i = 0; i < turns; i++)
        ;
}

/* Mostly nothing, sometimes some time, now and then a lot of it. */
static inline void watch_delay(const watch *w, uint64_t token, size_t stage)
{
    if (!w->seed) return;
    uint64_t state = w->seed ^ (token * 8 + stage);
    uint64_t random = test_random(&state);
    if (random % 8 == 0) watch_spin(random >> 16 & 1023);
    if (random % 512 == 0) watch_spin(random >> 16 & 65535);
}

/* Finds what the stage before has left, and leaves something. */
static inline void watch_payload(heist_token *t, uint64_t number, size_t stage)
{
    uint64_t *word = heist_token_data(t, WATCH_WORDS * sizeof *word);
    CHECK_EQ((uintptr_t)word % 16, 0);
    for (int i = 0; i < WATCH_WORDS; i++) {
        if (stage > 0) CHECK_EQ(word[i], number * 1000 + stage - 1);
        word[i] = number * 1000 + stage;
    }
}

/* A token begins; false: there is none. */
static inline bool watch_make(watch *w, heist_token *t)
{
    if (heist_token_number(t) == w->tokens) {
        heist_token_stop(t);
        return false;
    }
    heist_add_relaxed(&w->made, 1);
    uint64_t flying = heist_add_relaxed(&w->flying, 1);
    if (w->pipeline.lines) CHECK(flying < w->pipeline.lines);
    return true;
}

static inline void watch_pass(watch *w, uint64_t number)
{
    if (w->cancels_at && number == w->cancels_at)
        heist_latch_arrive(&w->cancel);
    heist_add_relaxed(&w->passed, 1);
    heist_sub_relaxed(&w->flying, 1);
}

static inline int watch_play(heist_ctx c, heist_token *t, void *arg)
{
    watch_stage *own = arg;
    watch *w = own->watch;
    uint64_t number = heist_token_number(t);
    size_t stage = heist_token_stage(t);
    (void)c;
    CHECK_EQ(stage, own - w->own);
    if (w->pipeline.lines)
        CHECK_EQ(heist_token_line(t), number % w->pipeline.lines);
    if (stage == 0 && !watch_make(w, t)) return 0;
    if (w->stages[stage].kind == HEIST_SERIAL) {
        CHECK_EQ(own->expected, number);
        own->expected = number + 1;
    }
    heist_add_relaxed(&own->calls, 1);
    watch_payload(t, number, stage);
    watch_delay(w, number, stage);
    if (w->fails_in && stage == w->fails_in && number >= w->fails_at)
        return number == w->fails_at ? -EIO : -ENXIO;
    if (stage + 1 == w->pipeline.count) watch_pass(w, number);
    return 0;
}

static inline void watch_drop(heist_token *t, void *arg)
{
    watch *w = arg;
    const uint64_t *word = heist_token_data(t, sizeof *word);
    CHECK_EQ(*word / 1000, heist_token_number(t));
    CHECK(heist_token_stage(t) > 0);
    heist_add_relaxed(&w->dropped, 1);
    heist_sub_relaxed(&w->flying, 1);
}

/* Bit i of parallel: stage i + 1 is. */
static inline void watch_init(watch *w, size_t stages, unsigned parallel,
                              size_t lines, uint64_t tokens)
{
    static const char *names[WATCH_STAGES] = {"a", "b", "c", "d", "e", "f"};
    memset(w, 0, sizeof *w);
    heist_latch_init(&w->cancel, 1);
    w->tokens = tokens;
    w->pipeline.stages = w->stages;
    w->pipeline.count = stages;
    w->pipeline.lines = lines;
    w->pipeline.token_bytes = WATCH_WORDS * sizeof(uint64_t);
    w->pipeline.drop = watch_drop;
    w->pipeline.drop_arg = w;
    for (size_t i = 0; i < stages; i++) {
        bool is_parallel = i > 0 && (parallel >> (i - 1) & 1);
        w->own[i].watch = w;
        w->stages[i] =
            (heist_stage){is_parallel ? HEIST_PARALLEL : HEIST_SERIAL,
                          watch_play, &w->own[i], names[i]};
    }
}

/* All tokens have passed all stages. */
static inline void watch_check(watch *w)
{
    for (size_t i = 0; i < w->pipeline.count; i++)
        CHECK_EQ(heist_load_relaxed(&w->own[i].calls), w->tokens);
    CHECK_EQ(heist_load_relaxed(&w->passed), w->tokens);
    CHECK_EQ(heist_load_relaxed(&w->dropped), 0);
    CHECK_EQ(heist_load_relaxed(&w->flying), 0);
}

/* It was ended before that. */
static inline void watch_check_ended(watch *w)
{
    uint64_t made = heist_load_relaxed(&w->made);
    uint64_t passed = heist_load_relaxed(&w->passed);
    CHECK_EQ(passed + heist_load_relaxed(&w->dropped), made);
    CHECK_EQ(heist_load_relaxed(&w->flying), 0);
    if (w->fails_in) CHECK(passed >= w->fails_at);
}

#endif
