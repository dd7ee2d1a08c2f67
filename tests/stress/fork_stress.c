/* SPDX-License-Identifier: MIT
 *
 * Every leaf of a fork-join tree runs exactly once, whatever the shape, the
 * policy, the number of workers and of foreign threads.
 */
#include "scale.h"
#include "test.h"

#include <heist.h>
#include <pthread.h>

static HEIST_ATOMIC(uint8_t) *marks;
static long total;

static void marks_reset(long n)
{
    free(marks);
    total = n;
    marks = calloc((size_t)n, sizeof *marks);
    CHECK(marks != NULL);
}

static void marks_check(void)
{
    for (long i = 0; i < total; i++)
        CHECK_EQ(heist_load_relaxed(&marks[i]), 1);
}

/* Splits [begin, end) where a hash of it says, so that the tree is lopsided in
 * a way of its own for each seed; returns the number of leaves below. */
static int64_t visit(heist_ctx c, int64_t begin, int64_t end);

static void visit_right(heist_ctx c, heist_frame *f)
{
    f->result.i = visit(c, f->arg[0].i, f->arg[1].i);
}

static int64_t split_at(int64_t begin, int64_t end)
{
    uint64_t hash = test_seed ^ (uint64_t)begin * 31 ^ (uint64_t)end;
    uint64_t random = test_random(&hash);
    int64_t n = end - begin;
    if (random % 8 == 0) return begin + 1; /* a list for a while */
    if (random % 8 == 1) return end - 1;
    return begin + 1 + (int64_t)((random >> 8) % (uint64_t)(n - 1));
}

static int64_t visit(heist_ctx c, int64_t begin, int64_t end)
{
    if (end - begin == 1) {
        CHECK_EQ(heist_add_relaxed(&marks[begin], 1), 0);
        return 1;
    }
    int64_t middle = split_at(begin, end);
    heist_frame *right = heist_slot(c);
    right->arg[0].i = middle;
    right->arg[1].i = end;
    int64_t left = visit(heist_fork(c, visit_right), begin, middle);
    if (heist_join(c)) return left + visit(c, middle, end);
    return left + right->result.i;
}

struct range {
    heist_runtime *rt;
    int64_t begin, end;
};

static void visit_root(heist_ctx c, void *arg)
{
    struct range *r = arg;
    CHECK_EQ(visit(c, r->begin, r->end), r->end - r->begin);
}

TEST(ten_million_leaves_run_once_each)
{
    static const unsigned workers[] = {1, 2, 8, 70, 200};
    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
        for (int policy = 0; policy < 3; policy++) {
            heist_runtime *rt = NULL;
            heist_config config = {.workers = workers[k],
                                   .exposure = (heist_exposure)policy,
                                   .quantum = 20 * HEIST_MICROSECOND,
                                   .seed = test_seed};
            CHECK_EQ(heist_start(&rt, &config), 0);
            marks_reset(scaled(policy == 2 ? 500000 : 10000000));
            struct range all = {rt, 0, total};
            CHECK_EQ(heist_run(rt, visit_root, &all), 0);
            CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
            marks_check();
        }
    }
}

static void *guest(void *arg)
{
    struct range *r = arg;
    int64_t step = 997;
    for (int64_t i = r->begin; i < r->end; i += step) {
        struct range part = {r->rt, i, i + step < r->end ? i + step : r->end};
        CHECK_EQ(heist_run(r->rt, visit_root, &part), 0);
    }
    return NULL;
}

TEST(sixteen_guests_run_regions_at_once)
{
    static const unsigned workers[] = {1, 2, 8};
    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
        heist_runtime *rt = NULL;
        heist_config config = {.workers = workers[k]};
        CHECK_EQ(heist_start(&rt, &config), 0);
        long each = scaled(300000);
        marks_reset(16 * each);
        pthread_t t[16];
        struct range r[16];
        for (int i = 0; i < 16; i++) {
            r[i] = (struct range){rt, i * each, (i + 1) * each};
            CHECK_EQ(pthread_create(&t[i], NULL, guest, &r[i]), 0);
        }
        for (int i = 0; i < 16; i++)
            pthread_join(t[i], NULL);
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
        marks_check();
    }
}

/* Threads that come and go use one seat after the other. */
TEST(guests_come_and_go)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 2}), 0);
    long rounds = scaled(3000);
    marks_reset(rounds * 1000);
    for (long i = 0; i < rounds; i++) {
        struct range r = {rt, i * 1000, (i + 1) * 1000};
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, guest, &r), 0);
        pthread_join(t, NULL);
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    marks_check();
}

static int visit_task(heist_ctx c, void *arg)
{
    visit_root(c, arg);
    return 0;
}

/* Tasks that fork, guests that fork, all on one pool. */
TEST(tasks_and_guests_share_the_workers)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 3}), 0);
    for (long round = scaled(200); round > 0; round--) {
        marks_reset(20000);
        heist_scope s;
        heist_scope_open(&s, rt);
        struct range r[10];
        for (int i = 0; i < 10; i++) {
            r[i] = (struct range){rt, i * 1000, (i + 1) * 1000};
            heist_scope_spawn(&s, visit_task, &r[i]);
        }
        struct range rest = {rt, 10000, 20000};
        CHECK_EQ(heist_run(rt, visit_root, &rest), 0);
        CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
        marks_check();
    }
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
