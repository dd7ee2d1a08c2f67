/* SPDX-License-Identifier: MIT
 *
 * The injector in one thread, against an array: order, full and empty, batches,
 * and turns that begin anywhere, also just below the end of the integers.
 */
#include "fuzz.h"

#include "queue/injector.c"

enum {
    MODEL_MAX = 4096,
    BATCH_MAX = 40
};

static struct {
    uintptr_t items[MODEL_MAX];
    size_t oldest, newest, capacity;
} model;

static size_t length(void)
{
    return model.newest - model.oldest;
}

/* As if it had been used for a long time. */
static void begin_at(hi_injector *q, uint64_t first)
{
    for (uint64_t i = 0; i <= q->mask; i++)
        heist_init(&q->slots[(first + i) & q->mask].sequence, first + i);
    heist_init(&q->tail, first);
    heist_init(&q->head, first);
}

static void push(hi_injector *q, uintptr_t item)
{
    if (model.newest == MODEL_MAX) return;
    bool room = length() < model.capacity;
    FUZZ_CHECK(hi_injector_push(q, item) == room);
    if (room) model.items[model.newest++] = item;
}

static void take(hi_injector *q, size_t max)
{
    uintptr_t got[BATCH_MAX + 1];
    for (size_t i = 0; i <= max; i++)
        got[i] = 77;
    size_t wanted = max < length() ? max : length();
    FUZZ_CHECK(hi_injector_take(q, got, max) == wanted);
    for (size_t i = 0; i < wanted; i++)
        FUZZ_CHECK(got[i] == model.items[model.oldest++]);
    FUZZ_CHECK(got[wanted] == 77);
}

static void look(const hi_injector *q)
{
    FUZZ_CHECK(hi_injector_length(q) == length());
    FUZZ_CHECK(hi_injector_is_empty(q) == (length() == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    hi_injector q;
    size_t asked = (size_t)fuzz_take(&in, 1) % 33;
    FUZZ_CHECK(hi_injector_init(&q, asked, NULL) == 0);
    model.oldest = model.newest = 0;
    for (model.capacity = 2; model.capacity < asked;)
        model.capacity *= 2;
    begin_at(&q, fuzz_edge(&in));
    while (in.left) {
        uint64_t op = fuzz_take(&in, 1);
        if (op % 2)
            take(&q, (size_t)(op / 2) % (BATCH_MAX + 1));
        else
            for (uint64_t n = op / 2 % 40; n; n--)
                push(&q, (uintptr_t)(op << 8 | n));
        look(&q);
    }
    while (length())
        take(&q, BATCH_MAX);
    take(&q, 1);
    look(&q);
    hi_injector_fini(&q);
    return 0;
}
