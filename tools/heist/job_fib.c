/* SPDX-License-Identifier: MIT
 *
 * Fibonacci numbers by their definition: almost nothing but calls, so what is
 * seen is the price of a fork.
 */
#include "demo.h"

#include <errno.h>
#include <stdlib.h>

typedef struct state {
    long n;
    long value;
} state;

static int job_open(void **out, bool small, char *title)
{
    state *s = calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->n = small ? 32 : 40;
    snprintf(title, DEMO_TITLE, "fib %ld", s->n);
    *out = s;
    return 0;
}

static inline long fib_serial(long n)
{
    if (n < 2) return n;
    return fib_serial(n - 1) + fib_serial(n - 2);
}

static inline long fib(heist_ctx c, long n);

static void fib_right(heist_ctx c, heist_frame *f)
{
    f->result.i = fib(c, f->arg[0].i);
}

static inline long fib(heist_ctx c, long n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    long left = fib(heist_fork(c, fib_right), n - 1);
    if (heist_join(c)) return left + fib(c, n - 2);
    return left + right->result.i;
}

static void job_serial(void *arg)
{
    state *s = arg;
    s->value = fib_serial(s->n);
}

static void job_parallel(heist_ctx c, void *arg)
{
    state *s = arg;
    s->value = fib(c, s->n);
}

static bool job_right(void *arg, char *why)
{
    state *s = arg;
    long a = 0, b = 1;
    for (long i = 0; i < s->n; i++) {
        long next = a + b;
        a = b;
        b = next;
    }
    snprintf(why, DEMO_WHY, "got %ld, wanted %ld", s->value, a);
    return s->value == a;
}

const demo_job demo_fib = {
    .name = "fib",
    .open = job_open,
    .close = free,
    .serial = job_serial,
    .parallel = job_parallel,
    .right = job_right,
};
