/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "scale.h"

/*
 * Large arrays of every shape, and small ones again and again, while workers come
 * and go: sorted, with everybody still there.
 */

static int by_number(const void *a, const void *b, void *arg)
{
    (void)arg;
    return heist_by_u64(a, b, NULL);
}

typedef struct job {
    uint64_t *a;
    size_t n;
    int how;
} job;

static void sort_root(heist_ctx c, void *arg)
{
    job *r = arg;
    if (r->how == 0) heist_sort_u64(c, r->a, r->n);
    if (r->how == 1) heist_sort(c, r->a, r->n, 8, by_number, NULL);
    if (r->how == 2) heist_top(c, r->a, r->n, 8, r->n, heist_by_u64, NULL);
    if (r->how == 3) heist_sort(c, r->a, r->n, 8, heist_by_u64, NULL);
    if (r->how != 4) return;
    size_t k = r->n / 3;
    heist_nth(c, r->a, r->n, 8, k, by_number, NULL);
    heist_sort(c, r->a, k, 8, by_number, NULL);
    heist_sort_u64(c, r->a + k, r->n - k);
}

static void check_round(heist_runtime *rt, input_shape shape, size_t n, int how,
                        uint64_t *seed)
{
    job r = {malloc(n * 8 + 1), n, how};
    CHECK(r.a != NULL);
    input_fill(shape, r.a, n, seed);
    for (size_t i = 0; shape == INPUT_SHAPES && i < n; i++)
        r.a[i] >>= r.a[i] % 64; /* as many of each length */
    uint64_t print = input_print(r.a, n);
    CHECK_EQ(heist_run(rt, sort_root, &r), 0);
    for (size_t i = 1; i < n; i++)
        CHECK(r.a[i - 1] <= r.a[i]);
    CHECK(input_print(r.a, n) == print);
    free(r.a);
}

TEST(arrays_of_all_sizes_and_shapes_are_sorted)
{
    static const unsigned workers[] = {1, 2, 8, 70};
    uint64_t seed = test_seed;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int w = 0; w < 4; w++) {
        heist_runtime *rt = NULL;
        CHECK_EQ(heist_start(&rt, &(heist_config){.workers = workers[w]}), 0);
        for (long i = 0; i < scaled(200); i++) {
            input_shape shape = test_random(&seed) % (INPUT_SHAPES + 1);
            uint64_t most = (uint64_t)1 << test_random(&seed) % 22;
            size_t n = (size_t)(test_random(&seed) % most);
            check_round(rt, shape, n, (int)(test_random(&seed) % 5), &seed);
        }
        CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    }
}

TEST(ten_million_numbers_are_sorted)
{
    uint64_t seed = test_seed;
    size_t n = (size_t)scaled(10000000);
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 4}), 0);
    for (int shape = 0; shape <= INPUT_SHAPES; shape++)
        check_round(rt, (input_shape)shape, n, 0, &seed);
    check_round(rt, INPUT_RANDOM, n, 1, &seed);
    check_round(rt, INPUT_FEW, n, 1, &seed);
    check_round(rt, INPUT_RANDOM, n, 4, &seed);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
