/* SPDX-License-Identifier: MIT */
#include "graph/examine.h"

#include "../test.h"

#include <errno.h>

/* --- graphs by hand ------------------------------------------------------ */

/* Memory that can be counted and can fail. */
static struct {
    long blocks;  /* not given back */
    long allowed; /* allocations until one fails; -1: none does */
} memory = {0, -1};

enum {
    HEADER = 64 /* says how long the block is */
};

static void *test_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    CHECK(align <= HEADER);
    if (memory.allowed == 0) return NULL;
    if (memory.allowed > 0) memory.allowed--;
    void *p = NULL;
    CHECK(posix_memalign(&p, HEADER, HEADER + bytes) == 0);
    *(size_t *)p = bytes;
    memory.blocks++;
    return memset((char *)p + HEADER, 0xa5, bytes);
}

static void test_free(void *user, void *p, size_t bytes)
{
    (void)user;
    char *block = (char *)p - HEADER;
    CHECK_EQ(*(size_t *)(void *)block, bytes);
    memory.blocks--;
    free(block);
}

/* A graph that is built in the order wanted and then sorted. */
typedef struct draft {
    heist_graph g;
    char why[200];
} draft;

static void draft_init(draft *d)
{
    memset(d, 0, sizeof *d);
    d->g.allocator = (heist_allocator){test_alloc, test_free, NULL};
    d->g.name_bytes = 1;
    d->g.name_capacity = 4096;
    d->g.names = calloc(1, d->g.name_capacity);
    CHECK(d->g.names != NULL);
}

static void draft_free(draft *d)
{
    free(d->g.names);
    free(d->g.nodes);
    free(d->g.edges);
    free(d->g.to);
    CHECK_EQ(memory.blocks, 0);
}

static uint32_t add(draft *d, hi_node_kind kind)
{
    heist_graph *g = &d->g;
    if (g->count == g->capacity) {
        g->capacity = g->capacity ? 2 * g->capacity : 16;
        g->nodes = realloc(g->nodes, (g->capacity + 1) * sizeof *g->nodes);
        CHECK(g->nodes != NULL);
    }
    /* need and source are to be set, whatever they were. */
    g->nodes[g->count] =
        (hi_node){.kind = (uint8_t)kind, .need = 77, .source = true};
    return g->count++;
}

static void edge(draft *d, uint32_t from, uint32_t to)
{
    heist_graph *g = &d->g;
    if (g->edge_count == g->edge_capacity) {
        g->edge_capacity = g->edge_capacity ? 2 * g->edge_capacity : 16;
        g->edges = realloc(g->edges, g->edge_capacity * sizeof *g->edges);
        CHECK(g->edges != NULL);
    }
    g->edges[g->edge_count++] = (hi_edge){from, to};
}

/* Sorts the edges by node, in the order they were made. */
static void sort_edges(draft *d)
{
    heist_graph *g = &d->g;
    if (!g->nodes) add(d, HI_NODE_ERASED), g->count = 0;
    free(g->to);
    g->to = malloc((g->edge_count + 1) * sizeof *g->to);
    CHECK(g->to != NULL);
    for (uint32_t i = 0; i <= g->count; i++)
        g->nodes[i].out = 0;
    for (uint32_t e = 0; e < g->edge_count; e++)
        g->nodes[g->edges[e].from].out++;
    for (uint32_t i = 1; i <= g->count; i++)
        g->nodes[i].out += g->nodes[i - 1].out;
    for (uint32_t e = g->edge_count; e > 0; e--)
        g->to[--g->nodes[g->edges[e - 1].from].out] = g->edges[e - 1].to;
}

static int examine(draft *d)
{
    sort_edges(d);
    memset(d->why, 'x', sizeof d->why);
    int rc = hi_graph_examine(&d->g, d->why, sizeof d->why);
    CHECK(memchr(d->why, 0, sizeof d->why) != NULL);
    CHECK((rc == 0) == (d->why[0] == '\0') || rc == -ENOMEM);
    CHECK_EQ(memory.blocks, 0);
    return rc;
}

static uint32_t named(draft *d, const char *name, size_t length)
{
    heist_graph *g = &d->g;
    for (uint32_t i = 0; i < g->count; i++) {
        const char *s = g->names + g->nodes[i].name;
        if (strlen(s) == length && !memcmp(s, name, length)) return i;
    }
    uint32_t node = add(d, HI_NODE_PLAIN);
    g->nodes[node].name = g->name_bytes;
    CHECK(g->name_bytes + length < g->name_capacity);
    memcpy(g->names + g->name_bytes, name, length);
    g->name_bytes += (uint32_t)length + 1;
    return node;
}

/*
 * Reads "a>b,c c?x,y d*x,y e": edges from a to b and c; c is a condition, d a
 * choice with branches x and y; e is alone.
 */
