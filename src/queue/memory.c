/* SPDX-License-Identifier: MIT
 *
 * memory.c: where the library's own memory comes from.
 */
#include "queue/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fresh memory as the C library gives it; calloc knows which pages are already
 * zero, so it is preferred where its alignment is enough. */
static void *from_libc(size_t bytes, size_t align)
{
    if (align <= _Alignof(max_align_t)) return calloc(1, bytes);
    if (bytes > SIZE_MAX - (align - 1)) return NULL;
    /* C11 wants a multiple of the alignment. */
    bytes = (bytes + align - 1) & ~(align - 1);
    void *p = aligned_alloc(align, bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void *hi_alloc(const heist_allocator *allocator, size_t bytes, size_t align)
{
    int saved = errno; /* malloc sets it */
    void *p;
    if (!allocator || !allocator->alloc) {
        p = from_libc(bytes, align);
    } else {
        p = allocator->alloc(allocator->user, bytes, align);
        if (p) memset(p, 0, bytes);
    }
    errno = saved;
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
