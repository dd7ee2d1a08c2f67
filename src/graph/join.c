/* SPDX-License-Identifier: MIT
 *
 * join.c: how many arrivals start a node where there are conditions.
 *
 * Which branches must have been taken before a node runs?  Branches form a
 * tree: the parent of a branch is the *guard* of its condition, that is the
 * innermost branch without which the condition does not run.
 *
 *     c1 -> x | c2      c2 -> y | z      x, y, z -> j
 *
 *     root --- c1:0         guards x
 *          \-- c1:1         guards c2
 *                \-- c2:0   guards y
 *                 \- c2:1   guards z
 *
 * The arrivals at a node stand at their guards.  From the leaves up, what
 * arrives by several branches of one condition is the same thing, for one of
 * them is taken; all else adds up.  So j needs one arrival: y or z, or x.  Its
 * own guard is where all of it has come together, or the innermost one of what
 * it waits for in any case.
 *
 * Only places where arrivals stand or ways meet are looked at: arrivals are
 * sorted as a walk over the tree would find them, and a stack has the way to
 * the present one.
 */
#include "graph/examine.h"
#include "queue/memory.h"

#include <errno.h>

/* What arrives at a node from a part of the tree. */
typedef struct share {
    uint32_t guard;
    uint32_t need; /* arrivals by strong edges */
    uint32_t weak; /* a condition (its number) that starts it; or 0 */
} share;

/* A place in the tree, on the way to the present arrival. */
typedef struct stage {
    uint32_t guard;
    share sum;
    share branch;       /* what came by branches of the condition below */
    uint32_t condition; /* its number; 0: none yet */
    uint32_t ways;      /* of its branches by which something came */
} stage;

typedef struct join {
    heist_graph *graph;
    hi_why *why;
    hi_walk *walk;
    hi_rung *guards; /* by edge, plus 1; 0 is the root */
    share *shares;   /* of the node that is looked at */
    stage *stages;
    uint32_t present; /* the node */
    uint32_t depth;   /* of the stages */
    uint32_t unsure;  /* a condition that may bring only a part; or 0 */
} join;

/* --- what is wrong -------------------------------------------------------- */

static void say_number(const join *j, uint32_t number)
{
    hi_why_node(j->why, j->walk->spots[number].node);
}

static int race(const join *j, uint32_t condition)
{
    hi_why_say(j->why, "race: ");
    hi_why_node(j->why, j->present);
    hi_why_say(j->why, " is started by condition ");
    say_number(j, condition);
    hi_why_say(j->why, " and by its predecessors");
    return -EINVAL;
}

static int uneven(const join *j, uint32_t condition, uint32_t a, uint32_t b)
{
    hi_why_say(j->why, "uneven: ");
    hi_why_node(j->why, j->present);
    hi_why_say(j->why, " waits for ");
    hi_why_number(j->why, a);
    hi_why_say(j->why, " after one branch of ");
    say_number(j, condition);
    hi_why_say(j->why, ", for ");
    hi_why_number(j->why, b);
    hi_why_say(j->why, " after another");
    return -EINVAL;
}

static int waits_for_itself(const join *j, uint32_t from)
{
    hi_why_say(j->why, "deadlock: ");
    hi_why_node(j->why, j->present);
    hi_why_say(j->why, " waits for ");
    say_number(j, from);
    hi_why_say(j->why, ", which runs only after it; lead back by a condition");
    return -EDEADLK;
}

/* --- adding up ------------------------------------------------------------ */

static stage *top(join *j)
{
    return &j->stages[j->depth - 1];
}

static void push(join *j, uint32_t guard)
{
    j->stages[j->depth++] = (stage){.guard = guard};
}

/* Both happen. */
static int add(join *j, stage *s, const share *more)
{
    share *sum = &s->sum;
    if (!sum->need && !sum->weak) {
        *sum = *more;
    } else if (sum->weak || more->weak) {
        if (sum->need || more->need)
            return race(j, sum->weak ? sum->weak : more->weak);
        sum->guard = s->guard; /* one of them is enough */
    } else {
        uint32_t deeper = more->guard ? more->guard : sum->guard;
        if (more->guard != sum->guard) j->unsure = j->guards[deeper].owner;
        sum->need += more->need;
        if (j->guards[more->guard].depth > j->guards[sum->guard].depth)
            sum->guard = more->guard;
    }
    return 0;
}