static void draw(draft *d, const char *text)
{
    draft_init(d);
    while (*text) {
        size_t length = strcspn(text, ">?* ");
        uint32_t from = named(d, text, length);
        char kind = text[length];
        if (kind == '?') d->g.nodes[from].kind = HI_NODE_CONDITION;
        if (kind == '*') d->g.nodes[from].kind = HI_NODE_CHOICE;
        text += length;
        while (*text && *text != ' ') {
            length = strcspn(++text, ", ");
            edge(d, from, named(d, text, length));
            text += length;
        }
        text += *text == ' ';
    }
}

static uint32_t need(draft *d, const char *name)
{
    return d->g.nodes[named(d, name, strlen(name))].need;
}

/* That graph is right, and node needs so many arrivals. */
static int needs(const char *text, const char *node)
{
    draft d;
    draw(&d, text);
    int rc = examine(&d);
    if (rc) printf("%s: %s\n", text, d.why);
    CHECK_EQ(rc, 0);
    int n = (int)need(&d, node);
    draft_free(&d);
    return n;
}

/* That graph is wrong, by that error, for that reason. */
static int fails(const char *text, int error, const char *why)
{
    draft d;
    draw(&d, text);
    int rc = examine(&d);
    int same = strcmp(d.why, why) == 0;
    if (!same) printf("%s: %d %s\n", text, rc, d.why);
    CHECK_EQ(rc, error);
    draft_free(&d);
    return same;
}

/* --- edges made twice ---------------------------------------------------- */

TEST(an_edge_made_twice_is_found)
{
    CHECK(fails("a>b,c,b", -EEXIST, "edge a -> b made twice"));
    CHECK(fails("a>c b>c a>b b>a,d,e,f a>d b>d", -EEXIST,
                "edge b -> d made twice"));
}

TEST(two_branches_of_one_condition_to_one_node_are_made_twice)
{
    CHECK(fails("c?x,y,x", -EEXIST, "edge c -> x made twice"));
    CHECK(fails("c*x,x", -EEXIST, "edge c -> x made twice"));
    CHECK(fails("c?c,c", -EEXIST, "edge c -> c made twice"));
}

TEST(the_same_end_from_two_nodes_is_no_edge_made_twice)
{
    CHECK_EQ(needs("a>j b>j c>j", "j"), 3);
}

/* --- cycles -------------------------------------------------------------- */

TEST(a_cycle_is_shown_in_order)
{
    CHECK(fails("a>b b>a", -EDEADLK, "cycle: a -> b -> a"));
    CHECK(fails("in>a a>b b>c c>a c>out", -EDEADLK, "cycle: a -> b -> c -> a"));
}

TEST(an_edge_to_itself_is_a_cycle)
{
    CHECK(fails("a>a", -EDEADLK, "cycle: a -> a"));
}

TEST(what_comes_before_and_after_a_cycle_is_not_shown)
{
    CHECK(fails("s>t t>u u>a a>b b>a b>v v>w w>x", -EDEADLK,
                "cycle: a -> b -> a"));
}

TEST(a_cycle_of_strong_edges_is_found_beside_conditions)
{
    CHECK(fails("i>a a>b b>a b>c c?a,x", -EDEADLK, "cycle: a -> b -> a"));
    CHECK(fails("c?a a>b b>a", -EDEADLK, "cycle: a -> b -> a"));
}

TEST(a_cycle_through_a_condition_is_a_loop)
{
    CHECK_EQ(needs("i>a a>b b>c c?a,x", "a"), 1);
    CHECK_EQ(needs("i>c c?c,x", "c"), 1);
}

TEST(nodes_without_names_are_shown_by_number)
{
    draft d;
    draft_init(&d);
    for (int i = 0; i < 13; i++)
        add(&d, HI_NODE_PLAIN);
    edge(&d, 10, 7);
    edge(&d, 7, 12);
    edge(&d, 12, 10);
    CHECK_EQ(examine(&d), -EDEADLK);
    CHECK(strcmp(d.why, "cycle: #7 -> #12 -> #10 -> #7") == 0);
    draft_free(&d);
}

/* --- the line ------------------------------------------------------------ */

TEST(a_long_line_is_cut_to_fit)
{
    const char *whole = "cycle: a -> b -> a";
    draft d;
    draw(&d, "a>b b>a");
    sort_edges(&d);
    for (size_t bytes = 0; bytes < 40; bytes++) {
        char line[48];
        memset(line, 'x', sizeof line);
        CHECK_EQ(hi_graph_examine(&d.g, line, bytes), -EDEADLK);
        for (size_t i = bytes; i < sizeof line; i++)
            CHECK_EQ(line[i], 'x');
        if (bytes == 0) continue;
        CHECK_EQ(strlen(line),
                 bytes > strlen(whole) ? strlen(whole) : bytes - 1);
        size_t dots = bytes > strlen(whole) ? 0 : bytes < 4 ? bytes - 1 : 3;
        size_t kept = strlen(line) - dots;
        CHECK(strncmp(line, whole, kept) == 0);
        CHECK_EQ(strspn(line + kept, dots ? "." : ""), dots);
    }
    CHECK_EQ(hi_graph_examine(&d.g, NULL, 100), -EDEADLK);
    draft_free(&d);
}

