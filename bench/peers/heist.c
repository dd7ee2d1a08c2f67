/* SPDX-License-Identifier: MIT */
#include "../ours.h"

const struct bench_peer bench_peer = {
    .start = ours_start,
    .stop = ours_stop,
    .fib = ours_fib,
    .nqueens = ours_nqueens,
    .uts = ours_uts,
    .uts_fine = ours_uts_fine,
    .uts_sha1 = ours_uts_sha1,
    .tree = ours_tree,
    .loop = ours_loop,
    .region = ours_region,
    .alone = ours_alone,
    .steal = ours_steal,
    .algo = &ours_algo,
    .graphs = &ours_graphs,
};
