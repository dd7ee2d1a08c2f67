/* SPDX-License-Identifier: MIT
 *
 * In a checked build (HEIST_CHECKED) what the headers call misuse ends the program
 * with a word; in any other it is not looked for, and neither is it here.
 */
#include "test.h"

#include <heist.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs fn in a process of its own.  Its last words, or NULL if it did not abort. */
static const char *last_words(void (*fn)(void))
{
    static char words[512];
    int ends[2], status;
    fflush(NULL);
    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n = 1; n > 0; length += (size_t)n) {
        n = read(ends[0], words + length, sizeof words - 1 - length);
        CHECK(n >= 0);
    }
    words[length] = 0;
    close(ends[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : NULL;
}

static void check_dies(void (*fn)(void), const char *why)
{
    const char *words = last_words(fn);
    CHECK(words && strstr(words, why));
}

static int nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static void right(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
}

static void arrive_twice(void)
{
    heist_latch l;
    heist_latch_init(&l, 1);
    heist_latch_arrive(&l);
    heist_latch_arrive(&l);
}

static void spawn_into_a_closed_scope(void)
{
    heist_scope s;
    heist_scope_open(&s, NULL);
    heist_scope_close(&s, HEIST_FOREVER);
    heist_scope_spawn(&s, nothing, NULL);
}

static void close_twice(void)
{
    heist_scope s;
    heist_scope_open(&s, NULL);
    heist_scope_close(&s, HEIST_FOREVER);
    heist_scope_close(&s, HEIST_FOREVER);
}

static void fork_and_leave(heist_ctx c, void *arg)
{
    (void)arg;
    heist_fork(c, right);
}

static int fork_and_end(heist_ctx c, void *arg)
{
    fork_and_leave(c, arg);
    return 0;
}

static int nest_and_leave(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return heist_run(NULL, fork_and_leave, NULL);
}

static void leave_a_region(void)
{
    heist_run(NULL, fork_and_leave, NULL);
}

static void leave(heist_task_fn *fn)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    heist_spawn(NULL, fn, NULL, &done, HEIST_FOREVER);
    heist_latch_wait(&done, HEIST_FOREVER);
}

static void leave_a_task(void)
{
    leave(fork_and_end);
}

static void leave_a_nested_region(void)
{
    leave(nest_and_leave);
}

static int fork_in_a_node(heist_ctx c, heist_step *step, void *arg)
{
    (void)step;
    return fork_and_end(c, arg);
}

static void leave_a_node(void)
{
    heist_graph *g;
    if (heist_graph_create(&g, NULL) < 0) return;
    heist_graph_add(g, "forks", fork_in_a_node, NULL);
    heist_graph_run(g, NULL, HEIST_FOREVER);
}

static int fork_in_a_stage(heist_ctx c, heist_token *token, void *arg)
{
    heist_token_stop(token);
    return fork_and_end(c, arg);
}

static void leave_a_stage(void)
{
    const heist_stage stage = {HEIST_SERIAL, fork_in_a_stage, NULL, NULL};
    heist_pipeline_run(&(heist_pipeline){.stages = &stage, .count = 1}, NULL,
                       HEIST_FOREVER);
}

TEST(misuse_ends_a_checked_program_with_a_word)
{
    if (test_cannot_fork()) return;
    if (!last_words(arrive_twice)) {
        printf("skipped, not a checked build: ");
        return;
    }
    check_dies(arrive_twice, "more arrivals than the latch's count");
    check_dies(spawn_into_a_closed_scope, "spawning into a closed scope");
    check_dies(close_twice, "closing a closed scope");
    check_dies(leave_a_region, "returned with a fork open");
    check_dies(leave_a_task, "returned with a fork open");
    check_dies(leave_a_nested_region, "returned with a fork open");
    check_dies(leave_a_node, "returned with a fork open");
    check_dies(leave_a_stage, "returned with a fork open");
}