TEST(a_line_remains_one_whatever_the_names)
{
    CHECK(fails("a\nb>a\nb", -EDEADLK, "cycle: a?b -> a?b"));
}

/* --- graphs without conditions ------------------------------------------- */

TEST(an_empty_graph_is_fine)
{
    draft d;
    draft_init(&d);
    d.g.weak = true;
    d.g.sources = 5;
    CHECK_EQ(examine(&d), 0);
    CHECK(!d.g.weak);
    CHECK_EQ(d.g.sources, 0);
    draft_free(&d);
}

TEST(erased_nodes_are_no_sources)
{
    draft d;
    draft_init(&d);
    for (int i = 0; i < 4; i++)
        add(&d, HI_NODE_ERASED);
    CHECK_EQ(examine(&d), 0);
    CHECK_EQ(d.g.sources, 0);
    uint32_t a = add(&d, HI_NODE_CONDITION), b = add(&d, HI_NODE_PLAIN);
    edge(&d, a, b);
    CHECK_EQ(examine(&d), 0);
    CHECK_EQ(d.g.sources, 1);
    for (uint32_t i = 0; i < a; i++)
        CHECK(!d.g.nodes[i].source && !d.g.nodes[i].need);
    CHECK(d.g.nodes[a].source && !d.g.nodes[b].source);
    draft_free(&d);
}

TEST(conditions_make_a_graph_weak)
{
    draft d;
    draw(&d, "a>b");
    d.g.weak = true;
    CHECK_EQ(examine(&d), 0);
    CHECK(!d.g.weak);
    draft_free(&d);
    draw(&d, "a>c c?");
    d.g.edge_count--; /* a condition without branches */
    CHECK_EQ(examine(&d), 0);
    CHECK(d.g.weak);
    draft_free(&d);
}

/* --- sources ------------------------------------------------------------- */

TEST(what_only_conditions_start_is_no_source)
{
    draft d;
    draw(&d, "c?x,y x>j y>j a");
    CHECK_EQ(examine(&d), 0);
    CHECK_EQ(d.g.sources, 2);
    CHECK(d.g.nodes[named(&d, "c", 1)].source);
    CHECK(d.g.nodes[named(&d, "a", 1)].source);
    CHECK_EQ(need(&d, "x"), 0);
    draft_free(&d);
}

TEST(what_no_source_reaches_is_found)
{
    CHECK(fails("b>c c?b", -ENOENT, "no source: nothing starts b"));
    CHECK(fails("c?c", -ENOENT, "no source: nothing starts c"));
    CHECK(fails("a>x b>c,x c?b", -ENOENT, "no source: nothing starts b"));
}

/* --- joins --------------------------------------------------------------- */

TEST(where_the_branches_of_a_condition_meet_one_is_waited_for)
{
    CHECK_EQ(needs("c?x,y x>j y>j", "j"), 1);
    CHECK_EQ(needs("c?x,y,z x>j y>j z>j", "j"), 1);
    CHECK_EQ(needs("c?x,y x>p p>q q>j y>j", "j"), 1);
}

TEST(nested_branches_meet_too)
{
    CHECK_EQ(needs("c?d,y d?u,v u>j v>j y>j", "j"), 1);
    CHECK_EQ(needs("c?d,e d?u,v e?w,x u>j v>j w>j x>j", "j"), 1);
    CHECK_EQ(needs("c?d,y d?u,v u>k v>k k>j y>j", "k"), 1);
    CHECK_EQ(needs("c?d,y d?u,v u>k v>k k>j y>j", "j"), 1);
    CHECK_EQ(needs("c?x,d d?y,e e?z,f f?u,v x>j y>j z>j u>j v>j", "j"), 1);
}

TEST(what_is_beside_a_condition_is_waited_for_too)
{
    CHECK_EQ(needs("c?x,y x>j y>j a>j", "j"), 2);
    CHECK_EQ(needs("c?x,y x>j y>j a>j b>j", "j"), 3);
    CHECK_EQ(needs("c?x,y d?u,v x>j y>j u>j v>j", "j"), 2);
    CHECK_EQ(needs("c?x,y x>j a>j", "j"), 2);
}

TEST(a_branch_that_forks_is_waited_for_as_a_whole)
{
    CHECK_EQ(needs("c?x,y x>p,q y>r,s p>j q>j r>j s>j", "j"), 2);
    CHECK_EQ(needs("c?x x>p,q p>j q>j", "j"), 2);
    CHECK_EQ(needs("c?x,y x>p,q p>j q>j y>r,d d?u,v r>j u>j v>j", "j"), 2);
}

TEST(branches_that_arrive_a_different_number_of_times_are_uneven)
{
    CHECK(fails("c?x,y x>p,q p>j q>j y>j", -EINVAL,
                "uneven: j waits for 2 after one branch of c, for 1 after "
                "another"));
}

TEST(a_branch_may_wait_for_what_is_outside)
{
    CHECK_EQ(needs("c?x,y a>u,w x>u y>w u>j w>j", "u"), 2);
    CHECK_EQ(needs("c?x,y a>u,w x>u y>w u>j w>j", "j"), 1);
    CHECK_EQ(needs("c?x,y a>d,w x>d y>w d?p,q p>j q>j w>j", "j"), 1);
}

