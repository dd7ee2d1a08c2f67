/* SPDX-License-Identifier: MIT
 *
 * The child of a fork() stood still in a graph that another thread had used: the
 * graph's lock was copied while it was held.
 */
#include "../test.h"

#include <heist.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 3,
    CHILDREN = 60,
    NODES = 4
};

typedef HEIST_ATOMIC(int) counter;

static heist_graph *graph;
static counter over;

static int nothing(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return 0;
}

static void *run_again_and_again(void *arg)
{
    while (!heist_load_relaxed(&over))
        CHECK_EQ(heist_graph_run(graph, NULL, HEIST_FOREVER), 0);
    return arg;
}

/* As the child: the graph runs, changes and goes away. */
static int use_it(void)
{
    if (heist_graph_run(graph, NULL, HEIST_FOREVER) != 0) return 1;
    heist_graph_add(graph, "more", nothing, NULL);
    if (heist_graph_run(graph, NULL, HEIST_FOREVER) != 0) return 2;
    heist_graph_destroy(graph);
    return 0;
}

TEST(a_child_runs_a_graph_that_was_in_use)
{
    if (test_cannot_fork()) return;
    CHECK_EQ(heist_graph_create(&graph, NULL), 0);
    for (int i = 0; i < NODES; i++)
        heist_graph_add(graph, NULL, nothing, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_again_and_again, NULL) ==
              0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(use_it());
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    heist_store_relaxed(&over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    heist_graph_destroy(graph);
}
