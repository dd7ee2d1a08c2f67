/* SPDX-License-Identifier: MIT
 *
 * A strand is a stack of its own, and what belongs to the thread around it stays
 * in order: who we are, errno, backtraces, signals, the end of the stack.
 */
#define _GNU_SOURCE 1
#include "../stress/scale.h"
#include "core/runtime.h"
#include "fib.h"
#include "test.h"

#include <errno.h>
#include <execinfo.h>
#include <fenv.h>
#include <heist.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef HEIST_ATOMIC(int) flag;

static heist_runtime *rt;

static void run_task(heist_task_fn *fn, void *arg)
{
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, fn, arg, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

/* --- who we are ---------------------------------------------------------------------- */

static heist_latch *ball;
static long balls;
static flag arrived[2];
static bool apart; /* each task has a worker of its own */

/* Both at once, so that the strands of several workers are put aside and go on
 * again all the time. */
static int stay_who_you_are(heist_ctx c, void *arg)
{
    const hi_worker *self = hi_worker_self();
    pthread_t thread = pthread_self();
    int index = heist_worker_index();
    (void)c;
    heist_store_release(&arrived[(intptr_t)arg], 1);
    while (apart && !heist_load_acquire(&arrived[1 - (intptr_t)arg]))
        hi_thread_yield();
    for (long i = (long)(intptr_t)arg; i < balls; i += 2) {
        CHECK(hi_worker_self() == self);
        CHECK_EQ(heist_latch_wait(&ball[i], HEIST_FOREVER), 0);
        CHECK(hi_worker_self() == self);
        CHECK(pthread_equal(pthread_self(), thread));
        CHECK_EQ(heist_worker_index(), index);
        heist_latch_arrive(&ball[i + 1]);
    }
    return 0;
}

TEST(a_task_is_on_its_thread_before_and_after_each_of_a_million_waits)
{
    balls = scaled(1000000);
    ball = malloc((size_t)(balls + 1) * sizeof *ball);
    CHECK(ball != NULL);
    for (unsigned workers = 1; workers <= 2; workers++) {
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers}), 0);
        apart = workers == 2;
        heist_init(&arrived[0], 0);
        heist_init(&arrived[1], 0);
        for (long i = 0; i <= balls; i++)
            heist_latch_init(&ball[i], 1);
        heist_scope s;
        heist_scope_open(&s, rt);
        heist_scope_spawn(&s, stay_who_you_are, (void *)0);
        heist_scope_spawn(&s, stay_who_you_are, (void *)1);
        heist_latch_arrive(&ball[0]);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
    free(ball);
}

/* --- errno ---------------------------------------------------------------------------- */

#define KEEPS_ERRNO(call)       \
    do {                        \
        errno = EXDEV;          \
        call;                   \
        CHECK_EQ(errno, EXDEV); \
    } while (0)

static int nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static void nothing_right(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
}

static void fork_and_join(heist_ctx c, void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        heist_ctx k = heist_fork(c, nothing_right);
        k = heist_fork(k, nothing_right);
        while (k.frame != c.frame)
            heist_done(&k);
    }
}

static int every_call(heist_ctx c, void *arg)
{
    heist_latch latch;
    heist_scope s;
    heist_stats stats;
    (void)c, (void)arg;
    KEEPS_ERRNO(heist_now());
    KEEPS_ERRNO(heist_after(5));
    KEEPS_ERRNO(heist_workers(rt));
    KEEPS_ERRNO(heist_worker_index());
    KEEPS_ERRNO(heist_stats_read(rt, 0, &stats));
    KEEPS_ERRNO(heist_stats_read(rt, 99, &stats));
    heist_latch_init(&latch, 2);
    KEEPS_ERRNO(heist_spawn(rt, nothing, NULL, &latch, HEIST_FOREVER));
    KEEPS_ERRNO(heist_latch_wait(&latch, HEIST_NOW));
    KEEPS_ERRNO(heist_latch_wait(&latch, heist_after(HEIST_MILLISECOND)));
    KEEPS_ERRNO(heist_latch_arrive(&latch));
    KEEPS_ERRNO(heist_latch_wait(&latch, HEIST_FOREVER));
    KEEPS_ERRNO(heist_scope_open(&s, rt));
    for (int i = 0; i < 20; i++) /* more than the injector holds */
        KEEPS_ERRNO(heist_scope_spawn(&s, nothing, NULL));
    KEEPS_ERRNO(heist_scope_cancel(&s));
    KEEPS_ERRNO(heist_scope_close(&s, HEIST_FOREVER));
    KEEPS_ERRNO(heist_broadcast(rt, nothing, NULL));
    KEEPS_ERRNO(heist_run(rt, fork_and_join, NULL));
    return 0;
}

static void every_call_root(heist_ctx c, void *arg)
{
    every_call(c, arg);
}