TEST(branches_of_a_choice_are_all_waited_for)
{
    CHECK_EQ(needs("c*x,y x>j y>j", "j"), 2);
    CHECK_EQ(needs("c*x,y x?a,b a>j b>j y>j", "j"), 2);
    CHECK_EQ(needs("c?x,y x*a,b y*d,e a>j b>j d>j e>j", "j"), 2);
}

TEST(the_exit_of_a_loop_joins_what_is_outside)
{
    CHECK_EQ(needs("i>body body>c c?body,done done>j a>j", "j"), 2);
    CHECK_EQ(needs("i>body body>c c?body,done done>j a>j", "body"), 1);
    CHECK_EQ(needs("i>c c?c,done done>j a>j", "j"), 2);
}

TEST(two_exits_of_a_loop_are_one)
{
    CHECK_EQ(needs("i>b b>c c?m,d m>e e?b,f d>j f>j", "j"), 1);
}

TEST(branches_meet_inside_a_loop)
{
    const char *text = "i>b b>c c?x,y x>j y>j j>e e?b,out out>k a>k";
    CHECK_EQ(needs(text, "j"), 1);
    CHECK_EQ(needs(text, "b"), 1);
    CHECK_EQ(needs(text, "k"), 2);
}

/* --- races --------------------------------------------------------------- */

TEST(a_condition_may_lead_back_to_a_node_with_predecessors)
{
    CHECK_EQ(needs("i>b k>b b>c c?b,x", "b"), 2);
    CHECK_EQ(needs("i>b b>m m>c,d c?b,x d?b,y", "b"), 1);
}

TEST(an_if_without_else_is_no_race)
{
    CHECK_EQ(needs("c?x,j x>j", "j"), 1);
    CHECK_EQ(needs("c?x,j x>p,q p>j q>j", "j"), 2);
    CHECK_EQ(needs("c?d,j d?x,j x>j", "j"), 1);
    CHECK_EQ(needs("c?j,d d?x,e e?j,y x>j y>j", "j"), 1);
}

TEST(a_condition_and_predecessors_race)
{
    const char *why = "race: j is started by condition c and by its "
                      "predecessors";
    CHECK(fails("c?j a>j", -EINVAL, why));
    CHECK(fails("c?x,j x>j a>j", -EINVAL, why));
    CHECK(fails("c*x,j x>j", -EINVAL, why));
    CHECK(fails("d?x,y x>j y>j c?j", -EINVAL, why));
    CHECK(fails("d?a,j a>c,y y>j c?j,z", -EINVAL, why));
}

TEST(a_loop_with_two_entries_races)
{
    CHECK(fails("s*p,b p>v v>c c?b,z b>d d?v,w", -EINVAL,
                "race: v is started by condition d and by its predecessors"));
}

TEST(two_conditions_that_start_one_node_are_left_to_the_run)
{
    CHECK_EQ(needs("c?j d?j", "j"), 0);
}

/* --- loops --------------------------------------------------------------- */

TEST(a_loop_is_not_left_by_a_strong_edge)
{
    CHECK(fails("i>b b>c,out c?b,x", -EINVAL,
                "loop: out would start in every round of the loop of b; leave "
                "a loop through a condition"));
    CHECK_EQ(needs("i>b,out b>c c?b,x", "out"), 1);
}

TEST(strong_edges_of_nodes_in_no_loop_are_fine_beside_one)
{
    CHECK_EQ(needs("i>b,p p>q b>c c?b,x x>y y>q", "q"), 2);
}

TEST(a_strong_edge_does_not_lead_back)
{
    CHECK(fails("i>c c?b,x b>c", -EDEADLK,
                "deadlock: c waits for b, which runs only after it; lead back "
                "by a condition"));
    CHECK(fails("d?j j>c c?x,out x>j", -EINVAL,
                "race: j is started by condition d and by its predecessors"));
}

/* Arrivals of one round would be left over for the next. */
TEST(a_round_of_a_loop_leaves_nothing_half_waited_for)
{
    const char *why = "loop: a round may leave j waiting for a branch of c; "
                      "lead its other branches there too";
    CHECK(fails("i>b b>a,c c?x,y a>j x>j j>k y>k k>w w?b,e", -EINVAL, why));
    CHECK(
        fails("i>b b>a,c c?x,y,z a>j x>j y>j j>k z>k k>w w?b,e", -EINVAL, why));
    CHECK_EQ(needs("i>b b>a,c c?x,y a>j x>j y>j j>w w?b,e", "j"), 2);
    CHECK_EQ(needs("b>a,c c?x,y a>j x>j", "j"), 2);
}

TEST(a_loop_beside_others_is_over_in_the_end)
{
    CHECK_EQ(needs("i>b b>a,l l>c c?l,d a>j d>j j>w w?b,e", "j"), 2);
}

/* --- against naive searches ---------------------------------------------- */

enum {
    SMALL = 24
};

static uint32_t below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(test_random(seed) % n);
}

