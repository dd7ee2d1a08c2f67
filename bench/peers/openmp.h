/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_PEERS_OPENMP_H
#define HEIST_BENCH_PEERS_OPENMP_H

/* What the two files of the peer share. */
#include "../bench.h"

extern const struct bench_algo openmp_algo;

#endif
