/* SPDX-License-Identifier: MIT
 *
 * litmus_model.c: the checker checked.  Each program is a few lines whose
 * outcomes are known; the set of those that were seen must be exactly that.
 * What must be found is found, what cannot be is not.
 *
 * Load buffering (both loads read the other thread's later store) is allowed
 * by C11 and not explored: modification order is the order of execution.
 */
#include "model.h"
#include "platform/platform.h"

#include <errno.h>
#include <stdlib.h>

static HEIST_ATOMIC(int) x, y, z;
static hi_futex word;
static int data;
static int r[8];
static int *heap;
static int64_t time_of[3];

static void setup(void)
{
    heist_init(&x, 0);
    heist_init(&y, 0);
    heist_init(&z, 0);
    heist_init(&word, 0);
}

/* Outcomes: r[0] and r[1], r[2] and r[3], as bits of a number. */
static void saw_bits(void)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++)
        value = 2 * value + (r[i] != 0);
    model_saw(value);
}

#define EXACTLY(name, set)                  \
    static void name(void)                  \
    {                                       \
        model_check(model_seen() == (set)); \
    }

#define O(a, b, c, d) (UINT64_C(1) << (8 * (a) + 4 * (b) + 2 * (c) + (d)))

/* --- store buffering ------------------------------------------------------------ */

static void sb_relaxed(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        r[0] = heist_load_relaxed(&y);
    } else {
        heist_store_relaxed(&y, 1);
        r[1] = heist_load_relaxed(&x);
    }
}

static void sb_acq_rel(unsigned id)
{
    if (id == 0) {
        heist_store_release(&x, 1);
        r[0] = heist_load_acquire(&y);
    } else {
        heist_store_release(&y, 1);
        r[1] = heist_load_acquire(&x);
    }
}

static void sb_one_fence(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_fence_seq_cst();
        r[0] = heist_load_relaxed(&y);
    } else {
        heist_store_relaxed(&y, 1);
        r[1] = heist_load_relaxed(&x);
    }
}

static void sb_two_fences(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_fence_seq_cst();
        r[0] = heist_load_relaxed(&y);
    } else {
        heist_store_relaxed(&y, 1);
        heist_fence_seq_cst();
        r[1] = heist_load_relaxed(&x);
    }
}

static void sb_seq_cst(unsigned id)
{
    if (id == 0) {
        heist_store_seq_cst(&x, 1);
        r[0] = heist_load_seq_cst(&y);
    } else {
        heist_store_seq_cst(&y, 1);
        r[1] = heist_load_seq_cst(&x);
    }
}

/* A read-modify-write is no fence. */
static void sb_swap(unsigned id)
{
    if (id == 0) {
        heist_swap_acq_rel(&x, 1);
        r[0] = heist_load_acquire(&y);
    } else {
        heist_swap_acq_rel(&y, 1);
        r[1] = heist_load_acquire(&x);
    }
}

static void dekker_barrier(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_fence_compiler();
        r[0] = heist_load_relaxed(&y);
    } else {
        heist_store_relaxed(&y, 1);
        hi_barrier_all();
        r[1] = heist_load_relaxed(&x);
    }
}

/* The kernel's calls are fences. */
static void sb_futex(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        hi_futex_wake(&word, 1);
        r[0] = heist_load_relaxed(&y);
    } else {
        heist_store_relaxed(&y, 1);
        hi_futex_wait(&word, 1, HEIST_FOREVER); /* it is 0: returns */
        r[1] = heist_load_relaxed(&x);
    }
}

EXACTLY(all_four, O(0, 0, 0, 0) | O(0, 1, 0, 0) | O(1, 0, 0, 0) | O(1, 1, 0, 0))
EXACTLY(not_both_zero, O(0, 1, 0, 0) | O(1, 0, 0, 0) | O(1, 1, 0, 0))

/* --- message passing ------------------------------------------------------------- */

