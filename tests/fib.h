/* SPDX-License-Identifier: MIT */
#ifndef HEIST_TEST_FIB_H
#define HEIST_TEST_FIB_H

/* Forks and nothing else, with a result that is known: fib(15) is 610. */
#include <heist/fork.h>

static inline int64_t fib(heist_ctx c, int64_t n);

static inline void fib_right(heist_ctx c, heist_frame *f)
{
    f->result.i = fib(c, f->arg[0].i);
}

static inline int64_t fib(heist_ctx c, int64_t n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    int64_t left = fib(heist_fork(c, fib_right), n - 1);
    if (heist_join(c)) return left + fib(c, n - 2);
    return left + right->result.i;
}

/* *arg becomes the number of that index. */
static inline void fib_root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = fib(c, *n);
}

#endif
