/* SPDX-License-Identifier: MIT */
/* oneTBB's algorithms.  Filter is a parallel_scan that counts in the first
 * pass and writes in the second; it has no search and no stable sort. */
#include "tbb.h"

#include <algorithm>
#include <cstring>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

namespace
{

using range = tbb::blocked_range<std::size_t>;

std::uint64_t add(std::uint64_t a, std::uint64_t b)
{
    return a + b;
}

std::uint64_t sum(const std::uint64_t *in, std::size_t n)
{
    return tbb_arena->execute([=] {
        return tbb::parallel_reduce(
            range(0, n), std::uint64_t{0},
            [=](const range &r, std::uint64_t s) {
                for (std::size_t i = r.begin(), end = r.end(); i < end; i++)
                    s += in[i];
                return s;
            },
            add);
    });
}

void map(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    tbb_arena->execute([=] {
        tbb::parallel_for(range(0, n), [=](const range &r) {
            for (std::size_t i = r.begin(), end = r.end(); i < end; i++)
                out[i] = bench_mapped(in[i]);
        });
    });
}

void scan(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    tbb_arena->execute([=] {
        tbb::parallel_scan(
            range(0, n), std::uint64_t{0},
            [=](const range &r, std::uint64_t s, bool last) {
                std::size_t end = r.end();
                if (last)
                    for (std::size_t i = r.begin(); i < end; i++)
                        out[i] = s += in[i];
                else
                    for (std::size_t i = r.begin(); i < end; i++)
                        s += in[i];
                return s;
            },
            add);
    });
}

std::size_t filter(std::uint64_t *out, const std::uint64_t *in, std::size_t n)
{
    return tbb_arena->execute([=] {
        return tbb::parallel_scan(
            range(0, n), std::uint64_t{0},
            [=](const range &r, std::uint64_t k, bool last) {
                std::size_t end = r.end();
                if (last)
                    for (std::size_t i = r.begin(); i < end; i++) {
                        if (bench_kept(in[i])) out[k++] = in[i];
                    }
                else
                    for (std::size_t i = r.begin(); i < end; i++)
                        k += bench_kept(in[i]);
                return k;
            },
            add);
    });
}

template <typename T, typename Less>
void sort_by(T *base, std::size_t n, Less less)
{
    tbb_arena->execute([=] { tbb::parallel_sort(base, base + n, less); });
}

void sort(std::uint64_t *base, std::size_t n)
{
    sort_by(base, n, std::less<>());
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

} // namespace

const bench_algo tbb_algo = {
    sum,  map,     scan,    filter,       nullptr,
    sort, nullptr, nullptr, sort_strings, sort_records,
};
