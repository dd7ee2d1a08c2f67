/* SPDX-License-Identifier: MIT */
#ifndef HEIST_FAULT_H
#define HEIST_FAULT_H

/*
 * Faults on order.
 *
 *     for (long n = 1;; n++) {
 *         fault_arm(FAULT_HEAP | FAULT_MAP, n, FAULT_ONCE);
 *         int rc = heist_start(&rt, &config);
 *         if (!fault_disarm()) break;     the n-th call was never made
 *         ...
 *     }
 *
 * The calls into the C library that this file stands in front of are known to
 * the linker by the list in each program: cmake/tests.cmake looks for the names
 * there.  What is not armed passes through and is counted, so that a test sees
 * what was left behind.
 */
#include "core/strand.h"
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>

enum {
    FAULT_HEAP = 1,    /* malloc, calloc, aligned_alloc */
    FAULT_MAP = 2,     /* mmap */
    FAULT_COMMIT = 4,  /* mprotect */
    FAULT_ADVICE = 8,  /* madvise */
    FAULT_THREAD = 16, /* pthread_create */
    FAULT_HOOK = 32,   /* the allocator in fault_allocator */
    FAULT_WHOLE = 64,  /* mprotect of a whole strand: where promises count */
    FAULT_MEMORY = FAULT_HEAP | FAULT_MAP | FAULT_COMMIT | FAULT_HOOK
};

typedef enum fault_how {
    FAULT_ONCE,   /* the n-th call */
    FAULT_EVER_ON /* the n-th and all later ones */
} fault_how;

static struct {
    HEIST_ATOMIC(unsigned) kinds; /* what may fail now */
    HEIST_ATOMIC(long) first;
    HEIST_ATOMIC(long) last;
    HEIST_ATOMIC(long) calls; /* of these kinds since they were armed */
    HEIST_ATOMIC(long) hits;
    HEIST_ATOMIC(int) thread_error;
    /* What has been had and not been given back. */
    HEIST_ATOMIC(long) blocks;
    HEIST_ATOMIC(long) mapped;
    HEIST_ATOMIC(long) threads;
    HEIST_ATOMIC(long) hook_blocks;
} fault;

static inline void fault_arm(unsigned kinds, long n, fault_how how)
{
    heist_store_relaxed(&fault.calls, 0);
    heist_store_relaxed(&fault.hits, 0);
    heist_store_relaxed(&fault.first, n);
    heist_store_relaxed(&fault.last, how == FAULT_ONCE ? n : INT64_MAX);
    heist_store_release(&fault.kinds, kinds);
}

/* How many calls have failed. */
static inline long fault_disarm(void)
{
    heist_store_release(&fault.kinds, 0u);
    return heist_load_acquire(&fault.hits);
}

static inline bool fault_strikes(unsigned kind)
{
    if (!(heist_load_acquire(&fault.kinds) & kind)) return false;
    long n = heist_add_relaxed(&fault.calls, 1) + 1;
    if (n < heist_load_relaxed(&fault.first)) return false;
    if (n > heist_load_relaxed(&fault.last)) return false;
    heist_add_acq_rel(&fault.hits, 1);
    return true;
}

