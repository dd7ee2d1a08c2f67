/* SPDX-License-Identifier: MIT
 *
 * run_fault.c: heist_run, forks and the default runtime without memory.
 */
/*
 * Wrapped, in fault.h: __wrap_malloc __wrap_calloc __wrap_aligned_alloc
 * __wrap_free __wrap_mmap __wrap_munmap __wrap_mprotect __wrap_madvise
 * __wrap_pthread_create __wrap_pthread_join
 */
#define _GNU_SOURCE 1
#include "fault.h"

#include <semaphore.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- frame stacks that grow -------------------------------------------------------- */

static void spine_in_small_strand(heist_ctx c, void *arg)
{
    hi_strand *s = hi_strand_from(c.strand);
    CHECK_EQ((char *)s->committed - (char *)s, HI_STRAND_COMMIT);
    fault_spine_root(c, arg);
    CHECK(s->committed > s->base + FAULT_SPINE);
}

static int spine_inside(heist_ctx c, void *arg)
{
    (void)c;
    CHECK_EQ(heist_run(NULL, spine_in_small_strand, arg), 0);
    return 0;
}

/* Runs the deep spine in a task of rt, on a strand with little memory. */
static void deep_and_small(heist_runtime *rt, unsigned kinds)
{
    hi_strand *kept = fault_drain(0);
    heist_latch done;
    heist_latch_init(&done, 1);
    fault_spine s = fault_spine_of(FAULT_SPINE);
    fault_arm(FAULT_WHOLE, 1, FAULT_EVER_ON);
    hi_strand *small = hi_strand_create(0);
    CHECK(small != NULL);
    CHECK_EQ(fault_disarm(), 1);
    hi_strand_destroy(small);
    fault_arm(kinds, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_spawn(rt, spine_inside, &s, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    fault_disarm();
    fault_check_spine(&s);
    fault_refill(kept);
}

/* In a child, because the library ends it; says what it said last. */
static void last_words(void (*fn)(void), char *words, size_t bytes)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; used + 1 < bytes; used += (size_t)n) {
        n = read(ends[0], words + used, bytes - used - 1);
        if (n <= 0) break;
    }
    words[used] = '\0';
    close(ends[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static void grow_and_fail(void)
{
    heist_runtime *rt = fault_start(1, HEIST_ON_DEMAND);
    deep_and_small(rt, FAULT_COMMIT);
}

/* The first test: fork() before there are threads suits every tool. */
TEST(a_frame_stack_that_cannot_grow_says_so_and_ends_the_program)
{
    char words[512];
    last_words(grow_and_fail, words, sizeof words);
    CHECK(strstr(words, "no room for another fork on this strand") != NULL);
}

TEST(a_frame_stack_grows_where_memory_is_counted_when_promised)
{
    for (int exposure = HEIST_ON_DEMAND; exposure <= HEIST_EAGER; exposure++) {
        heist_runtime *rt = fault_start(2, (heist_exposure)exposure);
        deep_and_small(rt, 0);
        fault_stop(rt);
    }
}

/* --- becoming a guest --------------------------------------------------------- */

static void *run_without_room(void *arg)
{
    hi_strand *kept = fault_drain(0);
    fault_spine s = fault_spine_of(50);
    fault_arm(FAULT_MAP | FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_run(arg, fault_spine_root, &s), 0);
    CHECK(fault_disarm() > 0);
    fault_refill(kept);
    fault_check_spine(&s);
    return NULL;
}

static void on_a_new_thread(heist_runtime *rt)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, run_without_room, rt), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* One of the workers does it; without any, on a strand that one has left.  Before
 * threads that have been guests leave their seats to others. */
TEST(a_thread_without_room_for_frames_of_its_own_still_gets_its_answer)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    on_a_new_thread(rt);
    fault_stop(rt);
    on_a_new_thread(NULL);
}

enum {
    VISITORS = 64
};

/* A thread that has never been a guest, and stays until all have been: those
 * who leave would leave their seat to the next. */
typedef struct visitor {
    pthread_t thread;
    heist_runtime *rt;
    long n;
    fault_how how;
    bool hit;
    sem_t been, go;
} visitor;

static void *visit(void *arg)
{
    visitor *v = arg;
    fault_tally before = fault_count();
    hi_strand *kept = fault_drain(0);
    fault_spine s = fault_spine_of(50);
    fault_arm(FAULT_MEMORY, v->n, v->how);
    int rc = heist_run(v->rt, fault_spine_root, &s);
    v->hit = fault_disarm() > 0;
    fault_refill(kept);
    if (rc < 0) {
        CHECK(v->hit);
        CHECK_EQ(rc, -ENOMEM);
        CHECK_EQ(s.ran, 0);
        fault_check_nothing_left(before);
        CHECK_EQ(heist_run(v->rt, fault_spine_root, &s), 0);
    }
    fault_check_spine(&s);
    sem_post(&v->been);
    sem_wait(&v->go);
    return NULL;
}

TEST(a_thread_that_cannot_become_a_guest_is_told_and_nothing_was_done)
{
    static visitor v[VISITORS];
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    fault_check_works(rt); /* its threads have begun */
    long done = 0, refused = 0;
    int visitors = 0;
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n++) {
            CHECK(visitors < VISITORS);
            visitor *one = &v[visitors++];
            *one = (visitor){.rt = rt, .n = n, .how = (fault_how)how};
            sem_init(&one->been, 0, 0);
            sem_init(&one->go, 0, 0);
            CHECK_EQ(pthread_create(&one->thread, NULL, visit, one), 0);
            sem_wait(&one->been);
            if (!one->hit) break;
            refused++;
        }
        done++;
    }
    CHECK_EQ(done, 2);
    CHECK(refused >= 6); /* guest, deque, map or commit: each both ways */
    for (int i = 0; i < visitors; i++) {
        sem_post(&v[i].go);
        CHECK_EQ(pthread_join(v[i].thread, NULL), 0);
    }
    fault_check_works(rt);
    fault_stop(rt);
}

