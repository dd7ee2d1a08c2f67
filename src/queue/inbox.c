/* SPDX-License-Identifier: MIT
 *
 * inbox.c: posts from any thread, taken all at once.
 *
 *      newest -> node -> node -> oldest -> NULL
 *
 * Invariants
 *   I1  a node is reachable from newest from its post to the next take.
 *   I2  nodes leave all together, so a post that finds again the newest it
 *       linked to may go ahead even if that node left and came back: newest is
 *       that node, whatever follows it now.
 *
 * Edges
 *   B1  post release newest -> take acquire newest   the nodes, all of them
 *   B2  take release newest -> is_empty, then the fence of hi_sleep_all_idle: who
 *       finds it empty sees that the taker is awake (stop, src/core/runtime.c)
 *
 * B1 covers the older nodes too: every change of newest is a read-modify-write,
 * so each post's release sequence runs on through the later posts.
 *
 * A thread that announces its sleep, fences (seq_cst) and then looks with
 * is_empty sees every post whose poster fenced afterwards, earlier in the one
 * order of fences, unless somebody has taken it since.
 */
#include "queue/inbox.h"

void hi_inbox_init(hi_inbox *b)
{
    heist_init(&b->newest, NULL);
}

void hi_inbox_post(hi_inbox *b, hi_inbox_node *node)
{
    hi_inbox_node *newest = heist_load_relaxed(&b->newest); /* relaxed: hint */
    do {
        node->next = newest;
        /* B1: the node and what it carries, then the way to it. */
    } while (!heist_cas_release(&b->newest, &newest, node));
}

hi_inbox_node *hi_inbox_take(hi_inbox *b)
{
    if (hi_inbox_is_empty(b)) return NULL; /* spares the line a write */
    /* B1: all that the posters wrote.  B2: who has them was awake before. */
    hi_inbox_node *node = heist_swap_acq_rel(&b->newest, NULL);
    hi_inbox_node *oldest = NULL;
    while (node) {
        hi_inbox_node *next = node->next;
        node->next = oldest;
        oldest = node;
        node = next;
    }
    return oldest;
}

bool hi_inbox_is_empty(const hi_inbox *b)
{
    return !heist_load_relaxed(&b->newest); /* relaxed: hint */
}
