/* SPDX-License-Identifier: MIT */
/*
 * The harness: one program per peer, one benchmark per run.
 *
 *     bench_PEER [-p POLICY] BENCH WORKERS [SIZE [REPEATS]]
 *
 * prints a line per sample:
 *
 *     sample VALUE P10 P90 RUNS RESULT [METRIC]
 *
 * VALUE is seconds (of graphs, seconds per task or run; milliseconds of CPU per
 * second for the idle ones), P10 and P90 the spread inside the sample when it
 * stands for RUNS short regions, and RESULT what was computed, for the driver to
 * compare between peers.  METRIC: it is another figure of the same thing.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_MISUSE = 2,
    EXIT_NOT_HERE = 3 /* this peer does not do this benchmark */
};

uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void bench_die(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

static void not_here(void)
{
    fprintf(stderr, "bench: this peer does not do that\n");
    exit(EXIT_NOT_HERE);
}

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void spin_ns(uint64_t ns)
{
    uint64_t end = bench_now() + ns;
    while (bench_now() < end)
        continue;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void *bench_allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) bench_die("out of memory");
    return p;
}

void bench_print_spread(uint64_t *ns, uint64_t n, uint64_t batch,
                        uint64_t result)
{
    qsort(ns, n, sizeof *ns, by_size);
    double unit = 1e9 * (double)batch;
    printf("sample %.9g %.9g %.9g %llu %llu\n", (double)ns[n / 2] / unit,
           (double)ns[n / 10] / unit, (double)ns[n - 1 - n / 10] / unit,
           (unsigned long long)(n * batch), (unsigned long long)result);
}

void bench_print_one(double value, uint64_t result)
{
    printf("sample %.9g %.9g %.9g 1 %llu\n", value, value, value,
           (unsigned long long)result);
}

/* --- long problems -------------------------------------------------------- */

static uint64_t solve(const struct plan *p)
{
    const struct bench_peer *peer = &bench_peer;
    if (!strcmp(p->name, "fib")) return peer->fib((unsigned)p->size);
    if (!strcmp(p->name, "nqueens")) return peer->nqueens((unsigned)p->size);
    if (!strcmp(p->name, "uts")) return peer->uts(p->size);
    if (!strcmp(p->name, "uts-fine")) return peer->uts_fine(p->size);
    if (p->sha1) return peer->uts_sha1(p->sha1);
    if (p->tree) return peer->tree(p->tree);
    return peer->loop(p->size, !strcmp(p->name, "loop-skewed"));
}

static void measure_long(const struct plan *p)
{
    /* The first run starts threads and touches memory for the first time.
     * fib touches none, and the big trees do not notice. */
    if (p->sha1 || !strcmp(p->name, "fib"))
        bench_peer.region(BENCH_ALONE_LEAVES);
    else
        solve(p);
    for (uint64_t i = 0; i < p->repeats; i++) {
        uint64_t start = bench_now();
        uint64_t result = solve(p);
        bench_print_one((double)(bench_now() - start) * 1e-9, result);
    }
}

/* Fills node[0..n) with a balanced tree in preorder; the left side gets more,
 * so that a node with one child has it on the left. */
static void grow(struct bench_node *node, uint64_t n, int64_t *next)
{
    uint64_t left = n / 2, right = n - 1 - left;
    node->value = (*next)++;
    node->left = left ? node + 1 : NULL;
    node->right = right ? node + 1 + left : NULL;
    if (left) grow(node + 1, left, next);
    if (right) grow(node + 1 + left, right, next);
}

static struct bench_node *tree_of(uint64_t n)
{
    struct bench_node *node = bench_allocate(n * sizeof *node);
    int64_t next = 1;
    grow(node, n, &next);
    return node;
}

static void measure_tree(const struct plan *p)
{
    struct bench_node *root = tree_of(p->size);
    struct plan with_tree = *p;
    with_tree.tree = root;
    measure_long(&with_tree);
    free(root);
}

