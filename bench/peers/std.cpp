/* SPDX-License-Identifier: MIT */
/* The C++ standard library: serial with 0 workers, else std::execution::par,
 * which libstdc++ builds on oneTBB. */
#include "../bench.h"

#include <algorithm>
#include <cstring>
#include <execution>
#include <memory>
#include <numeric>

#include <tbb/global_control.h>

namespace
{

std::unique_ptr<tbb::global_control> limit;
bool serial;

void start(unsigned workers, const char *policy)
{
    using gc = tbb::global_control;
    if (policy) bench_die("a policy is for heist");
    serial = !workers;
    if (serial) return;
    limit = std::make_unique<gc>(gc::max_allowed_parallelism, workers);
}

void stop()
{
    limit.reset();
}

/* Calls with the policy in front, or without one. */
template <typename Call> auto run(Call call)
{
    return serial ? call(std::execution::seq) : call(std::execution::par);
}

std::uint64_t sum(const std::uint64_t *in, std::size_t n)
{
    return run([=](auto &policy) {
        return std::reduce(policy, in, in + n, std::uint64_t{0});
    });
}

void map(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    run([=](auto &policy) {
        std::transform(policy, in, in + n, out, bench_mapped);
    });
}

void scan(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    run([=](auto &policy) { std::inclusive_scan(policy, in, in + n, out); });
}

std::size_t filter(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    return run([=](auto &policy) {
        auto last = std::copy_if(policy, in, in + n, out, bench_kept);
        return static_cast<std::size_t>(last - out);
    });
}

std::size_t find(const std::uint64_t *in, std::size_t n, std::uint64_t value)
{
    return run([=](auto &policy) {
        auto is = [=](std::uint64_t x) { return x == value; };
        auto at = std::find_if(policy, in, in + n, is);
        return static_cast<std::size_t>(at - in);
    });
}

template <typename T, typename Less>
void sort_by(T *base, std::size_t n, Less less)
{
    if (serial)
        std::sort(base, base + n, less);
    else
        std::sort(std::execution::par, base, base + n, less);
}

template <typename T, typename Less>
void stable_by(T *base, std::size_t n, Less less)
{
    if (serial)
        std::stable_sort(base, base + n, less);
    else
        std::stable_sort(std::execution::par, base, base + n, less);
}

void sort(std::uint64_t *base, std::size_t n)
{
    sort_by(base, n, std::less<>());
}

void sort_stable(std::uint64_t *base, std::size_t n)
{
    stable_by(base, n, std::less<>());
}

void sort_pairs(bench_pair *base, std::size_t n)
{
    stable_by(base, n, [](const bench_pair &a, const bench_pair &b) {
        return a.key < b.key;
    });
}

void sort_strings(const char **base, std::size_t n)
{
    sort_by(base, n,
            [](const char *a, const char *b) { return std::strcmp(a, b) < 0; });
}

void sort_records(bench_record *base, std::size_t n)
{
    sort_by(base, n, [](const bench_record &a, const bench_record &b) {
        return a.key < b.key;
    });
}

const bench_algo algo = {
    sum,  map,         scan,       filter,       find,
    sort, sort_stable, sort_pairs, sort_strings, sort_records,
};

} // namespace

extern "C" {
const struct bench_peer bench_peer = {
    start,   stop,    nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr, &algo,   nullptr,
};
}
