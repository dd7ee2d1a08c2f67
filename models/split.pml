/* SPDX-License-Identifier: MIT
 *
 * split.pml: the split point of a strand: fork, expose, take, take back, join,
 * and the rescue, which takes a private frame by a barrier in all threads.
 *
 * models: include/heist/fork.h: heist_fork heist_join
 * models: src/fork/fork.c: heist_fork_slow heist_join_slow may_skip
 * models: src/fork/fork.c: join_locked join_private close_exposed set_line
 * models: src/fork/fork.c: expose
 * models: src/core/frame.c: hi_frame_expose hi_frame_unexpose hi_frame_take
 * models: src/core/frame.c: hi_frame_run hi_frame_rescue hi_frame_settle
 * models: src/core/frame.c: hi_strand_call hi_strand_has_private
 * models: src/core/lock.h: hi_lock_take hi_lock_try hi_lock_give
 * models: src/core/find.c: from_item
 * models: src/core/worker.c: hi_worker_suspend hi_strand_resume
 * models: src/platform/processor.c: hi_barrier_all
 *
 * Each load and store of these functions is a step of its own, over the store
 * buffers of memory.pml; the barrier is one step for each other thread, in which
 * that thread's buffer must be empty.  Coarser than the code:
 *   - the deque of tickets is a set, and popping or stealing one is one step
 *     (deque.pml).  A ticket that is not popped stays, and is stale;
 *   - suspend and resume are one step each (parking.pml has the inbox);
 *   - the owner looks around, exposes and lowers the line where it likes.
 *
 * The owner forks FRAMES frames, joins them in reverse order, and does that
 * ROUNDS times in the same slots.  A thief goes after tickets, a rescuer after
 * private frames; the thief also calls for work (hi_strand_call).
 *
 * Properties (F1 to F5 of frame.c)
 *   - each fork is run exactly once, and with its own arguments
 *   - join returns when it has been run, or says that it has not
 *   - nobody stands still for ever                              Monitor
 *
 * Seeded bugs (-DBUG=n)
 *   1  the rescue without its barrier
 *   2  the rescue does not raise the line
 *   3  the rescue without the lock
 *   4  hi_frame_unexpose without the CAS
 *   5  heist_join reads the line before it closes the frame
 *   6  hi_frame_expose stores the state before the function
 *   7  set_line may go below the split
 *   8  hi_frame_run does not resume who waits
 *   9  heist_fork stores the function before the arguments
 *  10  may_skip does not look whether the line is raised
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef FRAMES
#define FRAMES 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

#define OWNER 0
#define THIEF 1
#define RESCUER 2
#define PROCS 3
#define DEPTH 3

#define LINE 0
#define SPLIT 1
#define LOCK 2
#define FN(f) (3 + (f))
#define STATE(f) (3 + FRAMES + (f))
#define ARG(f) (3 + 2 * FRAMES + (f))
#define RESULT(f) (3 + 3 * FRAMES + (f))
#define LOCS (3 + 4 * FRAMES)

#include "memory.pml"

#define PRIVATE 0
#define EXPOSED 1
#define TAKEN 2
#define WAITED 3
#define DONE 4
#define HIGHEST 9 /* a line above every frame */

bit ticket[FRAMES];
byte ran[FRAMES]; /* the fork (a number) that was run last in that slot */
bit suspended, over;

/* The function of a fork is its number, and so are its arguments. */
inline run_it(f, fork)
{
    assert(ran[f] + 1 == fork); /* exactly once, and not another one */
    ran[f] = fork
}

/* models: src/core/lock.h: hi_lock_take hi_lock_try hi_lock_give */
inline lock_take()
{
    d_step {
        FREE(LOCK) && mem[LOCK] == 0 -> hold(LOCK); put(LOCK, 1, 1)
    }
}

inline lock_give()
{
    store_release(LOCK, 0)
}

/* models: src/core/frame.c: hi_frame_run */
inline frame_run(f)
{
    load(RESULT(f), fn);
    load(ARG(f), x);
    d_step { assert(x == fn); run_it(f, fn) };
    swap(STATE(f), DONE, x);
    if
    :: x == WAITED && BUG != 8 ->
        /* hi_strand_resume: its message is seen after what came before. */
        d_step { (buf[me].n == 0) -> suspended = 0 }
    :: else
    fi;
    x = 0;
    fn = 0
}

