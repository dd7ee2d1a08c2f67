/* SPDX-License-Identifier: MIT
 *
 * futex.c: sleeping on a word.
 *
 * The kernel compares the word and queues the sleeper under one lock, so a
 * waker that changes the word first cannot be missed.  errno is put back: it
 * belongs to the program, which may be in the middle of looking at it.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/valgrind.h>)
#    include <valgrind/valgrind.h>
#else
#    define VALGRIND_DISABLE_ERROR_REPORTING
#    define VALGRIND_ENABLE_ERROR_REPORTING
#endif

int hi_futex_wait(hi_futex *f, uint32_t expected, int64_t deadline)
{
    struct timespec at;
    struct timespec *until = NULL;
    if (deadline != HEIST_FOREVER) {
        /* The kernel refuses negative times; zero has passed as well. */
        int64_t t = deadline > 0 ? deadline : 0;
        at.tv_sec = (time_t)(t / HEIST_SECOND);
        at.tv_nsec = (long)(t % HEIST_SECOND);
        until = &at;
    }
    /* The bitset form, because it alone takes an absolute time: a sleeper
     * interrupted by a signal goes on towards the same deadline. */
    int saved = errno;
    long rc = syscall(SYS_futex, f, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                      expected, until, NULL, FUTEX_BITSET_MATCH_ANY);
    int result = rc < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
    errno = saved;
    return result;
}

/*
 * The sleeper may have seen the new word by itself, left, and taken f with it.
 * The kernel takes f for a name and does not read it; at worst it wakes a
 * stranger, who loops.  Valgrind would complain and is asked to look away.
 */
void hi_futex_wake(hi_futex *f, int n)
{
    int saved = errno;
    VALGRIND_DISABLE_ERROR_REPORTING;
    syscall(SYS_futex, f, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, NULL, NULL, 0);
    VALGRIND_ENABLE_ERROR_REPORTING;
    errno = saved;
}
