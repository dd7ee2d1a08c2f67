/* SPDX-License-Identifier: MIT */
#ifndef HI_LAYOUT_H
#define HI_LAYOUT_H

/*
 * Where the nodes of a picture go: in layers from top to bottom, each node
 * below all that lead to it, but for loops.  What is drawn is bounded; what is
 * not is counted.
 *
 *     row 0         [A]        spots: nodes, and bends where an edge passes a
 *                  /   \       layer between its ends
 *     row 1      [B]    |      wires: edges, as lists of spots; those that lead
 *                  \   /       back have none and go around
 *     row 2         [C]
 */
#include "graph/look.h"

enum {
    HI_LAYOUT_NODES = 2000,
    HI_LAYOUT_WIRES = 12000,
    HI_LAYOUT_BENDS = 30000
};

typedef struct hi_spot {
    uint32_t node; /* HEIST_NO_NODE: a bend */
    uint32_t layer;
    uint32_t index; /* in its layer, from the left */
    double width, height;
    double x; /* its middle */
} hi_spot;

typedef struct hi_wire {
    uint32_t edge;        /* in the look's `to` */
    uint32_t from, to;    /* spots */
    uint32_t bend, bends; /* the first one's spot, and how many follow */
} hi_wire;

/* A piece of a wire, between neighbouring layers. */
typedef struct hi_hop {
    uint32_t spot; /* where it leads */
    double weight; /* how much it wants to be straight */
} hi_hop;

typedef struct hi_layer {
    uint32_t first; /* in `row`; it ends where the next one begins */
    double y, height;
} hi_layer;

typedef struct hi_layout {
    const hi_look *look;
    hi_spot *spots; /* nodes, then bends */
    uint32_t node_count, spot_count;
    hi_wire *wires;
    uint32_t wire_count, wires_left_out;
    uint32_t nodes_left_out;
    hi_layer *layers; /* one more than there are */
    uint32_t layer_count;
    uint32_t linked; /* layers; those below are of nodes without edges */
    uint32_t *row;   /* all spots by layer, from left to right */
    double width, height;

    /* The hops of a spot to the layer above and to the one below. */
    uint32_t *first_hop[2]; /* one more than there are spots */
    hi_hop *hops[2];

    /* Notes of who arranges. */
    uint32_t *best, *spare;
    double *key, *mean, *weight;

    uint32_t *layer_of, *spot_of, *sorted; /* of all nodes */
    void *memory[2];
    size_t bytes[2];
} hi_layout;

/*
 * Chooses the nodes and their layers.  The caller then sets the sizes of the
 * spots of nodes.
 *
 * Returns: 0; -ENOMEM.
 */
int hi_layout_open(hi_layout *l, const hi_look *k);
void hi_layout_close(hi_layout *l);

/* Sets everything's place, from (0, 0) to (width, height). */
void hi_layout_place(hi_layout *l);

#endif
