/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- fixture trees ------------------------------------------------------------- */

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void tree_close(void)
{
    if (root[0]) nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    root[0] = '\0';
}

static void tree_open(void)
{
    tree_close();
    strcpy(root, "/tmp/heist-cpus-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
}

/* Writes a file of the tree, and the directories above it. */
static void put_bytes(const char *path, const char *text, size_t bytes)
{
    char full[8192];
    CHECK((size_t)snprintf(full, sizeof full, "%s%s", root, path) <
          sizeof full);
    for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); s++) {
        *s = '\0';
        CHECK(mkdir(full, 0700) == 0 || errno == EEXIST);
        *s = '/';
    }
    unlink(full); /* a new file is cheaper than an old one cut short */
    FILE *f = fopen(full, "w");
    CHECK(f != NULL);
    CHECK_EQ(fwrite(text, 1, bytes, f), bytes);
    CHECK_EQ(fclose(f), 0);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static void membership(const char *text)
{
    put("/proc/self/cgroup", text);
}

static void mounts(const char *text)
{
    put("/proc/self/mountinfo", text);
}

#define NO_CGROUP_MOUNTS                                      \
    "21 26 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n" \
    "22 26 0:20 / /proc rw,nosuid shared:12 - proc proc rw\n"
#define V2_MOUNT \
    "30 21 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
#define V1_MOUNT(mount_root)                                          \
    "33 21 0:29 " mount_root " /sys/fs/cgroup/cpu,cpuacct rw,nosuid " \
    "shared:10 - cgroup cgroup rw,cpu,cpuacct\n"

static hi_cpus cpus;

/* Reads the tree: so many CPUs, by that file. */
static void expect(unsigned quota, const char *from)
{
    hi_cpus_read(&cpus, root);
    CHECK_EQ(cpus.quota, quota);
    if (strcmp(cpus.quota_from, from) != 0)
        fprintf(stderr, "quota from \"%s\"\n", cpus.quota_from);
    CHECK(strcmp(cpus.quota_from, from) == 0);
    unsigned least =
        cpus.quota && cpus.quota < cpus.mask ? cpus.quota : cpus.mask;
    CHECK_EQ(cpus.workers, least);
}

static void v2_tree(void)
{
    tree_open();
    membership("0::/user/app\n");
    mounts(NO_CGROUP_MOUNTS V2_MOUNT);
}

/* --- version 2 -------------------------------------------------------------------- */

TEST(v2_a_quota_is_rounded_down)
{
    v2_tree();
    put("/sys/fs/cgroup/user/app/cpu.max", "350000 100000\n");
    expect(3, "/sys/fs/cgroup/user/app/cpu.max");
    CHECK(cpus.quota_exact == 3.5);
    put("/sys/fs/cgroup/user/app/cpu.max", "400000 100000\n");
    expect(4, "/sys/fs/cgroup/user/app/cpu.max");
    put("/sys/fs/cgroup/user/app/cpu.max", "400000 50000\n");
    expect(8, "/sys/fs/cgroup/user/app/cpu.max");
}

TEST(v2_a_quota_below_one_cpu_gives_one)
{
    v2_tree();
    put("/sys/fs/cgroup/user/app/cpu.max", "10000 100000\n");
    expect(1, "/sys/fs/cgroup/user/app/cpu.max");
    CHECK_EQ(cpus.workers, 1);
}

TEST(v2_max_is_no_limit)
{
    v2_tree();
    put("/sys/fs/cgroup/user/app/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user/cpu.max", "max 100000\n");
    expect(0, "");
}

TEST(v2_every_ancestor_counts)
{
    tree_open();
    membership("0::/a/b/c/d\n");
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/a/b/c/d/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    expect(8, "/sys/fs/cgroup/a/b/c/cpu.max");
    put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    expect(2, "/sys/fs/cgroup/a/b/cpu.max");
    put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    expect(2, "/sys/fs/cgroup/a/b/cpu.max");
    put("/sys/fs/cgroup/cpu.max", "190000 100000\n");
    expect(1, "/sys/fs/cgroup/cpu.max");
}