TEST(no_call_changes_errno_inside_or_outside_of_a_task)
{
    heist_config config = {
        .workers = 2, .queue_capacity = 2, .exposure = HEIST_EAGER};
    KEEPS_ERRNO(CHECK_EQ(heist_start(&rt, &config), 0));
    for (long i = scaled(50); i > 0; i--) {
        every_call((heist_ctx){NULL, NULL}, NULL);
        run_task(every_call, NULL);
        KEEPS_ERRNO(CHECK_EQ(heist_run(rt, every_call_root, NULL), 0));
    }
    KEEPS_ERRNO(CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0));
}

/* --- backtraces ------------------------------------------------------------------------ */

enum {
    TRACE_MOST = 128
};

static void trace_right(heist_ctx c, heist_frame *f)
{
    void *trace[TRACE_MOST];
    (void)c;
    f->result.i = backtrace(trace, TRACE_MOST);
}

static int trace_task(heist_ctx c, void *arg)
{
    heist_latch never;
    heist_latch_init(&never, 1);
    heist_ctx k = heist_fork(c, trace_right);
    /* What comes after a wait stands on a stack that was left and entered. */
    heist_latch_wait(&never, heist_after(HEIST_MILLISECOND));
    int64_t here = heist_done(&k)->result.i;
    void *trace[TRACE_MOST];
    *(int64_t *)arg = here + backtrace(trace, TRACE_MOST);
    return 0;
}

