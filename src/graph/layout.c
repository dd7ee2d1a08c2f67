/* SPDX-License-Identifier: MIT
 *
 * layout.c: a picture in layers.
 *
 * A node is one layer below the lowest that leads to it.  Sweeps up and down
 * put each spot of a layer at the mean place of those it is linked to, and the
 * arrangement with the fewest crossings stays.  Then the places become
 * coordinates: each layer takes those that are nearest, in the sum of squares,
 * to where its links pull it, and keep the distances.
 */
#include "graph/layout.h"

#include "queue/memory.h"

#include <errno.h>
#include <string.h>

enum {
    UP = 0,
    DOWN = 1,
    ARRANGE_SWEEPS = 16,
    PLACE_SWEEPS = 30,
    NODE_GAP = 26, /* between neighbours of a layer */
    BEND_GAP = 12,
    LAYER_GAP = 36,
    LAYER_GAP_MOST = 120
};

static void *carve(char **at, size_t n, size_t size)
{
    void *p = *at;
    *at += (n * size + 7) / 8 * 8;
    return p;
}

/* --- layers --------------------------------------------------------------- */

/* The layer of the topmost node that v leads to; UINT32_MAX: to none. */
static uint32_t top_below(const hi_layout *l, uint32_t v)
{
    const hi_look *k = l->look;
    uint32_t top = UINT32_MAX;
    for (uint32_t e = k->first[v]; e < k->first[v + 1]; e++) {
        uint32_t w = k->to[e];
        if (!hi_look_leads_back(k, v, w) && l->layer_of[w] < top)
            top = l->layer_of[w];
    }
    return top;
}

/* As high as possible; how many layers that makes. */
static uint32_t find_layers(hi_layout *l)
{
    const hi_look *k = l->look;
    uint32_t layers = 0;
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t v = k->order[i], below = l->layer_of[v] + 1;
        for (uint32_t e = k->first[v]; e < k->first[v + 1]; e++) {
            uint32_t w = k->to[e];
            if (hi_look_leads_back(k, v, w)) continue;
            if (l->layer_of[w] < below) l->layer_of[w] = below;
            if (layers <= below) layers = below + 1;
        }
    }
    return layers;
}

static uint32_t square_root(uint32_t n)
{
    uint32_t root = 0;
    while ((uint64_t)root * root < n)
        root++;
    return root;
}

/* Sources go down to what they lead to; nodes without edges, which may be all
 * of them, form a square at the bottom.  Returns how many layers there are. */
static uint32_t settle_sources(hi_layout *l, uint32_t layers)
{
    const hi_look *k = l->look;
    uint32_t alone = 0;
    for (uint32_t i = k->count; i-- > 0;) {
        uint32_t v = k->order[i];
        if (l->layer_of[v] || hi_look_is_erased(k, v)) continue;
        uint32_t below = top_below(l, v);
        if (below != UINT32_MAX) {
            l->layer_of[v] = below - 1;
        } else {
            l->layer_of[v] = UINT32_MAX;
            alone++;
        }
    }
    uint32_t side = square_root(alone), at = 0;
    for (uint32_t v = 0; v < k->count; v++)
        if (l->layer_of[v] == UINT32_MAX) l->layer_of[v] = layers + at++ / side;
    return side ? layers + (alone + side - 1) / side : layers;
}

/* Sorts the nodes by layer; `start` has room for one more than there are. */
static void sort_nodes(hi_layout *l, uint32_t layers, uint32_t *start)
{
    const hi_look *k = l->look;
    memset(start, 0, ((size_t)layers + 1) * sizeof *start);
    for (uint32_t v = 0; v < k->count; v++)
        if (!hi_look_is_erased(k, v)) start[l->layer_of[v]]++;
    for (uint32_t i = 1; i <= layers; i++)
        start[i] += start[i - 1];
    for (uint32_t i = k->count; i-- > 0;) {
        uint32_t v = k->order[i];
        if (!hi_look_is_erased(k, v)) l->sorted[--start[l->layer_of[v]]] = v;
    }
}

