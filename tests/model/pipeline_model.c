/* SPDX-License-Identifier: MIT
 *
 * Pipelines: in the hands of one worker, taken out of them, and shared.
 *
 * What is shipped: heist_pipeline_run with all that is below it.  What is the
 * test's: the workers and the loop in which those who are not inside of it find
 * work (crew.h).
 *
 * What a token has been through, and who was at a serial stage before it, is plain
 * memory: an edge that is missing is a data race.  The lines are freed when the run
 * returns, while helpers may be anywhere.
 */
#include "hands.h"

#include <errno.h>
#include <heist/pipeline.h>

enum {
    STAGES = 3,
    TOKENS = 3,
    HELPED = 63 /* seen: somebody got the frame of the owner */
};

static heist_stage stages[STAGES];
static heist_pipeline pipeline;
static uint64_t tokens; /* that the first stage makes */
static int runs[TOKENS][STAGES];
static uint64_t next[STAGES]; /* whose turn it is at a serial stage */
static unsigned dropped;
static hi_futex told;
static bool waits;
static bool fails; /* the last token, at the second stage */

static bool seen(unsigned what)
{
    return model_seen() >> what & 1;
}

static int pass_stage(heist_ctx c, heist_token *t, void *arg)
{
    uint64_t n = heist_token_number(t);
    size_t stage = heist_token_stage(t);
    (void)c, (void)arg;
    model_saw((unsigned)(n * STAGES + stage) * 4 + model_self());
    if (stages[stage].kind == HEIST_SERIAL) model_check(next[stage]++ == n);
    if (stage == 0 && n == tokens) {
        heist_token_stop(t);
        return 0;
    }
    if (stage == 0) heist_data(t, int) = (int)(10 * n);
    model_check(heist_data(t, int) == (int)(10 * n + stage));
    heist_data(t, int)++;
    runs[n][stage]++;
    if (fails && n + 1 == tokens && stage == 1) return -EIO;
    if (waits && n == 0 && stage == 1) pool_await(&told);
    if (waits && n == 1 && stage == 0) pool_tell(&told);
    return 0;
}

static void drop_token(heist_token *t, void *arg)
{
    (void)t, (void)arg;
    dropped++;
}

static void setup(unsigned workers, bool alone, size_t count, uint64_t n)
{
    crew_open(workers, 1, alone);
    for (size_t i = 0; i < count; i++)
        stages[i] = (heist_stage){.fn = pass_stage};
    pipeline = (heist_pipeline){.stages = stages,
                                .count = count,
                                .lines = 2,
                                .token_bytes = sizeof(int),
                                .drop = drop_token};
    tokens = n;
    heist_init(&told, 0);
}

static void check_runs(void)
{
    for (uint64_t n = 0; n < tokens; n++)
        for (size_t i = 0; i < pipeline.count; i++)
            model_check(runs[n][i] == 1);
    model_check(dropped == 0);
}

static int run_pipeline(void)
{
    heist_pipeline_opts opts = {.rt = crew.rt};
    return heist_pipeline_run(&pipeline, &opts, HEIST_FOREVER);
}

static void run_or_help(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_pipeline() == 0);
        check_runs();
        crew_run_ends();
    }
    crew_help(w);
}

static void after(void)
{
    check_runs();
    crew_close();
}

/* --- in the hands of one worker ------------------------------------------------ */

/* The first token waits at the second stage until there is another one. */
static void setup_stuck(void)
{
    setup(2, true, 2, 2);
    waits = true;
}

static void setup_called_then_stuck(void)
{
    setup_stuck();
    crew.calls = true;
}

static void helper_made_a_token(void)
{
    model_check(seen((1 * STAGES + 0) * 4 + 1));
}

static void setup_short(void)
{
    setup(2, true, 2, 2);
}

static void setup_sharing(void)
{
    setup(2, true, 2, 2);
    heist_init(&crew.rt->sleep.searching, 1);
}

/* --- shared --------------------------------------------------------------------- */

static void setup_serial(void)
{
    setup(2, false, 2, 3);
}

static void setup_parallel(void)
{
    setup(2, false, 3, 2);
    stages[1].kind = HEIST_PARALLEL;
}

static void setup_three(void)
{
    setup(3, false, 2, 2);
}

static void setup_failure(void)
{
    setup(2, false, 3, 2);
    fails = true;
}

