/* SPDX-License-Identifier: MIT
 *
 * Pi by throwing darts, twice: by counting those that hit the quarter of a
 * circle, and by the mean height of the circle above them.  The random numbers
 * have no state: dart i is a function of the seed and of i, whoever throws it.
 * The heights are rounded when they are added, so their tree is kept fixed.
 * Every number of workers therefore gives the same bits.
 */
#include <heist.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DARTS = 2000000,
    SEED = 42
};

struct sum {
    uint64_t hits;
    double height;
};

struct job {
    struct sum sum;
    int error;
};

/* The i-th number of a sequence that is never walked through (splitmix64). */
static uint64_t random_at(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void throw_darts(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    struct sum *s = sum;
    (void)c, (void)arg;
    for (size_t i = begin; i < end; i++) {
        uint64_t random = random_at(SEED, i);
        double x = (double)(random >> 32) * 0x1p-32;
        double y = (double)(random & UINT32_MAX) * 0x1p-32;
        s->hits += x * x + y * y < 1;
        s->height += sqrt(1 - x * x);
    }
}

static void add(void *left, const void *right, void *arg)
{
    struct sum *l = left;
    const struct sum *r = right;
    (void)arg;
    l->hits += r->hits;
    l->height += r->height;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->sum = (struct sum){0, 0};
    job->error = heist_fold(c, 0, DARTS, &job->sum, sizeof job->sum,
                            throw_darts, add, NULL, HEIST_FIXED_TREE);
}

static int run_on(unsigned workers, struct sum *sum)
{
    struct job job;
    heist_runtime *rt;
    int rc = heist_start(&rt, &(heist_config){.workers = workers});
    if (rc < 0) return rc;
    rc = heist_run(rt, root, &job);
    heist_stop(rt, HEIST_FOREVER);
    *sum = job.sum;
    return rc < 0 ? rc : job.error;
}

int main(void)
{
    struct sum serial = {0, 0}, one = {0, 0}, many = {0, 0};
    for (size_t i = 0; i < DARTS; i++)
        throw_darts((heist_ctx){0}, i, i + 1, &serial, NULL);
    int rc = run_on(1, &one);
    if (rc == 0) rc = run_on(7, &many);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    double by_hits = 4.0 * (double)many.hits / DARTS;
    double by_height = 4 * many.height / DARTS, pi = acos(-1);
    bool same = one.hits == many.hits && one.height == many.height;
    printf("pi is about %.5f and %.5f; 1 and 7 workers %s\n", by_hits,
           by_height, same ? "agree" : "DO NOT AGREE");
    bool right = many.hits == serial.hits &&
                 fabs(many.height - serial.height) < 1e-6 * DARTS &&
                 fabs(by_hits - pi) < 0.01 && fabs(by_height - pi) < 0.01;
    return !(same && right);
}
