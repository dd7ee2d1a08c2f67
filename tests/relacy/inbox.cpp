/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include "queue/inbox.c"

struct letter {
    hi_inbox_node node;
    int number;
};

static int number_of(hi_inbox_node *node)
{
    return heist_container(node, letter, node)->number;
}

/* Thread 0 owns the inbox; the others post two letters each. */
template <int threads>
struct inbox_test : rl::test_suite<inbox_test<threads>, threads> {
    items all;
    hi_inbox box;
    letter letters[ITEMS_MAX];
    int last[threads]; /* the newest letter seen of each poster */

    void before()
    {
        hi_inbox_init(&box);
        for (int i = 0; i < threads; i++)
            last[i] = 0;
    }

    void post(int i)
    {
        letters[i].number = (int)all.make(i);
        hi_inbox_post(&box, &letters[i].node);
    }

    void take()
    {
        hi_inbox_node *node = hi_inbox_take(&box);
        while (node) {
            int i = number_of(node), poster = (i + 1) / 2;
            all.take((relacy::word)i);
            RL_ASSERT(i > last[poster]); /* oldest first */
            last[poster] = i;
            node = node->next;
        }
    }

    void thread(unsigned id)
    {
        if (id) {
            post((int)id * 2 - 1);
            post((int)id * 2);
        } else {
            take();
            take();
        }
    }

    void after()
    {
        take();
        RL_ASSERT(hi_inbox_is_empty(&box));
        all.all_taken();
    }
};

typedef inbox_test<2> inbox_one_poster;
typedef inbox_test<3> inbox_two_posters;

/* A letter that was taken is posted again while another poster is at it. */
struct inbox_node_comes_back : rl::test_suite<inbox_node_comes_back, 2> {
    items all;
    hi_inbox box;
    letter one, two;
    int seen;

    void before()
    {
        hi_inbox_init(&box);
        one.number = 1;
        two.number = 2;
        seen = 0;
        hi_inbox_post(&box, &one.node);
    }

    void take()
    {
        for (hi_inbox_node *n = hi_inbox_take(&box); n; n = n->next)
            seen++;
    }

    void thread(unsigned id)
    {
        if (id) {
            hi_inbox_post(&box, &two.node);
            return;
        }
        take();
        hi_inbox_node *mine = hi_inbox_take(&box);
        RL_ASSERT(!mine || mine == &two.node);
        seen += mine != NULL;
        hi_inbox_post(&box, &one.node);
    }

    void after()
    {
        take();
        RL_ASSERT(seen == 3);
    }
};

static void run_all(command *c)
{
    RUN(c, inbox_one_poster);
    RUN(c, inbox_two_posters);
    RUN(c, inbox_node_comes_back);
}
