/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

enum {
    STACK = 64 * 1024,
    DEEP_STACK = 8 << 20
};

/* A context with a body to run on it, which goes back home when it likes. */
typedef struct strand {
    hi_context context;
    hi_context *home;
    void (*body)(struct strand *s);
    void *stack;
    size_t stack_bytes;
    bool done;
    uintptr_t seen;
} strand;

static void go_home(strand *s)
{
    hi_context_switch(&s->context, s->home);
}

static void strand_entry(void *arg)
{
    strand *s = arg;
    s->body(s);
    s->done = true;
    go_home(s);
}

static void resume(strand *s, hi_context *home)
{
    s->home = home;
    hi_context_switch(home, &s->context);
}

static void strand_on(strand *s, void (*body)(strand *), void *stack,
                      size_t bytes)
{
    memset(s, 0, sizeof *s);
    s->body = body;
    s->stack = stack;
    s->stack_bytes = bytes;
    hi_context_make(&s->context, stack, bytes, strand_entry, s);
}

static void strand_open(strand *s, void (*body)(strand *), size_t bytes)
{
    void *stack = hi_pages_reserve(bytes);
    CHECK(stack != NULL);
    CHECK_EQ(hi_pages_commit(stack, bytes), 0);
    strand_on(s, body, stack, bytes);
}

static void strand_close(strand *s)
{
    hi_context_drop(&s->context);
    hi_pages_release(s->stack, s->stack_bytes);
}

static void run_through(strand *s)
{
    hi_context home;
    hi_context_adopt(&home);
    while (!s->done)
        resume(s, &home);
    hi_context_drop(&home);
}

/* --- entering ---------------------------------------------------------------- */

static void note_frame(strand *s)
{
    s->seen = (uintptr_t)__builtin_frame_address(0);
}

TEST(a_fresh_context_runs_on_its_own_stack)
{
    strand s;
    strand_open(&s, note_frame, STACK);
    run_through(&s);
    CHECK(s.seen >= (uintptr_t)s.stack);
    CHECK(s.seen < (uintptr_t)s.stack + STACK);
    strand_close(&s);
}

TEST(frames_are_aligned_wherever_the_stack_ends)
{
    static char memory[STACK + 64];
    for (size_t end = 0; end < 32; end++) {
        strand s;
        strand_on(&s, note_frame, memory, STACK + end);
        run_through(&s);
        CHECK_EQ(s.seen % 16, 0);
        CHECK(s.seen < (uintptr_t)memory + STACK + end);
        hi_context_drop(&s.context);
    }
}

/* Reads nothing above the stack, not even while it is entered. */
TEST(a_stack_may_end_where_memory_ends)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(STACK + page);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p, STACK), 0);
    strand s;
    strand_on(&s, note_frame, p, STACK);
    run_through(&s);
    CHECK(s.done);
    hi_context_drop(&s.context);
    hi_pages_release(p, STACK + page);
}

TEST(a_context_that_never_runs_can_be_dropped)
{
    strand s;
    strand_open(&s, note_frame, STACK);
    strand_close(&s);
    CHECK(!s.done);
}

/* --- what survives a switch ---------------------------------------------------- */

/* More values than there are registers to keep them in, all in use. */
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SEED(i)                           \
    uint64_t n##i = test_random(&random); \
    double d##i = (double)(n##i >> 12);
#define MIX(i)                                                 \
    n##i = n##i * 6364136223846793005u + 1442695040888963407u; \
    d##i = d##i * 0.5 + (double)(i + 1);
#define FOLD(i) sum = sum * 31 + n##i + (uint64_t)(d##i);

enum {
    TURNS = 1000
};

/* The same numbers, with a switch after each step or without. */
__attribute__((noinline)) static uint64_t numbers(strand *s, uint64_t random)
{
    EIGHT(SEED)
    for (int i = 0; i < TURNS; i++) {
        EIGHT(MIX)
        if (s) go_home(s);
    }
    uint64_t sum = 0;
    EIGHT(FOLD)
    return sum;
}

static void compute(strand *s)
{
    s->seen = numbers(s, (uintptr_t)s->stack);
}

TEST(registers_survive_a_switch)
{
    hi_context home;
    hi_context_adopt(&home);
    strand s[3];
    for (int i = 0; i < 3; i++)
        strand_open(&s[i], compute, STACK);
    while (!s[0].done || !s[1].done || !s[2].done)
        for (int i = 0; i < 3; i++)
            if (!s[i].done) resume(&s[i], &home);
    for (int i = 0; i < 3; i++) {
        CHECK(s[i].seen == numbers(NULL, (uintptr_t)s[i].stack));
        strand_close(&s[i]);
    }
}

