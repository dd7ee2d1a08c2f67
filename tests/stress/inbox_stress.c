/* SPDX-License-Identifier: MIT
 *
 * Every letter posted arrives exactly once, with what was written in it, and
 * in the order of its poster; nodes are posted again as soon as they are read.
 *
 * Edges
 *   BS1  owner release busy -> poster acquire busy   the node is free again
 */
#include "queue/inbox.h"

#include "../test.h"
#include "scale.h"

#include <pthread.h>
#include <sched.h>

enum {
    POSTERS = 8,
    NODES_MAX = 256
};

struct letter {
    hi_inbox_node node;
    size_t from;
    uint64_t number;
    HEIST_ATOMIC(uint32_t) busy;
};

struct poster {
    pthread_t thread;
    size_t id;
    struct letter letters[NODES_MAX];
};

static hi_inbox inbox;
static struct poster posters[POSTERS];
static size_t share; /* letters per poster */
static size_t nodes; /* that each poster has to write them on */
static pthread_barrier_t start;

static void *post(void *arg)
{
    struct poster *p = arg;
    uint64_t random = test_seed + p->id;
    pthread_barrier_wait(&start);
    for (uint64_t i = 0; i < share; i++) {
        struct letter *l = &p->letters[i % nodes];
        /* BS1: the owner has read what we wrote on it before. */
        while (heist_load_acquire(&l->busy))
            sched_yield();
        heist_store_relaxed(&l->busy, 1u); /* relaxed: own-field */
        l->from = p->id;
        l->number = i;
        hi_inbox_post(&inbox, &l->node);
        if (test_random(&random) % 64 == 0) sched_yield();
    }
    return NULL;
}

/* Reads one batch; returns how many letters there were. */
static uint64_t read_all(hi_inbox_node *node, uint64_t *next)
{
    uint64_t n = 0;
    for (; node; n++) {
        struct letter *l = heist_container(node, struct letter, node);
        node = node->next;
        CHECK(l->from < POSTERS);
        CHECK_EQ(l->number, next[l->from]++);
        heist_store_release(&l->busy, 0u); /* BS1: read, then free again. */
    }
    return n;
}

static void run(long count, size_t posters_now, size_t nodes_each)
{
    uint64_t next[POSTERS] = {0}, got = 0, batches = 0;
    share = (size_t)scaled(count) / posters_now;
    nodes = nodes_each;
    memset(posters, 0, sizeof posters);
    hi_inbox_init(&inbox);
    CHECK_EQ(pthread_barrier_init(&start, NULL, (unsigned)posters_now + 1), 0);
    for (size_t i = 0; i < posters_now; i++) {
        posters[i].id = i;
        CHECK_EQ(pthread_create(&posters[i].thread, NULL, post, &posters[i]),
                 0);
    }
    pthread_barrier_wait(&start);
    while (got < share * posters_now) {
        uint64_t n = read_all(hi_inbox_take(&inbox), next);
        if (!n) sched_yield();
        got += n;
        batches += n > 0;
    }
    for (size_t i = 0; i < posters_now; i++) {
        CHECK_EQ(pthread_join(posters[i].thread, NULL), 0);
        CHECK_EQ(next[i], share);
    }
    CHECK(hi_inbox_is_empty(&inbox));
    CHECK(hi_inbox_take(&inbox) == NULL);
    printf("seed %llu: %llu letters in %llu batches\n",
           (unsigned long long)test_seed, (unsigned long long)got,
           (unsigned long long)batches);
    pthread_barrier_destroy(&start);
}

TEST(letters_of_one_poster_arrive_once_and_in_order)
{
    run(2000000, 1, NODES_MAX);
}

TEST(letters_of_eight_posters_arrive_once_and_in_order)
{
    run(4000000, POSTERS, NODES_MAX);
}

/* A post that is overtaken finds the same node newest again and again. */
TEST(few_nodes_that_come_back_at_once_arrive_once_and_in_order)
{
    run(1000000, POSTERS, 1);
    run(1000000, 2, 2);
}
