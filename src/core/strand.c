/* SPDX-License-Identifier: MIT
 *
 * strand.c: memory of strands.
 *
 *     unit, aligned              its middle                     unit + span
 *      v                             v                                v
 *      [ ... guard | <-- C stack     | strand, guest | frames ---> ..... ]
 *
 * One unit of address space per strand, lazily backed by memory: an idle strand
 * touches the two pages at its middle.  Units go to a pool when the strand
 * ends and come back from it; they are never unmapped, because a thief may hold
 * a ticket for a frame that is long gone.  Their memory, but for the header's
 * page, is given back.
 *
 * Locks
 *   pool.lock  all of it
 */
#include "core/strand.h"

#include <string.h>

enum {
    CLASSES = 106, /* of stacks: none, four in each doubling, HI_STACK_MOST */
    SLAB_UNITS = 8,
    HOLLOW_PIECE = 2 << 20 /* given back in one go: about 0.2 ms */
};

static struct {
    hi_lock lock;
    hi_strand *list[CLASSES]; /* by the size of their stack */
    char *slab;               /* units not used yet */
    size_t units;
} pool;

static size_t pages(size_t bytes)
{
    size_t page = hi_page_size();
    return (bytes + page - 1) / page * page;
}

/* A unit whose address is aligned to its size, out of a slab of several: side by
 * side they are one mapping to the kernel, which allows only so many. */
static char *unit_reserve(void)
{
    size_t span = HI_STRAND_SPAN;
    hi_lock_take(&pool.lock);
    if (pool.units == 0) {
        size_t n = SLAB_UNITS;
        char *p = hi_pages_reserve((n + 1) * span);
        if (!p) p = hi_pages_reserve(((n = 1) + 1) * span);
        if (p) {
            char *slab = (char *)(((uintptr_t)p + span - 1) & ~(span - 1));
            if (slab > p) hi_pages_release(p, (size_t)(slab - p));
            hi_pages_release(slab + n * span, (size_t)(p + span - slab));
            pool.slab = slab;
            pool.units = n;
        }
    }
    char *unit = NULL;
    if (pool.units) {
        unit = pool.slab;
        pool.slab += span;
        pool.units--;
    }
    hi_lock_give(&pool.lock);
    return unit;
}

/*
 * Commits a unit: all of it, or where memory is counted when it is promised
 * only what is needed now.  Returns how much there is for frames; 0: no memory.
 */
static size_t unit_commit(char *unit, size_t stack_bytes)
{
    size_t page = hi_page_size(), frames = HI_STRAND_SPAN / 2;
    char *header = unit + HI_STRAND_SPAN / 2;
    char *guard = header - stack_bytes - page;
    if (hi_pages_commit(unit, HI_STRAND_SPAN) < 0) {
        frames = HI_STRAND_COMMIT;
        if (hi_pages_commit(guard, page + stack_bytes + frames) < 0) return 0;
    }
    if (stack_bytes && hi_pages_guard(guard, page) < 0) return 0;
    return frames;
}

/* Rounded up by a quarter at most, so that there are few sizes: a strand of the
 * pool shall find somebody who can use it. */
static size_t stack_class(size_t bytes)
{
    size_t top = 1;
    if (!bytes) return 0;
    while (top <= bytes / 2)
        top *= 2;
    size_t step = pages(top / 4);
    bytes = (bytes + step - 1) / step * step;
    return bytes < HI_STACK_MOST ? bytes : HI_STACK_MOST;
}

/* Which of the lists, for a size that stack_class has rounded. */
static unsigned list_of(size_t bytes)
{
    if (!bytes) return 0;
    if (bytes == HI_STACK_MOST) return CLASSES - 1;
    unsigned log = 63 - (unsigned)__builtin_clzll(bytes);
    return 1 + 4 * log + (unsigned)(bytes >> (log - 2) & 3);
}

static hi_strand *pool_take(size_t stack_bytes)
{
    hi_strand *s = NULL;
    unsigned i = list_of(stack_bytes), end = stack_bytes ? CLASSES : 1;
    hi_lock_take(&pool.lock);
    while (i < end && !pool.list[i]) /* a larger one will do */
        i++;
    if (i < end) {
        s = pool.list[i];
        pool.list[i] = s->next;
    }
    hi_lock_give(&pool.lock);
    return s;
}