static int choose_nodes(hi_layout *l)
{
    const hi_look *k = l->look;
    size_t n = k->count;
    l->bytes[0] = (4 * n + 2) * sizeof(uint32_t) + 4 * 8;
    char *at = l->memory[0] =
        hi_alloc(&k->graph->allocator, l->bytes[0], HEIST_LINE);
    if (!at) return -ENOMEM;
    l->layer_of = carve(&at, n, sizeof *l->layer_of);
    l->spot_of = carve(&at, n, sizeof *l->spot_of);
    l->sorted = carve(&at, n, sizeof *l->sorted);
    uint32_t *start = carve(&at, n + 2, sizeof *start);
    uint32_t live = (uint32_t)heist_graph_size(k->graph);
    l->linked = find_layers(l);
    sort_nodes(l, settle_sources(l, l->linked), start);
    l->node_count = live < HI_LAYOUT_NODES ? live : HI_LAYOUT_NODES;
    l->nodes_left_out = live - l->node_count;
    memset(l->spot_of, 0xff, n * sizeof *l->spot_of);
    for (uint32_t s = 0; s < l->node_count; s++)
        l->spot_of[l->sorted[s]] = s;
    if (l->node_count)
        l->layer_count = l->layer_of[l->sorted[l->node_count - 1]] + 1;
    if (l->linked > l->layer_count) l->linked = l->layer_count;
    return 0;
}

/* --- wires ---------------------------------------------------------------- */

/* The bends of a wire; too many are none: it goes straight. */
static uint32_t bends_of(const hi_layout *l, uint32_t v, uint32_t w,
                         uint32_t before)
{
    if (hi_look_leads_back(l->look, v, w)) return 0;
    uint32_t n = l->layer_of[w] - l->layer_of[v] - 1;
    return n <= HI_LAYOUT_BENDS - before ? n : 0;
}

static void make_bends(hi_layout *l, const hi_wire *w)
{
    for (uint32_t i = 0; i < w->bends; i++)
        l->spots[w->bend + i] = (hi_spot){
            .node = HEIST_NO_NODE, .layer = l->spots[w->from].layer + 1 + i};
}

/* Counts the edges between chosen nodes and their bends, or, when there is room
 * for them, makes them. */
static void make_wires(hi_layout *l)
{
    const hi_look *k = l->look;
    l->wire_count = l->wires_left_out = 0;
    l->spot_count = l->node_count;
    for (uint32_t s = 0; s < l->node_count; s++) {
        uint32_t v = l->sorted[s];
        for (uint32_t e = k->first[v]; e < k->first[v + 1]; e++) {
            uint32_t to = l->spot_of[k->to[e]];
            if (to == UINT32_MAX) continue;
            if (l->wire_count == HI_LAYOUT_WIRES) {
                l->wires_left_out++;
                continue;
            }
            uint32_t bends =
                bends_of(l, v, k->to[e], l->spot_count - l->node_count);
            hi_wire w = {e, s, to, l->spot_count, bends};
            if (l->wires) {
                l->wires[l->wire_count] = w;
                make_bends(l, &w);
            }
            l->wire_count++;
            l->spot_count += bends;
        }
    }
}

/* The i-th spot of a wire, its ends included. */
static uint32_t spot_on(const hi_wire *w, uint32_t i)
{
    if (i == 0) return w->from;
    return i > w->bends ? w->to : w->bend + i - 1;
}

/* Is it a list of spots in neighbouring layers? */
static bool is_routed(const hi_layout *l, const hi_wire *w)
{
    return l->spots[w->from].layer + w->bends + 1 == l->spots[w->to].layer;
}

static void add_hop(hi_layout *l, int way, uint32_t from, uint32_t to)
{
    bool bend = from >= l->node_count, other = to >= l->node_count;
    hi_hop h = {to, bend && other ? 8 : bend || other ? 2 : 1};
    l->hops[way][--l->first_hop[way][from]] = h;
}