TEST(v2_nothing_above_the_mount_or_beside_the_path_counts)
{
    tree_open();
    membership("0::/a/b\n");
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/a/b/cpu.max", "700000 100000\n");
    put("/sys/fs/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/ab/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/a/c/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/a/b/x/cpu.max", "100000 100000\n");
    expect(7, "/sys/fs/cgroup/a/b/cpu.max");
}

/* A container with a namespace of its own sees itself as the root. */
TEST(v2_a_namespaced_container_reads_the_mount_itself)
{
    tree_open();
    membership("0::/\n");
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    expect(2, "/sys/fs/cgroup/cpu.max");
}

/* The path names groups that the container's mount does not show. */
TEST(v2_groups_that_cannot_be_seen_are_passed_over)
{
    tree_open();
    membership("0::/kubepods/pod7/abc (deleted)\n");
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/cpu.max", "500000 100000\n");
    expect(5, "/sys/fs/cgroup/cpu.max");
}

/* --- version 1 ----------------------------------------------------------------------- */

static void v1_put(const char *dir, const char *quota, const char *period)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    put(path, quota);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    put(path, period);
}

#define V1_DIR "/sys/fs/cgroup/cpu,cpuacct"

TEST(v1_controllers_mounted_together)
{
    tree_open();
    membership("12:cpuset:/other\n4:cpu,cpuacct:/user/app\n1:name=x:/z\n");
    mounts(NO_CGROUP_MOUNTS V1_MOUNT("/"));
    v1_put(V1_DIR "/user/app", "-1\n", "100000\n");
    expect(0, "");
    v1_put(V1_DIR "/user", "450000\n", "100000\n");
    expect(4, V1_DIR "/user/cpu.cfs_quota_us");
    v1_put(V1_DIR "/user/app", "300000\n", "100000\n");
    expect(3, V1_DIR "/user/app/cpu.cfs_quota_us");
    v1_put(V1_DIR, "100000\n", "50000\n");
    expect(2, V1_DIR "/cpu.cfs_quota_us");
}

TEST(v1_other_hierarchies_and_file_systems_do_not_count)
{
    tree_open();
    membership("4:cpu,cpuacct:/a\n");
    mounts(V1_MOUNT(
        "/") "34 21 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "35 21 0:31 / /mnt/a rw - tmpfs tmpfs rw,cpu\n");
    v1_put(V1_DIR "/a", "300000\n", "100000\n");
    v1_put("/sys/fs/cgroup/cpuset/a", "100000\n", "100000\n");
    v1_put("/mnt/a/a", "100000\n", "100000\n");
    expect(3, V1_DIR "/a/cpu.cfs_quota_us");
}

TEST(v1_cpuset_and_cpuacct_are_not_cpu)
{
    tree_open();
    membership("4:cpuset:/a\n3:cpuacct:/a\n");
    mounts("33 21 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
           "34 21 0:30 / /sys/fs/cgroup/x rw - cgroup cgroup rw,cpuacct\n");
    v1_put("/sys/fs/cgroup/cpuset/a", "100000\n", "100000\n");
    v1_put("/sys/fs/cgroup/x/a", "100000\n", "100000\n");
    expect(0, "");
}

/* The container sees a part of the host's tree, under the host's names. */
TEST(v1_the_mount_shows_a_part_of_the_tree)
{
    tree_open();
    membership("4:cpu,cpuacct:/docker/abc/inner\n");
    mounts(V1_MOUNT("/docker/abc"));
    v1_put(V1_DIR "/inner", "600000\n", "100000\n");
    v1_put(V1_DIR "/docker/abc/inner", "100000\n", "100000\n");
    expect(6, V1_DIR "/inner/cpu.cfs_quota_us");
    v1_put(V1_DIR, "300000\n", "100000\n");
    expect(3, V1_DIR "/cpu.cfs_quota_us");
}

TEST(v1_a_mount_of_somebody_else_s_groups_is_ignored)
{
    tree_open();
    membership("4:cpu,cpuacct:/docker/abcd\n");
    mounts(V1_MOUNT("/docker/abc"));
    v1_put(V1_DIR, "100000\n", "100000\n");
    v1_put(V1_DIR "/d", "100000\n", "100000\n");
    expect(0, "");
}

TEST(v1_a_quota_without_a_period_is_no_limit)
{
    tree_open();
    membership("4:cpu,cpuacct:/\n");
    mounts(V1_MOUNT("/"));
    put(V1_DIR "/cpu.cfs_quota_us", "100000\n");
    expect(0, "");
    put(V1_DIR "/cpu.cfs_period_us", "0\n");
    expect(0, "");
    put(V1_DIR "/cpu.cfs_period_us", "100000\n");
    expect(1, V1_DIR "/cpu.cfs_quota_us");
}

TEST(v1_garbage_sets_no_limit)
{
    static const char *garbage[] = {"",          "\n",  "x\n", "100000x\n",
                                    "100000 \n", "0\n", "-2\n"};
    tree_open();
    membership("4:cpu,cpuacct:/\n");
    mounts(V1_MOUNT("/"));
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        v1_put(V1_DIR, garbage[i], "100000\n");
        expect(0, "");
        v1_put(V1_DIR, "100000\n", garbage[i]);
        expect(0, "");
    }
}

