/* SPDX-License-Identifier: MIT
 *
 * quick.c: loops that are over at once.
 */
#include "fork/quick.h"

#include "core/strand.h"

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
