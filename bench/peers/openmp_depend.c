/* SPDX-License-Identifier: MIT */
/*
 * OpenMP's task dependences, for gcc's runtime (gomp-depend) and for clang's
 * (libomp-depend).  A graph cannot be kept: the tasks are made anew in each run.
 */
#include "../graph.h"

#include <omp.h>
#include <stdlib.h>

struct depend {
    const struct bench_graph *g;
    enum bench_body body;
    char *slot; /* one per node: only its address counts */
};

static void start(unsigned workers, const char *policy)
{
    if (policy) bench_die("a policy is for heist");
    omp_set_dynamic(0);
    omp_set_num_threads((int)workers);
}

static void stop(void)
{
}

static void *build(const struct bench_graph *g, enum bench_body body)
{
    struct depend *d = malloc(sizeof *d);
    if (!d) bench_die("out of memory");
    *d = (struct depend){g, body, malloc(g->nodes)};
    if (!d->slot) bench_die("out of memory");
    return d;
}

static void destroy(void *built)
{
    struct depend *d = built;
    free(d->slot);
    free(d);
}

/* Nodes are numbered so that those before a node have a lower number. */
static inline void make_tasks(const struct depend *d, enum bench_body body)
{
    const struct bench_graph *g = d->g;
    for (uint32_t i = 0; i < g->nodes; i++) {
        const uint32_t *before = g->before + g->before_at[i];
        /* clang-format off */
#pragma omp task firstprivate(g, i) depend(out : d->slot[i]) \
    depend(iterator(k = 0 : (int)bench_need(g, i)), in : d->slot[before[k]])
        /* clang-format on */
        bench_run_node(body, g, i);
    }
}

static void run(void *built, uint64_t times)
{
    const struct depend *d = built;
    while (times--) {
#pragma omp parallel
#pragma omp single
        switch (d->body) {
        case BENCH_EMPTY: make_tasks(d, BENCH_EMPTY); break;
        case BENCH_850NS: make_tasks(d, BENCH_850NS); break;
        case BENCH_CHECKED: make_tasks(d, BENCH_CHECKED); break;
        }
    }
}

static const struct bench_graphs graphs = {
    .build = build,
    .run = run,
    .destroy = destroy,
};

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .graphs = &graphs,
};
