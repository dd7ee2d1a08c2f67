/* SPDX-License-Identifier: MIT
 *
 * parking.pml: how workers go to sleep and are woken, and how a runtime stops.
 *
 * models: src/core/sleep.c: take_bit give_token wake_one hi_sleep_post
 * models: src/core/sleep.c: hi_sleep_search hi_sleep_found hi_sleep_park
 * models: src/core/sleep.c: sleep_on_parker wake_self hi_sleep_wake
 * models: src/core/sleep.c: hi_sleep_wake_all hi_sleep_all_idle
 * models: src/core/worker.c: next_work
 * models: src/core/find.c: hi_find_local steal_pass hi_find_search
 * models: src/core/find.c: hi_find_letter from_injector hi_worker_visible_work
 * models: src/core/task.c: submit submit_foreign heist_spawn heist_broadcast
 * models: src/core/runtime.h: hi_visit_begin hi_visit_end
 * models: src/core/runtime.c: is_quiet hi_runtime_maybe_quiet announcements
 * models: src/core/runtime.c: nothing_left wait_quiet threads_end heist_stop
 * models: src/queue/injector.c: hi_injector_length hi_injector_take
 * models: src/queue/deque.c: hi_deque_oldest
 * models: src/platform/futex.c: hi_futex_wait hi_futex_wake
 *
 * Each load and store of these functions is a step of its own, over the store
 * buffers of memory.pml.  Coarser than the code:
 *   - a queue is two counters, one for what was put in (a release store by the
 *     owner of a deque, a read-modify-write for the injector) and one for what
 *     was taken (CAS).  deque.pml has the deque in full;
 *   - a futex call is one step after a fence, which is what the kernel promises;
 *   - the home CPU in wake_one becomes: any order.  The clock in search becomes:
 *     one pass.  Both only make the model harder;
 *   - the injector gives one task, or two, of which one goes to the deque;
 *   - guests, frames, `awake` and the watchman's choice are left out; time-outs
 *     and spurious wake-ups are there (NOISE of them in a run).
 *
 * Three workers, or a stopper, are too many for all that: -DCOARSE makes one
 * step each of a look at all queues, of a pass over them, of hi_sleep_search,
 * wake_one, announcements and hi_sleep_all_idle.
 *
 * Scenario: FOREIGN tasks come from outside (POSTERS threads share them).  With
 * CHILD, the first one, when run, spawns one more into its worker's deque and
 * then does not return until somebody else has run that: a poster may not be
 * needed to help.  LEAF: the first one does not return before the others have
 * run.  INBOX: one task goes to worker 0's inbox instead.  STOP: somebody stops
 * the runtime meanwhile.
 *
 * Properties
 *   - a task runs at most once                               assert in RUN
 *   - when nothing moves any more, all that was posted has run, nobody is
 *     counted as searching, all workers sleep (STOP: have ended)    Monitor
 *   - one token for one bit                                  assert in give_token
 *   - a stop is not before the last task; no visitor touches freed memory
 *   - W5, LTL, weak fairness for every process: what is posted is run
 *
 * Seeded bugs (-DBUG=n); models/run expects each to be found
 *   1  hi_sleep_post without its fence
 *   2  hi_sleep_park without its fence
 *   3  the last searcher does not look (hi_sleep_found)
 *   4  the waker takes the bit and stores no token
 *   5  one futex wait without a loop
 *   6  hi_sleep_park does not look once more
 *   7  hi_sleep_found without its fence
 *   8  a token without counting the woken worker as searching
 *   9  wake_self takes its bit back without counting itself as searching, so
 *      nobody looks again when it takes one task of two
 *  10  STOP: hi_visit_end does not tell the stopper
 *  11  STOP: hi_visit_begin without its fence
 *  12  STOP: heist_stop does not wait for visitors that are about to be gone
 *  13  wake_self leaves a token behind that was on its way
 *  14  from_injector moves tasks to the own deque and tells nobody: who looked
 *      in between saw them neither here nor there
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef N
#define N 2 /* workers */
#endif
#ifndef FOREIGN
#define FOREIGN 1
#endif
#ifndef POSTERS
#define POSTERS 1
#endif
#ifndef NOISE
#define NOISE 0
#endif