static void mp_relaxed(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 1);
    } else {
        r[0] = heist_load_relaxed(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

static void mp_release_only(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else {
        r[0] = heist_load_relaxed(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

static void mp_acquire_only(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 1);
    } else {
        r[0] = heist_load_acquire(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

static void mp_release_acquire(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else {
        r[0] = heist_load_acquire(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

static void mp_fences(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_fence_release();
        heist_store_relaxed(&y, 1);
    } else {
        r[0] = heist_load_relaxed(&y);
        heist_fence_acquire();
        r[1] = heist_load_relaxed(&x);
    }
}

/* What comes after a fence is not part of it. */
static void mp_fence_too_early(unsigned id)
{
    if (id == 0) {
        heist_fence_release();
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 1);
    } else {
        r[0] = heist_load_acquire(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

EXACTLY(mp_in_order, O(0, 0, 0, 0) | O(0, 1, 0, 0) | O(1, 1, 0, 0))

/* Three threads: what the second one learned, it passes on. */
static void mp_transitive(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else if (id == 1) {
        if (heist_load_acquire(&y)) heist_store_release(&z, 1);
    } else {
        r[0] = heist_load_acquire(&z);
        r[1] = heist_load_relaxed(&x);
    }
}

/* --- coherence --------------------------------------------------------------------- */

static void corr(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
    } else {
        r[0] = heist_load_relaxed(&x);
        r[1] = heist_load_relaxed(&x);
    }
}

/* Two readers agree on the order of two writers. */
static void corr_two_writers(unsigned id)
{
    if (id < 2) {
        heist_store_relaxed(&x, (int)id + 1);
    } else if (id == 2) {
        r[0] = heist_load_relaxed(&x);
        r[1] = heist_load_relaxed(&x);
    } else {
        r[2] = heist_load_relaxed(&x);
        r[3] = heist_load_relaxed(&x);
    }
}

static void corr_agree(void)
{
    bool up = r[0] == 1 && r[1] == 2, down = r[2] == 2 && r[3] == 1;
    model_check(!(up && down));
    model_saw(up + 2u * down);
}

static void corr_saw_both(void)
{
    model_check(model_seen() == 7);
}

/* --- independent reads of independent writes --------------------------------------- */

static void iriw_acquire(unsigned id)
{
    if (id == 0) {
        heist_store_release(&x, 1);
    } else if (id == 1) {
        heist_store_release(&y, 1);
    } else if (id == 2) {
        r[0] = heist_load_acquire(&x);
        r[1] = heist_load_acquire(&y);
    } else {
        r[2] = heist_load_acquire(&y);
        r[3] = heist_load_acquire(&x);
    }
}

static void iriw_fences(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
    } else if (id == 1) {
        heist_store_relaxed(&y, 1);
    } else if (id == 2) {
        r[0] = heist_load_relaxed(&x);
        heist_fence_seq_cst();
        r[1] = heist_load_relaxed(&y);
    } else {
        r[2] = heist_load_relaxed(&y);
        heist_fence_seq_cst();
        r[3] = heist_load_relaxed(&x);
    }
}

EXACTLY(iriw_all, 0xffff)
EXACTLY(iriw_agree, 0xffff & ~O(1, 0, 1, 0))

/* --- release sequences -------------------------------------------------------------- */

/* A relaxed read-modify-write in between keeps the release visible. */
static void sequence_rmw(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else if (id == 1) {
        heist_add_relaxed(&y, 2);
    } else {
        r[0] = heist_load_acquire(&y) == 3;
        r[1] = heist_load_relaxed(&x);
    }
}

/* A relaxed store, even of the same thread, breaks it (C++20). */
static void sequence_store(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
        heist_store_relaxed(&y, 3);
    } else {
        r[0] = heist_load_acquire(&y) == 3;
        r[1] = heist_load_relaxed(&x);
    }
}

static void sequence_other(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else if (id == 1) {
        if (heist_load_relaxed(&y) == 1) heist_store_relaxed(&y, 3);
    } else {
        r[0] = heist_load_acquire(&y) == 3;
        r[1] = heist_load_relaxed(&x);
    }
}

/* Its own read-modify-write hands a thread no more than it acquires. */
static void sequence_own(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_release(&y, 1);
    } else {
        if (heist_add_release(&y, 2) != 1) return;
        r[0] = heist_load_acquire(&y) == 3;
        r[1] = heist_load_relaxed(&x);
    }
}

EXACTLY(own_in_order, O(0, 0, 0, 0) | O(1, 1, 0, 0))

/* --- writes both ways ------------------------------------------------------------------ */

/*
 * 2+2W: each thread's first store overwritten by the other's second would need
 * a modification order against the order of execution.  C11 allows x == 1 and
 * y == 1 for relaxed stores; this checker does not show it.
 */
static void two_plus_two(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 2);
    } else {
        heist_store_relaxed(&y, 1);
        heist_store_relaxed(&x, 2);
    }
}

static void two_plus_two_after(void)
{
    r[0] = heist_load_relaxed(&x) == 2;
    r[1] = heist_load_relaxed(&y) == 2;
    saw_bits();
}

/* --- compare and swap -------------------------------------------------------------------- */

/* 1, then back to 0: who expects 0 may still find the 1, also when it has seen
 * what was stored later. */
static void cas_stale(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&x, 0);
        heist_store_relaxed(&y, 1);
    } else {
        int expected = 0;
        r[0] = heist_load_relaxed(&y);
        r[1] = heist_cas_relaxed(&x, &expected, 5);
        r[2] = expected;
    }
}

/* One winner, also when it may fail for no reason. */
static void cas_weak(unsigned id)
{
    int expected = 0;
    r[id] = heist_cas_weak_relaxed(&x, &expected, 5);
    r[id + 2] = expected;
}

EXACTLY(cas_fails_on_one,
        O(0, 1, 0, 0) | O(0, 0, 1, 0) | O(1, 1, 0, 0) | O(1, 0, 1, 0))
EXACTLY(weak_may_fail,
        O(1, 0, 0, 1) | O(0, 1, 1, 0) | O(0, 1, 0, 0) | O(1, 0, 0, 0))

/* --- futex ------------------------------------------------------------------------------- */

static void sleeper(unsigned id)
{
    if (id == 0) {
        while (heist_load_acquire(&word) == 0)
            hi_futex_wait(&word, 0, HEIST_FOREVER);
    } else {
        heist_store_release(&word, 1);
        hi_futex_wake(&word, 1);
    }
}

static void no_wake(unsigned id)
{
    if (id == 0) {
        while (heist_load_acquire(&word) == 0)
            hi_futex_wait(&word, 0, HEIST_FOREVER);
    } else {
        heist_store_release(&word, 1);
    }
}

/* The waker looks for a sleeper without a fence after its store. */
static void lost_wake(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1); /* I sleep */
        heist_fence_seq_cst();
        if (heist_load_relaxed(&y) == 0) /* no work */
            hi_futex_wait(&word, 0, HEIST_FOREVER);
    } else {
        heist_store_relaxed(&y, 1); /* work */
        if (heist_load_relaxed(&x)) {
            heist_store_relaxed(&word, 1);
            hi_futex_wake(&word, 1);
        }
    }
}