/* Too short to time one by one: time `batch` in a row. */
static void measure_batch(const struct plan *p)
{
    enum {
        BATCH = 20
    };
    struct bench_node *root = tree_of(p->size);
    uint64_t *ns = bench_allocate(p->repeats * sizeof *ns);
    uint64_t result = bench_peer.tree(root);
    for (uint64_t i = 0; i < p->repeats; i++) {
        uint64_t start = bench_now();
        for (int k = 0; k < BATCH; k++)
            if (bench_peer.tree(root) != result) bench_die("a wrong sum");
        ns[i] = bench_now() - start;
    }
    bench_print_spread(ns, p->repeats, BATCH, result);
    free(ns);
    free(root);
}

/* --- regions -------------------------------------------------------------- */

/* A short gap is spun, as a program does that has something else to do: the
 * kernel's own wake-up is then not in the way.  A long gap is slept. */
static void wait_gap(uint64_t ns)
{
    if (ns >= 1000000)
        sleep_ns(ns);
    else if (ns)
        spin_ns(ns);
}

static void measure_region(const struct plan *p)
{
    uint64_t *ns = bench_allocate(p->repeats * sizeof *ns);
    uint64_t result = bench_peer.region(p->size);
    for (uint64_t i = 0; i < 4; i++) { /* not measured: the pool warms up */
        wait_gap(p->gap);
        bench_peer.region(p->size);
    }
    uint64_t (*region)(uint64_t) = bench_peer.region;
    uint64_t size = p->size;
    for (uint64_t i = 0; i < p->repeats; i++) {
        wait_gap(p->gap);
        /* After a sleep the code of the clock is far away, and these two: */
        bench_now();
        __asm__ volatile("" : "+r"(region), "+r"(size));
        uint64_t start = bench_now();
        uint64_t r = region(size);
        ns[i] = bench_now() - start;
        if (r != result) bench_die("two regions with two results");
    }
    bench_print_spread(ns, p->repeats, 1, result);
    free(ns);
}

/* --- idleness ------------------------------------------------------------- */

static double ms_per_s(uint64_t cpu, uint64_t wall)
{
    return (double)cpu * 1e3 / (double)wall;
}

/* All threads of the process, with nothing to do, from 20 ms after the last
 * region on: the kernel adds what the other threads worked in it to the
 * process's clock only at its next tick. */
static void measure_idle(const struct plan *p)
{
    bench_peer.region(4096);
    sleep_ns(20000000);
    uint64_t wall = bench_now();
    uint64_t cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    sleep_ns(p->size * 1000000);
    cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    bench_print_one(ms_per_s(cpu, bench_now() - wall), 0);
}

struct lonely {
    uint64_t ns;
    bool busy;
    uint64_t wall;
    uint64_t others; /* CPU of all threads but the one that ran it */
};

static void be_lonely(void *arg)
{
    struct lonely *l = arg;
    uint64_t wall = bench_now();
    uint64_t all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    if (l->busy)
        spin_ns(l->ns);
    else
        sleep_ns(l->ns);
    own = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own;
    all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all;
    l->wall = bench_now() - wall;
    l->others = all > own ? all - own : 0;
}

static void measure_lonely(const struct plan *p)
{
    struct lonely l = {p->size * 1000000, strstr(p->name, "busy") != NULL, 1,
                       0};
    bench_peer.alone(be_lonely, &l);
    bench_print_one(ms_per_s(l.others, l.wall), 0);
}

/* --- theft ---------------------------------------------------------------- */

static void measure_steal(const struct plan *p)
{
    if (p->workers < 2) not_here();
    uint64_t n = p->size, *ns = bench_allocate(n * sizeof *ns);
    bench_peer.steal(ns, n < 10 ? n : 10);
    if (bench_peer.steal(ns, n) != n) bench_die("a ping that nobody stole");
    bench_print_spread(ns, n, 1, n);
    free(ns);
}

/* --- the list ------------------------------------------------------------- */

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define M  UINT64_C(1000000)

static const struct sha1_tree t1 = {19, 10, 4, 0, 0};
static const struct sha1_tree t3 = {42, 0, 2000, 0.124875, 8};
static const struct sha1_tree t1l = {29, 13, 4, 0, 0};
static const struct sha1_tree t3l = {7, 0, 2000, 0.200014, 5};

