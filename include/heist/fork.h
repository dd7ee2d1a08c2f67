/* SPDX-License-Identifier: MIT */
#ifndef HEIST_FORK_H
#define HEIST_FORK_H

#include <heist/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fork and join.
 *
 * A fork leaves the right half of a computation in a slot of the strand's
 * frame stack and goes on with the left half.  The join that follows says
 * whether the right half is still ours: if so, the caller simply calls it, a
 * plain C call that the compiler may inline; if not, a thief has done it and
 * left the result in the slot.
 *
 *     static inline long fib(heist_ctx c, long n);
 *
 *     static void fib_right(heist_ctx c, heist_frame *f)
 *     {
 *         f->result.i = fib(c, f->arg[0].i);
 *     }
 *
 *     static inline long fib(heist_ctx c, long n)
 *     {
 *         if (n < 2) return n;
 *         heist_frame *right = heist_slot(c);
 *         right->arg[0].i = n - 2;
 *         long left = fib(heist_fork(c, fib_right), n - 1);
 *         if (heist_join(c)) return left + fib(c, n - 2);
 *         return left + right->result.i;
 *     }
 *
 * Rules.  Every fork is joined, in reverse order, by the function that made
 * it, before that function returns.  Between fork and join the left half gets
 * the context that heist_fork returned.  `inline` on a recursive function
 * tells gcc to unroll it through the fork, as it does with serial code.
 */

/* One word of argument or result. */
typedef union heist_word {
    int64_t i;
    uint64_t u;
    double d;
    void *p;
    const void *cp;
    void (*fn)(heist_ctx c, heist_frame *f); /* the library's */
} heist_word;

/* The right half: reads f->arg, leaves its result in f->result. */
typedef void heist_frame_fn(heist_ctx c, heist_frame *f);

/*
 * One fork: a cache line of the frame stack.  Five words of arguments and one
 * of result; what does not fit goes into a struct of yours that arg points to.
 * A result of several words may overwrite arg.
 */
struct heist_frame {
    HEIST_ATOMIC(heist_frame_fn *) fn; /* not NULL between fork and join */
    HEIST_ATOMIC(uintptr_t) state;     /* src/core/frame.h */
    heist_word arg[5];
    heist_word result;
} HEIST_ALIGNED(64);

/*
 * The part of a strand that the fast path reads.  Owner and thieves write it,
 * both rarely.  The rest of the strand is in src/core/strand.h.
 */
struct heist_strand {
    HEIST_ATOMIC(heist_frame *) limit; /* a fork at or above it looks around */
    HEIST_ATOMIC(heist_frame *) line;  /* a join below it looks around */
};

/* The fast path's other half: exposure, theft, waiting.  src/fork/fork.c. */
HEIST_API heist_frame *heist_fork_slow(heist_strand *s, heist_frame *f);
HEIST_API bool heist_join_slow(heist_strand *s, heist_frame *f);

/*
 * The slot of the next fork from c.  Fill in its arguments, then fork.
 *
 * From: a parallel function, with its own context.
 */
HEIST_INLINE heist_frame *heist_slot(heist_ctx c)
{
    return c.frame;
}

/*
 * Offers fn and the arguments in c's slot to the other workers, and returns
 * the context for the left half.
 *
 * From:   a parallel function, with its own context.
 * Memory: the slot is the library's until the join; arguments are not changed.
 *         The frame stack grows; a million open forks on one strand are
 *         reported and end the program, as a stack overflow would.
 */
HEIST_INLINE heist_ctx heist_fork(heist_ctx c, heist_frame_fn *fn)
{
    heist_ctx left = {c.strand, c.frame + 1};
    /* F1: arguments, then the function that says they are there. */
    heist_store_release(&c.frame->fn, fn);
    /* relaxed: hint (a thief's call for work may be seen one fork later). */
    if (HEIST_UNLIKELY(c.frame >= heist_load_relaxed(&c.strand->limit)))
        left.frame = heist_fork_slow(c.strand, c.frame);
    return left;
}

/*
 * Ends the newest open fork.  True: nobody took it, the caller runs the right
 * half itself, with c.  False: it is done, and the slot holds its result.
 *
 * From:   the function that forked, with the context it forked with.
 * Misuse: joining out of order is not noticed.
 */
HEIST_INLINE bool heist_join(heist_ctx c)
{
    heist_frame_fn *none = NULL;
    /* F2: first close the frame, then see whether a thief was faster. */
    heist_store_relaxed(&c.frame->fn, none);
    /* F2: in this order.  kept: compilers are not checked by the checker but by
     * tools/check-assembly. */
    heist_fence_compiler();
    /* F2: the line is above every frame that somebody took. */
    if (HEIST_UNLIKELY(c.frame < heist_load_relaxed(&c.strand->line)))
        return heist_join_slow(c.strand, c.frame);
    return true;
}

/*
 * Steps back to the newest open fork of several and ends it: joins it, and if
 * nobody took it runs its function here, with a copy of the frame, so that either
 * way the slot holds the result.
 *
 *     heist_ctx k = c;
 *     for (int i = 0; i < n; i++) {
 *         heist_slot(k)->arg[0].i = i;
 *         k = heist_fork(k, visit);
 *     }
 *     while (k.frame != c.frame) sum += heist_done(&k)->result.i;
 *
 * From:   the function that forked.
 * Memory: the slot's words are valid until the next fork from k.
 */
HEIST_INLINE heist_frame *heist_done(heist_ctx *k)
{
    heist_frame *f = --k->frame;
    /* relaxed: own-field */
    heist_frame_fn *fn = heist_load_relaxed(&f->fn);
    if (HEIST_LIKELY(heist_join(*k))) {
        heist_frame copy; /* the slot is free for what fn forks */
        for (int i = 0; i < 5; i++)
            copy.arg[i] = f->arg[i];
        fn(*k, &copy);
        for (int i = 0; i < 5; i++)
            f->arg[i] = copy.arg[i];
        f->result = copy.result;
    }
    return f;
}

/* The root of a parallel computation. */
typedef void heist_root_fn(heist_ctx c, void *arg);

/*
 * Runs fn(c, arg) with a context in which it may fork, and returns when it has
 * returned.  The calling thread takes part as a worker; the others join in
 * when the work is worth waking them.  NULL is the runtime that the caller
 * works in, else the default one, started at the first call.
 *
 * While the thread waits it helps with this region and runs tasks that it has
 * spawned itself, and the call returns when those it began have ended, too: what
 * they wait for must not be what the caller does afterwards.  When fn has returned
 * it begins only tasks with a scope or a latch.
 *
 * 1,024 threads that are not the library's can work in a runtime, until they end.
 * For one more, or one for which there is no memory, fn runs on a worker and a
 * worker's stack.
 *
 * From:    any thread; inside a task too.
 * Returns: 0; when no runtime can be had the work was done all the same, here,
 *          serially.  -ESHUTDOWN: rt is stopping; -ENOMEM: there is not even a
 *          stack of frames; nothing was done.
 */
HEIST_API int heist_run(heist_runtime *rt, heist_root_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
