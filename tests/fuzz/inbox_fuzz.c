/* SPDX-License-Identifier: MIT
 *
 * The inbox in one thread, against an array: all that was posted, oldest first,
 * again and again with the same nodes.
 */
#include "fuzz.h"
#include "queue/inbox.h"

enum {
    NODES = 32
};

static hi_inbox_node nodes[NODES];

/* The posted nodes, by number; and which they are. */
static struct {
    size_t posted[NODES], count;
    bool inside[NODES];
} model;

static void post(hi_inbox *b, size_t i)
{
    if (model.inside[i]) return;
    hi_inbox_post(b, &nodes[i]);
    model.posted[model.count++] = i;
    model.inside[i] = true;
}

static void take(hi_inbox *b)
{
    hi_inbox_node *node = hi_inbox_take(b);
    for (size_t i = 0; i < model.count; i++, node = node->next) {
        FUZZ_CHECK(node == &nodes[model.posted[i]]);
        model.inside[model.posted[i]] = false;
    }
    FUZZ_CHECK(node == NULL);
    model.count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    hi_inbox b;
    memset(&model, 0, sizeof model);
    memset(nodes, 0xa5, sizeof nodes); /* whatever was there before */
    hi_inbox_init(&b);
    while (in.left) {
        uint64_t op = fuzz_take(&in, 1);
        if (op >= 200)
            take(&b);
        else
            post(&b, op % NODES);
        FUZZ_CHECK(hi_inbox_is_empty(&b) == (model.count == 0));
    }
    take(&b);
    FUZZ_CHECK(hi_inbox_is_empty(&b));
    return 0;
}