/* --- threads --------------------------------------------------------------------------- */

static void expect_pids(uint64_t most, const char *from)
{
    hi_pids pids;
    memset(&pids, 'x', sizeof pids);
    errno = 4711;
    hi_pids_read(&pids, root);
    CHECK_EQ(errno, 4711);
    CHECK_EQ(pids.most, most);
    CHECK(strcmp(pids.from, from) == 0);
}

TEST(v2_the_smallest_pids_max_of_all_ancestors_counts)
{
    v2_tree();
    expect_pids(0, "");
    put("/sys/fs/cgroup/user/app/pids.max", "max\n");
    put("/sys/fs/pids.max", "7\n");
    expect_pids(0, "");
    put("/sys/fs/cgroup/user/pids.max", "1000\n");
    expect_pids(1000, "/sys/fs/cgroup/user/pids.max");
    put("/sys/fs/cgroup/pids.max", "2000\n");
    expect_pids(1000, "/sys/fs/cgroup/user/pids.max");
    put("/sys/fs/cgroup/user/app/pids.max", "20\n");
    expect_pids(20, "/sys/fs/cgroup/user/app/pids.max");
    put("/sys/fs/cgroup/pids.max", "0\n");
    expect_pids(1, "/sys/fs/cgroup/pids.max");
    expect(0, "");
}

#define V1_PIDS(mount_root)                                      \
    "35 21 0:31 " mount_root " /sys/fs/cgroup/pids rw,nosuid - " \
    "cgroup cgroup rw,pids\n"

TEST(v1_pids_have_a_hierarchy_of_their_own)
{
    tree_open();
    membership("4:cpu,cpuacct:/user/app\n8:pids:/other/job\n0::/user/app\n");
    mounts(NO_CGROUP_MOUNTS V1_MOUNT("/") V1_PIDS("/"));
    put(V1_DIR "/user/app/pids.max", "5\n");
    put(V1_DIR "/other/pids.max", "5\n");
    put("/sys/fs/cgroup/pids/user/app/pids.max", "5\n");
    expect_pids(0, "");
    put("/sys/fs/cgroup/pids/other/pids.max", "300\n");
    put("/sys/fs/cgroup/pids/other/job/pids.max", "max\n");
    expect_pids(300, "/sys/fs/cgroup/pids/other/pids.max");
    v1_put("/sys/fs/cgroup/pids/user/app", "100000\n", "100000\n");
    expect(0, "");
    mounts(V1_PIDS("/other/job"));
    put("/sys/fs/cgroup/pids/pids.max", "40\n");
    expect_pids(40, "/sys/fs/cgroup/pids/pids.max");
}

