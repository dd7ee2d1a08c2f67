/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "platform/platform.h"
#include "race.h"

#include <errno.h>

enum {
    MOST = 300000
};

/* How often each iteration of a range from `begin` on was run. */
typedef struct tally {
    size_t begin, n;
    HEIST_ATOMIC(uint8_t) *times;
    size_t grain;  /* of the call, or 0 */
    size_t enough; /* this index ends the loop */
    size_t bad[2]; /* these fail */
} tally;

static tally tally_of(size_t begin, size_t n)
{
    tally t = {.begin = begin, .n = n, .enough = SIZE_MAX};
    t.bad[0] = t.bad[1] = SIZE_MAX;
    t.times = calloc(n + 1, sizeof *t.times);
    CHECK(t.times != NULL);
    return t;
}

/* Iterations 0 .. upto - 1 ran once, the others at most once. */
static void tally_check(tally *t, size_t upto)
{
    for (size_t i = 0; i < t->n; i++) {
        int times = heist_load_relaxed(&t->times[i]);
        CHECK(i < upto ? times == 1 : times <= 1);
    }
    free((void *)t->times);
}

static void count(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    tally *t = arg;
    CHECK(begin < end);
    CHECK(begin >= t->begin && end - t->begin <= t->n);
    if (t->grain) {
        CHECK(end - begin <= t->grain);
        CHECK(2 * (end - begin) >= t->grain || end - begin == t->n);
    }
    for (size_t i = begin; i < end; i++)
        heist_add_relaxed(&t->times[i - t->begin], 1);
}

static bool count_while(heist_ctx c, size_t begin, size_t end, void *arg)
{
    tally *t = arg;
    count(c, begin, end, arg);
    return t->enough < begin || t->enough >= end;
}

/* The error tells the index. */
static int count_try(heist_ctx c, size_t begin, size_t end, void *arg)
{
    tally *t = arg;
    for (size_t i = begin; i < end; i++) {
        for (int k = 0; k < 2; k++)
            if (i == t->bad[k]) return -(int)(i - t->begin) - 1;
        count(c, i, i + 1, arg);
    }
    return 0;
}

/* Sizes 0 to 100, then some up to MOST. */
static size_t nth_size(size_t i, uint64_t *seed)
{
    return i <= 100 ? i : test_random(seed) % MOST;
}

enum {
    SIZES = 106
};

static void loops(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = nth_size(i, &seed), begin = test_random(&seed) % 1000;
        tally t = tally_of(begin, n);
        heist_for(c, begin, begin + n, count, &t);
        tally_check(&t, n);
        t = tally_of(begin, n);
        CHECK(heist_for_while(c, begin, begin + n, count_while, &t));
        tally_check(&t, n);
        t = tally_of(begin, n);
        CHECK_EQ(heist_try_for(c, begin, begin + n, count_try, &t), 0);
        tally_check(&t, n);
    }
}

TEST(every_iteration_runs_once)
{
    input_on_all_workers(loops, NULL);
}

static void grains(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = nth_size(i, &seed);
        for (size_t g = 0; g < 20; g++) {
            size_t grain = g < 10 ? g : 1 + test_random(&seed) % (n + 10);
            if (n > 100 && (grain < 10 || g > 12)) continue;
            tally t = tally_of(0, n);
            t.grain = grain ? grain : 1;
            heist_for_grain(c, 0, n, grain, count, &t);
            tally_check(&t, n);
        }
    }
}

TEST(a_given_grain_bounds_the_pieces_from_above_and_below)
{
    input_on_all_workers(grains, NULL);
}

static int fail(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c, (void)begin, (void)end, (void)arg;
    return -EIO;
}

static void edges(heist_ctx c, void *arg)
{
    (void)arg;
    heist_for(c, 5, 4, NULL, NULL);
    heist_for(c, SIZE_MAX, 0, NULL, NULL);
    heist_for_grain(c, 5, 5, 3, NULL, NULL);
    heist_for_2d(c, 0, SIZE_MAX, 0, 0, NULL, NULL);
    heist_for_2d(c, SIZE_MAX, 0, 1, 1, NULL, NULL);
    CHECK(heist_for_while(c, 9, 3, NULL, NULL));
    CHECK_EQ(heist_try_for(c, 9, 3, fail, NULL), 0);
    tally t = tally_of(SIZE_MAX - 1000, 1000);
    heist_for(c, SIZE_MAX - 1000, SIZE_MAX, count, &t);
    tally_check(&t, 1000);
    t = tally_of(SIZE_MAX - 1000, 1000);
    t.grain = 7;
    heist_for_grain(c, SIZE_MAX - 1000, SIZE_MAX, 7, count, &t);
    tally_check(&t, 1000);
    t = tally_of(SIZE_MAX - 1000, 1000);
    CHECK(heist_for_while(c, SIZE_MAX - 1000, SIZE_MAX, count_while, &t));
    tally_check(&t, 1000);
}

