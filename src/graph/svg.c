/* SPDX-License-Identifier: MIT
 *
 * svg.c: a graph as a picture that needs nothing else.
 *
 * It has a background of its own and letters of one width, so that a box fits
 * its text in every viewer.  All coordinates are whole pixels.
 */
#include "graph/layout.h"

#include <string.h>

enum {
    MARGIN = 24,
    PADDING = 12, /* beside the text of a node */
    POINT = 13,   /* more beside that of a condition: its pointed ends */
    LINE = 16,    /* from a line of text to the next */
    LETTERS = 22, /* of a line of a name */
    LANE = 11,    /* between edges that lead back */
    LANES = 16,
    LEGEND = 64,
    LEGEND_WIDTH = 400,
    SHADE_WIDTH = 14
};

#define LETTER_WIDTH 7.83 /* of 13 pixels height */
#define SMALL_WIDTH  6.63 /* of 11 */

typedef struct picture {
    const hi_look *look;
    hi_layout layout;
    FILE *to;
    int left, top;     /* of the nodes */
    int width, height; /* of all */
} picture;

static int pixels(double x)
{
    return x < 0 ? -(int)(0.5 - x) : (int)(x + 0.5);
}

/* --- text ----------------------------------------------------------------- */

/* Bytes of a letter: of UTF-8, or one that is none. */
static size_t letter(const char *s)
{
    size_t n = hi_utf8(s);
    return n ? n : 1;
}

/* Letters from U+3000 on are mostly wide ones. */
static size_t columns(const char *s)
{
    return hi_utf8(s) >= 3 && (unsigned char)*s >= 0xe3 ? 2 : 1;
}

static void put_letter(const char *s, FILE *to)
{
    size_t n = hi_utf8(s);
    unsigned char c = (unsigned char)*s;
    bool forbidden = n == 3 && (!memcmp(s, "\xef\xbf\xbe", 3) ||
                                !memcmp(s, "\xef\xbf\xbf", 3));
    if (c == '<') {
        fputs("&lt;", to);
    } else if (c == '>') {
        fputs("&gt;", to);
    } else if (c == '&') {
        fputs("&amp;", to);
    } else if (c == '"') {
        fputs("&quot;", to);
    } else if (c == '\t' || c == '\n' || c == '\r') {
        putc(' ', to);
    } else if (n == 0 || c < 0x20 || c == 0x7f || forbidden) {
        fputs("\xef\xbf\xbd", to);
    } else {
        fwrite(s, 1, n, to);
    }
}

static void put_text(const char *s, FILE *to)
{
    for (; *s; s += letter(s))
        put_letter(s, to);
}

/* How a name is shown: in a line, or its beginning in one and its end in
 * another. */
typedef struct shown {
    size_t head;      /* bytes */
    const char *tail; /* the second line; NULL: there is none */
    bool cut;         /* something between them is left out */
    size_t columns;   /* of the longer line */
} shown;

static shown show(const char *name)
{
    size_t all = 0, used = 0, before = 0;
    const char *between = NULL;
    for (const char *s = name; *s; s += letter(s))
        all += columns(s);
    shown w = {.head = strlen(name), .columns = all};
    if (all <= LETTERS) return w;
    const char *s = name;
    for (; used + columns(s) < LETTERS; s += letter(s)) {
        used += columns(s);
        /* Rather between two words, if the rest fits. */
        if (strchr(" /_-.:", *s) && all - used <= LETTERS)
            between = s + 1, before = used;
    }
    if (between) s = between, used = before;
    w.head = (size_t)(s - name);
    w.cut = all - used > LETTERS;
    w.columns = LETTERS;
    for (; all - used > LETTERS; s += letter(s))
        used += columns(s);
    w.tail = s;
    return w;
}

/* --- nodes ---------------------------------------------------------------- */

/* The lines below a node's name: what is inside, what it has taken. */
static int notes(const hi_look *k, uint32_t v, char text[2][HI_WORD])
{
    int n = 0;
    hi_look_inside(k, v, text[n]);
    if (*text[n]) n++;
    hi_look_cost(k, v, text[n]);
    if (*text[n]) n++;
    return n;
}

