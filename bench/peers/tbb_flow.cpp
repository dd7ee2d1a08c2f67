/* SPDX-License-Identifier: MIT */
/* oneTBB's flow graph: a continue_node per task. */
#include "../graph.h"

#include <malloc.h>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace
{

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

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

std::size_t allocated()
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

struct flow {
    tbb::flow::graph graph; /* belongs to the arena that it was made in */
    std::vector<node> nodes;
    std::vector<node *> sources;
    std::size_t bytes;
};

template <bench_body body> void add_nodes(flow &f, const bench_graph *g)
{
    for (std::uint32_t i = 0; i < g->nodes; i++)
        f.nodes.emplace_back(f.graph, [=](const tbb::flow::continue_msg &) {
            bench_run_node(body, g, i);
        });
}

flow *build_here(const bench_graph *g, bench_body body)
{
    std::size_t before = allocated();
    auto f = std::make_unique<flow>();
    f->nodes.reserve(g->nodes);
    switch (body) {
    case BENCH_EMPTY: add_nodes<BENCH_EMPTY>(*f, g); break;
    case BENCH_850NS: add_nodes<BENCH_850NS>(*f, g); break;
    case BENCH_CHECKED: add_nodes<BENCH_CHECKED>(*f, g); break;
    }
    for (std::uint32_t k = 0; k < g->edges; k++)
        tbb::flow::make_edge(f->nodes[g->edge[k].from],
                             f->nodes[g->edge[k].to]);
    for (std::uint32_t i = 0; i < g->nodes; i++)
        if (!bench_need(g, i)) f->sources.push_back(&f->nodes[i]);
    f->bytes = allocated() - before;
    return f.release();
}

void *build(const bench_graph *g, bench_body body)
{
    return arena->execute([=] { return build_here(g, body); });
}

void run(void *built, std::uint64_t times)
{
    auto f = static_cast<flow *>(built);
    while (times--)
        arena->execute([=] {
            for (node *source : f->sources)
                source->try_put(tbb::flow::continue_msg());
            f->graph.wait_for_all();
        });
}

void destroy(void *built)
{
    arena->execute([=] { delete static_cast<flow *>(built); });
}

/* Without what runs keep in pools. */
std::size_t bytes(void *built)
{
    return static_cast<flow *>(built)->bytes;
}

const bench_graphs graphs = {build, run, destroy, bytes, nullptr};

} // namespace

extern "C" {
const struct bench_peer bench_peer = {
    start,   stop,    nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &graphs,
};
}
