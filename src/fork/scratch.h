/* SPDX-License-Identifier: MIT */
#ifndef HI_SCRATCH_H
#define HI_SCRATCH_H

#include <heist/fork.h>

/*
 * Memory that a parallel function needs until it returns: from the allocator of
 * the runtime that it runs in.
 */

/* Room for count elements, on a line of its own, with anything in it; count
 * and size are not zero.  NULL: no memory, or more than there can be. */
void *hi_scratch_get(heist_ctx c, size_t count, size_t size);

/* count and size as they were asked for.  p may be NULL. */
void hi_scratch_put(heist_ctx c, void *p, size_t count, size_t size);

/*
 * What a strand remembers of the last loop that was over at once: its function,
 * its length, and how many more like it need not be timed.
 */
void hi_quick_note(heist_ctx c, void (*body)(void), size_t iterations,
                   unsigned times);

/* Is this one like it?  Counts it if so. */
bool hi_quick_again(heist_ctx c, void (*body)(void), size_t iterations);

#endif
