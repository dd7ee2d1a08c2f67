/* SPDX-License-Identifier: MIT
 *
 * The ways to place n queens on a board: a fork for each square of a row,
 * down to the last row.
 */
#include "demo.h"

#include <errno.h>
#include <stdlib.h>

typedef struct state {
    int n;
    long wanted; /* OEIS A000170 */
    long ways;
} state;

static int job_open(void **out, bool small, char *title)
{
    state *s = calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->n = small ? 12 : 14;
    s->wanted = small ? 14200 : 365596;
    snprintf(title, DEMO_TITLE, "%d queens", s->n);
    *out = s;
    return 0;
}

/* The rows so far: columns and diagonals that are attacked in the next one. */
typedef struct board {
    uint32_t all, columns, left, right;
} board;

static inline uint32_t open_squares(board b)
{
    return b.all & ~(b.columns | b.left | b.right);
}

static inline board with_queen(board b, uint32_t queen)
{
    return (board){b.all, b.columns | queen, (b.left | queen) << 1,
                   (b.right | queen) >> 1};
}

static inline long place_serial(board b)
{
    if (b.columns == b.all) return 1;
    long ways = 0;
    for (uint32_t open = open_squares(b); open; open &= open - 1)
        ways += place_serial(with_queen(b, open & -open));
    return ways;
}

static inline long place(heist_ctx c, board b);

static inline board board_of(const heist_frame *f)
{
    return (board){(uint32_t)f->arg[0].u, (uint32_t)f->arg[1].u,
                   (uint32_t)f->arg[2].u, (uint32_t)f->arg[3].u};
}

static void place_frame(heist_ctx c, heist_frame *f)
{
    f->result.i = place(c, board_of(f));
}

static inline long place(heist_ctx c, board b)
{
    if (b.columns == b.all) return 1;
    heist_ctx k = c;
    for (uint32_t open = open_squares(b); open; open &= open - 1) {
        board next = with_queen(b, open & -open);
        heist_frame *f = heist_slot(k);
        f->arg[0].u = next.all;
        f->arg[1].u = next.columns;
        f->arg[2].u = next.left;
        f->arg[3].u = next.right;
        k = heist_fork(k, place_frame);
    }
    long ways = 0;
    while (k.frame != c.frame) { /* heist_done, with a call by name */
        k.frame--;
        heist_frame *f = heist_slot(k);
        ways += heist_join(k) ? place(k, board_of(f)) : f->result.i;
    }
    return ways;
}

static board empty(int n)
{
    return (board){(1u << n) - 1, 0, 0, 0};
}

static void job_serial(void *arg)
{
    state *s = arg;
    s->ways = place_serial(empty(s->n));
}

static void job_parallel(heist_ctx c, void *arg)
{
    state *s = arg;
    s->ways = place(c, empty(s->n));
}

static bool job_right(void *arg, char *why)
{
    state *s = arg;
    snprintf(why, DEMO_WHY, "got %ld ways, wanted %ld", s->ways, s->wanted);
    return s->ways == s->wanted;
}

const demo_job demo_nqueens = {
    .name = "nqueens",
    .open = job_open,
    .close = free,
    .serial = job_serial,
    .parallel = job_parallel,
    .right = job_right,
};
