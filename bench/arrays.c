/* SPDX-License-Identifier: MIT */
/*
 * The harness of the algorithms: makes the arrays, has a peer work on them, and
 * looks at what came out, all of it outside of the clock.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_BATCH = 20, /* regions per reading of the clock */
    FEW = 100,        /* different values among the few unique ones */
    PREFIXES = 64,    /* that strings begin with */
    STRING_BYTES = 32 /* at most, the final 0 included */
};

struct arrays {
    const struct kind *kind;
    size_t n;
    void *in;
    void *out;       /* as large as in; a sort works here, on a copy */
    uint64_t value;  /* that is looked for */
    uint64_t answer; /* of a problem whose result is a number */
};

/* How an algorithm is run and judged. */
struct kind {
    const char *name; /* a plan that begins with it is of this kind */
    size_t needs;     /* where in struct bench_algo the function is */
    size_t size;      /* of an element */
    bool in_place;
    void (*fill)(struct arrays *a);
    void (*run)(struct arrays *a);
    uint64_t (*result)(const struct arrays *a);
};

/* --- passes over numbers --------------------------------------------------- */

static void fill_random(struct arrays *a)
{
    uint64_t *in = a->in;
    for (size_t i = 0; i < a->n; i++)
        in[i] = bench_mix(i);
}

/* bench_mix maps no two numbers to one: none of these is the value. */
static void fill_absent(struct arrays *a)
{
    fill_random(a);
    a->value = bench_mix(a->n);
}

static void fill_middle(struct arrays *a)
{
    fill_absent(a);
    ((uint64_t *)a->in)[a->n / 2] = a->value;
}

static void fill_early(struct arrays *a)
{
    fill_absent(a);
    ((uint64_t *)a->in)[a->n / 100] = a->value;
}

static void run_sum(struct arrays *a)
{
    a->answer = bench_peer.algo->sum(a->in, a->n);
}

static void run_map(struct arrays *a)
{
    bench_peer.algo->map(a->out, a->in, a->n);
}

static void run_scan(struct arrays *a)
{
    bench_peer.algo->scan(a->out, a->in, a->n);
}

static void run_filter(struct arrays *a)
{
    a->answer = bench_peer.algo->filter(a->out, a->in, a->n);
}

static void run_find(struct arrays *a)
{
    a->answer = bench_peer.algo->find(a->in, a->n, a->value);
}

static uint64_t answer(const struct arrays *a)
{
    return a->answer;
}

/* Every number counts, and so does its place. */
static uint64_t hash_of(const uint64_t *x, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash += bench_mix(x[i] + i);
    return hash;
}

static uint64_t hash_out(const struct arrays *a)
{
    return hash_of(a->out, a->n);
}

static uint64_t hash_kept(const struct arrays *a)
{
    return hash_of(a->out, a->answer);
}

/* --- sorts of numbers ------------------------------------------------------ */

static void fill_sorted(struct arrays *a)
{
    uint64_t *in = a->in;
    for (size_t i = 0; i < a->n; i++)
        in[i] = 3 * i;
}

static void fill_reversed(struct arrays *a)
{
    uint64_t *in = a->in;
    for (size_t i = 0; i < a->n; i++)
        in[i] = 3 * (a->n - i);
}

static void fill_equal(struct arrays *a)
{
    uint64_t *in = a->in;
    for (size_t i = 0; i < a->n; i++)
        in[i] = 1;
}

static void fill_fewunique(struct arrays *a)
{
    uint64_t *in = a->in;
    for (size_t i = 0; i < a->n; i++)
        in[i] = bench_mix(bench_mix(i) % FEW);
}

static void run_sort(struct arrays *a)
{
    bench_peer.algo->sort(a->out, a->n);
}

static void run_sort_stable(struct arrays *a)
{
    bench_peer.algo->sort_stable(a->out, a->n);
}

static uint64_t result_sort(const struct arrays *a)
{
    const uint64_t *x = a->out;
    uint64_t hash = a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (i && x[i - 1] > x[i]) bench_die("not sorted");
        hash += bench_mix(x[i]);
    }
    return hash;
}

/* --- sorts of other things ------------------------------------------------- */

/* Ten elements of each key, on average. */
static void fill_pairs(struct arrays *a)
{
    struct bench_pair *in = a->in;
    for (size_t i = 0; i < a->n; i++) {
        in[i].key = bench_mix(i) % (a->n / 10 + 1);
        in[i].index = i;
    }
}

static void run_pairs(struct arrays *a)
{
    bench_peer.algo->sort_pairs(a->out, a->n);
}

static uint64_t result_pairs(const struct arrays *a)
{
    const struct bench_pair *x = a->out;
    uint64_t hash = a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (i && x[i - 1].key > x[i].key) bench_die("not sorted");
        if (i && x[i - 1].key == x[i].key && x[i - 1].index >= x[i].index)
            bench_die("not stable");
        hash += bench_mix(bench_mix(x[i].key) + x[i].index);
    }
    return hash;
}

static void fill_records(struct arrays *a)
{
    struct bench_record *in = a->in;
    for (size_t i = 0; i < a->n; i++) {
        in[i].key = bench_mix(i);
        for (size_t k = 0; k < 7; k++)
            in[i].rest[k] = in[i].key + k;
    }
}

static void run_records(struct arrays *a)
{
    bench_peer.algo->sort_records(a->out, a->n);
}

static uint64_t result_records(const struct arrays *a)
{
    const struct bench_record *x = a->out;
    uint64_t hash = a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (i && x[i - 1].key > x[i].key) bench_die("not sorted");
        for (size_t k = 0; k < 7; k++)
            if (x[i].rest[k] != x[i].key + k) bench_die("a torn record");
        hash += bench_mix(x[i].key);
    }
    return hash;
}

