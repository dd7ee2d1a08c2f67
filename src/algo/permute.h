/* SPDX-License-Identifier: MIT */
#ifndef HI_PERMUTE_H
#define HI_PERMUTE_H

#include <heist/fork.h>

/*
 * Moves n elements to their places: to place i comes the one at from[i].  In the
 * end from[i] is i.
 *
 * Memory: n / 128 elements and as many words, and 64 KiB or one
 * element more.
 * Returns: 0 or -ENOMEM, and nothing was moved.
 */
int hi_permute(heist_ctx c, void *base, size_t n, size_t size, uint64_t *from);

/*
 * Says which element comes to place i: the word at words + i * stride is `first`
 * for the first one, and `unit` more for each further one.
 */
typedef struct hi_places {
    const void *words;
    size_t stride;
    uintptr_t first;
    size_t unit;
} hi_places;

/* The same; `scratch` has room for n words. */
int hi_permute_by(heist_ctx c, void *base, size_t n, size_t size,
                  const hi_places *places, void *scratch);

#endif
