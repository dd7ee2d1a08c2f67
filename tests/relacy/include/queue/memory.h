/* SPDX-License-Identifier: MIT */
#ifndef HI_MEMORY_H
#define HI_MEMORY_H

/*
 * The queues' memory as relacy sees it: every word of it is watched (shadow.h).
 */
#include <heist/base.h>

/* C lets a void pointer become any other by itself. */
struct hi_any_pointer {
    void *p;

    template <typename T> operator T *() const
    {
        return static_cast<T *>(p);
    }
};

static inline hi_any_pointer hi_alloc(const heist_allocator *, size_t bytes,
                                      size_t)
{
    hi_any_pointer any = {relacy::block_create(bytes)};
    return any;
}

static inline void hi_free(const heist_allocator *, void *p, size_t bytes)
{
    if (p) relacy::block_kill(p, bytes);
}

extern "C" size_t hi_round_up(size_t n, size_t least); /* memory.c itself */

#endif
