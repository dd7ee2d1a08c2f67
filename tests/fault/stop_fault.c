/* SPDX-License-Identifier: MIT
 *
 * stop_fault.c: heist_stop while a thread that gives work is slow to leave.
 * The thread is held at a system call until everybody else has come to rest.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <linux/futex.h>
#include <sys/syscall.h>

typedef enum role {
    ROLE_WORKER = 0, /* the one of the pool, which does not say who it is */
    ROLE_MAIN,
    ROLE_STOPPER,
    ROLE_SLOW_TO_WAKE, /* held after it has woken somebody */
    ROLE_SLOW_TO_RISE  /* held after it has slept */
} role;

static __thread role me;
typedef HEIST_ATOMIC(int) flag;
static flag worker_rests; /* asleep, and without a time-out */
static flag stopper_rests;
static flag giver_rests;
static flag stopper_is_done;
static flag ran, held;

long __real_syscall(long number, ...);

/* Once. */
static void hold(void)
{
    if (heist_load_acquire(&held)) return;
    fault_until(heist_load_acquire(&ran));
    heist_store_release(&held, 1);
    fault_until(heist_load_acquire(&stopper_is_done) ||
                (heist_load_acquire(&stopper_rests) &&
                 heist_load_acquire(&worker_rests)));
}

static void rests(const void *timeout, int yes)
{
    if (me == ROLE_WORKER && !timeout) heist_store_release(&worker_rests, yes);
    if (me == ROLE_STOPPER) heist_store_release(&stopper_rests, yes);
    if (me == ROLE_SLOW_TO_RISE) heist_store_release(&giver_rests, yes);
}

long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    bool wait = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
    bool wake = number == SYS_futex && !wait;
    if (wait) rests((void *)a[3], 1);
    long rc = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (wait) rests((void *)a[3], 0);
    if (wake && me == ROLE_SLOW_TO_WAKE) hold();
    if (wait && me == ROLE_SLOW_TO_RISE) hold();
    return rc;
}

static int run_once(heist_ctx c, void *arg)
{
    (void)c;
    if (arg) fault_until(heist_load_acquire((flag *)arg));
    heist_add_acq_rel(&ran, 1);
    return 0;
}

static heist_runtime *rt;
static role giver_role;
static int giver_rc;

static void *spawn_from_outside(void *unused)
{
    me = giver_role;
    giver_rc = heist_spawn(rt, run_once, NULL, NULL, HEIST_FOREVER);
    return unused;
}

static void *broadcast_from_outside(void *go)
{
    me = giver_role;
    giver_rc = heist_broadcast(rt, run_once, go);
    return NULL;
}

static int stop_rc;

static void *stop_it(void *unused)
{
    me = ROLE_STOPPER;
    /* The deadline turns a stop that sleeps for ever into a failure. */
    stop_rc = heist_stop(rt, heist_after(10 * HEIST_SECOND));
    heist_store_release(&stopper_is_done, 1);
    return unused;
}

static void stop_while(void *(*give)(void *arg), role who, bool slow_task)
{
    flag go = {0};
    heist_config c = {.workers = 1, .allocator = fault_allocator};
    me = ROLE_MAIN;
    heist_store_relaxed(&ran, 0);
    heist_store_relaxed(&held, 0);
    heist_store_relaxed(&stopper_is_done, 0);
    giver_role = who;
    CHECK_EQ(heist_start(&rt, &c), 0);
    fault_until(heist_load_acquire(&worker_rests));
    pthread_t giver, stopper;
    CHECK_EQ(pthread_create(&giver, NULL, give, slow_task ? &go : NULL), 0);
    /* The giver is inside: held, or asleep until its task has run. */
    fault_until(heist_load_acquire(slow_task ? &giver_rests : &held));
    heist_time begun = heist_now();
    CHECK_EQ(pthread_create(&stopper, NULL, stop_it, NULL), 0);
    if (slow_task) fault_until(heist_load_acquire(&stopper_rests));
    heist_store_release(&go, 1);
    CHECK_EQ(pthread_join(giver, NULL), 0);
    CHECK_EQ(pthread_join(stopper, NULL), 0);
    CHECK(heist_now() - begun < 9 * HEIST_SECOND);
    CHECK_EQ(giver_rc, 0);
    CHECK_EQ(stop_rc, 0);
    CHECK_EQ(heist_load_relaxed(&ran), 1);
    CHECK_EQ(heist_load_relaxed(&fault.hook_blocks), 0);
}

TEST(a_stop_is_told_when_a_slow_spawn_is_over)
{
    stop_while(spawn_from_outside, ROLE_SLOW_TO_WAKE, false);
}

TEST(a_stop_is_told_when_a_slow_broadcast_is_over)
{
    stop_while(broadcast_from_outside, ROLE_SLOW_TO_WAKE, false);
}

TEST(a_stop_does_not_take_the_runtime_from_under_a_broadcast)
{
    stop_while(broadcast_from_outside, ROLE_SLOW_TO_RISE, true);
}
