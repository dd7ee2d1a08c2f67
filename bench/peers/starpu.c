/* SPDX-License-Identifier: MIT */
/*
 * StarPU: tasks with declared dependences, made anew in each run, as a task ends
 * with its run.  The calling thread submits and waits; the workers are others.
 * A task takes microseconds here: only the smaller shapes.
 */
#include "../graph.h"

#include <starpu.h>
#include <stdlib.h>
#include <string.h>

struct arg {
    const struct bench_graph *g;
    uint32_t node;
};

struct tasks {
    const struct bench_graph *g;
    struct starpu_codelet *codelet;
    struct arg *arg;
    struct starpu_task **task;   /* of this run */
    struct starpu_task **before; /* room for those before one */
};

static void start(unsigned workers, const char *policy)
{
    struct starpu_conf conf;
    if (policy) bench_die("a policy is for heist");
    setenv("STARPU_SILENT", "1", 0);
    starpu_conf_init(&conf);
    conf.sched_policy_name = "lws";
    conf.ncpus = (int)workers;
    conf.ncuda = conf.nopencl = 0;
    if (starpu_init(&conf) < 0) bench_die("starpu does not start");
}

static void stop(void)
{
    starpu_shutdown();
}

static void empty_node(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
}

static void work_node(void *buffers[], void *arg)
{
    const struct arg *a = arg;
    (void)buffers;
    bench_850ns(a->node);
}

static void checked_node(void *buffers[], void *arg)
{
    const struct arg *a = arg;
    (void)buffers;
    bench_check_node(a->g, a->node);
}

static struct starpu_codelet codelets[] = {
    [BENCH_EMPTY] = {.cpu_funcs = {empty_node}, .name = "empty"},
    [BENCH_850NS] = {.cpu_funcs = {work_node}, .name = "850ns"},
    [BENCH_CHECKED] = {.cpu_funcs = {checked_node}, .name = "checked"},
};

static void *room(size_t n, size_t bytes)
{
    void *p = calloc(n + 1, bytes);
    if (!p) bench_die("out of memory");
    return p;
}

static void *build(const struct bench_graph *g, enum bench_body body)
{
    struct tasks *t = room(1, sizeof *t);
    *t = (struct tasks){g, &codelets[body], room(g->nodes, sizeof *t->arg),
                        room(g->nodes, sizeof *t->task),
                        room(g->nodes, sizeof *t->before)};
    for (uint32_t i = 0; i < g->nodes; i++)
        t->arg[i] = (struct arg){g, i};
    return t;
}

static void destroy(void *built)
{
    struct tasks *t = built;
    free(t->before);
    free(t->task);
    free(t->arg);
    free(t);
}

static void declare(struct tasks *t, uint32_t node)
{
    const uint32_t *before = t->g->before + t->g->before_at[node];
    uint32_t n = bench_need(t->g, node);
    for (uint32_t k = 0; k < n; k++)
        t->before[k] = t->task[before[k]];
    if (n) starpu_task_declare_deps_array(t->task[node], n, t->before);
}

/* A task is gone when it has run, so all is declared before the first starts. */
static void run(void *built, uint64_t times)
{
    struct tasks *t = built;
    while (times--) {
        for (uint32_t i = 0; i < t->g->nodes; i++) {
            t->task[i] = starpu_task_create();
            t->task[i]->cl = t->codelet;
            t->task[i]->cl_arg = &t->arg[i];
            declare(t, i);
        }
        for (uint32_t i = 0; i < t->g->nodes; i++)
            if (starpu_task_submit(t->task[i]) < 0) bench_die("not submitted");
        starpu_task_wait_for_all();
    }
}

static bool can(const char *shape)
{
    return !strncmp(shape, "graph-wide", 10) ||
           !strncmp(shape, "graph-deep", 10) ||
           !strcmp(shape, "graph-wavefront");
}

static const struct bench_graphs graphs = {
    .build = build,
    .run = run,
    .destroy = destroy,
    .can = can,
};

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .graphs = &graphs,
};
