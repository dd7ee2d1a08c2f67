/* SPDX-License-Identifier: MIT
 *
 * memcheck.c: linked into the tests that valgrind runs.  The library is the same.
 *
 * A strand is 128 megabytes of address space, made usable in one piece.  Memcheck
 * follows an mprotect() byte by byte, and looks for leaks in all that can be
 * read: half a second for each strand that a test ever had.  A new mapping is the
 * same to the library and to memcheck, zeroes that are defined, and takes no time.
 * And when the test ends, pages that were never touched need not be looked at:
 * zeroes point to nothing.
 */
#define _GNU_SOURCE 1
#include "core/strand.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

enum {
    UNITS_MAX = 4096,
    PAGES_MAX = HI_STRAND_SPAN / 4096,
    /* Bytes around the middle that a worker may touch while the test ends. */
    NEAR = 1 << 20
};

static HEIST_ATOMIC(unsigned) unit_count;
static HEIST_ATOMIC(char *) units[UNITS_MAX];

static int commit(char *unit)
{
    void *p =
        mmap(unit, HI_STRAND_SPAN, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort(); /* what was there may be gone */
    madvise(p, HI_STRAND_SPAN, MADV_NOHUGEPAGE);
    unsigned i = heist_add_relaxed(&unit_count, 1);
    if (i < UNITS_MAX) heist_store_release(&units[i], unit);
    return 0;
}

/* In the place of the system's. */
int mprotect(void *p, size_t bytes, int protection)
{
    if (bytes == HI_STRAND_SPAN && protection == (PROT_READ | PROT_WRITE))
        return commit(p);
    return (int)syscall(SYS_mprotect, p, bytes, protection);
}

/* A page of a unit that holds nothing and that nobody is about to touch. */
static bool is_idle(const uint64_t *pages, size_t i, size_t page)
{
    size_t at = i * page, middle = HI_STRAND_SPAN / 2;
    return pages[i] >> 62 == 0 && /* neither in memory nor swapped out */
           (at + page <= middle - NEAR || at >= middle + NEAR);
}

__attribute__((destructor)) static void hide_what_is_idle(void)
{
    static uint64_t pages[PAGES_MAX];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = HI_STRAND_SPAN / page;
    int map = open("/proc/self/pagemap", O_RDONLY);
    for (size_t k = 0; k < UNITS_MAX; k++) {
        char *unit = heist_load_acquire(&units[k]);
        ssize_t bytes = (ssize_t)(n * sizeof *pages);
        off_t where = (off_t)((uintptr_t)unit / page * sizeof *pages);
        if (!unit || pread(map, pages, (size_t)bytes, where) != bytes) break;
        for (size_t from = 0, to = 0; from < n; from = to + 1) {
            for (to = from; to < n && is_idle(pages, to, page);)
                to++;
            (void)VALGRIND_MAKE_MEM_NOACCESS(unit + from * page,
                                             (to - from) * page);
        }
    }
    close(map);
}
