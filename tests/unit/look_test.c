/* SPDX-License-Identifier: MIT
 *
 * look_test.c: profiles, and graphs as DOT, SVG and JSON.
 */
#define _GNU_SOURCE 1
#include "graph/layout.h"
#include "test.h"

#include <ctype.h>
#include <errno.h>

/* --- graphs --------------------------------------------------------------- */

static int nothing(heist_ctx c, heist_step *step, void *arg)
{
    (void)c, (void)step, (void)arg;
    return 0;
}

static heist_graph *new_graph(const heist_allocator *allocator)
{
    heist_graph *g;
    CHECK_EQ(heist_graph_create(&g, allocator), 0);
    return g;
}

static uint32_t add(heist_graph *g, const char *name)
{
    return heist_graph_add(g, name, nothing, NULL).id;
}

static void edge(heist_graph *g, uint32_t from, uint32_t to)
{
    CHECK_EQ(heist_graph_edge(g, (heist_node){from}, (heist_node){to}), 0);
}

static heist_graph *diamond(const heist_allocator *allocator)
{
    heist_graph *g = new_graph(allocator);
    uint32_t load = add(g, "load"), parse = add(g, "parse");
    uint32_t index = add(g, "index"), store = add(g, "store");
    edge(g, load, parse);
    edge(g, load, index);
    edge(g, parse, store);
    edge(g, index, store);
    return g;
}

/* n columns and rows, each after its neighbours above and to the left. */
static heist_graph *wavefront(uint32_t n)
{
    heist_graph *g = new_graph(NULL);
    for (uint32_t i = 0; i < n * n; i++) {
        add(g, NULL);
        if (i >= n) edge(g, i - n, i);
        if (i % n) edge(g, i - 1, i);
    }
    return g;
}

static const char *const hostile[] = {
    "<&\"\\'>",
    "two\nlines\r\tand a tab",
    "",
    "\xff\xfe broken \xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80 \xe2\x82",
    "control \x01\x02\x1b[31m \x7f",
    "\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9 \xef\xbf\xbf \xef\xbf\xbe",
    "&lt;b&gt; \\N \\G {a|b} ]]> --> \\",
    "a name/that_is.longer-than one:line of text in a picture, and than two",
};

enum {
    HOSTILE = sizeof hostile / sizeof *hostile
};

/* Every kind of node, with every name, a loop, a self-loop, an erased node. */
static heist_graph *zoo(heist_graph *module)
{
    heist_graph *g = new_graph(NULL);
    char *longest = malloc(50001);
    memset(longest, '"', 50000);
    longest[50000] = 0;
    for (uint32_t i = 0; i < HOSTILE; i++) {
        add(g, hostile[i]);
        if (i) edge(g, i - 1, i);
    }
    uint32_t gone = add(g, "gone");
    edge(g, 0, gone);
    uint32_t c = heist_graph_add_condition(g, hostile[0], nothing, NULL).id;
    uint32_t m = heist_graph_add_module(g, longest, module, NULL).id;
    uint32_t h = heist_graph_add_choice(g, NULL, nothing, NULL).id;
    uint32_t p = heist_graph_add(g, "place", NULL, NULL).id;
    edge(g, gone, m);
    edge(g, HOSTILE - 1, c);
    edge(g, c, c);
    edge(g, c, 1);
    edge(g, c, m);
    edge(g, m, h);
    edge(g, h, p);
    CHECK_EQ(heist_graph_erase(g, (heist_node){gone}), 0);
    free(longest);
    return g;
}

/* A profile of any graph, also of one that cannot run. */
static heist_profile *new_profile(heist_graph *g)
{
    heist_profile *p = calloc(1, sizeof *p + g->count * sizeof(hi_lap));
    CHECK(p != NULL);
    p->graph = g;
    p->count = g->count;
    return p;
}

static void lap(heist_profile *p, uint32_t v, int64_t start, int64_t total,
                uint32_t runs, uint32_t worker)
{
    p->laps[v] = (hi_lap){start, start + total, total, runs, worker};
}

static heist_profile *any_profile(heist_graph *g)
{
    heist_profile *p = new_profile(g);
    uint64_t seed = test_seed;
    for (uint32_t v = 0; v < g->count; v++)
        lap(p, v, 1000000 + v, (int64_t)(test_random(&seed) % 5000), v % 3, v);
    return p;
}

/* --- what is written ------------------------------------------------------ */

typedef struct text {
    char *s;
    size_t length;
} text;

typedef int writer(heist_graph *g, const heist_profile *p, FILE *to);

static int json(heist_graph *g, const heist_profile *p, FILE *to)
{
    (void)g;
    return heist_profile_json(p, to);
}

static text written(writer *write, heist_graph *g, const heist_profile *p)
{
    text t;
    FILE *to = open_memstream(&t.s, &t.length);
    CHECK(to != NULL);
    CHECK_EQ(write(g, p, to), 0);
    CHECK_EQ(fclose(to), 0);
    CHECK_EQ(strlen(t.s), t.length);
    return t;
}

