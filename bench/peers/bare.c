/* SPDX-License-Identifier: MIT */
/*
 * No library at all: what the machine allows at the moment.
 *
 * A problem is solved twice, by two threads that share nothing, each as serial
 * code does; the driver counts half the time.  A region is the serial one,
 * called by a function that stands alone in its page and does nothing else: less
 * than that no library can do.
 */
#include "../ours.h"

#include <pthread.h>

typedef uint64_t solver(const void *problem);

struct half {
    solver *solve;
    const void *problem;
    uint64_t result;
};

static void *solve_half(void *arg)
{
    struct half *h = arg;
    h->result = h->solve(h->problem);
    return NULL;
}

static uint64_t twice(solver *solve, const void *problem)
{
    struct half a = {solve, problem, 0}, b = a;
    pthread_t other;
    if (pthread_create(&other, NULL, solve_half, &b)) bench_die("no thread");
    solve_half(&a);
    pthread_join(other, NULL);
    if (a.result != b.result) bench_die("two threads with two results");
    return a.result;
}

static uint64_t solve_fib(const void *n)
{
    return serial_fib(*(const unsigned *)n);
}

static uint64_t solve_nqueens(const void *n)
{
    return serial_nqueens(*(const unsigned *)n);
}

static uint64_t solve_uts(const void *seed)
{
    return serial_uts(*(const uint64_t *)seed);
}

static uint64_t solve_uts_fine(const void *seed)
{
    return serial_uts_fine(*(const uint64_t *)seed);
}

static uint64_t solve_tree(const void *root)
{
    return serial_tree(root);
}

struct loop {
    uint64_t n;
    bool skewed;
};

static uint64_t solve_loop(const void *problem)
{
    const struct loop *l = problem;
    return serial_loop(l->n, l->skewed);
}

static uint64_t bare_fib(unsigned n)
{
    return twice(solve_fib, &n);
}

static uint64_t bare_nqueens(unsigned n)
{
    return twice(solve_nqueens, &n);
}

static uint64_t bare_uts(uint64_t seed)
{
    return twice(solve_uts, &seed);
}

static uint64_t bare_uts_fine(uint64_t seed)
{
    return twice(solve_uts_fine, &seed);
}

static uint64_t bare_tree(const struct bench_node *root)
{
    return twice(solve_tree, root);
}

static uint64_t bare_loop(uint64_t n, bool skewed)
{
    return twice(solve_loop, &(struct loop){n, skewed});
}

/* --- regions -------------------------------------------------------------- */

enum {
    PAGE = 4096
};

/* As a call of a library's: the function comes as an argument, the result goes
 * by way of this one. */
__attribute__((noinline, section("apart"), aligned(PAGE))) static uint64_t
call(uint64_t (*fn)(uint64_t leaves), uint64_t leaves)
{
    __asm__ volatile("" : "+r"(fn));
    uint64_t result = fn(leaves);
    __asm__ volatile("" : "+r"(result));
    return result;
}

static uint64_t bare_region(uint64_t leaves)
{
    return call(serial_region, leaves);
}

static void start(unsigned workers, const char *policy)
{
    if (workers != 2 || policy) bench_die("bare means 2 workers, no policy");
}

static void stop(void)
{
}

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .fib = bare_fib,
    .nqueens = bare_nqueens,
    .uts = bare_uts,
    .uts_fine = bare_uts_fine,
    .tree = bare_tree,
    .loop = bare_loop,
    .region = bare_region,
};