/* --- a region in the middle of a task ------------------------------------------ */

typedef struct inner {
    heist_runtime *rt;
    int rc, ran_without;
    fault_spine s;
    hi_strand *kept;
} inner;

static int run_inside(heist_ctx c, void *arg)
{
    inner *in = arg;
    (void)c;
    fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
    in->rc = heist_run(in->rt, fault_spine_root, &in->s);
    CHECK(fault_disarm() > 0);
    in->ran_without = in->s.ran;
    in->s = fault_spine_of(200);
    CHECK_EQ(heist_run(in->rt, fault_spine_root, &in->s), 0);
    return 0;
}

TEST(a_region_inside_a_task_that_gets_no_strand_is_refused)
{
    heist_runtime *rt = fault_start(2, HEIST_ON_DEMAND);
    inner in = {.rt = rt};
    hi_strand *kept = fault_drain(0);
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(rt, run_inside, &in, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(in.rc, -ENOMEM);
    CHECK_EQ(in.ran_without, 0);
    fault_check_spine(&in.s);
    fault_refill(kept);
    fault_check_works(rt);
    fault_stop(rt);
}

/* --- exposure without room in the deque ------------------------------------------ */

static void expose_without_memory(unsigned workers, heist_exposure exposure)
{
    heist_runtime *rt = fault_start(workers, exposure);
    fault_check_works(rt);
    long hits = 0;
    for (int i = 0; i < 20; i++) {
        fault_spine s = fault_spine_of(1000);
        fault_arm(FAULT_MEMORY, 1, FAULT_EVER_ON);
        CHECK_EQ(heist_run(rt, fault_spine_root, &s), 0);
        hits += fault_disarm();
        fault_check_spine(&s);
    }
    CHECK(workers > 1 || hits > 0); /* many thieves may make enough room */
    fault_check_works(rt);
    fault_stop(rt);
}

TEST(frames_that_find_no_room_in_the_deque_are_done_all_the_same)
{
    expose_without_memory(1, HEIST_EAGER);
    expose_without_memory(4, HEIST_EAGER);
    expose_without_memory(4, HEIST_ON_DEMAND);
}

static int spine_task(heist_ctx c, void *arg)
{
    fault_spine_root(c, arg);
    return 0;
}

TEST(a_tasks_frames_that_find_no_room_in_the_deque_are_done_all_the_same)
{
    heist_runtime *rt = fault_start(4, HEIST_EAGER);
    for (int i = 0; i < 20; i++) {
        heist_latch done;
        heist_latch_init(&done, 1);
        fault_spine s = fault_spine_of(1000);
        fault_arm(FAULT_MEMORY, 2, FAULT_EVER_ON); /* the first is the task */
        CHECK_EQ(heist_spawn(rt, spine_task, &s, &done, HEIST_FOREVER), 0);
        CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
        fault_disarm();
        fault_check_spine(&s);
    }
    fault_check_works(rt);
    fault_stop(rt);
}

/* --- the default runtime ----------------------------------------------------------- */

static void standard_is_gone(void)
{
    CHECK_EQ(heist_stop(NULL, HEIST_FOREVER), 0);
}

TEST(without_threads_the_default_runtime_works_serially)
{
    standard_is_gone();
    fault_tally before = fault_count();
    fault_spine s = fault_spine_of(2000);
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_run(NULL, fault_spine_root, &s), 0);
    CHECK(fault_disarm() > 0);
    fault_check_spine(&s);
    fault_check_nothing_left(before);
    fault_check_works(NULL);
    CHECK(heist_workers(NULL) > 0);
    standard_is_gone();
}