/* --- the owner ------------------------------------------------------------------ */

/* models: src/fork/fork.c: set_line */
inline set_line(to)
{
    load(SPLIT, x);
    if
    :: x > to && BUG != 7 -> store_relaxed(LINE, x)
    :: else -> store_relaxed(LINE, to)
    fi;
    x = 0
}

/* models: src/core/frame.c: hi_frame_expose */
inline frame_expose()
{
    load(SPLIT, g);
    load(FN(g), x);
    if
    :: BUG == 6 -> store_release(STATE(g), EXPOSED); store_relaxed(RESULT(g), x)
    :: else -> store_relaxed(RESULT(g), x); store_release(STATE(g), EXPOSED)
    fi;
    /* hi_deque_push: the ticket is seen after what was stored before it. */
    d_step { (buf[me].n == 0 || BUG == 6) -> ticket[g] = 1 };
    store_relaxed(SPLIT, g + 1);
    g = 0;
    x = 0
}

/* models: include/heist/fork.h: heist_fork */
/* models: src/fork/fork.c: heist_fork_slow expose */
inline fork(f)
{
    if
    :: BUG == 9 -> store_release(FN(f), round); store_relaxed(ARG(f), round)
    :: else -> store_relaxed(ARG(f), round); store_release(FN(f), round)
    fi;
    if
    :: skip /* below the limit */
    :: lock_take();
        load(SPLIT, x);
        if
        :: x <= f -> x = 0; frame_expose()
        :: x = 0
        fi;
        if
        :: set_line(f)
        :: set_line(f + 1) /* so that its join looks */
        fi;
        lock_give()
    fi
}

/* models: src/core/frame.c: hi_frame_settle */
/* models: src/core/worker.c: hi_worker_suspend */
inline frame_settle(f)
{
    do
    :: load(STATE(f), x);
        if
        :: x == DONE -> break
        :: x == TAKEN -> /* looks again, or steps aside */
            d_step {
                FREE(STATE(f)) ->
                if
                :: mem[STATE(f)] == TAKEN ->
                    hold(STATE(f));
                    put(STATE(f), WAITED, 1);
                    suspended = 1
                :: else
                fi
            };
            !suspended
        fi
    od;
    x = 0;
    store_relaxed(STATE(f), PRIVATE)
}

/* models: src/fork/fork.c: close_exposed */
inline close_exposed(f)
{
    store_relaxed(SPLIT, f);
    set_line(f);
    lock_give()
}

/* models: src/core/frame.c: hi_frame_unexpose.  hi_deque_pop_if takes the
 * ticket only if it is the newest. */
inline frame_unexpose(f)
{
    if
    :: BUG == 4 -> load(STATE(f), x);
        mine = (x == EXPOSED);
        x = 0;
        if
        :: mine -> store_relaxed(STATE(f), PRIVATE)
        :: else
        fi
    :: else -> cas(STATE(f), EXPOSED, PRIVATE, mine)
    fi;
    if
    :: mine -> ticket[f] = 0
    :: mine -> skip
    :: else
    fi
}

/* models: src/fork/fork.c: may_skip */
inline may_skip(f)
{
    load(LINE, x);
    if
    :: x != HIGHEST || BUG == 10 ->
        load(SPLIT, x);
        mine = (f >= x)
    :: else
    fi;
    x = 0
}

/* models: src/fork/fork.c: join_private */
inline join_private(f)
{
    /* Looks around: exposes an older frame, or not. */
    if
    :: x < f -> x = 0; frame_expose()
    :: x = 0
    fi;
    set_line(f);
    lock_give();
    mine = 1
}

/* models: src/fork/fork.c: join_locked */
inline join_locked(f)
{
    lock_take();
    load(SPLIT, x);
    if
    :: f >= x -> join_private(f)
    :: else ->
        x = 0;
        frame_unexpose(f);
        if
        :: mine -> close_exposed(f)
        :: else ->
            store_relaxed(SPLIT, f + 1);
            lock_give();
            frame_settle(f);
            lock_take();
            close_exposed(f)
        fi
    fi
}