TEST(garbage_sets_no_limit_of_threads)
{
    static const char *garbage[] = {
        "",     "\n",    "-1\n",  "1 2\n",
        "1x\n", "MAX\n", "0x9\n", "99999999999999999"};
    v2_tree();
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        put("/sys/fs/cgroup/user/app/pids.max", garbage[i]);
        expect_pids(0, "");
    }
}

/* --- both, several, namespaces ----------------------------------------------------------- */

TEST(hybrid_the_tighter_of_both_versions_counts)
{
    tree_open();
    membership("4:cpu,cpuacct:/user/app\n0::/user/app\n");
    mounts(V1_MOUNT(
        "/") "34 21 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/unified/user/app/cgroup.procs", "1\n");
    v1_put(V1_DIR "/user/app", "500000\n", "100000\n");
    expect(5, V1_DIR "/user/app/cpu.cfs_quota_us");
    put("/sys/fs/cgroup/unified/user/cpu.max", "400000 100000\n");
    expect(4, "/sys/fs/cgroup/unified/user/cpu.max");
}

TEST(a_bind_mount_of_a_part_is_read_as_well)
{
    tree_open();
    membership("0::/a/b\n");
    mounts(V2_MOUNT "31 21 0:26 /a /mnt/my\\040groups rw - cgroup2 none rw\n");
    put("/mnt/my groups/b/cpu.max", "200000 100000\n");
    put("/mnt/my groups/a/b/cpu.max", "100000 100000\n");
    expect(2, "/mnt/my groups/b/cpu.max");
}

TEST(a_mount_on_the_root_directory_is_read)
{
    tree_open();
    membership("0::/a\n");
    mounts("31 21 0:26 / / rw - cgroup2 none rw\n");
    put("/a/cpu.max", "300000 100000\n");
    expect(3, "/a/cpu.max");
    put("/cpu.max", "200000 100000\n");
    expect(2, "/cpu.max");
}

#define V2_ABOVE(dots) \
    "30 21 0:26 " dots " /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

/* The mount was made outside our namespace: its root is above ours, and the
 * names in between are not told. */
TEST(of_a_mount_from_above_the_namespace_its_root_counts)
{
    tree_open();
    membership("0::/app\n");
    mounts(V2_ABOVE("/../.."));
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    put("/sys/fs/cgroup/app/cpu.max", "100000 100000\n");
    put("/sys/fs/app/cpu.max", "100000 100000\n");
    expect(3, "/sys/fs/cgroup/cpu.max");
}

/* We were moved out of our namespace: seen from it, we are next door. */
TEST(a_path_outside_the_namespace_is_followed_where_the_mount_reaches)
{
    tree_open();
    membership("0::/../next/app\n");
    mounts(V2_ABOVE("/.."));
    put("/sys/fs/cgroup/next/cpu.max", "300000 100000\n");
    expect(3, "/sys/fs/cgroup/next/cpu.max");
}

TEST(a_path_outside_the_mount_is_not_followed)
{
    static const char *outside[] = {"0::/../next\n", "0::/..\n",
                                    "0::/a/../../next\n"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        tree_open();
        membership(outside[i]);
        mounts(V2_MOUNT);
        put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
        put("/sys/fs/next/cpu.max", "100000 100000\n");
        put("/sys/fs/cpu.max", "100000 100000\n");
        expect(0, "");
    }
}

TEST(a_name_that_only_begins_with_dots_is_a_name)
{
    tree_open();
    membership("0::/..a/b..\n");
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/..a/b../cpu.max", "200000 100000\n");
    expect(2, "/sys/fs/cgroup/..a/b../cpu.max");
}

