/* SPDX-License-Identifier: MIT
 *
 * pipeline_test.c: what a pipeline promises, in all shapes.
 */
#include "pool.h"
#include "tokens.h"

#include <pthread.h>
#include <time.h>

static const unsigned pools[] = {1, 2, 8, 70};

enum {
    POOLS = 4
};

static int run_on(heist_runtime *rt, watch *w)
{
    heist_pipeline_opts o = {.rt = rt, .cancel = &w->cancel};
    return heist_pipeline_run(&w->pipeline, &o, HEIST_FOREVER);
}

/* --- shapes --------------------------------------------------------------- */

TEST(every_token_passes_every_stage_once_and_in_order)
{
    uint64_t seed = test_seed;
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt[2] = {pool_start(pools[pool], HEIST_ON_DEMAND),
                                pool_start(pools[pool], HEIST_EAGER)};
        for (size_t stages = 1; stages <= WATCH_STAGES; stages++)
            for (unsigned kinds = 0; kinds < 1u << (stages - 1); kinds++)
                for (size_t lines = 1; lines <= 8; lines++) {
                    watch w;
                    watch_init(&w, stages, kinds, lines, 40);
                    w.seed = test_random(&seed) | 1;
                    CHECK_EQ(run_on(rt[lines % 2], &w), 0);
                    watch_check(&w);
                }
        pool_stop(rt[0]);
        pool_stop(rt[1]);
    }
}

TEST(the_first_stage_says_how_many_tokens_there_are)
{
    static const uint64_t counts[] = {0, 1, 2, 7, 8, 9, 100000};
    heist_runtime *rt[2] = {pool_start(2, HEIST_ON_DEMAND),
                            pool_start(2, HEIST_EAGER)};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int k = 0; k < 2; k++)
            for (unsigned kinds = 0; kinds < 4; kinds++) {
                watch w;
                watch_init(&w, 3, kinds, 8, counts[i]);
                CHECK_EQ(run_on(rt[k], &w), 0);
                watch_check(&w);
            }
    pool_stop(rt[0]);
    pool_stop(rt[1]);
}

typedef HEIST_ATOMIC(int) flag;

typedef struct lot {
    int tokens;
    heist_latch all;
    flag flying;
} lot;

static int make_lot(heist_ctx c, heist_token *t, void *arg)
{
    lot *k = arg;
    (void)c;
    if (heist_token_number(t) == 3 * (uint64_t)k->tokens)
        heist_token_stop(t);
    else
        CHECK(heist_add_relaxed(&k->flying, 1) < k->tokens);
    return 0;
}

/* The first ones wait for each other. */
static int wait_for_all(heist_ctx c, heist_token *t, void *arg)
{
    lot *k = arg;
    (void)c;
    if (heist_token_number(t) < (uint64_t)k->tokens) {
        heist_latch_arrive(&k->all);
        CHECK_EQ(heist_latch_wait(&k->all, HEIST_FOREVER), 0);
    }
    heist_sub_relaxed(&k->flying, 1);
    return 0;
}

TEST(without_a_number_of_lines_there_are_two_for_each_worker)
{
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        lot k = {.tokens = 2 * (int)pools[pool]};
        heist_stage stages[] = {{HEIST_SERIAL, make_lot, &k, NULL},
                                {HEIST_PARALLEL, wait_for_all, &k, NULL}};
        heist_pipeline p = {.stages = stages, .count = 2};
        heist_pipeline_opts o = {.rt = rt};
        heist_latch_init(&k.all, (uint64_t)k.tokens);
        CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
        pool_stop(rt);
    }
}

TEST(a_pipeline_without_sense_is_refused)
{
    watch w;
    watch_init(&w, 2, 0, 2, 1);
    heist_pipeline p = w.pipeline;
    heist_allocator half = {.free = (void (*)(void *, void *, size_t))1};
    heist_pipeline_opts opts = {.allocator = &half};
    CHECK_EQ(heist_pipeline_run(&p, &opts, HEIST_FOREVER), -EINVAL);
    p.count = 0;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -EINVAL);
    p.count = 2;
    w.stages[0].kind = HEIST_PARALLEL;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -EINVAL);
    w.stages[0].kind = HEIST_SERIAL;
    w.stages[1].fn = NULL;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -EINVAL);
    w.stages[1].fn = watch_play;
    p.lines = SIZE_MAX;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -EINVAL);
    p.lines = 2;
    p.token_bytes = SIZE_MAX - 100;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -ENOMEM);
    p.token_bytes = SIZE_MAX / 2;
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), -ENOMEM);
    CHECK_EQ(heist_load_relaxed(&w.made), 0);
    CHECK_EQ(heist_pipeline_run(&w.pipeline, NULL, HEIST_FOREVER), 0);
    watch_check(&w);
}

