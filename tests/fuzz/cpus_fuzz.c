/* SPDX-License-Identifier: MIT
 *
 * The readers of /proc and /sys/fs/cgroup, fed with any bytes at all.  The
 * files are in the input, one after the other with a byte 0xff between them:
 * cgroup, mountinfo, cpu.max, cpu.cfs_quota_us, cpu.cfs_period_us.  Whatever
 * they say, the result makes sense and nothing stays open.
 */
#define _GNU_SOURCE 1
#include "fuzz.h"
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum {
    FILES = 5,
    FD = 1000 /* of the first file */
};

static const char *const names[FILES] = {
    "/proc/self/cgroup", "/proc/self/mountinfo", "/cpu.max",
    "/cpu.cfs_quota_us", "/cpu.cfs_period_us"};

static struct {
    const uint8_t *data;
    size_t size, at;
    bool open;
} files[FILES];

static unsigned opened, interrupted;

static int fuzz_open(const char *path, int flags)
{
    FUZZ_CHECK(flags & O_CLOEXEC);
    size_t n = strlen(path);
    opened++;
    for (int i = 0; i < FILES; i++) {
        size_t k = strlen(names[i]);
        if (n < k || strcmp(path + n - k, names[i]) != 0) continue;
        FUZZ_CHECK(!files[i].open);
        if (!files[i].size) break;
        files[i].open = true;
        files[i].at = 0;
        return FD + i;
    }
    errno = ENOENT;
    return -1;
}

/* As a file may: a signal first, then in pieces. */
static ssize_t fuzz_read(int fd, void *to, size_t size)
{
    int i = fd - FD;
    FUZZ_CHECK(i >= 0 && i < FILES && files[i].open);
    if (size && i < 2 && interrupted++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    size_t n = files[i].size - files[i].at;
    if (n > size) n = size;
    if (n > 300 && i < 2) n = 300;
    memcpy(to, files[i].data + files[i].at, n);
    files[i].at += n;
    return (ssize_t)n;
}

static int fuzz_close(int fd)
{
    FUZZ_CHECK(files[fd - FD].open);
    files[fd - FD].open = false;
    return 0;
}

#define open  fuzz_open
#define read  fuzz_read
#define close fuzz_close
#include "platform/cpus.c"
#undef open
#undef read
#undef close

static void split(const uint8_t *data, size_t size)
{
    memset(files, 0, sizeof files);
    for (int i = 0; i < FILES && size; i++) {
        const uint8_t *end = memchr(data, 0xff, size);
        if (!end || i == FILES - 1) end = data + size;
        files[i].data = data;
        files[i].size = (size_t)(end - data);
        size -= files[i].size + (end < data + size);
        data = end + 1;
    }
}

/* What the parsers do in place, on a copy of their own so that a step beyond
 * its end is seen. */
static void check_parsers(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    membership me = {.v2 = "", .v1 = ""};
    mount m;
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';
    if (parse_mount(copy, &m)) {
        FUZZ_CHECK(m.root[0] == '/' && m.point[0] == '/');
        const char *below = below_mount("/a/b", m.root);
        FUZZ_CHECK(!below || strlen(below) <= 4);
    }
    memcpy(copy, data, size);
    parse_membership(&me, copy);
    FUZZ_CHECK(!me.v2[0] || me.v2[0] == '/');
    FUZZ_CHECK(!me.v1[0] || me.v1[0] == '/');
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hi_cpus cpus;
    split(data, size);
    opened = interrupted = 0;
    errno = 42;
    hi_cpus_read(&cpus, "");
    FUZZ_CHECK(errno == 42);
    for (int i = 0; i < FILES; i++)
        FUZZ_CHECK(!files[i].open);
    FUZZ_CHECK(memchr(cpus.quota_from, 0, sizeof cpus.quota_from) != NULL);
    FUZZ_CHECK((cpus.quota > 0) == (cpus.quota_from[0] != '\0'));
    FUZZ_CHECK(cpus.workers >= 1 && cpus.workers <= cpus.mask);
    FUZZ_CHECK(!cpus.quota || cpus.workers <= cpus.quota);
    check_parsers(data, size);
    return 0;
}

#define SAMPLE                                                                 \
    "0::/user/app\n4:cpu,cpuacct:/old\n\xff"                                   \
    "30 21 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n"           \
    "33 21 0:29 /old /sys/fs/cgroup/cpu\\040x rw - cgroup cgroup rw,cpu\n\xff" \
    "150000 100000\n\xff"                                                      \
    "200000\n\xff"                                                             \
    "100000\n"

size_t fuzz_sample(const char **bytes)
{
    *bytes = SAMPLE;
    return sizeof SAMPLE - 1;
}
