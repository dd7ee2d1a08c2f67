/* SPDX-License-Identifier: MIT */
/*
 * OpenMP, for gcc's runtime (gomp) and for clang's (libomp): tasks for
 * recursion, a guided loop for loops.
 */
#include "openmp.h"

#include <omp.h>
#include <pthread.h>

static void start(unsigned workers, const char *policy)
{
    if (policy) bench_die("a policy is for heist");
    omp_set_dynamic(0);
    omp_set_num_threads((int)workers);
}

static void stop(void)
{
}

static int64_t fib_of(int64_t n)
{
    int64_t left, right;
    if (n < 2) return n;
#pragma omp task shared(right) firstprivate(n)
    right = fib_of(n - 2);
    left = fib_of(n - 1);
#pragma omp taskwait
    return left + right;
}

static uint64_t place(uint32_t all, uint32_t columns, uint32_t left,
                      uint32_t right)
{
    if (columns == all) return 1;
    uint32_t here = all & ~(columns | left | right);
    if (!here) return 0;
    uint64_t count[32];
    int n = 0;
    uint32_t bit = here & -here;
    while (here ^= bit) {
        uint64_t *out = &count[n++];
#pragma omp task firstprivate(all, columns, left, right, bit, out)
        *out = place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        bit = here & -here;
    }
    uint64_t sum =
        place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
#pragma omp taskwait
    while (n)
        sum += count[--n];
    return sum;
}

static uint64_t visit(uint64_t parent, uint64_t i, int mixes);

static uint64_t children(uint64_t state, uint64_t n, int mixes, uint64_t *count)
{
    for (uint64_t i = 0; i + 1 < n; i++) {
        uint64_t *out = &count[i];
#pragma omp task firstprivate(state, i, mixes, out)
        *out = visit(state, i, mixes);
    }
    uint64_t nodes = visit(state, n - 1, mixes);
#pragma omp taskwait
    for (uint64_t i = 0; i + 1 < n; i++)
        nodes += count[i];
    return nodes;
}

static uint64_t visit(uint64_t parent, uint64_t i, int mixes)
{
    uint64_t state = uts_child(parent, i, mixes);
    uint64_t count[UTS_CHILDREN];
    if (uts_is_leaf(state)) return 1;
    return 1 + children(state, UTS_CHILDREN, mixes, count);
}

static uint64_t sha1_visit(const struct sha1_tree *tree,
                           const struct sha1_node *node)
{
    int n = sha1_children(tree, node);
    if (!n) return 1;
    uint64_t count[n];
    for (int i = 0; i < n - 1; i++) {
        uint64_t *out = &count[i];
#pragma omp task firstprivate(tree, node, i, out)
        {
            struct sha1_node child = sha1_child(node, (uint32_t)i);
            *out = sha1_visit(tree, &child);
        }
    }
    struct sha1_node child = sha1_child(node, (uint32_t)n - 1);
    uint64_t nodes = 1 + sha1_visit(tree, &child);
#pragma omp taskwait
    for (int i = 0; i < n - 1; i++)
        nodes += count[i];
    return nodes;
}

static int64_t sum(const struct bench_node *t)
{
    if (!t->right) return t->value + (t->left ? sum(t->left) : 0);
    int64_t left, right;
#pragma omp task shared(right) firstprivate(t)
    right = sum(t->right);
    left = sum(t->left);
#pragma omp taskwait
    return t->value + left + right;
}

static uint64_t span(uint64_t from, uint64_t to)
{
    if (from == to) return 0;
    if (to - from == 1) return bench_leaf(from);
    uint64_t middle = from + (to - from) / 2, left, right;
#pragma omp task shared(right) firstprivate(middle, to)
    right = span(middle, to);
    left = span(from, middle);
#pragma omp taskwait
    return left + right;
}

/* One thread starts, the others take tasks while they wait for it. */
static uint64_t fib(unsigned n)
{
    int64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = fib_of(n);
    return (uint64_t)r;
}

static uint64_t nqueens(unsigned n)
{
    uint64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = place((1U << n) - 1, 0, 0, 0);
    return r;
}

static uint64_t uts(uint64_t seed)
{
    static uint64_t count[UTS_ROOT_CHILDREN];
    uint64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = 1 + children(seed, UTS_ROOT_CHILDREN, 24, count);
    return r;
}

static uint64_t uts_fine(uint64_t seed)
{
    static uint64_t count[UTS_ROOT_CHILDREN];
    uint64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = 1 + children(seed, UTS_ROOT_CHILDREN, 1, count);
    return r;
}

static uint64_t uts_sha1(const struct sha1_tree *tree)
{
    uint64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    {
        struct sha1_node root = sha1_root(tree);
        r = sha1_visit(tree, &root);
    }
    return r;
}

static uint64_t tree(const struct bench_node *t)
{
    int64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = sum(t);
    return (uint64_t)r;
}

static uint64_t loop(uint64_t n, bool skewed)
{
    uint64_t r = 0;
#pragma omp parallel for schedule(guided) reduction(+ : r)
    for (uint64_t i = 0; i < n; i++)
        r += bench_iteration(i, n, skewed);
    return r;
}

static uint64_t two_nothings(void)
{
    uint64_t left, right;
#pragma omp task shared(right)
    right = span(0, 0);
    left = span(0, 0);
#pragma omp taskwait
    return left + right;
}

static uint64_t region(uint64_t leaves)
{
    uint64_t r = 0;
#pragma omp parallel shared(r)
#pragma omp single
    r = leaves ? span(0, leaves) : two_nothings();
    return r;
}

static void alone(void (*fn)(void *arg), void *arg)
{
#pragma omp parallel
#pragma omp single
    {
        span(0, BENCH_ALONE_LEAVES);
        fn(arg);
    }
}

static uint64_t steal(uint64_t *ns, uint64_t n)
{
    uint64_t stolen = 0;
#pragma omp parallel shared(stolen)
#pragma omp single
    for (uint64_t i = 0; i < n; i++) {
        pthread_t thief = pthread_self();
        int taken = 0;
        uint64_t from = bench_now();
#pragma omp task shared(thief, taken)
        {
            thief = pthread_self();
            __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
        }
        while (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE))
            continue;
#pragma omp taskwait
        ns[i] = bench_now() - from;
        stolen += !pthread_equal(thief, pthread_self());
    }
    return stolen;
}

const struct bench_peer bench_peer = {
    .start = start,
    .stop = stop,
    .fib = fib,
    .nqueens = nqueens,
    .uts = uts,
    .uts_fine = uts_fine,
    .uts_sha1 = uts_sha1,
    .tree = tree,
    .loop = loop,
    .region = region,
    .alone = alone,
    .steal = steal,
    .algo = &openmp_algo,
};