static bool contains(text t, const char *part)
{
    return strstr(t.s, part) != NULL;
}

static size_t count(text t, const char *part)
{
    size_t n = 0;
    for (const char *s = t.s; (s = strstr(s, part)); s++)
        n++;
    return n;
}

static bool is_text(text t)
{
    const char *s = t.s;
    while (*s && hi_utf8(s)) {
        if ((unsigned char)*s < 0x20 && *s != '\n') return false;
        s += hi_utf8(s);
    }
    return *s == 0;
}

/* Strict JSON: each function goes behind what it reads; NULL: not there. */
static const char *json_value(const char *s);

static const char *json_string(const char *s)
{
    if (*s++ != '"') return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) return NULL;
        if (*s != '\\') continue;
        s++;
        if (*s == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++s)) return NULL;
        } else if (!*s || !strchr("\"\\/bfnrt", *s)) {
            return NULL;
        }
    }
    return s + 1;
}

static const char *json_number(const char *s)
{
    if (*s == '-') s++;
    if (!isdigit((unsigned char)*s)) return NULL;
    if (*s == '0' && isdigit((unsigned char)s[1])) return NULL;
    s += strspn(s, "0123456789");
    if (*s != '.') return s;
    size_t digits = strspn(s + 1, "0123456789");
    return digits ? s + 1 + digits : NULL;
}

static const char *json_list(const char *s, char end)
{
    s += 1 + strspn(s + 1, " \n");
    if (*s == end) return s + 1;
    for (;;) {
        if (end == '}') {
            s = json_string(s);
            if (!s || *s++ != ':') return NULL;
        }
        s = json_value(s);
        if (!s) return NULL;
        if (*s == end) return s + 1;
        if (*s++ != ',') return NULL;
        s += strspn(s, " \n");
    }
}

static const char *json_value(const char *s)
{
    static const char *const words[] = {"true", "false", "null"};
    const char *end = NULL;
    s += strspn(s, " \n");
    if (*s == '{') end = json_list(s, '}');
    if (*s == '[') end = json_list(s, ']');
    if (*s == '"') end = json_string(s);
    if (*s == '-' || isdigit((unsigned char)*s)) end = json_number(s);
    for (int i = 0; i < 3; i++)
        if (!strncmp(s, words[i], strlen(words[i]))) end = s + strlen(words[i]);
    return end ? end + strspn(end, " \n") : NULL;
}

static bool is_json(text t)
{
    const char *end = json_value(t.s);
    return end && *end == 0 && is_text(t);
}

/* XML: elements closed in order, attributes in quotes, entities that exist. */
static bool is_entity(const char *s)
{
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    for (int i = 0; i < 4; i++)
        if (!strncmp(s, known[i], strlen(known[i]))) return true;
    return false;
}

/* Behind the attributes of an element. */
static const char *xml_attributes(const char *s)
{
    while (*s == ' ') {
        size_t n = strcspn(s + 1, "=<>\" /");
        s += 1 + n;
        if (n == 0 || *s++ != '=' || *s++ != '"') return NULL;
        for (; *s != '"'; s++)
            if (!*s || *s == '<' || (*s == '&' && !is_entity(s))) return NULL;
        s++;
    }
    return s;
}

static bool is_xml(text t)
{
    const char *open[16];
    int depth = 0, roots = 0;
    for (const char *s = t.s; *s;) {
        if (*s != '<') {
            if (*s == '>' || (*s == '&' && !is_entity(s))) return false;
            if (!depth && *s != '\n') return false;
            s++;
            continue;
        }
        bool closes = s[1] == '/';
        const char *name = s + 1 + closes;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        s = xml_attributes(name + n);
        if (!s || n == 0 || depth == 16) return false;
        roots += depth == 0;
        if (!closes) open[depth++] = name;
        if (closes || *s == '/') {
            if (!closes) s++;
            if (depth-- == 0 || strncmp(open[depth], name, n)) return false;
        }
        if (*s++ != '>') return false;
    }
    return depth == 0 && roots == 1 && is_text(t);
}

/* DOT: a line is a statement, strings are closed in it, their escapes known. */
static bool is_dot_line(const char *s, const char *end)
{
    int lists = 0;
    for (; s < end; s++) {
        if (*s == '[') lists++;
        if (*s == ']') lists--;
        if (*s != '"') {
            if (!isalnum((unsigned char)*s) && !strchr(" []=,;->{}", *s))
                return false;
            continue;
        }
        for (s++; *s != '"'; s++) {
            if (s >= end || (*s == '&' && !is_entity(s))) return false;
            if (*s == '\\' && !strchr("n\"\\", *++s)) return false;
        }
    }
    return lists == 0 && strchr("{};", end[-1]);
}

