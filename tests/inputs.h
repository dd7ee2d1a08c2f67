/* SPDX-License-Identifier: MIT */
#ifndef HEIST_TEST_INPUTS_H
#define HEIST_TEST_INPUTS_H

/*
 * What the tests of the algorithms are fed with, and on how many workers.
 *
 *     static void check(heist_ctx c, void *arg) { ... input_fill(...) ... }
 *
 *     TEST(sort_sorts) { input_on_all_workers(check, NULL); }
 */
#include "test.h"

#include <heist.h>

typedef enum input_shape {
    INPUT_RANDOM,
    INPUT_SORTED,
    INPUT_REVERSED,
    INPUT_EQUAL,
    INPUT_FEW,    /* few different values */
    INPUT_PIPE,   /* up, then down */
    INPUT_SAW,    /* up, again and again */
    INPUT_NEARLY, /* sorted but for a few */
    INPUT_SHAPES
} input_shape;

/* n numbers below 2^64 of that shape. */
static inline void input_fill(input_shape shape, uint64_t *a, size_t n,
                              uint64_t *seed)
{
    uint64_t step = n ? UINT64_MAX / n : 0;
    for (size_t i = 0; i < n; i++) {
        switch (shape) {
        case INPUT_SORTED:
        case INPUT_NEARLY: a[i] = i * step; break;
        case INPUT_REVERSED: a[i] = (n - i) * step; break;
        case INPUT_EQUAL: a[i] = 42; break;
        case INPUT_FEW: a[i] = test_random(seed) % 7 << 61; break;
        case INPUT_PIPE: a[i] = (i < n / 2 ? i : n - i) * step; break;
        case INPUT_SAW: a[i] = i % 16 * (UINT64_MAX / 16); break;
        case INPUT_RANDOM:
        case INPUT_SHAPES: a[i] = test_random(seed); break;
        }
    }
    if (shape != INPUT_NEARLY) return;
    for (size_t i = 0; n && i < n / 64 + 1; i++)
        a[test_random(seed) % n] = test_random(seed);
}

/* The same for the same numbers in any order: what a sort does not change. */
static inline uint64_t input_print(const uint64_t *a, size_t n)
{
    uint64_t print = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = a[i];
        print += test_random(&x);
    }
    return print;
}

/* Runs root in runtimes of 1, 2, 8 and 70 workers. */
static inline void input_on_all_workers(heist_root_fn *root, void *arg)
{
    static const unsigned workers[] = {1, 2, 8, 70};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers[i]}), 0);
        CHECK_EQ(heist_run(rt, root, arg), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

#endif