static void kept_wake(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_fence_seq_cst();
        if (heist_load_relaxed(&y) == 0) hi_futex_wait(&word, 0, HEIST_FOREVER);
    } else {
        heist_store_relaxed(&y, 1);
        heist_fence_seq_cst();
        if (heist_load_relaxed(&x)) {
            heist_store_relaxed(&word, 1);
            hi_futex_wake(&word, 1);
        }
    }
}

static void no_loop(unsigned id)
{
    if (id == 0) {
        hi_futex_wait(&word, 0, HEIST_FOREVER);
        model_check(heist_load_relaxed(&word) == 1);
    } else {
        heist_store_relaxed(&word, 1);
        hi_futex_wake(&word, 1);
    }
}

/* One token, two sleepers: either may be woken, the other one wakes in time. */
static void deadline(unsigned id)
{
    if (id == 2) {
        hi_futex_wake(&word, 1);
        return;
    }
    int64_t until = hi_clock() + 5000;
    r[id] = hi_futex_wait(&word, 0, until) == -ETIMEDOUT;
    if (r[id]) model_check(hi_clock() >= until);
}

EXACTLY(any_of_them,
        O(0, 0, 0, 0) | O(0, 1, 0, 0) | O(1, 0, 0, 0) | O(1, 1, 0, 0))

/* Nobody is preempted, so who has counted itself sleeps. */
static void wake_any(unsigned id)
{
    if (id == 2) {
        if (heist_load_relaxed(&x) == 2) hi_futex_wake(&word, 1);
        return;
    }
    heist_add_relaxed(&x, 1);
    r[id] = hi_futex_wait(&word, 0, hi_clock() + 5000) == 0;
}