static void set_size(const hi_look *k, hi_spot *s)
{
    char spare[HI_WORD], text[2][HI_WORD];
    int lines = notes(k, s->node, text);
    shown name = show(hi_look_name(k, s->node, spare));
    double widest = (double)name.columns * LETTER_WIDTH;
    for (int i = 0; i < lines; i++) {
        double width = (double)strlen(text[i]) * SMALL_WIDTH;
        if (width > widest) widest = width;
    }
    s->width = widest + 2 * PADDING;
    if (hi_node_is_weak(hi_look_node(k, s->node))) s->width += 2 * POINT;
    s->height = (lines + 1 + (name.tail != NULL)) * LINE + 14;
}

/* A box, or six corners with pointed ends; shrunk by `inset` on all sides. */
static void put_shape(picture *p, const hi_spot *s, int y, int inset,
                      const char *style)
{
    int w = pixels(s->width) - 2 * inset, h = pixels(s->height) - 2 * inset;
    int x = p->left + pixels(s->x - s->width / 2) + inset;
    y += inset;
    if (hi_node_is_weak(hi_look_node(p->look, s->node))) {
        fprintf(p->to, "<path d=\"M%d %dl%d %dh%dl%d %dl%d %dh%dz\"%s/>\n", x,
                y + h / 2, POINT, -(h / 2), w - 2 * POINT, POINT, h / 2, -POINT,
                h - h / 2, -(w - 2 * POINT), style);
    } else {
        fprintf(p->to,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\""
                "%s/>\n",
                x, y, w, h, style);
    }
}

static void put_outline(picture *p, const hi_spot *s, int y)
{
    const hi_node *n = hi_look_node(p->look, s->node);
    bool critical = p->look->critical[s->node];
    const char *dots =
        hi_look_is_empty(p->look, s->node) ? " stroke-dasharray=\"2 3\"" : "";
    char style[200];
    snprintf(style, sizeof style,
             " fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"%s",
             hi_look_colour(p->look, s->node),
             critical ? HI_CRITICAL_COLOUR : HI_LINE_COLOUR,
             critical ? "2.5" : "1.2", dots);
    if (n->kind == HI_NODE_MODULE) { /* something is behind it */
        hi_spot behind = *s;
        behind.x += 5;
        put_shape(p, &behind, y + 5, 0, style);
    }
    put_shape(p, s, y, 0, style);
    if (n->kind == HI_NODE_CHOICE) put_shape(p, s, y, 4, style);
}

static const char *worker_name(const hi_lap *lap, char spare[HI_WORD])
{
    if (lap->worker == UINT32_MAX) return "a thread from outside";
    snprintf(spare, HI_WORD, "worker %u", lap->worker);
    return spare;
}

/* What is shown when somebody points at a node. */
static void put_title(picture *p, uint32_t v)
{
    static const char *const kinds[] = {"", ", condition", ", choice",
                                        ", module"};
    const hi_look *k = p->look;
    char spare[HI_WORD];
    fputs("<title>", p->to);
    put_text(hi_look_name(k, v, spare), p->to);
    fputs(kinds[hi_look_node(k, v)->kind], p->to);
    if (hi_look_is_empty(k, v)) fputs(", nothing to do", p->to);
    hi_look_inside(k, v, spare);
    if (*spare) fprintf(p->to, " of %s", spare);
    const hi_lap *lap = hi_look_lap(k, v);
    if (lap) {
        hi_look_time(spare, lap->total);
        fprintf(p->to, "\n%s, %u execution%s, ", spare, lap->runs,
                lap->runs == 1 ? "" : "s");
        fputs(worker_name(lap, spare), p->to);
        if (k->critical[v]) fputs(", on the longest path", p->to);
    } else if (k->laps) {
        fputs("\nnot run", p->to);
    }
    fputs("</title>\n", p->to);
}

static int top_of(const picture *p, const hi_spot *s)
{
    const hi_layer *layer = &p->layout.layers[s->layer];
    return p->top + pixels(layer->y + (layer->height - s->height) / 2);
}