hi_strand *hi_strand_create(size_t stack_bytes)
{
    stack_bytes = stack_class(stack_bytes);
    hi_strand *s = pool_take(stack_bytes);
    if (s) return s;
    char *unit = unit_reserve();
    if (!unit) return NULL;
    size_t frames = unit_commit(unit, stack_bytes);
    if (!frames) {
        hi_pages_release(unit, HI_STRAND_SPAN); /* nobody has seen it yet */
        return NULL;
    }
    s = (hi_strand *)(void *)(unit + HI_STRAND_SPAN / 2);
    s->base = hi_strand_base(s);
    s->committed = (heist_frame *)(void *)((char *)s + frames);
    s->message.kind = HI_MESSAGE_STRAND;
    s->stack = stack_bytes ? (char *)s - stack_bytes : NULL;
    s->stack_bytes = stack_bytes;
    return s;
}

/* All that are not in the header's page.  None is open; a free slot is zero, as a
 * late thief shall find it. */
static void discard_frames(hi_strand *s)
{
    size_t page = hi_page_size();
    size_t frames = (size_t)((char *)s->committed - (char *)s);
    hi_pages_discard((char *)s + page, frames - page);
}

/* First the frames, then the stack below what it needs. */
bool hi_strand_hollow(hi_strand *s, size_t *done)
{
    size_t page = hi_page_size(), stack = 0, at = *done;
    size_t frames = (size_t)((char *)s->committed - (char *)s) - page;
    if (s->stack)
        stack = ((uintptr_t)s->context.sp & ~(page - 1)) - (uintptr_t)s->stack;
    bool first = at < frames;
    char *piece =
        first ? (char *)s + page + at : (char *)s->stack + at - frames;
    size_t rest = first ? frames - at : frames + stack - at;
    size_t bytes = rest < HOLLOW_PIECE ? rest : HOLLOW_PIECE;
    hi_pages_discard(piece, bytes);
    *done = at + bytes;
    return *done == frames + stack;
}

void hi_strand_destroy(hi_strand *s)
{
    discard_frames(s);
    if (s->stack) {
        hi_context_drop(&s->context);
        hi_pages_discard(s->stack, s->stack_bytes);
    }
    heist_store_relaxed(&s->outer, (hi_strand *)NULL); /* relaxed: hint */
    unsigned i = list_of(s->stack_bytes);
    hi_lock_take(&pool.lock);
    s->next = pool.list[i];
    pool.list[i] = s;
    hi_lock_give(&pool.lock);
}

bool hi_strand_grow(hi_strand *s, const heist_frame *f)
{
    size_t most = HI_STRAND_SPAN / 2;
    size_t used = (size_t)((char *)s->committed - (char *)s);
    size_t wanted = (size_t)((const char *)(f + 1) - (char *)s);
    if (wanted <= used) return true;
    if (wanted > most) return false;
    size_t next = 2 * used < wanted ? pages(wanted) : 2 * used;
    if (next > most) next = most;
    if (hi_pages_commit((char *)s + used, next - used) < 0) return false;
    s->committed = (heist_frame *)(void *)((char *)s + next);
    return true;
}

void hi_strand_reset(hi_strand *s, bool fresh)
{
    /* A rescuer that looked at what ran last may still be at it. */
    hi_lock_take(&s->lock);
    hi_strand_begin(s);
    heist_store_relaxed(&s->split, s->base); /* relaxed: under-lock */
    heist_store_relaxed(&s->hungry, 0);      /* relaxed: hint */
    s->mark = s->base;
    s->started = fresh ? 0 : HI_LONG_AGO;
    s->looked = s->boundary = s->woke = s->patience = 0;
    s->skip = fresh ? HI_SKIP_FIRST : 0;
    s->reach = 0;
    s->nested = 0;
    s->step = HI_STEP_FIRST;
    /* relaxed: hint */
    heist_store_relaxed(&s->hot.limit, s->base + HI_STEP_FIRST);
    /* relaxed: under-lock */
    heist_store_relaxed(&s->hot.line, s->base + (fresh ? HI_REACH_FIRST : 0));
    hi_lock_give(&s->lock);
}

void hi_strand_after_fork(void)
{
    memset(&pool, 0, sizeof pool);
}