EXACTLY(none_or_any, O(0, 0, 0, 0) | O(0, 1, 0, 0) | O(1, 0, 0, 0))

static void wake_one(unsigned id)
{
    if (id < 2) {
        while (heist_load_relaxed(&word) == 0)
            hi_futex_wait(&word, 0, HEIST_FOREVER);
        return;
    }
    heist_store_relaxed(&word, 1);
    hi_futex_wake(&word, 1);
}

/* --- memory -------------------------------------------------------------------------------- */

static void race_plain(unsigned id)
{
    if (id == 0)
        data = 1;
    else
        r[0] = data;
}

static void race_relaxed(unsigned id)
{
    if (id == 0) {
        data = 1;
        heist_store_relaxed(&x, 1);
    } else if (heist_load_acquire(&x)) {
        r[0] = data;
    }
}

/* Fences alone order nothing: the second thread knows that the first one's
 * fence was before its own, but it did not acquire anything. */
static void race_fences(unsigned id)
{
    if (id == 0) {
        data = 1;
        heist_fence_seq_cst();
        if (!heist_load_relaxed(&y)) heist_store_relaxed(&x, 1);
    } else {
        heist_store_relaxed(&y, 1);
        heist_fence_seq_cst();
        if (heist_load_relaxed(&x)) r[0] = data;
    }
}

/* What comes after a release is not part of it. */
static void race_after_release(unsigned id)
{
    if (id == 0) {
        heist_store_release(&y, 1);
        data = 1;
        heist_store_relaxed(&z, 1);
    } else if (heist_load_acquire(&y) && heist_load_relaxed(&z)) {
        r[0] = data;
    }
}

static void race_after_fence(unsigned id)
{
    if (id == 0) {
        heist_fence_release();
        data = 1;
        heist_store_relaxed(&y, 1);
    } else if (heist_load_acquire(&y)) {
        r[0] = data;
    }
}

/* The atomic access is always first here. */
static void race_init_last(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 1);
    } else if (heist_load_relaxed(&y)) {
        heist_init(&x, 2);
    }
}

/* A cell that is made anew holds nothing of before, for no reader. */
static void made_anew(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&x, 2);
        heist_init(&x, 3);
        heist_store_release(&y, 1);
        return;
    }
    if (heist_load_acquire(&y) == 0) return;
    model_check(heist_load_relaxed(&x) == 3);
    heist_store_release(&z, 1);
}

static void no_race(unsigned id)
{
    if (id == 0) {
        data = 1;
        heist_store_release(&x, 1);
    } else if (heist_load_acquire(&x)) {
        model_check(data == 1);
    }
}

/* Neighbours in one word are no race. */
static void bytes(unsigned id)
{
    static char pair[2];
    pair[id] = 1;
    model_check(pair[id] == 1);
}

static void race_init(unsigned id)
{
    if (id == 0)
        heist_init(&x, 1);
    else
        r[0] = heist_load_acquire(&x);
}

static void make_heap(void)
{
    setup();
    heap = malloc(sizeof *heap);
    *heap = 7;
}

static void drop_heap(void)
{
    free(heap);
}

static void use_after_free(unsigned id)
{
    if (id == 0) {
        heist_add_acq_rel(&x, 1);
        free(heap);
    } else {
        if (heist_load_acquire(&x)) r[0] = *heap;
    }
}

/* The count says who is last; without acquire the other one's use is not
 * known to be over. */
static void count_relaxed(unsigned id)
{
    r[id] = *heap;
    if (heist_add_release(&x, 1) == 1) free(heap);
}

static void count_acq_rel(unsigned id)
{
    r[id] = *heap;
    if (heist_add_acq_rel(&x, 1) == 1) free(heap);
}

static void free_twice(unsigned id)
{
    (void)id;
    if (heist_add_acq_rel(&x, 1) < 2) free(heap);
}

static void beyond(unsigned id)
{
    r[id] = heap[model_choose(2)];
}

static void nothing(unsigned id)
{
    (void)id;
}

static void may_fail(unsigned id)
{
    int *p = malloc(4);
    r[id] = p != NULL;
    free(p);
}

EXACTLY(one_fails, O(1, 1, 0, 0) | O(0, 1, 0, 0) | O(1, 0, 0, 0))

