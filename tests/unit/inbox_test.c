/* SPDX-License-Identifier: MIT */
#include "queue/inbox.h"

#include "../test.h"

struct letter {
    int number;
    hi_inbox_node node;
};

static struct letter *letter_of(hi_inbox_node *node)
{
    return heist_container(node, struct letter, node);
}

TEST(a_new_inbox_is_empty)
{
    hi_inbox b;
    hi_inbox_init(&b);
    CHECK(hi_inbox_is_empty(&b));
    CHECK(hi_inbox_take(&b) == NULL);
}

TEST(take_gives_everything_oldest_first)
{
    hi_inbox b;
    struct letter letters[10];
    hi_inbox_init(&b);
    for (int n = 1; n <= 10; n++) {
        for (int i = 0; i < n; i++) {
            letters[i].number = i;
            hi_inbox_post(&b, &letters[i].node);
            CHECK(!hi_inbox_is_empty(&b));
        }
        hi_inbox_node *node = hi_inbox_take(&b);
        CHECK(hi_inbox_is_empty(&b));
        for (int i = 0; i < n; i++, node = node->next) {
            CHECK(node != NULL);
            CHECK_EQ(letter_of(node)->number, i);
        }
        CHECK(node == NULL);
        CHECK(hi_inbox_take(&b) == NULL);
    }
}

TEST(what_is_posted_after_a_take_waits_for_the_next)
{
    hi_inbox b;
    struct letter first = {.number = 1}, second = {.number = 2};
    hi_inbox_init(&b);
    hi_inbox_post(&b, &first.node);
    hi_inbox_node *taken = hi_inbox_take(&b);
    hi_inbox_post(&b, &second.node);
    CHECK(taken == &first.node);
    CHECK(taken->next == NULL);
    CHECK(hi_inbox_take(&b) == &second.node);
    CHECK(hi_inbox_is_empty(&b));
}

TEST(a_node_may_be_posted_again_once_taken)
{
    hi_inbox b;
    struct letter one = {.number = 1};
    hi_inbox_init(&b);
    for (int i = 0; i < 5; i++) {
        hi_inbox_post(&b, &one.node);
        CHECK(hi_inbox_take(&b) == &one.node);
        CHECK(one.node.next == NULL);
    }
}