typedef struct matrix {
    uint32_t count;
    uint8_t has[SMALL][SMALL]; /* edges from row to column */
} matrix;

/* Takes away what has no predecessors as long as there is any. */
static int has_cycle(const matrix *m)
{
    int gone[SMALL] = {0};
    for (uint32_t round = 0; round < m->count; round++) {
        for (uint32_t v = 0; v < m->count; v++) {
            int in = 0;
            for (uint32_t u = 0; u < m->count; u++)
                in += !gone[u] && m->has[u][v];
            if (!in) gone[v] = 1;
        }
    }
    for (uint32_t v = 0; v < m->count; v++)
        if (!gone[v]) return 1;
    return 0;
}

/* The line names a cycle of m in order, each node once. */
static void check_cycle(const matrix *m, const char *line)
{
    unsigned first, at, next;
    int length = 0, seen[SMALL] = {0};
    CHECK_EQ(sscanf(line, "cycle: #%u%n", &first, &length), 1);
    at = first;
    do {
        line += length;
        CHECK_EQ(sscanf(line, " -> #%u%n", &next, &length), 1);
        CHECK(next < m->count && m->has[at][next]);
        CHECK(!seen[next]);
        seen[next] = 1;
        at = next;
    } while (at != first);
    CHECK_EQ(line[length], 0);
}

TEST(random_graphs_are_judged_as_by_a_naive_search)
{
    uint64_t seed = test_seed;
    int found[3] = {0};
    for (int round = 0; round < 20000; round++) {
        draft d;
        matrix m = {.count = 1 + below(&seed, SMALL)};
        draft_init(&d);
        for (uint32_t i = 0; i < m.count; i++)
            add(&d, HI_NODE_PLAIN);
        int twice = 0, backwards = below(&seed, 2) == 0;
        for (uint32_t e = below(&seed, 2 * m.count); e > 0; e--) {
            uint32_t a = below(&seed, m.count), b = below(&seed, m.count);
            if (a == b) continue;
            if ((a < b) == (backwards && below(&seed, 8) > 0)) {
                uint32_t swap = a;
                a = b;
                b = swap;
            }
            if (m.has[a][b] && below(&seed, 8)) continue;
            twice += m.has[a][b]++;
            edge(&d, a, b);
        }
        int wanted = twice ? -EEXIST : has_cycle(&m) ? -EDEADLK : 0;
        CHECK_EQ(examine(&d), wanted);
        found[wanted == 0 ? 0 : wanted == -EEXIST ? 1 : 2]++;
        if (wanted == -EDEADLK) check_cycle(&m, d.why);
        uint32_t sources = 0;
        for (uint32_t v = 0; v < m.count && wanted == 0; v++) {
            uint32_t in = 0;
            for (uint32_t u = 0; u < m.count; u++)
                in += m.has[u][v];
            CHECK_EQ(d.g.nodes[v].need, in);
            CHECK_EQ(d.g.nodes[v].source, in == 0);
            sources += in == 0;
        }
        if (wanted == 0) CHECK_EQ(d.g.sources, sources);
        draft_free(&d);
    }
    CHECK(found[0] > 1000 && found[1] > 1000 && found[2] > 1000);
}

/* Marks what is reached from the nodes in `from` without passing `without`. */
static void flood(const matrix *m, uint8_t *reached, uint32_t without)
{
    for (uint32_t round = 0; round < m->count; round++)
        for (uint32_t u = 0; u < m->count; u++)
            for (uint32_t v = 0; v < m->count && reached[u]; v++)
                if (m->has[u][v] && v != without) reached[v] = 1;
}

TEST(dominators_are_what_a_naive_search_cannot_avoid)
{
    uint64_t seed = test_seed;
    int loops = 0;
    for (int round = 0; round < 3000; round++) {
        draft d;
        matrix m = {.count = 2 + below(&seed, SMALL - 2)};
        draft_init(&d);
        for (uint32_t i = 0; i < m.count; i++)
            add(&d, HI_NODE_CONDITION);
        for (uint32_t e = below(&seed, 3 * m.count); e > 0; e--) {
            uint32_t a = below(&seed, m.count),
                     b = 1 + below(&seed, m.count - 1);
            if (m.has[a][b]++ == 0) edge(&d, a, b);
        }
        int rc = examine(&d);
        CHECK(rc == 0 || rc == -ENOENT);
        hi_walk w;
        CHECK_EQ(hi_walk_start(&w, &d.g), 0);
        loops += w.loops;
        for (uint32_t a = 0; a < m.count && w.loops; a++) {
            uint8_t avoids[SMALL] = {0};
            for (uint32_t v = 0; v < m.count; v++)
                avoids[v] = d.g.nodes[v].source && v != a;
            flood(&m, avoids, a);
            for (uint32_t b = 0; b < m.count && w.number[a]; b++)
                if (w.number[b])
                    CHECK_EQ(hi_walk_dominates(&w, w.number[a], w.number[b]),
                             !avoids[b]);
        }
        hi_walk_end(&w);
        draft_free(&d);
    }
    CHECK(loops > 1000);
}