#ifdef CHILD
#define TASKS (FOREIGN + 1)
#else
#define TASKS FOREIGN
#endif

/* Buffers: workers, posters, the stopper. */
#define STOPPER (N + POSTERS)
#ifdef STOP
#define PROCS (STOPPER + 1)
#else
#define PROCS STOPPER
#endif

/* Places.  Queue 0 is the injector, queue w + 1 the deque of worker w. */
#define SEARCHING 0
#define IDLE 1
#define PARKER(w) (2 + (w))
#define TAKEN(q) (2 + N + (q))
#define PUT(q) (3 + 2 * N + (q))
#define INBOX_ (4 + 3 * N) /* of worker 0 */
#define PHASE (5 + 3 * N)
#define VISITORS (6 + 3 * N) /* inside + LEAVING * those about to be gone */
#define QUIET (7 + 3 * N)
#define ANNOUNCED(w) (8 + 3 * N + (w))
#define LOCS (8 + 4 * N)
#define LEAVING 16

#include "memory.pml"

#define AWAKE 0
#define ASLEEP 1
#define TOKEN 2
#define RUNNING 0
#define STOPPING 1
#define ENDING 2

/* Ghosts: nothing below reads them but the checks and the kernel's futexes. */
byte posted, ran;      /* sets of tasks */
byte tokens;           /* set of workers that somebody owes a token */
bit waits[N];          /* in the kernel, on its parker */
bit stopper_waits;     /* in the kernel, on QUIET */
byte ended, gone;      /* workers; posters */
bit freed;
byte noise = NOISE;
byte slot[N * TASKS];  /* which tasks are in the deques */

#define HAS(set, i) (((set) >> (i)) & 1)

#ifdef COARSE
#define ONE_STEP atomic
#else
#define ONE_STEP
#endif

/* models: src/platform/futex.c: hi_futex_wait hi_futex_wake */
inline futex_wake(v)
{
    d_step { (buf[me].n == 0) -> waits[v] = 0 }
}

/* --- waking ---------------------------------------------------------------- */

/* models: src/core/sleep.c: take_bit */
inline take_bit(v, yes)
{
    d_step {
        FREE(IDLE) -> yes = HAS(mem[IDLE], v);
        hold(IDLE);
        put(IDLE, (mem[IDLE] & ~(1 << v)), 1);
        if
        :: yes && v != me -> assert(!HAS(tokens, v)); tokens = tokens | (1 << v)
        :: else
        fi
    }
}

/* models: src/core/sleep.c: give_token */
inline give_token(v)
{
    if
    :: BUG != 8 -> add(SEARCHING, 1, x)
    :: else
    fi;
    x = 0;
    if
    :: BUG != 4 ->
        swap(PARKER(v), TOKEN, x);
        assert(x != TOKEN);
        if
        :: x == ASLEEP -> futex_wake(v)
        :: else
        fi
    :: else
    fi;
    x = 0
}

/* models: src/core/sleep.c: wake_one */
inline wake_one()
{
    ONE_STEP {
        load(IDLE, bits);
        do
        :: bits == 0 -> break
        :: else ->
            /* Any of those seen. */
            select_bit();
            take_bit(v, ok);
            if
            :: ok -> give_token(v); break
            :: else -> bits = bits & ~(1 << v)
            fi
        od;
        bits = 0;
        v = 0;
        ok = 0
    }
}

inline select_bit()
{
    if
    :: HAS(bits, 0) -> v = 0
#if N > 1
    :: HAS(bits, 1) -> v = 1
#endif
#if N > 2
    :: HAS(bits, 2) -> v = 2
#endif
    fi
}

/* models: src/core/sleep.c: hi_sleep_post */
inline sleep_post()
{
    if
    :: BUG != 1 -> fence()
    :: else
    fi;
    load(SEARCHING, x);
    if
    :: x == 0 -> wake_one()
    :: else
    fi;
    x = 0
}

/* models: src/core/sleep.c: hi_sleep_wake */
inline sleep_wake(w)
{
    take_bit(w, ok);
    if
    :: ok -> give_token(w)
    :: else
    fi;
    ok = 0
}

