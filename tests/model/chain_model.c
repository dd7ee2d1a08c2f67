/* SPDX-License-Identifier: MIT
 *
 * Blocks that depend on the ones before them: whoever takes, holds and leaves
 * them, each is finished once, and with what comes before it.
 *
 * The sums, what comes before and the elements are plain memory: who reads them
 * without having been told races.
 */
#include "model.h"

#include "platform/platform.h"

/* Patience ends after a few looks. */
static uint64_t ticks(void);
#define hi_ticks ticks
#include "algo/chain.c"
#undef hi_ticks

enum {
    BLOCKS_MAX = 6,
    STRIDE = 2 * HEIST_LINE,
    LOOK_TIME = 15000 /* ns */
};

enum {
    PASSED, /* seen in some execution */
    FINISHED_BY_HOLDER,
    FINISHED_FOR_ANOTHER
};

static hi_chain chain;
static table t;
static unsigned char slots[(BLOCKS_MAX + 1) * STRIDE]
    __attribute__((aligned(HEIST_LINE)));
static int element[BLOCKS_MAX], out[BLOCKS_MAX], done[BLOCKS_MAX];
static unsigned summed_by[BLOCKS_MAX];

static uint64_t ticks(void)
{
    return (uint64_t)hi_clock() * LOOK_TIME;
}

static void pass_block(hi_chain *h, size_t begin, size_t end, void *before,
                       void *spare)
{
    int *sum = before;
    (void)h, (void)spare;
    model_check(end == begin + 1);
    *sum += element[begin];
    out[begin] = *sum;
    done[begin]++;
    model_saw(PASSED);
}

static void sum_block(hi_chain *h, size_t begin, size_t end, void *sum,
                      void *room)
{
    (void)h, (void)end, (void)room;
    *(int *)sum = element[begin];
    out[begin] = element[begin];
    summed_by[begin] = model_self();
}

static void add_sum(hi_chain *h, void *before, const void *sum)
{
    (void)h;
    *(int *)before += *(const int *)sum;
}

static void finish_block(hi_chain *h, size_t begin, size_t end, void *before,
                         void *sum, const void *room)
{
    (void)h, (void)end, (void)room;
    model_check(*(int *)sum == element[begin]);
    out[begin] += *(int *)before;
    done[begin]++;
    model_saw(summed_by[begin] == model_self() ? FINISHED_BY_HOLDER
                                               : FINISHED_FOR_ANOTHER);
}

static void setup(size_t blocks)
{
    chain = (hi_chain){.pass = pass_block,
                       .sum = sum_block,
                       .add = add_sum,
                       .finish = finish_block,
                       .value = sizeof(int)};
    t = (table){.chain = &chain,
                .slots = slots,
                .stride = STRIDE,
                .slot_at = 8,
                .before_at = HEIST_LINE,
                .end = blocks,
                .block = 1,
                .blocks = blocks};
    heist_init(&t.next, 0u);
    for (size_t k = 0; k <= blocks; k++) {
        slot *s = slot_of(&t, k);
        heist_init(&s->state, k ? BARE : KNOWN);
        s->room = s->rooms = NULL;
    }
    memset(before_of(&t, 0), 0, sizeof(int));
    for (size_t k = 0; k < blocks; k++)
        element[k] = 1 << k;
}

static void setup_two(void)
{
    setup(2);
}

static void setup_three(void)
{
    setup(3);
}

static void setup_four(void)
{
    setup(4);
}

static void setup_five(void)
{
    setup(5);
}

static void work_at_it(unsigned id)
{
    hand h = {.t = &t, .free = 3}; /* two places */
    (void)id;
    while (step(&h))
        ;
    leave(&h);
}

static void after(void)
{
    for (size_t k = 0; k < t.blocks; k++) {
        model_check(done[k] == 1);
        model_check(out[k] == (2 << k) - 1);
    }
    model_check(*(int *)before_of(&t, t.blocks) == (1 << t.blocks) - 1);
}

static void all_ways_were_seen(void)
{
    model_check(model_seen() >> PASSED & 1);
    model_check(model_seen() >> FINISHED_BY_HOLDER & 1);
    model_check(model_seen() >> FINISHED_FOR_ANOTHER & 1);
}

static const model_test tests[] = {
    {MODEL_TEST("two_workers_finish_two_blocks", 2, setup_two, work_at_it,
                after, all_ways_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("two_workers_finish_four_blocks", 2, setup_four, work_at_it,
                after, all_ways_were_seen),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("three_workers_finish_three_blocks", 3, setup_three, work_at_it,
                after, all_ways_were_seen),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("three_workers_finish_five_blocks", 3, setup_five, work_at_it,
                after, all_ways_were_seen),
     MODEL_BOUNDS(1, 1, 3, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