/* --- what cannot be understood ------------------------------------------------------------- */

TEST(no_control_groups_no_limit)
{
    tree_open();
    expect(0, "");
    membership("");
    expect(0, "");
    mounts(NO_CGROUP_MOUNTS);
    expect(0, "");
    membership("0::/a\n");
    expect(0, "");
}

TEST(garbage_sets_no_limit)
{
    static const char *garbage[] = {
        "",
        "\n",
        " ",
        "100000",
        "100000\n",
        "100000 \n",
        " 100000 100000\n",
        "100000 0\n",
        "0 100000\n",
        "-1 100000\n",
        "-100000 100000\n",
        "100000 -100000\n",
        "+100000 100000\n",
        "1e5 100000\n",
        "0x10 100000\n",
        "100000 100000 100000\n",
        "100000\t100000\n",
        "maximal 1\n",
        "99999999999999999999999999999999 1\n",
        "18446744073709551617 1\n",
        "1 18446744073709551617\n",
        "\xff\xfe\x80",
    };
    v2_tree();
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        put("/sys/fs/cgroup/user/app/cpu.max", garbage[i]);
        expect(0, "");
    }
    put("/sys/fs/cgroup/user/app/cpu.max", "300000 100000\n");
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        put("/sys/fs/cgroup/user/cpu.max", garbage[i]);
        expect(3, "/sys/fs/cgroup/user/app/cpu.max");
    }
    put("/sys/fs/cgroup/user/cpu.max", "max\n");
    put_bytes("/sys/fs/cgroup/user/app/cpu.max", "1 2\0003 4\n", 8);
    expect(0, "");
    char *huge = malloc(1 << 20);
    CHECK(huge != NULL);
    memset(huge, '1', 1 << 20);
    put_bytes("/sys/fs/cgroup/user/app/cpu.max", huge, 1 << 20);
    expect(0, "");
    free(huge);
}

TEST(a_directory_in_the_place_of_a_file_is_no_limit)
{
    v2_tree();
    put("/sys/fs/cgroup/user/app/cpu.max/x", "");
    expect(0, "");
    tree_open();
    put("/proc/self/cgroup/x", "");
    put("/proc/self/mountinfo/x", "");
    expect(0, "");
}

TEST(lines_that_make_no_sense_are_passed_over)
{
    tree_open();
    membership("\n:\n0::/a\n::\n0\n0:\n0:::\n0::relative\n:cpu\n4:cpu\n0");
    mounts("\n \n - \n1 2 3\n1 2 3 / /m\n1 2 3 / /m rw\n1 2 3 / /m rw -\n"
           "1 2 3 / /m rw - \n1 2 3 / /m rw - cgroup2\n"
           "1 2 3 / /m rw - cgroup2 none\n1 2 3   rw - cgroup2 none rw\n"
           "1 2 3 / relative rw - cgroup2 none rw\n"
           "1 2 3 / /\\04 rw - cgroup2 none rw\n" V2_MOUNT "1 2 3");
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/m/a/cpu.max", "100000 100000\n");
    put("/a/cpu.max", "100000 100000\n");
    expect(2, "/sys/fs/cgroup/a/cpu.max");
}

/* After the good lines one that is as long as is said, with the tail of a good
 * line, and a last one without an end. */
static void long_lines(size_t length)
{
    char *text = malloc(length + 1024);
    CHECK(text != NULL);
    tree_open();
    char *end = text + sprintf(text, "0::/a\n");
    memset(end, 'x', length);
    strcpy(end + length, "0::/b\n0::/b");
    membership(text);
    end = text + sprintf(text, "%s", V2_MOUNT);
    memset(end, 'x', length);
    strcpy(end + length, "1 2 3 / /b rw - cgroup2 none rw\n");
    mounts(text);
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
    put("/b/a/cpu.max", "100000 100000\n");
    expect(2, "/sys/fs/cgroup/a/cpu.max");
    free(text);
}

