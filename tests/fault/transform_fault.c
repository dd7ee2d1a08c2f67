/* SPDX-License-Identifier: MIT
 *
 * transform_fault.c: transforms and scans without memory.  They do their work all
 * the same, or say -ENOMEM and leave everything as it was.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <unistd.h>

enum {
    N = 60000,
    FEW = 300, /* of the large ones */
    CALLS = 8  /* of an allocator: the first, ... the last that fails */
};

typedef struct large {
    uint64_t value;
    char rest[312];
} large;

static uint64_t numbers[N], out[N], wanted[N];
static large larges[FEW];
static heist_part parts[N];

/* Now and then one that takes long, so that others come to help. */
static bool is_odd(const void *element, void *arg)
{
    uint64_t value = *(const uint64_t *)element;
    (void)arg;
    if (value % 4096 == 1) usleep(200);
    return value & 1;
}

static uint64_t low_bits(const void *element, void *arg)
{
    return is_odd(element, arg) + *(const uint64_t *)element % 64;
}

static void plus(void *left, const void *right, void *arg)
{
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void set_numbers(void)
{
    uint64_t seed = test_seed;
    for (size_t i = 0; i < N; i++)
        numbers[i] = test_random(&seed);
}

/* --- what is done ------------------------------------------------------------------ */

/* Arms, calls, disarms, checks.  Returns whether a call for memory failed. */
typedef bool attempt_fn(heist_ctx c, long n, fault_how how);

static bool filter(heist_ctx c, long n, fault_how how)
{
    set_numbers();
    size_t kept = 0;
    for (size_t i = 0; i < N; i++)
        if (numbers[i] & 1) wanted[kept++] = numbers[i];
    fault_arm(FAULT_MEMORY, n, how);
    ptrdiff_t rc = heist_filter(c, numbers, numbers, N, 8, is_odd, NULL);
    bool hit = fault_disarm() > 0;
    CHECK_EQ(rc, kept);
    CHECK(memcmp(numbers, wanted, kept * 8) == 0);
    return hit;
}

static bool unique(heist_ctx c, long n, fault_how how)
{
    for (size_t i = 0; i < N; i++)
        numbers[i] = i / 3;
    fault_arm(FAULT_MEMORY, n, how);
    ptrdiff_t rc = heist_unique(c, numbers, numbers, N, 8, NULL, NULL);
    bool hit = fault_disarm() > 0;
    CHECK_EQ(rc, N / 3);
    for (size_t i = 0; i < N / 3; i++)
        CHECK_EQ(numbers[i], i);
    return hit;
}

static bool partition(heist_ctx c, long n, fault_how how)
{
    set_numbers();
    size_t kept = 0, others = 0;
    for (size_t i = 0; i < N; i++)
        kept += numbers[i] & 1;
    for (size_t i = 0, k = 0; i < N; i++)
        wanted[numbers[i] & 1 ? k++ : kept + others++] = numbers[i];
    fault_arm(FAULT_MEMORY, n, how);
    ptrdiff_t rc = heist_partition(c, numbers, numbers, N, 8, is_odd, NULL);
    bool hit = fault_disarm() > 0;
    if (rc < 0) {
        CHECK(hit);
        CHECK_EQ(rc, -ENOMEM);
        memcpy(out, numbers, sizeof out);
        set_numbers();
        CHECK(memcmp(out, numbers, sizeof out) == 0);
    } else {
        CHECK_EQ(rc, kept);
        CHECK(memcmp(numbers, wanted, sizeof wanted) == 0);
    }
    return hit;
}

static bool partition_elsewhere(heist_ctx c, long n, fault_how how)
{
    set_numbers();
    fault_arm(FAULT_MEMORY, n, how);
    ptrdiff_t rc = heist_partition(c, out, numbers, N, 8, is_odd, NULL);
    bool hit = fault_disarm() > 0;
    CHECK(rc >= 0);
    for (ptrdiff_t i = 0; i < N; i++)
        CHECK_EQ(out[i] & 1, i < rc);
    return hit;
}

static bool histogram(heist_ctx c, long n, fault_how how)
{
    size_t counts[65] = {0}, sum = 0;
    set_numbers();
    fault_arm(FAULT_MEMORY, n, how);
    CHECK_EQ(heist_histogram(c, counts, 65, numbers, N, 8, low_bits, NULL), 0);
    bool hit = fault_disarm() > 0;
    for (int i = 0; i < 65; i++)
        sum += counts[i];
    CHECK_EQ(sum, N);
    return hit;
}

static bool flatten(heist_ctx c, long n, fault_how how)
{
    set_numbers();
    for (size_t i = 0; i < N; i++)
        parts[i] = (heist_part){&numbers[i], 1};
    memset(out, 0, sizeof out);
    fault_arm(FAULT_MEMORY, n, how);
    CHECK_EQ(heist_flatten(c, out, parts, N, 8, NULL), N);
    bool hit = fault_disarm() > 0;
    CHECK(memcmp(out, numbers, sizeof out) == 0);
    return hit;
}

static bool scan_numbers(heist_ctx c, long n, fault_how how)
{
    uint64_t sum = 0;
    set_numbers();
    fault_arm(FAULT_MEMORY, n, how);
    CHECK_EQ(heist_scan_u64(c, out, numbers, N, HEIST_INCLUSIVE), 0);
    bool hit = fault_disarm() > 0;
    for (size_t i = 0; i < N; i++) {
        sum += numbers[i];
        CHECK(out[i] == sum);
    }
    return hit;
}

static bool scan_large(heist_ctx c, long n, fault_how how)
{
    large total = {.value = 7};
    for (size_t i = 0; i < FEW; i++)
        larges[i].value = i;
    fault_arm(FAULT_MEMORY, n, how);
    int rc = heist_scan(c, larges, larges, FEW, sizeof *larges, plus, &total,
                        NULL, HEIST_EXCLUSIVE);
    bool hit = fault_disarm() > 0;
    CHECK(rc == 0 || (hit && rc == -ENOMEM));
    CHECK_EQ(total.value, rc ? 7 : 7 + FEW * (FEW - 1) / 2);
    for (size_t i = 0; i < FEW; i++)
        CHECK_EQ(larges[i].value,
                 rc || !i ? (rc ? i : 7) : 7 + i * (i - 1) / 2);
    return hit;
}

/* --- and without what --------------------------------------------------------------- */

typedef struct order {
    attempt_fn *attempt;
    long n;
    fault_how how;
    bool hit;
} order;

static void region(heist_ctx c, void *arg)
{
    order *o = arg;
    o->hit = o->attempt(c, o->n, o->how);
}

/* True: something failed at least once. */
static bool attempts(heist_runtime *rt, attempt_fn *attempt)
{
    bool any = false;
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1; n <= CALLS; n++) {
            order o = {attempt, n, (fault_how)how, false};
            CHECK_EQ(heist_run(rt, region, &o), 0);
            any |= o.hit;
        }
    }
    return any;
}