/* The rounding modes: 0 nearest, 1 and 2 up and down. */
#if defined(__x86_64__)
static void set_rounding(unsigned mode)
{
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ __volatile__("stmxcsr %0" : "=m"(mxcsr));
    __asm__ __volatile__("fnstcw %0" : "=m"(x87));
    mxcsr = (mxcsr & ~(uint32_t)0x6000) | mode << 13;
    x87 = (uint16_t)((x87 & ~0x0c00u) | mode << 10);
    __asm__ __volatile__("ldmxcsr %0" ::"m"(mxcsr));
    __asm__ __volatile__("fldcw %0" ::"m"(x87));
}

static bool rounding_is(unsigned mode)
{
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ __volatile__("stmxcsr %0" : "=m"(mxcsr));
    __asm__ __volatile__("fnstcw %0" : "=m"(x87));
    return ((mxcsr >> 13) & 3) == mode && ((x87 >> 10) & 3u) == mode;
}
#else
static void set_rounding(unsigned mode)
{
    uint64_t fpcr;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~(uint64_t)0xc00000) | (uint64_t)mode << 22;
    __asm__ __volatile__("msr fpcr, %0" ::"r"(fpcr));
}

static bool rounding_is(unsigned mode)
{
    uint64_t fpcr;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(fpcr));
    return ((fpcr >> 22) & 3) == mode;
}
#endif

static void round_up(strand *s)
{
    s->seen = rounding_is(2);
    set_rounding(1);
    for (int i = 0; i < TURNS; i++) {
        go_home(s);
        CHECK(rounding_is(1));
    }
}

TEST(each_context_keeps_its_rounding_and_inherits_the_first)
{
    hi_context home;
    hi_context_adopt(&home);
    set_rounding(2);
    strand s;
    strand_open(&s, round_up, STACK);
    set_rounding(0);
    while (!s.done) {
        resume(&s, &home);
        CHECK(rounding_is(0));
    }
    CHECK(s.seen);
    strand_close(&s);
}

/* Frames that are jumped over must not leave anything behind on the stack that
 * the next ones there would trip over. */
static jmp_buf way_out;

__attribute__((noinline)) static void jump_out(int depth)
{
    volatile char here[100];
    here[depth] = (char)depth;
    if (depth > 0)
        jump_out(depth - 1);
    else if (hi_page_size()) /* always, but a compiler must not know */
        longjmp(way_out, 1);
    CHECK_EQ(here[depth], depth);
}

__attribute__((noinline)) static int fill_frame(void)
{
    char here[4000];
    memset(here, 1, sizeof here);
    return here[hi_page_size() % sizeof here];
}

static void jump_about(strand *s)
{
    if (setjmp(way_out) == 0) jump_out(20);
    CHECK_EQ(fill_frame(), 1);
    if (s) go_home(s);
    if (setjmp(way_out) == 0) jump_out(20);
    CHECK_EQ(fill_frame(), 1);
}

TEST(longjmp_works_on_every_stack)
{
    hi_context home;
    hi_context_adopt(&home);
    strand s;
    strand_open(&s, jump_about, STACK);
    while (!s.done) {
        resume(&s, &home);
        jump_about(NULL);
    }
    strand_close(&s);
}

/* --- depth and number ------------------------------------------------------------ */

/* Goes down until little of the stack is left, comes back with the depth. */
__attribute__((noinline)) static uintptr_t descend(strand *s, uintptr_t depth)
{
    volatile uintptr_t here[32];
    here[depth % 32] = depth;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (frame < (uintptr_t)s->stack + 128 * 1024) {
        go_home(s);
        return depth;
    }
    uintptr_t deepest = descend(s, depth + 1);
    CHECK(here[depth % 32] == depth);
    return deepest;
}

static void go_deep(strand *s)
{
    s->seen = descend(s, 0);
}

TEST(a_fresh_stack_can_be_used_to_its_depth)
{
    strand s;
    strand_open(&s, go_deep, DEEP_STACK);
    run_through(&s);
    CHECK(s.seen > 1000);
    strand_close(&s);
}

static void count_turns(strand *s)
{
    for (int i = 0; i < 50; i++) {
        s->seen++;
        go_home(s);
    }
}