TEST(very_long_lines_are_passed_over)
{
    for (size_t length = 16384 - 16; length < 16384 + 4; length++)
        long_lines(length);
    long_lines(32768);
    long_lines(1000000);
}

TEST(a_line_with_a_zero_byte_is_passed_over)
{
    tree_open();
    put_bytes("/proc/self/cgroup", "0::/a\n0::/b\0\n", 14);
    mounts(V2_MOUNT);
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
    expect(2, "/sys/fs/cgroup/a/cpu.max");
}

TEST(very_long_paths_set_no_limit)
{
    char line[16000];
    for (size_t length = 4000; length < sizeof line - 100; length += 997) {
        tree_open();
        strcpy(line, "0::/");
        memset(line + 4, 'p', length);
        strcpy(line + 4 + length, "\n");
        membership(line);
        mounts(V2_MOUNT);
        expect(0, "");
        /* And as a mount point. */
        membership("0::/a\n");
        strcpy(line, "1 2 3 / /");
        memset(line + 9, 'p', length);
        strcpy(line + 9 + length, " rw - cgroup2 none rw\n");
        mounts(line);
        expect(0, "");
    }
}

TEST(the_tail_of_a_long_file_name_is_kept)
{
    char name[201], path[1024], line[1024];
    memset(name, 'n', 200);
    name[200] = '\0';
    tree_open();
    snprintf(line, sizeof line, "0::/%s/%s\n", name, name);
    membership(line);
    mounts(V2_MOUNT);
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/cpu.max", name, name);
    put(path, "200000 100000\n");
    hi_cpus_read(&cpus, root);
    CHECK_EQ(cpus.quota, 2);
    CHECK_EQ(strlen(cpus.quota_from), sizeof cpus.quota_from - 1);
    CHECK_EQ(strncmp(cpus.quota_from, "...", 3), 0);
    CHECK_EQ(strcmp(cpus.quota_from + 3, path + strlen(path) - 252), 0);
    tree_close();
}

/* Any bytes at all: nothing may break, whatever it says. */
TEST(random_files_break_nothing)
{
    static const char *piece[] = {
        "0::",   "/",    "..",  "/..", "cpu", ",",  "\n",      " ",
        " - ",   "rw",   "1",   "2",   ":",   "\\", "cgroup2", "cgroup",
        "\\040", "/sys", "max", "",    "a",   "/a", "100000",  "-",
    };

    enum {
        PIECES = sizeof piece / sizeof piece[0]
    };

    uint64_t random = test_seed;
    tree_open();
    for (int i = 0; i < 300; i++) {
        char text[3][2048] = {"", "", ""};
        for (int k = 0; k < 3; k++)
            for (uint64_t n = test_random(&random) % 200; n > 0; n--)
                strcat(text[k], piece[test_random(&random) % PIECES]);
        membership(text[0]);
        mounts(text[1]);
        put("/sys/cpu.max", text[2]);
        put("/a/cpu.max", text[2]);
        hi_cpus_read(&cpus, root);
        CHECK(cpus.workers >= 1);
        CHECK(memchr(cpus.quota_from, '\0', sizeof cpus.quota_from) != NULL);
    }
    tree_close();
}

/* --- the process itself --------------------------------------------------------------------- */

TEST(this_machine_has_at_least_one_cpu)
{
    errno = 4711;
    hi_cpus_read(&cpus, "");
    CHECK_EQ(errno, 4711);
    CHECK(cpus.online >= 1);
    CHECK(cpus.mask >= 1);
    CHECK(cpus.workers >= 1 && cpus.workers <= cpus.mask);
}

static void *read_on_a_small_stack(void *arg)
{
    hi_cpus_read(arg, "");
    return NULL;
}

