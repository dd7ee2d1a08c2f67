/* SPDX-License-Identifier: MIT */
/*
 * A graph by hand over oneTBB: atomic counts of missing predecessors over the
 * flat arrays, a task_group for what becomes ready.  The first successor is run
 * by the same task.
 */
#include "../graph.h"

#include <atomic>
#include <memory>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace
{

constexpr std::uint32_t no_node = UINT32_MAX;

std::unique_ptr<tbb::global_control> limit;
std::unique_ptr<tbb::task_arena> arena;

void start(unsigned workers, const char *policy)
{
    using gc = tbb::global_control;
    if (policy) bench_die("a policy is for heist");
    limit = std::make_unique<gc>(gc::max_allowed_parallelism, workers);
    arena = std::make_unique<tbb::task_arena>(static_cast<int>(workers));
}

void stop()
{
    arena.reset();
    limit.reset();
}

struct counted {
    const bench_graph *g;
    bench_body body;
    std::unique_ptr<std::atomic<std::uint32_t>[]> missing;
    std::vector<std::uint32_t> sources;
};

/* The last to arrive sets the count for the next run. */
bool arrive(counted &c, std::uint32_t node)
{
    auto &missing = c.missing[node];
    std::uint32_t need = bench_need(c.g, node);
    if (need == 1) return true;
    if (missing.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
    missing.store(need, std::memory_order_relaxed);
    return true;
}

template <bench_body body>
void visit(counted &c, tbb::task_group &group, std::uint32_t node)
{
    while (node != no_node) {
        bench_run_node(body, c.g, node);
        std::uint32_t next = no_node, end = c.g->after_at[node + 1];
        for (std::uint32_t k = c.g->after_at[node]; k < end; k++) {
            std::uint32_t after = c.g->after[k];
            if (!arrive(c, after)) continue;
            if (next == no_node)
                next = after;
            else
                group.run(
                    [&c, &group, after] { visit<body>(c, group, after); });
        }
        node = next;
    }
}

template <bench_body body> void pass(counted &c)
{
    arena->execute([&c] {
        tbb::task_group group;
        for (std::uint32_t source : c.sources)
            group.run([&c, &group, source] { visit<body>(c, group, source); });
        group.wait();
    });
}

void *build(const bench_graph *g, bench_body body)
{
    auto c = new counted{g, body, nullptr, {}};
    c->missing.reset(new std::atomic<std::uint32_t>[g->nodes]);
    for (std::uint32_t i = 0; i < g->nodes; i++) {
        c->missing[i].store(bench_need(g, i), std::memory_order_relaxed);
        if (!bench_need(g, i)) c->sources.push_back(i);
    }
    return c;
}

void run(void *built, std::uint64_t times)
{
    auto c = static_cast<counted *>(built);
    while (times--)
        switch (c->body) {
        case BENCH_EMPTY: pass<BENCH_EMPTY>(*c); break;
        case BENCH_850NS: pass<BENCH_850NS>(*c); break;
        case BENCH_CHECKED: pass<BENCH_CHECKED>(*c); break;
        }
}

void destroy(void *built)
{
    delete static_cast<counted *>(built);
}

const bench_graphs graphs = {build, run, destroy, nullptr, nullptr};

} // namespace

extern "C" {
const struct bench_peer bench_peer = {
    start,   stop,    nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &graphs,
};
}