/* --- looking ----------------------------------------------------------------- */

#ifdef COARSE
inline visible_work(yes)
{
    d_step {
        yes = 0;
        q = 0;
        do
        :: q <= N -> yes = yes || mem[TAKEN(q)] < mem[PUT(q)]; q++
        :: else -> break
        od;
        q = 0
    }
}
#else
/* models: src/core/find.c: hi_worker_visible_work
 * models: src/queue/injector.c: hi_injector_length
 * models: src/queue/deque.c: hi_deque_oldest */
inline visible_work(yes)
{
    load(PUT(0), b);
    load(TAKEN(0), t);
    yes = (t < b);
    q = 1;
    do
    :: yes || q > N -> break
    :: else ->
        load(TAKEN(q), t);
        load(PUT(q), b);
        if
        :: t >= b -> q++
        :: else ->
            /* Taken meanwhile: look at it again. */
            load(TAKEN(q), b);
            yes = (b == t)
        fi
    od;
    q = 0;
    t = 0;
    b = 0
}
#endif

#define NONE 99

/* The owner's push: the task, then the count. */
inline push(task)
{
    load(PUT(me + 1), x);
    d_step {
        (buf[me].n < DEPTH) ->
        slot[me * TASKS + x] = task;
        put(PUT(me + 1), x + 1, 1)
    };
    x = 0
}

#ifdef COARSE
inline take(w)
{
    d_step {
        if
        :: mem[TAKEN(w + 1)] < mem[PUT(w + 1)] ->
            item = slot[(w) * TASKS + mem[TAKEN(w + 1)]];
            mem[TAKEN(w + 1)] = mem[TAKEN(w + 1)] + 1
        :: else -> item = NONE
        fi
    }
}

inline from_injector()
{
    d_step {
        if
        :: mem[TAKEN(0)] < mem[PUT(0)] ->
            item = mem[TAKEN(0)];
            b = mem[PUT(0)] - item;
            b = (b / N + 1 < b -> b / N + 1 : b);
            mem[TAKEN(0)] = item + b
        :: else -> item = NONE
        fi
    };
    if
    :: b == 2 ->
        b = 0;
        push(item + 1);
        if
        :: BUG != 14 -> sleep_post()
        :: else
        fi
    :: else -> b = 0
    fi
}
#else
/* Takes the oldest of worker w's deque: a CAS on what was taken. */
inline take(w)
{
    do
    :: load(TAKEN(w + 1), t);
        load(PUT(w + 1), b);
        if
        :: t >= b -> item = NONE; break
        :: else ->
            cas(TAKEN(w + 1), t, t + 1, ok);
            if
            :: ok -> item = slot[(w) * TASKS + t]; break
            :: else /* somebody was faster: look again */
            fi
        fi
    od;
    t = 0;
    b = 0;
    ok = 0
}

/* models: src/core/find.c: from_injector */
inline from_injector()
{
    do
    :: load(PUT(0), b);
        load(TAKEN(0), t);
        if
        :: t >= b -> item = NONE; break
        :: else
        fi;
        /* The share of one worker, and one; 2 at most with these TASKS. */
        b = (t + (b - t) / N + 1 < b -> t + (b - t) / N + 1 : b);
        cas(TAKEN(0), t, b, ok);
        if
        :: ok && b == t + 1 -> item = t; break
        :: ok && b != t + 1 ->
            item = t;
            b = 0;
            push(t + 1);
            t = 0;
            if
            :: BUG != 14 -> sleep_post()
            :: else
            fi;
            break
        :: else
        fi
    od;
    t = 0;
    b = 0;
    ok = 0
}
#endif

/* models: src/core/find.c: hi_find_local hi_find_letter from_injector */
inline local_work()
{
    ONE_STEP {
        item = NONE;
#ifdef INBOX
        if
        :: me == 0 ->
            load(INBOX_, x);
            if
            :: x != 0 -> swap(INBOX_, 0, x); item = 0
            :: else
            fi;
            x = 0
        :: else
        fi;
#endif
        if
        :: item == NONE -> take(me)
        :: else
        fi;
        if
        :: item == NONE -> from_injector()
        :: else
        fi
    }
}

