/* SPDX-License-Identifier: MIT */
#ifndef HI_WORKER_H
#define HI_WORKER_H

/*
 * A worker: a thread that runs tasks.  The pool's workers are threads of the
 * library; a *guest* is a foreign thread while it is inside heist_run.
 *
 * Fields, and who touches them
 *   deque            owner pushes and pops, thieves steal
 *   inbox            anybody posts, owner takes
 *   strand           owner writes, thieves read
 *   parker, idle_*   src/core/sleep.c
 *   stats            owner writes, anybody reads
 *   the rest         the owner
 */
#include "core/random.h"
#include "core/strand.h"
#include "core/timer.h"
#include "queue/deque.h"
#include "queue/inbox.h"

#include <heist/runtime.h>

enum {
    HI_MEMORY_LOOK = 1000000, /* ns between looks for memory, without any */
    HI_TURN_TIME = 1000000    /* ns until what has waited has its turn */
};

typedef HEIST_ATOMIC(uint64_t) hi_counter;

typedef struct hi_stats {
    hi_counter executed, exposed, stolen, failed, retries, injected;
    hi_counter parked, woken, suspended, rescued, busy;
} hi_stats;

/* Strands for later. */
typedef struct hi_spares {
    hi_strand *warm; /* those that keep their memory, ... */
    unsigned count;  /* ... so many, */
    hi_strand *hollow;
} hi_spares;

typedef struct hi_job hi_job;
typedef struct hi_task hi_task;

typedef struct hi_worker {
    hi_deque deque;
    hi_inbox inbox HEIST_ALIGNED(HEIST_LINE);
    hi_futex parker;
    hi_counter *idle_word; /* where its idle bit is */
    uint64_t idle_bit;
    hi_counter idle_own; /* a guest's */
    int home;            /* CPU to sleep on; -1: any */
    uint32_t generation; /* of the process it is a thread of */

    /* What a guest's small region touches, on one line. */
    HEIST_ATOMIC(hi_strand *)
    strand HEIST_ALIGNED(HEIST_LINE);   /* the one that runs; NULL: none */
    HEIST_ATOMIC(heist_runtime *) seat; /* guest: where it is a victim */
    hi_strand *native;                  /* guest: the strand of its own stack */
    heist_root_fn *root;                /* guest: what it runs, ... */
    heist_root_fn *long_root;       /* ... and what took long the last time */
    hi_counter put_aside;           /* strands suspended here */
    HEIST_ATOMIC(uint32_t) visit;   /* guest: where it is, as others see it */
    HEIST_ATOMIC(uint32_t) counted; /* guest: as awake, since it looked */
    bool guest;
    bool inside;    /* guest: of heist_run */
    bool stranger;  /* guest: the thread was another worker on entering */
    bool eager;     /* guest: its first fork looks around */
    bool far;       /* guest: visited only while it may have something */
    bool finishing; /* guest: its root has ended */
    bool orphan;    /* of a process that fork()ed this one */

    heist_runtime *rt; /* NULL: none, or lost by a fork() */
    bool searching;

    struct hi_worker *before; /* guest: who the thread was on entering */
    unsigned index;           /* in the table of victims */
    uint32_t tick;    /* picks since the last turn of what has waited, ... */
    uint32_t turns;   /* ... how many of those there were, */
    int64_t turned;   /* ... and when the last one was */
    uint32_t visited; /* other workers, in such turns */
    unsigned batches; /* of the letters that lay there then, not all read */
    bool overflow;    /* whether it looked there before the injector */
    bool pinned;      /* to its home, for the time it sleeps */
    bool owes_watch;  /* put off until what it began forks: worker.c, looks */
    hi_random random;
    int64_t watch;       /* how long it keeps watch before it looks */
    unsigned watch_idle; /* watches in a row in which nobody worked */
    int64_t busy_since;  /* when it last stopped looking for work */
    int64_t waited;      /* guest: without work, since its region looked */
    heist_root_fn *lasting_root; /* guest: worth sharing early: run.c */
    unsigned doubts;             /* ... or so it seemed, but it ended soon */
    uint64_t exposed_before;     /* guest: frames, before this region */
    bool unwatched;              /* guest: nobody kept watch when it entered */
    unsigned brief_runs;       /* ... and so often in a row it was brief, ... */
    heist_root_fn *brief_root; /* ... with this root: run.c */
    hi_spares spare;           /* strands parked in the loop, to go on with */
    hi_spares bare;            /* ... without a stack, for nested regions */
    size_t buried;             /* tickets left over in the deque, at most */
    hi_inbox_node *ready;      /* taken from the inbox, not handled yet */
    hi_timers timers;          /* of strands that wait with a deadline */
    heist_allocator allocator; /* its runtime's, also when that is lost */
    hi_task *free_tasks;
    unsigned free_count;
    hi_counter announced; /* times it went to sleep */
    hi_counter mixed;     /* tasks may be behind frames in the deque */
    uint64_t modes;       /* floating-point modes of the thread */
    hi_context thread_context;
    hi_thread thread;
    struct hi_worker *next_guest; /* in the list of free guests */

    hi_stats stats HEIST_ALIGNED(HEIST_LINE);
} hi_worker;

