/* SPDX-License-Identifier: MIT
 *
 * dot.c: a graph as text for graphviz.
 */
#include "graph/look.h"

enum {
    LETTERS_MOST = 200 /* graphviz reads no strings of 16 KiB */
};

/* Inside of quotes.  A label knows entities and escapes, so both are written so
 * that they mean themselves; what is not text becomes the replacement sign. */
static void put_text(const char *s, FILE *to)
{
    for (int left = LETTERS_MOST; *s; left--) {
        if (left == 0) {
            fputs("\xe2\x80\xa6", to);
            return;
        }
        size_t n = hi_utf8(s);
        unsigned char c = (unsigned char)*s;
        if (c == '\n') {
            fputs("\\n", to);
        } else if (c == '&') {
            fputs("&amp;", to);
        } else if (n == 0 || c < 0x20 || c == 0x7f) {
            fputs("\xef\xbf\xbd", to);
        } else {
            if (c == '"' || c == '\\') putc('\\', to);
            fwrite(s, 1, n, to);
        }
        s += n ? n : 1;
    }
}

static const char *shape(const hi_node *n)
{
    switch (n->kind) {
    case HI_NODE_CONDITION: return "shape=diamond";
    case HI_NODE_CHOICE: return "shape=diamond, peripheries=2";
    case HI_NODE_MODULE: return "shape=box3d";
    default: return "shape=box";
    }
}

static void put_node(const hi_look *k, uint32_t v, FILE *to)
{
    char name[HI_WORD], inside[HI_WORD], cost[HI_WORD];
    hi_look_inside(k, v, inside);
    hi_look_cost(k, v, cost);
    fprintf(to, "    n%u [label=\"", v);
    put_text(hi_look_name(k, v, name), to);
    if (*inside) fprintf(to, "\\n%s", inside);
    if (*cost) fprintf(to, "\\n%s", cost);
    fprintf(to, "\", %s, fillcolor=\"%s\"", shape(hi_look_node(k, v)),
            hi_look_colour(k, v));
    if (hi_look_is_empty(k, v)) fputs(", style=\"filled,dotted\"", to);
    if (k->critical[v])
        fputs(", color=\"" HI_CRITICAL_COLOUR "\", penwidth=3", to);
    fputs("];\n", to);
}

static void put_edge(const hi_look *k, uint32_t v, uint32_t e, FILE *to)
{
    uint32_t w = k->to[e];
    fprintf(to, "    n%u -> n%u [", v, w);
    if (hi_node_is_weak(hi_look_node(k, v)))
        fprintf(to, "style=dashed, label=\"%u\"", e - k->first[v]);
    if (hi_look_is_critical(k, v, w))
        fputs(" color=\"" HI_CRITICAL_COLOUR "\", penwidth=3", to);
    fputs("];\n", to);
}

static void put_head(const hi_look *k, FILE *to)
{
    fputs("digraph heist {\n"
          "    graph [charset=\"UTF-8\", fontname=\"monospace\"];\n"
          "    node [style=filled, color=\"" HI_LINE_COLOUR
          "\", fontcolor=\"" HI_TEXT_COLOUR "\", fontname=\"monospace\"];\n"
          "    edge [color=\"" HI_LINE_COLOUR "\", fontname=\"monospace\"];\n",
          to);
    if (!k->laps) return;
    char sum[4 * HI_WORD];
    hi_look_sum(k, sum);
    fprintf(to, "    label=\"%s\";\n", sum);
}

int heist_graph_dot(heist_graph *g, const heist_profile *profile, FILE *to)
{
    hi_look k;
    int rc = hi_look_open(&k, g, profile);
    if (rc < 0) return rc;
    put_head(&k, to);
    for (uint32_t v = 0; v < k.count; v++)
        if (!hi_look_is_erased(&k, v)) put_node(&k, v, to);
    for (uint32_t v = 0; v < k.count; v++)
        for (uint32_t e = k.first[v]; e < k.first[v + 1]; e++)
            put_edge(&k, v, e, to);
    fputs("}\n", to);
    return hi_look_finish(&k, to, 0);
}
