/* SPDX-License-Identifier: MIT
 *
 * reduce_fault.c: folds of large values without memory.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

enum {
    N = 200
};

/* Large, and not the same in every byte. */
typedef struct value {
    uint64_t sum, marks[100], last; /* of squares; the last index folded */
} value;

static value nothing(void)
{
    value v = {.last = UINT64_MAX};
    for (size_t i = 0; i < 100; i++)
        v.marks[i] = i * i;
    return v;
}

/* Slow enough that others come and take parts; each index once, in order. */
static void fold_value(heist_ctx c, size_t begin, size_t end, void *sum,
                       void *arg)
{
    value *v = sum;
    (void)c, (void)arg;
    CHECK_EQ(v->marks[99], 99 * 99);
    CHECK(v->last == UINT64_MAX || v->last + 1 == begin);
    heist_time until = heist_after(10 * HEIST_MICROSECOND);
    while (heist_now() < until)
        sched_yield();
    for (size_t i = begin; i < end; i++)
        v->sum += i * i;
    v->last = end - 1;
}

static void combine_values(void *left, const void *right, void *arg)
{
    value *l = left;
    const value *r = right;
    (void)arg;
    CHECK(l->last < r->last);
    l->sum += r->sum;
    l->last = r->last;
}

typedef struct attempt {
    int flags, rc;
    value v;
} attempt;

static void fold_root(heist_ctx c, void *arg)
{
    attempt *a = arg;
    a->rc = heist_fold(c, 0, N, &a->v, sizeof a->v, fold_value, combine_values,
                       NULL, a->flags);
}

static void reduce_root(heist_ctx c, void *arg)
{
    static value all[N];
    attempt *a = arg;
    for (size_t i = 0; i < N; i++) {
        all[i] = nothing();
        all[i].sum = i * i;
        all[i].last = i;
    }
    a->v.last = 0;
    a->rc = heist_reduce(c, &a->v, all + 1, N - 1, sizeof *all, combine_values,
                         NULL, a->flags);
}

/* All is there, or nothing has happened. */
static void check_attempt(const attempt *a, uint64_t before)
{
    CHECK(a->rc == 0 || a->rc == -ENOMEM);
    CHECK_EQ(a->v.sum, a->rc ? 0 : (uint64_t)(N - 1) * N * (2 * N - 1) / 6);
    CHECK_EQ(a->v.last, a->rc ? before : N - 1);
    for (size_t i = 0; i < 100; i++)
        CHECK_EQ(a->v.marks[i], i * i);
}

/* Runs root with the n-th request for memory refused (and the later ones);
 * returns whether there was one. */
static bool refuse(heist_runtime *rt, heist_root_fn *root, attempt *a, long n,
                   fault_how how)
{
    a->v = nothing();
    fault_arm(FAULT_HOOK, n, how);
    CHECK_EQ(heist_run(rt, root, a), 0);
    long hits = fault_disarm();
    check_attempt(a, root == fold_root ? UINT64_MAX : 0);
    return hits > 0;
}

static heist_runtime *start(unsigned workers)
{
    heist_runtime *rt = NULL;
    heist_config c = {.workers = workers,
                      .exposure = HEIST_EAGER,
                      .allocator = fault_allocator};
    CHECK_EQ(heist_start(&rt, &c), 0);
    return rt;
}

/* Refusals that the call got over. */
static int given_back;

/* How many calls failed for want of memory. */
static int refuse_each(unsigned workers, heist_root_fn *root, int flags)
{
    static const fault_how hows[] = {FAULT_ONCE, FAULT_EVER_ON};
    heist_runtime *rt = start(workers);
    int failed = 0;
    attempt a = {.flags = flags};
    CHECK_EQ(heist_run(rt, root, &(attempt){.v = nothing()}), 0);
    for (size_t h = 0; h < 2; h++) {
        for (long n = 1; n < 20 && refuse(rt, root, &a, n, hows[h]); n++) {
            failed += a.rc == -ENOMEM;
            given_back += a.rc == 0;
        }
        CHECK_EQ(a.rc, 0); /* the last was refused nothing, or not enough */
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&fault.hook_blocks), 0);
    return failed;
}

TEST(a_fold_without_memory_leaves_the_result_as_it_was)
{
    /* The identity; with a fixed tree a room per level as well. */
    CHECK_EQ(refuse_each(1, fold_root, 0), 2);
    CHECK_EQ(refuse_each(1, fold_root, HEIST_FIXED_TREE), 4);
    CHECK_EQ(refuse_each(1, reduce_root, 0), 0);
    CHECK_EQ(refuse_each(1, reduce_root, HEIST_FIXED_TREE), 2);
}

TEST(who_takes_a_part_and_has_no_memory_gives_it_back)
{
    for (int flags = 0; flags <= HEIST_FIXED_TREE; flags++) {
        given_back = 0;
        for (int round = 0; round < 3 || (round < 100 && !given_back);
             round++) {
            unsigned workers = 2u << round % 3;
            CHECK_EQ(refuse_each(workers, fold_root, flags), flags ? 4 : 2);
            CHECK_EQ(refuse_each(workers, reduce_root, flags), flags ? 2 : 0);
        }
        CHECK(given_back > 0);
    }
}