static int runs; /* put back before each execution */

static void statics(unsigned id)
{
    (void)id;
    model_check(runs == 0);
    heist_store_relaxed(&x, 1);
}

static void statics_after(void)
{
    runs++;
}

/* More than one access to each of eight bytes side by side. */
static struct {
    char byte[8];
} eight HEIST_ALIGNED(8);

static void race_in_eight(unsigned id)
{
    if (id == 0) {
        for (int i = 0; i < 8; i++)
            eight.byte[i] = (char)i;
        heist_store_relaxed(&x, 1);
    } else if (heist_load_relaxed(&x)) {
        r[0] = eight.byte[6];
    }
}

/* --- progress -------------------------------------------------------------------------------- */

static void spin(unsigned id)
{
    if (id == 0) {
        while (!heist_load_acquire(&x))
            hi_cpu_relax();
        model_check(data == 1);
    } else {
        data = 1;
        heist_store_release(&x, 1);
    }
}

/* Nobody is preempted: the other thread is over after the relax. */
static void relax_once(unsigned id)
{
    if (id == 1) {
        heist_store_relaxed(&x, 1);
        return;
    }
    r[0] = heist_load_relaxed(&x);
    hi_cpu_relax();
    r[1] = heist_load_relaxed(&x);
}

EXACTLY(newest_at_last, O(0, 1, 0, 0) | O(1, 1, 0, 0))

static void spin_for_ever(unsigned id)
{
    if (id == 0) {
        while (!heist_load_acquire(&x))
            hi_cpu_relax();
    } else {
        heist_store_release(&y, 1);
    }
}

/* Two that spin do not keep the third one out. */
static void spin_two(unsigned id)
{
    if (id == 2) {
        heist_store_release(&x, 1);
        return;
    }
    while (!heist_load_acquire(&x)) {
        heist_add_relaxed(&y, 1);
        hi_cpu_relax();
    }
}

static void spin_a_while(unsigned id)
{
    if (id == 1) {
        heist_store_relaxed(&x, 1);
        return;
    }
    r[0] = 1;
    for (int i = 0; i < 10; i++) {
        if (heist_load_relaxed(&x)) return;
        hi_cpu_relax();
    }
    r[0] = 0;
}

EXACTLY(never_gives_up, O(1, 0, 0, 0))
EXACTLY(may_give_up, O(0, 0, 0, 0) | O(1, 0, 0, 0))

static void spin_until(unsigned id)
{
    int64_t until = hi_clock() + 1000000;
    (void)id;
    while (hi_clock() < until)
        hi_cpu_relax();
}

static void no_relax(unsigned id)
{
    if (id == 0)
        while (!heist_load_acquire(&x)) {}
    else
        heist_store_release(&x, 1);
}

/* --- threads --------------------------------------------------------------------------------- */

static hi_thread started;

static void child(void *arg)
{
    (void)arg;
    data = 1;
    heist_store_relaxed(&x, 1);
}

static void start_in_setup(void)
{
    setup();
    hi_thread_start(&started, child, NULL, "child", 0);
}

static void look(unsigned id)
{
    (void)id;
    r[0] = heist_load_relaxed(&x);
}

static void join_after(void)
{
    hi_thread_join(started);
    model_check(data == 1);
    saw_bits();
}

EXACTLY(started_either, O(0, 0, 0, 0) | O(1, 0, 0, 0))

static void race_with_child(void)
{
    model_check(data == 1);
    hi_thread_join(started);
}

/* --- counts ---------------------------------------------------------------------------------- */

/*
 * Two threads of two steps on one cell.  Without a preemption there are two
 * orders; one preemption adds 0 1 1 0 and 1 0 0 1.
 */
static void two_steps(unsigned id)
{
    heist_store_relaxed(&x, (int)id);
    heist_store_relaxed(&x, (int)id + 2);
}

static void four_executions(void)
{
    model_check(model_executions() == 4);
}

/* With two: 0 1 0 1 and 1 0 1 0, too. */
static void six_executions(void)
{
    model_check(model_executions() == 6);
}

/* What only one thread uses, or nobody writes, is no choice. */
static void own_cells(unsigned id)
{
    for (int i = 0; i < 5; i++) {
        if (id == 0)
            heist_store_release(&x, i);
        else
            heist_store_release(&y, i);
        r[id] = heist_load_acquire(&z);
    }
}

