/* SPDX-License-Identifier: MIT
 *
 * The deque in one thread, against an array: every call has one right answer,
 * wherever the indices begin and whenever memory ends.
 */
#include "fuzz.h"
#include "queue/deque.h"

#include <errno.h>

enum {
    MODEL_MAX = 4096
};

static struct {
    uintptr_t items[MODEL_MAX];
    size_t oldest, newest; /* first item; one past the last */
} model;

static size_t length(void)
{
    return model.newest - model.oldest;
}

/* An allocator that fails when it is told to, and loses nothing. */
static bool no_memory;
static size_t blocks;

static void *limited_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *p = NULL;
    if (no_memory || posix_memalign(&p, align, bytes)) return NULL;
    memset(p, 0xa5, bytes);
    blocks++;
    return p;
}

static void limited_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    blocks--;
    free(p);
}

static const heist_allocator allocator = {.alloc = limited_alloc,
                                          .free = limited_free};

static void push(hi_deque *d, uintptr_t item, bool starve)
{
    if (model.newest == MODEL_MAX) return;
    no_memory = starve;
    int rc = hi_deque_push(d, item);
    no_memory = false;
    FUZZ_CHECK(rc == 0 || (rc == -ENOMEM && starve));
    if (rc == 0) model.items[model.newest++] = item;
}

static void pop(hi_deque *d)
{
    uintptr_t wanted = length() ? model.items[--model.newest] : 0;
    FUZZ_CHECK(hi_deque_pop(d) == wanted);
}

static void pop_if(hi_deque *d, uintptr_t item)
{
    bool wanted = length() && model.items[model.newest - 1] == item;
    FUZZ_CHECK(hi_deque_pop_if(d, item) == wanted);
    if (wanted) model.newest--;
}

static void steal_range(hi_deque *d, uintptr_t low, uintptr_t high, bool all)
{
    uintptr_t item = 99, oldest = length() ? model.items[model.oldest] : 0;
    bool wanted = length() && (all || (low <= oldest && oldest < high));
    hi_steal got = all ? hi_deque_steal(d, &item)
                       : hi_deque_steal_range(d, low, high, &item);
    FUZZ_CHECK(got == (wanted ? HI_STEAL_TAKEN : HI_STEAL_EMPTY));
    FUZZ_CHECK(item == (wanted ? oldest : 99));
    if (wanted) model.oldest++;
}

static void look(const hi_deque *d)
{
    FUZZ_CHECK(hi_deque_is_empty(d) == (length() == 0));
    FUZZ_CHECK(hi_deque_oldest(d) ==
               (length() ? model.items[model.oldest] : 0));
}

static uintptr_t some_item(fuzz_input *in)
{
    uintptr_t item = (uintptr_t)fuzz_edge(in);
    return item ? item : 1;
}

static void act(hi_deque *d, fuzz_input *in)
{
    uint64_t op = fuzz_take(in, 1);
    switch (op % 8) {
    case 0:
    case 1: push(d, some_item(in), false); break;
    case 2: push(d, some_item(in), true); break;
    case 3: pop(d); break;
    case 4:
        /* Half of the time the one that is there. */
        if (op & 8 && length())
            pop_if(d, model.items[model.newest - 1]);
        else
            pop_if(d, some_item(in));
        break;
    case 5: steal_range(d, 0, 0, true); break;
    case 6: {
        uintptr_t low = some_item(in);
        steal_range(d, low, some_item(in), false);
        break;
    }
    case 7: /* many at once, so that it grows more than once */
        for (uint64_t n = op / 8; n; n--)
            push(d, (uintptr_t)n, false);
        break;
    }
    look(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    hi_deque d;
    model.oldest = model.newest = 0;
    size_t capacity = (size_t)fuzz_take(&in, 1) % 9;
    FUZZ_CHECK(
        hi_deque_init(&d, capacity, (int64_t)fuzz_edge(&in), &allocator) == 0);
    look(&d);
    while (in.left)
        act(&d, &in);
    while (length())
        pop(&d);
    pop(&d);
    look(&d);
    hi_deque_fini(&d);
    FUZZ_CHECK(blocks == 0);
    return 0;
}
