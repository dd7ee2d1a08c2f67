/* SPDX-License-Identifier: MIT
 *
 * lock_model.c: the shipped lock in every order, under C11 and a futex that
 * wakes whom it likes and sometimes for no reason.  What the lock guards is
 * plain, so a lock that does not order is a data race; a wake-up that gets lost
 * is a thread that nobody can wake any more.
 *
 * In the checker a turn of a spin loop waits for a change, so a thread would
 * spin until it gets the lock, and never sleep.  Therefore there is the
 * contended path a second time, from the same source, with a spin loop that
 * ends after its first turn.
 */
#include "model.h"

#include "core/lock.h"

#define hi_lock_contended contended_soon
#define hi_cpu_relax()    ((void)(i = LOCK_SPINS))
#include "core/lock.c"
#undef hi_lock_contended
#undef hi_cpu_relax

enum {
    THREADS = 3
};

static hi_lock lock;
static unsigned inside;
static unsigned rounds;
static unsigned entered;
static unsigned tried[THREADS];
static bool sleeps_soon;

enum {
    GOT_IT,
    WAS_HELD
};

#define SEEN(what) ((uint64_t)1 << (what))

static void section(void)
{
    model_check(inside == 0);
    inside = 1;
    entered++;
    inside = 0;
}

static void start(unsigned n)
{
    heist_init(&lock.word, 0);
    rounds = n;
}

static void once(void)
{
    start(1);
    sleeps_soon = true;
}

static void twice(void)
{
    start(2);
    sleeps_soon = true;
}

static void twice_spinning(void)
{
    start(2);
}

static void take(void)
{
    if (!sleeps_soon)
        hi_lock_take(&lock);
    else if (!hi_lock_try(&lock))
        contended_soon(&lock);
}

static void take_and_give(unsigned id)
{
    (void)id;
    for (unsigned i = 0; i < rounds; i++) {
        take();
        section();
        hi_lock_give(&lock);
    }
}

static void all_entered(unsigned threads)
{
    model_check(entered == threads * rounds);
    model_check(hi_lock_try(&lock)); /* and it is free in the end */
}

static void two_entered(void)
{
    all_entered(2);
}

static void three_entered(void)
{
    all_entered(3);
}

/* Thread 0 only tries, the others take. */
static void try_once(unsigned id)
{
    if (id != 0) {
        take_and_give(id);
        return;
    }
    tried[id] = hi_lock_try(&lock);
    model_saw(tried[id] ? GOT_IT : WAS_HELD);
    if (!tried[id]) return;
    section();
    hi_lock_give(&lock);
}

static void two_and_tries(void)
{
    model_check(entered == 2 * rounds + tried[0]);
    model_check(hi_lock_try(&lock));
}

static void both_outcomes(void)
{
    uint64_t all = SEEN(GOT_IT) | SEEN(WAS_HELD);
    model_check((model_seen() & all) == all);
}

#define TEST(sentence, n, make, run, finish, seen_all, quick_, full_)    \
    {                                                                    \
        MODEL_TEST(sentence, n, make, run, finish, seen_all),            \
            .quick = {.preemptions = (quick_), .stale = 1, .faults = 1}, \
            .full = {                                                    \
                .preemptions = (full_),                                  \
                .stale = 2,                                              \
                .faults = 2                                              \
            }                                                            \
    }

/* Preemptions: quick, full. */
static const model_test tests[] = {
    TEST("two_threads_are_never_inside_together", 2, twice, take_and_give,
         two_entered, NULL, 3, 6),
    TEST("two_threads_that_spin_are_never_inside_together", 2, twice_spinning,
         take_and_give, two_entered, NULL, 3, 6),
    TEST("three_threads_are_never_inside_together", 3, once, take_and_give,
         three_entered, NULL, 2, 4),
    TEST("three_threads_come_back_and_none_sleeps_for_ever", 3, twice,
         take_and_give, three_entered, NULL, 1, 3),
    TEST("a_try_takes_a_free_lock_only", 3, once, try_once, two_and_tries,
         both_outcomes, 2, 4),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