static void run_failing(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_pipeline() == -EIO);
        crew_run_ends();
    }
    crew_help(w);
}

static void after_failure(void)
{
    for (uint64_t n = 0; n < tokens; n++)
        for (size_t i = 0; i < pipeline.count; i++)
            model_check(runs[n][i] == (n + 1 < tokens || i < 2));
    model_check(dropped == 1);
    crew_close();
}

static void both_had_the_last(void)
{
    unsigned last = (unsigned)((tokens - 1) * STAGES + pipeline.count - 1) * 4;
    model_check(seen(last) && seen(last + 1));
}

/* --- without a search ----------------------------------------------------- */

/* The others steal once, the second from the first, and so on (hands.h). */
static void run_or_steal(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_pipeline() == 0);
        check_runs();
    } else {
        hands_steal(w);
    }
    hands_leave(w);
}

/* The thief's thief comes to the first stage as there are no more tokens. */
static void the_third_saw_the_end(void)
{
    model_check(seen((unsigned)(tokens * STAGES) * 4 + 2));
}

/* The token fails in the hands of its owner.  Who comes then must not offer the
 * line after it, which is freed as the run ends. */
static void setup_failure_alone(void)
{
    setup(2, true, 2, 1);
    fails = true;
}

static void fail_or_rescue(unsigned id)
{
    hi_worker *w = crew_join(id);
    if (id == 0) {
        model_check(run_pipeline() == -EIO);
    } else {
        if (crew_rescue(w, &crew.rt->pool[0])) model_saw(HELPED);
        hands_drain(w);
    }
    hands_leave(w);
}

static void helper_came(void)
{
    model_check(seen(HELPED));
}

static const model_test tests[] = {
    {MODEL_TEST("a_helper_takes_over_from_a_stage_that_waits", 2, setup_stuck,
                run_or_help, after, helper_made_a_token),
     MODEL_BOUNDS(1, 1, 2, 2)},
    {MODEL_TEST("who_has_answered_can_be_helped_later", 2,
                setup_called_then_stuck, run_or_help, after,
                helper_made_a_token),
     MODEL_BOUNDS(1, 1, 2, 1)},
    {MODEL_TEST("a_call_between_short_stages_is_answered", 2, setup_short,
                run_or_help, after, NULL),
     MODEL_BOUNDS(2, 1, 3, 1)},
    {MODEL_TEST("a_helper_takes_over_in_the_middle_of_a_stage", 2, setup_short,
                run_or_help, after, helper_made_a_token),
     MODEL_BOUNDS(2, 1, 2, 2), .spins_end = true},
    {MODEL_TEST("an_owner_shares_as_a_helper_comes", 2, setup_sharing,
                run_or_help, after, helper_made_a_token),
     MODEL_BOUNDS(1, 1, 2, 2), .clock_step = 5000},
    {MODEL_TEST("tokens_keep_their_order_in_serial_stages", 2, setup_serial,
                run_or_help, after, both_had_the_last),
     MODEL_BOUNDS(2, 1, 2, 2)},
    {MODEL_TEST("tokens_leave_a_parallel_stage_once", 2, setup_parallel,
                run_or_help, after, both_had_the_last),
     MODEL_BOUNDS(2, 1, 2, 2)},
    {MODEL_TEST("three_workers_pass_two_tokens", 3, setup_three, run_or_help,
                after, NULL),
     MODEL_BOUNDS(1, 1, 1, 2)},
    {MODEL_TEST("a_token_that_fails_is_dropped_once", 2, setup_failure,
                run_failing, after_failure, NULL),
     MODEL_BOUNDS(2, 1, 2, 2)},
    {MODEL_TEST("a_thief_keeps_the_order_of_serial_stages", 2, setup_serial,
                run_or_steal, after, both_had_the_last),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_thief_takes_a_token_out_of_a_parallel_stage", 2,
                setup_parallel, run_or_steal, after, both_had_the_last),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_thief_and_its_thief_pass_two_tokens", 3, setup_three,
                run_or_steal, after, the_third_saw_the_end),
     MODEL_BOUNDS(2, 2, 3, 2)},
    {MODEL_TEST("a_helper_comes_as_the_run_ends", 2, setup_failure_alone,
                fail_or_rescue, after_failure, helper_came),
     MODEL_BOUNDS(2, 2, 4, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