/* --- payloads ------------------------------------------------------------- */

typedef struct seen {
    uint64_t tokens, lines;
    void *context;
} seen;

static int look_at_payload(heist_ctx c, heist_token *t, void *arg)
{
    const seen *s = arg;
    uint64_t number = heist_token_number(t), *before = heist_token_data(t, 8);
    (void)c;
    CHECK(heist_token_context(t) == s->context);
    if (number == s->tokens) {
        heist_token_stop(t);
        return 0;
    }
    CHECK_EQ(*before, number < s->lines ? 0 : number - s->lines + 1);
    heist_data(t, uint64_t) = number + 1;
    return 0;
}

static int look_again(heist_ctx c, heist_token *t, void *arg)
{
    const seen *s = arg;
    (void)c;
    CHECK(heist_token_context(t) == s->context);
    CHECK_EQ(heist_data(t, uint64_t), heist_token_number(t) + 1);
    return 0;
}

TEST(a_line_keeps_its_payload_and_begins_with_zeroes)
{
    heist_runtime *rt = pool_start(2, HEIST_ON_DEMAND);
    seen s = {.tokens = 100, .context = rt};
    heist_stage stages[] = {{HEIST_SERIAL, look_at_payload, &s, NULL},
                            {HEIST_PARALLEL, look_again, &s, NULL}};
    heist_pipeline_opts o = {.rt = rt, .context = s.context};
    for (s.lines = 1; s.lines < 9; s.lines++) {
        heist_pipeline p = {
            .stages = stages, .count = 2, .lines = s.lines, .token_bytes = 8};
        CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
    }
    pool_stop(rt);
}

static int stop_without_payload(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)arg;
    CHECK(heist_token_data(t, 0) == NULL);
    heist_token_stop(t);
    return 0;
}

TEST(tokens_need_no_payload)
{
    heist_stage stage = {HEIST_SERIAL, stop_without_payload, NULL, NULL};
    heist_pipeline p = {.stages = &stage, .count = 1};
    CHECK_EQ(heist_pipeline_run(&p, NULL, HEIST_FOREVER), 0);
}

/* --- nobody is held up ---------------------------------------------------- */

typedef struct meeting {
    bool blocks; /* waits for a latch; else spins */
    heist_latch passed;
    flag spun;
} meeting;

static int make_four(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)arg;
    if (heist_token_number(t) == 4) heist_token_stop(t);
    return 0;
}

static int pass(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)t, (void)arg;
    return 0;
}

/* Token 0 does not go on before token 3 has come as far. */
static int wait_for_the_third(heist_ctx c, heist_token *t, void *arg)
{
    meeting *m = arg;
    (void)c;
    if (heist_token_number(t) == 3) {
        heist_store_release(&m->spun, 1);
        heist_latch_arrive(&m->passed);
    }
    if (heist_token_number(t) != 0) return 0;
    if (m->blocks) return heist_latch_wait(&m->passed, HEIST_FOREVER);
    while (!heist_load_acquire(&m->spun))
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    return 0;
}

static void meet(heist_runtime *rt, bool blocks)
{
    meeting m = {.blocks = blocks};
    heist_latch_init(&m.passed, 1);
    heist_stage stages[] = {{HEIST_SERIAL, make_four, NULL, "make"},
                            {HEIST_SERIAL, pass, NULL, "pass"},
                            {HEIST_PARALLEL, wait_for_the_third, &m, "wait"},
                            {HEIST_SERIAL, pass, NULL, "end"}};
    heist_pipeline p = {.stages = stages, .count = 4, .lines = 4};
    heist_pipeline_opts o = {.rt = rt};
    CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
}

static int meet_in_a_task(heist_ctx c, void *arg)
{
    (void)c;
    meet(arg, true);
    return 0;
}

