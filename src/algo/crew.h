/* SPDX-License-Identifier: MIT */
#ifndef HI_CREW_H
#define HI_CREW_H

#include <heist/fork.h>

/*
 * Workers that come and go.  Whoever is at work keeps one fork open for
 * others to take, and a new one as soon as that was taken; those who come do the
 * same.  Between two pieces of work:
 *
 *     hi_post post = hi_post_for(help, task);
 *     heist_ctx k = c;
 *     while (some_work(task)) k = hi_invite(k, &post);
 *     while (k.frame != c.frame) { k.frame--; heist_join(k); }
 *
 * and help begins with hi_post_taken(f) and returns when nothing is left.  A
 * join that finds its fork not taken has nothing to do.
 */
typedef struct hi_post {
    heist_frame_fn *help;
    void *task;
    HEIST_ATOMIC(unsigned) taken; /* the newest fork; 1 before the first */
} hi_post;

static inline hi_post hi_post_for(heist_frame_fn *help, void *task)
{
    hi_post post = {.help = help, .task = task};
    heist_init(&post.taken, 1u);
    return post;
}

/* Returns the task. */
static inline void *hi_post_taken(heist_frame *f)
{
    hi_post *post = (hi_post *)f->arg[0].p;
    heist_store_relaxed(&post->taken, 1u); /* relaxed: hint */
    return post->task;
}

static inline void hi_crew_look(heist_ctx c, heist_frame *f)
{
    (void)c;
    (void)f;
}

/* Keeps a fork open; returns the context for the next work. */
static inline heist_ctx hi_invite(heist_ctx k, hi_post *post)
{
    /* relaxed: hint (the fork itself says what happened to it) */
    if (heist_load_relaxed(&post->taken)) {
        heist_store_relaxed(&post->taken, 0u); /* relaxed: hint */
        heist_slot(k)->arg[0].p = post;
        return heist_fork(k, post->help);
    }
    /* Who is hungry is seen by forks and joins only. */
    heist_fork(k, hi_crew_look);
    (void)heist_join(k);
    return k;
}

#endif
