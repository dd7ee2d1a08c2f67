/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the process may read the byte, by its own map. */
static bool is_readable(const void *p)
{
    bool readable = false;
    char line[1024];
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) {
        char *rest;
        uintptr_t low = strtoul(line, &rest, 16);
        uintptr_t high = strtoul(rest + 1, &rest, 16);
        if ((uintptr_t)p >= low && (uintptr_t)p < high)
            readable = rest[1] == 'r';
    }
    fclose(f);
    return readable;
}

static size_t resident_pages(void *p, size_t bytes)
{
    size_t pages = bytes / hi_page_size(), n = 0;
    unsigned char *in_core = malloc(pages);
    CHECK(in_core != NULL);
    CHECK_EQ(mincore(p, bytes, in_core), 0);
    for (size_t i = 0; i < pages; i++)
        n += in_core[i] & 1;
    free(in_core);
    return n;
}

TEST(a_page_is_a_power_of_two)
{
    size_t page = hi_page_size();
    CHECK(page >= 4096);
    CHECK_EQ(page & (page - 1), 0);
}

TEST(a_reservation_is_address_space_and_nothing_else)
{
    size_t bytes = (size_t)1 << 30;
    char *p = hi_pages_reserve(bytes);
    CHECK(p != NULL);
    CHECK_EQ((uintptr_t)p % hi_page_size(), 0);
    CHECK(!is_readable(p));
    CHECK(!is_readable(p + bytes - 1));
    hi_pages_release(p, bytes);
}

TEST(committed_pages_are_zero_and_take_no_memory_until_touched)
{
    size_t page = hi_page_size(), bytes = 64 * page;
    char *p = hi_pages_reserve(4 * bytes);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p + bytes, bytes), 0);
    CHECK(!is_readable(p + bytes - 1));
    CHECK(!is_readable(p + 2 * bytes));
    CHECK_EQ(resident_pages(p + bytes, bytes), 0);
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(p[bytes + i], 0);
    memset(p + bytes, 1, page);
    CHECK(resident_pages(p + bytes, bytes) >= 1);
    hi_pages_release(p, 4 * bytes);
}

TEST(committing_again_keeps_what_is_there)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(4 * page);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p, page), 0);
    p[5] = 5;
    CHECK_EQ(hi_pages_commit(p, 4 * page), 0);
    CHECK_EQ(p[5], 5);
    p[4 * page - 1] = 6;
    hi_pages_release(p, 4 * page);
}

TEST(discarded_pages_give_their_memory_back_and_read_as_zero)
{
    size_t bytes = 16 * hi_page_size();
    char *p = hi_pages_reserve(bytes);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p, bytes), 0);
    memset(p, 0x5a, bytes);
    CHECK_EQ(resident_pages(p, bytes), 16);
    hi_pages_discard(p, bytes);
    CHECK_EQ(resident_pages(p, bytes), 0);
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(p[i], 0);
    p[bytes - 1] = 1;
    CHECK_EQ(p[bytes - 1], 1);
    hi_pages_release(p, bytes);
}

/* In a child process, with nobody to catch the signal. */
static bool touching_kills(volatile char *p)
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        *p = 1;
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST(a_guard_kills_who_touches_it_and_its_neighbours_live)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(4 * page);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p, 4 * page), 0);
    memset(p, 7, 4 * page);
    CHECK_EQ(hi_pages_guard(p + page, page), 0);
    CHECK(touching_kills(p + page));
    CHECK(touching_kills(p + 2 * page - 1));
    CHECK(!touching_kills(p + page - 1));
    CHECK(!touching_kills(p + 2 * page));
    CHECK_EQ(p[page - 1], 7);
    CHECK_EQ(p[2 * page], 7);
    /* It stays when the memory around it is given back. */
    hi_pages_discard(p, 4 * page);
    CHECK(touching_kills(p + page));
    CHECK_EQ(p[2 * page], 0);
    hi_pages_release(p, 4 * page);
}

TEST(a_guard_that_fails_says_so)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(page);
    CHECK(p != NULL);
    hi_pages_release(p, page);
    errno = 4711;
    CHECK_EQ(hi_pages_guard(p, page), -ENOMEM);
    CHECK_EQ(errno, 4711);
}

TEST(released_pages_are_gone)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(page);
    CHECK(p != NULL);
    CHECK_EQ(hi_pages_commit(p, page), 0);
    CHECK(is_readable(p));
    hi_pages_release(p, page);
    CHECK(!is_readable(p));
}

TEST(more_address_space_than_there_is_is_refused)
{
    errno = 4711;
    CHECK(hi_pages_reserve((size_t)1 << 60) == NULL);
    CHECK_EQ(errno, 4711);
}

/* A hole in the reservation stands for every reason the kernel may have. */
TEST(a_commit_that_fails_says_so)
{
    size_t page = hi_page_size();
    char *p = hi_pages_reserve(3 * page);
    CHECK(p != NULL);
    hi_pages_release(p + page, page);
    errno = 4711;
    CHECK_EQ(hi_pages_commit(p, 3 * page), -ENOMEM);
    CHECK_EQ(hi_pages_commit(p + page, page), -ENOMEM);
    CHECK_EQ(errno, 4711);
    CHECK_EQ(hi_pages_commit(p + 2 * page, page), 0);
    p[2 * page] = 1;
    hi_pages_release(p, page);
    hi_pages_release(p + 2 * page, page);
}