TEST(a_stage_that_waits_holds_nobody_up)
{
    for (int pool = 0; pool < POOLS; pool++)
        for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER;
             exposure++) {
            heist_runtime *rt =
                pool_start(pools[pool], (heist_exposure)exposure);
            heist_latch done;
            heist_latch_init(&done, 1);
            for (int i = 0; i < 20; i++)
                meet(rt, true);
            CHECK_EQ(heist_spawn(rt, meet_in_a_task, rt, &done, HEIST_FOREVER),
                     0);
            CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
            pool_stop(rt);
        }
}

TEST(a_stage_that_works_long_holds_nobody_up)
{
    for (int pool = 1; pool < POOLS; pool++)
        for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER;
             exposure++) {
            heist_runtime *rt =
                pool_start(pools[pool], (heist_exposure)exposure);
            for (int i = 0; i < 20; i++)
                meet(rt, false);
            pool_stop(rt);
        }
}

/* --- ends ----------------------------------------------------------------- */

TEST(of_several_failures_that_of_the_lowest_token_counts)
{
    uint64_t seed = test_seed;
    for (int pool = 0; pool < POOLS; pool++)
        for (int i = 0; i < 40; i++) {
            heist_runtime *rt =
                pool_start(pools[pool], i % 2 ? HEIST_EAGER : HEIST_ON_DEMAND);
            heist_pipeline_failure why = {0};
            watch w;
            watch_init(&w, 4, (unsigned)i % 8, 1 + (size_t)i % 8, 1000);
            w.fails_at = test_random(&seed) % 500;
            w.fails_in = 1 + (size_t)i % 3;
            w.seed = test_random(&seed) | 1;
            heist_pipeline_opts o = {.rt = rt, .failure = &why};
            CHECK_EQ(heist_pipeline_run(&w.pipeline, &o, HEIST_FOREVER), -EIO);
            CHECK_EQ(why.code, -EIO);
            CHECK_EQ(why.token, w.fails_at);
            CHECK_EQ(why.stage, w.fails_in);
            CHECK(why.name == w.stages[w.fails_in].name);
            CHECK_EQ(heist_load_relaxed(&w.passed), w.fails_at);
            watch_check_ended(&w);
            pool_stop(rt);
        }
}

/* Two tokens meet: one fails, the other goes on when that one was dropped. */
typedef struct quarrel {
    uint64_t fails, waits;
    int then; /* what the other one returns */
    heist_latch entered, dropped;
    uint64_t made;
    flag passed[16];
} quarrel;

static int make_many(heist_ctx c, heist_token *t, void *arg)
{
    quarrel *q = arg;
    (void)c;
    if (heist_token_number(t) == 1000)
        heist_token_stop(t);
    else
        q->made++;
    return 0;
}

static int quarrel_here(heist_ctx c, heist_token *t, void *arg)
{
    quarrel *q = arg;
    (void)c;
    if (heist_token_number(t) == q->fails) {
        CHECK_EQ(heist_latch_wait(&q->entered, HEIST_FOREVER), 0);
        return -EXDEV;
    }
    if (heist_token_number(t) != q->waits) return 0;
    heist_latch_arrive(&q->entered);
    CHECK_EQ(heist_latch_wait(&q->dropped, HEIST_FOREVER), 0);
    CHECK_EQ(heist_token_stopped(t), q->waits > q->fails);
    return q->then;
}

static int pass_quarrel(heist_ctx c, heist_token *t, void *arg)
{
    quarrel *q = arg;
    (void)c;
    CHECK(heist_token_number(t) < 16);
    heist_add_relaxed(&q->passed[heist_token_number(t)], 1);
    return 0;
}

static void end_quarrel(heist_token *t, void *arg)
{
    quarrel *q = arg;
    if (heist_token_number(t) == q->fails) heist_latch_arrive(&q->dropped);
}