/* --- the stand-ins ---------------------------------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *p);
void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t o);
int __real_munmap(void *p, size_t bytes);
int __real_mprotect(void *p, size_t bytes, int prot);
int __real_madvise(void *p, size_t bytes, int advice);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr,
                          void *(*fn)(void *arg), void *arg);
int __real_pthread_join(pthread_t id, void **result);

static inline void *fault_block(void *p)
{
    if (p) heist_add_relaxed(&fault.blocks, 1);
    return p;
}

static inline int fault_errno(int error)
{
    errno = error;
    return -1;
}

void *__wrap_malloc(size_t bytes)
{
    if (!fault_strikes(FAULT_HEAP)) return fault_block(__real_malloc(bytes));
    errno = ENOMEM;
    return NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    if (!fault_strikes(FAULT_HEAP)) return fault_block(__real_calloc(n, bytes));
    errno = ENOMEM;
    return NULL;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    if (!fault_strikes(FAULT_HEAP))
        return fault_block(__real_aligned_alloc(align, bytes));
    errno = ENOMEM;
    return NULL;
}

void __wrap_free(void *p)
{
    if (p) heist_sub_relaxed(&fault.blocks, 1);
    __real_free(p);
}

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t o)
{
    if (fault_strikes(FAULT_MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *p = __real_mmap(at, bytes, prot, flags, fd, o);
    if (p != MAP_FAILED) heist_add_relaxed(&fault.mapped, (long)bytes);
    return p;
}

int __wrap_munmap(void *p, size_t bytes)
{
    int rc = __real_munmap(p, bytes);
    if (rc == 0) heist_sub_relaxed(&fault.mapped, (long)bytes);
    return rc;
}

int __wrap_mprotect(void *p, size_t bytes, int prot)
{
    if (fault_strikes(FAULT_COMMIT)) return fault_errno(ENOMEM);
    if (bytes == HI_STRAND_SPAN && fault_strikes(FAULT_WHOLE))
        return fault_errno(ENOMEM);
    return __real_mprotect(p, bytes, prot);
}

int __wrap_madvise(void *p, size_t bytes, int advice)
{
    if (fault_strikes(FAULT_ADVICE)) return fault_errno(EINVAL);
    return __real_madvise(p, bytes, advice);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
                          void *(*fn)(void *arg), void *arg)
{
    if (fault_strikes(FAULT_THREAD)) {
        int error = heist_load_relaxed(&fault.thread_error);
        return error ? error : EAGAIN;
    }
    heist_add_relaxed(&fault.threads, 1); /* before it can count itself */
    int rc = __real_pthread_create(id, attr, fn, arg);
    if (rc) heist_sub_relaxed(&fault.threads, 1);
    return rc;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
    int rc = __real_pthread_join(id, result);
    if (rc == 0) heist_sub_relaxed(&fault.threads, 1);
    return rc;
}

/* --- an allocator that fails, and is particular about what it gets back ------- */

typedef struct fault_note {
    size_t bytes;
    void *whole;
} fault_note;

static void *fault_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (fault_strikes(FAULT_HOOK)) return NULL;
    if (align < sizeof(fault_note)) align = sizeof(fault_note);
    size_t whole_bytes = (bytes + 2 * align - 1) & ~(align - 1);
    char *whole = __real_aligned_alloc(align, whole_bytes);
    CHECK(whole != NULL);
    char *p = whole + align;
    memset(p, 0xa5, bytes); /* nobody promised zeroes */
    ((fault_note *)(void *)p)[-1] = (fault_note){bytes, whole};
    heist_add_relaxed(&fault.hook_blocks, 1);
    return p;
}

static void fault_free(void *user, void *p, size_t bytes)
{
    (void)user;
    fault_note *note = (fault_note *)p - 1;
    CHECK_EQ(bytes, note->bytes);
    memset(p, 0xdd, bytes); /* who still reads it, notices */
    note->bytes = SIZE_MAX;
    heist_sub_relaxed(&fault.hook_blocks, 1);
    __real_free(note->whole);
}

static const heist_allocator fault_allocator = {fault_alloc, fault_free, NULL};

/* --- what is there and what is not -------------------------------------------- */

typedef struct fault_tally {
    long blocks, threads, hook_blocks;
} fault_tally;

static inline fault_tally fault_count(void)
{
    return (fault_tally){heist_load_acquire(&fault.blocks),
                         heist_load_acquire(&fault.threads),
                         heist_load_acquire(&fault.hook_blocks)};
}

static inline void fault_check_nothing_left(fault_tally before)
{
    fault_tally now = fault_count();
    CHECK_EQ(now.blocks, before.blocks);
    CHECK_EQ(now.threads, before.threads);
    CHECK_EQ(now.hook_blocks, before.hook_blocks);
}