TEST(many_contexts_take_turns)
{
    enum {
        MANY = 500
    };

    hi_context home;
    hi_context_adopt(&home);
    strand *s = calloc(MANY, sizeof *s);
    CHECK(s != NULL);
    for (int i = 0; i < MANY; i++)
        strand_open(&s[i], count_turns, STACK);
    for (int turn = 0; turn < 51; turn++)
        for (int i = 0; i < MANY; i++)
            resume(&s[i], &home);
    for (int i = 0; i < MANY; i++) {
        CHECK(s[i].done);
        CHECK_EQ(s[i].seen, 50);
        strand_close(&s[i]);
    }
    free(s);
}

/* --- stacks that are used again ----------------------------------------------------- */

/* Leaves its frame behind, red zones and all, as a strand that is dropped in
 * the middle does. */
static void stop_halfway(strand *s)
{
    volatile char here[256];
    for (size_t i = 0; i < sizeof here; i++)
        here[i] = (char)i;
    s->seen = (uintptr_t)here[17];
    go_home(s);
    s->seen = 0; /* not reached: it is dropped now */
}

TEST(a_dropped_stack_is_plain_memory_and_can_be_used_again)
{
    hi_context home;
    hi_context_adopt(&home);
    char *stack = hi_pages_reserve(STACK);
    CHECK(stack != NULL);
    CHECK_EQ(hi_pages_commit(stack, STACK), 0);
    for (int round = 0; round < 1000; round++) {
        strand s;
        strand_on(&s, stop_halfway, stack, STACK);
        resume(&s, &home);
        CHECK_EQ(s.seen, 17);
        hi_context_drop(&s.context);
        memset(stack, round, STACK);
    }
    hi_pages_release(stack, STACK);
}

/* --- threads -------------------------------------------------------------------------- */

typedef struct hop {
    strand *s;
    pthread_t thread;
} hop;

static void *resume_once(void *arg)
{
    hop *h = arg;
    hi_context home;
    hi_context_adopt(&home);
    resume(h->s, &home);
    hi_context_drop(&home);
    return NULL;
}

static void note_threads(strand *s)
{
    for (int i = 0; i < 10; i++) {
        char here[512];
        memset(here, i, sizeof here);
        go_home(s);
        for (size_t k = 0; k < sizeof here; k++)
            CHECK_EQ(here[k], i);
        s->seen++;
    }
}

TEST(a_context_can_go_on_on_another_thread)
{
    strand s;
    strand_open(&s, note_threads, STACK);
    for (int i = 0; i < 11; i++) {
        hop h = {.s = &s};
        CHECK_EQ(pthread_create(&h.thread, NULL, resume_once, &h), 0);
        pthread_join(h.thread, NULL);
    }
    CHECK(s.done);
    CHECK_EQ(s.seen, 10);
    strand_close(&s);
}

/* A context made by one goes straight to another, home is not asked. */
static strand ring[3];

static void pass_on(strand *s)
{
    strand *next = &ring[(s - ring + 1) % 3];
    for (int i = 0; i < 100; i++) {
        s->seen++;
        next->home = s->home;
        if (i == 99 && next == &ring[0]) break;
        hi_context_switch(&s->context, &next->context);
    }
}

TEST(contexts_switch_to_each_other_and_the_last_comes_home)
{
    hi_context home;
    hi_context_adopt(&home);
    for (int i = 0; i < 3; i++)
        strand_open(&ring[i], pass_on, STACK);
    resume(&ring[0], &home);
    CHECK(ring[2].done);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(ring[i].seen, 100);
        strand_close(&ring[i]);
    }
}

/* --- for debuggers and misuse ---------------------------------------------------------- */

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *u, void *arg)
{
    (void)u;
    int *frames = arg;
    return ++*frames > 100 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static void look_back(strand *s)
{
    int frames = 0;
    CHECK_EQ(_Unwind_Backtrace(count_frame, &frames), _URC_END_OF_STACK);
    CHECK(frames >= 3); /* here, the entry, the start */
    CHECK(frames <= 6);
    s->seen = 1;
}

TEST(a_backtrace_ends_at_the_start_of_the_context)
{
    strand s;
    strand_open(&s, look_back, STACK);
    run_through(&s);
    CHECK_EQ(s.seen, 1);
    strand_close(&s);
}

static void return_at_once(void *arg)
{
    (void)arg;
}

TEST(an_entry_that_returns_is_misuse_and_dies)
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        static char stack[STACK];
        hi_context home, c;
        hi_context_adopt(&home);
        hi_context_make(&c, stack, sizeof stack, return_at_once, NULL);
        hi_context_switch(&home, &c);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
