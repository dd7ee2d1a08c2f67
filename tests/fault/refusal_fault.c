/* SPDX-License-Identifier: MIT
 *
 * refusal_fault.c: a spawn whose deadline passes at the moment in which room
 * comes.  __wrap_syscall makes the moment.
 */
#define _GNU_SOURCE 1
#include "test.h"

#include <errno.h>
#include <heist.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

typedef HEIST_ATOMIC(int) flag;

static flag armed, held, leave, ran[4];

long __real_syscall(long number, ...);

static void until(flag *f)
{
    while (!heist_load_acquire(f))
        sched_yield();
}

/* The armed wait ends by its deadline, but not before the queue is empty. */
long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    bool timed = number == SYS_futex && a[3] &&
                 (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    if (timed && heist_swap_acq_rel(&armed, 0)) {
        heist_store_release(&leave, 1);
        until(&ran[1]);
        errno = ETIMEDOUT;
        return -1;
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int mark(heist_ctx c, void *arg)
{
    (void)c;
    heist_add_acq_rel((flag *)arg, 1);
    return 0;
}

static int hold(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_store_release(&held, 1);
    until(&leave);
    return 0;
}

TEST(a_spawn_that_gets_room_at_its_deadline_runs_once_or_never)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1, .queue_capacity = 2};
    CHECK_EQ(heist_start(&rt, &config), 0);
    CHECK_EQ(heist_spawn(rt, hold, NULL, NULL, HEIST_FOREVER), 0);
    until(&held);
    CHECK_EQ(heist_spawn(rt, mark, &ran[0], NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_spawn(rt, mark, &ran[1], NULL, HEIST_NOW), 0);
    CHECK_EQ(heist_spawn(rt, mark, &ran[2], NULL, HEIST_NOW), -EAGAIN);
    heist_store_release(&armed, 1);
    int rc = heist_spawn(rt, mark, &ran[3], NULL, heist_after(HEIST_SECOND));
    CHECK_EQ(heist_load_relaxed(&armed), 0);
    CHECK(rc == 0 || rc == -ETIMEDOUT);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(heist_load_relaxed(&ran[2]), 0);
    CHECK_EQ(heist_load_relaxed(&ran[3]), rc == 0);
}
