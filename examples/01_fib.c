/* SPDX-License-Identifier: MIT
 *
 * Fork-join in its smallest form: one half is left in a slot for whoever has
 * time, the other half is called.
 */
#include <heist.h>
#include <stdio.h>
#include <string.h>

static inline long fib(heist_ctx c, long n);

/* The right half, when another worker took it. */
static void fib_right(heist_ctx c, heist_frame *f)
{
    f->result.i = fib(c, f->arg[0].i);
}

/* `inline` lets gcc unroll the recursion through the fork. */
static inline long fib(heist_ctx c, long n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    long left = fib(heist_fork(c, fib_right), n - 1);
    if (heist_join(c)) return left + fib(c, n - 2); /* nobody took it */
    return left + right->result.i;
}

static void root(heist_ctx c, void *arg)
{
    long *n = arg;
    *n = fib(c, *n);
}

/* Counting up gives the same number without any recursion. */
static long fib_serial(long n)
{
    long a = 0, b = 1;
    for (long i = 0; i < n; i++) {
        long next = a + b;
        a = b;
        b = next;
    }
    return a;
}

int main(void)
{
    long n = 36;
    long value = n;
    int rc = heist_run(NULL, root, &value); /* this thread takes part */
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    long wanted = fib_serial(n);
    printf("fib(%ld) = %ld, wanted %ld\n", n, value, wanted);
    return value != wanted;
}
