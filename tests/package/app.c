/* SPDX-License-Identifier: MIT */
/* A user's program: the installed headers, one call into the library. */
#include <heist.h>

#include <stdio.h>

static inline long fib(heist_ctx c, long n);

static void fib_right(heist_ctx c, heist_frame *f)
{
    f->result.i = fib(c, (long)f->arg[0].i);
}

static inline long fib(heist_ctx c, long n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    long left = fib(heist_fork(c, fib_right), n - 1);
    if (heist_join(c)) return left + fib(c, n - 2);
    return left + (long)right->result.i;
}

static void root(heist_ctx c, void *arg)
{
    long *n = (long *)arg; /* the cast is for C++ */
    *n = fib(c, *n);
}

int main(void)
{
    long n = 20;
    int rc = heist_run(NULL, root, &n);
    printf("fib(20) = %ld, %u workers\n", n, heist_workers(NULL));
    return rc == 0 && n == 6765 ? 0 : 1;
}