static const struct plan plans[] = {
    {"fib", measure_long, 40, 1, 0, 0, NULL, NULL},
    {"nqueens", measure_long, 13, 3, 0, 0, NULL, NULL},
    {"uts", measure_long, 2, 1, 0, 0, NULL, NULL},
    {"uts-fine", measure_long, 91, 3, 0, 0, NULL, NULL},
    {"uts-t1", measure_long, 0, 1, 0, 0, &t1, NULL},
    {"uts-t3", measure_long, 0, 1, 0, 0, &t3, NULL},
    {"uts-t1l", measure_long, 0, 1, 0, 0, &t1l, NULL},
    {"uts-t3l", measure_long, 0, 1, 0, 0, &t3l, NULL},
    {"tree", measure_tree, 1 << 23, 3, 0, 0, NULL, NULL},
    {"tree-1000", measure_batch, 1000, 200, 0, 0, NULL, NULL},
    {"loop-even", measure_long, 1 << 17, 3, 0, 0, NULL, NULL},
    {"loop-skewed", measure_long, 1 << 17, 3, 0, 0, NULL, NULL},
    {"sum", bench_measure_array, 10 * M, 5, 0, 0, NULL, NULL},
    {"sum-1000", bench_measure_short_array, 1000, 300, 0, 0, NULL, NULL},
    {"map", bench_measure_array, 10 * M, 5, 0, 0, NULL, NULL},
    {"map-1000", bench_measure_short_array, 1000, 300, 0, 0, NULL, NULL},
    {"scan", bench_measure_array, 10 * M, 5, 0, 0, NULL, NULL},
    {"filter", bench_measure_array, 10 * M, 5, 0, 0, NULL, NULL},
    {"find-early", bench_measure_short_array, 10 * M, 20, 0, 0, NULL, NULL},
    {"find-middle", bench_measure_array, 10 * M, 10, 0, 0, NULL, NULL},
    {"find-absent", bench_measure_array, 10 * M, 5, 0, 0, NULL, NULL},
    {"sort-u64-random", bench_measure_array, 10 * M, 2, 0, 0, NULL, NULL},
    {"sort-u64-sorted", bench_measure_array, 10 * M, 3, 0, 0, NULL, NULL},
    {"sort-u64-reversed", bench_measure_array, 10 * M, 3, 0, 0, NULL, NULL},
    {"sort-u64-equal", bench_measure_array, 10 * M, 3, 0, 0, NULL, NULL},
    {"sort-u64-fewunique", bench_measure_array, 10 * M, 2, 0, 0, NULL, NULL},
    {"sort-u64-random-100k", bench_measure_array, 100000, 20, 0, 0, NULL, NULL},
    {"sort-u64-sorted-100k", bench_measure_array, 100000, 20, 0, 0, NULL, NULL},
    {"sort-u64-reversed-100k", bench_measure_array, 100000, 20, 0, 0, NULL,
     NULL},
    {"sort-u64-equal-100k", bench_measure_array, 100000, 20, 0, 0, NULL, NULL},
    {"sort-u64-fewunique-100k", bench_measure_array, 100000, 20, 0, 0, NULL,
     NULL},
    {"sort-stable", bench_measure_array, M, 2, 0, 0, NULL, NULL},
    {"sort-stable-u64", bench_measure_array, 10 * M, 2, 0, 0, NULL, NULL},
    {"sort-strings", bench_measure_array, M, 2, 0, 0, NULL, NULL},
    {"sort-records", bench_measure_array, M, 2, 0, 0, NULL, NULL},
    {"graph-wide", bench_measure_graph, 1000, 300, 0, 0, NULL, NULL},
    {"graph-deep", bench_measure_graph, 1000, 300, 0, 0, NULL, NULL},
    {"graph-wide-850ns", bench_measure_graph, 1000, 200, 0, 0, NULL, NULL},
    {"graph-deep-850ns", bench_measure_graph, 1000, 200, 0, 0, NULL, NULL},
    {"graph-chain", bench_measure_graph, M, 10, 0, 0, NULL, NULL},
    {"graph-tree", bench_measure_graph, 1 << 20, 5, 0, 0, NULL, NULL},
    {"graph-wavefront", bench_measure_graph, 512, 10, 0, 0, NULL, NULL},
    {"graph-random", bench_measure_graph, 100000, 20, 0, 0, NULL, NULL},
    {"graph-rerun", bench_measure_graph, 1000, 3, 0, 0, NULL, NULL},
    {"graph-build", bench_measure_build, M, 1, 0, 0, NULL, NULL},
    {"region-empty-0", measure_region, 0, 5000, 0, 0, NULL, NULL},
    {"region-empty-100us", measure_region, 0, 500, 100 * US, 0, NULL, NULL},
    {"region-empty-10ms", measure_region, 0, 25, 10 * MS, 0, NULL, NULL},
    {"region-5us-10ms", measure_region, 7, 25, 10 * MS, 0, NULL, NULL},
    {"region-empty-150ms", measure_region, 0, 7, 150 * MS, 0, NULL, NULL},
    {"region-5us-150ms", measure_region, 7, 7, 150 * MS, 0, NULL, NULL},
    {"region-25us-10ms", measure_region, 35, 25, 10 * MS, 0, NULL, NULL},
    {"region-185us-0", measure_region, 256, 300, 0, 0, NULL, NULL},
    {"region-185us-100us", measure_region, 256, 300, 100 * US, 0, NULL, NULL},
    {"region-185us-10ms", measure_region, 256, 25, 10 * MS, 0, NULL, NULL},
    {"idle", measure_idle, 2000, 1, 0, 0, NULL, NULL},
    {"idle-in-region", measure_lonely, 1000, 1, 0, 0, NULL, NULL},
    {"idle-in-region-busy", measure_lonely, 1000, 1, 0, 0, NULL, NULL},
    {"steal", measure_steal, 1000, 1, 0, 0, NULL, NULL},
};