/*
 * The process keeps the strands that it has once had.  Takes all of that kind
 * out of the pool, and what is left of its address space, so that the next one
 * has to be asked of the system.
 */
static inline hi_strand *fault_drain(size_t stack_bytes)
{
    hi_strand *all = NULL, *s;
    fault_arm(FAULT_MAP, 1, FAULT_EVER_ON);
    while ((s = hi_strand_create(stack_bytes)) != NULL) {
        s->next = all;
        all = s;
    }
    fault_disarm();
    return all;
}

static inline void fault_refill(hi_strand *all)
{
    while (all) {
        hi_strand *s = all;
        all = s->next;
        hi_strand_destroy(s);
    }
}

/* --- work that shows whether all of it was done, once ------------------------- */

enum {
    FAULT_SPINE = 8192
};

static HEIST_ATOMIC(int) fault_visits[FAULT_SPINE + 1];

static inline void fault_visit(heist_ctx c, heist_frame *f)
{
    (void)c;
    heist_add_relaxed(&fault_visits[f->arg[0].i], 1);
    f->result.i = f->arg[0].i;
}

/* n open forks at one time. */
static inline int64_t fault_spine_at(heist_ctx c, int64_t n)
{
    if (n == 0) return 0;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n;
    int64_t left = fault_spine_at(heist_fork(c, fault_visit), n - 1);
    if (!heist_join(c)) return left + right->result.i;
    heist_frame own;
    own.arg[0].i = n;
    fault_visit(c, &own);
    return left + own.result.i;
}

typedef struct fault_spine {
    int64_t n, sum;
    int ran;
} fault_spine;

static inline void fault_spine_root(heist_ctx c, void *arg)
{
    fault_spine *s = arg;
    s->ran++;
    s->sum = fault_spine_at(c, s->n);
}

static inline fault_spine fault_spine_of(int64_t n)
{
    for (int64_t i = 0; i <= n; i++)
        heist_store_relaxed(&fault_visits[i], 0);
    return (fault_spine){.n = n};
}

static inline void fault_check_spine(const fault_spine *s)
{
    CHECK_EQ(s->ran, 1);
    CHECK_EQ(s->sum, s->n * (s->n + 1) / 2);
    for (int64_t i = 1; i <= s->n; i++)
        CHECK_EQ(heist_load_relaxed(&fault_visits[i]), 1);
}

/* A runtime whose memory can fail; at its end all of it is given back. */
static inline heist_runtime *fault_start(unsigned workers,
                                         heist_exposure exposure)
{
    heist_runtime *rt = NULL;
    heist_config config = {
        .workers = workers, .exposure = exposure, .allocator = fault_allocator};
    CHECK_EQ(heist_start(&rt, &config), 0);
    return rt;
}

static inline void fault_stop(heist_runtime *rt)
{
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&fault.hook_blocks), 0);
}

static HEIST_ATOMIC(int) fault_ran;

static inline int fault_count_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_add_relaxed(&fault_ran, 1);
    return 0;
}

/* rt does what a runtime does: tasks from outside, a broadcast, a region. */
static inline void fault_check_works(heist_runtime *rt)
{
    enum {
        TASKS = 20
    };

    heist_latch done;
    heist_latch_init(&done, TASKS);
    heist_store_relaxed(&fault_ran, 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(heist_spawn(rt, fault_count_one, NULL, &done, HEIST_FOREVER),
                 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&fault_ran), TASKS);
    CHECK_EQ(heist_broadcast(rt, fault_count_one, NULL), 0);
    CHECK_EQ(heist_load_relaxed(&fault_ran), TASKS + (int)heist_workers(rt));
    /* Few enough that the guest's deque, which stays, does not grow. */
    fault_spine s = fault_spine_of(40);
    CHECK_EQ(heist_run(rt, fault_spine_root, &s), 0);
    fault_check_spine(&s);
}

/* For what becomes true without telling anybody. */
#define fault_until(condition) \
    do {                       \
        while (!(condition))   \
            sched_yield();     \
    } while (0)

#endif
