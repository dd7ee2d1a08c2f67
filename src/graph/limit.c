/* SPDX-License-Identifier: MIT
 *
 * limit.c: at most so many nodes at a time.
 *
 * A node takes its limits one after the other in the order of their addresses,
 * and waits in line where there is none left, holding those before: nobody can
 * wait in a circle.  Who gives one back hands it to the first in line, who goes
 * on taking the next ones; so none is free while somebody waits for it.  A run
 * that is stopped takes its nodes out of the lines.  Who waits in line visits its
 * runtime, which so does not end.
 *
 * Locks: a root's, then a limit's.
 */
#include "graph/flow.h"

#include <errno.h>

static hi_lock *lock_of(heist_limit *limit)
{
    return heist_container(&limit->lock, hi_lock, word);
}

void heist_limit_init(heist_limit *limit, uint64_t most)
{
    heist_init(&limit->lock, 0);
    heist_init(&limit->generation, hi_generation());
    limit->free = most;
    limit->first = limit->last = NULL;
}

/* In the child of a fork() nobody waits who did in the parent, and the lock may
 * have been held. */
static void after_fork(heist_limit *limit)
{
    hi_number *generation = (void *)&limit->generation;
    if (!hi_forked_begin(generation)) return;
    *lock_of(limit) = (hi_lock){0};
    limit->first = limit->last = NULL;
    hi_forked_end(generation);
}

static heist_flow *root_of(const hi_wait *wait)
{
    return hi_flow_of(wait->place)->root;
}

static const hi_extra *extra_of(const hi_wait *wait)
{
    const heist_flow *f = hi_flow_of(wait->place);
    return hi_graph_extra(f->graph, hi_node_of(f, wait->place));
}

/* --- the two lists a wait is in ------------------------------------------- */

/* Under the limit's lock. */
static void line_add(heist_limit *limit, hi_wait *wait)
{
    hi_wait *last = limit->last;
    wait->limit = limit;
    wait->in_line = true;
    wait->next = NULL;
    wait->before = last;
    if (last)
        last->next = wait;
    else
        limit->first = wait;
    limit->last = wait;
}

static void line_remove(heist_limit *limit, hi_wait *wait)
{
    if (wait->before)
        wait->before->next = wait->next;
    else
        limit->first = wait->next;
    if (wait->next)
        wait->next->before = wait->before;
    else
        limit->last = wait->before;
    wait->in_line = false;
}

/* Under the root's lock. */
static void root_add(heist_flow *root, hi_wait *wait)
{
    wait->listed = true;
    wait->root_before = NULL;
    wait->root_next = root->waits;
    if (root->waits) root->waits->root_before = wait;
    root->waits = wait;
}

static void root_remove(heist_flow *root, hi_wait *wait)
{
    if (!wait->listed) return;
    if (wait->root_before)
        wait->root_before->root_next = wait->root_next;
    else
        root->waits = wait->root_next;
    if (wait->root_next) wait->root_next->root_before = wait->root_before;
    wait->listed = false;
}

/* --- taking --------------------------------------------------------------- */

/* Takes one, or gets in line; who was stopped does not wait for one.  False: it
 * waits. */
static bool take(heist_flow *root, heist_limit *limit, hi_wait *wait)
{
    bool waits = false;
    after_fork(limit);
    hi_lock_take(&root->lock);
    hi_lock_take(lock_of(limit));
    if (limit->free > 0) {
        limit->free--;
        wait->taken++;
    } else if (!hi_flow_stopped(root)) {
        if (root->rt) hi_visit_begin(root->rt); /* it must not end meanwhile */
        line_add(limit, wait);
        root_add(root, wait);
        waits = true;
    }
    hi_lock_give(lock_of(limit));
    hi_lock_give(&root->lock);
    return !waits;
}

/* Takes what is missing; false: it waits, and is not the caller's any more. */
static bool take_all(hi_wait *wait, const hi_extra *e)
{
    heist_flow *root = root_of(wait);
    while (wait->taken < e->limit_count && !hi_flow_stopped(root))
        if (!take(root, e->limits[wait->taken], wait)) return false;
    return true;
}

bool hi_limits_take(heist_flow *f, hi_place *p, const hi_extra *e)
{
    hi_wait *wait = hi_flow_at(f, e->wait);
    wait->place = p;
    return take_all(wait, e);
}

/* --- giving --------------------------------------------------------------- */

static int run_granted(heist_ctx c, void *arg)
{
    hi_place *p = arg;
    hi_flow_run(c, hi_flow_of(p)->root, p, false);
    return 0;
}

static void run_granted_here(heist_ctx c, void *arg)
{
    run_granted(c, arg);
}

/* Into its own runtime; if there is no way in, here. */
static void send_back(hi_wait *wait)
{
    hi_place *p = wait->place;
    heist_runtime *rt = root_of(wait)->rt;
    p->next = NULL;
    wait->task = (hi_task){.fn = run_granted, .arg = p, .borrowed = true};
    if (rt && hi_task_submit(rt, &wait->task, HEIST_NOW) == 0) return;
    while (heist_run(NULL, run_granted_here, p) < 0)
        hi_thread_yield(); /* not even memory for a strand */
}

/* All of its limits are there.  c is in the run of that root. */
static void make_ready(heist_ctx c, const heist_flow *root, hi_wait *wait)
{
    hi_worker *w = hi_worker_of(c);
    hi_place *p = wait->place;
    p->next = NULL;
    if (root_of(wait) == root && hi_job_push(w, &p->job))
        hi_job_post(w);
    else
        send_back(wait);
}

/* Gives one back; who is first in line has it then, and is returned. */
static hi_wait *give(heist_limit *limit)
{
    hi_lock_take(lock_of(limit));
    hi_wait *first = limit->first;
    if (first) {
        line_remove(limit, first);
        first->taken++;
    } else {
        limit->free++;
    }
    hi_lock_give(lock_of(limit));
    return first;
}

void hi_limits_give(heist_ctx c, heist_flow *f, const hi_extra *e)
{
    hi_wait *mine = hi_flow_at(f, e->wait);
    while (mine->taken > 0) {
        hi_wait *next = give(e->limits[--mine->taken]);
        if (!next) continue;
        heist_flow *theirs = root_of(next);
        heist_runtime *rt = theirs->rt;
        hi_lock_take(&theirs->lock);
        root_remove(theirs, next);
        hi_lock_give(&theirs->lock);
        if (take_all(next, extra_of(next))) make_ready(c, f->root, next);
        if (rt) hi_visit_end(rt); /* it is not in that line any more */
    }
}

/* --- stopping ------------------------------------------------------------- */

hi_wait *hi_limits_leave(heist_flow *root, hi_wait *left)
{
    while (root->waits) {
        hi_wait *wait = root->waits;
        root_remove(root, wait);
        hi_lock_take(lock_of(wait->limit));
        bool ours = wait->in_line; /* else it was just handed over */
        if (ours) line_remove(wait->limit, wait);
        hi_lock_give(lock_of(wait->limit));
        if (!ours) continue;
        wait->next = left;
        left = wait;
    }
    return left;
}

void hi_limits_send_back(hi_wait *left)
{
    while (left) {
        hi_wait *next = left->next;
        heist_runtime *rt = root_of(left)->rt;
        send_back(left);
        if (rt) hi_visit_end(rt); /* it is not in that line any more */
        left = next;
    }
}
