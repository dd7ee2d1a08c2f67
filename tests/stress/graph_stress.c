/* SPDX-License-Identifier: MIT
 *
 * Random graphs: whatever they are made of and whoever runs them, each node
 * runs exactly once in each pass and never before one that precedes it.
 *
 * Each flow has a stamp for each node: how often that is done.  The stamps are
 * plain numbers, so that a sanitizer sees an order that is missing.
 */
#include "pool.h"
#include "scale.h"

#include <errno.h>
#include <heist.h>
#include <heist/graph.h>
#include <pthread.h>
#include <sched.h>

typedef HEIST_ATOMIC(int) counter;

/* What a graph may be made of. */
enum {
    SUBFLOWS = 1,
    CONDITIONS = 2,
    MODULES = 4,
    LIMITS = 8,
    PRIORITIES = 16,
    SOME_DELAYS = 32, /* a few nodes take long or wait */
    HEAVY = 64,       /* all nodes take about a microsecond */
    BACKWARDS = 128,  /* edges lead to nodes that were made before */
    FEATURES = SUBFLOWS | CONDITIONS | MODULES | LIMITS | PRIORITIES,
    EVERYTHING = FEATURES | SOME_DELAYS | BACKWARDS
};

typedef enum kind {
    PLAIN,
    JOINED,   /* has a subflow */
    DETACHED, /* has one that only the flow waits for */
    MIDDLE,   /* has one that it joins in the middle */
    MODULE,
    LOOP,   /* in -> body -> again? -> out */
    BRANCH, /* in -> which? -> one of two -> out */
    CHOICE  /* in -> some of LEAVES */
} kind;

enum {
    LEAVES = 3,
    LIMIT_COUNT = 3,
    MODULE_NODES = 6
};

typedef struct spot spot;

/* A graph, and what is known about it. */
typedef struct plan {
    heist_graph *g, *module;
    uint32_t count;
    unsigned features;
    uint64_t seed;
    spot *spots;
    uint32_t *before; /* who precedes each of them, one after the other */
    size_t edges;
    heist_limit limit[LIMIT_COUNT];
    counter inside[LIMIT_COUNT];
    long children, modules; /* that each pass runs */
} plan;

/* One of the random nodes, that may consist of several. */
struct spot {
    plan *p;
    uint32_t id;
    uint32_t first, last; /* in before */
    kind kind;
    unsigned size;   /* children, or rounds */
    unsigned limits; /* a bit for each */
    heist_node in, out;
};

/* Of one flow. */
typedef struct state {
    plan *p;
    uint32_t *stamp;
    uint32_t *rounds; /* of loops */
    counter *kids;    /* children of joined subflows */
    counter children, modules, leaves, picked;
    uint32_t fails; /* the spot that is to fail; or none */
} state;

static const uint32_t no_spot = UINT32_MAX;

static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t x = seed ^ a * 0x9e3779b97f4a7c15u ^ b * 0xbf58476d1ce4e5b9u;
    return test_random(&x);
}

/* --- nodes that take long ------------------------------------------------- */

static void spin(uint64_t n)
{
    for (; n > 0; n--)
        __asm__ volatile("");
}

static void wait_a_little(void)
{
    heist_latch closed;
    heist_latch_init(&closed, 1);
    heist_latch_wait(&closed, heist_after(20 * HEIST_MICROSECOND));
}

static void right_half(heist_ctx c, heist_frame *f)
{
    (void)c;
    spin(f->arg[0].u);
    if (f->arg[0].u % 4 == 0) wait_a_little();
    f->result.u = f->arg[0].u;
}

static void fork_a_little(heist_ctx c, uint64_t n)
{
    heist_frame *right = heist_slot(c);
    right->arg[0].u = n;
    heist_ctx left = heist_fork(c, right_half);
    spin(n);
    if (n % 8 == 0) fork_a_little(left, n / 2 + 1);
    if (heist_join(c)) return;
    CHECK_EQ(right->result.u, n);
}

