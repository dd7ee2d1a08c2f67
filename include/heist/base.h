/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BASE_H
#define HEIST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heist/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What every other header needs: visibility, time, the context.
 *
 * Errors.  A function that can fail returns int: zero or a count when it
 * worked, a negative errno value when it did not.  errno itself is neither
 * read nor set.  Pointers are not NULL where nothing is said of it.
 *
 *     heist_time soon = heist_after(30 * HEIST_SECOND);
 */
#define HEIST_VERSION_MAJOR 0
#define HEIST_VERSION_MINOR 1
#define HEIST_VERSION_PATCH 0

#define HEIST_API __attribute__((visibility("default")))

/* The fast path must be inlined before the compiler weighs recursion. */
#define HEIST_INLINE static inline __attribute__((always_inline))

#define HEIST_LIKELY(x)   __builtin_expect(!!(x), 1)
#define HEIST_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Bytes that two workers must not share; two lines, for the prefetcher. */
#define HEIST_LINE 128

/*
 * Absolute monotonic time in nanoseconds.  A call that waits for
 * others takes a deadline last; heist_run, heist_broadcast and joins wait for
 * work, not for time.
 */
typedef int64_t heist_time;

#define HEIST_NOW         INT64_C(0) /* do not wait: try */
#define HEIST_FOREVER     INT64_MAX
#define HEIST_MICROSECOND INT64_C(1000)
#define HEIST_MILLISECOND INT64_C(1000000)
#define HEIST_SECOND      INT64_C(1000000000)

/*
 * The time now.
 *
 * From: any thread.
 */
HEIST_API heist_time heist_now(void);

/*
 * The deadline `delay` nanoseconds from now; HEIST_FOREVER when that is beyond
 * the end of time, now when delay is negative.
 *
 * From: any thread.
 */
HEIST_API heist_time heist_after(heist_time delay);

typedef struct heist_runtime heist_runtime;
typedef struct heist_strand heist_strand;
typedef struct heist_frame heist_frame;

/*
 * Where a parallel function stands: the strand it runs on and the next free
 * slot of that strand's frame stack.  Two registers, always passed by value.
 */
typedef struct heist_ctx {
    heist_strand *strand;
    heist_frame *frame;
} heist_ctx;

/* Where the library's own memory comes from; both or neither are set. */
typedef struct heist_allocator {
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *p, size_t bytes);
    void *user;
} heist_allocator;

/* A task's function.  Zero or a negative errno; only scopes look at it. */
typedef int heist_task_fn(heist_ctx c, void *arg);

#define heist_container(ptr, type, member) \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif

#endif
