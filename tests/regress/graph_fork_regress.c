/* SPDX-License-Identifier: MIT
 *
 * The child of a fork() stood still in a graph that another thread had used: the
 * graph's lock was copied while it was held, and so was that of a limit.  Others
 * stood still, or found a flow open, when the fork() met the first run of all,
 * before heist had asked to be told of forks; so each family is a process in which
 * heist was never used.  One would have found a graph half ready.  Where fork()
 * waited for that instead, handlers of the program and fork() in an allocator
 * stood still.
 */
#include "../test.h"

#include <heist.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FAMILIES = 30,
    THREADS = 3,
    CHILDREN = 6,
    NODES = 4,
    CALLS = 16, /* of the allocator: more than the first run needs */
};

typedef HEIST_ATOMIC(int) counter;

static heist_graph *graph;
static heist_limit limit;
static counter over;
static bool watched; /* in the child: one run at a time */
static int turn, out_of_turn;

static int in_turn(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step;
    const int *mine = arg;
    if (watched && *mine != turn++) out_of_turn++;
    return 0;
}

static void *run_again_and_again(void *arg)
{
    while (!heist_load_relaxed(&over))
        CHECK_EQ(heist_graph_run(graph, NULL, HEIST_FOREVER), 0);
    return arg;
}

/* The nodes run one after the other. */
static void build(const heist_allocator *allocator, bool limited)
{
    static int places[NODES];
    heist_node last = {0};
    CHECK_EQ(heist_graph_create(&graph, allocator), 0);
    heist_limit_init(&limit, 1000); /* more than all can hold */
    for (int i = 0; i < NODES; i++) {
        places[i] = i;
        heist_node n = heist_graph_add(graph, NULL, in_turn, &places[i]);
        if (i > 0) CHECK_EQ(heist_graph_edge(graph, last, n), 0);
        if (limited) CHECK_EQ(heist_graph_limit(graph, n, &limit), 0);
        last = n;
    }
}

/* As the child: the graph runs, changes and goes away. */
static int use_it(void)
{
    static int last = NODES;
    watched = true;
    if (heist_graph_run(graph, NULL, HEIST_FOREVER) != 0) return 1;
    if (turn != NODES || out_of_turn) return 2;
    heist_node before = {NODES - 1};
    heist_node more = heist_graph_add(graph, "more", in_turn, &last);
    if (heist_graph_edge(graph, before, more) != 0) return 3;
    turn = 0;
    if (heist_graph_run(graph, NULL, HEIST_FOREVER) != 0) return 4;
    if (turn != NODES + 1 || out_of_turn) return 5;
    heist_graph_destroy(graph);
    return 0;
}

static void check_ends_well(pid_t child)
{
    int status = 0;
    CHECK(child >= 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* A process whose threads run the graph while it forks. */
static int family(bool limited)
{
    build(NULL, limited);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_again_and_again, NULL) ==
              0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) _exit(use_it());
        check_ends_well(child);
    }
    heist_store_relaxed(&over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    heist_graph_destroy(graph);
    return 0;
}

TEST(a_child_runs_a_graph_that_was_in_use)
{
    if (test_cannot_fork()) return;
    for (int i = 0; i < FAMILIES; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) _exit(family(i % 2));
        check_ends_well(child);
    }
}

/* --- a fork() while the graph is made ready -------------------------------- */

static int until;              /* so many calls more */
static counter inside, forked; /* thread and process */

/* Where it is told to, it lets the fork() come in between. */
static void be_slow(void)
{
    if (watched || until-- != 0) return;
    heist_store_release(&inside, 1);
    while (!heist_load_relaxed(&forked))
        sched_yield();
}

static void *slow_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    be_slow();
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void slow_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    be_slow(); /* before and after: what comes next is slow, too */
    free(p);
    be_slow();
}

static void *run_first(void *arg)
{
    CHECK_EQ(heist_graph_run(graph, NULL, HEIST_FOREVER), 0);
    heist_store_release(&inside, 1); /* it had fewer allocations */
    return arg;
}

/* Forks when the thread is inside, which goes on when that is done. */
static void fork_beside(void *(*run)(void *arg), int (*as_child)(void))
{
    heist_store_relaxed(&inside, 0);
    heist_store_relaxed(&forked, 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    while (!heist_load_acquire(&inside))
        sched_yield();
    pid_t child = fork();
    if (child == 0) _exit(as_child());
    heist_store_release(&forked, 1);
    check_ends_well(child);
    pthread_join(thread, NULL);
}

TEST(a_child_never_finds_a_graph_half_ready)
{
    if (test_cannot_fork()) return;
    const heist_allocator slow = {.alloc = slow_alloc, .free = slow_free};
    for (int n = 0; n < CALLS; n++) {
        until = -1;
        build(&slow, false);
        until = n;
        fork_beside(run_first, use_it);
        heist_graph_destroy(graph);
    }
}

/* --- what belongs to a run -------------------------------------------------- */

static int wait_for_it(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    heist_store_release(&inside, 1);
    while (!watched && !heist_load_acquire(&forked))
        sched_yield();
    return 0;
}

static heist_profile *profile;

static void *run_with_profile(void *arg)
{
    heist_flow_opts opts = {.profile = profile};
    CHECK_EQ(heist_graph_run(graph, &opts, HEIST_FOREVER), 0);
    return arg;
}

static int use_profile(void)
{
    heist_flow_opts opts = {.profile = profile};
    watched = true;
    if (heist_graph_run(graph, &opts, HEIST_FOREVER) != 0) return 1;
    heist_profile_destroy(profile);
    return 0;
}

TEST(a_profile_in_use_is_free_in_the_child)
{
    if (test_cannot_fork()) return;
    CHECK_EQ(heist_graph_create(&graph, NULL), 0);
    heist_graph_add(graph, NULL, wait_for_it, NULL);
    CHECK_EQ(heist_profile_create(&profile, graph), 0);
    fork_beside(run_with_profile, use_profile);
    heist_profile_destroy(profile);
    heist_graph_destroy(graph);
}

/* --- handlers of the program ------------------------------------------------ */

static void build_and_run(void)
{
    heist_graph *g;
    CHECK_EQ(heist_graph_create(&g, NULL), 0);
    heist_graph_add(g, NULL, wait_for_it, NULL);
    CHECK_EQ(heist_graph_run(g, NULL, HEIST_FOREVER), 0);
    heist_graph_destroy(g);
}

/* They stay for the rest of the process: so in a child. */
static int fork_with_handlers(void)
{
    watched = true;
    CHECK(pthread_atfork(build_and_run, build_and_run, build_and_run) == 0);
    pid_t child = fork();
    if (child == 0) _exit(0);
    check_ends_well(child);
    return 0;
}

TEST(handlers_of_a_fork_may_run_graphs)
{
    if (test_cannot_fork()) return;
    pid_t child = fork();
    if (child == 0) _exit(fork_with_handlers());
    check_ends_well(child);
}
