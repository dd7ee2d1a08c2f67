/* SPDX-License-Identifier: MIT */
#ifndef RELACY_SUITE_H
#define RELACY_SUITE_H

/*
 * What the three programs share: the queues' sources with their plain words
 * watched, the items that go through them, and the command line.
 *
 *     PROGRAM random|bound EXECUTIONS [TEST]
 *
 * For each test a line: name, executions, milliseconds, verdict.  Exit status 0
 * when no test has failed.
 */
#include <heist/base.h>

#include <errno.h>
#include <stdio.h>

/* From here on plain words are watched. */
#define uintptr_t relacy::plain
#define uint64_t  relacy::plain
#undef SIZE_MAX
#define SIZE_MAX ((size_t)-1)
#undef UINTPTR_MAX
#define UINTPTR_MAX ((relacy::word)-1)

enum {
    ITEMS_MAX = 8,
    BOUND = 3 /* forced switches in one execution of the bounded search */
};

/*
 * Items are 1, 2, ...  Each carries a payload that its sender writes before and
 * its taker reads after, so that a queue which does not order the two is a data
 * race; and each is taken once.
 */
struct items {
    rl::var<int> payload[ITEMS_MAX];
    int sent[ITEMS_MAX], taken[ITEMS_MAX];

    items()
    {
        relacy::world_begin();
        for (int i = 0; i < ITEMS_MAX; i++)
            sent[i] = taken[i] = 0;
    }

    ~items()
    {
        relacy::world_end();
    }

    relacy::word make(int i)
    {
        payload[i](RL_INFO) = 100 + i;
        sent[i] = 1;
        return (relacy::word)i;
    }

    void take(relacy::word item)
    {
        RL_ASSERT(item > 0 && item < ITEMS_MAX);
        RL_ASSERT(sent[item] == 1);
        RL_ASSERT((int)payload[item](RL_INFO) == 100 + (int)item);
        taken[item]++;
        RL_ASSERT(taken[item] == 1);
    }

    void all_taken()
    {
        for (int i = 0; i < ITEMS_MAX; i++)
            RL_ASSERT(taken[i] == sent[i]);
    }
};

struct command {
    rl::scheduler_type_e search;
    rl::iteration_t executions;
    const char *only;
    int failed, ran;
};

template <typename test>
rl::test_result_e search(rl::test_params &p, std::ostream &state, bool again)
{
    const rl::thread_id_t n = test::params::thread_count;
#ifndef RELACY_RANDOM_ONLY /* which compiles in half the time */
    if (p.search_type == rl::sched_bound)
        return rl::run_test<test, rl::context_bound_scheduler<n>>(p, state,
                                                                  again);
#endif
    return rl::run_test<test, rl::random_scheduler<n>>(p, state, again);
}

/* The same execution once more, with its history. */
template <typename test>
void explain(rl::test_params &p, const rl::string &state)
{
    rl::ostringstream end;
    p.output_stream = &std::cerr;
    p.collect_history = true;
    p.initial_state = state;
    search<test>(p, end, true);
}

template <typename test> void run(command *c, const char *name)
{
    if (c->only && strcmp(c->only, name) != 0) return;
    /* Not std's: relacy would count what they allocate as the execution's. */
    rl::ostringstream quiet, state;
    rl::test_params p;
    p.search_type = c->search;
    p.iteration_count = c->executions;
    p.context_bound = BOUND;
    p.execution_depth_limit = 1000;
    p.output_stream = p.progress_stream = &quiet;
    unsigned start = get_tick_count();
    rl::test_result_e result = search<test>(p, state, false);
    unsigned ms = get_tick_count() - start;
    bool ok = result == rl::test_result_success;
    printf("%s|%llu|%u|%s\n", name, (unsigned long long)p.stop_iteration, ms,
           ok ? "holds" : rl::test_result_str(result));
    fflush(stdout);
    if (!ok && c->only) explain<test>(p, state.str());
    c->failed += !ok;
    c->ran++;
}

#define RUN(c, test) run<test>((c), #test)

static void run_all(command *c);

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    command c = {rl::sched_random, strtoull(argv[2], NULL, 10),
                 argc > 3 ? argv[3] : NULL, 0, 0};
    if (strcmp(argv[1], "bound") == 0) c.search = rl::sched_bound;
    run_all(&c);
    if (!c.ran) return 2;
    return c.failed ? 1 : 0;
}

#endif
