/* SPDX-License-Identifier: MIT
 *
 * Loops and searches of random sizes and costs, in one another and from several
 * threads: every iteration that has to run does, once.
 */
#include "inputs.h"
#include "scale.h"

#include <errno.h>
#include <pthread.h>

typedef struct job {
    HEIST_ATOMIC(uint8_t) *times;
    size_t n, bad;
    uint64_t salt;
    bool nested;
} job;

static void spin(uint64_t turns)
{
    for (volatile uint64_t i = 0; i < turns; i++)
        ;
}

/* Mostly nothing, sometimes a lot: another pattern for each salt. */
static void cost(const job *j, size_t i)
{
    uint64_t hash = j->salt ^ i >> j->salt % 16;
    uint64_t random = test_random(&hash);
    if (random % 64 == 0) spin(random >> 8 & 1023);
}

static void body(heist_ctx c, size_t begin, size_t end, void *arg)
{
    job *j = arg;
    if (j->nested && end - begin > 100) {
        job inner = *j;
        inner.nested = false;
        heist_for_grain(c, begin, end, 1 + j->salt % 64, body, &inner);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        cost(j, i);
        CHECK_EQ(heist_add_relaxed(&j->times[i], 1), 0);
    }
}

static int try_body(heist_ctx c, size_t begin, size_t end, void *arg)
{
    job *j = arg;
    bool fails = begin <= j->bad && j->bad < end;
    size_t stop = fails ? j->bad : end;
    if (begin < stop) body(c, begin, stop, arg);
    return fails ? -EIO : 0;
}

static bool while_body(heist_ctx c, size_t begin, size_t end, void *arg)
{
    return try_body(c, begin, end, arg) == 0;
}

static size_t find_bad(heist_ctx c, size_t begin, size_t end, void *arg)
{
    job *j = arg;
    return try_body(c, begin, end, arg) < 0 ? j->bad : HEIST_NONE;
}

static void tile_body(heist_ctx c, heist_tile t, void *arg)
{
    for (size_t row = t.row; row < t.row_end; row++)
        body(c, row * 100 + t.column, row * 100 + t.column_end, arg);
}

static void run_one(heist_ctx c, void *arg)
{
    job *j = arg;
    size_t upto = j->bad < j->n ? j->bad : j->n;
    int rc = j->bad < j->n ? -EIO : 0;
    switch (j->salt % 6) {
    case 0: heist_for(c, 0, upto = j->n, body, j); break;
    case 1:
        heist_for_2d(c, (upto = j->n) / 100, 100, 0, 0, tile_body, j);
        break;
    case 2:
        CHECK_EQ(heist_for_while(c, 0, j->n, while_body, j), !rc);
        if (rc) upto = 0; /* what was not begun then never is */
        break;
    case 3: CHECK_EQ(heist_try_for(c, 0, j->n, try_body, j), rc); break;
    case 4:
        CHECK_EQ(heist_find_first_in(c, 0, j->n, find_bad, j),
                 rc ? j->bad : HEIST_NONE);
        break;
    case 5:
        CHECK_EQ(heist_find_any_in(c, 0, j->n, find_bad, j),
                 rc ? j->bad : HEIST_NONE);
        if (rc) upto = 0;
        break;
    }
    for (size_t i = 0; i < upto; i++)
        CHECK_EQ(heist_load_relaxed(&j->times[i]), 1);
}

typedef struct guest {
    heist_runtime *rt;
    uint64_t seed;
    long rounds;
} guest;

static void *run_guest(void *arg)
{
    guest *g = arg;
    for (long i = 0; i < g->rounds; i++) {
        job j = {.salt = test_random(&g->seed)};
        j.n = test_random(&g->seed) % (i % 4 ? 3000 : 300000) / 100 * 100;
        j.bad = test_random(&g->seed) % (2 * j.n + 1);
        j.nested = j.salt >> 32 & 1;
        j.times = calloc(j.n + 1, sizeof *j.times);
        CHECK(j.times != NULL);
        CHECK_EQ(heist_run(g->rt, run_one, &j), 0);
        free((void *)j.times);
    }
    return NULL;
}

TEST(random_loops_run_what_a_serial_loop_would)
{
    enum {
        GUESTS = 3
    };

    static const unsigned workers[] = {1, 2, 8, 70};
    for (size_t k = 0; k < 4; k++)
        for (int policy = 0; policy < 3; policy++) {
            heist_runtime *rt = NULL;
            heist_config config = {.workers = workers[k],
                                   .exposure = (heist_exposure)policy,
                                   .quantum = 20 * HEIST_MICROSECOND,
                                   .seed = test_seed};
            CHECK_EQ(heist_start(&rt, &config), 0);
            pthread_t t[GUESTS];
            guest g[GUESTS];
            for (int i = 0; i < GUESTS; i++) {
                g[i] =
                    (guest){rt, test_seed + 100 * k + (uint64_t)i, scaled(300)};
                CHECK_EQ(pthread_create(&t[i], NULL, run_guest, &g[i]), 0);
            }
            for (int i = 0; i < GUESTS; i++)
                pthread_join(t[i], NULL);
            CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        }
}
