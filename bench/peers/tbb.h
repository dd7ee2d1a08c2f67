/* SPDX-License-Identifier: MIT */
#ifndef HEIST_BENCH_PEERS_TBB_H
#define HEIST_BENCH_PEERS_TBB_H

/* What the two files of the peer share. */
#include "../bench.h"

#include <memory>

#include <tbb/task_arena.h>

extern std::unique_ptr<tbb::task_arena> tbb_arena;
extern const bench_algo tbb_algo;

#endif
