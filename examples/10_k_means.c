/* SPDX-License-Identifier: MIT
 *
 * k-means: points go to the nearest of K centres, centres to the mean of their
 * points, until nothing changes.  One fold is one round.  Coordinates are
 * integers, so that their sums are exact: the centres are the same to the last
 * bit, however the range was split.
 */
#include <heist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    K = 7,
    POINTS = 200000,
    ROUNDS = 100
};

struct point {
    int x, y;
};

struct sums {
    int64_t x[K], y[K], points[K];
};

struct job {
    const struct point *point;
    double x[K], y[K]; /* the centres */
    int rounds, error;
};

static size_t nearest(const struct job *job, struct point p)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t k = 0; k < K; k++) {
        double dx = p.x - job->x[k], dy = p.y - job->y[k];
        if (dx * dx + dy * dy < least) least = dx * dx + dy * dy, best = k;
    }
    return best;
}

static void assign(heist_ctx c, size_t begin, size_t end, void *sum, void *arg)
{
    const struct job *job = arg;
    struct sums *s = sum;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        size_t k = nearest(job, job->point[i]);
        s->x[k] += job->point[i].x;
        s->y[k] += job->point[i].y;
        s->points[k]++;
    }
}

static void add(void *left, const void *right, void *arg)
{
    struct sums *l = left;
    const struct sums *r = right;
    (void)arg;
    for (size_t k = 0; k < K; k++) {
        l->x[k] += r->x[k];
        l->y[k] += r->y[k];
        l->points[k] += r->points[k];
    }
}

/* Moves the centres; false: all are where they were. */
static bool move(struct job *job, const struct sums *s)
{
    struct job old = *job;
    for (size_t k = 0; k < K; k++) {
        if (s->points[k] == 0) continue;
        job->x[k] = (double)s->x[k] / (double)s->points[k];
        job->y[k] = (double)s->y[k] / (double)s->points[k];
    }
    return memcmp(&old, job, sizeof old) != 0 && ++job->rounds < ROUNDS;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    struct sums s;
    do {
        s = (struct sums){{0}, {0}, {0}};
        job->error =
            heist_fold(c, 0, POINTS, &s, sizeof s, assign, add, job, 0);
    } while (!job->error && move(job, &s));
}

/* Clouds of dice around K places; the first K points are the centres. */
static void prepare(struct job *job, struct point *p)
{
    uint64_t seed = 1;
    for (int i = 0; i < POINTS; i++) {
        int k = i % K;
        p[i] = (struct point){k * 3000, k * k % K * 2000};
        for (int dice = 0; dice < 8; dice++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            p[i].x += (int)(seed >> 54);
            p[i].y += (int)(seed >> 32 & 1023);
        }
        if (i < K) job->x[i] = p[i].x, job->y[i] = p[i].y;
    }
}

int main(void)
{
    struct point *point = malloc(POINTS * sizeof *point);
    if (!point) return fprintf(stderr, "no memory\n"), 1;
    struct job job = {.point = point};
    prepare(&job, point);
    struct job wanted = job;
    int rc = heist_run(NULL, root, &job);
    if (rc == 0) rc = job.error;
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    struct sums s;
    do {
        s = (struct sums){{0}, {0}, {0}};
        assign((heist_ctx){0}, 0, POINTS, &s, &wanted);
    } while (move(&wanted, &s));
    bool right = memcmp(&job, &wanted, sizeof job) == 0;
    printf("%d centres at rest after %d rounds: %s\n", K, job.rounds,
           right ? "as a serial loop finds them" : "WRONG");
    free(point);
    return !(right && job.rounds < ROUNDS);
}
