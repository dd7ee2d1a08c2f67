/* SPDX-License-Identifier: MIT */
#ifndef HI_CHAIN_H
#define HI_CHAIN_H

#include <heist/fork.h>

/*
 * Work on a range in which every block needs to know something of all blocks
 * before it: the sum of their elements, or how many of them were kept.  That
 * something is a value of `value` bytes that blocks add to.
 */
typedef struct hi_chain hi_chain;

struct hi_chain {
    /* All of a block: `before` is the value of what comes before it, and then
     * of what comes before the next.  spare: a value to work with. */
    void (*pass)(hi_chain *h, size_t begin, size_t end, void *before,
                 void *spare);
    /* What can be done without that: the block's own value, and whatever is to
     * be kept until finish; `room` is for the elements if they need some. */
    void (*sum)(hi_chain *h, size_t begin, size_t end, void *sum, void *room);
    /* Adds the sum of a block to what comes before it. */
    void (*add)(hi_chain *h, void *before, const void *sum);
    /* The rest, once it is known.  Both values are free to be worked with. */
    void (*finish)(hi_chain *h, size_t begin, size_t end, void *before,
                   void *sum, const void *room);
    size_t value; /* bytes */
    size_t room;  /* bytes that sum needs per element */
    size_t most;  /* elements of the longest block: caches like it */
    size_t least; /* elements: an addition per block must not be much */
    bool timed;   /* the cost of an element is not known: blocks by the clock */
};

/*
 * Runs over n elements.  `before` is what comes before the first, and at the end
 * the value of all; `spare` has room for another.  Memory: for many blocks a few
 * lines each, and a few blocks per worker if there is `room`; without it the
 * work is done here.  Never fails.
 */
void hi_chain_run(heist_ctx c, hi_chain *h, size_t n, void *before,
                  void *spare);

#endif
