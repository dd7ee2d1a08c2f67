/* SPDX-License-Identifier: MIT
 *
 * profile.c: what a run has taken, kept and written down.
 */
#include "core/runtime.h"
#include "graph/look.h"
#include "queue/memory.h"

#include <errno.h>

static size_t profile_bytes(uint32_t count)
{
    return sizeof(heist_profile) + count * sizeof(hi_lap);
}

int heist_profile_create(heist_profile **out, heist_graph *g)
{
    int rc = hi_graph_seal(g, NULL, 0);
    if (rc < 0) return rc;
    heist_profile *p =
        hi_alloc(&g->allocator, profile_bytes(g->count), HEIST_LINE);
    if (!p) return -ENOMEM;
    p->graph = g;
    p->count = g->count;
    *out = p;
    return 0;
}

void heist_profile_destroy(heist_profile *profile)
{
    if (!profile) return;
    /* relaxed: own-field (the flow that used it has ended) */
    hi_check(heist_load_relaxed(&profile->used) != hi_generation() + 1,
             "destroying a profile that a flow uses");
    hi_free(&profile->graph->allocator, profile, profile_bytes(profile->count));
}

bool hi_profile_take(heist_profile *profile)
{
    uint32_t mine = hi_generation() + 1;
    /* relaxed: hint (only to refuse) */
    uint32_t used = heist_load_relaxed(&profile->used);
    /* relaxed: hint */
    return used != mine && heist_cas_relaxed(&profile->used, &used, mine);
}

/* A look at a run; -ENODATA: there was none. */
static int open_run(hi_look *k, const heist_profile *profile)
{
    int rc = hi_look_open(k, profile->graph, profile);
    if (rc < 0 || k->laps) return rc;
    hi_look_close(k);
    return -ENODATA;
}

int heist_profile_read(const heist_profile *profile, heist_profile_summary *out)
{
    hi_look k;
    int rc = open_run(&k, profile);
    if (rc < 0) return rc;
    *out = k.summary;
    hi_look_close(&k);
    return 0;
}

/* --- JSON ----------------------------------------------------------------- */

/* Bytes that are not UTF-8 are written as the characters of their numbers. */
static void put_string(const char *s, FILE *to)
{
    putc('"', to);
    while (*s) {
        size_t n = hi_utf8(s);
        unsigned char c = (unsigned char)*s;
        if (n == 0 || c < 0x20) {
            fprintf(to, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') putc('\\', to);
            fwrite(s, 1, n, to);
        }
        s += n ? n : 1;
    }
    putc('"', to);
}

static const char *kind_name(const hi_node *n)
{
    switch (n->kind) {
    case HI_NODE_CONDITION: return "condition";
    case HI_NODE_CHOICE: return "choice";
    case HI_NODE_MODULE: return "module";
    default: return "plain";
    }
}

static void put_summary(const hi_look *k, FILE *to)
{
    const heist_profile_summary *s = &k->summary;
    uint64_t thousandths = (uint64_t)(s->parallelism * 1000 + 0.5);
    fprintf(to,
            "{\"summary\": {\"wall\": %lld, \"work\": %lld, \"span\": %lld, "
            "\"parallelism\": %llu.%03llu, \"executions\": %llu, "
            "\"critical\": %zu, \"workers\": %u},\n",
            (long long)s->wall, (long long)s->work, (long long)s->span,
            (unsigned long long)(thousandths / 1000),
            (unsigned long long)(thousandths % 1000),
            (unsigned long long)s->executions, s->critical, s->workers);
}

static void put_lap(const hi_look *k, uint32_t v, FILE *to)
{
    const hi_lap *lap = hi_look_lap(k, v);
    if (!lap) {
        fputs("\"start\": null, \"end\": null, \"time\": 0, "
              "\"executions\": 0, \"worker\": null, ",
              to);
        return;
    }
    long worker = lap->worker == UINT32_MAX ? -1 : (long)lap->worker;
    fprintf(to,
            "\"start\": %lld, \"end\": %lld, \"time\": %lld, "
            "\"executions\": %u, \"worker\": %ld, ",
            (long long)(lap->start - k->begin),
            (long long)(lap->end - k->begin), (long long)lap->total, lap->runs,
            worker);
}

static void put_node(const hi_look *k, uint32_t v, FILE *to)
{
    fprintf(to, "{\"id\": %u, \"name\": ", v);
    put_string(heist_graph_name(k->graph, (heist_node){v}), to);
    fprintf(to, ", \"kind\": \"%s\", ", kind_name(hi_look_node(k, v)));
    put_lap(k, v, to);
    fprintf(to, "\"critical\": %s, \"edges\": [",
            k->critical[v] ? "true" : "false");
    for (uint32_t e = k->first[v]; e < k->first[v + 1]; e++)
        fprintf(to, e == k->first[v] ? "%u" : ", %u", k->to[e]);
    fputs("]}", to);
}

int heist_profile_json(const heist_profile *profile, FILE *to)
{
    hi_look k;
    int rc = open_run(&k, profile);
    if (rc < 0) return rc;
    const char *between = "";
    put_summary(&k, to);
    fputs("\"nodes\": [\n", to);
    for (uint32_t v = 0; v < k.count; v++) {
        if (hi_look_is_erased(&k, v)) continue;
        fputs(between, to);
        put_node(&k, v, to);
        between = ",\n";
    }
    fputs("\n]}\n", to);
    return hi_look_finish(&k, to, 0);
}
