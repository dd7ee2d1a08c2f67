/* SPDX-License-Identifier: MIT
 *
 * The Cholesky factorization of a positive definite matrix, A = L L', by tiles:
 * each step on a tile is a node, and waits for the steps on those tiles that it
 * reads.  Steps of different columns overlap; no column waits for the whole of
 * the one before.
 *
 *     13_cholesky [--tiles N] [--structure FILE] [--svg FILE]
 *
 * Writes a picture of the graph, or one with the times of its run.
 */
#include <heist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = 64, /* rows and columns: three tiles fit into a small cache */
    MOST_TILES = 64,
    RUNS = 3
};

/* By columns, as the tiles of a matrix are: only those on and below the diagonal
 * are there. */
typedef double tile[TILE][TILE];

struct matrix {
    size_t tiles; /* in a row */
    tile *tile;
};

static tile *at(const struct matrix *m, size_t row, size_t column)
{
    return &m->tile[row * (row + 1) / 2 + column];
}

static size_t tile_count(size_t tiles)
{
    return tiles * (tiles + 1) / 2;
}

/* --- steps on tiles --------------------------------------------------------- */

/* Compiled once: the two ways to call them shall agree in every bit. */
#define STEP static __attribute__((noinline)) void

/* a = the factor of a; what is above the diagonal is left as it was. */
STEP potrf(tile a)
{
    for (size_t j = 0; j < TILE; j++) {
        double root = sqrt(a[j][j]);
        for (size_t i = j; i < TILE; i++)
            a[j][i] /= root;
        for (size_t k = j + 1; k < TILE; k++)
            for (size_t i = k; i < TILE; i++)
                a[k][i] -= a[j][i] * a[j][k];
    }
}

/* a = a l'^-1 */
STEP trsm(tile a, tile l)
{
    for (size_t j = 0; j < TILE; j++) {
        for (size_t i = 0; i < TILE; i++)
            a[j][i] /= l[j][j];
        for (size_t k = j + 1; k < TILE; k++)
            for (size_t i = 0; i < TILE; i++)
                a[k][i] -= a[j][i] * l[j][k];
    }
}

/* c = c - a b': four columns of a at once, so that c is read less often.  On the
 * diagonal, where a is b, half of it is computed for nothing. */
STEP gemm(tile c, tile a, tile b)
{
    for (size_t j = 0; j < TILE; j++)
        for (size_t k = 0; k < TILE; k += 4)
            for (size_t i = 0; i < TILE; i++)
                c[j][i] -= a[k][i] * b[k][j] + a[k + 1][i] * b[k + 1][j] +
                           a[k + 2][i] * b[k + 2][j] +
                           a[k + 3][i] * b[k + 3][j];
}

/* --- serially --------------------------------------------------------------- */

static void factor(const struct matrix *m)
{
    for (size_t k = 0; k < m->tiles; k++) {
        potrf(*at(m, k, k));
        for (size_t i = k + 1; i < m->tiles; i++)
            trsm(*at(m, i, k), *at(m, k, k));
        for (size_t i = k + 1; i < m->tiles; i++)
            for (size_t j = k + 1; j <= i; j++)
                gemm(*at(m, i, j), *at(m, i, k), *at(m, j, k));
    }
}

/* --- as a graph ------------------------------------------------------------- */

/* The argument of a node: what it writes, and what it reads. */
struct work {
    tile *a, *b, *c;
};

static int potrf_node(heist_ctx c, heist_step *step, void *arg)
{
    const struct work *w = arg;
    (void)c, (void)step;
    potrf(*w->a);
    return 0;
}

static int trsm_node(heist_ctx c, heist_step *step, void *arg)
{
    const struct work *w = arg;
    (void)c, (void)step;
    trsm(*w->a, *w->b);
    return 0;
}

static int gemm_node(heist_ctx c, heist_step *step, void *arg)
{
    const struct work *w = arg;
    (void)c, (void)step;
    gemm(*w->a, *w->b, *w->c);
    return 0;
}

struct plan {
    heist_graph *graph;
    const struct matrix *matrix;
    heist_node *last; /* by tile: who wrote it last; none at first */
};

static heist_node *last_of(const struct plan *p, size_t row, size_t column)
{
    return &p->last[at(p->matrix, row, column) - p->matrix->tile];
}

