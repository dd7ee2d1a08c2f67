/* SPDX-License-Identifier: MIT
 *
 * An n-ary join: as many forks in a row as a board has free squares in its
 * next row, then as many results.
 */
#include <heist.h>
#include <stdio.h>
#include <string.h>

enum {
    N = 12
};

static const uint32_t all = (1u << N) - 1;

static inline long place(heist_ctx c, uint32_t columns, uint32_t left,
                         uint32_t right);

static void place_frame(heist_ctx c, heist_frame *f)
{
    f->result.i = place(c, (uint32_t)f->arg[0].u, (uint32_t)f->arg[1].u,
                        (uint32_t)f->arg[2].u);
}

/* Counts the ways to go on from the attacked columns and diagonals. */
static inline long place(heist_ctx c, uint32_t columns, uint32_t left,
                         uint32_t right)
{
    if (columns == all) return 1;
    heist_ctx k = c; /* moves up one slot at each fork */
    uint32_t open = all & ~(columns | left | right);
    for (; open; open &= open - 1) {
        uint32_t queen = open & -open;
        heist_frame *f = heist_slot(k);
        f->arg[0].u = columns | queen;
        f->arg[1].u = (left | queen) << 1;
        f->arg[2].u = (right | queen) >> 1;
        k = heist_fork(k, place_frame);
    }
    long ways = 0;
    while (k.frame != c.frame) /* ... and down one at each join */
        ways += heist_done(&k)->result.i;
    return ways;
}

static void root(heist_ctx c, void *arg)
{
    *(long *)arg = place(c, 0, 0, 0);
}

static long place_serial(uint32_t columns, uint32_t left, uint32_t right)
{
    if (columns == all) return 1;
    long ways = 0;
    uint32_t open = all & ~(columns | left | right);
    for (; open; open &= open - 1) {
        uint32_t queen = open & -open;
        ways += place_serial(columns | queen, (left | queen) << 1,
                             (right | queen) >> 1);
    }
    return ways;
}

int main(void)
{
    long ways = 0;
    int rc = heist_run(NULL, root, &ways);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    long wanted = place_serial(0, 0, 0);
    printf("%d queens: %ld ways, wanted %ld\n", N, ways, wanted);
    return ways != wanted;
}
