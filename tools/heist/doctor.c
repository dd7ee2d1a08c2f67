/* SPDX-License-Identifier: MIT
 *
 * What heist finds on this machine: how many workers it would start and why,
 * which abilities the kernel has, and what could be better.
 */
#define _GNU_SOURCE 1
#include "cli.h"
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Linux 6.13; older system headers do not name it. */
enum {
    GUARD_INSTALL = 102
};

__attribute__((format(printf, 2, 3))) static void line(const char *what,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("  %-16s ", what);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

/* Under the line it is about. */
static void advice(const char *text)
{
    printf("  %-16s   -> %s\n", "", text);
}

/* The file's first line without its end; false when there is none. */
static bool first_line(const char *path, char *out, int bytes)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool found = fgets(out, bytes, f) != NULL;
    fclose(f);
    if (found) out[strcspn(out, "\n")] = '\0';
    return found;
}

/* --- workers --------------------------------------------------------------- */

enum {
    CPUS = 8192 /* the most Linux can be built for */
};

/* Writes "0-3,8" and returns false when the mask cannot be read. */
static bool mask_list(char *out, size_t bytes)
{
    size_t set_bytes = CPU_ALLOC_SIZE(CPUS);
    cpu_set_t *set = CPU_ALLOC(CPUS);
    bool known = set && sched_getaffinity(0, set_bytes, set) == 0;
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; known && i < CPUS; i++) {
        size_t first = i;
        while (i < CPUS && CPU_ISSET_S(i, set_bytes, set))
            i++;
        if (i == first) continue;
        int n = snprintf(out + used, bytes - used,
                         i - first > 1 ? "%s%zu-%zu" : "%s%zu", used ? "," : "",
                         first, i - 1);
        used += (size_t)n;
        if (used >= bytes) break; /* shown cut off */
    }
    if (set) CPU_FREE(set);
    return known;
}

/* "1.5 CPUs" */
static const char *quota_text(const hi_cpus *cpus, char *room, size_t bytes)
{
    double n = cpus->quota_exact;
    snprintf(room, bytes, "%.4g CPU%s", n, n == 1 ? "" : "s");
    return room;
}

static void quota_line(const hi_cpus *cpus)
{
    char text[32];
    if (cpus->quota == 0)
        line("cgroup quota", "none");
    else
        line("cgroup quota", "%s (%s)", quota_text(cpus, text, sizeof text),
             cpus->quota_from);
}

static void workers_line(const hi_cpus *cpus)
{
    bool ignored;
    unsigned wanted = cli_wanted_workers(&ignored);
    bool by_quota = cpus->quota && cpus->quota_exact < cpus->mask;
    char text[32], taken[64] = "the affinity mask";
    if (by_quota)
        snprintf(taken, sizeof taken, "the cgroup quota of %s",
                 quota_text(cpus, text, sizeof text));
    if (wanted)
        line("default workers", "%u, by HEIST_WORKERS; %u by %s", wanted,
             cpus->workers, taken);
    else
        line("default workers", "%u, by %s", cpus->workers, taken);
    if (by_quota && cpus->quota_exact < 1)
        advice("even one worker is throttled; raise the quota");
    else if (by_quota)
        advice("more workers than the quota would be throttled; raise it to "
               "use more CPUs");
    else if (cpus->mask < cpus->online)
        advice("the affinity mask leaves CPUs out; see taskset(1) or cpuset");
    if (ignored)
        line("HEIST_WORKERS", "ignored: not a number from 1 to %d",
             CLI_WORKERS_MOST);
    if (cpus->workers == 1 && wanted < 2)
        advice("with one worker nothing runs in parallel");
}

static void workers(void)
{
    hi_cpus cpus;
    char list[256];
    hi_cpus_read(&cpus, "");
    printf("Workers\n");
    line("cpus online", "%u", cpus.online);
    if (mask_list(list, sizeof list))
        line("affinity mask", "%u (%s)", cpus.mask, list);
    else
        line("affinity mask", "cannot be read; %u assumed", cpus.mask);
    quota_line(&cpus);
    workers_line(&cpus);
}

/* --- abilities of the kernel ------------------------------------------------ */

static void futex_line(void)
{
    uint32_t word = 0;
    if (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0) {
        line("futex", "yes");
        return;
    }
    line("futex", "no: %s", strerror(errno));
    advice("heist needs it to let workers sleep; look at the seccomp profile");
}

static void membarrier_line(void)
{
    if (hi_barrier_init()) {
        line("membarrier", "yes");
        return;
    }
    line("membarrier", "no");
    advice("work behind a long task waits until it ends or forks; allow "
           "membarrier(2) in the seccomp profile");
}

/* Told since programs ask; nothing to mend as long as nobody here uses it. */
static void io_uring_line(void)
{
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    int fd = (int)syscall(SYS_io_uring_setup, 1, &params);
    int error = errno;
    if (fd >= 0) {
        close(fd);
        line("io_uring", "yes; heist does not use it yet");
    } else {
        line("io_uring", "no: %s; heist does not use it yet", strerror(error));
    }
}

/* Some kernels accept advice they do not follow, so touch the page: the kernel
 * itself reads it for us, and reports the guard instead of dying of it. */
