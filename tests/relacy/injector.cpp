/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include "queue/injector.c"

/* Room for two, so that it is full soon and slots come round again. */
struct injector_of_items {
    items all;
    hi_injector queue;
    int refused;

    void open()
    {
        refused = 0;
        RL_ASSERT(hi_injector_init(&queue, 2, NULL) == 0);
    }

    void push(int i)
    {
        relacy::word item = all.make(i);
        if (hi_injector_push(&queue, item)) return;
        all.sent[i] = 0;
        refused++;
    }

    size_t take(size_t max, relacy::word *last)
    {
        relacy::plain got[2];
        size_t n = hi_injector_take(&queue, got, max);
        RL_ASSERT(n <= max);
        for (size_t i = 0; i < n; i++) {
            all.take(got[i]);
            if (last) RL_ASSERT(got[i] > *last); /* oldest first */
            if (last) *last = got[i];
        }
        return n;
    }

    void close()
    {
        while (take(2, NULL))
            ;
        RL_ASSERT(hi_injector_is_empty(&queue));
        RL_ASSERT(hi_injector_length(&queue) == 0);
        all.all_taken();
        hi_injector_fini(&queue);
    }
};

/* Two producers with two items each, one consumer that takes what is there. */
struct injector_two_producers : rl::test_suite<injector_two_producers, 3> {
    injector_of_items q;

    void before()
    {
        q.open();
    }

    void thread(unsigned id)
    {
        if (id) {
            q.push((int)id * 2 - 1);
            q.push((int)id * 2);
        } else {
            q.take(2, NULL);
            q.take(1, NULL);
        }
    }

    void after()
    {
        q.close();
    }
};

/* One producer fills it and goes on: what is refused was never there, and what
 * was let in comes out in order. */
struct injector_full : rl::test_suite<injector_full, 2> {
    injector_of_items q;
    relacy::word last;

    void before()
    {
        q.open();
        last = 0;
    }

    void thread(unsigned id)
    {
        if (id) {
            for (int i = 1; i <= 5; i++)
                q.push(i);
        } else {
            q.take(1, &last);
            q.take(2, &last);
        }
    }

    void after()
    {
        RL_ASSERT(q.refused <= 3);
        while (q.take(2, &last))
            ;
        q.close();
    }
};

/* One batch, two consumers: no item twice, each gets them oldest first. */
struct injector_two_consumers : rl::test_suite<injector_two_consumers, 3> {
    injector_of_items q;

    void before()
    {
        q.open();
    }

    void thread(unsigned id)
    {
        relacy::word last = 0;
        if (id) {
            q.take(2, &last);
            q.take(1, &last);
        } else {
            q.push(1);
            q.push(2);
            q.push(3);
        }
    }

    void after()
    {
        q.close();
    }
};

static void run_all(command *c)
{
    RUN(c, injector_two_producers);
    RUN(c, injector_full);
    RUN(c, injector_two_consumers);
}