static bool is_dot(text t)
{
    for (const char *s = t.s, *end; *s; s = end + 1) {
        end = strchr(s, '\n');
        if (!end || !is_dot_line(s, end)) return false;
    }
    return is_text(t) && !strncmp(t.s, "digraph heist {\n", 16) &&
           !strcmp(t.s + t.length - 3, "\n}\n");
}

/* --- times ---------------------------------------------------------------- */

TEST(the_longest_path_of_a_diamond_is_found)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p;
    heist_profile_summary s;
    CHECK_EQ(heist_profile_create(&p, g), 0);
    lap(p, 0, 500, 10, 1, 0);
    lap(p, 1, 510, 20, 1, 0);
    lap(p, 2, 511, 5, 1, 7);
    lap(p, 3, 600, 7, 1, 0);
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.wall, 107);
    CHECK_EQ(s.work, 42);
    CHECK_EQ(s.span, 37);
    CHECK_EQ((int)(s.parallelism * 1000), 1135);
    CHECK_EQ(s.executions, 4);
    CHECK_EQ(s.critical, 3);
    CHECK_EQ(s.workers, 2);
    lap(p, 2, 511, 21, 1, 7);
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.span, 38);
    lap(p, 3, 600, 0, 1, 0); /* to the end, even if that takes no time */
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.span, 31);
    CHECK_EQ(s.critical, 3);
    heist_profile_destroy(p);
    heist_profile_destroy(NULL);
    heist_graph_destroy(g);
}

TEST(a_path_does_not_pass_what_did_not_run)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p = new_profile(g);
    heist_profile_summary s;
    lap(p, 0, 0, 10, 1, 0);
    lap(p, 2, 10, 5, 1, 0);
    lap(p, 3, 20, 7, 1, 0);
    p->laps[1].total = 1000; /* of no run */
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.span, 22);
    CHECK_EQ(s.work, 22);
    CHECK_EQ(s.executions, 3);
    free(p);
    heist_graph_destroy(g);
}

TEST(a_path_through_a_loop_takes_all_its_rounds)
{
    heist_graph *g = new_graph(NULL);
    uint32_t init = add(g, "init"), body = add(g, "body");
    uint32_t again = heist_graph_add_condition(g, "again", nothing, NULL).id;
    uint32_t done = add(g, "done");
    edge(g, init, body);
    edge(g, body, again);
    edge(g, again, body);
    edge(g, again, done);
    heist_profile *p = new_profile(g);
    heist_profile_summary s;
    lap(p, init, 0, 1, 1, 0);
    lap(p, body, 1, 100, 10, 0);
    lap(p, again, 11, 20, 10, 0);
    lap(p, done, 200, 3, 1, 0);
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.span, 124);
    CHECK_EQ(s.executions, 22);
    CHECK_EQ(s.critical, 4);
    CHECK_EQ(s.wall, 203);
    free(p);
    heist_graph_destroy(g);
}

TEST(a_loop_is_entered_from_its_source)
{
    heist_graph *g = new_graph(NULL);
    uint32_t step = add(g, "step"), source = add(g, "source");
    uint32_t again = heist_graph_add_condition(g, "again", nothing, NULL).id;
    edge(g, source, again);
    edge(g, again, step);
    edge(g, step, again);
    heist_profile *p = new_profile(g);
    heist_profile_summary s;
    lap(p, source, 0, 10, 1, 0);
    lap(p, again, 10, 5, 3, 0);
    lap(p, step, 20, 2, 2, 0);
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.span, 17);
    free(p);
    heist_graph_destroy(g);
}

TEST(workers_are_counted_once_and_guests_as_one)
{
    static const uint32_t worker[] = {0,          64,         4095, 0,
                                      UINT32_MAX, UINT32_MAX, 63};
    heist_graph *g = new_graph(NULL);
    for (int i = 0; i < 7; i++)
        add(g, NULL);
    heist_profile *p = new_profile(g);
    heist_profile_summary s;
    for (uint32_t i = 0; i < 7; i++)
        lap(p, i, 1, 0, 1, worker[i]);
    CHECK_EQ(heist_profile_read(p, &s), 0);
    CHECK_EQ(s.workers, 5);
    CHECK(s.parallelism == 0); /* nothing took any time */
    CHECK_EQ(s.critical, 1);
    free(p);
    heist_graph_destroy(g);
}

/* The longest path from v on, by trying them all. */
static int64_t naive_span(const heist_graph *g, const heist_profile *p,
                          uint32_t v)
{
    int64_t most = 0;
    if (!p->laps[v].runs) return 0;
    for (uint32_t i = 0; i < g->edge_count; i++) {
        if (g->edges[i].from != v) continue;
        int64_t rest = naive_span(g, p, g->edges[i].to);
        if (rest > most) most = rest;
    }
    return most + p->laps[v].total;
}

static bool has_edge(const heist_graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].from == from && g->edges[i].to == to) return true;
    return false;
}

