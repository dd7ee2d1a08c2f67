/* SPDX-License-Identifier: MIT
 *
 * Blocks that depend on the ones before them: whoever takes, holds and leaves
 * them, each is finished once, and with what comes before it.
 *
 * The sums, what comes before and the elements are plain memory: who reads them
 * without having been told races.  The rooms are the checker's memory: who uses
 * them when they were given back, or forgets to do so, is found.
 */
#include "model.h"

#include "fork/scratch.h"
#include "platform/platform.h"

#include <stdlib.h>

static void *get_scratch(size_t bytes)
{
    return aligned_alloc(HEIST_LINE, bytes);
}

/* Patience ends after a few looks. */
static uint64_t ticks(void);
#define hi_ticks ticks
#define hi_scratch_get(c, count, size) \
    ((void)(c), get_scratch((count) * (size)))
#define hi_scratch_put(c, p, count, size) ((void)(c), free(p))
#include "algo/chain.c"
#undef hi_ticks

enum {
    BLOCKS_MAX = 6,
    STRIDE = 2 * HEIST_LINE,
    PLACES = 2,       /* of one who is at work */
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
    (void)h, (void)end;
    *(int *)sum = element[begin];
    out[begin] = element[begin];
    if (room) *(int *)room = element[begin];
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
    (void)h, (void)end;
    model_check(*(int *)sum == element[begin]);
    if (room) model_check(*(const int *)room == element[begin]);
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
                .blocks = blocks,
                .set_bytes = 2 * HEIST_LINE,
                .most_sets = 2};
    heist_init(&t.next, 0u);
    heist_init(&t.sets, 0u);
    for (size_t k = 0; k <= blocks; k++) {
        slot *s = slot_of(&t, k);
        heist_init(&s->state, k ? BARE : KNOWN);
        s->set = NULL;
        s->room = NULL;
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

static void setup_rooms(size_t blocks)
{
    setup(blocks);
    chain.room = sizeof(int);
}

static void setup_three_rooms(void)
{
    setup_rooms(3);
}

static void setup_five_rooms(void)
{
    setup_rooms(5);
}

static void work_with(set *rooms)
{
    hand h = {.t = &t, .set = rooms, .free = (1 << PLACES) - 1};
    while (step(&h))
        ;
    leave(&h);
}

static void work_at_it(unsigned id)
{
    (void)id;
    work_with(NULL);
}

/* With rooms, as often as there are any.  Who came first has some. */
static void work_in_rooms(unsigned id)
{
    set *rooms;
    (void)id;
    /* relaxed: hint */
    while (heist_load_relaxed(&t.next) < t.blocks &&
           (rooms = get_set((heist_ctx){0}, &t)) != NULL)
        work_with(rooms);
}

static void after(void)
{
    for (size_t k = 0; k < t.blocks; k++) {
        model_check(done[k] == 1);
        model_check(out[k] == (2 << k) - 1);
    }
    model_check(*(int *)before_of(&t, t.blocks) == (1 << t.blocks) - 1);
    model_check(heist_load_relaxed(&t.sets) == 0);
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
    {MODEL_TEST("rooms_are_given_back_once_and_not_too_soon", 2,
                setup_three_rooms, work_in_rooms, after, all_ways_were_seen),
     MODEL_BOUNDS(2, 1, 4, 2)},
    {MODEL_TEST("rooms_of_blocks_that_were_left_outlive_their_worker", 2,
                setup_five_rooms, work_in_rooms, after, all_ways_were_seen),
     MODEL_BOUNDS(2, 1, 3, 2)},
    {MODEL_TEST("three_workers_find_rooms_for_two", 3, setup_three_rooms,
                work_in_rooms, after, all_ways_were_seen),
     MODEL_BOUNDS(1, 1, 3, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