TEST(whatever_the_default_runtime_lacks_the_region_is_done_once_or_refused)
{
    fault_check_works(NULL);
    for (int how = FAULT_ONCE; how <= FAULT_EVER_ON; how++) {
        for (long n = 1;; n++) {
            standard_is_gone();
            fault_tally before = fault_count();
            hi_strand *loops = fault_drain(8 << 20), *kept = fault_drain(0);
            fault_spine s = fault_spine_of(40);
            fault_arm(FAULT_MEMORY | FAULT_THREAD, n, (fault_how)how);
            int rc = heist_run(NULL, fault_spine_root, &s);
            bool hit = fault_disarm() > 0;
            fault_refill(loops);
            fault_refill(kept);
            standard_is_gone();
            fault_check_nothing_left(before);
            if (rc == 0) {
                fault_check_spine(&s);
            } else {
                CHECK(hit);
                CHECK_EQ(rc, -ENOMEM);
                CHECK_EQ(s.ran, 0);
            }
            fault_check_works(NULL);
            if (!hit) break;
        }
    }
    standard_is_gone();
}

/* In a region without a runtime: one fork is open while others are asked. */
typedef struct serial {
    void (*fn)(void *arg);
    void *arg;
    int64_t got;
} serial;

static void with_an_open_fork(heist_ctx c, void *arg)
{
    serial *s = arg;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = 7;
    heist_fork(c, fault_visit);
    s->fn(s->arg);
    if (heist_join(c)) {
        s->got = 7;
    } else {
        s->got = right->result.i;
    }
}

static void serially(void (*fn)(void *arg), void *arg)
{
    serial s = {fn, arg, 0};
    standard_is_gone();
    fault_tally before = fault_count();
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_run(NULL, with_an_open_fork, &s), 0);
    CHECK(fault_disarm() > 0);
    CHECK_EQ(s.got, 7);
    fault_check_nothing_left(before);
}

static void region(void *arg)
{
    CHECK_EQ(heist_run(NULL, fault_spine_root, arg), 0);
}

TEST(a_region_inside_a_serial_region_is_done)
{
    fault_spine s = fault_spine_of(300);
    serially(region, &s);
    fault_check_spine(&s);
}

static void scope(void *arg)
{
    heist_scope s;
    (void)arg;
    heist_scope_open(&s, NULL);
    for (int i = 0; i < 10; i++)
        heist_scope_spawn(&s, fault_count_one, NULL);
    CHECK_EQ(heist_scope_close(&s, HEIST_FOREVER), 0);
}

TEST(a_scope_inside_a_serial_region_runs_its_tasks)
{
    heist_store_relaxed(&fault_ran, 0);
    serially(scope, NULL);
    CHECK_EQ(heist_load_relaxed(&fault_ran), 10);
}

static void refused(void *arg)
{
    (void)arg;
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(NULL, fault_count_one, NULL, &done, HEIST_FOREVER),
             -ENOMEM);
    CHECK_EQ(heist_broadcast(NULL, fault_count_one, NULL), -ENOMEM);
    CHECK_EQ(heist_workers(NULL), 0);
    CHECK_EQ(heist_worker_index(), -1);
    CHECK_EQ(heist_latch_wait(&done, HEIST_NOW), -ETIMEDOUT);
}

TEST(a_serial_region_is_told_that_nobody_takes_tasks)
{
    heist_store_relaxed(&fault_ran, 0);
    serially(refused, NULL);
    CHECK_EQ(heist_load_relaxed(&fault_ran), 0);
}

static void *arrive(void *latch)
{
    heist_latch_arrive(latch);
    return NULL;
}

static void wait_for_latch(void *arg)
{
    CHECK_EQ(heist_latch_wait(arg, heist_after(1000)), -ETIMEDOUT);
    fault_disarm();
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, arrive, arg), 0);
    CHECK_EQ(heist_latch_wait(arg, HEIST_FOREVER), 0);
    CHECK_EQ(pthread_join(other, NULL), 0);
}

TEST(a_serial_region_can_wait_for_other_threads)
{
    heist_latch latch;
    heist_latch_init(&latch, 1);
    serially(wait_for_latch, &latch);
}

static void default_again(void *arg)
{
    (void)arg;
    fault_disarm();
    heist_latch done;
    heist_latch_init(&done, 1);
    CHECK_EQ(heist_spawn(NULL, fault_count_one, NULL, &done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_latch_wait(&done, HEIST_FOREVER), 0);
    CHECK_EQ(heist_broadcast(NULL, fault_count_one, NULL), 0);
    CHECK_EQ(heist_load_relaxed(&fault_ran), 1 + (int)heist_workers(NULL));
    standard_is_gone();
}

TEST(a_serial_region_can_use_the_default_runtime_once_it_can_be_had)
{
    heist_store_relaxed(&fault_ran, 0);
    serial s = {default_again, NULL, 0};
    standard_is_gone();
    fault_arm(FAULT_THREAD, 1, FAULT_EVER_ON);
    CHECK_EQ(heist_run(NULL, with_an_open_fork, &s), 0);
    CHECK_EQ(s.got, 7);
}
