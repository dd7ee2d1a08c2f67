/* SPDX-License-Identifier: MIT
 *
 * scratch.c: memory of parallel functions.
 *
 * Large pieces come from the system in huge pages: an algorithm that fills its
 * scratch once would spend a good part of its time in page faults.
 */
#include "fork/scratch.h"

#include "core/runtime.h"
#include "queue/memory.h"

enum {
    LARGE = 1 << 20 /* bytes from which pages of its own pay */
};

static const heist_allocator *allocator_of(heist_ctx c)
{
    /* relaxed: own-field */
    const hi_worker *w = heist_load_relaxed(&hi_strand_from(c.strand)->worker);
    return w->allocator.alloc ? &w->allocator : NULL;
}

void *hi_scratch_get(heist_ctx c, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    const heist_allocator *a = allocator_of(c);
    if (!a && bytes >= LARGE) return hi_pages_large(bytes);
    return hi_alloc_raw(a, bytes, HEIST_LINE);
}

void hi_scratch_put(heist_ctx c, void *p, size_t count, size_t size)
{
    const heist_allocator *a = allocator_of(c);
    size_t bytes = count * size;
    if (!p) return;
    if (!a && bytes >= LARGE)
        hi_pages_release(p, bytes);
    else
        hi_free(a, p, bytes);
}

void hi_quick_note(heist_ctx c, void (*body)(void), size_t iterations,
                   unsigned times)
{
    hi_strand *s = hi_strand_from(c.strand);
    s->quick_body = body;
    s->quick_iterations = iterations;
    s->quick_times = times;
}

bool hi_quick_again(heist_ctx c, void (*body)(void), size_t iterations)
{
    hi_strand *s = hi_strand_from(c.strand);
    if (!s->quick_times || s->quick_body != body ||
        iterations > s->quick_iterations)
        return false;
    s->quick_times--;
    return true;
}