static void two_executions(void)
{
    model_check(model_executions() == 2);
}

static void choices(unsigned id)
{
    (void)id;
    model_saw(3 * model_choose(2) + model_choose(3));
}

EXACTLY(six_values, 63)

/* --- what is left out because it repeats ----------------------------------------- */

/* Each looks at the other's cell and then writes its own three times.  One of
 * them looks before the other has written anything, but for that all is seen. */
static void look_and_write(unsigned id)
{
    r[id] = id ? heist_load_relaxed(&x) : heist_load_relaxed(&y);
    for (int i = 1; i <= 3; i++)
        if (id)
            heist_store_relaxed(&y, i);
        else
            heist_store_relaxed(&x, i);
}

static void saw_counts(void)
{
    model_saw((unsigned)(4 * r[0] + r[1]));
}

static void few_executions(void)
{
    model_check(model_seen() == 0x111f);
    model_check(model_executions() < 60); /* of 104 */
}

/* The fence of the second thread comes first, although it saw the store that is
 * just before the other fence. */
static void two_fences(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&z, 1);
        heist_fence_seq_cst();
        r[0] = heist_load_relaxed(&y);
    } else {
        r[2] = heist_load_relaxed(&z);
        heist_store_relaxed(&y, 1);
        heist_fence_seq_cst();
        r[1] = heist_load_relaxed(&x);
    }
}

static void saw_second_fence_first(void)
{
    model_check(model_seen() & O(1, 0, 1, 0));
}

/* What was not yet stored at the end of a turn may be seen late. */
static void store_after_a_turn(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&z, 1);
        heist_store_relaxed(&x, 1);
        heist_store_relaxed(&y, 1);
    } else {
        hi_cpu_relax();
        r[2] = heist_load_relaxed(&z);
        r[0] = heist_load_relaxed(&y);
        r[1] = heist_load_relaxed(&x);
    }
}

EXACTLY(all_but_z,
        O(0, 0, 1, 0) | O(0, 1, 1, 0) | O(1, 0, 1, 0) | O(1, 1, 1, 0))

/* That the second thread could store to x makes the loads of the first one
 * steps. */
static void look_at_the_clock(unsigned id)
{
    if (id == 0) {
        (void)heist_load_relaxed(&x);
        time_of[0] = hi_clock();
        (void)heist_load_relaxed(&x);
        time_of[2] = hi_clock();
    } else if (model_choose(2)) {
        heist_store_relaxed(&x, 1);
    } else {
        time_of[1] = hi_clock();
    }
}

static void saw_clock_order(void)
{
    if (!time_of[1]) return;
    model_saw((unsigned)(time_of[0] < time_of[1]) +
              (unsigned)(time_of[2] < time_of[1]));
}

EXACTLY(before_between_after, 7)

/* The same with calls: nothing but their order in time tells them apart. */
static void note_a_call(unsigned op)
{
    model_return(model_call(op, 0), 0);
}

static void call_and_look(unsigned id)
{
    if (id == 0) {
        (void)heist_load_relaxed(&x);
        note_a_call(0);
        (void)heist_load_relaxed(&x);
        note_a_call(2);
    } else if (model_choose(2)) {
        heist_store_relaxed(&x, 1);
    } else {
        note_a_call(1);
    }
}

static void setup_calls(void)
{
    setup();
    model_calls_reset();
}

static void no_call_yet(void *state)
{
    *(unsigned *)state = 0;
}

/* The calls come in any order but 0, 1, 2. */
static bool not_in_turn(void *state, unsigned op, uint64_t arg, uint64_t result)
{
    (void)arg, (void)result;
    unsigned *count = state;
    return *count == op ? ++*count < 3 : (*count = 4, true);
}

static const char *const turns[] = {"first", "second", "third"};

static const model_spec out_of_turn = {turns, sizeof(unsigned), no_call_yet,
                                       not_in_turn};

static void saw_turn(void)
{
    model_saw(model_linearizable(&out_of_turn));
}

EXACTLY(in_turn_and_not, 3)

/* --- all of them ----------------------------------------------------------------------------- */

#define T(title, n, ...)                                                    \
    {                                                                       \
        .name = #title, .threads = n, .setup = setup, .thread = __VA_ARGS__ \
    }
