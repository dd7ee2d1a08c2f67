/* SPDX-License-Identifier: MIT */
/*
 * Fibonacci numbers by the definition: nothing but forks.  fib(n) makes
 * fib(n + 1) - 1 of them.
 */
#include "ours.h"

static int64_t fib(int64_t n)
{
    if (n < 2) return n;
    return fib(n - 1) + fib(n - 2);
}

uint64_t serial_fib(unsigned n)
{
    return (uint64_t)fib(n);
}

static inline int64_t par_fib(heist_ctx c, int64_t n);

static void fib_right(heist_ctx c, heist_frame *f)
{
    f->result.i = par_fib(c, f->arg[0].i);
}

static inline int64_t par_fib(heist_ctx c, int64_t n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    int64_t left = par_fib(heist_fork(c, fib_right), n - 1);
    if (heist_join(c)) return left + par_fib(c, n - 2);
    return left + right->result.i;
}

static void root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = par_fib(c, *n);
}

uint64_t ours_fib(unsigned n)
{
    int64_t inout = n;
    ours_run(root, &inout);
    return (uint64_t)inout;
}