/* models: src/core/find.c: steal_pass */
inline steal_pass()
{
    ONE_STEP {
        item = NONE;
#if N == 1
        skip
#elif N == 2
        take(1 - me)
#else
        /* From a random start. */
        if
        :: q = (me + 1) % N
        :: q = (me + 2) % N
        fi;
        take(q);
        if
        :: item == NONE -> q = 3 - me - q; take(q)
        :: else
        fi;
        q = 0
#endif
    }
}

/* --- sleeping ---------------------------------------------------------------- */

/* models: src/core/sleep.c: hi_sleep_found */
inline sleep_found()
{
    if
    :: searching ->
        searching = 0;
        add(SEARCHING, -1, x);
        assert(x != 0);
        if
        :: x == 1 && BUG != 3 ->
            if
            :: BUG != 7 -> fence()
            :: else
            fi;
            visible_work(ok);
            if
            :: ok -> ok = 0; wake_one()
            :: else
            fi
        :: else
        fi;
        x = 0
    :: else
    fi
}

/* The token was used: somebody owed it. */
inline used_token()
{
    d_step {
        assert(HAS(tokens, me));
        tokens = tokens & ~(1 << me)
    }
}

/* models: src/core/sleep.c: sleep_on_parker.  yes: there was a token. */
inline sleep_on_parker(may_end, yes)
{
    yes = 1;
    cas(PARKER(me), AWAKE, ASLEEP, ok);
    if
    :: ok ->
        do
        :: load(PARKER(me), x);
            if
            :: x != ASLEEP -> break
            :: else
            fi;
            /* The kernel compares and queues in one step. */
            d_step {
                (buf[me].n == 0) ->
                waits[me] = (mem[PARKER(me)] == ASLEEP)
            };
            if
            :: !waits[me]
            :: d_step { noise > 0 && waits[me] -> noise--; waits[me] = 0 }
            :: d_step {
                may_end && noise > 0 && waits[me] ->
                noise--;
                waits[me] = 0;
                yes = 0
            };
                break
            fi;
            if
            :: BUG == 5 -> break
            :: else
            fi
        od;
        if
        :: !yes ->
            cas(PARKER(me), ASLEEP, AWAKE, ok);
            yes = !ok
        :: else
        fi
    :: else
    fi;
    if
    :: yes -> swap(PARKER(me), AWAKE, x); used_token()
    :: else
    fi;
    x = 0;
    ok = 0
}

/* models: src/core/sleep.c: wake_self */
inline wake_self()
{
    take_bit(me, ok);
    if
    :: ok && BUG == 9 -> ok = 0
    :: ok && BUG != 9 -> ok = 0; add(SEARCHING, 1, x); x = 0; searching = 1
    :: !ok && BUG == 13
    :: !ok && BUG != 13 -> sleep_on_parker(0, yes); searching = 1; yes = 0
    fi
}

/* models: src/core/runtime.c: hi_runtime_maybe_quiet */
inline maybe_quiet()
{
    assert(!freed);
    add(QUIET, 1, x);
    x = 0;
    d_step { (buf[me].n == 0) -> stopper_waits = 0 }
}

/* --- the worker ---------------------------------------------------------------- */

/* models: src/core/task.c: submit heist_spawn */
inline run_task()
{
    d_step { assert(!HAS(ran, item)); ran = ran | (1 << item) };
#ifdef CHILD
    if
    :: item == 0 ->
        item = NONE;
        posted = posted | (1 << FOREIGN);
        push(FOREIGN);
        sleep_post();
        HAS(ran, FOREIGN) /* a long leaf: it looks at nothing meanwhile */
    :: else
    fi;
#endif
#ifdef LEAF
    if
    :: item == 0 -> item = NONE; (ran == (1 << FOREIGN) - 1)
    :: else
    fi;
#endif
    item = NONE
}

