/* SPDX-License-Identifier: MIT */
/*
 * A short parallel region in a program that does other things in between: a
 * binary tree of leaves of 0.72 us.  No leaves: one fork with two sides that
 * do nothing.
 */
#include "ours.h"

static uint64_t span(uint64_t from, uint64_t to)
{
    if (to - from == 1) return bench_leaf(from);
    uint64_t middle = from + (to - from) / 2;
    return span(from, middle) + span(middle, to);
}

/* Opaque, or the serial region is empty in earnest. */
static __attribute__((noinline)) uint64_t nothing(void)
{
    __asm__ volatile("");
    return 0;
}

uint64_t serial_region(uint64_t leaves)
{
    return leaves ? span(0, leaves) : nothing() + nothing();
}

static uint64_t par_span(heist_ctx c, uint64_t from, uint64_t to);

static void span_right(heist_ctx c, heist_frame *f)
{
    f->result.u = par_span(c, f->arg[0].u, f->arg[1].u);
}

static uint64_t par_span(heist_ctx c, uint64_t from, uint64_t to)
{
    if (from == to) return nothing();
    if (to - from == 1) return bench_leaf(from);
    uint64_t middle = from + (to - from) / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].u = middle;
    right->arg[1].u = to;
    uint64_t left = par_span(heist_fork(c, span_right), from, middle);
    if (heist_join(c)) return left + par_span(c, middle, to);
    return left + right->result.u;
}

static uint64_t fork_nothing(heist_ctx c)
{
    heist_frame *right = heist_slot(c);
    right->arg[0].u = right->arg[1].u = 0;
    heist_ctx k = heist_fork(c, span_right);
    uint64_t left = par_span(k, 0, 0);
    if (heist_join(c)) return left + par_span(c, 0, 0);
    return left + right->result.u;
}

static void root(heist_ctx c, void *arg)
{
    uint64_t *inout = arg;
    *inout = *inout ? par_span(c, 0, *inout) : fork_nothing(c);
}

uint64_t ours_region(uint64_t leaves)
{
    ours_run(root, &leaves);
    return leaves;
}

/* --- one task alone ------------------------------------------------------- */

struct alone {
    void (*fn)(void *arg);
    void *arg;
    uint64_t sum;
};

void serial_alone(void (*fn)(void *arg), void *arg)
{
    fn(arg);
}

static void alone_root(heist_ctx c, void *arg)
{
    struct alone *a = arg;
    a->sum = par_span(c, 0, BENCH_ALONE_LEAVES);
    a->fn(a->arg);
}

void ours_alone(void (*fn)(void *arg), void *arg)
{
    struct alone a = {fn, arg, 0};
    ours_run(alone_root, &a);
}
