/* SPDX-License-Identifier: MIT */
#ifndef HI_MOVE_H
#define HI_MOVE_H

#include <heist/fork.h>

#include <string.h>

/* Calls f, an inline loop over elements whose last argument is their size, so
 * that the common sizes get plain loads and stores. */
#define HI_BY_SIZE(size, f, ...)         \
    ((size) == 8    ? f(__VA_ARGS__, 8)  \
     : (size) == 4  ? f(__VA_ARGS__, 4)  \
     : (size) == 16 ? f(__VA_ARGS__, 16) \
                    : f(__VA_ARGS__, (size)))

/* The i-th element. */
HEIST_INLINE void *hi_at(void *base, size_t i, size_t size)
{
    return (char *)base + i * size;
}

HEIST_INLINE const void *hi_in(const void *base, size_t i, size_t size)
{
    return (const char *)base + i * size;
}

/* Elements in a block of about so many bytes. */
HEIST_INLINE size_t hi_block(size_t bytes, size_t size)
{
    return size < bytes ? bytes / size : 1;
}

/* n elements in the opposite order. */
void hi_turn_round(heist_ctx c, void *base, size_t n, size_t size);

#endif