static int try_guard(const void *page, bool *guarded)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    *guarded = write(ends[1], page, 1) < 0 && errno == EFAULT;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void guard_line(size_t page)
{
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        line("guard pages", "cannot try: %s", strerror(errno));
        return;
    }
    bool light = false;
    int rc = madvise(p, page, GUARD_INSTALL) == 0 ? try_guard(p, &light) : 0;
    munmap(p, page);
    if (rc < 0) {
        line("guard pages", "cannot try: %s", strerror(-rc));
        return;
    }
    if (light) {
        line("guard pages", "yes, without a mapping each");
        return;
    }
    line("guard pages", "by mprotect, two mappings per stack");
    char most[32];
    if (first_line("/proc/sys/vm/max_map_count", most, sizeof most))
        line("max mappings", "%s (vm.max_map_count)", most);
    advice("Linux 6.13 has guards without mappings; until then very many "
           "stacks need a larger vm.max_map_count");
}

/* --- memory and limits ------------------------------------------------------ */

static void thp_line(void)
{
    char text[128];
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    if (!first_line(path, text, sizeof text)) {
        line("huge pages", "unknown");
        return;
    }
    char *begin = strchr(text, '['), *end = strchr(text, ']');
    if (!begin || !end || end < begin) {
        line("huge pages", "%s", text);
        return;
    }
    *end = '\0';
    line("huge pages", "%s", begin + 1);
    if (strcmp(begin + 1, "always") == 0)
        advice("a touched stack may take 2 MiB at once; \"madvise\" is "
               "thriftier");
}

static void overcommit_line(void)
{
    char mode[32];
    if (!first_line("/proc/sys/vm/overcommit_memory", mode, sizeof mode)) {
        line("overcommit", "unknown");
        return;
    }
    static const char *const names[] = {"heuristic", "always", "strict"};
    bool known = mode[0] >= '0' && mode[0] <= '2' && !mode[1];
    line("overcommit", "%s (%s)", mode, known ? names[mode[0] - '0'] : "?");
    if (mode[0] == '2')
        advice("reserved stacks count as used: keep stack_bytes small, or set "
               "vm.overcommit_memory to 0");
}

static void limit_line(const char *what, __rlimit_resource_t resource,
                       unsigned long unit, const char *unit_name,
                       const char *if_limited)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0) {
        line(what, "unknown: %s", strerror(errno));
    } else if (limit.rlim_cur == RLIM_INFINITY) {
        line(what, "unlimited");
    } else {
        line(what, "%llu%s", (unsigned long long)(limit.rlim_cur / unit),
             unit_name);
        if (if_limited) advice(if_limited);
    }
}

/* The limit of a user does not bind the root of the machine; that of a user
 * namespace is an ordinary user outside. */
static bool is_root(void)
{
    char map[64];
    unsigned long inside, outside;
    if (getuid() != 0) return false;
    return !first_line("/proc/self/uid_map", map, sizeof map) ||
           sscanf(map, "%lu %lu", &inside, &outside) != 2 || outside == 0;
}

/* How many threads there may be: the tighter of two limits. */
static void threads_line(void)
{
    enum {
        PLENTY = 100 /* for the rest of a program and its neighbours */
    };

    hi_cpus cpus;
    hi_pids pids;
    struct rlimit user;
    hi_cpus_read(&cpus, "");
    hi_pids_read(&pids, "");
    bool by_user = !is_root() && getrlimit(RLIMIT_NPROC, &user) == 0 &&
                   user.rlim_cur != RLIM_INFINITY &&
                   (!pids.most || user.rlim_cur < pids.most);
    if (!by_user && !pids.most) {
        line("threads", "unlimited");
        return;
    }
    uint64_t most = by_user ? user.rlim_cur : pids.most;
    line("threads", "%llu (%s)", (unsigned long long)most,
         by_user ? "RLIMIT_NPROC" : pids.from);
    bool ignored;
    unsigned wanted = cli_wanted_workers(&ignored);
    if (most >= PLENTY + (wanted ? wanted : cpus.workers)) return;
    advice(by_user ? "each worker is a thread, and all threads of the user "
                     "count; see `ulimit -u`"
                   : "each worker is a thread, and all threads in the control "
                     "group count; raise pids.max");
}

/* --- the command ------------------------------------------------------------ */

static int help(void)
{
    printf("usage: %s\n\n"
           "Shows how many workers heist would start on this machine and why,\n"
           "which abilities the kernel has, and the limits heist would\n"
           "meet; with a word of advice where something is missing.\n\n"
           "  --help         this text\n",
           cli_doctor.usage);
    return CLI_OK;
}

static int examine(void)
{
    workers();
    printf("\nKernel\n");
    struct utsname name;
    if (uname(&name) == 0)
        line("kernel", "%s %s %s", name.sysname, name.release, name.machine);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    futex_line();
    membarrier_line();
    io_uring_line();
    guard_line(page);

    printf("\nMemory and limits\n");
    line("page size", "%zu", page);
    thp_line();
    overcommit_line();
    limit_line(
        "address space", RLIMIT_AS, 1024 * 1024, " MiB (RLIMIT_AS)",
        "each worker reserves 128 MiB of address space, not of memory, "
        "in slabs of a gigabyte if they can be had, at first of 256 MiB at "
        "least; see `ulimit -v`");
    threads_line();
    return CLI_OK;
}

static int doctor_main(int argc, char **argv)
{
    if (argc == 1) return examine();
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return help();
    return cli_misused(
        &cli_doctor, "%s '%s'",
        argv[1][0] == '-' ? "unknown option" : "unknown argument", argv[1]);
}

const cli_command cli_doctor = {
    .name = "doctor",
    .usage = "heist doctor [--help]",
    .summary = "tells what heist finds on this machine, with advice",
    .run = doctor_main,
};
