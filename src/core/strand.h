/* SPDX-License-Identifier: MIT */
#ifndef HI_STRAND_H
#define HI_STRAND_H

/*
 * A strand: one execution stack and its stack of frames.
 *
 *     base            split               cursor               committed
 *      v                v                    v                     v
 *      [ exposed frames | private frames ... | free .............. | reserve
 *
 * Frames below the split are exposed: thieves may have taken them.  Frames
 * from the split to the cursor are private.  The cursor itself is in the
 * registers of the running code; what a thief can see of it is that an open
 * frame has a function and a free slot next to the cursor has none.
 *
 * A strand never changes its worker: it is resumed by the thread that
 * suspended it.  Its memory is pooled, never unmapped, so that a late thief
 * reads stale but valid frames.
 *
 * Fields, and who touches them
 *   hot.limit, hot.line   owner, and thieves that call for work
 *   hungry                set by thieves, cleared by the owner
 *   split                 read by all; written under the lock
 *   life                  owner, read by who waits for what runs here
 *   region                owner, read by guests that look for work
 *   the rest              the owner
 */
#include "core/lock.h"
#include "platform/platform.h"
#include "queue/inbox.h"

#include <heist/fork.h>

struct hi_worker;

enum {
    /* started: it has forked, but the clock was not read yet; and long ago. */
    HI_UNTIMED = -1,
    HI_LONG_AGO = 1,
    /* Address space of one strand, and its alignment. */
    HI_STRAND_SPAN = 128 << 20,
    /* Behind the header, for the guest whose strand it is: src/core/worker.h. */
    HI_GUEST_ROOM = 1024,
    /* Of a worker's stacks, unless configured. */
    HI_STACK_BYTES = 8 << 20,
    /* At most: the guard and what lies before it are in the unit, too. */
    HI_STACK_MOST = 63 << 20,
    /* Bytes of frames usable at first where memory is counted when promised. */
    HI_STRAND_COMMIT = 64 << 10,
    /* A fresh strand looks at forks this deep and at joins this near the root,
     * but for the first joins: small regions end there. */
    HI_STEP_FIRST = 8,
    HI_REACH_FIRST = 6,
    HI_SKIP_FIRST = 8
};

/* hungry: what a thief has called for, and what he was told. */
enum {
    HI_CALLED = 1,
    HI_PUT_OFF = 2 /* heard, but not yet */
};

/* The line when the next join has to take the lock, whatever its frame. */
#define HI_LINE_RAISED ((heist_frame *)UINTPTR_MAX)

/* What is posted to a worker's inbox. */
typedef enum hi_message_kind {
    HI_MESSAGE_STRAND, /* a strand to resume */
    HI_MESSAGE_TASK    /* a task for this worker only */
} hi_message_kind;

typedef struct hi_message {
    hi_inbox_node node;
    hi_message_kind kind;
} hi_message;

typedef struct hi_strand {
    heist_strand hot;
    HEIST_ATOMIC(uint32_t) hungry;
    hi_lock lock;
    HEIST_ATOMIC(heist_frame *) split;
    HEIST_ATOMIC(uintptr_t) life; /* counts what was begun here */
    int64_t started;              /* first look of this region; 0: none yet */
    unsigned skip;                /* joins that need not look, at first */

    HEIST_ATOMIC(struct hi_worker *) worker HEIST_ALIGNED(HEIST_LINE);
    heist_frame *base;
    heist_frame *committed; /* first slot that is not usable */
    heist_frame *mark;      /* HEIST_QUANTUM: frames below are a quantum old */
    heist_frame *sifted;    /* the lowest whose ticket was kept: sift.c */
    int64_t looked;         /* last look */
    int64_t boundary;       /* HEIST_QUANTUM: the last one */
    int64_t woke;           /* last time it woke somebody */
    int64_t patience;       /* how long until it may wake the next one */
    ptrdiff_t reach;        /* line - frame at the next look */
    ptrdiff_t step;         /* limit - frame at the next look */
    unsigned nested;        /* leapfrogged frames on its stack */
    /* The guest whose region its frames are of; NULL: a task's in the pool. */
    HEIST_ATOMIC(struct hi_worker *) region;
    HEIST_ATOMIC(struct hi_strand *) outer; /* whose C stack it shares */
    hi_context context;
    void *stack; /* NULL: runs on the stack of a thread or of `outer` */
    size_t stack_bytes;
    hi_message message;
    struct hi_strand *next; /* in a list of spare strands */
    /* The last loop that was over at once: src/fork/scratch.h. */
    void (*quick_body)(void);
    size_t quick_iterations;
    unsigned quick_times;
} hi_strand;

