/* SPDX-License-Identifier: MIT */
#ifndef HEIST_TEST_H
#define HEIST_TEST_H

/*
 * A test is a function whose name is the sentence it proves:
 *
 *     TEST(steal_takes_the_oldest)
 *     {
 *         CHECK(hi_deque_steal(&d, &item) == HI_STEAL_TAKEN);
 *         CHECK_EQ(item, 1);
 *     }
 *
 * A file of tests is a program: no arguments run them all, arguments run those
 * whose names contain one of them.  HEIST_TEST_SEED sets test_seed, which is
 * printed whenever a test fails.  Exit status 77 means skipped.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEST_MAX = 128
};

static struct {
    const char *name;
    void (*run)(void);
} test_list[TEST_MAX];

static int test_count;
static const char *test_current;
static uint64_t test_seed;

#define TEST(sentence)                                                 \
    static void sentence(void);                                        \
    __attribute__((constructor)) static void test_add_##sentence(void) \
    {                                                                  \
        test_list[test_count].name = #sentence;                        \
        test_list[test_count++].run = sentence;                        \
    }                                                                  \
    static void sentence(void)

#define CHECK(cond) \
    ((cond) ? (void)0 : test_fail(__FILE__, __LINE__, #cond, 0, 0, 0))

#define CHECK_EQ(got, wanted)                                             \
    test_equal(__FILE__, __LINE__, #got " == " #wanted, (long long)(got), \
               (long long)(wanted))

static inline void test_fail(const char *file, int line, const char *what,
                             int values, long long got, long long wanted)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: not true: %s", file, line, test_current, what);
    if (values) fprintf(stderr, " (got %lld, wanted %lld)", got, wanted);
    fprintf(stderr, "\nHEIST_TEST_SEED=%llu\n", (unsigned long long)test_seed);
    fflush(stderr);
    _Exit(1);
}

static inline void test_equal(const char *file, int line, const char *what,
                              long long got, long long wanted)
{
    if (got != wanted) test_fail(file, line, what, 1, got, wanted);
}

/* splitmix64: the tests' own numbers, from test_seed unless told otherwise. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Under tools that cannot follow the child of a fork() among busy threads. */
static inline int test_cannot_fork(void)
{
    if (!getenv("HEIST_NO_FORK")) return 0;
    printf("skipped, no fork() here: ");
    return 1;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("HEIST_TEST_SEED");
    test_seed = seed ? strtoull(seed, NULL, 0) : 1;
    int ran = 0;
    for (int i = 0; i < test_count; i++) {
        int wanted = argc == 1;
        for (int a = 1; a < argc; a++)
            wanted |= strstr(test_list[i].name, argv[a]) != NULL;
        if (!wanted) continue;
        test_current = test_list[i].name;
        test_list[i].run();
        printf("ok  %s\n", test_current);
        fflush(stdout);
        ran++;
    }
    if (!ran) fprintf(stderr, "no test of that name\n");
    return ran ? 0 : 2;
}

#endif
