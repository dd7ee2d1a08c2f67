/* SPDX-License-Identifier: MIT
 *
 * explore.c: which executions are run.
 *
 * An execution is a list of choices; whatever is not chosen is the same each
 * time.  To exhaust them, the last choice that has options left is advanced
 * and the list before it repeated.  Option 0 is always the harmless one: go
 * on, read the newest value, do not fail.
 */
#define _GNU_SOURCE 1
#include "engine.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void *hi_switch(hi_context *from, hi_context *to);

model_engine engine __attribute__((section("model_engine")));

enum {
    DEEP_SECONDS = 20 /* of each test, if the stated bounds take less */
};

typedef enum level {
    QUICK,
    FULL,
    DEEP
} level;

static struct {
    level level;
    const char *only, *json, *replay;
    uint64_t random, seed;
    bool list;
    bool trace; /* of failures that are expected, too */
    jmp_buf end;
} options __attribute__((section("model_engine")));

/* --- choices -------------------------------------------------------------------- */

uint64_t random_next(void)
{
    engine.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = engine.random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned choose_at_random(choice_kind kind, unsigned n,
                                 const uint8_t *values)
{
    unsigned best = 0;
    switch (kind) {
    case CHOOSE_THREAD:
        for (unsigned i = 1; i < n; i++)
            if (engine.threads[values[i]].priority >
                engine.threads[values[best]].priority)
                best = i;
        return best;
    case CHOOSE_VALUE:
        return random_next() % 4 ? 0 : (unsigned)(random_next() % n);
    case CHOOSE_FAULT:
        return random_next() % 16 ? 0 : (unsigned)(random_next() % n);
    case CHOOSE_OTHER: break;
    }
    return (unsigned)(random_next() % n);
}

/* choices[0 .. decided) is what to do at which point. */
static unsigned choose_as_told(unsigned n, const uint8_t *values)
{
    if (engine.depth == engine.decided) return 0;
    choice *c = &engine.choices[engine.depth];
    if (c->point != engine.point) return 0;
    engine.depth++;
    for (unsigned i = 0; i < n; i++)
        if (values[i] == c->value) return i;
    fail("the choices do not fit this program");
}

unsigned choose(choice_kind kind, unsigned n, const uint8_t *values)
{
    if (engine.mode == REPLAY) return choose_as_told(n, values);
    if (UNLIKELY(engine.depth == CHOICES_MAX)) fail("too many choices");
    choice *c = &engine.choices[engine.depth];
    if (engine.mode == RANDOM) {
        c->taken = (uint8_t)choose_at_random(kind, n, values);
        engine.decided = engine.depth + 1;
    } else if (engine.depth == engine.decided) {
        c->taken = 0;
        c->options = (uint8_t)n;
        c->timed = false;
        engine.decided++;
    } else if (UNLIKELY((c->options != n && c->options) ||
                        c->point != engine.point || c->taken >= n)) {
        fail("the program is not the same each time");
    }
    c->point = engine.point;
    c->value = values[c->taken];
    engine.depth++;
    return c->taken;
}

bool choose_fault(void)
{
    static const uint8_t values[] = {0, 1};
    engine.point++;
    if (!engine.left.faults) return false;
    if (!choose(CHOOSE_FAULT, 2, values)) return false;
    engine.left.faults--;
    return true;
}

unsigned model_choose(unsigned n)
{
    uint8_t values[64];
    if (n > sizeof values) fail("model_choose: at most 64");
    for (unsigned i = 0; i < n; i++)
        values[i] = (uint8_t)i;
    engine.point++;
    return n > 1 ? choose(CHOOSE_OTHER, n, values) : 0;
}

unsigned model_self(void)
{
    return engine.current->slot;
}

void model_saw(unsigned value)
{
    engine.seen |= UINT64_C(1) << value % 64;
}

uint64_t model_seen(void)
{
    return engine.seen;
}

void end_fail(void)
{
    longjmp(options.end, 1);
}

uint64_t model_executions(void)
{
    return engine.executions;
}

bool model_whole(void)
{
    return engine.whole;
}

/* --- one execution ---------------------------------------------------------------- */

void execution_end(outcome how)
{
    engine.outcome = how;
    engine.running = false;
    hi_switch(&engine.current->context, &engine.explorer);
    __builtin_unreachable();
}

static void test_thread(void *arg)
{
    (void)arg;
    engine.test->thread(engine.current->slot);
}

/* The main thread of an execution: alone at first and in the end. */
static void main_thread(void *unused)
{
    const model_test *test = engine.test;
    thread *me = engine.current;
    (void)unused;
    if (test->setup) test->setup();
    engine.left_to_end = test->threads;
    for (unsigned i = 0; i < test->threads; i++)
        thread_create(i, test_thread, NULL, NULL);
    if (test->threads) {
        engine.ready &= ~bit(me->slot);
        leave();
    }
    for (unsigned i = 0; i < test->threads; i++)
        view_join(me->now, engine.threads[i].now, engine.length);
    engine.unjoined -= test->threads;
    if (test->after) test->after();
}

/* All is over, what the main thread wanted done at its end, too. */
void main_ends(thread *me)
{
    for (unsigned i = 0; i < engine.started; i++)
        if (engine.live & bit(i) & ~bit(me->slot))
            fail("%s still runs in the end", engine.threads[i].name);
    heap_report_leaks();
    execution_end(HOLDS);
}

static void random_prepare(void)
{
    uint32_t most = engine.longest ? engine.longest : 50;
    for (unsigned i = 0; i < 16; i++)
        engine.change_points[i] = i < engine.bounds.preemptions
                                      ? (uint32_t)(1 + random_next() % most)
                                      : 0;
}

static outcome execute(void)
{
    engine.generation++;
    snapshot_restore();
    heap_reset();
    memory_reset();
    threads_reset();
    engine.left = engine.bounds;
    engine.depth = 0;
    if (engine.mode == RANDOM) random_prepare();
    engine.current = NULL;
    engine.current =
        thread_create(engine.test->threads, main_thread, NULL, "main");
    engine.running = true;
    hi_switch(&engine.explorer, &engine.current->context);
    if (engine.outcome == REPEATED)
        engine.repeated++;
    else if (engine.outcome != RESTART)
        engine.executions++;
    engine.total_steps += engine.steps;
    if (engine.steps > engine.longest) engine.longest = engine.steps;
    return engine.outcome;
}

/* To the next list of choices; false: there is none. */
static bool advance(void)
{
    while (engine.decided) {
        choice *c = &engine.choices[engine.decided - 1];
        if (++c->taken < c->options) return true;
        engine.decided--;
    }
    return false;
}

/* As if nothing had been explored yet: there are more points of choice. */
static void start_again(void)
{
    engine.decided = 0;
    engine.executions = engine.repeated = engine.total_steps = 0;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Looks at the clock now and then. */
static bool is_over(double until)
{
    return (engine.executions + engine.repeated) % 1024 == 0 &&
           seconds_now() >= until;
}

/* RUNS: the time was over before the end. */
static outcome exhaust(double until)
{
    do {
        outcome o = execute();
        for (; o == RESTART; o = execute())
            start_again();
        if (o == FAILED) return o;
        if (is_over(until)) return RUNS;
    } while (advance());
    return HOLDS;
}

static outcome exhaust_twice(void)
{
    engine.whole = true;
    outcome o = exhaust(HUGE_VAL);
    if (o == FAILED) return o;
    engine.whole = false;
    start_again();
    return exhaust(HUGE_VAL);
}

/*
 * First the stated bounds, then wider and wider ones until the time is over.
 * What is reported is the widest that was finished.
 */
static outcome deepen(double until)
{
    outcome o = exhaust(HUGE_VAL);
    unsigned same = 0; /* rounds that found no more: there is no more */
    for (unsigned round = 0; o == HOLDS && same < 2; round++) {
        model_bounds finished = engine.bounds;
        uint64_t executions = engine.executions, steps = engine.total_steps;
        uint64_t repeated = engine.repeated;
        if (round % 2)
            engine.bounds.stale++;
        else
            engine.bounds.preemptions++;
        start_again();
        o = exhaust(until);
        same = engine.executions == executions ? same + 1 : 0;
        if (o != RUNS) continue;
        engine.bounds = finished;
        engine.executions = executions;
        engine.repeated = repeated;
        engine.total_steps = steps;
    }
    return o == RUNS ? HOLDS : o;
}

static outcome at_random(uint64_t n, double until)
{
    while (engine.executions < n && !(engine.executions && is_over(until))) {
        engine.decided = 0;
        if (execute() == FAILED) return FAILED;
    }
    return HOLDS;
}

/* --- replay ----------------------------------------------------------------------- */

static void print_shared(const location *l)
{
    if (!l->shared || l->generation != engine.generation) return;
    if (l->address - REGION < REGION_BYTES)
        printf("r%lx,", (unsigned long)(l->address - REGION));
    else
        printf("d%lx,", (unsigned long)(l->address - (uintptr_t)__data_start));
}

/* The shared locations, and each choice that was not option 0. */
static void print_replay(void)
{
    printf("  replay: --only %s --replay ", engine.test->name);
    locations_each(print_shared);
    printf("/");
    for (unsigned i = 0; i < engine.depth; i++) {
        choice *c = &engine.choices[i];
        if (c->taken) printf("%u:%u,", c->point, c->value);
    }
    printf("\n");
}

bool replay_shares(uintptr_t address)
{
    char name[24];
    const char *list = options.replay;
    if (address - REGION < REGION_BYTES)
        snprintf(name, sizeof name, "r%lx,", (unsigned long)(address - REGION));
    else
        snprintf(name, sizeof name, "d%lx,",
                 (unsigned long)(address - (uintptr_t)__data_start));
    const char *found = strstr(list, name);
    while (found && found != list && found[-1] != ',')
        found = strstr(found + 1, name);
    return found != NULL;
}

static void replay_parse(void)
{
    const char *p = strchr(options.replay, '/');
    engine.decided = 0;
    while (p && p[1]) {
        char *end;
        choice *c = &engine.choices[engine.decided];
        c->point = (uint32_t)strtoul(p + 1, &end, 10);
        if (*end != ':') break;
        c->value = (uint8_t)strtoul(end + 1, &end, 10);
        if (engine.decided++ == CHOICES_MAX - 1) break;
        p = *end == ',' ? end : NULL;
    }
}

static outcome replay(void)
{
    replay_parse();
    model_bounds bounds = engine.bounds;
    engine.bounds = (model_bounds){UINT32_MAX, UINT32_MAX, UINT32_MAX};
    engine.tracing = true;
    trace_begin();
    outcome o = execute();
    while (o == RESTART) {
        trace_begin();
        o = execute();
    }
    engine.tracing = false;
    engine.bounds = bounds;
    return o;
}

/* The same choices once more, with a trace. */
static void run_again(void)
{
    mode was = engine.mode;
    model_bounds bounds = engine.bounds;
    engine.decided = engine.depth;
    for (unsigned i = 0; i < engine.depth; i++)
        engine.choices[i].options = 0; /* any number */
    /* At random, preemptions are not counted and nothing is cut short. */
    bool cuts = !engine.whole;
    if (was == RANDOM) {
        engine.bounds.preemptions = UINT32_MAX;
        engine.whole = true;
    }
    engine.mode = EXHAUST;
    engine.tracing = true;
    trace_begin();
    execute();
    engine.tracing = false;
    engine.executions--;
    engine.mode = was;
    engine.bounds = bounds;
    engine.whole = !cuts;
}

/* --- a test ----------------------------------------------------------------------- */

static void defaults(model_bounds *b, level l, unsigned threads)
{
    static const unsigned char preemptions[3][2] = {{2, 4}, {2, 3}, {1, 2}};
    unsigned row = threads <= 2 ? 0 : threads == 3 ? 1 : 2;
    if (!b->preemptions) b->preemptions = preemptions[row][l];
    if (!b->stale) b->stale = l + 1;
    if (!b->faults) b->faults = 1;
}

static model_bounds bounds_of(const model_test *test)
{
    level l = options.level == QUICK ? QUICK : FULL;
    model_bounds b = l == QUICK ? test->quick : test->full;
    defaults(&b, l, test->threads);
    if (b.preemptions == MODEL_NONE) b.preemptions = 0;
    if (b.stale == MODEL_NONE) b.stale = 0;
    if (b.faults == MODEL_NONE) b.faults = 0;
    return b;
}

static outcome run_end(void)
{
    /* What must have been seen need not be so in a random sample. */
    if (!engine.test->end || options.random) return HOLDS;
    if (setjmp(options.end)) return FAILED;
    engine.test->end();
    return HOLDS;
}

static void report(const char *verdict, double seconds)
{
    static const char *const names[] = {"quick", "full", "deep"};
    const model_test *t = engine.test;
    uint64_t all = engine.executions + engine.repeated;
    double rate = seconds > 0 ? (double)all / seconds : 0;
    printf("%-52s %u threads  p%u s%u f%u  %10llu executions  %9llu repeated  "
           "%11llu steps  %7.2f s  %9.0f/s  %s\n",
           t->name, t->threads, engine.bounds.preemptions, engine.bounds.stale,
           engine.bounds.faults, (unsigned long long)engine.executions,
           (unsigned long long)engine.repeated,
           (unsigned long long)engine.total_steps, seconds, rate, verdict);
    fflush(stdout);
    if (!options.json) return;
    FILE *out = fopen(options.json, "a");
    if (!out) {
        perror(options.json);
        exit(2);
    }
    fprintf(
        out,
        "{\"program\":\"%s\",\"test\":\"%s\",\"level\":\"%s\",\"mode\":\"%s\",\"threads\":%u,"
        "\"preemptions\":%u,\"stale\":%u,\"faults\":%u,"
        "\"executions\":%llu,\"repeated\":%llu,\"steps\":%llu,\"seconds\":%.3f,"
        "\"verdict\":\"%s\"}\n",
        program_invocation_short_name, t->name, names[options.level],
        engine.mode == RANDOM ? "random" : "exhaustive", t->threads,
        engine.bounds.preemptions, engine.bounds.stale, engine.bounds.faults,
        (unsigned long long)engine.executions,
        (unsigned long long)engine.repeated,
        (unsigned long long)engine.total_steps, seconds, verdict);
    fclose(out);
}

static uint64_t random_executions(const model_test *test)
{
    static const uint64_t counts[] = {10000, 200000, UINT64_MAX};
    if (options.random) return options.random;
    return test->random ? counts[options.level] : 0;
}

static void test_begin(const model_test *test)
{
    engine.test = test;
    engine.bounds = bounds_of(test);
    engine.decided = engine.depth = 0;
    engine.whole = false;
    engine.executions = engine.repeated = engine.total_steps = engine.seen = 0;
    engine.longest = 0;
    engine.random = engine.seed = options.seed;
    locations_forget();
}

static bool is_expected(void)
{
    const char *expected = engine.test->fails;
    return expected && strstr(engine.message, expected);
}

static void print_failure(void)
{
    printf("%s FAILS: %s\n", engine.test->name, engine.message);
    if (engine.mode == RANDOM)
        printf("  seed %llu, execution %llu\n", (unsigned long long)engine.seed,
               (unsigned long long)engine.executions);
    if (engine.mode != REPLAY) run_again();
    trace_print();
    printf("  %s\n", engine.message);
    if (engine.mode != REPLAY) print_replay();
}

static bool run_test(const model_test *test)
{
    test_begin(test);
    uint64_t n = random_executions(test);
    engine.mode = options.replay ? REPLAY : n ? RANDOM : EXHAUST;
    double start = seconds_now();
    double until = options.level == DEEP ? start + DEEP_SECONDS : HUGE_VAL;
    outcome o = engine.mode == REPLAY                   ? replay()
                : engine.mode == RANDOM                 ? at_random(n, until)
                : test->twice                           ? exhaust_twice()
                : options.level == DEEP && !test->exact ? deepen(until)
                                                        : exhaust(until);
    double seconds = seconds_now() - start;
    bool expected = o == FAILED && is_expected();
    if (o == FAILED && (!expected || options.trace || options.replay))
        print_failure();
    if (o == HOLDS && !options.replay) {
        o = run_end();
        if (o == FAILED) printf("%s FAILS: %s\n", test->name, engine.message);
    }
    bool ok = test->fails ? expected : o == HOLDS;
    if (o == HOLDS && test->fails && !options.replay)
        printf("%s FAILS: it should have failed with \"%s\"\n", test->name,
               test->fails);
    report(!ok ? "FAILS" : expected ? "fails as it should" : "holds", seconds);
    return ok;
}

/* --- the command line ---------------------------------------------------------------- */

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "options: [--quick | --full | --deep] [--only NAME]\n"
            "         [--replay CHOICES] [--random EXECUTIONS] [--seed N]\n"
            "         [--trace | --trace-all] [--list] [--json FILE]\n");
    exit(2);
}

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (end == text || *end) usage();
    return n;
}

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) usage();
    return argv[++*i];
}