TEST(a_backtrace_in_a_task_ends_within_its_strand)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int i = 0; i < 10; i++) {
        int64_t depth = 0;
        run_task(trace_task, &depth);
        CHECK(depth >= 2 * 2);
        CHECK(depth <= 2 * 32);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- signals --------------------------------------------------------------------------- */

enum {
    ALT_BYTES = 64 << 10,
    HANDLER_BYTES = 2048
};

static HEIST_ATOMIC(long) signals;

static void on_profile(int number)
{
    volatile char used[HANDLER_BYTES];
    (void)number;
    for (int i = 0; i < HANDLER_BYTES; i++)
        used[i] = 1;
    heist_add_relaxed(&signals, used[0]);
}

/* Workers take no signals unless the program wants it. */
static void take_profile(void *user, unsigned worker)
{
    sigset_t set;
    (void)worker;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    stack_t alt = {.ss_sp = malloc(ALT_BYTES), .ss_size = ALT_BYTES};
    if (user) CHECK_EQ(sigaltstack(&alt, NULL), 0);
    if (!user) free(alt.ss_sp);
}

static void drop_profile(void *user, unsigned worker)
{
    stack_t alt, off = {.ss_flags = SS_DISABLE};
    (void)worker;
    if (!user) return;
    CHECK_EQ(sigaltstack(&off, &alt), 0);
    free(alt.ss_sp);
}

static int tree_task(heist_ctx c, void *arg)
{
    heist_latch both;
    heist_latch_init(&both, 1);
    CHECK_EQ(heist_spawn(rt, nothing, NULL, &both, HEIST_NOW), 0);
    CHECK_EQ(heist_latch_wait(&both, HEIST_FOREVER), 0);
    return fib(c, 16) == 987 ? 0 : *(int *)arg;
}

static void profiled(void *alternate)
{
    struct sigaction act = {.sa_handler = on_profile,
                            .sa_flags =
                                SA_RESTART | (alternate ? SA_ONSTACK : 0)};
    CHECK_EQ(sigaction(SIGPROF, &act, NULL), 0);
    heist_config config = {.workers = 3,
                           .stack_bytes = 64 << 10,
                           .on_worker_start = take_profile,
                           .on_worker_stop = drop_profile,
                           .user = alternate};
    CHECK_EQ(heist_start(&rt, &config), 0);
    heist_store_relaxed(&signals, 0);
    struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    CHECK_EQ(setitimer(ITIMER_PROF, &every, NULL), 0);
    int error = -EIO;
    while (heist_load_relaxed(&signals) < scaled(300)) {
        heist_scope s;
        heist_scope_open(&s, rt);
        for (int i = 0; i < 20; i++)
            heist_scope_spawn(&s, tree_task, &error);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
    }
    CHECK_EQ(setitimer(ITIMER_PROF, &none, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(a_profiler_s_signals_are_handled_on_the_strand_s_own_stack)
{
    profiled(NULL);
}

TEST(a_profiler_s_signals_are_handled_on_an_alternate_stack)
{
    static char yes;
    profiled(&yes);
}

/* --- the end of the stack ---------------------------------------------------------------- */

enum {
    STACK = 128 << 10,
    AT_THE_GUARD = 42,
    ELSEWHERE = 43
};

static uintptr_t stack_top;
static volatile char sink;

static void on_overflow(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    uintptr_t low = stack_top - STACK - 2 * hi_page_size();
    (void)number, (void)context;
    _exit(at >= low && at < stack_top ? AT_THE_GUARD : ELSEWHERE);
}

static void take_overflow(void *user, unsigned worker)
{
    static char alt[ALT_BYTES];
    stack_t s = {.ss_sp = alt, .ss_size = sizeof alt};
    (void)user, (void)worker;
    CHECK_EQ(sigaltstack(&s, NULL), 0);
}

__attribute__((noinline)) static int descend(int n)
{
    volatile char room[256];
    room[n % 256] = (char)n;
    if (n == 1 << 20) return 0; /* 256 MiB: it will not come to that */
    int below = descend(n + 1);
    sink = room[n % 256];
    return below + 1;
}

static int overflow(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    stack_top = (uintptr_t)__builtin_frame_address(0);
    return descend(0);
}

TEST(a_strand_that_overflows_its_stack_dies_at_the_guard)
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct sigaction act = {.sa_sigaction = on_overflow,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigaction(SIGSEGV, &act, NULL);
        heist_config config = {.workers = 1,
                               .stack_bytes = STACK,
                               .on_worker_start = take_overflow};
        CHECK_EQ(heist_start(&rt, &config), 0);
        run_task(overflow, NULL);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), AT_THE_GUARD);
}

/* --- floating-point modes ------------------------------------------------------------ */

static heist_latch upwards;
static flag rounding; /* how tasks see it that run meanwhile */

static int wait_rounding_upwards(heist_ctx c, void *arg)
{
    (void)c;
    int before = fegetround();
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    heist_latch_arrive(arg);
    CHECK_EQ(heist_latch_wait(&upwards, HEIST_FOREVER), 0);
    CHECK_EQ(fegetround(), FE_UPWARD);
    CHECK_EQ(fesetround(before), 0);
    return 0;
}

static int see_rounding(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&rounding, fegetround());
    return 0;
}

static int wait_a_moment(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch never;
    heist_latch_init(&never, 1);
    CHECK_EQ(heist_latch_wait(&never, heist_after(HEIST_MILLISECOND)),
             -ETIMEDOUT);
    return see_rounding(c, arg);
}

/* One worker, so that they run on its strands, one after the other. */
TEST(the_rounding_of_a_task_that_waits_is_its_own)
{
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    int usual = fegetround();
    heist_latch waiting, done;
    heist_latch_init(&waiting, 1);
    heist_latch_init(&done, 1);
    heist_latch_init(&upwards, 1);
    CHECK_EQ(
        heist_spawn(rt, wait_rounding_upwards, &waiting, &done, HEIST_FOREVER),
        0);
    CHECK_EQ(heist_latch_wait(&waiting, HEIST_FOREVER), 0);
    for (int i = 0; i < 20; i++) {
        run_task(i % 2 ? wait_a_moment : see_rounding, NULL);
        CHECK_EQ(heist_load_acquire(&rounding), usual);
    }
    heist_latch_arrive(&upwards);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    for (int i = 0; i < 20; i++) {
        run_task(i % 2 ? wait_a_moment : see_rounding, NULL);
        CHECK_EQ(heist_load_acquire(&rounding), usual);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void round_upwards(void *user, unsigned worker)
{
    (void)user, (void)worker;
    CHECK_EQ(fesetround(FE_UPWARD), 0);
}

TEST(the_hook_of_a_worker_chooses_its_rounding)
{
    heist_config config = {.workers = 1, .on_worker_start = round_upwards};
    CHECK_EQ(heist_start(&rt, &config), 0);
    for (int i = 0; i < 4; i++) {
        run_task(i % 2 ? wait_a_moment : see_rounding, NULL);
        CHECK_EQ(heist_load_acquire(&rounding), FE_UPWARD);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void spawn_and_see(heist_ctx c, void *unused)
{
    heist_latch seen;
    heist_latch_init(&seen, 1);
    (void)c, (void)unused;
    CHECK_EQ(heist_spawn(rt, see_rounding, NULL, &seen, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&seen, HEIST_FOREVER), 0);
}

static int keep_away(heist_ctx c, void *arg)
{
    (void)c;
    heist_latch_arrive(arg);
    while (!heist_load_acquire(&upwards.state)) /* not a wait: it keeps at it */
        sched_yield();
    return 0;
}

/* The worker is kept away, so that the guest runs its tasks itself, on the strand
 * that its first wait has left behind. */
TEST(a_guest_s_tasks_round_as_its_thread_does_by_now)
{
    static const int ways[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                               FE_TONEAREST};
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    int usual = fegetround();
    heist_latch away;
    heist_latch_init(&away, 1);
    heist_latch_init(&upwards, 1);
    CHECK_EQ(heist_spawn(rt, keep_away, &away, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&away, HEIST_FOREVER), 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        CHECK_EQ(fesetround(ways[i]), 0);
        CHECK_EQ(heist_run(rt, spawn_and_see, NULL), 0);
        CHECK_EQ(heist_load_acquire(&rounding), ways[i]);
        CHECK_EQ(fegetround(), ways[i]);
    }
    CHECK_EQ(fesetround(usual), 0);
    heist_latch_arrive(&upwards);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