static bool peer_can(const struct plan *p)
{
    const struct bench_peer *peer = &bench_peer;
    if (p->sha1) return peer->uts_sha1 != NULL;
    if (!strcmp(p->name, "uts-fine")) return peer->uts_fine != NULL;
    if (!strcmp(p->name, "uts")) return peer->uts != NULL;
    if (!strcmp(p->name, "fib")) return peer->fib != NULL;
    if (!strcmp(p->name, "nqueens")) return peer->nqueens != NULL;
    if (!strncmp(p->name, "tree", 4)) return peer->tree != NULL;
    if (!strncmp(p->name, "loop", 4)) return peer->loop != NULL;
    if (!strcmp(p->name, "steal")) return peer->steal != NULL;
    if (p->measure == bench_measure_array ||
        p->measure == bench_measure_short_array)
        return bench_can_array(p);
    if (p->measure == bench_measure_graph || p->measure == bench_measure_build)
        return bench_can_graph(p);
    if (p->measure == measure_lonely) return peer->alone != NULL;
    return peer->region != NULL;
}

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-p POLICY] BENCH WORKERS [SIZE [REPEATS]]\nbenches:",
            program);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        fprintf(stderr, " %s", plans[i].name);
    fputc('\n', stderr);
    exit(EXIT_MISUSE);
}

static uint64_t number(const char *text, const char *program)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (*end || end == text) usage(program);
    return n;
}

/* The deep trees recurse 18,000 levels, and some peers need a kilobyte for
 * each: the limit must be there before the first thread is. */
static void want_stack(char **argv)
{
    struct rlimit r;
    rlim_t wanted = (rlim_t)256 << 20;
    if (getrlimit(RLIMIT_STACK, &r) < 0 || r.rlim_cur >= wanted) return;
    if (r.rlim_max < wanted) return;
    r.rlim_cur = wanted;
    if (setrlimit(RLIMIT_STACK, &r) == 0) execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    const char *policy = NULL;
    int c;
    want_stack(argv);
    while ((c = getopt(argc, argv, "p:")) != -1) {
        if (c != 'p') usage(argv[0]);
        policy = optarg;
    }
    if (argc - optind < 2 || argc - optind > 4) usage(argv[0]);

    const struct plan *found = NULL;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (!strcmp(plans[i].name, argv[optind])) found = &plans[i];
    if (!found) usage(argv[0]);
    if (!peer_can(found)) not_here();

    struct plan p = *found;
    p.workers = (unsigned)number(argv[optind + 1], argv[0]);
    if (argc - optind > 2) p.size = number(argv[optind + 2], argv[0]);
    if (argc - optind > 3) p.repeats = number(argv[optind + 3], argv[0]);
    if (!p.repeats) usage(argv[0]);

    bench_peer.start(p.workers, policy);
    p.measure(&p);
    bench_peer.stop();
    return 0;
}
