/* SPDX-License-Identifier: MIT
 *
 * sift.c: clearing away the tickets in a deque that nobody needs.
 *
 * A frame taken back leaves its ticket behind if something lies above it, and strands
 * that wake each other would heap up ever more of them.
 */
#include "core/frame.h"
#include "core/runtime.h"
#include "queue/memory.h"

/*
 * Is this item, with all newer ones seen before it, needed?  Of a frame that is not
 * exposed no ticket is, of one that is only the newest: the exposed frames of a strand
 * were exposed from the lowest up, so going back in time they come from the highest
 * down.  A ticket at or above one of its strand that was kept is left over.
 */
static bool is_needed(uintptr_t item)
{
    if (!hi_ticket_is_frame(item)) return true;
    heist_frame *f = hi_ticket_frame(item);
    hi_strand *s = hi_strand_of(f);
    if (f >= s->sifted || !hi_frame_is_exposed(f)) return false;
    s->sifted = f;
    return true;
}

/* Takes all items out of the deque, newest first; how many of them are needed.  There
 * were `most`, and others only take some. */
static size_t pop_needed(hi_worker *w, uintptr_t *items, size_t most)
{
    size_t n = 0, needed = 0;
    while (n < most && (items[n] = hi_deque_pop(&w->deque)) != 0)
        n++;
    for (size_t i = 0; i < n; i++) {
        if (!hi_ticket_is_frame(items[i])) continue;
        hi_strand *s = hi_strand_of(hi_ticket_frame(items[i]));
        s->sifted = hi_strand_end(s);
    }
    for (size_t i = 0; i < n; i++)
        if (is_needed(items[i])) items[needed++] = items[i];
    return needed;
}

void hi_worker_sift(hi_worker *w)
{
    size_t n = hi_deque_length(&w->deque), bytes = n * sizeof(uintptr_t);
    uintptr_t *items = NULL;
    if (n && !(items = hi_alloc_raw(&w->allocator, bytes, HEIST_LINE)))
        return; /* another time */
    w->buried = 0;
    size_t needed = pop_needed(w, items, n);
    for (size_t i = needed; i-- > 0;) { /* there is room */
        if (hi_ticket_is_task(items[i]))
            hi_worker_push_task(w, (hi_task *)items[i]);
        else
            hi_deque_push(&w->deque, items[i]);
    }
    hi_free(&w->allocator, items, bytes);
    /* While they were in our hands nobody else could see them. */
    if (needed) hi_sleep_post(w->rt);
}