/* The hops of all wires by spot, in both ways. */
static void sort_hops(hi_layout *l)
{
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < l->wire_count; i++) {
            const hi_wire *w = &l->wires[i];
            for (uint32_t b = 0; is_routed(l, w) && b <= w->bends; b++) {
                uint32_t upper = spot_on(w, b), lower = spot_on(w, b + 1);
                if (fill) {
                    add_hop(l, DOWN, upper, lower);
                    add_hop(l, UP, lower, upper);
                } else {
                    l->first_hop[DOWN][upper]++;
                    l->first_hop[UP][lower]++;
                }
            }
        }
        for (uint32_t s = 1; s <= l->spot_count && !fill; s++) {
            l->first_hop[UP][s] += l->first_hop[UP][s - 1];
            l->first_hop[DOWN][s] += l->first_hop[DOWN][s - 1];
        }
    }
}

/* Gives every layer its row, nodes first. */
static void fill_rows(hi_layout *l)
{
    for (uint32_t s = 0; s < l->spot_count; s++)
        l->layers[l->spots[s].layer].first++;
    for (uint32_t i = 1; i <= l->layer_count; i++)
        l->layers[i].first += l->layers[i - 1].first;
    for (uint32_t s = l->spot_count; s-- > 0;)
        l->row[--l->layers[l->spots[s].layer].first] = s;
}

static int make_room(hi_layout *l)
{
    size_t spots = l->spot_count, wires = l->wire_count;
    size_t hops = wires + (spots - l->node_count);
    l->bytes[1] =
        spots * (sizeof(hi_spot) + 3 * sizeof(uint32_t) + 3 * sizeof(double)) +
        wires * sizeof(hi_wire) + 2 * (spots + 1) * sizeof(uint32_t) +
        2 * hops * sizeof(hi_hop) + (l->layer_count + 1) * sizeof(hi_layer) +
        16 * 8;
    char *at = l->memory[1] =
        hi_alloc(&l->look->graph->allocator, l->bytes[1], HEIST_LINE);
    if (!at) return -ENOMEM;
    l->spots = carve(&at, spots, sizeof *l->spots);
    l->wires = carve(&at, wires, sizeof *l->wires);
    l->layers = carve(&at, l->layer_count + 1, sizeof *l->layers);
    for (int way = 0; way < 2; way++) {
        l->first_hop[way] = carve(&at, spots + 1, sizeof(uint32_t));
        l->hops[way] = carve(&at, hops, sizeof(hi_hop));
    }
    l->row = carve(&at, spots, sizeof *l->row);
    l->best = carve(&at, spots, sizeof *l->best);
    l->spare = carve(&at, spots, sizeof *l->spare);
    l->key = carve(&at, spots, sizeof *l->key);
    l->mean = carve(&at, spots, sizeof *l->mean);
    l->weight = carve(&at, spots, sizeof *l->weight);
    return 0;
}

int hi_layout_open(hi_layout *l, const hi_look *k)
{
    *l = (hi_layout){.look = k};
    int rc = choose_nodes(l);
    if (rc == 0) {
        make_wires(l);
        rc = make_room(l);
    }
    if (rc < 0) {
        hi_layout_close(l);
        return rc;
    }
    for (uint32_t s = 0; s < l->node_count; s++) {
        uint32_t v = l->sorted[s];
        l->spots[s] = (hi_spot){.node = v, .layer = l->layer_of[v]};
    }
    make_wires(l);
    sort_hops(l);
    fill_rows(l);
    return 0;
}

void hi_layout_close(hi_layout *l)
{
    const heist_allocator *a = &l->look->graph->allocator;
    hi_free(a, l->memory[1], l->bytes[1]);
    hi_free(a, l->memory[0], l->bytes[0]);
}

/* --- arranging ------------------------------------------------------------ */

static uint32_t row_length(const hi_layout *l, uint32_t layer)
{
    return l->layers[layer + 1].first - l->layers[layer].first;
}

