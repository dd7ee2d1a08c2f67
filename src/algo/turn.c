/* SPDX-License-Identifier: MIT
 *
 * turn.c: elements in the opposite order, in place.
 */
#include "algo/loop.h"
#include "algo/move.h"
#include "algo/order.h"

enum {
    PIECE_BYTES = 32 << 10 /* a few microseconds */
};

typedef struct turn {
    hi_loop loop;
    char *base;
    size_t n, size;
} turn;

HEIST_INLINE void swap_range(const turn *t, size_t begin, size_t end,
                             size_t size)
{
    char *left = t->base + begin * size;
    char *right = t->base + (t->n - 1 - begin) * size;
    for (; begin < end; begin++, left += size, right -= size)
        hi_swap(left, right, size);
}

static void turn_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const turn *t = heist_container(l, turn, loop);
    (void)c;
    HI_BY_SIZE(t->size, swap_range, t, begin, end);
}

void hi_turn_round(heist_ctx c, void *base, size_t n, size_t size)
{
    turn t = {{.piece = turn_piece, .grain = hi_block(PIECE_BYTES, size)},
              base,
              n,
              size};
    hi_loop_run(c, &t.loop, 0, n / 2);
}