static void parse(int argc, char **argv)
{
    options.seed = 1;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--quick"))
            options.level = QUICK;
        else if (!strcmp(a, "--full"))
            options.level = FULL;
        else if (!strcmp(a, "--deep"))
            options.level = DEEP;
        else if (!strcmp(a, "--list"))
            options.list = true;
        else if (!strcmp(a, "--trace"))
            options.trace = true;
        else if (!strcmp(a, "--trace-all"))
            options.trace = engine.trace_all = true;
        else if (!strcmp(a, "--only"))
            options.only = value_of(argc, argv, &i);
        else if (!strcmp(a, "--replay"))
            options.replay = value_of(argc, argv, &i);
        else if (!strcmp(a, "--json"))
            options.json = value_of(argc, argv, &i);
        else if (!strcmp(a, "--random"))
            options.random = number_of(value_of(argc, argv, &i));
        else if (!strcmp(a, "--seed"))
            options.seed = number_of(value_of(argc, argv, &i));
        else
            usage();
    }
}

int model_main(int argc, char **argv, const model_test *tests, size_t n)
{
    int status = 0;
    size_t ran = 0;
    parse(argc, argv);
    memory_init();
    plain_init();
    heap_init();
    threads_init();
    engine.choices = engine_map(CHOICES_MAX * sizeof *engine.choices);
    snapshot_take();
    for (size_t i = 0; i < n; i++) {
        if (options.list) printf("%s\n", tests[i].name);
        if (options.list ||
            (options.only && strcmp(options.only, tests[i].name)))
            continue;
        ran++;
        if (!run_test(&tests[i])) status = 1;
    }
    if (!ran && !options.list) {
        fprintf(stderr, "no test has this name\n");
        return 2;
    }
    return status;
}