static void delay(heist_ctx c, const plan *p, uint64_t random)
{
    if (p->features & HEAVY) spin(2000);
    if (!(p->features & SOME_DELAYS)) return;
    uint64_t n = random >> 32 & 0x3fff;
    switch (random % 256) {
    case 0: spin(10 * n); break;
    case 1:
    case 2: spin(n); break;
    case 3: wait_a_little(); break;
    case 4: fork_a_little(c, n); break;
    default: break;
    }
}

/* --- the checks ----------------------------------------------------------- */

static void check_before(const state *s, const spot *t)
{
    const plan *p = t->p;
    uint32_t mine = s->stamp[t->id];
    for (uint32_t i = t->first; i < t->last; i++) {
        const spot *b = &p->spots[p->before[i]];
        CHECK_EQ(s->stamp[b->id], mine + 1);
        if (b->kind == JOINED || b->kind == MIDDLE)
            CHECK_EQ(heist_load_relaxed(&s->kids[b->id]), b->size * (mine + 1));
    }
}

static void enter_limits(const spot *t)
{
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        if (t->limits >> i & 1)
            CHECK(heist_add_relaxed(&t->p->inside[i], 1) <= (int)i);
}

static void leave_limits(const spot *t)
{
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        if (t->limits >> i & 1) heist_sub_relaxed(&t->p->inside[i], 1);
}

static int finish(state *s, const spot *t)
{
    if (s->fails == t->id) return -EIO;
    s->stamp[t->id]++;
    return 0;
}

/* --- the nodes ------------------------------------------------------------ */

static int run_plain(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    enter_limits(t);
    check_before(s, t);
    delay(c, t->p, mix(t->p->seed, t->id, s->stamp[t->id]));
    leave_limits(t);
    return finish(s, t);
}

/* The first node of several: only looks. */
static int run_in(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    check_before(s, t);
    delay(c, t->p, mix(t->p->seed, t->id, s->stamp[t->id]));
    return 0;
}

/* The last node of several. */
static int run_out(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    (void)c;
    if (t->kind == LOOP)
        CHECK_EQ(s->rounds[t->id], t->size * (s->stamp[t->id] + 1));
    if (t->kind == BRANCH) CHECK_EQ(s->rounds[t->id], s->stamp[t->id] + 1);
    return finish(s, t);
}

static int run_child(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    int n = heist_add_relaxed(&s->kids[t->id], 1);
    heist_add_relaxed(&s->children, 1);
    delay(c, t->p, mix(t->p->seed, t->id, (uint64_t)n + 1));
    return 0;
}

/* Children in a random order. */
static void add_children(heist_graph *sub, spot *t)
{
    heist_node n[16];
    for (unsigned i = 0; i < t->size; i++) {
        uint64_t random = mix(t->p->seed, t->id, i + 1);
        n[i] = heist_graph_add(sub, NULL, run_child, t);
        if (t->p->features & PRIORITIES && random % 8 == 0)
            heist_graph_priority(sub, n[i], HEIST_HIGH);
        if (i && random % 3)
            CHECK_EQ(heist_graph_edge(sub, n[random / 3 % i], n[i]), 0);
    }
}

static int run_parent(heist_ctx c, heist_step *step, void *arg)
{
    spot *t = arg;
    state *s = heist_step_context(step);
    enter_limits(t);
    check_before(s, t);
    add_children(heist_step_subflow(step), t);
    if (t->kind == DETACHED) heist_step_detach(step);
    int rc = t->kind == MIDDLE ? heist_step_join(step) : 0;
    delay(c, t->p, mix(t->p->seed, t->id, s->stamp[t->id]));
    leave_limits(t);
    return rc < 0 ? rc : finish(s, t);
}

static int run_body(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    uint32_t round = s->rounds[t->id]++;
    delay(c, t->p, mix(t->p->seed, t->id, round));
    return 0;
}

static int ask_again(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    (void)c;
    return s->rounds[t->id] % t->size ? 0 : 1;
}