/* The marked nodes are a path of edges, as long as it is said to be. */
static void check_path(const hi_look *k, const heist_profile *p)
{
    int64_t sum = 0;
    size_t nodes = 0, heads = 0;
    for (uint32_t v = 0; v < k->count; v++) {
        if (!k->critical[v]) continue;
        nodes++;
        sum += p->laps[v].total;
        if (k->before[v] == HEIST_NO_NODE) {
            heads++;
            continue;
        }
        CHECK(k->critical[k->before[v]]);
        CHECK(has_edge(k->graph, k->before[v], v));
    }
    CHECK_EQ(nodes, k->summary.critical);
    CHECK_EQ(sum, k->summary.span);
    CHECK_EQ(heads, nodes > 0);
}

/* A random graph of n nodes; `bent` of 16 edges may lead back. */
static heist_graph *random_graph(uint64_t *seed, uint32_t n, uint32_t edges,
                                 uint32_t bent)
{
    heist_graph *g = new_graph(NULL);
    uint32_t turn = (uint32_t)(test_random(seed) % n);
    for (uint32_t v = 0; v < n; v++)
        heist_graph_add_condition(g, NULL, nothing, NULL);
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t a = (uint32_t)(test_random(seed) % n);
        uint32_t b = (uint32_t)(test_random(seed) % n);
        bool back = test_random(seed) % 16 < bent;
        if ((a > b) != back) {
            uint32_t c = a;
            a = b;
            b = c;
        }
        /* Numbers that do not tell the order. */
        if (a != b || back) edge(g, (a + turn) % n, (b + turn) % n);
    }
    return g;
}

TEST(spans_of_random_graphs_are_those_of_trying_all_paths)
{
    uint64_t seed = test_seed;
    for (int round = 0; round < 300; round++) {
        uint32_t n = 1 + (uint32_t)(test_random(&seed) % 12);
        heist_graph *g = random_graph(&seed, n, 2 * n, 0);
        heist_profile *p = new_profile(g);
        hi_look k;
        int64_t most = 0;
        for (uint32_t v = 0; v < n; v++)
            lap(p, v, 0, (int64_t)(test_random(&seed) % 50),
                test_random(&seed) % 5 != 0, 0);
        for (uint32_t v = 0; v < n; v++) {
            int64_t span = naive_span(g, p, v);
            if (span > most) most = span;
        }
        CHECK_EQ(hi_look_open(&k, g, p), 0);
        CHECK_EQ(k.summary.span, most);
        check_path(&k, p);
        hi_look_close(&k);
        free(p);
        heist_graph_destroy(g);
    }
}

/* Is there a way from a to b? */
static bool leads(const heist_graph *g, uint32_t a, uint32_t b)
{
    uint8_t seen[16] = {0};
    seen[a] = 1;
    for (uint32_t i = 0; i < g->count; i++)
        for (uint32_t e = 0; e < g->edge_count; e++)
            seen[g->edges[e].to] |= seen[g->edges[e].from];
    return seen[b];
}

TEST(only_edges_that_close_a_loop_are_left_out_of_the_order)
{
    uint64_t seed = test_seed;
    for (int round = 0; round < 300; round++) {
        uint32_t n = 1 + (uint32_t)(test_random(&seed) % 12), sum = 0;
        heist_graph *g = random_graph(&seed, n, 2 * n, 4);
        heist_profile *p = any_profile(g);
        hi_look k;
        CHECK_EQ(hi_look_open(&k, g, p), 0);
        CHECK_EQ(k.edge_count, g->edge_count);
        for (uint32_t v = 0; v < n; v++) {
            sum += k.order[v];
            CHECK_EQ(k.place[k.order[v]], v);
        }
        CHECK_EQ(sum, n * (n - 1) / 2);
        for (uint32_t e = 0; e < g->edge_count; e++) {
            hi_edge it = g->edges[e];
            if (hi_look_leads_back(&k, it.from, it.to))
                CHECK(leads(g, it.to, it.from));
        }
        check_path(&k, p);
        hi_look_close(&k);
        free(p);
        heist_graph_destroy(g);
    }
}

TEST(a_profile_of_no_run_has_no_data)
{
    heist_graph *g = diamond(NULL), *other = diamond(NULL);
    heist_profile *p;
    heist_profile_summary s;
    CHECK_EQ(heist_profile_create(&p, g), 0);
    CHECK_EQ(heist_profile_read(p, &s), -ENODATA);
    CHECK_EQ(heist_profile_json(p, stdout), -ENODATA);
    CHECK_EQ(heist_graph_dot(other, p, stdout), -EINVAL);
    CHECK_EQ(heist_graph_svg(other, p, stdout), -EINVAL);
    text with = written(heist_graph_svg, g, p);
    text without = written(heist_graph_svg, g, NULL);
    CHECK(!strcmp(with.s, without.s));
    free(with.s);
    free(without.s);
    heist_profile_destroy(p);
    heist_graph_destroy(g);
    heist_graph_destroy(other);
}

