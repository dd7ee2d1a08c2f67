/* SPDX-License-Identifier: MIT
 *
 * cpus.c: how many CPUs this process may use, and which; and how many threads.
 *
 * Three limits count: the machine, the affinity mask, and the CPU quotas of
 * the control groups the process is in.  A quota binds everything below it, so
 * every visible ancestor is asked:
 *
 *     /proc/self/cgroup      0::/user/app          who we are
 *     /proc/self/mountinfo   ... / /sys/fs/cgroup ... - cgroup2 ...   where
 *     /sys/fs/cgroup/user/app/cpu.max, /sys/fs/cgroup/user/cpu.max, ...
 *
 * Version 1 has one hierarchy per set of controllers and two files,
 * cpu.cfs_quota_us and cpu.cfs_period_us.  In a container the mount may show a
 * part of the tree only; its root field then is the head of our path.  The
 * number of threads is limited in the same way, by pids.max in both versions.
 *
 * What cannot be read or understood sets no limit.  Nothing here allocates.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- the affinity mask ------------------------------------------------------ */

enum {
    CPU_MAX = 8192, /* as many as a Linux kernel can be built for */
    SAVED_CPUS = 1024,
    WORD_BITS = 64
};

typedef struct cpu_bits {
    uint64_t word[CPU_MAX / WORD_BITS];
} cpu_bits;

static bool mask_get(cpu_bits *m)
{
    memset(m, 0, sizeof *m);
    return sched_getaffinity(0, sizeof *m, (cpu_set_t *)(void *)m) == 0;
}

static bool mask_set(const cpu_bits *m)
{
    return sched_setaffinity(0, sizeof *m,
                             (const cpu_set_t *)(const void *)m) == 0;
}

static unsigned mask_count(const cpu_bits *m)
{
    unsigned n = 0;
    for (size_t i = 0; i < CPU_MAX / WORD_BITS; i++)
        n += (unsigned)__builtin_popcountll(m->word[i]);
    return n;
}

/* The id of the i-th CPU, counted from zero; -1 when there are fewer. */
static int mask_nth(const cpu_bits *m, unsigned i)
{
    for (unsigned w = 0; w < CPU_MAX / WORD_BITS; w++) {
        uint64_t bits = m->word[w];
        for (; bits; bits &= bits - 1) {
            if (i-- == 0) return (int)(w * WORD_BITS) + __builtin_ctzll(bits);
        }
    }
    return -1;
}

/* The mask of the first thread that asked, before anything was pinned. */
static cpu_bits initial;
static pthread_once_t initial_once = PTHREAD_ONCE_INIT;

static void initial_read(void)
{
    mask_get(&initial);
}

/*
 * What the thread had before it was pinned.  Thread-local memory is scarce in
 * a library that is loaded late, so this holds the first thousand CPUs; a
 * thread with others gets the initial mask back.
 */
static __thread struct {
    bool pinned;
    bool fits;
    int cpu; /* that it is pinned to */
    uint64_t word[SAVED_CPUS / WORD_BITS];
} own;

static bool own_save(void)
{
    cpu_bits all, low = {{0}};
    if (!mask_get(&all)) return false;
    memcpy(own.word, all.word, sizeof own.word);
    memcpy(low.word, all.word, sizeof own.word);
    own.fits = memcmp(&low, &all, sizeof all) == 0;
    return true;
}

/* What the thread may use, or might, were it not pinned. */
static bool own_mask(cpu_bits *m)
{
    if (!own.pinned) return mask_get(m);
    *m = own.fits ? (cpu_bits){{0}} : initial;
    if (own.fits) memcpy(m->word, own.word, sizeof own.word);
    return true;
}

int hi_cpus_nth(unsigned i)
{
    int saved = errno;
    cpu_bits mask;
    unsigned count = own_mask(&mask) ? mask_count(&mask) : 0;
    errno = saved;
    return count ? mask_nth(&mask, i % count) : -1;
}

void hi_cpu_pin(int cpu)
{
    if (cpu < 0 || cpu >= CPU_MAX) return;
    int saved = errno;
    pthread_once(&initial_once, initial_read);
    cpu_bits one = {{0}};
    one.word[cpu / WORD_BITS] = (uint64_t)1 << (cpu % WORD_BITS);
    bool known = own.pinned || own_save();
    if (known && mask_set(&one)) {
        own.pinned = true;
        own.cpu = cpu;
    }
    errno = saved;
}

