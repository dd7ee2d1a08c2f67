/* SPDX-License-Identifier: MIT
 *
 * Unbalanced Tree Search: most of the tree hangs under few branches, and only
 * walking it shows which.
 */
#include "demo.h"
#include "uts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* T1 cut two levels higher up; counted by walking it. */
static const uts_sample cut = {
    .name = "T1, 8 levels",
    .tree = {.type = UTS_GEOMETRIC, .d = 8, .b = 4, .r = 19},
    .size = {.nodes = 257042, .leaves = 205878, .depth = 8},
};

typedef struct state {
    const uts_sample *sample;
    uts_count size;
} state;

static int job_open(void **out, bool small, char *title)
{
    state *s = calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->sample = small ? &cut : &uts_t1;
    snprintf(title, DEMO_TITLE, "UTS %s", s->sample->name);
    *out = s;
    return 0;
}

static void job_serial(void *arg)
{
    state *s = arg;
    uts_node root;
    uts_root(&s->sample->tree, &root);
    s->size = uts_walk_serial(&s->sample->tree, &root);
}

static void job_parallel(heist_ctx c, void *arg)
{
    state *s = arg;
    uts_node root;
    uts_root(&s->sample->tree, &root);
    s->size = uts_walk(c, &s->sample->tree, &root);
}

static bool job_right(void *arg, char *why)
{
    const state *s = arg;
    const uts_count *got = &s->size, *wanted = &s->sample->size;
    snprintf(why, DEMO_WHY,
             "got %" PRIu64 " nodes, %" PRIu64 " leaves, depth %" PRIu64
             ", wanted %" PRIu64 ", %" PRIu64 ", %" PRIu64,
             got->nodes, got->leaves, got->depth, wanted->nodes, wanted->leaves,
             wanted->depth);
    return got->nodes == wanted->nodes && got->leaves == wanted->leaves &&
           got->depth == wanted->depth;
}

const demo_job demo_uts = {
    .name = "uts",
    .open = job_open,
    .close = free,
    .serial = job_serial,
    .parallel = job_parallel,
    .right = job_right,
};
