/* SPDX-License-Identifier: MIT
 *
 * deque.pml: the work-stealing deque, one owner and THIEVES thieves.
 *
 * models: src/queue/deque.c: hi_deque_push hi_deque_pop steal hi_deque_steal
 * models: src/queue/deque.c: grow slot_at hi_deque_init
 *
 * Each load and store of these functions is a step of its own, over the store
 * buffers of memory.pml.  The first array has two slots; growth makes one of
 * four, and the old one stays.  The owner pushes ITEMS items and pops whenever
 * it likes, then pops until nothing is left; each thief tries STEALS times.
 * Left out: hi_deque_steal_range, hi_deque_pop_if, the end of the integers.
 *
 * Properties
 *   W1  nothing is lost: in the end every item was taken        Monitor
 *   W2  exactly once, and an item that was pushed               assert in taken
 *   W3  the owner gets the newest, a thief the oldest           asserts
 * The order of two loads is not at stake here (memory.pml), so the fence in
 * steal and the acquires are not: the checker of the C source has them.
 *
 * Seeded bugs (-DBUG=n)
 *   1  pop without its fence
 *   2  pop takes the last item without the CAS
 *   3  push stores bottom relaxed, so that it may overtake the slot
 *   4  steal reads the slot after its CAS
 *   5  pop does not put bottom back when the last item was stolen
 *   6  growth does not copy
 *   7  growth publishes the array relaxed, before the copies
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef THIEVES
#define THIEVES 1
#endif
#ifndef STEALS
#define STEALS 2
#endif

#define PROCS (1 + THIEVES)
#define DEPTH 3

#define TOP 0 /* indices begin at 1, so that pop may go below */
#define BOTTOM 1
#define ARRAY 2 /* 0: the small array, 1: the big one */
#define SLOT(a, i) (3 + 2 * (a) + ((i) & (1 + 2 * (a))))
#define LOCS 9

#include "memory.pml"

byte pushed; /* items are numbered from 1 as they are pushed */
byte all;    /* the set of items taken */
bit over;

#define GOT(i) ((all >> (i)) & 1)

inline taken(i)
{
    assert(i > 0 && i <= pushed);
    assert(!GOT(i));
    all = all | (1 << (i))
}

/* W3: an item of higher number is newer. */
inline is_newest(i)
{
    k = i + 1;
    do
    :: k <= pushed -> assert(GOT(k)); k++
    :: else -> break
    od;
    k = 0
}

inline is_oldest(i)
{
    k = 1;
    do
    :: k < i -> assert(GOT(k)); k++
    :: else -> break
    od;
    k = 0
}

/* models: src/queue/deque.c: grow */
inline grow()
{
    i = top;
    do
    :: i != bottom && BUG != 6 ->
        load(SLOT(a, i), item);
        store_relaxed(SLOT(1, i), item);
        i++
    :: else -> break
    od;
    a = 1;
    i = 0;
    item = 0;
    if
    :: BUG != 7 -> store_release(ARRAY, 1)
    :: else -> store_relaxed(ARRAY, 1)
    fi
}

/* models: src/queue/deque.c: hi_deque_push */
inline push()
{
    load(BOTTOM, bottom);
    load(TOP, top);
    load(ARRAY, a);
    if
    :: bottom - top > 1 + 2 * a -> grow()
    :: else
    fi;
    pushed++;
    store_relaxed(SLOT(a, bottom), pushed);
    if
    :: BUG != 3 -> store_release(BOTTOM, bottom + 1)
    :: else -> store_relaxed(BOTTOM, bottom + 1)
    fi;
    bottom = 0;
    top = 0;
    a = 0
}

/* models: src/queue/deque.c: hi_deque_pop */
inline pop()
{
    item = 0;
    load(BOTTOM, bottom);
    bottom--;
    load(ARRAY, a);
    store_release(BOTTOM, bottom);
    if
    :: BUG != 1 -> fence()
    :: else
    fi;
    load(TOP, top);
    if
    :: top < bottom ->
        load(SLOT(a, bottom), item);
        d_step { taken(item); is_newest(item) }
    :: top == bottom ->
        load(SLOT(a, bottom), item);
        if
        :: BUG != 2 ->
            d_step {
                FREE(TOP) ->
                if
                :: mem[TOP] == top ->
                    hold(TOP);
                    put(TOP, top + 1, 1);
                    taken(item);
                    is_newest(item)
                :: else -> item = 0
                fi
            }
        :: else -> taken(item)
        fi;
        if
        :: BUG == 5 && item == 0
        :: else -> store_relaxed(BOTTOM, bottom + 1)
        fi
    :: else -> store_relaxed(BOTTOM, bottom + 1)
    fi;
    bottom = 0;
    top = 0;
    a = 0
}

proctype Owner(byte me)
{
    byte bottom, top, a, i, k, item;
    do
    :: pushed < ITEMS -> push()
    :: pushed < ITEMS && pushed > 0 -> pop()
    :: pushed == ITEMS ->
        pop();
        if
        :: item == 0 -> break
        :: else
        fi
    od;
    over = 1
}

/* models: src/queue/deque.c: steal hi_deque_steal */
proctype Thief(byte me)
{
    byte tries, top, bottom, a, k, item;
    do
    :: tries < STEALS ->
        tries++;
        load(TOP, top);
        fence();
        load(BOTTOM, bottom);
        if
        :: top < bottom ->
            load(ARRAY, a);
            if
            :: BUG != 4 -> load(SLOT(a, top), item)
            :: else
            fi;
            d_step {
                FREE(TOP) ->
                if
                :: mem[TOP] == top ->
                    hold(TOP);
                    put(TOP, top + 1, 1);
                    if
                    :: BUG != 4 -> taken(item); is_oldest(item)
                    :: else
                    fi
                :: else -> top = 0
                fi
            };
            if
            :: BUG == 4 && top != 0 -> load(SLOT(a, top), item); taken(item)
            :: else
            fi
        :: else
        fi;
        item = 0;
        top = 0;
        bottom = 0;
        a = 0
    :: else -> break
    od
}

proctype Monitor()
{
    timeout;
    assert(over);
    assert(all == (1 << (ITEMS + 1)) - 2)
}

init
{
    byte i;
    atomic {
        /* models: src/queue/deque.c: hi_deque_init */
        mem[TOP] = 1;
        mem[BOTTOM] = 1;
        run Owner(0);
        i = 1;
        do
        :: i < PROCS -> run Thief(i); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < PROCS -> run Drain(i); i++
        :: else -> break
        od;
        i = 0;
        run Monitor()
    }
}
