/* SPDX-License-Identifier: MIT
 *
 * memory.c: where the library's own memory comes from.
 */
#include "queue/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *from_libc(size_t bytes, size_t align)
{
    if (align <= _Alignof(max_align_t)) return malloc(bytes);
    if (bytes > SIZE_MAX - (align - 1)) return NULL;
    /* C11 wants a multiple of the alignment. */
    return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

void *hi_alloc_raw(const heist_allocator *allocator, size_t bytes, size_t align)
{
    int saved = errno; /* malloc sets it */
    void *p = !allocator || !allocator->alloc
                  ? from_libc(bytes, align)
                  : allocator->alloc(allocator->user, bytes, align);
    errno = saved;
    return p;
}

void *hi_alloc(const heist_allocator *allocator, size_t bytes, size_t align)
{
    void *p = hi_alloc_raw(allocator, bytes, align);
    if (p) memset(p, 0, bytes);
    return p;
}

void hi_free(const heist_allocator *allocator, void *p, size_t bytes)
{
    if (!p) return;
    if (!allocator || !allocator->alloc) {
        free(p);
    } else {
        allocator->free(allocator->user, p, bytes);
    }
}

size_t hi_round_up(size_t n, size_t least)
{
    size_t power = least;
    while (power && power < n)
        power <<= 1;
    return power;
}