static int ask_which(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    (void)c;
    return (int)(mix(t->p->seed, t->id, s->stamp[t->id]) % 2);
}

static int pick_some(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    (void)c;
    check_before(s, t);
    uint64_t random = mix(t->p->seed, t->id, s->stamp[t->id]);
    int rc = finish(s, t);
    for (size_t i = 0; i < LEAVES && rc == 0; i++) {
        if (!(random >> i & 1)) continue;
        CHECK_EQ(heist_step_pick(step, i), 0);
        heist_add_relaxed(&s->picked, 1);
    }
    return rc;
}

static int run_leaf(heist_ctx c, heist_step *step, void *arg)
{
    const spot *t = arg;
    state *s = heist_step_context(step);
    (void)c;
    CHECK(s->stamp[t->id] > 0);
    heist_add_relaxed(&s->leaves, 1);
    return 0;
}

/* Of a module, which may run several times at once: what it knows is in its
 * outputs. */
static int run_inner(heist_ctx c, heist_step *step, void *arg)
{
    const heist_node *before = arg;
    state *s = heist_step_context(step);
    CHECK_EQ(heist_out(step, uint64_t), 0);
    uint64_t sum = 1;
    for (int i = 0; i < 2 && before[i].id != HEIST_NO_NODE; i++) {
        CHECK(heist_in(step, before[i], uint64_t) > 0);
        sum += heist_in(step, before[i], uint64_t);
    }
    heist_out(step, uint64_t) = sum;
    heist_add_relaxed(&s->modules, 1);
    delay(c, s->p, mix(s->p->seed, sum, 7));
    return 0;
}

/* --- random graphs -------------------------------------------------------- */

static heist_graph *make_module(void)
{
    heist_graph *m = NULL;
    heist_node n[MODULE_NODES];
    CHECK_EQ(heist_graph_create(&m, NULL), 0);
    for (int i = 0; i < MODULE_NODES; i++) {
        heist_node *before = heist_graph_alloc(m, 2 * sizeof *before);
        CHECK(before != NULL);
        before[0].id = before[1].id = HEIST_NO_NODE;
        n[i] = heist_graph_add(m, "inner", run_inner, before);
        CHECK_EQ(heist_graph_output(m, n[i], sizeof(uint64_t)), 0);
        for (int k = 0; k < 2 && i > k; k++) {
            before[k] = n[i - 1 - k];
            CHECK_EQ(heist_graph_edge(m, before[k], n[i]), 0);
        }
    }
    return m;
}

static kind random_kind(const plan *p, uint64_t random)
{
    /* In a large graph few are special. */
    if (random % (p->count > 1000 ? 16 : 3)) return PLAIN;
    kind k = (kind)(random / 64 % (CHOICE + 1));
    if (k >= JOINED && k <= MIDDLE && !(p->features & SUBFLOWS)) return PLAIN;
    if (k == MODULE && !(p->features & MODULES)) return PLAIN;
    if (k >= LOOP && !(p->features & CONDITIONS)) return PLAIN;
    return k;
}

static void add_loop(heist_graph *g, spot *t)
{
    heist_node body = heist_graph_add(g, "body", run_body, t);
    heist_node c = heist_graph_add_condition(g, "again", ask_again, t);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){t->in, body, c}, 3), 0);
    CHECK_EQ(heist_graph_precede(g, c, (heist_node[]){body, t->out}, 2), 0);
}

static void add_branch(heist_graph *g, spot *t)
{
    heist_node c = heist_graph_add_condition(g, "which", ask_which, t);
    heist_node way[2];
    for (int i = 0; i < 2; i++)
        way[i] = heist_graph_add(g, "way", run_body, t);
    CHECK_EQ(heist_graph_edge(g, t->in, c), 0);
    CHECK_EQ(heist_graph_precede(g, c, way, 2), 0);
    CHECK_EQ(heist_graph_succeed(g, t->out, way, 2), 0);
}

