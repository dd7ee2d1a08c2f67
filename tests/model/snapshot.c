/* SPDX-License-Identifier: MIT
 *
 * snapshot.c: the static variables of the program, as they were before the
 * first setup.  The checker's own are in a section of their own and stay.
 */
#include "engine.h"

static char *saved __attribute__((section("model_engine")));

void snapshot_take(void)
{
    size_t bytes = (size_t)(_end - __data_start);
    if (!saved) saved = engine_map(bytes);
    memcpy(saved, __data_start, bytes);
}

void snapshot_restore(void)
{
    char *low = __data_start, *own = __start_model_engine;
    char *rest = __stop_model_engine;
    memcpy(low, saved, (size_t)(own - low));
    memcpy(rest, saved + (rest - low), (size_t)(_end - rest));
}

void snapshot_each(void (*range)(const char *from, const char *to))
{
    range(__data_start, __start_model_engine);
    range(__stop_model_engine, _end);
}