TEST(a_wrong_graph_gets_no_profile)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p = NULL;
    edge(g, 3, 0);
    CHECK_EQ(heist_profile_create(&p, g), -EDEADLK);
    CHECK(p == NULL);
    heist_graph_destroy(g);
}

TEST(a_run_fills_its_profile)
{
    heist_graph *g = wavefront(20);
    heist_profile *p;
    heist_profile_summary s;
    CHECK_EQ(heist_profile_create(&p, g), 0);
    heist_flow_opts opts = {.profile = p};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(heist_graph_run(g, &opts, HEIST_FOREVER), 0);
        CHECK_EQ(heist_profile_read(p, &s), 0);
        CHECK_EQ(s.executions, 400);
        CHECK_EQ(s.critical, 39);
        CHECK(s.workers >= 1);
        CHECK(s.span <= s.work);
        CHECK(s.span <= s.wall);
    }
    heist_profile_destroy(p);
    heist_graph_destroy(g);
}

/* --- words ---------------------------------------------------------------- */

TEST(a_time_is_written_in_its_unit)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "0 ns"},           {999, "999 ns"},
                {1000, "1.0 us"},      {12345, "12.3 us"},
                {12350, "12.4 us"},    {999899, "999.9 us"},
                {999950, "1.0 ms"},    {999899999, "999.9 ms"},
                {1500000000, "1.5 s"}, {INT64_MAX, "9223372036.9 s"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[HI_WORD];
        hi_look_time(out, rows[i].ns);
        CHECK(!strcmp(out, rows[i].text));
    }
}

TEST(only_utf8_is_taken_for_it)
{
    static const struct {
        const char *s;
        size_t bytes;
    } rows[] = {{"a", 1},
                {"", 0},
                {"\x80", 0},
                {"\xc3\xa9", 2},
                {"\xc1\x81", 0},
                {"\xc3", 0},
                {"\xc3(", 0},
                {"\xe0\x9f\xbf", 0},
                {"\xe0\xa0\x80", 3},
                {"\xed\x9f\xbf", 3},
                {"\xed\xa0\x80", 0},
                {"\xe2\x82", 0},
                {"\xf0\x8f\xbf\xbf", 0},
                {"\xf0\x90\x80\x80", 4},
                {"\xf4\x8f\xbf\xbf", 4},
                {"\xf4\x90\x80\x80", 0},
                {"\xf5\x80\x80\x80", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_EQ(hi_utf8(rows[i].s), rows[i].bytes);
}

/* --- writers -------------------------------------------------------------- */

TEST(json_has_the_summary_and_every_node)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p = new_profile(g);
    lap(p, 0, 500, 10, 1, 0);
    lap(p, 1, 510, 20, 2, UINT32_MAX);
    lap(p, 3, 600, 7, 1, 3);
    text t = written(json, g, p);
    CHECK(is_json(t));
    CHECK(contains(t, "{\"wall\": 107, \"work\": 37, \"span\": 37, "
                      "\"parallelism\": 1.000, \"executions\": 4, "
                      "\"critical\": 3, \"workers\": 3}"));
    CHECK(contains(t, "{\"id\": 1, \"name\": \"parse\", \"kind\": \"plain\", "
                      "\"start\": 10, \"end\": 30, \"time\": 20, "
                      "\"executions\": 2, \"worker\": -1, "
                      "\"critical\": true, \"edges\": [3]}"));
    CHECK(contains(t, "\"start\": null, \"end\": null, \"time\": 0, "
                      "\"executions\": 0, \"worker\": null, "
                      "\"critical\": false, \"edges\": [3]}"));
    CHECK(contains(t, "\"edges\": [1, 2]"));
    free(t.s);
    free(p);
    heist_graph_destroy(g);
}

TEST(dot_says_what_kind_nodes_and_edges_are)
{
    heist_graph *module = diamond(NULL), *g = zoo(module);
    text t = written(heist_graph_dot, g, NULL);
    CHECK(is_dot(t));
    CHECK_EQ(count(t, " [label="), heist_graph_size(g));
    CHECK_EQ(count(t, "shape=diamond"), 2);
    CHECK_EQ(count(t, "peripheries=2"), 1);
    CHECK_EQ(count(t, "shape=box3d"), 1);
    CHECK_EQ(count(t, "\\n4 nodes"), 1);
    CHECK_EQ(count(t, "dotted"), 1);
    CHECK(contains(t, "n9 -> n9 [style=dashed, label=\"0\"];"));
    CHECK(contains(t, "n9 -> n10 [style=dashed, label=\"2\"];"));
    CHECK(contains(t, "n0 -> n1 [];"));
    CHECK(contains(t, "label=\"#2\""));
    CHECK_EQ(count(t, "n8 "), 0);
    CHECK_EQ(count(t, "penwidth"), 0);
    free(t.s);
    heist_graph_destroy(g);
    heist_graph_destroy(module);
}

TEST(the_longest_path_is_marked_in_dot_and_svg)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p = new_profile(g);
    for (uint32_t v = 0; v < 4; v++)
        lap(p, v, v, v == 2 ? 12345 : 10, 1, v);
    text dot = written(heist_graph_dot, g, p);
    CHECK(is_dot(dot));
    CHECK_EQ(count(dot, "penwidth=3"), 5); /* three nodes, two edges */
    CHECK(contains(dot, "index\\n12.3 us"));
    CHECK(contains(dot, "span 12.4 us"));
    text svg = written(heist_graph_svg, g, p);
    CHECK(is_xml(svg));
    CHECK_EQ(count(svg, ", on the longest path"), 3);
    CHECK_EQ(count(svg, "url(#heist-critical)"), 2);
    CHECK_EQ(count(svg, "url(#heist-arrow)"), 2);
    CHECK(contains(svg, "work 12.4 us, span 12.4 us, parallelism 1.0"));
    CHECK(contains(svg, "<title>index\n12.3 us, 1 execution, worker 2, "));
    free(dot.s);
    free(svg.s);
    free(p);
    heist_graph_destroy(g);
}