/* What follows it follows its first node: the choice waits for nobody. */
static void add_choice(heist_graph *g, spot *t)
{
    heist_node c = heist_graph_add_choice(g, "some", pick_some, t);
    for (int i = 0; i < LEAVES; i++)
        CHECK_EQ(heist_graph_edge(g, c, heist_graph_add(g, 0, run_leaf, t)), 0);
    t->in = c;
    t->out.id = HEIST_NO_NODE; /* nobody follows it */
}

static void add_module(heist_graph *g, spot *t)
{
    heist_node m = heist_graph_add_module(g, "module", t->p->module, NULL);
    CHECK_EQ(heist_graph_linearize(g, (heist_node[]){t->in, m, t->out}, 3), 0);
}

static void add_several(heist_graph *g, spot *t)
{
    t->in = heist_graph_add(g, "in", run_in, t);
    t->out = heist_graph_add(g, "out", run_out, t);
    if (t->kind == LOOP)
        add_loop(g, t);
    else if (t->kind == BRANCH)
        add_branch(g, t);
    else
        add_module(g, t);
}

static void add_spot(plan *p, spot *t, uint64_t random)
{
    heist_graph *g = p->g;
    t->size = (unsigned)(random >> 20 & 15) + 1;
    if (t->kind == CHOICE) {
        add_choice(g, t);
    } else if (t->kind >= MODULE) {
        add_several(g, t);
    } else {
        heist_node_fn *fn = t->kind == PLAIN ? run_plain : run_parent;
        t->in = t->out = heist_graph_add(g, NULL, fn, t);
        if (p->features & LIMITS && random >> 40 & 1)
            t->limits = random >> 41 & 7;
    }
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        if (t->limits >> i & 1)
            CHECK_EQ(heist_graph_limit(g, t->in, &p->limit[i]), 0);
    if (p->features & PRIORITIES)
        CHECK_EQ(
            heist_graph_priority(g, t->in, (heist_priority)(random >> 44 & 3)),
            0);
    if (t->kind >= JOINED && t->kind <= MIDDLE) p->children += t->size;
    if (t->kind == MODULE) p->modules += MODULE_NODES;
}

/* At most `most` that precede it, each once. */
static void add_before(plan *p, spot *t, uint64_t *random, unsigned most)
{
    t->first = t->last = (uint32_t)p->edges;
    for (unsigned i = 0; i < most && t->id > 0; i++) {
        uint64_t r = test_random(random);
        /* Some lead far, most are near: deep and wide at once. */
        uint32_t span = r % 4 ? 50 : t->id;
        uint32_t b =
            t->id - 1 - (uint32_t)(r / 4 % (span < t->id ? span : t->id));
        bool known = p->spots[b].out.id == HEIST_NO_NODE;
        for (uint32_t e = t->first; e < t->last; e++)
            known |= p->before[e] == b;
        if (known) continue;
        p->before[t->last++] = b;
        CHECK_EQ(heist_graph_edge(p->g, p->spots[b].out, t->in), 0);
    }
    p->edges = t->last;
}

static plan *make_plan(uint32_t count, unsigned degree, unsigned features,
                       uint64_t seed)
{
    plan *p = calloc(1, sizeof *p);
    CHECK(p != NULL);
    *p = (plan){.count = count, .features = features, .seed = seed};
    p->spots = calloc(count, sizeof *p->spots);
    p->before = calloc((size_t)count * degree + 1, sizeof *p->before);
    CHECK(p->spots && p->before);
    CHECK_EQ(heist_graph_create(&p->g, NULL), 0);
    p->module = make_module();
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        heist_limit_init(&p->limit[i], i + 1);
    uint64_t random = seed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = features & BACKWARDS ? count - 1 - i : i;
        spot *t = &p->spots[id];
        uint64_t r = test_random(&random);
        t->p = p;
        t->id = id;
        t->kind = random_kind(p, r);
        add_spot(p, t, r);
    }
    for (uint32_t i = 0; i < count; i++)
        add_before(p, &p->spots[i], &random,
                   (unsigned)(test_random(&random) % (degree + 1)));
    char why[200];
    int rc = heist_graph_check(p->g, why, sizeof why);
    if (rc < 0) fprintf(stderr, "%s\n", why);
    CHECK_EQ(rc, 0);
    return p;
}