/*
 * A guest lives beside its native strand: after an idle gap the first touch of a
 * page is what a small region waits for, and one page is enough for both.
 */
static inline hi_worker *hi_guest_of(hi_strand *native)
{
    _Static_assert(sizeof(hi_worker) <= HI_GUEST_ROOM, "a guest has room");
    return (hi_worker *)(void *)(native + 1);
}

static inline hi_strand *hi_guest_native(hi_worker *guest)
{
    return (hi_strand *)(void *)guest - 1;
}

/* What others see of a guest's visits: `visit` holds where it is, and counts up by
 * HI_VISIT for each region. */
enum {
    HI_OUTSIDE,
    HI_INSIDE,  /* of heist_run */
    HI_LEAVING, /* not inside any more, but it still touches the runtime */
    HI_VISIT = 4
};

/* Single writer: a plain increment that others may read. */
static inline void hi_count(hi_counter *c, uint64_t n)
{
    uint64_t now = heist_load_relaxed(c); /* relaxed: counter */
    heist_store_relaxed(c, now + n);      /* relaxed: counter */
}

/* Owner.  Lets thieves look at the frames of s; NULL: at none. */
static inline void hi_worker_show(hi_worker *w, hi_strand *s)
{
    heist_store_release(&w->strand, s); /* W2: its base, its split. */
}

/* Thief.  A strand whose frames may be looked at, or NULL. */
static inline hi_strand *hi_worker_shown(const hi_worker *w)
{
    return heist_load_acquire(&w->strand); /* W2: its base, its split. */
}

/* The worker that the calling thread is now: NULL on a thread that is neither
 * of a pool nor inside heist_run. */
hi_worker *hi_worker_self(void);

/* Prepares the fields that pool workers and guests share. */
int hi_worker_init(hi_worker *w, const heist_allocator *allocator);
void hi_worker_fini(hi_worker *w);
void hi_worker_free_spare(hi_worker *w);

void hi_spares_put(hi_spares *list, hi_strand *s);
/* NULL: there is none. */
hi_strand *hi_spares_take(hi_spares *list);

/* Makes its first strand, so that its thread can start. */
int hi_worker_prepare(hi_worker *w);

/* Runs fn as a parallel computation in the middle of other code of w.  0 or
 * -ENOMEM. */
int hi_worker_run(hi_worker *w, heist_root_fn *fn, void *arg);

/* After what a worker ran: ends the child of a fork() in it.  What follows, the
 * parent's thread does. */
void hi_worker_check_process(const hi_worker *w);

/* Idle: gives back the memory of spare stacks, until it is called or it is time. */
void hi_worker_tidy(hi_worker *w, int64_t until);

/* The body of a pool worker's thread. */
void hi_worker_main(void *worker);

/*
 * Puts the running strand aside and lets the worker go on with other work;
 * returns when somebody has called hi_strand_resume for it.
 */
void hi_worker_suspend(hi_worker *w, hi_strand *s);

/* Guest, at the end of its region: strands that were put aside while it helped
 * belong to this thread, and are finished before it leaves. */
void hi_worker_finish(hi_worker *g);

/* Lets a suspended strand go on.  Any thread, once per suspension. */
void hi_strand_resume(hi_strand *s);

/* Owner.  As hi_deque_push; thieves that leave frames alone find it behind some. */
int hi_worker_push_task(hi_worker *w, hi_task *t);

/* Owner.  Clears away the tickets in its deque that nobody needs. */
void hi_worker_sift(hi_worker *w);

/*
 * Is there work that a worker could take?  Tasks always count; frames only
 * while there are no more threads at work than the runtime has workers, because
 * a guest brings a thread of its own.
 */
bool hi_worker_visible_work(heist_runtime *rt);

/* More threads at work than the runtime has workers, the caller counted. */
bool hi_worker_is_crowded(heist_runtime *rt);

#endif
