/* SPDX-License-Identifier: MIT */
#include "../ours.h"

static void start(unsigned workers, const char *policy)
{
    if (workers || policy) bench_die("serial means 0 workers and no policy");
}

static void stop(void)
{
}

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .fib = serial_fib,
    .nqueens = serial_nqueens,
    .uts = serial_uts,
    .uts_fine = serial_uts_fine,
    .uts_sha1 = serial_uts_sha1,
    .tree = serial_tree,
    .loop = serial_loop,
    .region = serial_region,
    .alone = serial_alone,
    .algo = &serial_algo,
    .graphs = &serial_graphs,
};
