/* SPDX-License-Identifier: MIT
 *
 * The threads of a program share one runtime.  Each of them may take part in
 * a computation of its own (heist_run), or hand over tasks and go on with
 * something else (heist_spawn).
 */
#include <heist.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    THREADS = 4,
    TASKS = 50,
    TERMS = 1000
};

struct part {
    long begin, end, sum; /* of the squares in [begin, end) */
};

static long squares_serial(long begin, long end)
{
    long sum = 0;
    for (long i = begin; i < end; i++)
        sum += i * i;
    return sum;
}

static inline long squares(heist_ctx c, long begin, long end);

static void squares_right(heist_ctx c, heist_frame *f)
{
    f->result.i = squares(c, f->arg[0].i, f->arg[1].i);
}

static inline long squares(heist_ctx c, long begin, long end)
{
    if (end - begin < 16) return squares_serial(begin, end);
    long middle = begin + (end - begin) / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].i = middle;
    right->arg[1].i = end;
    long left = squares(heist_fork(c, squares_right), begin, middle);
    if (heist_join(c)) return left + squares(c, middle, end);
    return left + right->result.i;
}

/* As a task it may fork too. */
static int part_task(heist_ctx c, void *arg)
{
    struct part *p = arg;
    p->sum = squares(c, p->begin, p->end);
    return 0;
}

static void part_root(heist_ctx c, void *arg)
{
    part_task(c, arg);
}

/* Even threads take part, odd ones spawn; both end with the same sum. */
struct client {
    pthread_t thread;
    bool takes_part;
    long sum;
    int error;
};

static void *client(void *arg)
{
    struct client *me = arg;
    struct part part[TASKS];
    heist_latch done;
    heist_latch_init(&done, TASKS);
    for (int i = 0; i < TASKS; i++) {
        part[i] = (struct part){i * TERMS, (i + 1) * TERMS, 0};
        int rc;
        if (me->takes_part) {
            rc = heist_run(NULL, part_root, &part[i]);
        } else {
            rc = heist_spawn(NULL, part_task, &part[i], &done, HEIST_FOREVER);
            if (rc < 0) heist_latch_arrive(&done); /* in the task's stead */
        }
        if (rc < 0) me->error = rc;
    }
    if (!me->takes_part) heist_latch_wait(&done, HEIST_FOREVER);
    for (int i = 0; i < TASKS; i++)
        me->sum += part[i].sum;
    return NULL;
}

int main(void)
{
    struct client clients[THREADS];
    memset(clients, 0, sizeof clients);
    int started = 0;
    for (; started < THREADS; started++) {
        struct client *me = &clients[started];
        me->takes_part = started % 2 == 0;
        if (pthread_create(&me->thread, NULL, client, me) != 0) break;
    }
    long wanted = squares_serial(0, (long)TASKS * TERMS);
    int right = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(clients[i].thread, NULL);
        right += clients[i].error == 0 && clients[i].sum == wanted;
    }
    printf("%d of %d threads got the sum %ld\n", right, THREADS, wanted);
    return right != THREADS;
}