/* Returns the line below. */
static int put_name(picture *p, uint32_t v, int x, int y)
{
    char spare[HI_WORD];
    const char *name = hi_look_name(p->look, v, spare);
    shown w = show(name);
    fprintf(p->to, "<text x=\"%d\" y=\"%d\">", x, y);
    for (const char *s = name; s < name + w.head; s += letter(s))
        put_letter(s, p->to);
    if (w.cut) fputs("\xe2\x80\xa6", p->to);
    fputs("</text>\n", p->to);
    if (!w.tail) return y + LINE;
    fprintf(p->to, "<text x=\"%d\" y=\"%d\">", x, y + LINE);
    put_text(w.tail, p->to);
    fputs("</text>\n", p->to);
    return y + 2 * LINE;
}

static void put_node(picture *p, const hi_spot *s)
{
    char text[2][HI_WORD];
    int x = p->left + pixels(s->x), y = top_of(p, s);
    int lines = notes(p->look, s->node, text);
    fputs("<g>\n", p->to);
    put_title(p, s->node);
    put_outline(p, s, y);
    y = put_name(p, s->node, x, y + LINE + 3);
    for (int i = 0; i < lines; i++, y += LINE)
        fprintf(p->to,
                "<text x=\"%d\" y=\"%d\" font-size=\"11\" "
                "fill-opacity=\"0.8\">%s</text>\n",
                x, y - 1, text[i]);
    fputs("</g>\n", p->to);
}

/* --- wires ---------------------------------------------------------------- */

/* Where a wire leaves or enters a node: a little towards its other end, so that
 * wires are told apart. */
static int port(const picture *p, const hi_spot *s, const hi_spot *other)
{
    double most = s->width / 2 - 2 * POINT, shift = (other->x - s->x) / 8;
    if (s->node == HEIST_NO_NODE || most < 0) most = 0;
    if (shift > most) shift = most;
    if (shift < -most) shift = -most;
    return p->left + pixels(s->x + shift);
}

static void put_number(picture *p, const hi_wire *w, int x, int y)
{
    const hi_look *k = p->look;
    uint32_t v = p->layout.spots[w->from].node;
    if (!hi_node_is_weak(hi_look_node(k, v))) return;
    fprintf(p->to,
            "<text x=\"%d\" y=\"%d\" font-size=\"11\" "
            "fill=\"" HI_TEXT_COLOUR "\" stroke=\"#ffffff\" "
            "stroke-width=\"4\" paint-order=\"stroke\">%u</text>\n",
            x, y, w->edge - k->first[v]);
}

static void begin_wire(picture *p, const hi_wire *w)
{
    const hi_spot *spots = p->layout.spots;
    uint32_t from = spots[w->from].node, to = spots[w->to].node;
    bool weak = hi_node_is_weak(hi_look_node(p->look, from));
    fprintf(p->to, "<path%s marker-end=\"url(#heist-%s)\" d=\"",
            weak ? " stroke-dasharray=\"5 4\"" : "",
            hi_look_is_critical(p->look, from, to) ? "critical" : "arrow");
}

/* Turns between the layers, and passes each in a straight line. */
static void put_curve(picture *p, int x, int y, int to_x, int to_y)
{
    int middle = (y + to_y) / 2;
    fprintf(p->to, "C%d %d %d %d %d %d", x, middle, to_x, middle, to_x, to_y);
}

static void put_wire(picture *p, const hi_wire *w)
{
    const hi_spot *spots = p->layout.spots;
    const hi_spot *from = &spots[w->from], *to = &spots[w->to];
    const hi_spot *next = w->bends ? &spots[w->bend] : to;
    int x = port(p, from, next), y = top_of(p, from) + pixels(from->height);
    int turn_x = 0,
        turn_y = 0; /* where the number goes: half of the first turn */
    begin_wire(p, w);
    fprintf(p->to, "M%d %d", x, y);
    for (uint32_t i = 0; i <= w->bends; i++) {
        const hi_spot *last = i ? &spots[w->bend + i - 1] : from;
        const hi_spot *s = i < w->bends ? &spots[w->bend + i] : to;
        const hi_layer *layer = &p->layout.layers[s->layer];
        int to_x = port(p, s, last);
        int to_y = s == to ? top_of(p, to) : p->top + pixels(layer->y);
        put_curve(p, x, y, to_x, to_y);
        if (i == 0) turn_x = (x + to_x) / 2, turn_y = (y + to_y) / 2;
        x = to_x;
        y = to_y;
        if (s != to) fprintf(p->to, "v%d", pixels(layer->height));
        if (s != to) y += pixels(layer->height);
    }
    fputs("\"/>\n", p->to);
    put_number(p, w, turn_x, turn_y + 4);
}

