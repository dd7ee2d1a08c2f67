/* SPDX-License-Identifier: MIT
 *
 * memory.pml: the memory under the Promela models.
 *
 * Each process has a store buffer.  A store goes into it; a load finds the
 * newest own store there, else memory.  A process of its own (Drain) empties
 * the buffer whenever it likes: the oldest store first, except that a relaxed
 * store may overtake older ones to other places.  A release store overtakes
 * nothing.  A fence waits until the buffer is empty.
 *
 * A read-modify-write is NOT a fence: it waits for older own stores (release,
 * also where the code's is relaxed),
 * but then its own store may stay in the buffer while later loads are done, as
 * on aarch64.  Until it leaves, nobody else may change the place.
 *
 * What this memory does not do: loads are never early or stale, so the order of
 * two loads, and acquire, cannot be got wrong here.  The checker that runs the C
 * source does that.
 *
 * -DSC leaves the buffers out: sequential consistency, for more processes.
 *
 * The including file defines PROCS (buffers) and LOCS (places) and has in each
 * process a constant or parameter `me`, the number of its buffer.
 */
#ifndef DEPTH
#define DEPTH 2 /* stores that a buffer holds; a full one makes the next wait */
#endif

typedef Buffer {
    byte n;
    byte loc[DEPTH];
    byte val[DEPTH];
    bit rel[DEPTH];
};

Buffer buf[PROCS];
byte mem[LOCS];
byte held[LOCS]; /* 1 + the process whose read-modify-write is not out yet */

/* All of these are single steps. */

inline peek(l, x)
{
    x = mem[l];
    if
    :: buf[me].n > 0 && buf[me].loc[0] == l -> x = buf[me].val[0]
    :: else
    fi;
    if
    :: buf[me].n > 1 && buf[me].loc[1] == l -> x = buf[me].val[1]
    :: else
    fi
#if DEPTH > 2
    ;
    if
    :: buf[me].n > 2 && buf[me].loc[2] == l -> x = buf[me].val[2]
    :: else
    fi
#endif
}

inline load(l, x)
{
    d_step { peek(l, x); printf("%d: load %d = %d\n", me, l, x) }
}

#ifdef SC
inline hold(l)
{
    skip
}

inline put(l, v, r)
{
    printf("%d: write %d := %d\n", me, l, v);
    mem[l] = v
}
#else
inline hold(l)
{
    held[l] = me + 1
}

inline put(l, v, r)
{
    printf("%d: write %d := %d\n", me, l, v);
    buf[me].loc[buf[me].n] = l;
    buf[me].val[buf[me].n] = v;
    buf[me].rel[buf[me].n] = r;
    buf[me].n++
}
#endif

inline store_relaxed(l, v)
{
    d_step { (buf[me].n < DEPTH) -> put(l, v, 0) }
}

inline store_release(l, v)
{
    d_step { (buf[me].n < DEPTH) -> put(l, v, 1) }
}

#define FREE(l) (buf[me].n == 0 && held[l] == 0)

inline cas(l, old, new, ok)
{
    d_step {
        FREE(l) ->
        if
        :: mem[l] == (old) -> ok = 1; hold(l); put(l, new, 1)
        :: else -> ok = 0; printf("%d: cas %d fails\n", me, l)
        fi
    }
}

/* x: the value before. */
inline add(l, by, x)
{
    d_step { FREE(l) -> x = mem[l]; hold(l); put(l, x + (by), 1) }
}

inline swap(l, new, x)
{
    d_step { FREE(l) -> x = mem[l]; hold(l); put(l, new, 1) }
}

inline and_not(l, bits, x)
{
    d_step {
        FREE(l) -> x = mem[l]; hold(l); put(l, (x & ~(bits)), 1)
    }
}

inline or(l, bits, x)
{
    d_step {
        FREE(l) -> x = mem[l]; hold(l); put(l, (x | (bits)), 1)
    }
}

inline fence()
{
    (buf[me].n == 0)
}

#define OPEN(p, i) \
    (held[buf[p].loc[i]] == 0 || held[buf[p].loc[i]] == p + 1)

/* Writes entry i of buffer p to memory and closes the gap. */
inline out(p, i)
{
    mem[buf[p].loc[i]] = buf[p].val[i];
    printf("%d: out %d := %d\n", p, buf[p].loc[i], buf[p].val[i]);
    if
    :: i == 0 -> held[buf[p].loc[0]] = 0
    :: else
    fi;
    k = i;
    do
    :: k + 1 < buf[p].n ->
        buf[p].loc[k] = buf[p].loc[k + 1];
        buf[p].val[k] = buf[p].val[k + 1];
        buf[p].rel[k] = buf[p].rel[k + 1];
        k++
    :: else -> break
    od;
    buf[p].n--;
    buf[p].loc[buf[p].n] = 0;
    buf[p].val[buf[p].n] = 0;
    buf[p].rel[buf[p].n] = 0;
    k = 0
}

proctype Drain(byte p)
{
    byte k;
end:
    do
    :: d_step { buf[p].n > 0 && OPEN(p, 0) -> out(p, 0) }
#ifndef IN_ORDER
    :: d_step {
        buf[p].n > 1 && !buf[p].rel[1] && buf[p].loc[1] != buf[p].loc[0] &&
            OPEN(p, 1) -> out(p, 1)
    }
#if DEPTH > 2
    :: d_step {
        buf[p].n > 2 && !buf[p].rel[2] && buf[p].loc[2] != buf[p].loc[0] &&
            buf[p].loc[2] != buf[p].loc[1] && OPEN(p, 2) -> out(p, 2)
    }
#endif
#endif
    od
}
