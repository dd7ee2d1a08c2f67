/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- start and join ---------------------------------------------------------- */

enum {
    STACK = 64 * 1024
};

typedef struct seen {
    int runs;
    char name[32];
    sigset_t mask;
    size_t stack_bytes;
    void *self;
} seen;

static void look_around(void *arg)
{
    seen *s = arg;
    pthread_attr_t attr;
    void *low;
    s->runs++;
    s->self = hi_self_get();
    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    CHECK_EQ(pthread_attr_getstack(&attr, &low, &s->stack_bytes), 0);
    pthread_attr_destroy(&attr);
}

static seen run_thread(const char *name, size_t stack_bytes)
{
    seen s;
    memset(&s, 0, sizeof s);
    hi_thread t;
    CHECK_EQ(hi_thread_start(&t, look_around, &s, name, stack_bytes), 0);
    hi_thread_join(t);
    CHECK_EQ(s.runs, 1);
    return s;
}

TEST(a_thread_runs_its_function_once_and_can_be_joined)
{
    for (int i = 0; i < 100; i++)
        run_thread("once", STACK);
}

TEST(a_thread_has_its_name_as_far_as_the_kernel_keeps_it)
{
    CHECK_EQ(strcmp(run_thread("heist/7", STACK).name, "heist/7"), 0);
    CHECK_EQ(
        strcmp(run_thread("0123456789abcdef", STACK).name, "0123456789abcde"),
        0);
    run_thread(NULL, STACK);
}

TEST(a_thread_has_the_stack_it_asked_for_or_more)
{
    CHECK(run_thread("small", 1).stack_bytes >= 256 * 1024);
    CHECK(run_thread("odd", 1000001).stack_bytes >= 1000001);
    CHECK(run_thread("large", 16 << 20).stack_bytes >= 16 << 20);
    CHECK(run_thread("default", 0).stack_bytes >= 256 * 1024);
}

TEST(a_thread_takes_no_signals_but_its_own)
{
    static const int blocked[] = {SIGINT,  SIGTERM, SIGHUP,  SIGCHLD, SIGUSR1,
                                  SIGUSR2, SIGALRM, SIGPIPE, SIGPROF};
    static const int open[] = {SIGSEGV, SIGBUS,  SIGFPE,
                               SIGILL,  SIGTRAP, SIGABRT};
    seen s = run_thread("signals", STACK);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        CHECK_EQ(sigismember(&s.mask, blocked[i]), 1);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        CHECK_EQ(sigismember(&s.mask, open[i]), 0);
}

TEST(starting_a_thread_leaves_the_caller_s_signals_alone)
{
    sigset_t odd, before, after;
    sigemptyset(&odd);
    sigaddset(&odd, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &odd, &before);
    run_thread("mask", STACK);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    CHECK_EQ(sigismember(&after, SIGUSR2), 1);
    CHECK_EQ(sigismember(&after, SIGUSR1), 0);
    CHECK_EQ(sigismember(&after, SIGINT), 0);
}

TEST(a_thread_that_cannot_be_had_is_an_error)
{
    seen s;
    hi_thread t;
    sigset_t mask;
    errno = 4711;
    /* No machine has so much address space for the stack. */
    int rc = hi_thread_start(&t, look_around, &s, "huge", (size_t)1 << 50);
    CHECK(rc == -EAGAIN || rc == -ENOMEM);
    CHECK_EQ(errno, 4711);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK_EQ(sigismember(&mask, SIGINT), 0);
}

/* --- the thread's own pointer --------------------------------------------------- */

TEST(each_thread_has_a_pointer_of_its_own_that_starts_as_null)
{
    int mine;
    CHECK(hi_self_get() == NULL);
    hi_self_set(&mine);
    CHECK(run_thread("self", STACK).self == NULL);
    CHECK(hi_self_get() == &mine);
    hi_self_set(NULL);
}

/* --- the end of a thread --------------------------------------------------------- */

static int ended[3];

static void note_end(void *arg)
{
    ended[arg ? *(int *)arg : 0]++;
}

static void ends_with(void *arg)
{
    hi_thread_at_exit(note_end, arg);
}

static void ends_with_the_second(void *arg)
{
    static int first = 1;
    hi_thread_at_exit(note_end, &first);
    hi_thread_at_exit(note_end, arg);
}

static void does_not_care(void *arg)
{
    (void)arg;
}

static void run_to_end(void (*fn)(void *), void *arg)
{
    hi_thread t;
    memset(ended, 0, sizeof ended);
    CHECK_EQ(hi_thread_start(&t, fn, arg, "end", STACK), 0);
    hi_thread_join(t);
}