static void number_row(hi_layout *l, uint32_t layer)
{
    const uint32_t *row = l->row + l->layers[layer].first;
    for (uint32_t i = 0; i < row_length(l, layer); i++)
        l->spots[row[i]].index = i;
}

/* Merges the sorted halves of n items by their keys; equal ones stay. */
static void merge(const double *key, const uint32_t *in, uint32_t half,
                  uint32_t n, uint32_t *out)
{
    uint32_t a = 0, b = half;
    for (uint32_t i = 0; i < n; i++) {
        bool left = b == n || (a < half && key[in[a]] <= key[in[b]]);
        out[i] = left ? in[a++] : in[b++];
    }
}

static void sort_row(hi_layout *l, uint32_t layer)
{
    uint32_t *row = l->row + l->layers[layer].first;
    uint32_t n = row_length(l, layer);
    for (uint32_t run = 1; run < n; run *= 2) {
        for (uint32_t i = 0; i < n; i += 2 * run) {
            uint32_t left = n - i < run ? n - i : run;
            uint32_t both = n - i < 2 * run ? n - i : 2 * run;
            merge(l->key, row + i, left, both, l->spare + i);
        }
        memcpy(row, l->spare, n * sizeof *row);
    }
    number_row(l, layer);
}

/* Where in its layer a spot is, from 0 to 1. */
static double share(const hi_layout *l, uint32_t s)
{
    return (l->spots[s].index + 0.5) / row_length(l, l->spots[s].layer);
}

/* Puts the spots of a layer where those above or below them are. */
static void arrange_row(hi_layout *l, uint32_t layer, int way)
{
    const uint32_t *first = l->first_hop[way];
    for (uint32_t i = l->layers[layer].first; i < l->layers[layer + 1].first;
         i++) {
        uint32_t s = l->row[i], n = first[s + 1] - first[s];
        double sum = 0;
        for (uint32_t h = first[s]; h < first[s + 1]; h++)
            sum += share(l, l->hops[way][h].spot);
        l->key[s] = n ? sum / n : share(l, s);
    }
    sort_row(l, layer);
}

/*
 * The crossings between a layer and the next one.  From left to right, each hop
 * crosses those before it that end further right: the sums of a tree of counts,
 * in `tree`.
 */
static uint64_t crossings_below(hi_layout *l, uint32_t layer)
{
    uint32_t *tree = l->spare, below = row_length(l, layer + 1), made = 0;
    const uint32_t *first = l->first_hop[DOWN];
    uint64_t found = 0;
    memset(tree, 0, below * sizeof *tree);
    for (uint32_t i = l->layers[layer].first; i < l->layers[layer + 1].first;
         i++) {
        uint32_t s = l->row[i];
        for (uint32_t h = first[s]; h < first[s + 1]; h++) {
            uint32_t at = l->spots[l->hops[DOWN][h].spot].index + 1;
            found += made;
            for (; at; at &= at - 1)
                found -= tree[at - 1];
        }
        for (uint32_t h = first[s]; h < first[s + 1]; h++) {
            uint32_t at = l->spots[l->hops[DOWN][h].spot].index + 1;
            for (made++; at <= below; at += at & -at)
                tree[at - 1]++;
        }
    }
    return found;
}

static uint64_t crossings(hi_layout *l)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i + 1 < l->layer_count; i++)
        found += crossings_below(l, i);
    return found;
}

static void arrange(hi_layout *l)
{
    size_t bytes = l->spot_count * sizeof *l->row;
    for (uint32_t i = 0; i < l->layer_count; i++)
        number_row(l, i);
    uint64_t fewest = crossings(l);
    memcpy(l->best, l->row, bytes);
    for (int sweep = 0; sweep < ARRANGE_SWEEPS && fewest; sweep++) {
        for (uint32_t i = 0; i < l->layer_count; i++) {
            bool down = sweep % 2 == 0;
            arrange_row(l, down ? i : l->layer_count - 1 - i, down ? UP : DOWN);
        }
        uint64_t now = crossings(l);
        if (now >= fewest) continue;
        fewest = now;
        memcpy(l->best, l->row, bytes);
    }
    memcpy(l->row, l->best, bytes);
    for (uint32_t i = 0; i < l->layer_count; i++)
        number_row(l, i);
}

