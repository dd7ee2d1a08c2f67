/* SPDX-License-Identifier: MIT
 *
 * Tasks that are not a tree: a scope that waits for all it owns and collects
 * their errors, a single task with a latch, and one call on every worker.
 */
#include <errno.h>
#include <heist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXTS = 100,
    WORKERS = 4
};

struct text {
    char digits[8];
    long number;
};

/* A task's result is zero or a negative errno; the scope looks at it. */
static int parse(heist_ctx c, void *arg)
{
    (void)c;
    struct text *t = arg;
    char *end;
    t->number = strtol(t->digits, &end, 10);
    return *end ? -EINVAL : 0;
}

/* Spawns a task per text and waits: nothing of the scope outlives it. */
static int parse_all(heist_runtime *rt, struct text *text, uint64_t *failures)
{
    heist_scope s;
    heist_scope_open(&s, rt);
    for (int i = 0; i < TEXTS; i++)
        heist_scope_spawn(&s, parse, &text[i]);
    int rc = heist_scope_close(&s, HEIST_FOREVER);
    *failures = heist_scope_failures(&s);
    return rc;
}

static int sum_up(heist_ctx c, void *arg)
{
    (void)c;
    struct text *text = arg;
    for (int i = 1; i < TEXTS; i++)
        text[0].number += text[i].number;
    return 0;
}

static int visit(heist_ctx c, void *arg)
{
    (void)c;
    int *visits = arg;
    visits[heist_worker_index()]++; /* each worker has its own element */
    return 0;
}

/* 0: as it should be; 1: a wrong answer; or a negative errno. */
static int run(heist_runtime *rt)
{
    struct text text[TEXTS];
    uint64_t failures;
    for (int i = 0; i < TEXTS; i++)
        snprintf(text[i].digits, sizeof text[i].digits, "%d", i);
    int rc = parse_all(rt, text, &failures);
    if (rc < 0) return rc;

    /* One task, one latch: wait for it when its result is needed. */
    heist_latch done;
    heist_latch_init(&done, 1);
    rc = heist_spawn(rt, sum_up, text, &done, HEIST_FOREVER);
    if (rc < 0) return rc;
    heist_latch_wait(&done, HEIST_FOREVER);
    long sum = text[0].number;

    /* Two texts are no numbers: both are counted, the first one is named. */
    strcpy(text[30].digits, "thirty");
    strcpy(text[60].digits, "sixty");
    int error = parse_all(rt, text, &failures);

    int visits[WORKERS] = {0};
    rc = heist_broadcast(rt, visit, visits);
    if (rc < 0) return rc;
    bool once = true;
    for (int i = 0; i < WORKERS; i++)
        once &= visits[i] == 1;

    printf("sum %ld, wanted %d; %d bad texts, wanted 2 (%s); every worker "
           "visited once: %s\n",
           sum, TEXTS * (TEXTS - 1) / 2, (int)failures, strerror(-error),
           once ? "yes" : "NO");
    bool right = sum == TEXTS * (TEXTS - 1) / 2 && failures == 2 &&
                 error == -EINVAL && once;
    return right ? 0 : 1;
}

int main(void)
{
    heist_config config = {.workers = WORKERS};
    heist_runtime *rt;
    int rc = heist_start(&rt, &config);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;
    rc = run(rt);
    if (rc < 0) fprintf(stderr, "%s\n", strerror(-rc));
    heist_stop(rt, HEIST_FOREVER);
    return rc != 0;
}