static void run_quarrel(heist_runtime *rt, quarrel q, int code, uint64_t token)
{
    heist_stage stages[] = {{HEIST_SERIAL, make_many, &q, NULL},
                            {HEIST_PARALLEL, quarrel_here, &q, NULL},
                            {HEIST_PARALLEL, pass_quarrel, &q, NULL}};
    heist_pipeline p = {.stages = stages,
                        .count = 3,
                        .lines = 8,
                        .drop = end_quarrel,
                        .drop_arg = &q};
    heist_pipeline_failure why;
    heist_pipeline_opts o = {.rt = rt, .failure = &why};
    heist_latch_init(&q.entered, 1);
    heist_latch_init(&q.dropped, 1);
    CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), code);
    CHECK_EQ(why.code, code);
    CHECK_EQ(why.token, token);
    CHECK(q.made < 16);
    for (uint64_t i = 0; i < token; i++)
        CHECK_EQ(heist_load_relaxed(&q.passed[i]), 1);
    CHECK_EQ(heist_load_relaxed(&q.passed[token]), 0);
    if (q.waits > q.fails) CHECK_EQ(heist_load_relaxed(&q.passed[q.waits]), 0);
}

TEST(a_failure_ends_the_tokens_after_it_and_none_before)
{
    for (int pool = 0; pool < POOLS; pool++)
        for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER;
             exposure++) {
            heist_runtime *rt =
                pool_start(pools[pool], (heist_exposure)exposure);
            run_quarrel(rt, (quarrel){.fails = 7, .waits = 5}, -EXDEV, 7);
            run_quarrel(rt, (quarrel){.fails = 5, .waits = 7}, -EXDEV, 5);
            run_quarrel(rt, (quarrel){.fails = 7, .waits = 5, .then = -EIO},
                        -EIO, 5);
            run_quarrel(rt, (quarrel){.fails = 5, .waits = 7, .then = -EIO},
                        -EXDEV, 5);
            pool_stop(rt);
        }
}

static int fail_at_ten(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)arg;
    return heist_token_number(t) == 10 ? -EIO : 0;
}

static int count_one(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)t;
    heist_add_relaxed((flag *)arg, 1);
    return 0;
}

static void count_drop(heist_token *t, void *arg)
{
    (void)t;
    heist_add_relaxed((flag *)arg, 1);
}

TEST(the_first_stage_may_fail_too)
{
    heist_runtime *rt[2] = {pool_start(2, HEIST_ON_DEMAND),
                            pool_start(2, HEIST_EAGER)};
    for (size_t lines = 1; lines < 5; lines++)
        for (int k = 0; k < 2; k++) {
            flag passed = {0}, dropped = {0};
            heist_pipeline_failure why;
            heist_stage stages[] = {{HEIST_SERIAL, fail_at_ten, NULL, NULL},
                                    {HEIST_PARALLEL, count_one, &passed, NULL}};
            heist_pipeline p = {.stages = stages,
                                .count = 2,
                                .lines = lines,
                                .drop = count_drop,
                                .drop_arg = &dropped};
            heist_pipeline_opts o = {.rt = rt[k], .failure = &why};
            CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), -EIO);
            CHECK_EQ(heist_load_relaxed(&passed), 10);
            CHECK_EQ(heist_load_relaxed(&dropped), 0); /* it was not made */
            CHECK_EQ(why.token, 10);
            CHECK_EQ(why.stage, 0);
            CHECK_EQ(strcmp(why.name, ""), 0);
        }
    pool_stop(rt[0]);
    pool_stop(rt[1]);
}

TEST(a_cancelled_pipeline_finishes_what_runs_and_drops_the_rest)
{
    uint64_t seed = test_seed;
    for (int pool = 0; pool < POOLS; pool++)
        for (int i = 0; i < 16; i++) {
            heist_runtime *rt =
                pool_start(pools[pool], i % 2 ? HEIST_EAGER : HEIST_ON_DEMAND);
            watch w;
            watch_init(&w, 4, (unsigned)i % 8, 1 + (size_t)i % 8, UINT64_MAX);
            w.cancels_at = 1 + test_random(&seed) % 200;
            w.seed = test_random(&seed) | 1;
            CHECK_EQ(run_on(rt, &w), -ECANCELED);
            watch_check_ended(&w);
            pool_stop(rt);
        }
}