/* Adds a step on tile (i, j) that follows the last one there. */
static heist_node add(struct plan *p, const char *kind, heist_node_fn *fn,
                      size_t i, size_t j, size_t k)
{
    char name[64];
    const struct matrix *m = p->matrix;
    struct work *w = heist_graph_alloc(p->graph, sizeof *w);
    if (w) *w = (struct work){at(m, i, j), at(m, j, k), NULL};
    if (w && fn == gemm_node) *w = (struct work){w->a, at(m, i, k), w->b};
    snprintf(name, sizeof name, "%s %zu,%zu", kind, i, j);
    heist_node node = heist_graph_add(p->graph, name, fn, w);
    heist_node *last = last_of(p, i, j);
    if (last->id != HEIST_NO_NODE) heist_graph_edge(p->graph, *last, node);
    *last = node;
    return node;
}

/* The same loops as above.  An error of building is kept by the graph. */
static void plan_factor(struct plan *p)
{
    size_t n = p->matrix->tiles;
    heist_graph *g = p->graph;
    for (size_t k = 0; k < n; k++) {
        heist_node diagonal = add(p, "potrf", potrf_node, k, k, k);
        /* Everything to come waits for it. */
        heist_graph_priority(g, diagonal, HEIST_HIGH);
        for (size_t i = k + 1; i < n; i++)
            heist_graph_edge(g, diagonal, add(p, "trsm", trsm_node, i, k, k));
        for (size_t i = k + 1; i < n; i++) {
            heist_graph_edge(g, *last_of(p, i, k),
                             add(p, "syrk", gemm_node, i, i, k));
            for (size_t j = k + 1; j < i; j++) {
                heist_node node = add(p, "gemm", gemm_node, i, j, k);
                heist_graph_edge(g, *last_of(p, i, k), node);
                heist_graph_edge(g, *last_of(p, j, k), node);
            }
        }
    }
}

static int make_graph(heist_graph **out, const struct matrix *m)
{
    struct plan p = {.matrix = m};
    size_t n = tile_count(m->tiles);
    p.last = malloc(n * sizeof *p.last);
    int rc = p.last ? heist_graph_create(&p.graph, NULL) : -1;
    for (size_t i = 0; rc == 0 && i < n; i++)
        p.last[i].id = HEIST_NO_NODE;
    if (rc == 0) plan_factor(&p);
    free(p.last);
    *out = p.graph;
    char why[200] = "no memory";
    if (rc == 0) rc = heist_graph_check(p.graph, why, sizeof why);
    if (rc < 0) fprintf(stderr, "the graph: %s\n", why);
    return rc;
}

/* --- the matrix and the check ----------------------------------------------- */

static struct matrix new_matrix(size_t tiles)
{
    size_t bytes = tile_count(tiles) * sizeof(tile);
    struct matrix m = {tiles, aligned_alloc(64, bytes)};
    if (!m.tile) fprintf(stderr, "no memory\n"), exit(1);
    memset(m.tile, 0, bytes); /* the pages are there when the clock runs */
    return m;
}

/* Symmetric, and its diagonal outweighs all the rest: positive definite. */
static void fill(const struct matrix *m)
{
    uint32_t seed = 1;
    for (size_t t = 0; t < tile_count(m->tiles); t++)
        for (size_t i = 0; i < TILE * TILE; i++) {
            seed = seed * 1664525 + 1013904223;
            m->tile[t][i / TILE][i % TILE] = (double)seed / UINT32_MAX - 0.5;
        }
    for (size_t k = 0; k < m->tiles; k++)
        for (size_t j = 0; j < TILE; j++) {
            double(*a)[TILE] = *at(m, k, k);
            a[j][j] += (double)(m->tiles * TILE);
            for (size_t i = j + 1; i < TILE; i++)
                a[i][j] = a[j][i];
        }
}

static double element(const struct matrix *m, size_t i, size_t j)
{
    return (*at(m, i / TILE, j / TILE))[j % TILE][i % TILE];
}

/* The largest element of A - L L', in terms of A's diagonal. */
static double residual(const struct matrix *a, const struct matrix *l)
{
    size_t n = a->tiles * TILE;
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = element(a, i, j);
            for (size_t k = 0; k <= j; k++)
                sum -= element(l, i, k) * element(l, j, k);
            worst = fmax(worst, fabs(sum));
        }
    return worst / (double)n;
}

/* --- the two of them -------------------------------------------------------- */

static void copy(const struct matrix *to, const struct matrix *from)
{
    memcpy(to->tile, from->tile, tile_count(to->tiles) * sizeof(tile));
}

