/* SPDX-License-Identifier: MIT
 *
 * start_fault.c: heist_start when something cannot be had.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

/*
 * And here: the call that is made once in a process.  Not pthread_atfork itself:
 * a sanitizer makes use of that before it is ready for anything else.
 */
int __real_hi_watch_forks(hi_at_fork *what);

static bool no_atfork;

int __wrap_hi_watch_forks(hi_at_fork *what)
{
    return no_atfork ? -ENOMEM : __real_hi_watch_forks(what);
}

static HEIST_ATOMIC(int) started, stopped;

static void on_start(void *user, unsigned worker)
{
    (void)user, (void)worker;
    heist_add_relaxed(&started, 1);
}

static void on_stop(void *user, unsigned worker)
{
    (void)user, (void)worker;
    heist_add_relaxed(&stopped, 1);
}

static heist_config config_of(unsigned workers, bool hooked)
{
    heist_config c = {.workers = workers,
                      .stack_bytes = 128 << 10,
                      .on_worker_start = on_start,
                      .on_worker_stop = on_stop};
    if (hooked) c.allocator = fault_allocator;
    return c;
}

/* One attempt.  True: nothing was left to fail, and it has started. */
static bool attempt(const heist_config *c, unsigned kinds, long n,
                    fault_how how)
{
    heist_runtime *none = (heist_runtime *)&started, *rt = none;
    fault_tally before = fault_count();
    fault_arm(kinds, n, how);
    int rc = heist_start(&rt, c);
    bool hit = fault_disarm() > 0;
    if (rc == 0) {
        fault_check_works(rt);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    } else {
        CHECK(hit);
        CHECK(rt == none);
        CHECK_EQ(rc, kinds & FAULT_THREAD ? -EAGAIN : -ENOMEM);
    }
    fault_check_nothing_left(before);
    CHECK_EQ(heist_load_relaxed(&started), heist_load_relaxed(&stopped));
    return !hit;
}

/* The main thread's seat as a guest, and the pool's units, are kept. */
static void warm_up(void)
{
    heist_config c = config_of(4, false);
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &c), 0);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* Every n until there is no n-th call; says how many there were. */
static long every(unsigned kinds, unsigned workers, bool hooked)
{
    long n[2];
    warm_up();
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        n[how] = 1;
        for (;;) {
            heist_config c = config_of(workers, hooked);
            if (attempt(&c, kinds, n[how], (fault_how)how)) break;
            n[how]++;
        }
    }
    CHECK_EQ(n[0], n[1]);
    return n[0] - 1;
}

TEST(a_start_that_cannot_prepare_for_fork_fails_and_the_next_one_works)
{
    heist_runtime *rt = NULL;
    fault_tally before = fault_count();
    no_atfork = true;
    CHECK_EQ(heist_start(&rt, NULL), -ENOMEM);
    CHECK(rt == NULL);
    fault_check_nothing_left(before);
    no_atfork = false;
    CHECK_EQ(heist_start(&rt, NULL), 0);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(whichever_allocation_fails_start_leaves_nothing_behind)
{
    /* Runtime, pool, victims, idle bits, injector; deque, thread start. */
    CHECK_EQ(every(FAULT_HEAP, 1, false), 5 + 1 * 2);
    CHECK_EQ(every(FAULT_HEAP, 4, false), 5 + 4 * 2);
}

TEST(whichever_call_of_the_allocator_fails_start_leaves_nothing_behind)
{
    CHECK_EQ(every(FAULT_HOOK, 1, true), 5 + 1);
    CHECK_EQ(every(FAULT_HOOK, 4, true), 5 + 4);
}

TEST(without_address_space_for_strands_start_leaves_nothing_behind)
{
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        warm_up();
        for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
            for (long n = 1;; n++) {
                heist_config c = config_of(workers, false);
                hi_strand *kept = fault_drain(c.stack_bytes);
                bool done = attempt(&c, FAULT_MAP, n, (fault_how)how);
                fault_refill(kept);
                if (done) break;
            }
        }
    }
}

TEST(whichever_commit_of_a_strand_fails_start_leaves_nothing_behind)
{
    long most = 0;
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        warm_up();
        for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
            for (long n = 1;; n++) {
                heist_config c = config_of(workers, false);
                hi_strand *kept = fault_drain(c.stack_bytes);
                bool done = attempt(&c, FAULT_COMMIT, n, (fault_how)how);
                fault_refill(kept);
                if (done) break;
                most = n > most ? n : most;
            }
        }
    }
    CHECK(most >= 4); /* of each worker one, at least */
}

TEST(starts_that_fail_do_not_use_up_address_space)
{
    heist_config c = config_of(2, false);
    hi_strand *kept = fault_drain(c.stack_bytes);
    long before = heist_load_relaxed(&fault.mapped);
    for (int i = 0; i < 100; i++)
        CHECK(!attempt(&c, FAULT_COMMIT, 1, FAULT_EVER_ON));
    for (int i = 0; i < 100; i++)
        CHECK(!attempt(&c, FAULT_HEAP, 8, FAULT_EVER_ON));
    long more = heist_load_relaxed(&fault.mapped) - before;
    CHECK(more <= 2 * 8L * HI_STRAND_SPAN); /* two slabs, begun */
    fault_refill(kept);
}

TEST(strands_with_promises_that_count_are_enough_to_start)
{
    heist_config c = config_of(4, false);
    heist_runtime *rt = NULL;
    hi_strand *kept = fault_drain(c.stack_bytes);
    fault_arm(FAULT_WHOLE, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_start(&rt, &c), 0);
    CHECK_EQ(fault_disarm(), 4);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    fault_refill(kept);
}

TEST(advice_that_the_system_refuses_does_not_matter)
{
    heist_config c = config_of(4, false);
    heist_runtime *rt = NULL;
    fault_arm(FAULT_ADVICE, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_start(&rt, &c), 0);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK(fault_disarm() > 0);
}

TEST(when_a_thread_cannot_be_had_those_before_it_end_again)
{
    CHECK_EQ(every(FAULT_THREAD, 1, false), 1);
    CHECK_EQ(every(FAULT_THREAD, 4, false), 4);
    CHECK_EQ(every(FAULT_THREAD, 4, true), 4);
}

TEST(a_thread_without_memory_is_told_from_one_thread_too_many)
{
    heist_config c = config_of(3, false);
    heist_runtime *rt = NULL;
    fault_tally before = fault_count();
    heist_store_relaxed(&fault.thread_error, ENOMEM);
    fault_arm(FAULT_THREAD, 2, FAULT_ONCE);
    CHECK_EQ(heist_start(&rt, &c), -ENOMEM);
    CHECK_EQ(fault_disarm(), 1);
    heist_store_relaxed(&fault.thread_error, 0);
    fault_check_nothing_left(before);
}

TEST(a_stack_that_the_system_calls_too_small_is_replaced_by_the_usual_one)
{
    heist_config c = config_of(2, false);
    heist_runtime *rt = NULL;
    heist_store_relaxed(&fault.thread_error, EINVAL);
    fault_arm(FAULT_THREAD, 1, FAULT_ONCE);
    CHECK_EQ(heist_start(&rt, &c), 0);
    CHECK_EQ(fault_disarm(), 1);
    heist_store_relaxed(&fault.thread_error, 0);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