/* models: src/core/worker.c: next_work */
/* models: src/core/find.c: hi_find_search */
proctype Worker(byte me)
{
    byte t, b, q, x, v, bits, item = NONE;
    bit ok, yes, searching, called;
next:
    local_work();
    if
    :: item != NONE -> sleep_found(); run_task(); goto next
    :: else
    fi;
seek:
    /* models: src/core/sleep.c: hi_sleep_search */
    if
    :: !searching ->
        ONE_STEP {
            load(SEARCHING, x);
            if
            :: 2 * x < N || N == 1 -> add(SEARCHING, 1, x); searching = 1
            :: else
            fi;
            x = 0
        }
    :: else
    fi;
    if
    :: searching || called ->
        called = 0;
        steal_pass();
        if
        :: item == NONE -> local_work()
        :: else
        fi;
        if
        :: item != NONE -> sleep_found(); run_task(); goto next
        :: else
        fi
    :: else
    fi;
#ifdef STOP
    load(PHASE, x);
    if
    :: x == ENDING -> x = 0; goto over
    :: else
    fi;
    x = 0;
#endif
park:
    /* models: src/core/sleep.c: hi_sleep_park */
    if
    :: searching -> searching = 0; add(SEARCHING, -1, x); assert(x != 0); x = 0
    :: else
    fi;
#ifdef STOP
    ONE_STEP {
        load(ANNOUNCED(me), x);
        store_relaxed(ANNOUNCED(me), x + 1)
    };
#endif
    or(IDLE, 1 << me, x);
    x = 0;
    if
    :: BUG != 2 -> fence()
    :: else
    fi;
    if
    :: BUG != 6 ->
        yes = 0;
#ifdef INBOX
        if
        :: me == 0 -> load(INBOX_, x); yes = (x != 0); x = 0
        :: else
        fi;
#endif
        if
        :: !yes -> visible_work(yes)
        :: else
        fi;
#ifdef STOP
        if
        :: !yes -> load(PHASE, x); yes = (x == ENDING); x = 0
        :: else
        fi;
#endif
        if
        :: yes -> yes = 0; wake_self(); goto woken
        :: else
        fi
    :: else
    fi;
#ifdef STOP
    load(PHASE, x);
    if
    :: x != RUNNING -> maybe_quiet()
    :: else
    fi;
    x = 0;
#endif
    sleep_on_parker(1, yes);
    if
    :: yes -> yes = 0; searching = 1; goto woken
    :: else
    fi;
    wake_self(); /* the time came first: no search, local work, and again */
    local_work();
    if
    :: item != NONE -> sleep_found(); run_task(); goto next
    :: else -> goto park
    fi;
woken:
    called = 1;
    local_work();
    if
    :: item != NONE -> sleep_found(); run_task(); goto next
    :: else -> goto seek
    fi;
over:
    ended++
}

/* --- outside ------------------------------------------------------------------- */

inline accept(i)
{
    posted = posted | (1 << i)
}

/* models: src/core/runtime.h: hi_visit_begin */
inline visit_begin()
{
    d_step {
        FREE(VISITORS) ->
        if
        :: freed -> x = NONE /* too late to call at all */
        :: else -> hold(VISITORS); put(VISITORS, mem[VISITORS] + 1, 1)
        fi
    };
    if
    :: x != NONE && BUG != 11 -> fence(); load(PHASE, x)
    :: x != NONE && BUG == 11 -> load(PHASE, x)
    :: else
    fi
}

/* models: src/core/runtime.h: hi_visit_end */
inline visit_end()
{
    assert(!freed);
    add(VISITORS, LEAVING - 1, x);
    fence();
    assert(!freed);
    load(PHASE, x);
    if
    :: x != RUNNING && BUG != 10 -> maybe_quiet()
    :: else
    fi;
    assert(!freed);
    add(VISITORS, -LEAVING, x);
    x = 0
}

/* models: src/core/task.c: submit_foreign heist_broadcast */
proctype Poster(byte me)
{
    byte x, v, bits, i;
    bit ok;
    do
    :: i < FOREIGN / POSTERS ->
#ifdef STOP
        visit_begin();
        if
        :: x == NONE -> break
        :: x != RUNNING && x != NONE -> visit_end(); break
        :: else
        fi;
#endif
#ifdef INBOX
        d_step { FREE(INBOX_) -> hold(INBOX_); put(INBOX_, 1, 1);
                 accept(0) };
        sleep_wake(0);
#else
        /* The push returns the number of the task. */
        d_step {
            FREE(PUT(0)) -> hold(PUT(0));
            accept(mem[PUT(0)]);
            put(PUT(0), mem[PUT(0)] + 1, 1)
        };
        sleep_post();
#endif
#ifdef STOP
        visit_end();
#endif
        i++
    :: else -> break
    od;
    x = 0;
    gone++
}

