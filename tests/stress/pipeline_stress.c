/* SPDX-License-Identifier: MIT
 *
 * Pipelines of random shapes and costs, from several threads and in one
 * another: every token through every stage, failures and cancellation in the
 * middle.
 */
#include "scale.h"
#include "tokens.h"

#include <pthread.h>

typedef struct guest {
    heist_runtime *rt;
    uint64_t seed;
    long rounds;
} guest;

/* How it is to end. */
typedef enum end {
    REGULAR,
    FAILS,
    CANCELLED,
    LATE,
    ENDS
} end;

static void check(watch *w, end how, int rc, const heist_pipeline_failure *why)
{
    switch (how) {
    case REGULAR: CHECK_EQ(rc, 0); break;
    case FAILS:
        CHECK_EQ(rc, -EIO);
        CHECK_EQ(why->token, w->fails_at);
        CHECK_EQ(heist_load_relaxed(&w->passed), w->fails_at);
        break;
    /* Or it came too late. */
    case CANCELLED: CHECK(rc == 0 || rc == -ECANCELED); break;
    default: CHECK(rc == 0 || rc == -ETIMEDOUT); break;
    }
    if (rc == 0)
        watch_check(w);
    else
        watch_check_ended(w);
}

static void run_one(heist_runtime *rt, uint64_t *seed)
{
    watch w;
    uint64_t random = test_random(seed);
    end how = (end)(random % 8 < ENDS ? random % 8 : REGULAR);
    size_t stages = 1 + (random >> 8) % WATCH_STAGES;
    watch_init(&w, stages, (unsigned)(random >> 16), 1 + (random >> 32) % 16,
               (random >> 40) % 400);
    if (stages == 1 && how == FAILS) how = REGULAR;
    if (w.tokens < 2) how = REGULAR;
    w.seed = random % 3 ? random : 0;
    if (how == FAILS) {
        w.fails_in = 1 + random % (stages - 1);
        w.fails_at = test_random(seed) % w.tokens;
    }
    if (how == CANCELLED) w.cancels_at = 1 + random % (w.tokens - 1);
    heist_pipeline_failure why = {0};
    heist_pipeline_opts o = {.rt = rt, .cancel = &w.cancel, .failure = &why};
    heist_time deadline =
        how == LATE ? heist_after((heist_time)(random >> 20 & 0xfffff))
                    : HEIST_FOREVER;
    check(&w, how, heist_pipeline_run(&w.pipeline, &o, deadline), &why);
}

static void *run_guest(void *arg)
{
    guest *g = arg;
    for (long i = 0; i < g->rounds; i++)
        run_one(g->rt, &g->seed);
    return NULL;
}

static int run_task(heist_ctx c, void *arg)
{
    (void)c;
    run_guest(arg);
    return 0;
}

/* A stage that runs pipelines of random shapes. */
static int run_inside(heist_ctx c, heist_token *t, void *arg)
{
    uint64_t seed = *(const uint64_t *)arg + heist_token_number(t);
    (void)c;
    if (heist_token_number(t) == 20)
        heist_token_stop(t);
    else
        run_one(NULL, &seed);
    return 0;
}

static void run_nested(heist_runtime *rt, uint64_t seed)
{
    heist_stage stages[] = {{HEIST_SERIAL, run_inside, &seed, NULL},
                            {HEIST_PARALLEL, run_inside, &seed, NULL},
                            {HEIST_SERIAL, run_inside, &seed, NULL}};
    heist_pipeline p = {.stages = stages, .count = 3, .lines = 1 + seed % 8};
    heist_pipeline_opts o = {.rt = rt};
    CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
}

TEST(random_pipelines_do_what_a_serial_loop_would)
{
    enum {
        GUESTS = 3
    };

    static const unsigned workers[] = {1, 2, 8, 70};
    for (size_t k = 0; k < 4; k++)
        for (int policy = 0; policy < 3; policy++) {
            heist_runtime *rt = NULL;
            heist_config config = {.workers = workers[k],
                                   .exposure = (heist_exposure)policy,
                                   .quantum = 20 * HEIST_MICROSECOND,
                                   .seed = test_seed};
            CHECK_EQ(heist_start(&rt, &config), 0);
            pthread_t t[GUESTS];
            guest g[GUESTS + 1];
            heist_latch done;
            heist_latch_init(&done, 1);
            for (uint64_t i = 0; i <= GUESTS; i++)
                g[i] = (guest){rt, test_seed + 100 * k + i, scaled(1000)};
            CHECK_EQ(
                heist_spawn(rt, run_task, &g[GUESTS], &done, HEIST_FOREVER), 0);
            for (int i = 0; i < GUESTS; i++)
                CHECK_EQ(pthread_create(&t[i], NULL, run_guest, &g[i]), 0);
            for (long i = 0; i < scaled(50); i++)
                run_nested(rt, test_seed + (uint64_t)i);
            for (int i = 0; i < GUESTS; i++)
                pthread_join(t[i], NULL);
            CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
            CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        }
}

/* The context is a random number. */
static int play_slowly(heist_ctx c, heist_token *t, void *arg)
{
    uint64_t state = *(const uint64_t *)heist_token_context(t) +
                     2 * heist_token_number(t) + heist_token_stage(t);
    if (heist_token_stage(t) > 0) watch_spin(test_random(&state) & 32767);
    return watch_play(c, t, arg);
}

/* Over again and again while somebody wants to take part. */
TEST(pipelines_end_while_others_call)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 8, .idle = HEIST_LATENCY};
    CHECK_EQ(heist_start(&rt, &config), 0);
    uint64_t seed = test_seed;
    for (long i = 0; i < scaled(50000); i++) {
        watch w;
        uint64_t random = test_random(&seed);
        heist_pipeline_failure why = {0};
        heist_pipeline_opts o = {.rt = rt, .context = &random, .failure = &why};
        watch_init(&w, 2, 1, 2, 2);
        w.stages[0].fn = w.stages[1].fn = play_slowly;
        w.fails_in = random % 2;
        w.fails_at = random >> 1 & 1;
        int rc = heist_pipeline_run(&w.pipeline, &o, HEIST_FOREVER);
        check(&w, w.fails_in ? FAILS : REGULAR, rc, &why);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