/* The right end of the layers from one to another. */
static double right_end(const hi_layout *l, uint32_t layer, uint32_t last)
{
    double most = 0;
    for (; layer <= last; layer++) {
        uint32_t end = l->layers[layer + 1].first;
        const hi_spot *s = &l->spots[l->row[end - 1]];
        if (s->x + s->width / 2 > most) most = s->x + s->width / 2;
    }
    return most;
}

/* How far to the right the lane of a wire that leads back is. */
static double lane_of(const hi_layout *l, const hi_wire *w, uint32_t number)
{
    return right_end(l, l->spots[w->to].layer, l->spots[w->from].layer) + 16 +
           LANE * (number % LANES);
}

/* A loop leaves below, goes up beside all that is between, and comes in from
 * above. */
static void put_loop(picture *p, const hi_wire *w, uint32_t number)
{
    const hi_spot *from = &p->layout.spots[w->from];
    const hi_spot *to = &p->layout.spots[w->to];
    int lane = p->left + pixels(lane_of(&p->layout, w, number));
    int drop = 10 + (int)(number % 4) * 3;
    int x = p->left + pixels(from->x + from->width / 5);
    int to_x = p->left + pixels(to->x + to->width / 5);
    int y = top_of(p, from) + pixels(from->height), to_y = top_of(p, to);
    int under = y + drop, over = to_y - drop - 6;
    begin_wire(p, w);
    fprintf(p->to, "M%d %dQ%d %d %d %d", x, y, x, under, x + drop, under);
    fprintf(p->to, "H%dQ%d %d %d %d", lane - 8, lane, under, lane, under - 8);
    fprintf(p->to, "V%dQ%d %d %d %d", over + 8, lane, over, lane - 8, over);
    fprintf(p->to, "H%dQ%d %d %d %d\"/>\n", to_x + drop, to_x, over, to_x,
            to_y);
    put_number(p, w, lane, under - 12);
}

static bool wire_is_critical(const picture *p, const hi_wire *w)
{
    const hi_spot *spots = p->layout.spots;
    return hi_look_is_critical(p->look, spots[w->from].node, spots[w->to].node);
}

static bool wire_leads_back(const picture *p, const hi_wire *w)
{
    const hi_spot *spots = p->layout.spots;
    return hi_look_leads_back(p->look, spots[w->from].node, spots[w->to].node);
}

/* Those of the longest path, or the others, which are fainter where there are
 * many of them. */
static void put_wires(picture *p, bool critical)
{
    const hi_layout *l = &p->layout;
    uint32_t loops = 0;
    bool faint = !critical && l->wire_count > 4 * l->node_count;
    fprintf(p->to, "<g fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s>\n",
            critical ? HI_CRITICAL_COLOUR : HI_LINE_COLOUR,
            critical ? "2.5" : "1.2", faint ? " stroke-opacity=\"0.5\"" : "");
    for (uint32_t i = 0; i < l->wire_count; i++) {
        const hi_wire *w = &l->wires[i];
        if (wire_is_critical(p, w) != critical) continue;
        if (wire_leads_back(p, w)) {
            put_loop(p, w, loops++);
        } else {
            put_wire(p, w);
        }
    }
    fputs("</g>\n", p->to);
}

/* --- around it ------------------------------------------------------------ */

static void put_head(picture *p)
{
    fprintf(p->to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" "
            "style=\"max-width:100%%;height:auto\">\n<defs>\n",
            p->width, p->height, p->width, p->height);
    static const char *const ends[][2] = {
        {"heist-arrow", HI_LINE_COLOUR},
        {"heist-critical", HI_CRITICAL_COLOUR}};
    for (int i = 0; i < 2; i++)
        fprintf(p->to,
                "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
                "markerWidth=\"8\" markerHeight=\"8\" "
                "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
                "<path d=\"M0 1L10 5L0 9z\" fill=\"%s\"/></marker>\n",
                ends[i][0], ends[i][1]);
    fprintf(p->to,
            "</defs>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" "
            "fill=\"#ffffff\" stroke=\"#d5dbe0\"/>\n"
            "<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, "
            "Consolas, monospace\" font-size=\"13\" fill=\"" HI_TEXT_COLOUR
            "\" text-anchor=\"middle\">\n",
            p->width, p->height);
}