static void free_plan(plan *p)
{
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        CHECK_EQ(p->limit[i].free, i + 1);
    heist_graph_destroy(p->g);
    heist_graph_destroy(p->module);
    free(p->spots);
    free(p->before);
    free(p);
}

/* --- flows ---------------------------------------------------------------- */

static state *make_state(plan *p)
{
    state *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->p = p;
    s->fails = no_spot;
    s->stamp = calloc(p->count, sizeof *s->stamp);
    s->rounds = calloc(p->count, sizeof *s->rounds);
    s->kids = calloc(p->count, sizeof *s->kids);
    CHECK(s->stamp && s->rounds && s->kids);
    return s;
}

static void free_state(state *s)
{
    free(s->stamp);
    free(s->rounds);
    free(s->kids);
    free(s);
}

static void check_all(const state *s, uint32_t passes)
{
    const plan *p = s->p;
    for (uint32_t i = 0; i < p->count; i++)
        CHECK_EQ(s->stamp[i], passes);
    CHECK_EQ(heist_load_relaxed(&s->children), p->children * passes);
    CHECK_EQ(heist_load_relaxed(&s->modules), p->modules * passes);
    CHECK_EQ(heist_load_relaxed(&s->leaves), heist_load_relaxed(&s->picked));
}

typedef enum way {
    RUN,
    RUN_MANY,
    START,
    START_MANY,
    TASK,
    WAYS
} way;

typedef struct errand {
    heist_runtime *rt;
    plan *p;
    state *s;
    heist_latch done;
} errand;

static int run_errand(heist_ctx c, void *arg)
{
    errand *e = arg;
    heist_flow_opts o = {.context = e->s};
    (void)c;
    CHECK_EQ(heist_graph_run(e->p->g, &o, HEIST_FOREVER), 0);
    return 0;
}

static void run_task(heist_runtime *rt, plan *p, state *s)
{
    errand e = {.rt = rt, .p = p, .s = s};
    heist_latch_init(&e.done, 1);
    CHECK_EQ(heist_spawn(rt, run_errand, &e, &e.done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&e.done, HEIST_FOREVER), 0);
}