#ifdef STOP
/* models: src/core/runtime.c: announcements */
inline announcements(sum)
{
    ONE_STEP {
        sum = 0;
        v = 0;
        do
        :: v < N -> load(ANNOUNCED(v), x); sum = sum + x; v++
        :: else -> break
        od;
        x = 0;
        v = 0
    }
}

/* models: src/core/sleep.c: hi_sleep_all_idle.  Bits share a word, but each is
 * a load of its own. */
inline all_idle(yes)
{
    ONE_STEP {
        fence();
        v = 0;
        yes = 1;
        do
        :: yes && v < N -> load(IDLE, x); yes = HAS(x, v); v++
        :: else -> break
        od;
        x = 0;
        v = 0
    }
}

/* models: src/core/runtime.c: is_quiet nothing_left */
inline is_quiet()
{
    fence();
    announcements(before);
    all_idle(ok);
    if
    :: ok -> load(VISITORS, x); ok = (x % LEAVING == 0); x = 0
    :: else
    fi;
    if
    :: ok -> visible_work(ok); ok = !ok
    :: else
    fi;
#ifdef INBOX
    if
    :: ok -> load(INBOX_, x); ok = (x == 0); x = 0
    :: else
    fi;
#endif
    if
    :: ok -> all_idle(ok)
    :: else
    fi;
    if
    :: ok ->
        announcements(after);
        ok = (before == after)
    :: else
    fi;
    before = 0;
    after = 0
}

/* models: src/core/runtime.c: heist_stop wait_quiet threads_end */
proctype Stopper(byte me)
{
    byte x, t, b, q, v, seen, before, after;
    bit ok;
    cas(PHASE, RUNNING, STOPPING, ok);
    do
    :: load(QUIET, seen);
        is_quiet();
        if
        :: ok -> break
        :: else
        fi;
        d_step {
            (buf[me].n == 0) -> stopper_waits = (mem[QUIET] == seen)
        };
        !stopper_waits
    od;
    seen = 0;
    ok = 0;
    assert(ran == posted); /* nothing accepted is left behind */
    store_release(PHASE, ENDING);
    /* models: src/core/sleep.c: hi_sleep_wake_all */
    v = 0;
    do
    :: v < N ->
        take_bit(v, ok);
        if
        :: ok -> give_token(v)
        :: else
        fi;
        v++
    :: else -> break
    od;
    ended == N; /* hi_thread_join */
    if
    :: BUG != 12 ->
        /* One who has begun is counted: to begin now is the caller's mistake. */
        d_step { mem[VISITORS] == 0 && held[VISITORS] == 0 -> freed = 1 }
    :: else -> freed = 1
    fi;
    assert(ran == posted)
}
#endif

#ifndef LTL
/* Nothing can move any more. */
proctype Monitor()
{
    timeout;
    assert(ran == posted);
    assert(gone == POSTERS);
    assert(tokens == 0);
#ifdef STOP
    assert(ended == N && freed);
#else
    assert(posted == (1 << TASKS) - 1);
    assert(mem[SEARCHING] == 0);
    assert(mem[IDLE] == (1 << N) - 1)
#endif
}
#endif

init
{
    byte i;
    atomic {
        do
        :: i < N -> run Worker(i); i++
        :: else -> break
        od;
        do
        :: i < N + POSTERS -> run Poster(i); i++
        :: else -> break
        od;
#ifdef STOP
        run Stopper(STOPPER);
#endif
        i = 0;
#ifndef SC
        do
        :: i < PROCS -> run Drain(i); i++
        :: else -> break
        od;
        i = 0;
#endif
#ifndef LTL
        run Monitor();
#endif
    }
}

#ifdef LTL
ltl w5 { [] (HAS(posted, LTL) -> <> HAS(ran, LTL)) }
#endif
