/* SPDX-License-Identifier: MIT
 *
 * sort_fault.c: sorts that get no memory leave their input alone.
 *
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#include "fault.h"

enum {
    ON_HEAP = 5000,   /* elements whose scratch is malloc'ed */
    IN_PAGES = 70000, /* elements whose scratch is mapped */
    ELEMENT_MOST = 80
};

/* The key in the upper half of the first word, the old place in the lower. */
static int by_upper(const void *a, const void *b, void *arg)
{
    uint64_t x, y;
    (void)arg;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x >> 32 > y >> 32) - (x >> 32 < y >> 32);
}

static uint64_t upper(const void *element, void *arg)
{
    uint64_t x;
    (void)arg;
    memcpy(&x, element, sizeof x);
    return x >> 32;
}

static void copy_word(void *out, const void *in, size_t index, void *arg)
{
    (void)index, (void)arg;
    memcpy(out, in, sizeof(uint64_t));
}

static void copy_words(void *out, const void *in, size_t index, void *arg)
{
    memset(out, 0, 40);
    copy_word(out, in, index, arg);
}

static void copy_upper(void *out, const void *in, size_t index, void *arg)
{
    uint64_t key = upper(in, arg);
    (void)index;
    memcpy(out, &key, sizeof key);
}

typedef struct job {
    char *base;
    size_t n, size;
    int rc;
} job;

static void stable(heist_ctx c, job *j)
{
    j->rc = heist_sort_stable(c, j->base, j->n, j->size, by_upper, NULL);
}

static void by_key(heist_ctx c, job *j)
{
    j->rc = heist_sort_by_key(c, j->base, j->n, j->size, upper, NULL);
}

static void by_cached_short(heist_ctx c, job *j)
{
    j->rc = heist_sort_by_cached_key(c, j->base, j->n, j->size, 8, copy_word,
                                     by_upper, NULL);
}

static void by_cached_long(heist_ctx c, job *j)
{
    j->rc = heist_sort_by_cached_key(c, j->base, j->n, j->size, 40, copy_words,
                                     by_upper, NULL);
}

static void by_cached_number(heist_ctx c, job *j)
{
    j->rc = heist_sort_by_cached_key(c, j->base, j->n, j->size, 8, copy_upper,
                                     heist_by_u64, NULL);
}

/* The same order, but half of the keys have a long beginning in common. */
static uint64_t far_apart(const void *element, void *arg)
{
    uint64_t key = upper(element, arg);
    return key < 500 ? key : key | UINT64_C(1) << 63;
}

static void by_far_key(heist_ctx c, job *j)
{
    j->rc = heist_sort_by_key(c, j->base, j->n, j->size, far_apart, NULL);
}

static void (*const sorts[])(heist_ctx c, job *j) = {
    stable,          by_key,         by_far_key,
    by_cached_short, by_cached_long, by_cached_number,
};

static void fill(char *base, size_t n, size_t size)
{
    uint64_t seed = test_seed;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = test_random(&seed) % 1000 << 32 | i;
        memset(base + i * size, (int)i, size);
        memcpy(base + i * size, &x, sizeof x);
    }
}

static void check_sorted(const job *j)
{
    for (size_t i = 1; i < j->n; i++) {
        uint64_t x, y;
        memcpy(&x, j->base + (i - 1) * j->size, sizeof x);
        memcpy(&y, j->base + i * j->size, sizeof y);
        CHECK(x < y); /* by key, then by old place */
    }
}

/* Fails the first call, the second, and so on; returns how often it said so. */
static int refuse_each(heist_ctx c, void (*sort)(heist_ctx c, job *j), size_t n,
                       size_t size, unsigned kinds)
{
    char *input = malloc(n * size), *base = malloc(n * size);
    int refusals = 0;
    fill(input, n, size);
    for (long nth = 1;; nth++) {
        job j = {base, n, size, 1};
        memcpy(base, input, n * size);
        fault_tally before = fault_count();
        long mapped = heist_load_relaxed(&fault.mapped);
        fault_arm(kinds, nth, FAULT_ONCE);
        sort(c, &j);
        long hits = fault_disarm();
        fault_check_nothing_left(before);
        CHECK_EQ(heist_load_relaxed(&fault.mapped), mapped);
        if (j.rc == 0)
            check_sorted(&j);
        else
            CHECK(j.rc == -ENOMEM && memcmp(base, input, n * size) == 0);
        refusals += j.rc != 0;
        if (!hits) break;
        CHECK(nth < 100);
    }
    free(input);
    free(base);
    return refusals;
}