/* --- against runs -------------------------------------------------------- */

enum {
    NODES = 256
};

/* A run of a graph, one node after the other. */
typedef struct run {
    const heist_graph *g;
    uint32_t picks[NODES]; /* of conditions: bits of branches; or see pick() */
    uint32_t started[NODES], weakly[NODES], arrived[NODES], waiting[NODES];
    uint32_t ready[4096];
    uint32_t head, tail;
    uint64_t seed; /* 0: picks */
} run;

/* Branch that condition c takes when it runs for the nth time. */
static uint32_t pick(uint64_t seed, uint32_t c, uint32_t n, uint32_t branches)
{
    uint64_t state = seed + c * 7919u + n;
    return (uint32_t)(test_random(&state) % branches);
}

static void start(run *r, uint32_t v)
{
    r->started[v]++;
    CHECK(r->tail < sizeof r->ready / sizeof *r->ready);
    r->ready[r->tail++] = v;
}

static void arrive(run *r, uint32_t v)
{
    r->arrived[v]++;
    if (++r->waiting[v] < r->g->nodes[v].need) return;
    r->waiting[v] = 0;
    start(r, v);
}

static void run_node(run *r, uint32_t u)
{
    const hi_node *n = &r->g->nodes[u];
    uint32_t branches = n[1].out - n->out, picks = r->picks[u];
    if (r->seed && branches)
        picks = 1u << pick(r->seed, u, r->started[u], branches);
    for (uint32_t i = 0; i < branches; i++) {
        uint32_t v = r->g->to[n->out + i];
        if (!hi_node_is_weak(n)) {
            arrive(r, v);
        } else if (picks >> i & 1) {
            r->weakly[v]++;
            start(r, v);
        }
    }
}

static void run_all(run *r)
{
    for (uint32_t i = 0; i < r->g->count; i++)
        if (r->g->nodes[i].source) start(r, i);
    while (r->head < r->tail)
        run_node(r, r->ready[r->head++]);
}

/* The next way to pick branches; false: that was the last. */
static int next_picks(const heist_graph *g, uint32_t *picks)
{
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t n = g->nodes[i + 1].out - g->nodes[i].out;
        if (!hi_node_is_weak(&g->nodes[i]) || !n) continue;
        if (g->nodes[i].kind == HI_NODE_CHOICE)
            picks[i] = (picks[i] + 1) & ((1u << n) - 1);
        else
            picks[i] = picks[i] == 0 ? 1 : picks[i] << 1 & ((1u << n) - 1);
        if (picks[i]) return 1;
    }
    return 0;
}

/* Whatever is picked, no node starts twice, or half.  0: two conditions start
 * one node, which is not found beforehand. */
static int check_all_picks(const heist_graph *g, uint32_t *most)
{
    static run r;
    uint32_t picks[NODES] = {0};
    int runs = 0;
    do {
        memset(&r, 0, sizeof r);
        r.g = g;
        memcpy(r.picks, picks, sizeof picks);
        run_all(&r);
        for (uint32_t v = 0; v < g->count; v++) {
            if (r.weakly[v] > 1) return 0;
            CHECK(r.started[v] <= 1);
            CHECK(r.arrived[v] <= g->nodes[v].need);
            CHECK(!r.weakly[v] || !r.arrived[v]);
            if (r.arrived[v] > most[v]) most[v] = r.arrived[v];
        }
        runs++;
    } while (next_picks(g, picks));
    return runs;
}

TEST(no_node_of_a_random_graph_starts_twice_whatever_is_picked)
{
    uint64_t seed = test_seed;
    long right = 0, joins = 0, never = 0;
    for (int round = 0; round < 200000; round++) {
        draft d;
        draft_init(&d);
        uint32_t n = 4 + below(&seed, 6);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t kind = below(&seed, 10);
            add(&d, kind < 3    ? HI_NODE_CONDITION
                    : kind == 3 ? HI_NODE_CHOICE
                                : HI_NODE_PLAIN);
        }
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a + 1; b < n; b++)
                if (below(&seed, n) < 2) edge(&d, a, b);
        uint32_t most[NODES] = {0};
        int rc = examine(&d);
        CHECK(rc == 0 || rc == -EINVAL);
        if (rc == 0 && check_all_picks(&d.g, most)) {
            right++;
            for (uint32_t v = 0; v < n; v++) {
                joins += d.g.nodes[v].need > 1;
                never += most[v] < d.g.nodes[v].need;
            }
        }
        draft_free(&d);
    }
    CHECK(right > 10000);
    /* Some wait for what excludes each other; not for more than that. */
    CHECK(never < joins / 50);
}

/* --- against programs ---------------------------------------------------- */

/*
 * A program of ifs, loops and parallel parts.  It is made into a graph, and
 * followed as a program to see how often each node should run.
 */
typedef enum part_kind {
    PART_NODE,
    PART_THEN, /* one, then the other */
    PART_BOTH, /* at the same time */
    PART_IF,   /* one or the other; without the other: or none */
    PART_LOOP, /* one, until the condition has enough */
    PART_KINDS
} part_kind;

