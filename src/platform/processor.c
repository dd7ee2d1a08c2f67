/* SPDX-License-Identifier: MIT
 *
 * processor.c: what a thread can ask of the CPU it runs on, and of those the
 * other threads run on.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From <linux/membarrier.h>, which older C libraries do not bring along. */
enum {
    PRIVATE_EXPEDITED = 1 << 3,
    REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

void hi_cpu_relax(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
    /* `yield` does nothing on most cores; this waits as long as `pause`. */
    __asm__ __volatile__("isb" ::: "memory");
#else
#    error "heist runs on x86-64 and aarch64"
#endif
}

uint64_t hi_float_modes(void)
{
    uint64_t modes = 0;
#if defined(__x86_64__)
    uint32_t sse;
    uint16_t x87;
    __asm__ __volatile__("stmxcsr %0" : "=m"(sse));
    __asm__ __volatile__("fnstcw %0" : "=m"(x87));
    modes = sse | (uint64_t)x87 << 32;
#elif defined(__aarch64__)
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(modes));
#endif
    return modes;
}

void hi_float_modes_set(uint64_t modes)
{
#if defined(__x86_64__)
    uint32_t sse = (uint32_t)modes;
    uint16_t x87 = (uint16_t)(modes >> 32);
    __asm__ __volatile__("ldmxcsr %0" ::"m"(sse));
    __asm__ __volatile__("fldcw %0" ::"m"(x87));
#elif defined(__aarch64__)
    __asm__ __volatile__("msr fpcr, %0" ::"r"(modes));
#endif
}

int hi_cpu_current(void)
{
    int saved = errno;
    int cpu = sched_getcpu();
    errno = saved;
    return cpu < 0 ? -1 : cpu;
}

static bool membarrier(int command)
{
    int saved = errno;
    long rc = syscall(SYS_membarrier, command, 0, 0);
    errno = saved;
    return rc == 0;
}

/* Asking again costs one cheap system call, so nothing is remembered here
 * that a fork() could make wrong. */
bool hi_barrier_init(void)
{
    return membarrier(REGISTER_PRIVATE_EXPEDITED) &&
           membarrier(PRIVATE_EXPEDITED);
}

void hi_barrier_all(void)
{
    if (HEIST_LIKELY(membarrier(PRIVATE_EXPEDITED))) return;
    /* The registration follows a fork(); should it ever not, renew it. */
    if (hi_barrier_init()) return;
    hi_die(__FILE__, __LINE__, "membarrier worked before and fails now");
}