TEST(what_is_cancelled_before_it_begins_makes_no_token)
{
    watch w;
    watch_init(&w, 2, 1, 2, 10);
    heist_latch_arrive(&w.cancel);
    CHECK_EQ(run_on(NULL, &w), -ECANCELED);
    CHECK_EQ(heist_load_relaxed(&w.made), 0);
    watch_init(&w, 2, 1, 2, 10);
    CHECK_EQ(heist_pipeline_run(&w.pipeline, NULL, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(heist_load_relaxed(&w.made), 0);
}

static int until_stopped(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)arg;
    if (heist_token_number(t) % 3 == 2)
        while (!heist_token_stopped(t))
            watch_spin(100);
    return 0;
}

static int count_made(heist_ctx c, heist_token *t, void *arg)
{
    (void)c, (void)t;
    ++*(uint64_t *)arg;
    return 0;
}

TEST(at_the_deadline_a_pipeline_ends)
{
    for (int pool = 0; pool < POOLS; pool++)
        for (int kind = HEIST_SERIAL; kind <= HEIST_PARALLEL; kind++) {
            heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
            uint64_t made = 0;
            heist_stage stages[] = {
                {HEIST_SERIAL, count_made, &made, NULL},
                {(heist_stage_kind)kind, until_stopped, NULL, NULL}};
            heist_pipeline p = {.stages = stages, .count = 2, .lines = 4};
            heist_pipeline_opts o = {.rt = rt};
            heist_time soon = heist_after(5 * HEIST_MILLISECOND);
            CHECK_EQ(heist_pipeline_run(&p, &o, soon), -ETIMEDOUT);
            CHECK(heist_now() >= soon);
            CHECK(made >= 3);
            pool_stop(rt);
        }
}

/* --- from everywhere ------------------------------------------------------ */

typedef struct crowd {
    heist_runtime *rt;
    uint64_t seed;
} crowd;

static void *run_some(void *arg)
{
    crowd *k = arg;
    for (int i = 0; i < 30; i++) {
        watch w;
        unsigned shape = (unsigned)test_random(&k->seed);
        watch_init(&w, 1 + shape % 6, shape >> 8, 1 + (shape >> 16) % 8, 100);
        w.seed = test_random(&k->seed) | 1;
        CHECK_EQ(run_on(k->rt, &w), 0);
        watch_check(&w);
    }
    return NULL;
}

static int run_some_as_a_task(heist_ctx c, void *arg)
{
    (void)c;
    run_some(arg);
    return 0;
}

TEST(pipelines_run_side_by_side_from_threads_and_tasks)
{
    enum {
        EACH = 4
    };

    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        pthread_t t[EACH];
        crowd k[2 * EACH];
        heist_latch done;
        heist_latch_init(&done, EACH);
        for (uint64_t i = 0; i < 2 * EACH; i++)
            k[i] = (crowd){rt, test_seed + i};
        for (int i = 0; i < EACH; i++) {
            CHECK_EQ(pthread_create(&t[i], NULL, run_some, &k[i]), 0);
            CHECK_EQ(heist_spawn(rt, run_some_as_a_task, &k[EACH + i], &done,
                                 HEIST_FOREVER),
                     0);
        }
        for (int i = 0; i < EACH; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        pool_stop(rt);
    }
}

/* A stage that runs a pipeline of its own. */
static int run_inner(heist_ctx c, heist_token *t, void *arg)
{
    watch w;
    (void)c, (void)arg;
    watch_init(&w, 3, 2, 3, 20);
    w.seed = test_seed + heist_token_number(t);
    CHECK_EQ(run_on(NULL, &w), 0);
    watch_check(&w);
    return 0;
}

static int make_thirty(heist_ctx c, heist_token *t, void *arg)
{
    if (heist_token_number(t) == 30)
        heist_token_stop(t);
    else
        run_inner(c, t, arg);
    return 0;
}

TEST(a_stage_may_run_a_pipeline)
{
    for (int pool = 0; pool < POOLS; pool++)
        for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER;
             exposure++) {
            heist_runtime *rt =
                pool_start(pools[pool], (heist_exposure)exposure);
            heist_stage stages[] = {{HEIST_SERIAL, make_thirty, NULL, NULL},
                                    {HEIST_PARALLEL, run_inner, NULL, NULL},
                                    {HEIST_SERIAL, run_inner, NULL, NULL}};
            heist_pipeline p = {.stages = stages, .count = 3, .lines = 4};
            heist_pipeline_opts o = {.rt = rt};
            CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
            pool_stop(rt);
        }
}

/* A stage that forks. */
static void add_range(heist_ctx c, size_t begin, size_t end, void *sum,
                      void *arg)
{
    (void)c, (void)arg;
    for (size_t i = begin; i < end; i++)
        *(uint64_t *)sum += i;
}

