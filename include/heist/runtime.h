/* SPDX-License-Identifier: MIT */
#ifndef HEIST_RUNTIME_H
#define HEIST_RUNTIME_H

#include <heist/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The runtime: a pool of workers, and the ways to give it work.
 *
 *     heist_config config = {.workers = 4};
 *     heist_runtime *rt;
 *     int rc = heist_start(&rt, &config);
 *     if (rc < 0) return rc;
 *
 *     heist_scope s;
 *     heist_scope_open(&s, rt);
 *     for (size_t i = 0; i < n; i++) heist_scope_spawn(&s, crawl, &site[i]);
 *     rc = heist_scope_close(&s, heist_after(30 * HEIST_SECOND));
 *
 *     heist_stop(rt, HEIST_FOREVER);
 *
 * Wherever a runtime is asked for, NULL means the one that the caller works in
 * (but for heist_stop), and outside of all tasks and regions the default one of the process, which
 * starts at its first use with a zeroed config (the environment variable
 * HEIST_WORKERS, if it is a number from 1 to 4096, sets its workers).
 *
 * No function of the library may be called from a handler of a signal.
 */

/* When a private frame becomes visible to thieves. */
typedef enum heist_exposure {
    HEIST_ON_DEMAND = 0, /* when a hungry worker asks (the default) */
    HEIST_QUANTUM,       /* when it has waited for a whole quantum */
    HEIST_EAGER          /* at once, at every fork */
} heist_exposure;

/* How long a worker without work looks around before it sleeps. */
typedef enum heist_idle {
    HEIST_BALANCED = 0, /* tens of microseconds (the default) */
    HEIST_ECO,          /* a glance */
    HEIST_LATENCY       /* a millisecond */
} heist_idle;

/*
 * How a runtime is to be.  Zero in any field means the default; set what you
 * need, leave the rest.
 */
typedef struct heist_config {
    unsigned workers;          /* min(affinity mask, cgroup quota); to 4096 */
    unsigned queue_capacity;   /* injector, rounded up to 2^k, at least 2; 256;
                                * to 2^30, of 16 bytes each, all written at the
                                * start */
    unsigned steal_attempts;   /* passes over all victims; 32; to 4096 */
    heist_exposure exposure;   /* HEIST_ON_DEMAND */
    heist_time quantum;        /* for HEIST_QUANTUM; 100 us */
    heist_idle idle;           /* HEIST_BALANCED */
    size_t stack_bytes;        /* of tasks; 8 MiB; 64 KiB (less is raised to it)
                                * to 63 MiB */
    uint64_t seed;             /* of the victims' choice; 0 = a fixed one */
    bool unpinned;             /* sleeping workers have no home CPU */
    heist_allocator allocator; /* of tasks, queues, workers; malloc, free; like
                                * the log it must not call the library */
    /* On the worker's thread before its first and after its last task, once all
     * threads are there: a start that fails calls none.  They have some 256 KiB of
     * stack.  To the runtime they are any foreign thread: they may spawn into
     * runtimes that they know (heist_start of this one may not have returned yet),
     * and must not wait for the workers.  Tasks run in the floating-point modes
     * that the first of them leaves behind. */
    void (*on_worker_start)(void *user, unsigned worker);
    void (*on_worker_stop)(void *user, unsigned worker);
    void (*log)(void *user, const char *message);
    void *user;            /* handed to the three hooks above */
    uintptr_t reserved[8]; /* zero */
} heist_config;

/*
 * Starts a runtime.  config may be NULL.
 *
 * From:    any thread.
 * Returns: 0; -EINVAL: a field makes no sense; -ENOMEM; -EAGAIN: the system
 *          gives no more threads.  On failure nothing is left behind.
 */
HEIST_API int heist_start(heist_runtime **out, const heist_config *config);

/*
 * Stops a runtime: takes no more work from outside, finishes what was taken
 * and what that spawns, ends the workers and frees the memory (address space is
 * kept for the next one).  NULL stops the default runtime, wherever it is called;
 * its next use starts it again.  The hooks of the workers that end are waited for
 * whatever the deadline.  A program whose main thread ends by pthread_exit stops its
 * runtimes before that: it lives as long as their workers, which take no signals.
 *
 * From:    any thread that is not inside a task of rt; one thread at a time.  No other
 *          thread begins to use rt, or NULL if it is the default runtime, while rt may
 *          be gone by this call; its scopes are closed, and its flows, before that.
 * Returns: 0: rt is gone.  -ETIMEDOUT: work or workers were still busy at the deadline
 *          (as workers are that have just been started); rt is stopping and alive,
 *          call again.  -EDEADLK: called by one of
 *          rt's own tasks.  -ENOMEM: in the child of a fork(), rt's workers could
 *          not be made again.
 */
HEIST_API int heist_stop(heist_runtime *rt, heist_time deadline);

/*
 * The number of workers; 0 if rt is NULL and no runtime can be had.
 *
 * From: any thread.
 */
HEIST_API unsigned heist_workers(heist_runtime *rt);

/*
 * What one worker has done since the start.  The counters are kept by each
 * worker on its own cache lines and may be read at any time.
 */
typedef struct heist_stats {
    uint64_t executed;  /* tasks and stolen frames run */
    uint64_t exposed;   /* frames made visible to thieves */
    uint64_t stolen;    /* frames and tasks taken from another worker */
    uint64_t failed;    /* victims found empty */
    uint64_t retries;   /* races for a victim's work that were lost */
    uint64_t injected;  /* tasks taken that came from outside */
    uint64_t parked;    /* times asleep */
    uint64_t woken;     /* others woken */
    uint64_t suspended; /* joins and waits that put their strand aside */
    uint64_t rescued;   /* frames taken from behind a long leaf, not exposed */
    uint64_t busy;      /* ns outside of the search for work and of sleep */
    uint64_t reserved[5];
} heist_stats;

