/* SPDX-License-Identifier: MIT */
/* oneTBB: parallel_invoke for two halves, task_group for n children,
 * parallel_reduce for loops. */
#include "tbb.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

std::unique_ptr<tbb::task_arena> tbb_arena;

namespace
{

std::unique_ptr<tbb::global_control> limit, stack;

void start(unsigned workers, const char *policy)
{
    using gc = tbb::global_control;
    if (policy) bench_die("a policy is for heist");
    limit = std::make_unique<gc>(gc::max_allowed_parallelism, workers);
    stack = std::make_unique<gc>(gc::thread_stack_size, std::size_t{256} << 20);
    tbb_arena = std::make_unique<tbb::task_arena>(static_cast<int>(workers));
}

void stop()
{
    tbb_arena.reset();
    stack.reset();
    limit.reset();
}

std::int64_t fib_of(std::int64_t n)
{
    if (n < 2) return n;
    std::int64_t left, right;
    tbb::parallel_invoke([&] { left = fib_of(n - 1); },
                         [&] { right = fib_of(n - 2); });
    return left + right;
}

std::uint64_t place(std::uint32_t all, std::uint32_t columns,
                    std::uint32_t left, std::uint32_t right)
{
    if (columns == all) return 1;
    std::uint32_t here = all & ~(columns | left | right);
    if (!here) return 0;
    std::array<std::uint64_t, 32> count;
    std::size_t n = 0;
    tbb::task_group group;
    std::uint32_t bit = here & -here;
    while (here ^= bit) {
        group.run([=, out = &count[n++]] {
            *out = place(all, columns | bit, (left | bit) << 1,
                         (right | bit) >> 1);
        });
        bit = here & -here;
    }
    std::uint64_t sum =
        place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    group.wait();
    while (n)
        sum += count[--n];
    return sum;
}

template <int mixes> std::uint64_t visit(std::uint64_t parent, std::uint64_t i);

template <int mixes, std::size_t n> std::uint64_t children(std::uint64_t state)
{
    std::array<std::uint64_t, n> count;
    tbb::task_group group;
    for (std::size_t i = 0; i + 1 < n; i++)
        group.run([=, out = &count[i]] { *out = visit<mixes>(state, i); });
    std::uint64_t nodes = visit<mixes>(state, n - 1);
    group.wait();
    for (std::size_t i = 0; i + 1 < n; i++)
        nodes += count[i];
    return nodes;
}

template <int mixes> std::uint64_t visit(std::uint64_t parent, std::uint64_t i)
{
    std::uint64_t state = uts_child(parent, i, mixes);
    return uts_is_leaf(state) ? 1 : 1 + children<mixes, UTS_CHILDREN>(state);
}

std::uint64_t sha1_visit(const sha1_tree *tree, const sha1_node &node)
{
    int n = sha1_children(tree, &node);
    if (!n) return 1;
    std::vector<std::uint64_t> count(static_cast<std::size_t>(n));
    tbb::task_group group;
    auto child = [&, tree](int i) {
        sha1_node c = sha1_child(&node, static_cast<std::uint32_t>(i));
        count[static_cast<std::size_t>(i)] = sha1_visit(tree, c);
    };
    for (int i = 0; i < n - 1; i++)
        group.run([&child, i] { child(i); });
    child(n - 1);
    group.wait();
    std::uint64_t nodes = 1;
    for (std::uint64_t c : count)
        nodes += c;
    return nodes;
}

std::int64_t sum(const bench_node *t)
{
    if (!t->right) return t->value + (t->left ? sum(t->left) : 0);
    std::int64_t left, right;
    tbb::parallel_invoke([&] { left = sum(t->left); },
                         [&] { right = sum(t->right); });
    return t->value + left + right;
}

std::uint64_t span(std::uint64_t from, std::uint64_t to)
{
    if (from == to) return 0;
    if (to - from == 1) return bench_leaf(from);
    std::uint64_t middle = from + (to - from) / 2, left, right;
    tbb::parallel_invoke([&] { left = span(from, middle); },
                         [&] { right = span(middle, to); });
    return left + right;
}

std::uint64_t fib(unsigned n)
{
    return tbb_arena->execute(
        [=] { return static_cast<std::uint64_t>(fib_of(n)); });
}

std::uint64_t nqueens(unsigned n)
{
    return tbb_arena->execute([=] { return place((1U << n) - 1, 0, 0, 0); });
}

std::uint64_t uts(std::uint64_t seed)
{
    return tbb_arena->execute(
        [=] { return 1 + children<24, UTS_ROOT_CHILDREN>(seed); });
}

std::uint64_t uts_fine(std::uint64_t seed)
{
    return tbb_arena->execute(
        [=] { return 1 + children<1, UTS_ROOT_CHILDREN>(seed); });
}

std::uint64_t uts_sha1(const sha1_tree *tree)
{
    return tbb_arena->execute(
        [=] { return sha1_visit(tree, sha1_root(tree)); });
}

std::uint64_t tree(const bench_node *t)
{
    return tbb_arena->execute(
        [=] { return static_cast<std::uint64_t>(sum(t)); });
}

std::uint64_t loop(std::uint64_t n, bool skewed)
{
    using range = tbb::blocked_range<std::uint64_t>;
    return tbb_arena->execute([=] {
        return tbb::parallel_reduce(
            range(0, n), std::uint64_t{0},
            [=](const range &r, std::uint64_t s) {
                for (std::uint64_t i = r.begin(); i != r.end(); i++)
                    s += bench_iteration(i, n, skewed);
                return s;
            },
            [](std::uint64_t a, std::uint64_t b) { return a + b; });
    });
}

std::uint64_t region(std::uint64_t leaves)
{
    return tbb_arena->execute([=] {
        if (leaves) return span(0, leaves);
        tbb::parallel_invoke([] { span(0, 0); }, [] { span(0, 0); });
        return std::uint64_t{0};
    });
}

void alone(void (*fn)(void *), void *arg)
{
    tbb_arena->execute([=] {
        span(0, BENCH_ALONE_LEAVES);
        tbb::parallel_invoke([] {}, [=] { fn(arg); });
    });
}

std::uint64_t steal(std::uint64_t *ns, std::uint64_t n)
{
    return tbb_arena->execute([=] {
        std::uint64_t stolen = 0;
        for (std::uint64_t i = 0; i < n; i++) {
            std::atomic<bool> taken{false};
            std::thread::id thief = std::this_thread::get_id();
            tbb::task_group group;
            std::uint64_t start = bench_now();
            group.run([&] {
                thief = std::this_thread::get_id();
                taken.store(true, std::memory_order_release);
            });
            while (!taken.load(std::memory_order_acquire))
                continue;
            group.wait();
            ns[i] = bench_now() - start;
            stolen += thief != std::this_thread::get_id();
        }
        return stolen;
    });
}

} // namespace

extern "C" {
const struct bench_peer bench_peer = {
    start, stop, fib,    nqueens, uts,   uts_fine,  uts_sha1,
    tree,  loop, region, alone,   steal, &tbb_algo, nullptr,
};
}
