/* SPDX-License-Identifier: MIT */
#include "algo/permute.h"
#include "inputs.h"

typedef enum cycles {
    NONE,
    PAIRS,    /* neighbours change places */
    MIRROR,   /* all are turned round */
    ROTATION, /* one cycle, along the array */
    THREES,
    ENDS, /* the first and the last change places, a cycle that is met late */
    RANDOM,
    KINDS
} cycles;

static void fill_from(cycles kind, uint64_t *from, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        size_t three = i / 3 * 3;
        from[i] = i;
        if (kind == PAIRS && (i ^ 1) < n) from[i] = i ^ 1;
        if (kind == MIRROR) from[i] = n - 1 - i;
        if (kind == ROTATION) from[i] = (i + 1) % n;
        if (kind == THREES && three + 3 <= n) from[i] = three + (i + 1) % 3;
    }
    for (size_t i = n; kind == RANDOM && i > 1; i--) {
        size_t other = test_random(seed) % i;
        uint64_t x = from[i - 1];
        from[i - 1] = from[other];
        from[other] = x;
    }
    if (kind != ENDS || n < 5) return;
    from[1] = n - 2;
    from[n - 2] = 1;
}

/* The bytes of the element that was at that index. */
static void put(char *element, size_t size, uint64_t index)
{
    for (size_t i = 0; i < size; i++) {
        uint64_t seed = index + i / 8;
        element[i] = (char)(test_random(&seed) >> (i % 8 * 8));
    }
}

static void check_one(heist_ctx c, cycles kind, size_t n, size_t size,
                      uint64_t *seed)
{
    uint64_t *from = malloc(n * sizeof *from);
    uint64_t *wanted = malloc(n * sizeof *wanted);
    char *base = malloc((n + 1) * size), *element = malloc(size);
    fill_from(kind, from, n, seed);
    memcpy(wanted, from, n * sizeof *from);
    for (size_t i = 0; i <= n; i++)
        put(base + i * size, size, i);
    CHECK_EQ(hi_permute(c, base, n, size, from), 0);
    for (size_t i = 0; i <= n; i++) { /* what comes after them stays */
        put(element, size, i < n ? wanted[i] : n);
        CHECK(memcmp(base + i * size, element, size) == 0);
        if (i < n) CHECK_EQ(from[i], i);
    }
    free(from);
    free(wanted);
    free(base);
    free(element);
}

static const size_t sizes[] = {1, 3, 4, 8, 16, 40, 64, 65, 300};

#define EACH(i, array) \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static void few(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH(i, sizes)
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t n = 1; n <= 70; n++)
            check_one(c, (cycles)kind, n, sizes[i], &seed);
}

TEST(a_few_elements_of_any_size_come_to_their_places)
{
    input_on_all_workers(few, NULL);
}

static void many(heist_ctx c, void *arg)
{
    uint64_t seed = test_seed;
    (void)arg;
    EACH(i, sizes)
    for (int kind = 0; kind < KINDS; kind++)
        check_one(c, (cycles)kind,
                  (sizes[i] < 16 ? 33000 : 3000) + test_random(&seed) % 5000,
                  sizes[i], &seed);
    for (int kind = 0; kind < KINDS; kind++)
        check_one(c, (cycles)kind, 50000, 64, &seed);
}

TEST(many_elements_come_to_their_places_whatever_the_cycles)
{
    input_on_all_workers(many, NULL);
}