typedef struct part {
    part_kind kind;
    uint32_t condition;
    uint32_t head[2], tail[2]; /* nodes around the inner parts */
    uint32_t end;              /* node after all */
    struct part *inner[2];
} part;

typedef struct program {
    draft d;
    part parts[NODES];
    uint32_t count;
    uint64_t seed;
    uint32_t expected[NODES + 1]; /* runs of each node */
} program;

/* Where a part is left. */
typedef struct exits {
    uint32_t nodes[NODES];
    uint32_t count;
    uint32_t width; /* how many of them run */
} exits;

enum {
    NONE = NODES /* no node */
};

static uint32_t node_after(program *p, hi_node_kind kind, exits *x)
{
    uint32_t node = add(&p->d, kind);
    CHECK(node < NODES);
    for (uint32_t i = 0; i < x->count; i++)
        edge(&p->d, x->nodes[i], node);
    x->nodes[0] = node;
    x->count = x->width = 1;
    return node;
}

static void gather(exits *x, const exits *more)
{
    CHECK(x->count + more->count <= NODES);
    memcpy(x->nodes + x->count, more->nodes, more->count * sizeof *x->nodes);
    x->count += more->count;
}

static part *make_part(program *p, uint32_t size, exits *x);

static uint32_t branch_of(program *p, uint32_t condition, exits *x)
{
    x->count = 0;
    uint32_t node = node_after(p, HI_NODE_PLAIN, x);
    edge(&p->d, condition, node);
    return node;
}

static void make_if(program *p, part *now, uint32_t size, exits *x)
{
    exits other;
    uint32_t c = now->condition = node_after(p, HI_NODE_CONDITION, x);
    now->head[0] = branch_of(p, c, x);
    now->inner[0] = make_part(p, size / 2, x);
    if (below(&p->seed, 3) == 0) {
        now->end = node_after(p, HI_NODE_PLAIN, x);
        edge(&p->d, c, now->end);
        return;
    }
    now->head[1] = branch_of(p, c, &other);
    now->inner[1] = make_part(p, size / 2, &other);
    if (x->width != other.width) {
        now->tail[0] = node_after(p, HI_NODE_PLAIN, x);
        now->tail[1] = node_after(p, HI_NODE_PLAIN, &other);
    }
    gather(x, &other);
}

static void make_loop(program *p, part *now, uint32_t size, exits *x)
{
    now->head[0] = node_after(p, HI_NODE_PLAIN, x);
    now->inner[0] = make_part(p, size / 2, x);
    now->condition = node_after(p, HI_NODE_CONDITION, x);
    edge(&p->d, now->condition, now->head[0]);
    now->end = branch_of(p, now->condition, x);
}

static part *make_part(program *p, uint32_t size, exits *x)
{
    part *now = &p->parts[p->count++];
    *now = (part){.kind = size < 2 ? PART_NODE : below(&p->seed, PART_KINDS),
                  .condition = NONE,
                  .head = {NONE, NONE},
                  .tail = {NONE, NONE},
                  .end = NONE};
    exits before = *x;
    switch (now->kind) {
    case PART_THEN:
    case PART_BOTH:
        now->inner[0] = make_part(p, size / 2, x);
        if (now->kind == PART_BOTH) {
            now->inner[1] = make_part(p, size / 2, &before);
            gather(x, &before);
            x->width += before.width;
        } else {
            now->inner[1] = make_part(p, size / 2, x);
        }
        break;
    case PART_IF: make_if(p, now, size, x); break;
    case PART_LOOP: make_loop(p, now, size, x); break;
    case PART_NODE:
    case PART_KINDS: now->end = node_after(p, HI_NODE_PLAIN, x); break;
    }
    return now;
}

static void follow(program *p, const part *now);

static void follow_inner(program *p, const part *now, uint32_t i)
{
    p->expected[now->head[i]]++;
    if (now->inner[i]) follow(p, now->inner[i]);
    p->expected[now->tail[i]]++;
}

static void follow(program *p, const part *now)
{
    uint32_t c = now->condition, *runs = &p->expected[c];
    switch (now->kind) {
    case PART_IF: follow_inner(p, now, pick(p->seed, c, ++*runs, 2)); break;
    case PART_LOOP:
        do
            follow_inner(p, now, 0);
        while (pick(p->seed, c, ++*runs, 2) == 0);
        break;
    case PART_NODE:
    case PART_THEN:
    case PART_BOTH:
    case PART_KINDS:
        follow_inner(p, now, 0);
        follow_inner(p, now, 1);
        break;
    }
    p->expected[now->end]++;
}