TEST(ranges_may_be_empty_and_end_where_numbers_do)
{
    input_on_all_workers(edges, NULL);
}

/* --- ends ------------------------------------------------------------------ */

static void failures(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (size_t i = 1; i < 4 * SIZES; i++) {
        size_t n = nth_size(i / 4, &seed) + 1;
        tally t = tally_of(0, n);
        t.bad[0] = test_random(&seed) % n;
        t.bad[1] = test_random(&seed) % n;
        size_t first = t.bad[0] < t.bad[1] ? t.bad[0] : t.bad[1];
        CHECK_EQ(heist_try_for(c, 0, n, count_try, &t), -(int)first - 1);
        tally_check(&t, first);
        tally again = tally_of(0, n);
        memcpy(again.bad, t.bad, sizeof t.bad);
        size_t grain = test_random(&seed) % (n + 10);
        CHECK_EQ(heist_try_for_grain(c, 0, n, grain, count_try, &again),
                 -(int)first - 1);
        tally_check(&again, first);
    }
}

TEST(the_error_of_the_lowest_index_wins_and_all_before_it_has_run)
{
    input_on_all_workers(failures, NULL);
}

/*
 * Two failures, EARLY and all from LATE on.  The first waits until the second is
 * over, or under way and waiting for the first in turn.
 */
static int race_body(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    race *r = arg;
    for (size_t i = begin; i < end; i++) {
        if (i == WAITS) await(&r->late); /* it is under way, or over */
        if (i == EARLY) {
            heist_store_relaxed(&r->early, 1);
            return -EARLY;
        }
        if (i < LATE) continue;
        heist_store_relaxed(&r->late, 1);
        if (!r->late_first) await(&r->early);
        return -LATE;
    }
    return 0;
}

static void races(heist_ctx c, void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        race r = {.late_first = i % 2};
        CHECK_EQ(heist_try_for(c, 0, RACE, race_body, &r), -EARLY);
    }
}

