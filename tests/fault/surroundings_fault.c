/* SPDX-License-Identifier: MIT
 *
 * surroundings_fault.c: signals, descriptors, and a system that tells nothing.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* And here: what the library asks the system about itself, and sleep. */
static HEIST_ATOMIC(int) silent;  /* nothing is told */
static HEIST_ATOMIC(int) nervous; /* every other sleep is broken off at once */
static HEIST_ATOMIC(long) asked, sleeps, broken_off;

long __real_syscall(long number, ...);
int __real_open(const char *path, int flags, ...);
int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __real_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);
int __real_sched_getcpu(void);

static bool is_silent(void)
{
    if (!heist_load_acquire(&silent)) return false;
    heist_add_relaxed(&asked, 1);
    return true;
}

long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier && is_silent()) return fault_errno(ENOSYS);
    bool wait = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
    if (wait && heist_load_acquire(&nervous) &&
        heist_add_relaxed(&sleeps, 1) % 2 == 0) {
        heist_add_relaxed(&broken_off, 1);
        return fault_errno(EINTR);
    }
    long rc = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (wait && rc < 0 && errno == EINTR) heist_add_relaxed(&broken_off, 1);
    return rc;
}

int __wrap_open(const char *path, int flags, ...)
{
    if (is_silent()) return fault_errno(EMFILE);
    return __real_open(path, flags, 0);
}

int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    if (is_silent()) return fault_errno(EPERM);
    return __real_sched_getaffinity(pid, bytes, set);
}

int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    if (is_silent()) return fault_errno(EPERM);
    return __real_sched_setaffinity(pid, bytes, set);
}

int __wrap_sched_getcpu(void)
{
    if (is_silent()) return fault_errno(ENOSYS);
    return __real_sched_getcpu();
}

/* --- descriptors ------------------------------------------------------------------ */

static int open_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void work_once(unsigned workers)
{
    heist_runtime *rt = NULL;
    heist_config c = {.workers = workers};
    CHECK_EQ(heist_start(&rt, &c), 0);
    fault_check_works(rt);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

/* The first test: fork() before there are threads suits every tool. */
TEST(a_runtime_works_without_the_three_usual_descriptors)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        for (int i = 0; i < 10; i++)
            work_once((unsigned)i % 5);
        fault_check_works(NULL);
        /* Still closed: what was opened on the way has been closed again. */
        for (int fd = 0; fd < 3; fd++)
            if (fcntl(fd, F_GETFD) >= 0) _exit(2);
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(a_runtime_leaves_no_descriptor_open)
{
    int before = open_descriptors();
    for (int i = 0; i < 10; i++)
        work_once((unsigned)i % 5);
    CHECK_EQ(open_descriptors(), before);
}

/* --- a system that tells nothing ---------------------------------------------------- */

TEST(a_runtime_works_where_it_learns_nothing_about_the_machine)
{
    heist_store_release(&silent, 1);
    for (unsigned workers = 0; workers <= 4; workers++)
        work_once(workers);
    CHECK(heist_load_relaxed(&asked) > 0);
    heist_store_release(&silent, 0);
}

TEST(calls_leave_errno_alone_when_the_system_refuses)
{
    heist_runtime *rt = NULL;
    heist_config c = {.workers = 2};
    heist_store_release(&silent, 1);
    fault_arm(FAULT_ADVICE, 1, FAULT_EVER_ON);
    errno = EXDEV;
    CHECK_EQ(heist_start(&rt, &c), 0);
    CHECK_EQ(errno, EXDEV);
    CHECK_EQ(heist_spawn(rt, fault_count_one, NULL, NULL, HEIST_FOREVER), 0);
    CHECK_EQ(errno, EXDEV);
    fault_spine s = fault_spine_of(100);
    CHECK_EQ(heist_run(rt, fault_spine_root, &s), 0);
    CHECK_EQ(errno, EXDEV);
    fault_check_spine(&s);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
    CHECK_EQ(errno, EXDEV);
    fault_disarm();
    heist_store_release(&silent, 0);
}

TEST(a_call_that_fails_leaves_errno_alone)
{
    heist_runtime *rt = NULL;
    static const unsigned kinds[] = {FAULT_HEAP, FAULT_MAP, FAULT_COMMIT};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        heist_config c = {.workers = 2, .stack_bytes = (128 << 10) + i * 4096};
        hi_strand *kept = fault_drain(c.stack_bytes);
        fault_arm(kinds[i], 1, FAULT_EVER_ON);
        errno = EXDEV;
        CHECK_EQ(heist_start(&rt, &c), -ENOMEM);
        CHECK_EQ(errno, EXDEV);
        fault_disarm();
        fault_refill(kept);
    }
}