/* models: include/heist/fork.h: heist_join */
/* models: src/fork/fork.c: heist_join_slow */
inline join(f)
{
    if
    :: BUG == 5 -> load(LINE, line); store_relaxed(FN(f), 0)
    :: else -> store_relaxed(FN(f), 0); load(LINE, line)
    fi;
    if
    :: f >= line -> mine = 1
    :: f < line -> may_skip(f) /* as long as there is something to skip */
    :: f < line /* later joins look at once */
    fi;
    line = 0;
    if
    :: !mine -> join_locked(f)
    :: else
    fi;
    if
    :: mine -> run_it(f, round)
    :: else
    fi;
    mine = 0;
    assert(ran[f] == round)
}

proctype Owner(byte me)
{
    byte round = 1, f, g, x, line;
    bit mine;
    do
    :: round <= ROUNDS ->
        do
        :: f < FRAMES -> fork(f); f++
        :: else -> break
        od;
        do
        :: f > 0 -> f--; join(f)
        :: else -> break
        od;
        round++
    :: else -> break
    od;
    over = 1
}

/* --- the others ------------------------------------------------------------------- */

/* models: src/core/find.c: from_item */
/* models: src/core/frame.c: hi_frame_take hi_strand_call */
inline take(t)
{
    cas(STATE(t), EXPOSED, TAKEN, ok);
    if
    :: ok -> frame_run(t)
    :: else
    fi;
    ok = 0
}

proctype Thief(byte me)
{
    byte x, fn;
    bit ok;
    do
    :: d_step { ticket[0] -> ticket[0] = 0 }; take(0)
#if FRAMES > 1
    :: d_step { ticket[1] -> ticket[1] = 0 }; take(1)
#endif
    /* Raising it is always safe; doing it twice changes nothing. */
    :: !over && mem[LINE] != HIGHEST -> store_relaxed(LINE, HIGHEST)
    :: over -> break
    od
}

/* models: src/core/frame.c: hi_frame_rescue hi_strand_has_private */
inline rescue()
{
    load(SPLIT, f);
    /* models: src/platform/processor.c: hi_barrier_all */
    if
    :: BUG != 2 -> store_relaxed(LINE, HIGHEST)
    :: else
    fi;
    if
    :: BUG != 1 ->
        fence();
        buf[OWNER].n == 0;
        buf[THIEF].n == 0
    :: else
    fi;
    if
    :: f < FRAMES -> load(FN(f), fn)
    :: else /* the slot beyond is free */
    fi;
    if
    :: fn != 0 ->
        store_relaxed(RESULT(f), fn);
        store_relaxed(STATE(f), TAKEN);
        store_relaxed(SPLIT, f + 1)
    :: else
    fi;
    if
    :: BUG != 3 -> lock_give()
    :: else
    fi;
    if
    :: fn != 0 -> fn = 0; frame_run(f)
    :: else
    fi
}

/* Something could be there to rescue: looks that see nothing are skipped. */
#if FRAMES > 1
#define HIDDEN \
    ((mem[FN(0)] != 0 && mem[SPLIT] == 0) || \
     (mem[FN(1)] != 0 && mem[SPLIT] == 1))
#else
#define HIDDEN (mem[FN(0)] != 0 && mem[SPLIT] == 0)
#endif

proctype Rescuer(byte me)
{
    byte f, x, fn;
    bit ok;
    do
    :: !over && HIDDEN ->
        load(SPLIT, f);
        if
        :: f < FRAMES -> load(FN(f), x)
        :: else
        fi;
        f = 0;
        if
        :: x != 0 && BUG != 3 -> x = 0; cas(LOCK, 0, 1, ok) /* hi_lock_try */
        :: x != 0 && BUG == 3 -> x = 0; ok = 1
        :: else
        fi;
        if
        :: ok -> ok = 0; rescue(); f = 0
        :: else
        fi
    :: over -> break
    od
}

proctype Monitor()
{
    byte i;
    timeout;
    assert(over);
    do
    :: i < FRAMES -> assert(ran[i] == ROUNDS); i++
    :: else -> break
    od
}

init
{
    byte i;
    atomic {
        run Owner(OWNER);
        run Thief(THIEF);
        run Rescuer(RESCUER);
        do
        :: i < PROCS -> run Drain(i); i++
        :: else -> break
        od;
        i = 0;
        run Monitor()
    }
}
