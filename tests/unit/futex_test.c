/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include "../test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A wake that never comes ends a test with a failure instead of a hang. */
#define PATIENCE (20 * HEIST_SECOND)

typedef struct sleeper {
    pthread_t thread;
    hi_futex *word;
    HEIST_ATOMIC(int) tid;
    HEIST_ATOMIC(int) returns; /* from hi_futex_wait, the word unchanged */
    int result;
} sleeper;

/* Sleeps until the word is no longer 0. */
static void *sleep_on_word(void *arg)
{
    sleeper *s = arg;
    int64_t deadline = hi_clock() + PATIENCE;
    heist_store_release(&s->tid, (int)syscall(SYS_gettid));
    while (s->result == 0 && heist_load_acquire(s->word) == 0) {
        s->result = hi_futex_wait(s->word, 0, deadline);
        if (heist_load_acquire(s->word) == 0) heist_add_acq_rel(&s->returns, 1);
    }
    return NULL;
}

/* The kernel's letter for what the thread does; 'S' is sleeping. */
static char thread_state(int tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "r");
    if (!f) return '?';
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *after_name = strrchr(text, ')');
    return after_name ? after_name[2] : '?';
}

static void await_sleep(sleeper *s)
{
    while (heist_load_acquire(&s->tid) == 0)
        sched_yield();
    char state;
    while ((state = thread_state(heist_load_acquire(&s->tid))) != 'S') {
        CHECK(state != '?'); /* it has ended */
        sched_yield();
    }
}

static void start(sleeper *s, hi_futex *word)
{
    memset(s, 0, sizeof *s);
    s->word = word;
    CHECK_EQ(pthread_create(&s->thread, NULL, sleep_on_word, s), 0);
    await_sleep(s);
}

TEST(the_clock_goes_forward_and_is_never_zero)
{
    int64_t last = hi_clock();
    CHECK(last > 0);
    for (int i = 0; i < 100000; i++) {
        int64_t now = hi_clock();
        CHECK(now >= last);
        last = now;
    }
}

TEST(a_wake_reaches_a_sleeper)
{
    hi_futex word = {0};
    sleeper s;
    start(&s, &word);
    heist_store_release(&word, 1);
    hi_futex_wake(&word, 1);
    pthread_join(s.thread, NULL);
    CHECK_EQ(s.result, 0);
}

TEST(a_wake_of_all_reaches_every_sleeper)
{
    enum {
        SLEEPERS = 5
    };

    hi_futex word = {0};
    sleeper s[SLEEPERS];
    for (int i = 0; i < SLEEPERS; i++)
        start(&s[i], &word);
    heist_store_release(&word, 1);
    hi_futex_wake(&word, INT32_MAX);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(s[i].thread, NULL);
        CHECK_EQ(s[i].result, 0);
    }
}

TEST(a_word_that_has_changed_is_not_slept_on)
{
    hi_futex word = {7};
    CHECK_EQ(hi_futex_wait(&word, 6, HEIST_FOREVER), 0);
    CHECK_EQ(hi_futex_wait(&word, 6, hi_clock() + PATIENCE), 0);
}

TEST(a_deadline_ends_the_sleep_and_not_before)
{
    hi_futex word = {0};
    int64_t deadline = hi_clock() + 5 * HEIST_MILLISECOND;
    int rc;
    do {
        rc = hi_futex_wait(&word, 0, deadline);
    } while (rc == 0);
    CHECK_EQ(rc, -ETIMEDOUT);
    CHECK(hi_clock() >= deadline);
}

TEST(a_deadline_in_the_past_does_not_sleep)
{
    static const int64_t past[] = {HEIST_NOW, 1, -1, INT64_MIN};
    hi_futex word = {0};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++)
        CHECK_EQ(hi_futex_wait(&word, 0, past[i]), -ETIMEDOUT);
    CHECK_EQ(hi_futex_wait(&word, 0, hi_clock() - 1), -ETIMEDOUT);
}

static void ignore(int signal_number)
{
    (void)signal_number;
}

TEST(a_signal_interrupts_the_sleep_and_the_sleeper_goes_back)
{
    struct sigaction act = {.sa_handler = ignore}, before;
    sigaction(SIGUSR1, &act, &before);
    hi_futex word = {0};
    sleeper s;
    start(&s, &word);
    while (heist_load_acquire(&s.returns) == 0) {
        pthread_kill(s.thread, SIGUSR1);
        sched_yield();
    }
    await_sleep(&s);
    heist_store_release(&word, 1);
    hi_futex_wake(&word, 1);
    pthread_join(s.thread, NULL);
    CHECK_EQ(s.result, 0);
    sigaction(SIGUSR1, &before, NULL);
}

TEST(waking_memory_that_is_gone_does_nothing)
{
    size_t page = hi_page_size();
    hi_futex *word = hi_pages_reserve(page);
    CHECK(word != NULL);
    CHECK_EQ(hi_pages_commit(word, page), 0);
    hi_pages_release(word, page);
    hi_futex_wake(word, 1);
}

TEST(errno_stays_the_program_s)
{
    hi_futex word = {0};
    errno = 4711;
    CHECK_EQ(hi_futex_wait(&word, 0, HEIST_NOW), -ETIMEDOUT);
    CHECK_EQ(hi_futex_wait(&word, 1, HEIST_FOREVER), 0);
    hi_futex_wake(&word, 1);
    hi_futex_wake((hi_futex *)(UINTPTR_MAX - 4095), 1);
    CHECK_EQ(errno, 4711);
}