TEST(the_limits_are_read_on_a_small_stack)
{
    if (getenv("HEIST_NO_FORK")) return; /* tools need more themselves */
    pthread_attr_t attr;
    pthread_t thread;
    hi_cpus usual, small = {0};
    hi_cpus_read(&usual, "");
    CHECK_EQ(pthread_attr_init(&attr), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attr, 24 << 10), 0);
    CHECK_EQ(pthread_create(&thread, &attr, read_on_a_small_stack, &small), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_attr_destroy(&attr), 0);
    CHECK_EQ(small.workers, usual.workers);
    CHECK_EQ(small.quota, usual.quota);
}

TEST(the_affinity_mask_limits_the_workers)
{
    cpu_set_t before, one;
    CPU_ZERO(&before);
    CPU_ZERO(&one);
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET((size_t)last, &before))
        last--;
    CPU_SET((size_t)last, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    v2_tree();
    put("/sys/fs/cgroup/user/app/cpu.max", "400000 100000\n");
    expect(4, "/sys/fs/cgroup/user/app/cpu.max");
    CHECK_EQ(cpus.mask, 1);
    CHECK_EQ(cpus.workers, 1);
    tree_close();
    CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(the_cpus_of_the_mask_have_their_ids)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    unsigned count = (unsigned)CPU_COUNT(&set);
    int last = -1;
    for (unsigned i = 0; i < count; i++) {
        int cpu = hi_cpus_nth(i);
        CHECK(cpu > last && CPU_ISSET((size_t)cpu, &set));
        CHECK_EQ(hi_cpus_nth(i + count), cpu);
        last = cpu;
    }
}

/* A program that chooses its CPUs before each start gets workers there. */
TEST(the_cpus_are_those_of_the_mask_that_the_thread_has_now)
{
    cpu_set_t before, one;
    CPU_ZERO(&before);
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (unsigned i = 0; i < (unsigned)CPU_COUNT(&before); i++) {
        int cpu = hi_cpus_nth(i);
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        CHECK_EQ(hi_cpus_nth(0), cpu);
        CHECK_EQ(hi_cpus_nth(1), cpu);
        CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    }
}

static bool may_use_only(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)cpu, &set);
}

TEST(a_pinned_thread_stays_and_an_unpinned_one_has_its_own_mask_back)
{
    cpu_set_t before, after;
    CPU_ZERO(&before);
    CPU_ZERO(&after);
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    errno = 4711;
    for (unsigned i = 0; i < 4; i++) {
        int cpu = hi_cpus_nth(i);
        hi_cpu_pin(cpu);
        CHECK(may_use_only(cpu));
        CHECK_EQ(hi_cpu_current(), cpu);
    }
    hi_cpus_read(&cpus, "");
    CHECK_EQ(cpus.mask, CPU_COUNT(&before));
    hi_cpu_unpin();
    hi_cpu_unpin();
    CHECK_EQ(errno, 4711);
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST(a_mask_given_to_a_pinned_thread_stays)
{
    cpu_set_t before, other, now;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    int first = hi_cpus_nth(0), second = hi_cpus_nth(1);
    if (first == second) return; /* one CPU */
    hi_cpu_pin(first);
    CPU_ZERO(&other);
    CPU_SET((size_t)second, &other);
    CHECK_EQ(sched_setaffinity(0, sizeof other, &other), 0);
    hi_cpu_unpin();
    CHECK_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    CHECK(CPU_EQUAL(&now, &other));
    CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(a_cpu_that_is_not_there_pins_nothing)
{
    cpu_set_t before, after;
    CPU_ZERO(&before);
    CPU_ZERO(&after);
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    static const int bad[] = {-1, INT32_MIN, INT32_MAX, 8191, 8192};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hi_cpu_pin(bad[i]);
        CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
        CHECK(CPU_EQUAL(&before, &after));
    }
    hi_cpu_unpin();
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
}