/*
 * Reads the counters of worker `index`; index heist_workers(rt) is the sum
 * over all threads that took part in a heist_run from outside.
 *
 * From:    any thread.
 * Returns: 0; -EINVAL: no such worker.
 */
HEIST_API int heist_stats_read(heist_runtime *rt, unsigned index,
                               heist_stats *out);

/*
 * A latch opens when it has counted down to zero, and stays open.  It is the
 * only thing anybody waits for: a foreign thread sleeps in the kernel, a task
 * has its strand put aside while the worker goes on with other work.
 */
typedef struct heist_latch {
    HEIST_ATOMIC(uint64_t) count;
    HEIST_ATOMIC(uintptr_t) state; /* src/core/latch.c */
} heist_latch;

/*
 * Makes a latch that opens after `count` arrivals; zero: it is open.
 *
 * From: any thread, before anybody else can see it.
 */
HEIST_API void heist_latch_init(heist_latch *latch, uint64_t count);

/*
 * Counts down by one, and opens the latch at zero.
 *
 * From:   any thread.
 * Memory: the call that opens the latch does not touch it afterwards.
 * Misuse: more arrivals than the count abort in a checked build.
 */
HEIST_API void heist_latch_arrive(heist_latch *latch);

/*
 * Waits until the latch is open; with HEIST_NOW, asks whether it is.  A task that waits
 * gives its worker to others, but not from inside a region of another runtime.
 *
 * From:    any thread; a task.
 * Memory:  for a task that waits its worker needs another stack; where none can be
 *          had the worker waits as well, and runs no other task.
 * Returns: 0; -ETIMEDOUT.
 */
HEIST_API int heist_latch_wait(heist_latch *latch, heist_time deadline);

/*
 * Runs fn(c, arg) on some worker.  done, if not NULL, is told when fn has
 * returned.  A task spawned by a worker goes to that worker's own queue; one
 * from a foreign thread to the injector, and if that is full the call waits
 * for room until the deadline.  A task, or a region, that spawns into another runtime
 * is foreign there, but never waits: for it there is room always.
 *
 * From:    any thread; a task.
 * Returns: 0: it will run exactly once.  Otherwise it will not run: -EAGAIN:
 *          the injector is full and deadline is HEIST_NOW or less; -ETIMEDOUT;
 *          -ENOMEM: no memory, or the default runtime cannot be had;
 *          -ESHUTDOWN: rt is stopping.
 */
HEIST_API int heist_spawn(heist_runtime *rt, heist_task_fn *fn, void *arg,
                          heist_latch *done, heist_time deadline);

/*
 * Runs fn(c, arg) exactly once on each worker and returns when all have.
 * heist_worker_index tells fn which one it is on.
 *
 * From:    any thread; a task.
 * Returns: 0; -ENOMEM; -ESHUTDOWN.
 */
HEIST_API int heist_broadcast(heist_runtime *rt, heist_task_fn *fn, void *arg);

/*
 * The index of the worker that runs the caller, or -1 on a foreign thread
 * (one that takes part in a heist_run from outside included).
 *
 * From: any thread; a task.
 */
HEIST_API int heist_worker_index(void);

/*
 * A scope owns the tasks spawned into it: closing it waits for all of them.
 * It is a struct of the caller, usually a local variable.
 */
typedef struct heist_scope {
    heist_runtime *rt;
    heist_latch latch;                /* one for the owner, one per task */
    HEIST_ATOMIC(uint64_t) spawned;   /* order of the tasks */
    HEIST_ATOMIC(uint64_t) error;     /* first failed task and its errno */
    HEIST_ATOMIC(uint64_t) failures;  /* how many tasks failed */
    HEIST_ATOMIC(uint32_t) cancelled; /* no task starts any more */
} heist_scope;

/*
 * Opens a scope, for tasks of rt; NULL: of the caller's runtime, else of the
 * default one.  It is to be closed before that runtime is stopped.
 *
 * From: any thread; a task.
 */
HEIST_API void heist_scope_open(heist_scope *s, heist_runtime *rt);

/*
 * Runs fn(c, arg) on some worker.  When there is no memory for it it runs here and
 * now; if not even that can be, because rt is stopping or there is no memory for a
 * stack of frames, the scope's error says so.
 *
 * From:   the thread that opened s, or a task of s, before close returns.
 * Misuse: spawning into a closed scope aborts in a checked build.
 */
HEIST_API void heist_scope_spawn(heist_scope *s, heist_task_fn *fn, void *arg);

/*
 * Tasks that have not started will not run; those that have may ask.
 *
 * From: any thread, before close returns; a task of s.
 */
HEIST_API void heist_scope_cancel(heist_scope *s);
HEIST_API bool heist_scope_is_cancelled(const heist_scope *s);

/*
 * Waits for all tasks of s.  At the deadline the scope is cancelled, and what
 * has started is still waited for: nothing of s runs after this call.  What has
 * not is passed over by a worker in its turn, and waited for until then.
 *
 * From:    the thread or task that opened s.
 * Returns: the first of these that holds: the negative errno of the first
 *          spawned task that failed; -ETIMEDOUT: the deadline passed and the
 *          scope was cancelled; -ECANCELED: heist_scope_cancel was called; 0.
 */
HEIST_API int heist_scope_close(heist_scope *s, heist_time deadline);

/*
 * How many tasks of s have failed so far, or in all after close.
 *
 * From: whoever may see s.
 */
HEIST_API uint64_t heist_scope_failures(const heist_scope *s);

#ifdef __cplusplus
}
#endif

#endif