TEST(hostile_names_stay_names)
{
    heist_graph *module = diamond(NULL), *g = zoo(module);
    heist_profile *p = any_profile(g);
    for (int with = 0; with < 2; with++) {
        text dot = written(heist_graph_dot, g, with ? p : NULL);
        text svg = written(heist_graph_svg, g, with ? p : NULL);
        CHECK(is_dot(dot));
        CHECK(contains(dot, "label=\"<&amp;\\\"\\\\'>"));
        CHECK(contains(dot, "two\\nlines"));
        CHECK(is_xml(svg));
        CHECK(contains(svg, ">&lt;&amp;&quot;\\'&gt;</text>"));
        CHECK(contains(svg, ">#2</text>"));
        CHECK_EQ(count(svg, "<title>"), heist_graph_size(g));
        CHECK(!contains(svg, "\xef\xbf\xbf"));
        CHECK(!contains(svg, "\xef\xbf\xbe"));
        free(dot.s);
        free(svg.s);
    }
    text t = written(json, g, p);
    CHECK(is_json(t));
    CHECK(contains(t, "\"<&\\\"\\\\'>\""));
    CHECK(contains(t, "\\u00ff\\u00fe broken \\u00c0\\u0080"));
    CHECK(contains(t, "two\\u000alines"));
    CHECK_EQ(count(t, "{\"id\": "), heist_graph_size(g));
    free(t.s);
    free(p);
    heist_graph_destroy(g);
    heist_graph_destroy(module);
}

TEST(an_empty_graph_can_be_written)
{
    heist_graph *g = new_graph(NULL);
    for (int sealed = 0; sealed < 2; sealed++) {
        text dot = written(heist_graph_dot, g, NULL);
        text svg = written(heist_graph_svg, g, NULL);
        CHECK(is_dot(dot));
        CHECK(is_xml(svg));
        CHECK(contains(svg, "no nodes"));
        free(dot.s);
        free(svg.s);
        CHECK_EQ(heist_graph_check(g, NULL, 0), 0);
    }
    heist_graph_destroy(g);
}

