/* SPDX-License-Identifier: MIT
 *
 * step.c: what a node can ask and do while it runs.
 */
#include "graph/flow.h"

#include <errno.h>

void *heist_step_context(const heist_step *step)
{
    return step->flow->context;
}

heist_node heist_step_node(const heist_step *step)
{
    return (heist_node){(uint32_t)(step->place - step->flow->places)};
}

unsigned heist_step_attempt(const heist_step *step)
{
    return step->attempt;
}

bool heist_step_stopped(const heist_step *step)
{
    return hi_flow_stopped_now(step->flow->root);
}

void heist_step_cancel(heist_step *step)
{
    hi_flow_stop(step->flow->root, -ECANCELED, NULL);
}

static void *output(const heist_flow *f, heist_node node, size_t bytes)
{
    const hi_node *n = &f->nodes[node.id];
    if (node.id >= f->graph->count || !n->output) {
        hi_check(bytes == 0, "a node without an output");
        return NULL;
    }
    hi_check(bytes <= hi_graph_extra(f->graph, n)->output_bytes,
             "an output is not that large");
    (void)bytes;
    return hi_flow_at(f, n->output);
}

void *heist_step_output(const heist_step *step, size_t bytes)
{
    return output(step->flow, heist_step_node(step), bytes);
}

const void *heist_step_input(const heist_step *step, heist_node before,
                             size_t bytes)
{
    return output(step->flow, before, bytes);
}

const void *heist_flow_output(const heist_flow *flow, heist_node node,
                              size_t bytes)
{
    return output(flow, node, bytes);
}

int heist_step_pick(heist_step *step, size_t edge)
{
    heist_flow *f = step->flow;
    const hi_node *n = hi_node_of(f, step->place);
    if (n->kind != HI_NODE_CHOICE || edge >= n[1].out - n->out) return -EINVAL;
    hi_place *p = &f->places[f->to[n->out + edge]];
    /* relaxed: hint (one of two gets it) */
    if (heist_swap_relaxed(&f->active[p - f->places], 1)) return -EEXIST;
    hi_batch_add(&step->picked, p);
    return 0;
}

heist_graph *heist_step_subflow(heist_step *step)
{
    const heist_flow *f = step->flow;
    hi_check(!hi_node_is_weak(hi_node_of(f, step->place)),
             "a condition has no subflow");
    if (!step->subflow &&
        heist_graph_create(&step->subflow, &f->graph->allocator) < 0)
        return NULL;
    return step->subflow;
}

void heist_step_detach(heist_step *step)
{
    step->detached = true;
}

int heist_step_join(heist_step *step)
{
    heist_graph *g = step->subflow;
    if (!g) return 0;
    step->subflow = NULL;
    int rc = hi_flow_run_inner(step->flow, g);
    heist_graph_destroy(g);
    return rc;
}