#define SEES(set)   .after = saw_bits, .end = set
#define ALWAYS(...) .exact = true, .quick = {__VA_ARGS__}, .full = {__VA_ARGS__}
#define NONE        ALWAYS(MODEL_NONE, 1, MODEL_NONE)
#define ONE         ALWAYS(1, 1, 1)
#define TWO         ALWAYS(2, 1, 1)
#define FOUR        ALWAYS(4, 2, 1)

static const model_test tests[] = {
    T(store_buffering_relaxed, 2, sb_relaxed, SEES(all_four)),
    T(store_buffering_release_acquire, 2, sb_acq_rel, SEES(all_four)),
    T(store_buffering_one_fence, 2, sb_one_fence, SEES(all_four)),
    T(store_buffering_two_fences, 2, sb_two_fences, SEES(not_both_zero)),
    T(store_buffering_seq_cst, 2, sb_seq_cst, SEES(not_both_zero)),
    T(store_buffering_swap_is_no_fence, 2, sb_swap, SEES(all_four)),
    T(store_buffering_futex_calls, 2, sb_futex, SEES(not_both_zero)),
    T(dekker_with_a_barrier_for_all, 2, dekker_barrier, SEES(not_both_zero)),
    T(message_passing_relaxed, 2, mp_relaxed, SEES(all_four)),
    T(message_passing_release_only, 2, mp_release_only, SEES(all_four)),
    T(message_passing_acquire_only, 2, mp_acquire_only, SEES(all_four)),
    T(message_passing_release_acquire, 2, mp_release_acquire,
      SEES(mp_in_order)),
    T(message_passing_fences, 2, mp_fences, SEES(mp_in_order)),
    T(message_passing_fence_too_early, 2, mp_fence_too_early, SEES(all_four)),
    T(message_passing_by_way_of_another, 3, mp_transitive, SEES(mp_in_order)),
    T(reads_of_one_cell_do_not_go_back, 2, corr, SEES(mp_in_order)),
    T(readers_agree_on_the_order_of_writes, 4, corr_two_writers,
      .after = corr_agree, .end = corr_saw_both, .quick = {2, 2, 1}),
    T(independent_reads_acquire, 4, iriw_acquire, SEES(iriw_all),
      .quick = {2, 2, 1}),
    T(independent_reads_fences, 4, iriw_fences, SEES(iriw_agree),
      .quick = {2, 2, 1}),
    T(release_goes_on_through_a_relaxed_add, 3, sequence_rmw,
      SEES(mp_in_order)),
    T(release_ends_at_a_relaxed_store, 2, sequence_store, SEES(all_four)),
    T(release_ends_at_a_store_of_another, 3, sequence_other, SEES(all_four)),
    T(release_goes_on_through_an_add_of_its_own, 2, sequence_own,
      SEES(own_in_order)),
    T(writes_both_ways, 2, two_plus_two, .after = two_plus_two_after,
      .end = not_both_zero),
    T(cas_may_fail_on_an_old_value, 2, cas_stale, SEES(cas_fails_on_one)),
    T(weak_cas_may_fail_for_no_reason, 2, cas_weak, SEES(weak_may_fail), ONE),
    T(a_sleeper_is_woken, 2, sleeper),
    T(a_missing_wake_is_found, 2, no_wake, .fails = "deadlock"),
    T(a_lost_wake_is_found, 2, lost_wake, .fails = "deadlock"),
    T(two_fences_keep_the_wake, 2, kept_wake),
    T(a_wait_without_a_loop_is_found, 2, no_loop, .fails = "word"),
    T(a_deadline_passes_early_or_late, 3, deadline, SEES(any_of_them)),
    T(a_wake_picks_any_sleeper, 3, wake_any, SEES(none_or_any), NONE),
    T(a_wake_for_one_of_two_is_found, 3, wake_one, .fails = "deadlock"),
    T(a_race_of_plain_accesses_is_found, 2, race_plain, .fails = "data race"),
    T(a_race_behind_a_relaxed_store_is_found, 2, race_relaxed,
      .fails = "data race"),
    T(a_race_between_two_fences_is_found, 2, race_fences, .fails = "data race"),
    T(a_race_after_a_release_is_found, 2, race_after_release,
      .fails = "data race"),
    T(a_race_after_a_release_fence_is_found, 2, race_after_fence,
      .fails = "data race"),
    T(an_initialisation_after_a_store_is_found, 2, race_init_last,
      .fails = "data race"),
    T(a_cell_made_anew_forgets, 3, made_anew),
    T(release_and_acquire_make_no_race, 2, no_race),
    T(neighbours_in_a_word_make_no_race, 2, bytes),
    T(a_late_initialisation_is_found, 2, race_init, .fails = "data race"),
    {.name = "a_use_after_free_is_found",
     .threads = 2,
     .setup = make_heap,
     .thread = use_after_free,
     .fails = "use after free"},
    {.name = "a_free_that_knows_too_little_is_found",
     .threads = 2,
     .setup = make_heap,
     .thread = count_relaxed,
     .fails = "data race"},
    {.name = "the_last_one_frees",
     .threads = 2,
     .setup = make_heap,
     .thread = count_acq_rel},
    {.name = "a_double_free_is_found",
     .threads = 2,
     .setup = make_heap,
     .thread = free_twice,
     .fails = "double free"},
    T(a_race_among_eight_bytes_is_found, 2, race_in_eight,
      .fails = "data race"),
    {.name = "a_leak_is_found",
     .threads = 1,
     .setup = make_heap,
     .thread = nothing,
     .fails = "leak"},
    {.name = "what_is_kept_is_no_leak",
     .threads = 1,
     .setup = make_heap,
     .thread = nothing,
     .keeps = true},
    {.name = "an_access_beyond_a_block_is_found",
     .threads = 1,
     .setup = make_heap,
     .thread = beyond,
     .after = drop_heap,
     .fails = "outside of allocated memory"},
    T(one_allocation_fails, 2, may_fail, SEES(one_fails),
      .allocation_may_fail = true, ONE),
    T(static_variables_are_put_back, 2, statics, .after = statics_after),
    T(a_spin_loop_ends, 2, spin),
    T(a_relax_shows_what_is_newest, 2, relax_once, SEES(newest_at_last), NONE),
    T(a_spin_loop_without_an_end_is_found, 2, spin_for_ever,
      .fails = "livelock"),
    T(two_that_spin_leave_room_for_a_third, 3, spin_two),
    T(a_spin_loop_waits_for_a_change, 2, spin_a_while, SEES(never_gives_up)),
    T(a_spin_loop_may_give_up, 2, spin_a_while, SEES(may_give_up),
      .spins_end = true),
    T(a_spin_loop_ends_by_the_clock, 2, spin_until),
    T(a_spin_loop_without_relax_ends, 2, no_relax),
    {.name = "a_thread_may_start_in_setup",
     .threads = 1,
     .setup = start_in_setup,
     .thread = look,
     .after = join_after,
     .end = started_either},
    {.name = "a_race_with_a_thread_not_joined_is_found",
     .threads = 1,
     .setup = start_in_setup,
     .thread = look,
     .after = race_with_child,
     .fails = "data race"},
    {.name = "a_thread_left_running_is_found",
     .threads = 1,
     .setup = start_in_setup,
     .thread = look,
     .fails = "still runs"},
    T(one_preemption_makes_four_orders, 2, two_steps, .end = four_executions,
      ONE),
    T(two_preemptions_make_six_orders, 2, two_steps, .end = six_executions,
      TWO),
    T(cells_that_are_not_shared_are_no_choice, 2, own_cells,
      .end = two_executions),
    T(steps_that_change_places_are_tried_once, 2, look_and_write,
      .after = saw_counts, .end = few_executions, FOUR),
    T(two_fences_have_an_order, 2, two_fences, SEES(saw_second_fence_first)),
    T(a_turn_of_a_spin_loop_has_its_place, 2, store_after_a_turn,
      SEES(all_but_z)),
    T(a_look_at_the_clock_has_its_place, 2, look_at_the_clock,
      .after = saw_clock_order, .end = before_between_after),
    {.name = "a_call_has_its_place",
     .threads = 2,
     .setup = setup_calls,
     .thread = call_and_look,
     .after = saw_turn,
     .end = in_turn_and_not},
    T(a_choice_of_the_test_is_explored, 1, choices, .end = six_values),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
