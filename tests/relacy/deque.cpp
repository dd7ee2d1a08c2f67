/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include "queue/deque.c"

/* Thread 0 owns the deque, the others steal. */
struct deque_of_items {
    items all;
    hi_deque deque;

    void open(size_t capacity, int64_t first)
    {
        RL_ASSERT(hi_deque_init(&deque, capacity, first, NULL) == 0);
    }

    void push(int i)
    {
        RL_ASSERT(hi_deque_push(&deque, all.make(i)) == 0);
    }

    relacy::word pop()
    {
        relacy::word item = hi_deque_pop(&deque);
        if (item) all.take(item);
        return item;
    }

    /* So many tries; what a thief gets is the oldest, so they rise. */
    void steal(int tries)
    {
        relacy::word last = 0;
        for (int i = 0; i < tries; i++) {
            relacy::plain item;
            if (hi_deque_steal(&deque, &item) != HI_STEAL_TAKEN) continue;
            all.take(item);
            RL_ASSERT(item > last);
            last = item;
        }
    }

    void close()
    {
        relacy::word last = ITEMS_MAX, item;
        while ((item = pop())) {
            RL_ASSERT(item < last); /* newest first */
            last = item;
        }
        RL_ASSERT(hi_deque_is_empty(&deque));
        RL_ASSERT(hi_deque_oldest(&deque) == 0);
        all.all_taken();
        hi_deque_fini(&deque);
    }
};

/* The owner's only item, wanted by everybody. */
template <int threads>
struct last_item : rl::test_suite<last_item<threads>, threads> {
    deque_of_items d;

    void before()
    {
        d.open(2, INT64_MAX); /* the indices run over the end */
    }

    void thread(unsigned id)
    {
        if (id) {
            d.steal(1);
        } else {
            d.push(1);
            d.pop();
        }
    }

    void after()
    {
        d.close();
    }
};

typedef last_item<2> deque_last_item_one_thief;
typedef last_item<3> deque_last_item_two_thieves;

/* The third item makes it grow, some are taken back; the thieves steal all the
 * while. */
template <int threads, int pushes, int pops, int steals>
struct growth : rl::test_suite<growth<threads, pushes, pops, steals>, threads> {
    deque_of_items d;

    void before()
    {
        d.open(2, -1);
    }

    void thread(unsigned id)
    {
        if (id) {
            d.steal(steals);
            return;
        }
        for (int i = 1; i <= pushes; i++)
            d.push(i);
        for (int i = 0; i < pops; i++)
            d.pop();
    }

    void after()
    {
        d.close();
    }
};

typedef growth<2, 4, 2, 3> deque_growth_one_thief;
typedef growth<3, 3, 1, 1> deque_growth_two_thieves;

/* Capacity two and never more than two items: slots are used again and again
 * without growth, while a thief reads them. */
struct deque_reuse : rl::test_suite<deque_reuse, 2> {
    deque_of_items d;

    void before()
    {
        d.open(2, INT64_MIN);
    }

    void thread(unsigned id)
    {
        if (id) {
            d.steal(3);
            return;
        }
        d.push(1);
        d.push(2);
        d.pop();
        d.push(3);
        d.pop();
        d.push(4);
    }

    void after()
    {
        d.close();
    }
};

/* The owner takes back one certain item, a thief wants a range. */
struct deque_pop_if_and_range : rl::test_suite<deque_pop_if_and_range, 2> {
    deque_of_items d;

    void before()
    {
        d.open(2, 0);
    }

    void thread(unsigned id)
    {
        if (id) {
            relacy::plain item;
            relacy::word seen = hi_deque_oldest(&d.deque);
            RL_ASSERT(seen <= 2);
            for (int i = 0; i < 2; i++) {
                if (hi_deque_steal_range(&d.deque, 1, 2, &item) !=
                    HI_STEAL_TAKEN)
                    continue;
                RL_ASSERT(item == 1);
                d.all.take(item);
            }
            return;
        }
        d.push(1);
        d.push(2);
        if (hi_deque_pop_if(&d.deque, 2)) d.all.take(2);
        if (hi_deque_pop_if(&d.deque, 1)) d.all.take(1);
    }

    void after()
    {
        d.close();
    }
};

static void run_all(command *c)
{
    RUN(c, deque_last_item_one_thief);
    RUN(c, deque_last_item_two_thieves);
    RUN(c, deque_reuse);
    RUN(c, deque_growth_one_thief);
    RUN(c, deque_growth_two_thieves);
    RUN(c, deque_pop_if_and_range);
}
