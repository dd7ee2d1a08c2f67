/* SPDX-License-Identifier: MIT */
#ifndef HI_INBOX_H
#define HI_INBOX_H

#include <heist/base.h>

/*
 * An inbox: any thread posts; its owner, or who comes first, takes all at once.
 * The nodes live in what is sent, so it cannot overflow.  Edges: inbox.c.
 */
typedef struct hi_inbox_node {
    struct hi_inbox_node *next;
} hi_inbox_node;

typedef struct hi_inbox {
    HEIST_ATOMIC(hi_inbox_node *) newest;
} hi_inbox;

void hi_inbox_init(hi_inbox *b);

/* The node is the inbox's until it is taken. */
void hi_inbox_post(hi_inbox *b, hi_inbox_node *node);

/* All nodes, oldest first, or NULL. */
hi_inbox_node *hi_inbox_take(hi_inbox *b);

/* A look that may be out of date. */
bool hi_inbox_is_empty(const hi_inbox *b);

#endif