TEST(the_end_of_a_thread_is_told_once)
{
    int two = 2;
    run_to_end(ends_with, &two);
    CHECK_EQ(ended[2], 1);
    run_to_end(ends_with, NULL);
    CHECK_EQ(ended[0], 1);
    run_to_end(ends_with_the_second, &two);
    CHECK_EQ(ended[1], 0);
    CHECK_EQ(ended[2], 1);
    run_to_end(does_not_care, NULL);
    CHECK_EQ(ended[0] + ended[1] + ended[2], 0);
}

/* --- fork -------------------------------------------------------------------------- */

static int children;

static void count_child(void)
{
    children++;
}

/* Runs fn in a child process and returns what it returned. */
static int in_child(int (*fn)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(fn());
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int count_of_children(void)
{
    return children;
}

TEST(a_fork_is_told_in_the_child_alone)
{
    static hi_at_fork forks = {.child = count_child};
    CHECK_EQ(hi_watch_forks(&forks), 0);
    CHECK_EQ(hi_watch_forks(&forks), 0); /* once is enough */
    CHECK_EQ(in_child(count_of_children), 1);
    CHECK_EQ(children, 0);
}

/* --- the processor ------------------------------------------------------------------- */

TEST(the_current_cpu_is_one_the_thread_may_use)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    int cpu = hi_cpu_current();
    CHECK(cpu >= 0 && CPU_ISSET((size_t)cpu, &set));
    hi_cpu_relax();
    hi_thread_yield();
}

/*
 * Store buffering, one side with the barrier: x = 1, barrier, read y against
 * y = 1, read x with no fence at all.  Not both may miss the other.  The light
 * side has x in its cache, so that the heavy side's store takes its time, and
 * waits a little, so that both happen at once; without the barrier one round in
 * twenty goes wrong then, on two free CPUs.
 */
enum {
    ROUNDS = 5000
};

static struct {
    HEIST_ATOMIC(int) x HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(int) y HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(int) go HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(int) ready HEIST_ALIGNED(HEIST_LINE);
    HEIST_ATOMIC(int) done HEIST_ALIGNED(HEIST_LINE);
    int light_missed;
} sb;

#define await(cell, value)                                               \
    for (unsigned spin = 1; heist_load_acquire(cell) != (value); spin++) \
        if (spin % 1024 == 0) sched_yield();

static void light_side(void *arg)
{
    uint64_t random = *(uint64_t *)arg;
    hi_cpu_pin(hi_cpus_nth(1));
    for (int round = 1; round <= ROUNDS; round++) {
        await(&sb.go, round);
        uint64_t wait = test_random(&random) % 512;
        (void)heist_load_relaxed(&sb.x);
        heist_store_release(&sb.ready, round);
        while (wait--)
            heist_fence_compiler();
        heist_store_relaxed(&sb.y, 1);
        heist_fence_compiler();
        sb.light_missed = heist_load_relaxed(&sb.x) == 0;
        heist_store_release(&sb.done, round);
    }
}

TEST(a_barrier_of_all_orders_a_thread_that_has_no_fence)
{
    if (!hi_barrier_init()) {
        printf("    no membarrier here\n");
        return;
    }
    hi_thread t;
    CHECK_EQ(hi_thread_start(&t, light_side, &test_seed, "light", STACK), 0);
    hi_cpu_pin(hi_cpus_nth(0));
    for (int round = 1; round <= ROUNDS; round++) {
        heist_store_relaxed(&sb.x, 0);
        heist_store_relaxed(&sb.y, 0);
        heist_store_release(&sb.go, round);
        await(&sb.ready, round);
        heist_store_relaxed(&sb.x, 1);
        heist_fence_compiler();
        hi_barrier_all();
        bool missed = heist_load_relaxed(&sb.y) == 0;
        await(&sb.done, round);
        CHECK(!(missed && sb.light_missed));
    }
    hi_thread_join(t);
    hi_cpu_unpin();
}

static int barrier_without_init(void)
{
    hi_barrier_all();
    return 0;
}

static int barrier_with_init(void)
{
    if (!hi_barrier_init()) return 1;
    hi_barrier_all();
    return 0;
}

TEST(the_child_of_a_fork_has_the_barrier_too)
{
    if (!hi_barrier_init()) return;
    CHECK_EQ(in_child(barrier_without_init), 0);
    CHECK_EQ(in_child(barrier_with_init), 0);
}

/* --- last words ----------------------------------------------------------------------- */

TEST(dying_says_where_and_why_and_aborts)
{
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fd[1], STDERR_FILENO);
        hi_die("some/file.c", 1234567, "it went wrong");
    }
    close(fd[1]);
    char text[256];
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    close(fd[0]);
    text[used] = '\0';
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    const char *wanted = "heist: some/file.c:1234567: it went wrong\n";
    CHECK_EQ(strncmp(text, wanted, strlen(wanted)), 0);
}
