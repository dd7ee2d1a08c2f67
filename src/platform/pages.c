/* SPDX-License-Identifier: MIT
 *
 * pages.c: address space first, memory when it is touched.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

size_t hi_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *hi_pages_reserve(size_t bytes)
{
    int saved = errno;
    void *p = mmap(NULL, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* A strand that touches a page must not be given two megabytes. */
    if (p != MAP_FAILED) madvise(p, bytes, MADV_NOHUGEPAGE);
    errno = saved;
    return p == MAP_FAILED ? NULL : p;
}

int hi_pages_commit(void *p, size_t bytes)
{
    int saved = errno;
    int rc = mprotect(p, bytes, PROT_READ | PROT_WRITE);
    errno = saved;
    return rc < 0 ? -ENOMEM : 0;
}

#ifndef MADV_GUARD_INSTALL
#    define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#endif

int hi_pages_guard(void *p, size_t bytes)
{
    int saved = errno;
    /* An emulator may say yes to any advice it does not know; one that nobody
     * knows tells. */
    bool honest = madvise(p, bytes, -1) < 0;
    int rc = honest ? madvise(p, bytes, MADV_GUARD_INSTALL) : -1;
    if (rc < 0) rc = mprotect(p, bytes, PROT_NONE);
    errno = saved;
    return rc < 0 ? -ENOMEM : 0;
}

void hi_pages_discard(void *p, size_t bytes)
{
    int saved = errno;
    madvise(p, bytes, MADV_DONTNEED);
    errno = saved;
}

void hi_pages_release(void *p, size_t bytes)
{
    int saved = errno;
    munmap(p, bytes);
    errno = saved;
}

/* There if the program runs with LeakSanitizer, however this file was built. */
__attribute__((weak)) void __lsan_register_root_region(const void *p,
                                                       size_t bytes);

void hi_pages_hold(const void *p, size_t bytes)
{
    if (__lsan_register_root_region) __lsan_register_root_region(p, bytes);
}

void *hi_pages_large(size_t bytes)
{
    int saved = errno;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) madvise(p, bytes, MADV_HUGEPAGE);
    errno = saved;
    return p == MAP_FAILED ? NULL : p;
}