TEST(the_lower_of_two_errors_wins_whichever_comes_first)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 8}), 0);
    CHECK_EQ(heist_run(rt, races, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* A loop that nobody lives to see the end of. */
static int endless_try(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    size_t bad = *(size_t *)arg;
    volatile size_t i; /* takes time */
    for (i = begin; i < end; i++)
        if (i >= bad) return -EIO;
    return 0;
}

static bool endless_while(heist_ctx c, size_t begin, size_t end, void *arg)
{
    return endless_try(c, begin, end, arg) == 0;
}

static void endless(heist_ctx c, void *arg)
{
    (void)arg;
    for (size_t bad = 0; bad < 1000000; bad = 10 * bad + 1) {
        CHECK_EQ(heist_try_for(c, 0, SIZE_MAX, endless_try, &bad), -EIO);
        CHECK(!heist_for_while(c, 0, SIZE_MAX, endless_while, &bad));
    }
}

TEST(a_loop_of_2_to_the_64_iterations_ends_when_one_fails)
{
    input_on_all_workers(endless, NULL);
}

/* Alone, nobody else can have begun something. */
static int begin_one(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    size_t bad = *(size_t *)arg;
    CHECK(begin <= bad);
    return bad < end ? -EIO : 0;
}

static bool while_one(heist_ctx c, size_t begin, size_t end, void *arg)
{
    return begin_one(c, begin, end, arg) == 0;
}

static void alone(heist_ctx c, void *arg)
{
    (void)arg;
    for (size_t bad = 0; bad < 3000; bad += 7) {
        CHECK_EQ(heist_try_for(c, 0, 100000, begin_one, &bad), -EIO);
        CHECK(!heist_for_while(c, 0, 100000, while_one, &bad));
    }
}

TEST(after_a_failure_no_later_piece_is_begun)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, alone, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* --- planes ---------------------------------------------------------------- */

typedef struct plane {
    size_t rows, columns, tile_rows, tile_columns;
    HEIST_ATOMIC(uint8_t) *times;
} plane;

/* At most what was given, and at least half of it unless there is no more. */
static void check_side(size_t side, size_t all, size_t given)
{
    if (!given) return;
    CHECK(side <= given);
    CHECK(2 * side >= given || side == all);
}

static void count_tile(heist_ctx c, heist_tile t, void *arg)
{
    (void)c;
    plane *p = arg;
    CHECK(t.row < t.row_end && t.row_end <= p->rows);
    CHECK(t.column < t.column_end && t.column_end <= p->columns);
    check_side(t.row_end - t.row, p->rows, p->tile_rows);
    check_side(t.column_end - t.column, p->columns, p->tile_columns);
    for (size_t r = t.row; r < t.row_end; r++)
        for (size_t k = t.column; k < t.column_end; k++)
            heist_add_relaxed(&p->times[r * p->columns + k], 1);
}

static void check_plane(heist_ctx c, size_t rows, size_t columns,
                        size_t tile_rows, size_t tile_columns)
{
    plane p = {rows, columns, tile_rows, tile_columns, NULL};
    p.times = calloc(rows * columns + 1, sizeof *p.times);
    CHECK(p.times != NULL);
    heist_for_2d(c, rows, columns, tile_rows, tile_columns, count_tile, &p);
    for (size_t i = 0; i < rows * columns; i++)
        CHECK_EQ(heist_load_relaxed(&p.times[i]), 1);
    free((void *)p.times);
}

static void planes(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (size_t rows = 0; rows < 10; rows++)
        for (size_t columns = 0; columns < 10; columns++)
            for (size_t tile = 0; tile < 16; tile++)
                check_plane(c, rows, columns, tile / 4, tile % 4);
    for (int i = 0; i < 10; i++) {
        size_t rows = 1 + test_random(&seed) % 2000;
        size_t columns = 1 + test_random(&seed) % (300000 / rows);
        check_plane(c, rows, columns, 0, 0);
        check_plane(c, rows, columns, test_random(&seed) % 50,
                    test_random(&seed) % 50);
        check_plane(c, rows, columns, test_random(&seed) % 50, 0);
        check_plane(c, rows, columns, 0, test_random(&seed) % 50);
    }
}

TEST(every_cell_of_a_plane_is_in_one_tile_of_about_the_given_size)
{
    input_on_all_workers(planes, NULL);
}

static void square(heist_ctx c, heist_tile t, void *arg)
{
    (void)c, (void)arg;
    size_t rows = t.row_end - t.row, columns = t.column_end - t.column;
    CHECK(rows <= 4 * columns && columns <= 4 * rows);
}

static void squares(heist_ctx c, void *arg)
{
    heist_for_2d(c, 4000, 500, 0, 0, square, arg);
    heist_for_2d(c, 300, 2000, 0, 0, square, arg);
}

TEST(tiles_of_no_given_size_are_nearly_square)
{
    input_on_all_workers(squares, NULL);
}

/* Longer than a piece by the clock would be. */
static void slow_tile(heist_ctx c, heist_tile t, void *arg)
{
    (void)c;
    heist_time until = heist_after(30 * HEIST_MICROSECOND);
    while (heist_now() < until)
        ;
    CHECK_EQ(t.row_end - t.row, 16);
    CHECK_EQ(t.column_end - t.column, 8);
    heist_add_relaxed((HEIST_ATOMIC(int) *)arg, 1);
}

static void slow_tiles(heist_ctx c, void *arg)
{
    (void)arg;
    HEIST_ATOMIC(int) tiles = {0};
    heist_for_2d(c, 128, 64, 16, 8, slow_tile, &tiles);
    CHECK_EQ(heist_load_relaxed(&tiles), 64);
}

TEST(tiles_of_a_given_size_keep_it_however_long_they_take)
{
    input_on_all_workers(slow_tiles, NULL);
}

/* --- bodies that fork ------------------------------------------------------ */

static void inner(heist_ctx c, size_t begin, size_t end, void *arg)
{
    tally *t = arg;
    for (size_t i = begin; i < end; i++)
        heist_for(c, 100 * i, 100 * i + 100, count, t);
}

static void nested(heist_ctx c, void *arg)
{
    (void)arg;
    tally t = tally_of(0, 100 * 1000);
    heist_for(c, 0, 1000, inner, &t);
    tally_check(&t, t.n);
    t = tally_of(0, 100 * 100);
    heist_for_grain(c, 0, 100, 1, inner, &t);
    tally_check(&t, t.n);
}

TEST(a_loop_in_a_loop_runs_every_iteration_once)
{
    input_on_all_workers(nested, NULL);
}

static int inner_try(heist_ctx c, size_t begin, size_t end, void *arg)
{
    tally *t = arg;
    for (size_t i = begin; i < end; i++) {
        int rc = heist_try_for(c, 100 * i, 100 * i + 100, count_try, t);
        if (rc < 0) return rc;
    }
    return 0;
}

static void nested_failures(heist_ctx c, void *arg)
{
    (void)arg;
    uint64_t seed = test_seed;
    for (int i = 0; i < 20; i++) {
        tally t = tally_of(0, 100 * 500);
        t.bad[0] = test_random(&seed) % t.n;
        t.bad[1] = test_random(&seed) % t.n;
        size_t first = t.bad[0] < t.bad[1] ? t.bad[0] : t.bad[1];
        CHECK_EQ(heist_try_for(c, 0, 500, inner_try, &t), -(int)first - 1);
        tally_check(&t, first);
    }
}

TEST(an_error_comes_up_through_a_loop_in_a_loop)
{
    input_on_all_workers(nested_failures, NULL);
}

/* --- balance ------------------------------------------------------------------ */

enum {
    KNOTTED = 4096
};

/*
 * One iteration does not end before another one has run.  Others must have taken
 * what is not in its piece, or the test stands still.
 */
typedef struct knot {
    size_t stuck, far;
    HEIST_ATOMIC(int) untied;
} knot;

static void knotted_for(heist_ctx c, size_t begin, size_t end, void *arg)
{
    knot *k = arg;
    (void)c;
    bool here = begin <= k->stuck && k->stuck < end;
    while (here && !heist_load_acquire(&k->untied))
        hi_thread_yield();
    if (begin <= k->far && k->far < end) heist_store_release(&k->untied, 1);
}

static int knotted_try(heist_ctx c, size_t begin, size_t end, void *arg)
{
    knotted_for(c, begin, end, arg);
    return 0;
}

static void knotted_tile(heist_ctx c, heist_tile t, void *arg)
{
    for (size_t row = t.row; row < t.row_end; row++)
        knotted_for(c, row * 64 + t.column, row * 64 + t.column_end, arg);
}

static void knots(heist_ctx c, void *arg)
{
    (void)arg;
    static const size_t stuck[] = {0, KNOTTED / 8, KNOTTED / 2};
    for (size_t i = 0; i < sizeof stuck / sizeof *stuck; i++) {
        for (int loop = 0; loop < 3; loop++) {
            knot k = {.stuck = stuck[i], .far = KNOTTED - 1};
            heist_init(&k.untied, 0);
            if (loop == 0) heist_for(c, 0, KNOTTED, knotted_for, &k);
            if (loop == 1)
                CHECK_EQ(heist_try_for(c, 0, KNOTTED, knotted_try, &k), 0);
            if (loop == 2) heist_for_2d(c, 64, 64, 0, 0, knotted_tile, &k);
            CHECK(heist_load_relaxed(&k.untied));
        }
    }
}

TEST(an_iteration_that_takes_long_holds_up_no_more_than_its_piece)
{
    if (!hi_barrier_init()) return; /* nobody could take what is behind it */
    static const unsigned workers[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers[i]}), 0);
        for (int round = 0; round < 10; round++)
            CHECK_EQ(heist_run(rt, knots, NULL), 0);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

static void knot_after_quick_ones(heist_ctx c, void *arg)
{
    (void)arg;
    knot none = {.stuck = SIZE_MAX, .far = 0};
    heist_init(&none.untied, 0);
    for (int i = 0; i < 8; i++)
        heist_for(c, 0, KNOTTED, knotted_for, &none);
    knot k = {.stuck = 0, .far = KNOTTED - 1};
    heist_init(&k.untied, 0);
    heist_for(c, 0, KNOTTED, knotted_for, &k);
    CHECK(heist_load_relaxed(&k.untied));
}

TEST(loops_that_were_over_at_once_say_little_of_the_next_one)
{
    if (!hi_barrier_init()) return;
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    for (int round = 0; round < 20; round++)
        CHECK_EQ(heist_run(rt, knot_after_quick_ones, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

static void note_first(heist_ctx c, size_t begin, size_t end, void *arg)
{
    (void)c;
    if (begin == 0) *(size_t *)arg = end;
}

/* Also after short ones of the same function. */
static void first_piece(heist_ctx c, void *arg)
{
    for (int i = 0; i < 4; i++)
        heist_for(c, 0, 1000, note_first, arg);
    heist_for(c, 0, MOST, note_first, arg);
}

/* Or, if its iterations are dear, others would not be heard for long. */
TEST(a_long_loop_begins_with_few_iterations)
{
    size_t first = 0;
    CHECK_EQ(heist_run(NULL, first_piece, &first), 0);
    CHECK(first > 0 && first <= 16);
}
