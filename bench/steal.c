/* SPDX-License-Identifier: MIT */
/*
 * What one theft takes: fork a frame, go on forking trifles (a frame is
 * exposed when its owner passes a fork) until somebody else has run it, join.
 *
 * Invariants
 *   I1  `taken` is 0 from before the fork until the thief has run.
 *
 * Edges
 *   P1  ping_right releases taken = 1 -> until_taken acquires it: the thief's
 *       id is there.
 */
#include "ours.h"

#include <pthread.h>

struct ping {
    HEIST_ATOMIC(uint64_t) taken;
    pthread_t thief;
};

static void ping_right(heist_ctx c, heist_frame *f)
{
    struct ping *p = f->arg[0].p;
    (void)c;
    p->thief = pthread_self();
    heist_store_release(&p->taken, 1); /* P1: after the thief's id */
}

static void trifle(heist_ctx c, heist_frame *f)
{
    (void)c;
    f->result.u = 0;
}

static __attribute__((noinline)) void until_taken(heist_ctx c, struct ping *p)
{
    /* P1: the thief has been here. */
    while (!heist_load_acquire(&p->taken)) {
        heist_ctx k = heist_fork(c, trifle);
        heist_done(&k);
    }
}

struct job {
    uint64_t *ns;
    uint64_t n;
    uint64_t stolen;
};

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    for (uint64_t i = 0; i < job->n; i++) {
        struct ping p = {.thief = pthread_self()};
        uint64_t start = bench_now();
        heist_slot(c)->arg[0].p = &p;
        until_taken(heist_fork(c, ping_right), &p);
        if (heist_join(c)) bench_die("a frame that ran and is ours");
        job->ns[i] = bench_now() - start;
        job->stolen += !pthread_equal(p.thief, pthread_self());
    }
}

uint64_t ours_steal(uint64_t *ns, uint64_t n)
{
    struct job job = {ns, n, 0};
    ours_run(root, &job);
    return job.stolen;
}