/* Somebody else may have given the thread another mask meanwhile. */
static bool is_as_pinned(void)
{
    cpu_bits now;
    return mask_get(&now) && mask_count(&now) == 1 &&
           mask_nth(&now, 0) == own.cpu;
}

void hi_cpu_unpin(void)
{
    if (!own.pinned) return;
    int saved = errno;
    cpu_bits before;
    own_mask(&before);
    if (is_as_pinned()) mask_set(&before);
    own.pinned = false;
    errno = saved;
}

/* --- reading small text files ----------------------------------------------- */

enum {
    LINE_BYTES = 4 * PATH_MAX,
    FILE_BYTES = 3 * PATH_MAX
};

static int open_here(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Tests only: its own function, or every caller needs room for the name. */
static __attribute__((noinline)) int open_elsewhere(const char *root,
                                                    const char *path)
{
    char full[FILE_BYTES];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n < 0 || (size_t)n >= sizeof full ? -1 : open_here(full);
}

static int open_under(const char *root, const char *path)
{
    return *root ? open_elsewhere(root, path) : open_here(path);
}

typedef struct lines {
    int fd;
    size_t used, next; /* bytes in text; where the next line starts */
    char text[LINE_BYTES];
} lines;

/* Moves the unread rest to the front and reads more; false at the end. */
static bool lines_fill(lines *l)
{
    l->used -= l->next;
    memmove(l->text, l->text + l->next, l->used);
    l->next = 0;
    ssize_t n;
    do {
        n = read(l->fd, l->text + l->used, sizeof l->text - l->used);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return false;
    l->used += (size_t)n;
    return true;
}

/* The next line, without its end; NULL when there are no more.  A line that
 * does not fit, or that a zero byte cuts short, is passed over. */
static char *lines_next(lines *l)
{
    bool skip = false;
    for (;;) {
        char *start = l->text + l->next;
        char *end = memchr(start, '\n', l->used - l->next);
        if (end) {
            *end = '\0';
            l->next = (size_t)(end - l->text) + 1;
            if (!skip && strlen(start) == (size_t)(end - start)) return start;
            skip = false;
        } else {
            if (l->used - l->next == sizeof l->text) {
                skip = true;
                l->next = l->used;
            }
            if (!lines_fill(l)) return NULL;
        }
    }
}

/* --- control groups --------------------------------------------------------- */

/* What is asked for. */
typedef enum control {
    CONTROL_CPU,
    CONTROL_PIDS,
    CONTROLS
} control;

static const char *const control_name[CONTROLS] = {"cpu", "pids"};

typedef struct limit {
    control of;
    double most; /* CPUs or threads; 0: none yet */
    char from[sizeof((hi_cpus *)0)->quota_from];
} limit;

/* Decimal digits only, and no more than the kernel would accept. */
static bool parse_number(const char **text, uint64_t *number)
{
    const char *s = *text;
    uint64_t n = 0;
    if (*s < '0' || *s > '9') return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        n = n * 10 + (uint64_t)(*s - '0');
        if (n >> 44) return false;
    }
    *text = s;
    *number = n;
    return true;
}

/* Reads a file of one short line. */
static bool read_line(const char *root, const char *path, char *line,
                      size_t size)
{
    int fd = open_under(root, path);
    if (fd < 0) return false;
    ssize_t n = read(fd, line, size);
    close(fd);
    if (n <= 0 || (size_t)n == size || memchr(line, '\0', (size_t)n))
        return false;
    line[n] = '\0';
    char *end = strchr(line, '\n');
    if (end) *end = '\0';
    return true;
}

/* Too long a name loses its head: its tail says more. */
static void copy_tail(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    if (n < size) {
        memcpy(to, from, n + 1);
        return;
    }
    memcpy(to, "...", 3);
    memcpy(to + 3, from + n + 4 - size, size - 3);
}

static void limit_take(limit *l, uint64_t quota, uint64_t period,
                       const char *file)
{
    if (!quota || !period) return;
    double most = (double)quota / (double)period;
    if (l->most > 0 && most >= l->most) return;
    l->most = most;
    copy_tail(l->from, sizeof l->from, file);
}

/* One directory of version 2: "max 100000" or "150000 100000". */
static void read_v2(limit *l, const char *root, char *dir, size_t length)
{
    char line[128];
    const char *s = line;
    uint64_t quota, period;
    snprintf(dir + length, FILE_BYTES - length, "/cpu.max");
    if (read_line(root, dir, line, sizeof line) && parse_number(&s, &quota) &&
        *s++ == ' ' && parse_number(&s, &period) && !*s)
        limit_take(l, quota, period, dir);
}

static bool read_number(const char *root, const char *file, uint64_t *number)
{
    char line[128];
    const char *s = line;
    return read_line(root, file, line, sizeof line) &&
           parse_number(&s, number) && !*s;
}

/* One directory of version 1; a quota of -1 is none. */
static void read_v1(limit *l, const char *root, char *dir, size_t length)
{
    uint64_t quota, period;
    snprintf(dir + length, FILE_BYTES - length, "/cpu.cfs_period_us");
    if (!read_number(root, dir, &period)) return;
    snprintf(dir + length, FILE_BYTES - length, "/cpu.cfs_quota_us");
    if (read_number(root, dir, &quota)) limit_take(l, quota, period, dir);
}

/* One directory of either version: "max" or "100".  None at all leaves us the
 * thread that asks. */
static void read_pids(limit *l, const char *root, char *dir, size_t length)
{
    uint64_t most;
    snprintf(dir + length, FILE_BYTES - length, "/pids.max");
    if (read_number(root, dir, &most)) limit_take(l, most ? most : 1, 1, dir);
}

/* What a line of mountinfo says of a mount of control groups. */
typedef struct mount {
    bool v2;
    bool has[CONTROLS];
    char *root;  /* which part of the hierarchy it shows */
    char *point; /* where */
} mount;

/* Asks the group at below and every group above it that the mount shows. */
static void read_groups(limit *l, const char *root, const mount *m,
                        const char *below, char *dir)
{
    const char *point = strcmp(m->point, "/") == 0 ? "" : m->point;
    int n = snprintf(dir, FILE_BYTES, "%s%s", point, below);
    if (n < 0 || n >= FILE_BYTES - 32) return;
    size_t length = (size_t)n, least = strlen(point);
    for (;;) {
        while (length > least && dir[length - 1] == '/')
            length--;
        if (l->of == CONTROL_PIDS)
            read_pids(l, root, dir, length);
        else if (m->v2)
            read_v2(l, root, dir, length);
        else
            read_v1(l, root, dir, length);
        if (length <= least) return;
        while (length > least && dir[length - 1] != '/')
            length--;
    }
}

static bool has_dots(const char *path)
{
    for (const char *s = path; (s = strstr(s, "/..")); s += 3) {
        if (s[3] == '/' || !s[3]) return true;
    }
    return false;
}

/* Only "/.." again and again: a group above the root of our namespace. */
static bool is_above(const char *path)
{
    while (strncmp(path, "/..", 3) == 0)
        path += 3;
    return !*path;
}

/* The part of our path below what the mount shows; NULL when it does not show
 * us.  Both are seen from our namespace and may start with "/..". */
static const char *below_mount(const char *path, const char *mount_root)
{
    size_t n = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    if (strncmp(path, mount_root, n) == 0 && (path[n] == '/' || !path[n]) &&
        !has_dots(path + n))
        return path + n;
    /* It starts above us, but nothing tells the names in between. */
    if (is_above(mount_root) && strncmp(path, mount_root, n) != 0) return "";
    return NULL;
}

/* True if the comma-separated list holds that name. */
static bool list_has(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (;;) {
        size_t word = strcspn(list, ",");
        if (word == n && strncmp(list, name, n) == 0) return true;
        if (!list[word]) return false;
        list += word + 1;
    }
}

/* Undoes "\040" for a space, in place. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
            s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0');
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

/* id parent major:minor ROOT POINT options [fields] - TYPE source SUPER */
static bool parse_mount(char *line, mount *m)
{
    char *field[5], *rest = line;
    for (int i = 0; i < 5; i++)
        if (!(field[i] = strsep(&rest, " "))) return false;
    if (!rest || !(rest = strstr(rest, " - "))) return false;
    rest += 3;
    char *type = strsep(&rest, " ");
    strsep(&rest, " ");
    if (!rest) return false;
    m->v2 = strcmp(type, "cgroup2") == 0;
    bool v1 = strcmp(type, "cgroup") == 0, any = false;
    for (int i = 0; i < CONTROLS; i++)
        any |= m->has[i] = m->v2 || (v1 && list_has(rest, control_name[i]));
    if (!any) return false;
    m->root = field[3];
    m->point = field[4];
    unescape(m->root);
    unescape(m->point);
    return m->root[0] == '/' && m->point[0] == '/';
}

/* Our path in the hierarchy of version 2 and in those of version 1 which have
 * the cpu and the pids controller; empty when there is none. */
typedef struct membership {
    char v2[PATH_MAX];
    char v1[PATH_MAX];
    char v1_pids[PATH_MAX];
} membership;

/* id:controllers:path */
static void parse_membership(membership *me, char *line)
{
    char *rest = line;
    const char *id = strsep(&rest, ":");
    const char *controllers = strsep(&rest, ":");
    if (!rest || rest[0] != '/' || strlen(rest) >= PATH_MAX) return;
    if (strcmp(id, "0") == 0 && !*controllers) strcpy(me->v2, rest);
    if (list_has(controllers, "cpu")) strcpy(me->v1, rest);
    if (list_has(controllers, "pids")) strcpy(me->v1_pids, rest);
}

/* Too large for the stack of a caller that has a small one.  All zero. */
typedef struct search {
    membership me;
    lines l;
    char dir[FILE_BYTES + 32]; /* and the longest file name */
} search;

static bool search_open(search *s, const char *root, const char *path)
{
    s->l.used = s->l.next = 0;
    s->l.fd = open_under(root, path);
    return s->l.fd >= 0;
}

static void search_limit(search *s, limit *l, const char *root)
{
    char *line;
    if (!search_open(s, root, "/proc/self/cgroup")) return;
    while ((line = lines_next(&s->l)))
        parse_membership(&s->me, line);
    close(s->l.fd);

    const char *v1 = l->of == CONTROL_PIDS ? s->me.v1_pids : s->me.v1;
    if (!search_open(s, root, "/proc/self/mountinfo")) return;
    while ((line = lines_next(&s->l))) {
        mount m;
        if (!parse_mount(line, &m) || !m.has[l->of]) continue;
        const char *path = m.v2 ? s->me.v2 : v1;
        const char *below = *path ? below_mount(path, m.root) : NULL;
        if (below) read_groups(l, root, &m, below, s->dir);
    }
    close(s->l.fd);
}

/* Without memory no limit is found. */
static void limit_read(limit *l, const char *root)
{
    search *s = hi_pages_large(sizeof *s);
    if (!s) return;
    search_limit(s, l, root);
    hi_pages_release(s, sizeof *s);
}

static void read_limits(hi_cpus *out, const char *root)
{
    memset(out, 0, sizeof *out);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->online = online > 0 ? (unsigned)online : 1;

    cpu_bits mask;
    out->mask = own_mask(&mask) ? mask_count(&mask) : out->online;
    out->workers = out->mask ? out->mask : 1;

    limit quota = {.of = CONTROL_CPU};
    limit_read(&quota, root);
    if (quota.most > 0 && quota.most < UINT_MAX) {
        out->quota = quota.most < 1 ? 1 : (unsigned)quota.most;
        out->quota_exact = quota.most;
        memcpy(out->quota_from, quota.from, sizeof quota.from);
        if (out->quota < out->workers) out->workers = out->quota;
    }
}

void hi_cpus_read(hi_cpus *out, const char *root)
{
    int saved = errno, before;
    /* Who starts a runtime may hold a lock. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    read_limits(out, root);
    pthread_setcancelstate(before, NULL);
    errno = saved;
}

void hi_pids_read(hi_pids *out, const char *root)
{
    int saved = errno, before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    limit pids = {.of = CONTROL_PIDS};
    limit_read(&pids, root);
    out->most = (uint64_t)pids.most;
    memcpy(out->from, pids.from, sizeof pids.from);
    pthread_setcancelstate(before, NULL);
    errno = saved;
}
