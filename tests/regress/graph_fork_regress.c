/* SPDX-License-Identifier: MIT
 *
 * The child of a fork() stood still in a graph that another thread had used: the
 * graph's lock was copied while it was held.  Later one stood still, or found a
 * flow open, when the fork() met the first run of all, before heist had asked to
 * be told of forks; and one would have found a graph half ready.  So each family
 * is a process in which heist was never used.
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
    ALLOCATIONS = 8, /* more than the first run needs */
    PATIENCE = 20000
};

typedef HEIST_ATOMIC(int) counter;

static heist_graph *graph;
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
static void build(const heist_allocator *allocator)
{
    static int places[NODES];
    heist_node last = {0};
    CHECK_EQ(heist_graph_create(&graph, allocator), 0);
    for (int i = 0; i < NODES; i++) {
        places[i] = i;
        heist_node n = heist_graph_add(graph, NULL, in_turn, &places[i]);
        if (i > 0) CHECK_EQ(heist_graph_edge(graph, last, n), 0);
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
static int family(void)
{
    build(NULL);
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
        if (child == 0) _exit(family());
        check_ends_well(child);
    }
}

/* --- a fork() while the graph is made ready -------------------------------- */

static int until;              /* so many allocations more */
static counter inside, forked; /* thread and process */

/* Where it is told to, it gives the fork() a chance to come in between. */
static void *slow_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (!watched && until-- == 0) {
        heist_store_release(&inside, 1);
        for (int i = 0; i < PATIENCE && !heist_load_relaxed(&forked); i++)
            sched_yield();
    }
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void slow_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

static void *run_first(void *arg)
{
    CHECK_EQ(heist_graph_run(graph, NULL, HEIST_FOREVER), 0);
    heist_store_release(&inside, 1); /* it had fewer allocations */
    return arg;
}

TEST(a_child_never_finds_a_graph_half_ready)
{
    if (test_cannot_fork()) return;
    const heist_allocator slow = {.alloc = slow_alloc, .free = slow_free};
    for (int n = 0; n < ALLOCATIONS; n++) {
        until = -1;
        build(&slow);
        until = n;
        heist_store_relaxed(&inside, 0);
        heist_store_relaxed(&forked, 0);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run_first, NULL) == 0);
        while (!heist_load_acquire(&inside))
            sched_yield();
        pid_t child = fork();
        if (child == 0) _exit(use_it());
        heist_store_relaxed(&forked, 1);
        check_ends_well(child);
        pthread_join(thread, NULL);
        heist_graph_destroy(graph);
    }
}