static void done_or_refused_by(attempt_fn *attempt, heist_config *config)
{
    heist_runtime *rt = NULL;
    CHECK_EQ(heist_start(&rt, config), 0);
    fault_check_works(rt); /* what the calling thread keeps is there now */
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    fault_tally before = fault_count();
    CHECK_EQ(heist_start(&rt, config), 0);
    /* A histogram asks for memory only when somebody comes to help. */
    CHECK(attempts(rt, attempt) || attempt == histogram);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    fault_check_nothing_left(before);
}

static void done_or_refused(attempt_fn *attempt)
{
    for (unsigned workers = 1; workers <= 8; workers += 7) {
        heist_config config = {.workers = workers};
        done_or_refused_by(attempt, &config);
        config.allocator = fault_allocator;
        done_or_refused_by(attempt, &config);
    }
}

TEST(a_filter_in_place_needs_no_memory)
{
    done_or_refused(filter);
}

TEST(unique_in_place_needs_no_memory)
{
    done_or_refused(unique);
}

TEST(a_partition_in_place_is_done_or_refused)
{
    done_or_refused(partition);
}

TEST(a_partition_elsewhere_needs_no_memory)
{
    done_or_refused(partition_elsewhere);
}

TEST(a_histogram_needs_no_memory)
{
    done_or_refused(histogram);
}

TEST(flatten_needs_no_memory)
{
    done_or_refused(flatten);
}

TEST(a_scan_of_numbers_needs_no_memory)
{
    done_or_refused(scan_numbers);
}

TEST(a_scan_of_large_elements_in_place_is_done_or_refused)
{
    done_or_refused(scan_large);
}