/* --- coordinates ---------------------------------------------------------- */

/* Between the middles of two neighbours. */
static double distance(const hi_layout *l, uint32_t a, uint32_t b)
{
    bool bends = a >= l->node_count || b >= l->node_count;
    return (l->spots[a].width + l->spots[b].width) / 2 +
           (bends ? BEND_GAP : NODE_GAP);
}

/* Where the links of a spot to layer(s) above and below pull it. */
static double pulled_to(const hi_layout *l, uint32_t s, bool ways[2],
                        double *weight)
{
    double sum = 0, total = 0;
    for (int way = 0; way < 2; way++) {
        if (!ways[way]) continue;
        const uint32_t *first = l->first_hop[way];
        for (uint32_t h = first[s]; h < first[s + 1]; h++) {
            const hi_hop *hop = &l->hops[way][h];
            sum += hop->weight * l->spots[hop->spot].x;
            total += hop->weight;
        }
    }
    *weight = total > 0 ? total : 0.01; /* goes out of the way */
    return total > 0 ? sum / total : l->spots[s].x;
}

/*
 * Without the distances, places have to grow from left to right: groups that
 * would not are joined and share their mean.  `mean` and `weight` are of
 * groups, `spare` says how many spots one has.
 */
static void place_row(hi_layout *l, uint32_t layer, bool ways[2])
{
    const uint32_t *row = l->row + l->layers[layer].first;
    uint32_t n = row_length(l, layer), groups = 0;
    double offset = 0;
    for (uint32_t i = 0; i < n; i++) {
        double weight, wanted = pulled_to(l, row[i], ways, &weight);
        if (i) offset += distance(l, row[i - 1], row[i]);
        l->mean[groups] = wanted - offset;
        l->weight[groups] = weight;
        l->spare[groups++] = 1;
        while (groups > 1 && l->mean[groups - 2] >= l->mean[groups - 1]) {
            uint32_t a = groups - 2, b = groups - 1;
            double both = l->weight[a] + l->weight[b];
            l->mean[a] =
                (l->mean[a] * l->weight[a] + l->mean[b] * l->weight[b]) / both;
            l->weight[a] = both;
            l->spare[a] += l->spare[b];
            groups--;
        }
    }
    offset = 0;
    for (uint32_t g = 0, i = 0; g < groups; g++)
        for (uint32_t end = i + l->spare[g]; i < end; i++) {
            if (i) offset += distance(l, row[i - 1], row[i]);
            l->spots[row[i]].x = l->mean[g] + offset;
        }
}

/* Close together, the middle of each layer at 0. */
static void pack_rows(hi_layout *l)
{
    for (uint32_t i = 0; i < l->layer_count; i++) {
        const uint32_t *row = l->row + l->layers[i].first;
        uint32_t n = row_length(l, i);
        double x = 0;
        for (uint32_t j = 0; j < n; j++) {
            if (j) x += distance(l, row[j - 1], row[j]);
            l->spots[row[j]].x = x;
        }
        for (uint32_t j = 0; j < n; j++)
            l->spots[row[j]].x -= x / 2;
    }
}

/* The free room around a bend: its places that keep the distances. */
static void room_of(const hi_layout *l, uint32_t s, double *least, double *most)
{
    const hi_spot *spot = &l->spots[s];
    const uint32_t *at = l->row + l->layers[spot->layer].first + spot->index;
    *least = -1e9;
    *most = 1e9;
    if (spot->index) *least = l->spots[at[-1]].x + distance(l, at[-1], s);
    if (spot->index + 1 < row_length(l, spot->layer))
        *most = l->spots[at[1]].x - distance(l, s, at[1]);
}

