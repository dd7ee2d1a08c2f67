/* SPDX-License-Identifier: MIT
 *
 * child_fault.c: fork() at the very moment when a lock of the process is held.
 *
 * Two locks belong to the whole process, and while they are held something is
 * called that a test can stand in front of: under that of the strands' pool the
 * system is asked for address space, under that of the runtimes the allocator of
 * one that a child starts anew.  The fork() comes in that call, so the new child
 * always finds the lock taken, by a thread that it does not have; if it does not
 * put that right it stands still, and so does the test.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <sys/wait.h>
#include <unistd.h>

static heist_runtime *rt;
static int countdown; /* to the call that forks; 0: none does */

static void check_ends_well(pid_t child)
{
    int status = -1;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void works_and_stops(heist_runtime *r)
{
    fault_check_works(r);
    CHECK_EQ(heist_stop(r, HEIST_FOREVER), 0);
}

static void maybe_fork(void)
{
    if (countdown == 0 || --countdown > 0) return;
    pid_t child = fork();
    if (child == 0) {
        if (rt) works_and_stops(rt);
        works_and_stops(NULL);
        _exit(0);
    }
    check_ends_well(child);
}

/* And here: what is called under the lock of the pool. */
void *__real_hi_pages_reserve(size_t bytes);

void *__wrap_hi_pages_reserve(size_t bytes)
{
    maybe_fork();
    return __real_hi_pages_reserve(bytes);
}

/* The first test: fork() before there are threads suits every tool. */
TEST(a_child_made_while_the_pool_of_strands_is_locked_uses_the_library)
{
    heist_runtime *fresh = NULL;
    countdown = 1;
    CHECK_EQ(heist_start(&fresh, &(heist_config){.workers = 2}), 0);
    CHECK_EQ(countdown, 0);
    works_and_stops(fresh);
}

static void *forking_alloc(void *user, size_t bytes, size_t align)
{
    maybe_fork();
    return fault_alloc(user, bytes, align);
}

TEST(a_child_made_while_the_runtimes_are_locked_uses_the_library)
{
    enum {
        CALLS = 5 /* pool, victims, idle bits, injector, deque */
    };

    if (test_cannot_fork()) return;
    heist_config c = {.workers = 1,
                      .allocator = {forking_alloc, fault_free, 0}};
    CHECK_EQ(heist_start(&rt, &c), 0);
    for (int n = 1; n <= CALLS; n++) {
        pid_t child = fork();
        if (child == 0) {
            countdown = n;
            works_and_stops(rt);
            CHECK_EQ(countdown, 0);
            _exit(0);
        }
        check_ends_well(child);
    }
    works_and_stops(rt);
}

static void fork_here(heist_ctx c, void *arg)
{
    (void)c;
    *(pid_t *)arg = fork();
}

static int do_nothing(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static void spawn_here(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, do_nothing, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
}

/* On a thread that has a seat in rt; without threads the default runtime cannot be
 * had. */
TEST(a_child_made_in_a_serial_region_goes_on_with_another_runtime)
{
    if (test_cannot_fork()) return;
    pid_t child = -1;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    fault_check_works(rt);
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_run(NULL, fork_here, &child), 0);
    fault_disarm();
    if (child == 0) {
        CHECK_EQ(heist_run(rt, spawn_here, NULL), 0);
        works_and_stops(rt);
        works_and_stops(NULL);
        _exit(0);
    }
    check_ends_well(child);
    works_and_stops(rt);
    rt = NULL;
}

static HEIST_ATOMIC(int) hooked;
static HEIST_ATOMIC(heist_runtime *) home;

/* In the child it waits until the runtime is there again. */
static void use_in_hook(void *user, unsigned worker)
{
    (void)user, (void)worker;
    heist_add_relaxed(&hooked, 1);
    heist_runtime *known = heist_load_acquire(&home);
    if (known) CHECK_EQ(heist_workers(known), 3);
}

TEST(a_child_without_threads_does_not_wait_for_a_hook_that_waits_for_it)
{
    if (test_cannot_fork()) return;
    heist_runtime *mine = NULL;
    heist_config c = {.workers = 3, .on_worker_start = use_in_hook};
    CHECK_EQ(heist_start(&mine, &c), 0);
    heist_store_release(&home, mine);
    for (long n = 1; n <= 3; n++) {
        pid_t child = fork();
        if (child == 0) {
            heist_latch done;
            heist_latch_init(&done, 1);
            heist_store_relaxed(&hooked, 0);
            fault_arm(FAULT_THREAD, n, FAULT_ONCE);
            CHECK_EQ(heist_spawn(mine, do_nothing, NULL, &done, HEIST_FOREVER),
                     -ENOMEM);
            CHECK_EQ(fault_disarm(), 1);
            CHECK_EQ(heist_load_relaxed(&hooked), 0);
            works_and_stops(mine);
            CHECK_EQ(heist_load_relaxed(&hooked), 3);
            _exit(0);
        }
        check_ends_well(child);
    }
    works_and_stops(mine);
}
