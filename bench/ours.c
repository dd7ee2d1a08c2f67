/* SPDX-License-Identifier: MIT */
/* The one runtime that the heist side of the benchmarks runs in. */
#include "ours.h"

#include <string.h>

heist_runtime *ours_runtime;

static heist_exposure exposure_of(const char *policy)
{
    if (!policy || !strcmp(policy, "on-demand")) return HEIST_ON_DEMAND;
    if (!strcmp(policy, "quantum")) return HEIST_QUANTUM;
    if (!strcmp(policy, "eager")) return HEIST_EAGER;
    bench_die("policies: on-demand, quantum, eager");
}

void ours_start(unsigned workers, const char *policy)
{
    heist_config config = {
        .workers = workers,
        .exposure = exposure_of(policy),
        /* T3L is 17,844 levels deep; untouched stack costs nothing. */
        .stack_bytes = (size_t)32 << 20,
    };
    if (heist_start(&ours_runtime, &config) < 0)
        bench_die("heist does not start");
}

void ours_stop(void)
{
    if (heist_stop(ours_runtime, HEIST_FOREVER) < 0) bench_die("heist runs on");
}
