/* SPDX-License-Identifier: MIT */
#ifndef HI_PLATFORM_H
#define HI_PLATFORM_H

/*
 * The machine, as the rest of the library sees it.  Porting heist means
 * implementing this header; checking it means replacing it.
 */
#include <heist/base.h>

/* What a small region runs: kept side by side, because after an idle gap each
 * page and line of it must be fetched again. */
#define HI_HOT __attribute__((hot))

/* --- time ------------------------------------------------------------- */

/* Monotonic nanoseconds; never zero or negative. */
int64_t hi_clock(void);

/* Nanoseconds to within a factor of two, from an unknown start; on several CPUs
 * they may differ.  Half the price of hi_clock: to tell short from long. */
static inline uint64_t hi_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc() / 2; /* 2 to 5 per nanosecond */
#else
    uint64_t now, each;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(now));
    __asm__("mrs %0, cntfrq_el0" : "=r"(each));
    return now * (UINT64_C(1000000000) / (each ? each : 1));
#endif
}

/* --- futex ------------------------------------------------------------ */

typedef HEIST_ATOMIC(uint32_t) hi_futex;

/*
 * Sleeps while *f == expected, until woken or until the absolute deadline
 * (HEIST_FOREVER: none).  May return for no reason: callers loop.
 * Returns -ETIMEDOUT when the deadline has passed, else 0.
 */
int hi_futex_wait(hi_futex *f, uint32_t expected, int64_t deadline);

/* Wakes up to n sleepers.  f may be dead memory by now. */
void hi_futex_wake(hi_futex *f, int n);

/* --- processor -------------------------------------------------------- */

/* One turn of a spin loop. */
void hi_cpu_relax(void);

/* The CPU the caller is on, now; -1 if unknown. */
int hi_cpu_current(void);

/* True if hi_barrier_all works here.  Registers with the kernel once. */
bool hi_barrier_init(void);

/* Every running thread of this process passes a full fence before it returns.
 * Only when hi_barrier_init said so. */
void hi_barrier_all(void);

/* --- cpus ------------------------------------------------------------- */

typedef struct hi_cpus {
    unsigned online;      /* CPUs of the machine */
    unsigned mask;        /* CPUs of the affinity mask */
    unsigned quota;       /* floor of the tightest cgroup quota; 0 = none */
    double quota_exact;   /* the same, not rounded */
    char quota_from[256]; /* the file that said so */
    unsigned workers;     /* min(mask, quota), at least 1 */
} hi_cpus;

/*
 * Reads the limits.  root is "" in life; tests give a directory that holds
 * proc/self/{cgroup,mountinfo} and sys/fs/cgroup/... fixture trees.
 */
void hi_cpus_read(hi_cpus *out, const char *root);

/* How many threads all processes of our control groups may have together. */
typedef struct hi_pids {
    uint64_t most;  /* the smallest pids.max, at least 1; 0 = none */
    char from[256]; /* the file that said so */
} hi_pids;

/* root is that of hi_cpus_read. */
void hi_pids_read(hi_pids *out, const char *root);

/* The id of the i-th CPU (mod count) of the affinity mask; -1 if unknown. */
int hi_cpus_nth(unsigned i);

/* Lets the calling thread run on that CPU only; back to all it had before. */
void hi_cpu_pin(int cpu);
void hi_cpu_unpin(void);

/* --- threads ---------------------------------------------------------- */

typedef struct hi_thread {
    uintptr_t handle;
} hi_thread;

/* Returns 0, -EAGAIN or -ENOMEM.  All signals are blocked in the new thread
 * but the synchronous ones. */
int hi_thread_start(hi_thread *t, void (*fn)(void *arg), void *arg,
                    const char *name, size_t stack_bytes);
void hi_thread_join(hi_thread t);
void hi_thread_yield(void);

/*
 * One pointer per thread: the worker the thread is.  Out of line and opaque,
 * so that no compiler keeps its address across a switch of strands.
 */
void *hi_self_get(void);
void hi_self_set(void *self);

/* What belongs to a thread but goes with the code that runs: errno, and in C++ the
 * exceptions that are being handled.  For code that switches strands, so out of
 * line as well; after take none are. */
typedef struct hi_thread_state {
    int error;
    unsigned uncaught;
    void *caught;
} hi_thread_state;

void hi_thread_state_take(hi_thread_state *s);
void hi_thread_state_put(const hi_thread_state *s);

/* Rounding, traps and the like, of the code that calls. */
uint64_t hi_float_modes(void);
void hi_float_modes_set(uint64_t modes);

/* fn(arg) runs when a thread that called this ends.  One fn per process. */
void hi_thread_at_exit(void (*fn)(void *arg), void *arg);

/* child() runs in the child of a fork(), in its only thread. */
typedef struct hi_at_fork {
    void (*child)(void);
    hi_futex told;
} hi_at_fork;

/* Once it has returned 0 it is done at each fork() that begins later.  Threads that
 * are first together may have it done twice.  -ENOMEM. */
int hi_watch_forks(hi_at_fork *what);

/* --- pages ------------------------------------------------------------ */

size_t hi_page_size(void);

/* Address space without memory; NULL when there is none. */
void *hi_pages_reserve(size_t bytes);

/* Makes part of a reservation usable, lazily committed.  0 or -ENOMEM. */
int hi_pages_commit(void *p, size_t bytes);

/* Makes committed pages fault, if possible without splitting the mapping.
 * 0 or -ENOMEM. */
int hi_pages_guard(void *p, size_t bytes);

/* Gives the memory back, keeps the address space usable (reads as zero). */
void hi_pages_discard(void *p, size_t bytes);
void hi_pages_release(void *p, size_t bytes);

/* Allocated memory hangs on these pages: a leak checker shall look there. */
void hi_pages_hold(const void *p, size_t bytes);

/* Memory that will all be used, in large pages if possible; NULL when there is
 * none. */
void *hi_pages_large(size_t bytes);

/* --- context switch (switch_*.S) --------------------------------------- */

/* What a stack needs to be resumed, and what the sanitizers know of it. */
typedef struct hi_context {
    void *sp;
    void *stack; /* lowest usable address; NULL: a thread's own stack */
    size_t stack_bytes;
    void *asan_fake;
    void *tsan_fiber;
    unsigned valgrind_id;
} hi_context;

/* Makes a context that, when switched to, calls entry(arg); entry does not
 * return. */
void hi_context_make(hi_context *c, void *stack, size_t stack_bytes,
                     void (*entry)(void *arg), void *arg);

/* The calling thread's own stack as a context, to switch away from. */
void hi_context_adopt(hi_context *c);

/* Forgets a context that will not run again. */
void hi_context_drop(hi_context *c);

/* Saves the caller in from, goes on in to. */
void hi_context_switch(hi_context *from, hi_context *to);

/* --- last words --------------------------------------------------------- */

/* Prints the message to stderr and aborts. */
_Noreturn void hi_die(const char *file, int line, const char *message);

/* In checked builds: the Misuse: line of a header comment. */
#ifdef HEIST_CHECKED
#    define hi_check(ok, misuse) \
        ((ok) ? (void)0 : hi_die(__FILE__, __LINE__, misuse))
#else
#    define hi_check(ok, misuse) ((void)sizeof(ok))
#endif

#endif