static void put_legend(picture *p)
{
    const hi_look *k = p->look;
    char sum[4 * HI_WORD], most[HI_WORD];
    int x = MARGIN, y = MARGIN + 26;
    hi_look_sum(k, sum);
    hi_look_time(most, k->longest);
    fprintf(p->to,
            "<g text-anchor=\"start\" font-size=\"12\">\n"
            "<text x=\"%d\" y=\"%d\">%s</text>\n<text x=\"%d\" y=\"%d\" "
            "font-size=\"11\">0</text>\n",
            x, MARGIN + 8, sum, x, y);
    x += 14;
    for (int i = 0; i < HI_SHADES; i++, x += SHADE_WIDTH)
        fprintf(p->to,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"10\" "
                "fill=\"%s\"/>\n",
                x, y - 9, SHADE_WIDTH, hi_look_shades[i]);
    fprintf(p->to,
            "<text x=\"%d\" y=\"%d\" font-size=\"11\">%s</text>\n"
            "<path d=\"M%d %dh28\" stroke=\"" HI_CRITICAL_COLOUR
            "\" stroke-width=\"2.5\"/>\n"
            "<text x=\"%d\" y=\"%d\" font-size=\"11\">longest path</text>\n"
            "</g>\n",
            x + 8, y, most, x + 96, y - 4, x + 132, y);
}

/* What the picture does not show, at its lower end. */
static void put_rest(picture *p)
{
    const hi_layout *l = &p->layout;
    const char *format =
        "<text x=\"%d\" y=\"%d\">%u more %s not shown</text>\n";
    int y = p->height - MARGIN / 2 - 4;
    if (l->wires_left_out) {
        fprintf(p->to, format, p->width / 2, y, l->wires_left_out, "edges");
        y -= LINE;
    }
    if (l->nodes_left_out)
        fprintf(p->to, format, p->width / 2, y, l->nodes_left_out, "nodes");
    if (l->node_count == 0)
        fprintf(p->to, "<text x=\"%d\" y=\"%d\">no nodes</text>\n",
                p->width / 2, y);
}

/* How far right the nodes and the loops beside them reach. */
static double reach(const picture *p)
{
    const hi_layout *l = &p->layout;
    double most = l->width + 5; /* what is behind a module */
    uint32_t loops = 0;
    for (uint32_t i = 0; i < l->wire_count; i++) {
        const hi_wire *w = &l->wires[i];
        if (!wire_leads_back(p, w)) continue;
        double lane = lane_of(l, w, loops++);
        if (lane > most) most = lane;
    }
    return most;
}

static void set_frame(picture *p)
{
    const hi_layout *l = &p->layout;
    int width = pixels(reach(p)), least = p->look->laps ? LEGEND_WIDTH : 120;
    int lines = (l->wires_left_out != 0) + (l->nodes_left_out != 0);
    if (lines && least < 240) least = 240;
    p->width = (width > least ? width : least) + 2 * MARGIN;
    p->left = (p->width - width) / 2;
    p->top = p->look->laps ? LEGEND + MARGIN : MARGIN + 8;
    p->height = p->top + pixels(l->height) + MARGIN + 8 + lines * LINE;
}

int heist_graph_svg(heist_graph *g, const heist_profile *profile, FILE *to)
{
    hi_look k;
    int rc = hi_look_open(&k, g, profile);
    if (rc < 0) return rc;
    picture p = {.look = &k, .to = to};
    rc = hi_layout_open(&p.layout, &k);
    if (rc < 0) return hi_look_finish(&k, to, rc);
    for (uint32_t s = 0; s < p.layout.node_count; s++)
        set_size(&k, &p.layout.spots[s]);
    hi_layout_place(&p.layout);
    set_frame(&p);
    put_head(&p);
    put_wires(&p, false);
    put_wires(&p, true);
    for (uint32_t s = 0; s < p.layout.node_count; s++)
        put_node(&p, &p.layout.spots[s]);
    if (k.laps) put_legend(&p);
    put_rest(&p);
    fputs("</g>\n</svg>\n", to);
    hi_layout_close(&p.layout);
    return hi_look_finish(&k, to, 0);
}