/* Runs p in that way and checks it. */
static void run_plan(heist_runtime *rt, plan *p, way how)
{
    state *s = make_state(p);
    heist_flow_opts o = {.rt = rt, .context = s};
    heist_flow *f = NULL;
    uint32_t passes = how == RUN_MANY || how == START_MANY ? 3 : 1;
    o.times = passes;
    switch (how) {
    case RUN: CHECK_EQ(heist_graph_run(p->g, &o, HEIST_FOREVER), 0); break;
    case RUN_MANY:
        CHECK_EQ(heist_graph_run_n(p->g, passes, &o, HEIST_FOREVER), 0);
        break;
    case TASK: run_task(rt, p, s); break;
    default:
        CHECK_EQ(heist_flow_start(&f, p->g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_flow_close(f), 0);
    }
    check_all(s, passes);
    free_state(s);
}

/* --- one after the other -------------------------------------------------- */

static const unsigned worker_counts[] = {1, 2, 8, 70};

enum {
    WORKER_COUNTS = sizeof worker_counts / sizeof *worker_counts
};

TEST(small_random_graphs_run_each_node_once_and_in_order)
{
    uint64_t random = test_seed;
    for (int w = 0; w < WORKER_COUNTS * 3; w++) {
        heist_runtime *rt =
            pool_start(worker_counts[w / 3], (heist_exposure)(w % 3));
        for (long i = scaled(60); i > 0; i--) {
            uint64_t r = test_random(&random);
            unsigned features = r >> 16 & 255;
            plan *p =
                make_plan((uint32_t)(1 + r % 200), (unsigned)(1 + (r >> 8) % 6),
                          features, test_random(&random));
            for (int round = 0; round < 4 * WAYS; round++)
                run_plan(rt, p, (way)(round % WAYS));
            free_plan(p);
        }
        pool_stop(rt);
    }
}

TEST(large_random_graphs_run_each_node_once_and_in_order)
{
    static const unsigned features[] = {0, SOME_DELAYS, HEAVY, EVERYTHING,
                                        CONDITIONS | BACKWARDS};
    uint64_t random = test_seed;
    for (int f = 0; f < 5; f++) {
        plan *p = make_plan((uint32_t)scaled(100000), 8, features[f],
                            test_random(&random));
        for (int w = 0; w < WORKER_COUNTS; w++) {
            heist_runtime *rt =
                pool_start(worker_counts[w], (heist_exposure)((w + f) % 3));
            for (int how = 0; how < WAYS; how += 2)
                run_plan(rt, p, (way)how);
            pool_stop(rt);
        }
        free_plan(p);
    }
}

/* --- many at a time ------------------------------------------------------- */

enum {
    THREADS = 8
};

typedef struct crowd {
    heist_runtime *rt;
    plan *p;
    long rounds;
    int id;
} crowd;

static void *run_often(void *arg)
{
    crowd *k = arg;
    for (long i = 0; i < k->rounds; i++)
        run_plan(k->rt, k->p, (way)((i + k->id) % WAYS));
    return NULL;
}

TEST(eight_threads_run_the_same_graph_at_once)
{
    uint64_t random = test_seed;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        heist_runtime *rt =
            pool_start(worker_counts[w], (heist_exposure)(w % 3));
        for (int i = 0; i < 6; i++) {
            unsigned features = i == 0   ? 0
                                : i == 1 ? EVERYTHING
                                         : test_random(&random) & 255;
            plan *p = make_plan(300, 4, features, test_random(&random));
            pthread_t t[THREADS];
            crowd k[THREADS];
            for (int n = 0; n < THREADS; n++) {
                k[n] = (crowd){rt, p, scaled(30), n};
                CHECK_EQ(pthread_create(&t[n], NULL, run_often, &k[n]), 0);
            }
            for (int n = 0; n < THREADS; n++)
                pthread_join(t[n], NULL);
            free_plan(p);
        }
        pool_stop(rt);
    }
}

/* A node that runs a whole plan, or starts it and closes it later. */
typedef struct nested {
    plan *p;
    state *s;
    heist_flow *flow;
    bool starts;
} nested;

static int begin_nested(heist_ctx c, heist_step *step, void *arg)
{
    nested *n = arg;
    (void)c, (void)step;
    n->s = make_state(n->p);
    heist_flow_opts o = {.context = n->s};
    if (!n->starts) return heist_graph_run(n->p->g, &o, HEIST_FOREVER);
    return heist_flow_start(&n->flow, n->p->g, &o, HEIST_FOREVER);
}

static int end_nested(heist_ctx c, heist_step *step, void *arg)
{
    nested *n = arg;
    (void)c, (void)step;
    if (n->starts) CHECK_EQ(heist_flow_close(n->flow), 0);
    check_all(n->s, 1);
    free_state(n->s);
    return 0;
}

TEST(nodes_run_and_start_graphs)
{
    enum {
        NESTED = 20
    };

    uint64_t random = test_seed;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        heist_runtime *rt =
            pool_start(worker_counts[w], (heist_exposure)(w % 3));
        plan *p = make_plan(200, 4, EVERYTHING, test_random(&random));
        nested n[NESTED];
        heist_graph *g = NULL;
        CHECK_EQ(heist_graph_create(&g, NULL), 0);
        for (int i = 0; i < NESTED; i++) {
            n[i] = (nested){.p = p, .starts = i % 2};
            heist_node a = heist_graph_add(g, NULL, begin_nested, &n[i]);
            heist_node b = heist_graph_add(g, NULL, end_nested, &n[i]);
            CHECK_EQ(heist_graph_edge(g, a, b), 0);
        }
        for (long i = scaled(30); i > 0; i--) {
            heist_flow_opts o = {.rt = rt};
            CHECK_EQ(heist_graph_run(g, &o, HEIST_FOREVER), 0);
        }
        heist_graph_destroy(g);
        free_plan(p);
        pool_stop(rt);
    }
}

