/* SPDX-License-Identifier: MIT
 *
 * context.c: stacks that take turns on a thread.
 *
 * The switch itself is assembly (switch_*.S).  Around it, the tools that keep
 * a picture of the stack are told that it changes: without that ASan takes a
 * good stack for a bad one, TSan mixes up who called whom, and valgrind sees
 * every switch as one huge allocation.
 *
 * A switch returns, on the other side, the context it came from.  That one
 * may still be written to here: whoever resumes it learns of it from the code
 * after this switch, not before.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#ifndef __has_feature
#    define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#    define ASAN 1
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#else
#    define ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#    define TSAN 1
#    include <sanitizer/tsan_interface.h>
#else
#    define TSAN 0
#endif

#if __has_include(<valgrind/valgrind.h>)
#    include <valgrind/valgrind.h>
#else
#    define VALGRIND_STACK_REGISTER(low, high) 0u
#    define VALGRIND_STACK_DEREGISTER(id)      ((void)(id))
#endif

_Static_assert(offsetof(hi_context, sp) == 0, "switch_*.S finds sp first");

hi_context *hi_switch(hi_context *from, hi_context *to);
void *hi_switch_make(void *top, void (*entry)(void *arg), void *arg);
_Noreturn void hi_context_begin(void (*entry)(void *arg), void *arg,
                                hi_context *from);

/* Code that runs while a tool's picture is half changed stays out of it: TSan
 * would see a function entered in one context and left in another. */
#define UNWATCHED __attribute__((no_sanitize("address"), no_sanitize("thread")))
#define NOINLINE  __attribute__((noinline))
#define INLINE    static inline __attribute__((always_inline))

/* --- what the tools are told ---------------------------------------------- */

#if ASAN
/*
 * The bounds of the thread's own stack, which its context learns when it is
 * first left.  Out of line: a strand may arrive on another thread than it
 * left, and must not bring the address of this along.
 */
static __thread struct {
    const void *low;
    size_t bytes;
} own_stack;

UNWATCHED NOINLINE static void own_stack_is(const void *low, size_t bytes)
{
    own_stack.low = low;
    own_stack.bytes = bytes;
    __asm__ __volatile__("" ::: "memory");
}

UNWATCHED NOINLINE static void leave(hi_context *from, const hi_context *to)
{
    const void *low = to->stack ? to->stack : own_stack.low;
    size_t bytes = to->stack ? to->stack_bytes : own_stack.bytes;
    __sanitizer_start_switch_fiber(&from->asan_fake, low, bytes);
}

UNWATCHED NOINLINE static void arrive(void *fake, hi_context *from)
{
    const void *low;
    size_t bytes;
    __sanitizer_finish_switch_fiber(fake, &low, &bytes);
    if (!from->stack) own_stack_is(low, bytes);
}

/*
 * Only the running context can free its fake stack, so this one pretends to be
 * the dropped one for a moment, and learns its own bounds on the way.
 */
UNWATCHED NOINLINE static void free_fake_stack(void *fake)
{
    void *own;
    const void *low;
    size_t bytes;
    __sanitizer_start_switch_fiber(&own, NULL, 0);
    __sanitizer_finish_switch_fiber(fake, &low, &bytes);
    __sanitizer_start_switch_fiber(NULL, low, bytes);
    __sanitizer_finish_switch_fiber(own, NULL, NULL);
}

static inline void watch(hi_context *c)
{
    ASAN_UNPOISON_MEMORY_REGION(c->stack, c->stack_bytes);
}

/* Frames that never returned leave their red zones behind. */
static inline void unwatch(hi_context *c)
{
    if (c->asan_fake) free_fake_stack(c->asan_fake);
    ASAN_UNPOISON_MEMORY_REGION(c->stack, c->stack_bytes);
}

static inline void watch_thread(hi_context *c)
{
    (void)c;
}

#elif TSAN
/*
 * By default TSan takes every switch for an edge from one context to the other.
 * With HEIST_TSAN_NO_SYNC a switch is none, and what remains is what the thread
 * does: its contexts run one after another, which a token of the thread tells.
 */
#    ifdef HEIST_TSAN_NO_SYNC
static __thread char turn;

/* Out of line: a guest's spare strand may arrive on another thread than it
 * left, and must not bring the address of this along. */
UNWATCHED NOINLINE static void turn_ends(void)
{
    __asm__ __volatile__("" ::: "memory");
    __tsan_release(&turn);
}

UNWATCHED NOINLINE static void turn_begins(void)
{
    __asm__ __volatile__("" ::: "memory");
    __tsan_acquire(&turn);
}

UNWATCHED INLINE void leave(hi_context *from, const hi_context *to)
{
    (void)from;
    turn_ends();
    __tsan_switch_to_fiber(to->tsan_fiber, __tsan_switch_to_fiber_no_sync);
}

UNWATCHED INLINE void arrive(void *fake, hi_context *from)
{
    (void)fake, (void)from;
    turn_begins();
}
#    else
UNWATCHED INLINE void leave(hi_context *from, const hi_context *to)
{
    (void)from;
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
}

UNWATCHED INLINE void arrive(void *fake, hi_context *from)
{
    (void)fake, (void)from;
}
#    endif

static inline void watch(hi_context *c)
{
    c->tsan_fiber = __tsan_create_fiber(0);
}

static inline void unwatch(hi_context *c)
{
    __tsan_destroy_fiber(c->tsan_fiber);
}

static inline void watch_thread(hi_context *c)
{
    c->tsan_fiber = __tsan_get_current_fiber();
}

#else
UNWATCHED INLINE void leave(hi_context *from, const hi_context *to)
{
    (void)from, (void)to;
}

UNWATCHED INLINE void arrive(void *fake, hi_context *from)
{
    (void)fake, (void)from;
}

static inline void watch(hi_context *c)
{
    c->valgrind_id = VALGRIND_STACK_REGISTER(c->stack, (char *)c->stack +
                                                           c->stack_bytes - 1);
}

static inline void unwatch(hi_context *c)
{
    VALGRIND_STACK_DEREGISTER(c->valgrind_id);
}

static inline void watch_thread(hi_context *c)
{
    (void)c;
}
#endif

/* --- the interface ---------------------------------------------------------- */

void hi_context_make(hi_context *c, void *stack, size_t stack_bytes,
                     void (*entry)(void *arg), void *arg)
{
    *c = (hi_context){.stack = stack, .stack_bytes = stack_bytes};
    watch(c);
    c->sp = hi_switch_make((char *)stack + stack_bytes, entry, arg);
}

void hi_context_adopt(hi_context *c)
{
    *c = (hi_context){0};
    watch_thread(c);
}

void hi_context_drop(hi_context *c)
{
    if (c->stack) unwatch(c);
    *c = (hi_context){0};
}

UNWATCHED NOINLINE void hi_context_switch(hi_context *from, hi_context *to)
{
    leave(from, to);
    hi_context *came_from = hi_switch(from, to);
    arrive(from->asan_fake, came_from);
}

/* The first C function on a fresh stack; only switch_*.S calls it. */
UNWATCHED NOINLINE __attribute__((used)) _Noreturn void
hi_context_begin(void (*entry)(void *arg), void *arg, hi_context *from)
{
    arrive(NULL, from);
    entry(arg);
    hi_die(__FILE__, __LINE__, "the entry of a context returned");
}