/* One of them happens. */
static int alternate(join *j, stage *s, const share *other)
{
    share *branch = &s->branch;
    if (branch->need && other->need && branch->need != other->need)
        return uneven(j, s->condition, branch->need, other->need);
    if (!branch->need) branch->need = other->need;
    if (!branch->weak) branch->weak = other->weak;
    branch->guard = s->guard;
    return 0;
}

static int close_branches(join *j, stage *s)
{
    uint32_t condition = s->condition;
    if (!condition) return 0;
    s->condition = 0;
    if (s->sum.need && s->ways < j->walk->spots[condition].ways)
        j->unsure = condition;
    return add(j, s, &s->branch);
}

/* Takes the top stage to the one below it. */
static int fold(join *j)
{
    stage *s = top(j), *below = s - 1;
    int rc = close_branches(j, s);
    if (rc < 0) return rc;
    j->depth--;
    uint32_t depth = j->guards[below->guard].depth + 1;
    uint32_t branch = hi_tree_climb(j->guards, s->guard, depth);
    uint32_t condition = j->guards[branch].owner;
    if (below->condition == condition) {
        below->ways++;
        return alternate(j, below, &s->sum);
    }
    rc = close_branches(j, below);
    below->condition = condition;
    below->ways = 1;
    below->branch = s->sum;
    return rc;
}

/* Folds what is deeper than `guard`, which is above the top, and makes it the
 * top. */
static int fold_to(join *j, uint32_t guard)
{
    uint32_t depth = j->guards[guard].depth;
    int rc = 0;
    while (rc == 0 && j->guards[top(j)->guard].depth > depth) {
        bool last = j->depth == 1;
        if (last || j->guards[top(j)[-1].guard].depth < depth) {
            j->stages[j->depth] = *top(j);
            *top(j) = (stage){.guard = guard};
            j->depth++;
        }
        rc = fold(j);
    }
    return rc;
}

static int add_up(join *j, const share *shares, uint32_t n)
{
    j->depth = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t guard = shares[i].guard;
        if (i == 0) push(j, guard);
        int rc = fold_to(j, hi_tree_meet(j->guards, top(j)->guard, guard));
        if (rc < 0) return rc;
        if (top(j)->guard != guard) push(j, guard);
        rc = add(j, top(j), &shares[i]);
        if (rc < 0) return rc;
    }
    int rc = fold_to(j, j->stages[0].guard);
    return rc < 0 ? rc : close_branches(j, top(j));
}

/* --- the order of a walk -------------------------------------------------- */

static bool goes_before(const hi_rung *tree, uint32_t a, uint32_t b)
{
    if (a == b) return false;
    uint32_t both = hi_tree_meet(tree, a, b);
    if (both == a || both == b) return both == a;
    uint32_t depth = tree[both].depth + 1;
    return hi_tree_climb(tree, a, depth) < hi_tree_climb(tree, b, depth);
}

static void sink(const hi_rung *tree, share *heap, uint32_t i, uint32_t n)
{
    share item = heap[i];
    for (uint32_t k; i < n / 2; i = k) {
        k = 2 * i + 1;
        if (k + 1 < n && goes_before(tree, heap[k].guard, heap[k + 1].guard))
            k++;
        if (!goes_before(tree, item.guard, heap[k].guard)) break;
        heap[i] = heap[k];
    }
    heap[i] = item;
}

static void sort(const hi_rung *tree, share *shares, uint32_t n)
{
    for (uint32_t i = n / 2; i > 0; i--)
        sink(tree, shares, i - 1, n);
    for (uint32_t i = n; i > 1; i--) {
        share last = shares[i - 1];
        shares[i - 1] = shares[0];
        shares[0] = last;
        sink(tree, shares, 0, i - 1);
    }
}

/* --- nodes ---------------------------------------------------------------- */

