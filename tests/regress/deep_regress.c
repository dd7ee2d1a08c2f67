/* SPDX-License-Identifier: MIT
 *
 * Waits nested 10^5 deep stand in bounded stacks: each join finds its frame
 * taken, so each one waits, and what it helps with meanwhile waits again.
 */
#include "platform/platform.h"
#include "test.h"

#include <heist.h>

enum {
    DEPTH = 100000,
    RESCUED_DEPTH = 5000
};

typedef HEIST_ATOMIC(int) flag;

static int64_t descend(heist_ctx c, int64_t n);

static void descend_right(heist_ctx c, heist_frame *f)
{
    heist_store_release((flag *)f->arg[1].p, 1);
    f->result.i = descend(c, f->arg[0].i);
}

/* The right half is the rest of the way; the left half waits until somebody has
 * it. */
static int64_t descend(heist_ctx c, int64_t n)
{
    if (n == 0) return 0;
    flag taken = {0};
    heist_frame *right = heist_slot(c);
    right->arg[0].i = n - 1;
    right->arg[1].p = &taken;
    heist_fork(c, descend_right);
    while (!heist_load_acquire(&taken))
        hi_thread_yield();
    CHECK(!heist_join(c));
    return 1 + right->result.i;
}

static void root(heist_ctx c, void *arg)
{
    int64_t *n = arg;
    *n = descend(c, *n);
}

static void nest(heist_exposure exposure, int64_t depth)
{
    heist_runtime *rt = NULL;
    heist_config config = {
        .workers = 2, .exposure = exposure, .stack_bytes = 256 << 10};
    CHECK_EQ(heist_start(&rt, &config), 0);
    int64_t n = depth;
    CHECK_EQ(heist_run(rt, root, &n), 0);
    CHECK_EQ(n, depth);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static int64_t scaled(int64_t depth)
{
    const char *scale = getenv("HEIST_STRESS_SCALE");
    return scale && strtol(scale, NULL, 10) < 100 ? depth / 10 : depth;
}

TEST(nested_waits_stand_in_bounded_stacks)
{
    nest(HEIST_EAGER, scaled(DEPTH));
}

/* The watchman finds them, one after the other. */
TEST(nested_waits_that_are_rescued_stand_in_bounded_stacks)
{
    if (!hi_barrier_init()) exit(77);
    nest(HEIST_ON_DEMAND, scaled(RESCUED_DEPTH));
}
