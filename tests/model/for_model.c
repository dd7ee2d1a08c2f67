/* SPDX-License-Identifier: MIT
 *
 * Pieces that fail at one time: the error of the first of them is kept.  It is
 * plain memory, so two who write it at once race.
 */
#include "model.h"

#include "algo/for.c"
#include "algo/loop.c"

static try_loop loop;

static void setup(void)
{
    loop = (try_loop){.error = 0};
    heist_init(&loop.taken, false);
    heist_init(&loop.failed, SIZE_MAX);
}

/* Pieces 0, 1, ... fail with -1, -2, ... */
static void fail_piece(unsigned id)
{
    note_failure(&loop, id, -1 - (int)id);
}

static void after(void)
{
    model_check(heist_load_relaxed(&loop.failed) == 0);
    model_check(loop.error == -1);
    model_check(!heist_load_relaxed(&loop.taken));
}

static const model_test tests[] = {
    {MODEL_TEST("of_two_failures_the_first_counts", 2, setup, fail_piece, after,
                NULL),
     MODEL_BOUNDS(3, 2, 4, 2)},
    {MODEL_TEST("of_three_failures_the_first_counts", 3, setup, fail_piece,
                after, NULL),
     MODEL_BOUNDS(2, 2, 3, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