static void say_speed(const char *who, size_t tiles, heist_time took)
{
    double n = (double)(tiles * TILE);
    printf("%s  %7.2f ms  %5.2f GFLOP/s\n", who, (double)took / 1e6,
           n * n * n / 3 / (double)took);
}

static heist_time run_serial(const struct matrix *l, const struct matrix *a)
{
    heist_time best = HEIST_FOREVER;
    for (int i = 0; i < RUNS; i++) {
        copy(l, a);
        heist_time begin = heist_now();
        factor(l);
        heist_time took = heist_now() - begin;
        if (took < best) best = took;
    }
    return best;
}

/* The times of the nodes are kept in the last run only: that costs something. */
static int run_graph(heist_graph *g, const struct matrix *l,
                     const struct matrix *a, heist_profile *profile,
                     heist_time *best)
{
    *best = HEIST_FOREVER;
    for (int i = 0; i <= RUNS; i++) {
        heist_flow_opts opts = {.profile = i == RUNS ? profile : NULL};
        copy(l, a);
        heist_time begin = heist_now();
        int rc = heist_graph_run(g, &opts, HEIST_FOREVER);
        heist_time took = heist_now() - begin;
        if (rc < 0) return rc;
        if (took < *best) *best = took;
    }
    return 0;
}

static bool is_right(const struct matrix *a, const struct matrix *serial,
                     const struct matrix *l)
{
    double wrong = residual(a, l);
    size_t bytes = tile_count(a->tiles) * sizeof(tile);
    bool same = memcmp(serial->tile, l->tile, bytes) == 0;
    printf("A - L L' is at most %.1e: %s; the factor is %s\n", wrong,
           wrong < 1e-12 ? "right" : "WRONG",
           same ? "the serial one, bit for bit" : "DIFFERENT from the serial");
    return wrong < 1e-12 && same;
}

static int draw(heist_graph *g, const heist_profile *profile, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) return perror(path), -1;
    int rc = heist_graph_svg(g, profile, file);
    if (fclose(file) != 0) rc = -1;
    if (rc < 0) fprintf(stderr, "%s: not written\n", path);
    return rc;
}

struct options {
    size_t tiles;
    const char *structure, *svg;
};

static int run(const struct options *o, const struct matrix *l,
               const struct matrix *a, heist_graph *g)
{
    heist_profile *profile = NULL;
    heist_profile_summary s;
    heist_time took;
    int rc = heist_profile_create(&profile, g);
    if (rc == 0) rc = run_graph(g, l, a, profile, &took);
    if (rc == 0) rc = heist_profile_read(profile, &s);
    if (rc == 0) {
        say_speed("graph ", a->tiles, took);
        printf("%zu nodes: work %.2f ms, span %.2f ms, parallelism %.1f\n",
               heist_graph_size(g), (double)s.work / 1e6, (double)s.span / 1e6,
               s.parallelism);
    } else {
        fprintf(stderr, "%s\n", strerror(-rc));
    }
    if (rc == 0 && o->structure) rc = draw(g, NULL, o->structure);
    if (rc == 0 && o->svg) rc = draw(g, profile, o->svg);
    heist_profile_destroy(profile);
    return rc;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1];
        if (!value)
            return false;
        else if (strcmp(argv[i], "--tiles") == 0)
            o->tiles = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--structure") == 0)
            o->structure = value;
        else if (strcmp(argv[i], "--svg") == 0)
            o->svg = value;
        else
            return false;
    }
    return o->tiles >= 1 && o->tiles <= MOST_TILES;
}

int main(int argc, char **argv)
{
    struct options o = {.tiles = 12};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: 13_cholesky [--tiles N] [--structure FILE] "
                        "[--svg FILE]\n");
        return 2;
    }
    struct matrix a = new_matrix(o.tiles), serial = new_matrix(o.tiles),
                  l = new_matrix(o.tiles);
    heist_graph *g;
    fill(&a);
    printf("%zu rows in %zu tiles\n", o.tiles * TILE, tile_count(o.tiles));
    say_speed("serial", o.tiles, run_serial(&serial, &a));
    int rc = make_graph(&g, &l);
    if (rc == 0) rc = run(&o, &l, &a, g);
    bool right = rc == 0 && is_right(&a, &serial, &l);
    heist_graph_destroy(g);
    free(a.tile);
    free(serial.tile);
    free(l.tile);
    return right ? 0 : 1;
}