/* --- signals -------------------------------------------------------------------------- */

enum {
    CLIENTS = 3,
    ROUNDS = 150
};

static HEIST_ATOMIC(int) signals, clients_left;
static heist_runtime *busy;

static void on_signal(int number)
{
    (void)number;
    heist_add_relaxed(&signals, 1);
}

static int small_task(heist_ctx c, void *arg)
{
    (void)arg;
    fault_spine_at(c, 20);
    return 0;
}

/* Spawns into a queue that is always full, waits with and without success. */
static void *client(void *arg)
{
    heist_latch never;
    heist_latch_init(&never, 1);
    for (int i = 0; i < ROUNDS; i++) {
        heist_latch done;
        heist_latch_init(&done, 8);
        for (int k = 0; k < 8; k++)
            CHECK_EQ(heist_spawn(busy, small_task, NULL, &done,
                                 heist_after(60 * HEIST_SECOND)),
                     0);
        CHECK_EQ(heist_latch_wait(&done, i % 2
                                             ? HEIST_FOREVER
                                             : heist_after(60 * HEIST_SECOND)),
                 0);
        heist_time soon = heist_after(HEIST_MILLISECOND);
        CHECK_EQ(heist_latch_wait(&never, soon), -ETIMEDOUT);
        CHECK(heist_now() >= soon); /* a signal is no deadline */
    }
    heist_sub_relaxed(&clients_left, 1);
    return arg;
}

static void serve_clients(void (*meanwhile)(pthread_t *clients))
{
    pthread_t thread[CLIENTS];
    heist_config c = {.workers = 2, .queue_capacity = 2};
    CHECK_EQ(heist_start(&busy, &c), 0);
    heist_store_relaxed(&clients_left, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, client, NULL), 0);
    meanwhile(thread);
    for (int i = 0; i < CLIENTS; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    fault_check_works(busy);
    CHECK_EQ(heist_stop(busy, HEIST_FOREVER), 0);
}

static void storm(pthread_t *clients)
{
    while (heist_load_relaxed(&clients_left) > 0) {
        /* A client that has ended is not joined yet: its name is valid. */
        for (int i = 0; i < CLIENTS; i++)
            pthread_kill(clients[i], SIGUSR1);
        kill(getpid(), SIGUSR1);
        sched_yield();
    }
}

TEST(a_storm_of_signals_neither_ends_a_wait_nor_loses_a_task)
{
    struct sigaction act = {0};
    act.sa_handler = on_signal; /* without SA_RESTART */
    CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
    heist_store_relaxed(&broken_off, 0);
    serve_clients(storm);
    CHECK(heist_load_relaxed(&signals) > 0);
    CHECK(heist_load_relaxed(&broken_off) > 0); /* the storm was felt */
}

static void nothing(pthread_t *clients)
{
    (void)clients;
}

TEST(sleeps_that_end_for_no_reason_do_not_matter)
{
    heist_store_relaxed(&broken_off, 0);
    heist_store_release(&nervous, 1);
    serve_clients(nothing);
    heist_store_release(&nervous, 0);
    CHECK(heist_load_relaxed(&broken_off) > 0);
}