/* Letters from the bits of a number; returns the end. */
static char *spell(char *to, uint64_t bits, size_t letters)
{
    for (size_t i = 0; i < letters; i++, bits /= 26)
        *to++ = (char)('a' + bits % 26);
    return to;
}

/* As the lines of a file: names that often begin alike, one behind the other
 * in memory. */
static void fill_strings(struct arrays *a)
{
    const char **in = a->in;
    char *text = bench_allocate(a->n * STRING_BYTES);
    for (size_t i = 0; i < a->n; i++) {
        uint64_t random = bench_mix(i), prefix = random % PREFIXES;
        in[i] = text;
        text = spell(text, bench_mix(prefix + 1), prefix % 10);
        text = spell(text, bench_mix(random), 6 + random / PREFIXES % 7);
        *text++ = 0;
    }
}

static void run_strings(struct arrays *a)
{
    bench_peer.algo->sort_strings(a->out, a->n);
}

static uint64_t result_strings(const struct arrays *a)
{
    const char *const *x = a->out;
    uint64_t hash = a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (i && strcmp(x[i - 1], x[i]) > 0) bench_die("not sorted");
        uint64_t word = 0;
        for (const char *c = x[i]; *c; c++)
            word = word * 31 + (unsigned char)*c;
        hash += bench_mix(word);
    }
    return hash;
}

/* --- the list -------------------------------------------------------------- */

#define NEEDS(function) offsetof(struct bench_algo, function)

static const struct kind kinds[] = {
    {"sum", NEEDS(sum), 8, false, fill_random, run_sum, answer},
    {"map", NEEDS(map), 8, false, fill_random, run_map, hash_out},
    {"scan", NEEDS(scan), 8, false, fill_random, run_scan, hash_out},
    {"filter", NEEDS(filter), 8, false, fill_random, run_filter, hash_kept},
    {"find-early", NEEDS(find), 8, false, fill_early, run_find, answer},
    {"find-middle", NEEDS(find), 8, false, fill_middle, run_find, answer},
    {"find-absent", NEEDS(find), 8, false, fill_absent, run_find, answer},
    {"sort-u64-random", NEEDS(sort), 8, true, fill_random, run_sort,
     result_sort},
    {"sort-u64-sorted", NEEDS(sort), 8, true, fill_sorted, run_sort,
     result_sort},
    {"sort-u64-reversed", NEEDS(sort), 8, true, fill_reversed, run_sort,
     result_sort},
    {"sort-u64-equal", NEEDS(sort), 8, true, fill_equal, run_sort, result_sort},
    {"sort-u64-fewunique", NEEDS(sort), 8, true, fill_fewunique, run_sort,
     result_sort},
    {"sort-stable-u64", NEEDS(sort_stable), 8, true, fill_random,
     run_sort_stable, result_sort},
    {"sort-stable", NEEDS(sort_pairs), sizeof(struct bench_pair), true,
     fill_pairs, run_pairs, result_pairs},
    {"sort-strings", NEEDS(sort_strings), sizeof(char *), true, fill_strings,
     run_strings, result_strings},
    {"sort-records", NEEDS(sort_records), sizeof(struct bench_record), true,
     fill_records, run_records, result_records},
};

static const struct kind *kind_of(const struct plan *p)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(p->name, kinds[i].name, strlen(kinds[i].name)))
            return &kinds[i];
    bench_die("an algorithm of no kind");
}

bool bench_can_array(const struct plan *p)
{
    void (*function)(void);
    if (!bench_peer.algo) return false;
    const char *table = (const char *)bench_peer.algo;
    memcpy(&function, table + kind_of(p)->needs, sizeof function);
    return function != NULL;
}

/* --- measuring ------------------------------------------------------------- */

/* All memory is touched here, and the first run starts the threads. */
static struct arrays begin(const struct plan *p, size_t n)
{
    struct arrays a = {.kind = kind_of(p), .n = n};
    a.in = bench_allocate(n * a.kind->size);
    a.out = bench_allocate(n * a.kind->size);
    a.kind->fill(&a);
    memcpy(a.out, a.in, n * a.kind->size);
    return a;
}

static void end(struct arrays *a)
{
    free(a->in);
    free(a->out);
}

/* A sort is long enough to be warmed up by a small one. */
static void warm_up(const struct plan *p, struct arrays *a)
{
    if (!a->kind->in_place) {
        a->kind->run(a);
        return;
    }
    struct arrays small = begin(p, p->size / 50 + 1);
    small.kind->run(&small);
    end(&small);
}

void bench_measure_array(const struct plan *p)
{
    struct arrays a = begin(p, p->size);
    warm_up(p, &a);
    for (uint64_t i = 0; i < p->repeats; i++) {
        if (a.kind->in_place) memcpy(a.out, a.in, a.n * a.kind->size);
        uint64_t start = bench_now();
        a.kind->run(&a);
        uint64_t ns = bench_now() - start;
        bench_print_one((double)ns * 1e-9, a.kind->result(&a));
    }
    end(&a);
}

void bench_measure_short_array(const struct plan *p)
{
    struct arrays a = begin(p, p->size);
    uint64_t *ns = bench_allocate(p->repeats * sizeof *ns);
    a.kind->run(&a);
    for (uint64_t i = 0; i < p->repeats; i++) {
        uint64_t start = bench_now();
        for (int k = 0; k < SHORT_BATCH; k++)
            a.kind->run(&a);
        ns[i] = bench_now() - start;
    }
    bench_print_spread(ns, p->repeats, SHORT_BATCH, a.kind->result(&a));
    free(ns);
    end(&a);
}