TEST(a_sealed_graph_is_written_as_before_and_neither_is_changed)
{
    uint64_t seed = test_seed;
    heist_graph *g = new_graph(NULL);
    for (uint32_t v = 0; v < 200; v++) {
        uint32_t a = (uint32_t)test_random(&seed) % (v ? v : 1);
        add(g, NULL);
        if (v) edge(g, a, v);
        if (v > 9 && a != v / 2) edge(g, v / 2, v);
    }
    for (uint32_t v = 0; v < 200; v += 7)
        CHECK_EQ(heist_graph_erase(g, (heist_node){v}), 0);
    writer *const writers[] = {heist_graph_dot, heist_graph_svg};
    text t[2][2];
    for (int sealed = 0; sealed < 2; sealed++) {
        heist_graph copy;
        memcpy(&copy, g, sizeof copy);
        for (int i = 0; i < 2; i++)
            t[sealed][i] = written(writers[i], g, NULL);
        CHECK(!memcmp(&copy, g, sizeof copy));
        CHECK_EQ(heist_graph_check(g, NULL, 0), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(!strcmp(t[0][i].s, t[1][i].s));
        free(t[0][i].s);
        free(t[1][i].s);
    }
    heist_graph_destroy(g);
}

TEST(a_full_disk_is_an_error)
{
    heist_graph *g = diamond(NULL);
    heist_profile *p = any_profile(g);
    writer *const writers[] = {heist_graph_dot, heist_graph_svg, json};
    for (int i = 0; i < 3; i++) {
        FILE *full = fopen("/dev/full", "w");
        CHECK(full != NULL);
        errno = 0;
        CHECK_EQ(writers[i](g, p, full), -EIO);
        CHECK_EQ(errno, 0);
        fclose(full);
    }
    free(p);
    heist_graph_destroy(g);
}

/* An allocator that counts, and refuses from the n-th on. */
typedef struct meter {
    long live, left;
} meter;

static void *meter_alloc(void *user, size_t bytes, size_t align)
{
    meter *m = user;
    void *p;
    if (m->left-- <= 0) return NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    if (posix_memalign(&p, align, bytes) != 0) return NULL;
    memset(p, 0xa5, bytes);
    m->live += (long)bytes;
    return p;
}

static void meter_free(void *user, void *p, size_t bytes)
{
    ((meter *)user)->live -= (long)bytes;
    free(p);
}

static int create(heist_graph *g, const heist_profile *p, FILE *to)
{
    heist_profile *mine;
    (void)p, (void)to;
    int rc = heist_profile_create(&mine, g);
    if (rc == 0) heist_profile_destroy(mine);
    return rc;
}

static int summary(heist_graph *g, const heist_profile *p, FILE *to)
{
    heist_profile_summary s;
    (void)g, (void)to;
    return heist_profile_read(p, &s);
}

TEST(without_memory_nothing_is_written_or_lost)
{
    meter m = {.left = 1000};
    heist_allocator a = {meter_alloc, meter_free, &m};
    heist_graph *g = diamond(&a);
    heist_profile *p = any_profile(g);
    writer *const writers[] = {heist_graph_dot, heist_graph_svg, json, summary,
                               create};
    FILE *null = fopen("/dev/null", "w");
    for (int sealed = 0; sealed < 2; sealed++) {
        for (int i = 0; i < (sealed ? 5 : 4); i++) {
            int rc = -ENOMEM, n = 0;
            for (; rc == -ENOMEM; n++) {
                long before = m.live;
                m.left = n;
                rc = writers[i](g, p, null);
                CHECK(rc == 0 || rc == -ENOMEM);
                CHECK_EQ(m.live, before);
            }
            CHECK(n > 1 && n < 10);
        }
        m.left = 1000;
        CHECK_EQ(heist_graph_check(g, NULL, 0), 0);
    }
    fclose(null);
    free(p);
    heist_graph_destroy(g);
    CHECK_EQ(m.live, 0);
}

/* --- pictures ------------------------------------------------------------- */

static void lay_out(hi_look *k, hi_layout *l, heist_graph *g)
{
    uint64_t seed = test_seed;
    CHECK_EQ(hi_look_open(k, g, NULL), 0);
    CHECK_EQ(hi_layout_open(l, k), 0);
    for (uint32_t s = 0; s < l->node_count; s++) {
        l->spots[s].width = 20 + (double)(test_random(&seed) % 200);
        l->spots[s].height = 20 + (double)(test_random(&seed) % 40);
    }
    hi_layout_place(l);
}

/* Nothing overlaps, edges lead down by bends in all layers between. */
static void check_layout(const hi_look *k, const hi_layout *l)
{
    for (uint32_t i = 0; i < l->layer_count; i++) {
        const hi_layer *layer = &l->layers[i];
        CHECK(layer->first < layer[1].first);
        if (i) CHECK(layer->y >= layer[-1].y + layer[-1].height + 20);
        for (uint32_t j = layer->first; j < layer[1].first; j++) {
            const hi_spot *s = &l->spots[l->row[j]];
            CHECK_EQ(s->layer, i);
            CHECK(s->height <= layer->height);
            CHECK(s->x - s->width / 2 > -0.01);
            CHECK(s->x + s->width / 2 < l->width + 0.01);
            if (j == layer->first) continue;
            const hi_spot *left = &l->spots[l->row[j - 1]];
            CHECK(s->x - left->x > (s->width + left->width) / 2 + 10);
        }
    }
    for (uint32_t i = 0; i < l->wire_count; i++) {
        const hi_wire *w = &l->wires[i];
        const hi_spot *from = &l->spots[w->from], *to = &l->spots[w->to];
        CHECK_EQ(k->to[w->edge], to->node);
        if (hi_look_leads_back(k, from->node, to->node)) continue;
        CHECK_EQ(from->layer + w->bends + 1, to->layer);
        for (uint32_t b = 0; b < w->bends; b++)
            CHECK_EQ(l->spots[w->bend + b].layer, from->layer + 1 + b);
    }
}

TEST(nothing_in_a_picture_overlaps)
{
    uint64_t seed = test_seed;
    for (int round = 0; round < 60; round++) {
        uint32_t n = 1 + (uint32_t)(test_random(&seed) % 150);
        uint32_t edges = (uint32_t)(test_random(&seed) % (3 * n));
        heist_graph *g = random_graph(&seed, n, edges, (uint32_t)round % 3);
        hi_look k;
        hi_layout l;
        lay_out(&k, &l, g);
        CHECK_EQ(l.node_count, n);
        CHECK_EQ(l.wire_count, g->edge_count);
        check_layout(&k, &l);
        hi_layout_close(&l);
        hi_look_close(&k);
        heist_graph_destroy(g);
    }
}

/* Of all pairs of hops between two layers, by the places in the rows. */
static uint32_t naive_crossings(const hi_layout *l)
{
    uint32_t place[1000], from[2000], to[2000], hops = 0, found = 0;
    for (uint32_t i = 0; i < l->spot_count; i++)
        place[l->row[i]] = i;
    for (uint32_t s = 0; s < l->spot_count; s++) {
        for (uint32_t h = l->first_hop[1][s]; h < l->first_hop[1][s + 1]; h++) {
            from[hops] = place[s];
            to[hops++] = place[l->hops[1][h].spot];
        }
    }
    for (uint32_t i = 0; i < hops; i++)
        for (uint32_t j = 0; j < hops; j++)
            found += from[i] < from[j] && to[i] > to[j] &&
                     l->spots[l->row[from[i]]].layer ==
                         l->spots[l->row[from[j]]].layer;
    return found;
}

/* The same graph with its nodes and edges in another order. */
static heist_graph *shuffled(heist_graph *g, uint64_t *seed)
{
    heist_graph *other = new_graph(NULL);
    uint32_t name[1000];
    for (uint32_t v = 0; v < g->count; v++) {
        uint32_t w = (uint32_t)(test_random(seed) % (v + 1));
        name[v] = name[w];
        name[w] = v;
        add(other, NULL);
    }
    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t w = e + (uint32_t)(test_random(seed) % (g->edge_count - e));
        hi_edge it = g->edges[w];
        g->edges[w] = g->edges[e];
        edge(other, name[it.from], name[it.to]);
    }
    heist_graph_destroy(g);
    return other;
}

