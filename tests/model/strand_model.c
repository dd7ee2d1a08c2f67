/* SPDX-License-Identifier: MIT
 *
 * Strands: their pool, and thieves that still look at one that has ended.
 */
#include "pool.h"

#include "core/frame.h"

enum {
    THREADS = 3
};

/* --- the pool --------------------------------------------------------------- */

/* Writes to what only the owner of a strand may write to. */
static void use_strand(unsigned mark)
{
    hi_strand *s = hi_strand_create(0);
    model_check(s != NULL);
    hi_strand_reset(s, true);
    model_check(heist_load_relaxed(&s->base->fn) == NULL);
    model_check(heist_load_relaxed(&s->base->state) == HI_FRAME_PRIVATE);
    s->nested = mark;
    s->base->arg[0].u = mark;
    model_check(s->nested == mark && s->base->arg[0].u == mark);
    hi_strand_destroy(s);
}

static void use_strands(unsigned id)
{
    use_strand(id + 1);
    if (id == 0) use_strand(id + 10);
}

/* --- two runtimes ----------------------------------------------------------- */

/*
 * Thread 0 runs a region inside a task of the first runtime, and after that
 * thread 2 one of the second; thread 1 is a thief of the first.  Strands of
 * such regions come and go: the thief may look at one that has ended.
 */
static heist_runtime *first, *second;
static unsigned runs[2][THREADS];
static hi_futex is_over; /* the first one's region */

static heist_runtime *runtime_open(unsigned workers)
{
    heist_runtime *rt = pool_open(workers, 2);
    for (unsigned i = 0; i < workers; i++) {
        hi_worker *w = &rt->pool[i];
        w->native = hi_strand_create(0);
        heist_store_relaxed(&w->native->worker, w);
        hi_strand_reset(w->native, true);
        heist_init(&w->strand, w->native);
    }
    return rt;
}

static void two_runtimes(void)
{
    first = runtime_open(2);
    second = runtime_open(1);
}

static void right(heist_ctx c, heist_frame *f)
{
    (void)c;
    runs[f->arg[0].u][model_self()]++;
}

static void region(heist_ctx c, void *arg)
{
    uintptr_t which = (uintptr_t)arg;
    heist_slot(c)->arg[0].u = which;
    heist_fork(c, right);
    if (which == 1) hi_cpu_relax(); /* the left half */
    if (heist_join(c)) runs[which][model_self()]++;
}

/* As hi_find_hidden, with one victim. */
static void thief(void)
{
    hi_worker *w = &first->pool[1];
    hi_strand *s = heist_load_acquire(&first->pool[0].strand);
    hi_cpu_relax(); /* anything may happen now */
    heist_frame *f = hi_frame_rescue(s, w->native->base, NULL);
    if (f) hi_frame_run(w, f, w->native->base);
}

static void regions(unsigned id)
{
    if (id == 1) {
        thief();
        return;
    }
    hi_worker *w = &(id == 0 ? first : second)->pool[0];
    hi_self_set(w);
    if (id == 2) pool_await(&is_over);
    hi_worker_run(w, region, (void *)(uintptr_t)(id == 2));
    if (id == 0) pool_tell(&is_over);
    hi_self_set(NULL);
}

static void each_to_its_own(void)
{
    model_check(runs[0][0] + runs[0][1] == 1 && runs[0][2] == 0);
    model_check(runs[1][2] == 1 && runs[1][0] + runs[1][1] == 0);
    if (runs[0][1]) model_saw(1);
    if (runs[0][0]) model_saw(0);
    pool_close(first);
    pool_close(second);
}

static void stolen_and_not(void)
{
    model_check(model_seen() == 3);
}

static const model_test tests[] = {
    {MODEL_TEST("a_strand_has_one_owner", 2, NULL, use_strands, NULL, NULL),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_thief_takes_frames_of_its_own_runtime_only", 3, two_runtimes,
                regions, each_to_its_own, stolen_and_not),
     MODEL_BOUNDS(1, 1, 3, 2)},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