static inline hi_strand *hi_strand_of(const heist_frame *f)
{
    /* The strand is in the middle of its unit, its frames above it. */
    return (hi_strand *)((uintptr_t)f & ~((uintptr_t)HI_STRAND_SPAN / 2 - 1));
}

/* One past the last frame a strand can ever have. */
static inline heist_frame *hi_strand_end(const hi_strand *s)
{
    return (heist_frame *)((uintptr_t)s + HI_STRAND_SPAN / 2);
}

/* The first frame. */
static inline heist_frame *hi_strand_base(const hi_strand *s)
{
    return (heist_frame *)((uintptr_t)(s + 1) + HI_GUEST_ROOM);
}

static inline hi_strand *hi_strand_from(heist_strand *s)
{
    return heist_container(s, hi_strand, hot);
}

/* stack_bytes 0: without a stack of its own.  NULL: no memory. */
hi_strand *hi_strand_create(size_t stack_bytes);
/* Back to the pool of the process. */
void hi_strand_destroy(hi_strand *s);

/* Owner.  Gives back a piece of the memory that s, a spare one, does not need until it
 * goes on; *done is 0 at first.  True: that was the last one. */
bool hi_strand_hollow(hi_strand *s, size_t *done);

/* Makes slots up to and including f usable.  False: no memory. */
bool hi_strand_grow(hi_strand *s, const heist_frame *f);

/* Ready for the next region (`fresh`) or for a stolen frame. */
void hi_strand_reset(hi_strand *s, bool fresh);

/* Whose region the frames of s are of; another one may have begun since. */
static inline struct hi_worker *hi_strand_region(const hi_strand *s)
{
    return heist_load_relaxed(&s->region); /* relaxed: after-F3 (or a look) */
}

/* Owner.  What s runs next is of g's region. */
static inline void hi_strand_enter_region(hi_strand *s, struct hi_worker *g)
{
    heist_store_relaxed(&s->region, g); /* relaxed: before-F3 */
}

/* Owner.  What runs on s from now on is another life of it. */
static inline void hi_strand_begin(hi_strand *s)
{
    uintptr_t life = heist_load_relaxed(&s->life); /* relaxed: own-field */
    heist_store_release(&s->life, life + 1); /* F7: what has ended before it. */
}

/* Owner, before the region: its first fork shall look around. */
static inline void hi_strand_look_first(hi_strand *s)
{
    heist_store_relaxed(&s->hot.limit, hi_strand_base(s)); /* relaxed: hint */
}

/* Owner, before the region: its age counts from now on, as if it had looked. */
static inline void hi_strand_time(hi_strand *s, int64_t now)
{
    s->started = s->boundary = s->looked = now;
    s->reach = HI_REACH_FIRST;
}

/* Owner, after the region, with s still quiet: as it was before. */
static inline void hi_strand_untime(hi_strand *s)
{
    s->started = s->boundary = s->looked = 0;
    s->reach = 0;
    s->skip = HI_SKIP_FIRST;
}

/*
 * Owner, with f open: has a thief called since the last answer?  And the answer:
 * what there is, is not worth sharing now.
 */
static inline bool hi_strand_is_called(const hi_strand *s, const heist_frame *f)
{
    return f >= heist_load_relaxed(&s->hot.limit); /* relaxed: hint */
}

static inline void hi_strand_answer(hi_strand *s, heist_frame *f)
{
    heist_frame *limit = f + s->step, *last = s->committed - 2;
    /* relaxed: hint */
    heist_store_relaxed(&s->hot.limit, limit < last ? limit : last);
    heist_store_relaxed(&s->hungry, 0); /* relaxed: hint */
}

/* Has it not looked around, nor has anybody called, since hi_strand_reset made it
 * ready for a region? */
static inline bool hi_strand_is_quiet(const hi_strand *s)
{
    const heist_frame *base = hi_strand_base(s);
    heist_frame *limit = heist_load_relaxed(&s->hot.limit); /* relaxed: hint */
    heist_frame *line = heist_load_relaxed(&s->hot.line);   /* relaxed: hint */
    return limit == base + HI_STEP_FIRST && line == base + HI_REACH_FIRST;
}

/* Is it as hi_strand_reset leaves it for a region, but for the joins skipped? */
static inline bool hi_strand_is_fresh(const hi_strand *s)
{
    return s->started == 0 && hi_strand_is_quiet(s);
}

/* In the child of a fork(): the pool's lock may have been held. */
void hi_strand_after_fork(void);

#endif
