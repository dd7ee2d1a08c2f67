/* SPDX-License-Identifier: MIT */
/*
 * What a fork and its join add to serial code, in instructions: the program
 * that bench/instructions runs under callgrind.
 *
 *     instructions loop|fork-loop|fib|fork-fib N
 *
 * loop and fib are the serial elisions of fork-loop and fork-fib: the same
 * code without context, slot, fork and join.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heist/fork.h>
#include <heist/runtime.h>

#define OPAQUE __attribute__((noinline))

/* The empty asm keeps the compiler from seeing that a leaf needs no context
 * or has no effect; it costs no instruction. */
static OPAQUE int64_t left_leaf(int64_t i)
{
    __asm__ volatile("" : "+r"(i));
    return i + 1;
}

static OPAQUE int64_t right_leaf(int64_t i)
{
    __asm__ volatile("" : "+r"(i));
    return i + 2;
}

static OPAQUE int64_t fork_left_leaf(heist_ctx c, int64_t i)
{
    __asm__ volatile("" : "+r"(i) : "r"(c.strand), "r"(c.frame));
    return i + 1;
}

static OPAQUE int64_t fork_right_leaf(heist_ctx c, int64_t i)
{
    __asm__ volatile("" : "+r"(i) : "r"(c.strand), "r"(c.frame));
    return i + 2;
}

static OPAQUE int64_t loop(int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t left = left_leaf(i);
        sum += left + right_leaf(i);
    }
    return sum;
}

static void right_of_loop(heist_ctx c, heist_frame *f)
{
    f->result.i = fork_right_leaf(c, f->arg[0].i);
}

static OPAQUE int64_t fork_loop(heist_ctx c, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        heist_frame *right = heist_slot(c);
        right->arg[0].i = i;
        int64_t left = fork_left_leaf(heist_fork(c, right_of_loop), i);
        if (heist_join(c))
            sum += left + fork_right_leaf(c, i);
        else
            sum += left + right->result.i;
    }
    return sum;
}

static int64_t fib(int64_t n)
{
    if (n < 2) return n;
    return fib(n - 1) + fib(n - 2);
}

static inline int64_t fork_fib(heist_ctx c, int64_t n);

static void right_of_fork_fib(heist_ctx c, heist_frame *f)
{
    f->result.i = fork_fib(c, f->arg[0].i);
}

static inline int64_t fork_fib(heist_ctx c, int64_t n)
{
    if (n < 2) return n;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 2;
    int64_t left = fork_fib(heist_fork(c, right_of_fork_fib), n - 1);
    if (heist_join(c)) return left + fork_fib(c, n - 2);
    return left + right->result.i;
}

/* What is counted, on the thread that runs it: these four and all they call. */
static OPAQUE void run_loop(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    (void)c;
    *n = loop(*n);
}

static OPAQUE void run_fork_loop(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = fork_loop(c, *n);
}

static OPAQUE void run_fib(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    (void)c;
    *n = fib(*n);
}

static OPAQUE void run_fork_fib(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = fork_fib(c, *n);
}

static int64_t in_heist(heist_root_fn *fn, int64_t n)
{
    heist_config config = {.workers = 1};
    heist_runtime *rt;
    if (heist_start(&rt, &config) < 0 || heist_run(rt, fn, &n) < 0 ||
        heist_stop(rt, HEIST_FOREVER) < 0) {
        fputs("instructions: heist does not run\n", stderr);
        exit(1);
    }
    return n;
}

int main(int argc, char **argv)
{
    int64_t n = argc == 3 ? atoll(argv[2]) : 0, result = 0;
    if (n && !strcmp(argv[1], "loop"))
        result = in_heist(run_loop, n);
    else if (n && !strcmp(argv[1], "fork-loop"))
        result = in_heist(run_fork_loop, n);
    else if (n && !strcmp(argv[1], "fib"))
        result = in_heist(run_fib, n);
    else if (n && !strcmp(argv[1], "fork-fib"))
        result = in_heist(run_fork_fib, n);
    else
        return 2;
    printf("%lld\n", (long long)result);
    return 0;
}