TEST(graphs_of_programs_run_as_the_programs)
{
    static program p;
    static run r;
    uint64_t seed = test_seed;
    long wide = 0, rounds = 0;
    for (int round = 0; round < 20000; round++) {
        memset(&p, 0, sizeof p);
        draft_init(&p.d);
        p.seed = test_random(&seed);
        exits x = {.count = 0};
        uint32_t begin = node_after(&p, HI_NODE_PLAIN, &x);
        part *all = make_part(&p, 1u << below(&seed, 6), &x);
        uint32_t end = node_after(&p, HI_NODE_PLAIN, &x);
        int rc = examine(&p.d);
        if (rc) printf("%s\n", p.d.why);
        CHECK_EQ(rc, 0);
        p.expected[begin]++;
        follow(&p, all);
        p.expected[end]++;
        memset(&r, 0, sizeof r);
        r.g = &p.d.g;
        r.seed = p.seed;
        run_all(&r);
        for (uint32_t v = 0; v <= end; v++) {
            CHECK_EQ(r.started[v], p.expected[v]);
            CHECK_EQ(r.waiting[v], 0);
            wide += p.d.g.nodes[v].need > 1;
            rounds += r.started[v] > 1;
        }
        draft_free(&p.d);
    }
    CHECK(wide > 1000 && rounds > 1000);
}

/* --- size ---------------------------------------------------------------- */

enum {
    LONG = 1000000
};

TEST(a_long_chain_takes_no_stack)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        draft d;
        draft_init(&d);
        for (uint32_t i = 0; i < LONG; i++)
            add(&d, HI_NODE_PLAIN);
        for (uint32_t i = 0; i + 1 < LONG; i++)
            edge(&d, backwards ? i + 1 : i, backwards ? i : i + 1);
        CHECK_EQ(examine(&d), 0);
        CHECK_EQ(d.g.sources, 1);
        edge(&d, backwards ? 0 : LONG - 1, backwards ? LONG - 1 : 0);
        CHECK_EQ(examine(&d), -EDEADLK);
        CHECK(strstr(d.why, "cycle: #0 -> ") == d.why);
        CHECK_EQ(strlen(d.why), sizeof d.why - 1);
        CHECK(strcmp(d.why + sizeof d.why - 4, "...") == 0);
        draft_free(&d);
    }
}

TEST(a_long_loop_takes_no_stack)
{
    draft d;
    draft_init(&d);
    for (uint32_t i = 0; i < LONG; i++)
        add(&d, i % 3 ? HI_NODE_PLAIN : HI_NODE_CONDITION);
    for (uint32_t i = 0; i + 1 < LONG; i++)
        edge(&d, i, i + 1);
    edge(&d, LONG - 1, 1);
    CHECK(d.g.nodes[LONG - 1].kind == HI_NODE_CONDITION);
    CHECK_EQ(examine(&d), 0);
    draft_free(&d);
}

/* c0 -> x0 | c1, c1 -> x1 | c2, ... and all x before one node. */
TEST(a_long_ladder_of_conditions_meets_in_one_node)
{
    draft d;
    draft_init(&d);
    uint32_t join = add(&d, HI_NODE_PLAIN);
    uint32_t last = add(&d, HI_NODE_CONDITION);
    for (uint32_t i = 0; i < LONG / 4; i++) {
        uint32_t x = add(&d, HI_NODE_PLAIN);
        uint32_t next = add(&d, HI_NODE_CONDITION);
        edge(&d, last, x);
        edge(&d, last, next);
        edge(&d, x, join);
        last = next;
    }
    CHECK_EQ(examine(&d), 0);
    CHECK_EQ(d.g.nodes[join].need, 1);
    draft_free(&d);
}

/* Two ladders from one condition, and a node after each pair of rungs: every
 * such pair meets at the top. */
TEST(many_pairs_that_meet_far_above_take_no_time)
{
    draft d;
    draft_init(&d);
    uint32_t top = add(&d, HI_NODE_CONDITION), side[2];
    for (int k = 0; k < 2; k++)
        edge(&d, top, side[k] = add(&d, HI_NODE_CONDITION));
    for (uint32_t i = 0; i < LONG / 10; i++) {
        uint32_t join = add(&d, HI_NODE_PLAIN);
        for (int k = 0; k < 2; k++) {
            uint32_t x = add(&d, HI_NODE_PLAIN);
            uint32_t next = add(&d, HI_NODE_CONDITION);
            edge(&d, side[k], x);
            edge(&d, side[k], next);
            edge(&d, x, join);
            side[k] = next;
        }
    }
    CHECK_EQ(examine(&d), 0);
    for (uint32_t i = 0; i < d.g.count; i++)
        CHECK(d.g.nodes[i].need <= 1);
    draft_free(&d);
}

/* --- memory -------------------------------------------------------------- */

TEST(without_memory_nothing_is_lost)
{
    static const char *const graphs[] = {
        "a>b b>c", "c?x,y x>j y>j",     "i>b b>c c?b,x",
        "a>b b>a", "c?x,y x>j y>j c?j",
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        draft d;
        draw(&d, graphs[i]);
        int wanted = examine(&d), rc = -ENOMEM;
        for (long n = 0; rc == -ENOMEM; n++) {
            memory.allowed = n;
            rc = examine(&d);
            CHECK(n < 20);
            if (n == 0) CHECK_EQ(rc, -ENOMEM);
        }
        memory.allowed = -1;
        CHECK_EQ(rc, wanted);
        draft_free(&d);
    }
}