static void add_sums(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static int fold_some(heist_ctx c, heist_token *t, void *arg)
{
    uint64_t sum = 0;
    (void)t, (void)arg;
    CHECK_EQ(heist_fold(c, 0, 50000, &sum, 8, add_range, add_sums, NULL, 0), 0);
    CHECK_EQ(sum, UINT64_C(50000) * 49999 / 2);
    return 0;
}

TEST(a_stage_may_fork)
{
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        heist_stage stages[] = {{HEIST_SERIAL, make_four, NULL, NULL},
                                {HEIST_PARALLEL, fold_some, NULL, NULL},
                                {HEIST_SERIAL, fold_some, NULL, NULL}};
        heist_pipeline p = {.stages = stages, .count = 3};
        heist_pipeline_opts o = {.rt = rt};
        for (int i = 0; i < 20; i++)
            CHECK_EQ(heist_pipeline_run(&p, &o, HEIST_FOREVER), 0);
        pool_stop(rt);
    }
}

/* --- in graphs ------------------------------------------------------------ */

static int set_up(heist_ctx c, heist_step *step, void *arg)
{
    (void)c;
    watch *w = heist_step_context(step);
    watch_init(w, 3, 2, 4, 200);
    w->seed = test_seed;
    *(heist_pipeline *)arg = w->pipeline;
    return 0;
}

static int look_after(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)arg;
    watch_check(heist_step_context(step));
    return 0;
}

TEST(a_pipeline_is_a_node_that_others_may_set_up)
{
    heist_graph *g;
    heist_pipeline p = {0};
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node nodes[] = {heist_graph_add(g, "set up", set_up, &p),
                          heist_graph_add_pipeline(g, "pipeline", &p),
                          heist_graph_add(g, "after", look_after, NULL)};
    CHECK_EQ(heist_graph_linearize(g, nodes, 3), 0);
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        watch w;
        heist_flow_opts o = {.rt = rt, .context = &w};
        for (int i = 0; i < 20; i++)
            CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_graph_run_n(g, 5, &o, HEIST_FOREVER), 0);
        pool_stop(rt);
    }
    heist_graph_destroy(g);
}

TEST(a_pipeline_that_fails_fails_its_node)
{
    heist_graph *g;
    heist_failure why;
    heist_pipeline p = {0};
    watch w;
    watch_init(&w, 3, 2, 4, 200);
    w.fails_in = 1;
    w.fails_at = 50;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_node first = heist_graph_add_pipeline(g, "watched", &w.pipeline);
    heist_node empty = heist_graph_add_pipeline(g, "empty", &p);
    CHECK_EQ(heist_graph_edge(g, first, empty), 0);
    heist_flow_opts o = {.failure = &why};
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -EIO);
    CHECK_EQ(why.node.id, first.id);
    CHECK_EQ(heist_load_relaxed(&w.passed), 50);
    watch_check_ended(&w);
    watch_init(&w, 3, 2, 4, 200);
    CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), -EINVAL);
    CHECK_EQ(why.node.id, empty.id);
    watch_check(&w);
    heist_graph_destroy(g);
}

TEST(a_flow_that_is_cancelled_ends_its_pipeline)
{
    heist_graph *g;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    watch w;
    watch_init(&w, 3, 2, 4, UINT64_MAX);
    heist_graph_add_pipeline(g, "endless", &w.pipeline);
    for (int pool = 0; pool < POOLS; pool++) {
        heist_runtime *rt = pool_start(pools[pool], HEIST_ON_DEMAND);
        heist_flow_opts o = {.rt = rt};
        heist_flow *f;
        watch_init(&w, 3, 2, 4, UINT64_MAX);
        CHECK_EQ(heist_flow_start(&f, g, &o, HEIST_FOREVER), 0);
        while (heist_load_relaxed(&w.passed) < 100)
            watch_spin(1000);
        heist_flow_cancel(f);
        CHECK_EQ(heist_flow_close(f), -ECANCELED);
        watch_check_ended(&w);
        watch_init(&w, 3, 2, 4, UINT64_MAX);
        CHECK_EQ(heist_graph_run(g, &o, heist_after(2 * HEIST_MILLISECOND)),
                 -ETIMEDOUT);
        watch_check_ended(&w);
        pool_stop(rt);
    }
    heist_graph_destroy(g);
}