/* --- in the middle -------------------------------------------------------- */

/* Fails at a random node; nothing that follows it has run. */
static void run_failing(heist_runtime *rt, plan *p, uint64_t random)
{
    state *s = make_state(p);
    s->fails = (uint32_t)(random % p->count);
    heist_failure why = {0};
    heist_flow_opts o = {.rt = rt, .context = s, .failure = &why};
    heist_flow *f = NULL;
    if (random >> 32 & 1) {
        CHECK_EQ(heist_graph_run(p->g, &o, HEIST_FOREVER), -EIO);
    } else {
        CHECK_EQ(heist_flow_start(&f, p->g, &o, HEIST_FOREVER), 0);
        CHECK_EQ(heist_flow_close(f), -EIO);
    }
    CHECK_EQ(why.code, -EIO);
    CHECK_EQ(s->stamp[s->fails], 0);
    free_state(s);
}

/* Is cancelled, or its deadline passes, at any time; or it is quicker. */
static void run_stopped(heist_runtime *rt, plan *p, uint64_t random)
{
    state *s = make_state(p);
    heist_flow_opts o = {.rt = rt, .context = s};
    heist_flow *f = NULL;
    heist_time soon = (heist_time)(random >> 8 & 0x3ffff);
    int rc = 0;
    if (random % 3 == 0) {
        rc = heist_graph_run(p->g, &o, heist_after(soon));
        CHECK(rc == 0 || rc == -ETIMEDOUT);
    } else {
        if (random % 3 == 1) o.deadline = heist_after(soon);
        CHECK_EQ(heist_flow_start(&f, p->g, &o, HEIST_FOREVER), 0);
        spin(random >> 40 & 0xffff);
        if (random % 3 == 2) heist_flow_cancel(f);
        rc = heist_flow_close(f);
        CHECK(rc == 0 || rc == (random % 3 == 1 ? -ETIMEDOUT : -ECANCELED));
    }
    if (rc == 0) check_all(s, 1);
    free_state(s);
}

static void *stop_often(void *arg)
{
    crowd *k = arg;
    uint64_t random = test_seed + (uint64_t)k->id;
    for (long i = 0; i < k->rounds; i++) {
        uint64_t r = test_random(&random);
        if (i % 3 == 0)
            run_failing(k->rt, k->p, r);
        else if (i % 3 == 1)
            run_stopped(k->rt, k->p, r);
        else
            run_plan(k->rt, k->p, (way)(r % WAYS));
    }
    return NULL;
}

TEST(after_a_failure_or_cancellation_the_next_run_is_right)
{
    uint64_t random = test_seed;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        heist_runtime *rt =
            pool_start(worker_counts[w], (heist_exposure)(w % 3));
        for (int i = 0; i < 8; i++) {
            unsigned features = i == 0   ? 0
                                : i == 1 ? EVERYTHING
                                         : test_random(&random) & 255;
            plan *p = make_plan(300, 4, features, test_random(&random));
            pthread_t t[3];
            crowd k[3];
            for (int n = 0; n < 3; n++) {
                k[n] = (crowd){rt, p, scaled(90), n + 3 * i};
                CHECK_EQ(pthread_create(&t[n], NULL, stop_often, &k[n]), 0);
            }
            for (int n = 0; n < 3; n++)
                pthread_join(t[n], NULL);
            free_plan(p);
        }
        pool_stop(rt);
    }
}