#define EACH(i, array) \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

/* What elements are put aside in is too small for pages of its own. */
static int least_refusals(void (*sort)(heist_ctx c, job *j), unsigned kinds)
{
    return sort == stable || kinds == FAULT_MAP ? 1 : 3;
}

static void refuse_all(heist_ctx c, void *arg)
{
    static const size_t sizes[] = {8, 16, 40, ELEMENT_MOST};
    unsigned kinds = *(unsigned *)arg;
    EACH(way, sorts) EACH(i, sizes)
    {
        size_t n = kinds == FAULT_MAP ? IN_PAGES : ON_HEAP;
        if (kinds == FAULT_MAP && sizes[i] * n < 1 << 20) n *= 2;
        int refusals = refuse_each(c, sorts[way], n, sizes[i], kinds);
        CHECK(refusals >= least_refusals(sorts[way], kinds));
    }
}

static void on_one_worker(unsigned kinds, const heist_allocator *allocator)
{
    heist_runtime *rt = NULL;
    heist_config config = {.workers = 1};
    if (allocator) config.allocator = *allocator;
    CHECK_EQ(heist_start(&rt, &config), 0);
    fault_check_works(rt); /* and all of it has started */
    CHECK_EQ(heist_run(rt, refuse_all, &kinds), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(a_sort_without_heap_says_so_and_leaves_its_input_alone)
{
    on_one_worker(FAULT_HEAP, NULL);
}

TEST(a_sort_without_pages_says_so_and_leaves_its_input_alone)
{
    on_one_worker(FAULT_MAP, NULL);
}

TEST(a_sort_asks_the_allocator_of_its_runtime)
{
    on_one_worker(FAULT_HOOK, &fault_allocator);
}

/* Few enough for the stack, whatever their size. */
static void sort_few(heist_ctx c, void *arg)
{
    static const size_t sizes[] = {16, 64, 72, 300, 1024};
    (void)arg;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i], n = 2048 / size;
        char bytes[2048] HEIST_ALIGNED(64);
        for (uint64_t key = 0; key < n; key++) {
            uint64_t upper_half = (n - key) << 32;
            memcpy(bytes + key * size, &upper_half, sizeof upper_half);
        }
        fault_arm(FAULT_MEMORY, 0, FAULT_EVER_ON);
        int rc = heist_sort_stable(c, bytes, n, size, by_upper, NULL);
        CHECK_EQ(fault_disarm(), 0);
        CHECK_EQ(rc, 0);
        for (size_t k = 1; k < n; k++)
            CHECK(by_upper(bytes + (k - 1) * size, bytes + k * size, NULL) < 0);
    }
}

TEST(a_few_elements_need_no_memory)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, sort_few, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* What no machine has. */
static void impossible(heist_ctx c, void *arg)
{
    uint64_t element[4] = {1, 2, 3, 4};
    size_t n = SIZE_MAX / 32;
    (void)arg;
    CHECK_EQ(heist_sort_by_key(c, element, n, 8, upper, NULL), -ENOMEM);
    CHECK_EQ(heist_sort_by_cached_key(c, element, n, 8, 40, copy_words,
                                      by_upper, NULL),
             -ENOMEM);
    CHECK_EQ(heist_sort_stable(c, element, n, 24, by_upper, NULL), -ENOMEM);
    CHECK_EQ(element[0] + element[3], 5);
}

TEST(a_sort_of_more_than_there_can_be_fails_at_once)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, &(heist_config){.workers = 1}), 0);
    CHECK_EQ(heist_run(rt, impossible, NULL), 0);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}