/* As many bends of a wire as there is room for become one straight line. */
static void straighten(hi_layout *l, const hi_wire *w)
{
    uint32_t end = w->bend + w->bends;
    for (uint32_t s = w->bend, next; s < end; s = next) {
        double least = -1e9, most = 1e9, sum = 0;
        for (next = s; next < end; next++) {
            double from, to;
            room_of(l, next, &from, &to);
            if (from < least) from = least;
            if (to > most) to = most;
            if (from > to && next > s) break;
            least = from;
            most = to;
            sum += l->spots[next].x;
        }
        double x = sum / (next - s);
        x = x < least ? least : x > most ? most : x;
        for (uint32_t i = s; next > s + 1 && i < next; i++)
            l->spots[i].x = x;
    }
}

/* Nodes without edges are not pulled anywhere: they go below the middle. */
static void centre_rest(hi_layout *l, double middle)
{
    for (uint32_t i = l->linked; i < l->layer_count; i++) {
        const uint32_t *row = l->row + l->layers[i].first;
        uint32_t n = row_length(l, i);
        double shift =
            middle - (l->spots[row[0]].x + l->spots[row[n - 1]].x) / 2;
        for (uint32_t j = 0; j < n; j++)
            l->spots[row[j]].x += shift;
    }
}

/* The left and the right end of the first so many layers. */
static void find_ends(const hi_layout *l, uint32_t layers, double *least,
                      double *most)
{
    *least = *most = 0;
    for (uint32_t i = 0; i < l->layers[layers].first; i++) {
        const hi_spot *s = &l->spots[l->row[i]];
        double left = s->x - s->width / 2, right = s->x + s->width / 2;
        if (i == 0 || left < *least) *least = left;
        if (i == 0 || right > *most) *most = right;
    }
}

static void place_across(hi_layout *l)
{
    double least, most;
    pack_rows(l);
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        bool down = sweep % 2 == 0, last = sweep >= PLACE_SWEEPS / 2;
        bool ways[2] = {down || last, !down || last};
        for (uint32_t i = 0; i < l->layer_count; i++)
            place_row(l, down ? i : l->layer_count - 1 - i, ways);
    }
    for (uint32_t i = 0; i < l->wire_count; i++)
        straighten(l, &l->wires[i]);
    find_ends(l, l->linked, &least, &most);
    centre_rest(l, (least + most) / 2);
    find_ends(l, l->layer_count, &least, &most);
    for (uint32_t s = 0; s < l->spot_count; s++)
        l->spots[s].x -= least;
    l->width = most - least;
}

/* The farther edges go sideways, the more room they get to turn. */
static double gap_below(const hi_layout *l, uint32_t layer)
{
    double widest = 0;
    for (uint32_t i = l->layers[layer].first; i < l->layers[layer + 1].first;
         i++) {
        uint32_t s = l->row[i];
        for (uint32_t h = l->first_hop[DOWN][s]; h < l->first_hop[DOWN][s + 1];
             h++) {
            double dx = l->spots[l->hops[DOWN][h].spot].x - l->spots[s].x;
            if (dx < 0) dx = -dx;
            if (dx > widest) widest = dx;
        }
    }
    double gap = LAYER_GAP + widest / 9;
    return gap < LAYER_GAP_MOST ? gap : LAYER_GAP_MOST;
}

static void place_down(hi_layout *l)
{
    double y = 0;
    for (uint32_t i = 0; i < l->layer_count; i++) {
        hi_layer *layer = &l->layers[i];
        for (uint32_t j = layer->first; j < layer[1].first; j++) {
            double height = l->spots[l->row[j]].height;
            if (height > layer->height) layer->height = height;
        }
        layer->y = y;
        l->height = y + layer->height;
        y = l->height + gap_below(l, i);
    }
}

void hi_layout_place(hi_layout *l)
{
    arrange(l);
    place_across(l);
    place_down(l);
}