static share share_of(const join *j, const hi_arrival *a)
{
    const hi_spot *from = &j->walk->spots[a->from];
    share s = {.guard = from->guard, .need = 1};
    const hi_node *n = &j->graph->nodes[from->node];
    if (!hi_node_is_weak(n)) return s;
    s.need = 0;
    s.weak = a->from;
    /* Not in the tree: branches of choices, which exclude nothing, and of what
     * comes later, into the side of a loop. */
    if (j->guards[a->edge + 1].depth) s.guard = a->edge + 1;
    return s;
}

/* Lists what starts the node, but for what leads back to it. */
static int list_shares(join *j, uint32_t k, uint32_t *n)
{
    const hi_spot *s = &j->walk->spots[k];
    uint32_t back = 0, weak = 0;
    *n = 0;
    for (uint32_t i = s->first; i < s[1].first; i++) {
        const hi_arrival *a = &j->walk->arrivals[i];
        share one = share_of(j, a);
        if (j->walk->spots[a->from].rank >= s->rank &&
            hi_walk_dominates(j->walk, k, a->from)) {
            if (one.need) back = a->from;
        } else {
            j->shares[(*n)++] = one;
            if (one.weak) weak = one.weak;
        }
    }
    if (!back) return 0;
    return weak ? race(j, weak) : waits_for_itself(j, back);
}

static bool leads_back(const join *j, uint32_t k, uint32_t edge)
{
    const hi_walk *w = j->walk;
    uint32_t to = w->number[j->graph->to[edge]];
    return w->loops && w->spots[to].rank <= w->spots[k].rank &&
           hi_walk_dominates(w, to, k);
}

/* The only way out of a loop is taken in the end: it excludes nothing. */
static void hang_branches(join *j, uint32_t k)
{
    hi_spot *s = &j->walk->spots[k];
    const hi_node *n = &j->graph->nodes[s->node];
    for (uint32_t e = n->out; e < n[1].out; e++)
        if (!leads_back(j, k, e)) s->ways++;
    if (s->ways == 1 && n[1].out - n->out > 1) return;
    for (uint32_t e = n->out; e < n[1].out; e++) {
        hi_tree_hang(j->guards, e + 1, s->guard);
        j->guards[e + 1].owner = k;
    }
}

static int examine_node(join *j, uint32_t k)
{
    hi_spot *s = &j->walk->spots[k];
    hi_node *node = &j->graph->nodes[s->node];
    j->present = s->node;
    j->unsure = 0;
    uint32_t n;
    int rc = list_shares(j, k, &n);
    if (rc < 0) return rc;
    if (n > 0) {
        sort(j->guards, j->shares, n);
        rc = add_up(j, j->shares, n);
        if (rc < 0) return rc;
        node->need = top(j)->sum.need;
        s->guard = top(j)->sum.guard;
        s->unsure = j->unsure;
    }
    if (node->kind == HI_NODE_CONDITION) hang_branches(j, k);
    return 0;
}

/* --- all ------------------------------------------------------------------ */

static int examine_nodes(join *j)
{
    for (uint32_t i = j->walk->begin; i < j->graph->count; i++) {
        int rc = examine_node(j, j->walk->order[i]);
        if (rc < 0) return rc;
    }
    return 0;
}

static uint32_t most_arrivals(const hi_walk *w)
{
    uint32_t most = 0;
    for (uint32_t k = 1; k <= w->reached; k++) {
        uint32_t n = w->spots[k + 1].first - w->spots[k].first;
        if (n > most) most = n;
    }
    return most;
}

int hi_graph_examine_joins(heist_graph *g, hi_walk *w, hi_why *why)
{
    join j = {.graph = g, .why = why, .walk = w};
    const heist_allocator *from = &g->allocator;
    size_t most = most_arrivals(w);
    size_t guards = ((size_t)w->edges + 1) * sizeof *j.guards;
    size_t shares = (most + 1) * sizeof *j.shares;
    size_t stages = (most + 2) * sizeof *j.stages;
    j.guards = hi_alloc(from, guards, _Alignof(hi_rung));
    j.shares = hi_alloc_raw(from, shares, _Alignof(share));
    j.stages = hi_alloc_raw(from, stages, _Alignof(stage));
    bool room = j.guards && j.shares && j.stages;
    int rc = room ? examine_nodes(&j) : -ENOMEM;
    hi_free(from, j.guards, guards);
    hi_free(from, j.shares, shares);
    hi_free(from, j.stages, stages);
    return rc;
}