static void crossings_of(heist_graph *g, uint32_t *before, uint32_t *after)
{
    hi_look k;
    hi_layout l;
    CHECK_EQ(hi_look_open(&k, g, NULL), 0);
    CHECK_EQ(hi_layout_open(&l, &k), 0);
    *before = naive_crossings(&l);
    hi_layout_place(&l);
    *after = naive_crossings(&l);
    hi_layout_close(&l);
    hi_look_close(&k);
    heist_graph_destroy(g);
}

TEST(a_picture_has_fewer_crossings_than_the_order_of_its_nodes)
{
    uint64_t seed = test_seed;
    uint32_t before, after, sum_before = 0, sum_after = 0;
    for (int round = 0; round < 100; round++) {
        for (uint32_t n = 2; n < 22; n++) {
            crossings_of(random_graph(&seed, n, 2 * n, 0), &before, &after);
            CHECK(after <= before);
        }
        crossings_of(shuffled(wavefront(6), &seed), &before, &after);
        CHECK(after <= before);
        sum_before += before;
        sum_after += after;
    }
    CHECK(sum_after < sum_before / 5);
}

TEST(a_wavefront_is_drawn_without_crossings)
{
    uint32_t before, after;
    crossings_of(wavefront(8), &before, &after);
    CHECK_EQ(after, 0);
}

TEST(nodes_without_edges_form_a_square)
{
    heist_graph *g = new_graph(NULL);
    for (int i = 0; i < 100; i++)
        add(g, NULL);
    edge(g, 0, 1);
    hi_look k;
    hi_layout l;
    lay_out(&k, &l, g);
    CHECK_EQ(l.layer_count, 2 + 10);
    check_layout(&k, &l);
    hi_layout_close(&l);
    hi_look_close(&k);
    heist_graph_destroy(g);
}

TEST(a_source_is_drawn_next_to_what_it_leads_to)
{
    heist_graph *g = new_graph(NULL);
    for (uint32_t v = 0; v < 6; v++) {
        add(g, NULL);
        if (v) edge(g, v - 1, v);
    }
    uint32_t late = add(g, "late");
    edge(g, late, 5);
    hi_look k;
    hi_layout l;
    lay_out(&k, &l, g);
    CHECK_EQ(l.layer_of[late], 4);
    CHECK_EQ(l.spot_count, 7);
    hi_layout_close(&l);
    hi_look_close(&k);
    heist_graph_destroy(g);
}

TEST(a_large_picture_says_what_it_leaves_out)
{
    heist_graph *g = new_graph(NULL);
    for (uint32_t v = 0; v < 2500; v++) {
        add(g, NULL);
        for (uint32_t i = 1; i <= 10 && i <= v; i++)
            edge(g, v - i, v);
    }
    text t = written(heist_graph_svg, g, NULL);
    CHECK(is_xml(t));
    CHECK_EQ(count(t, "<title>"), HI_LAYOUT_NODES);
    CHECK_EQ(count(t, "marker-end="), HI_LAYOUT_WIRES);
    CHECK(contains(t, ">500 more nodes not shown<"));
    /* All between those 2,000, but for what is drawn. */
    CHECK(contains(t, ">7945 more edges not shown<"));
    free(t.s);
    heist_graph_destroy(g);
}
