/* SPDX-License-Identifier: MIT */
#ifndef HI_QUICK_H
#define HI_QUICK_H

#include <heist/fork.h>

/*
 * What a strand remembers of the last loop that was over at once: its function,
 * its length, and how many more like it need not be timed.
 */
void hi_quick_note(heist_ctx c, void (*body)(void), size_t iterations,
                   unsigned times);

/* Is this one like it?  Counts it if so. */
bool hi_quick_again(heist_ctx c, void (*body)(void), size_t iterations);

#endif
