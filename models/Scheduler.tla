---------------------------- MODULE Scheduler ----------------------------
\* SPDX-License-Identifier: MIT
\*
\* The scheduler as a whole: tasks from outside and from tasks, the injector,
\* the deques, a frame with its ticket, idle bits, searchers, tokens, stop.
\*
\* models: src/core/task.c: submit_foreign submit heist_spawn
\* models: src/core/find.c: hi_find_local from_deque from_injector
\* models: src/core/find.c: from_item steal_pass hi_find_search
\* models: src/core/worker.c: next_work loop
\* models: src/core/sleep.c: hi_sleep_post hi_sleep_search hi_sleep_found
\* models: src/core/sleep.c: hi_sleep_park wake_self wake_one give_token
\* models: src/core/sleep.c: hi_sleep_wake_all sleep_on_parker
\* models: src/core/frame.c: hi_frame_expose hi_frame_take hi_frame_unexpose
\* models: src/core/frame.c: hi_frame_run hi_frame_settle
\* models: src/fork/fork.c: heist_join_slow
\* models: src/core/runtime.c: heist_stop is_quiet threads_end
\* models: src/core/runtime.h: hi_visit_begin
\*
\* Atomic here and not in the code: every queue operation (deque.pml has its
\* steps), a look at all queues, hi_sleep_post from its fence to the token
\* (parking.pml has its steps), the state changes of a frame (split.pml),
\* is_quiet.  Memory is sequentially consistent.  The injector gives one task at
\* a time, and there is one visitor.  A join that has to wait blocks its worker
\* here; in the code the worker goes on with other work.  Left out: the inbox,
\* guests, the watchman, and in_turn, by which the owner now and then takes the
\* oldest of its deque as a thief would.
\*
\* What happens: the tasks in Foreign come from outside.  Task Parent spawns the
\* tasks in Children (two at most) into its worker's deque, posts once, and does
\* not return before all other tasks are done, so that others must do them.
\* Task Forker forks the frame Frame, exposes it and joins it.  Somebody may stop
\* the runtime at any time.
\*
\* Seeded bugs (Bug = n); models/run expects each to be found
\*   1  the poster notifies nobody
\*   2  no second look before the sleep
\*   3  the last searcher does not look
\*   4  a bit is taken and no token given
\*   5  who takes its own bit back is not counted as searching
\*   6  a thief leaves what it took in the deque
\*   7  a thief takes the newest
\*   8  a stale ticket is taken for a frame
\*   9  stop does not ask whether the workers are idle
\*  10  a worker sleeps on though it has its token
\*  11  the stopper lets the sleepers sleep
\*
\* Checked
\*   W1  no task is lost: what was accepted is in one queue, in one hand, or done
\*   W2  nothing runs twice, or in two hands at once
\*   W3  the owner takes the newest of its deque, a thief the oldest: by stamps
\*       given when they were pushed, not by the places in the sequence
\*   W4  linearizability is NOT checked here: operations are atomic, so it would
\*       be assumed.  It is checked on the C source by the checker.  Here: a frame
\*       has one taker, and joins only after its run
\*   W5  progress: what is queued is done at last, and a runtime that is told to
\*       stop ends; with weak fairness for each process by itself
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Workers, Foreign, Parent, Children, Forker, Frame, Bug

VARIABLES
    injector,  \* sequence of tasks
    deque,     \* per worker: sequence of [what, stamp], newest last
    stamps,    \* pushes so far
    took,      \* the last take: kind, stamp, the stamps that stayed
    accepted,  \* set of what was published
    runs,      \* how often each has been run
    done,      \* set of what was finished
    frame,     \* private, exposed, taken, done
    taker,     \* set of workers that took the frame
    pc, hand,  \* per worker: where it is, what it holds
    counted,   \* per worker: counts itself as searching
    called,    \* per worker: woken, may search uncounted
    searching, \* the shared counter
    idle,      \* the idle bits
    token,     \* per worker
    poster,    \* the visitor: out, in, notify
    phase      \* running, stopping, ending

queues == <<injector, deque, stamps, took>>
work == <<accepted, runs, done>>
frames == <<frame, taker>>
sleep == <<searching, idle, token>>
own == <<counted, called>>
vars == <<injector, deque, stamps, took, accepted, runs, done, frame, taker,
          pc, hand, counted, called, searching, idle, token, poster, phase>>

None == 0
Items == (((Foreign \cup Children) \cup {Frame}) \ {None})

Init ==
    /\ (injector = <<>>)
    /\ (deque = [w \in Workers |-> <<>>])
    /\ (stamps = 0)
    /\ (took = [kind |-> "none", stamp |-> 0, rest |-> {}])
    /\ (accepted = {})
    /\ (runs = [i \in Items |-> 0])
    /\ (done = {})
    /\ (frame = "private")
    /\ (taker = {})
    /\ (pc = [w \in Workers |-> "look"])
    /\ (hand = [w \in Workers |-> None])
    /\ (counted = [w \in Workers |-> FALSE])
    /\ (called = [w \in Workers |-> FALSE])
    /\ (searching = 0)
    /\ (idle = {})
    /\ (token = [w \in Workers |-> FALSE])
    /\ (poster = "out")
    /\ (phase = "running")

Stamps(q) == {(q[i]).stamp : i \in 1..Len(q)}
Whats(q) == {(q[i]).what : i \in 1..Len(q)}
Visible == ((Len(injector) > 0) \/ (\E w \in Workers : (Len(deque[w]) > 0)))
Go(w, to) == (pc' = [pc EXCEPT ![w] = to])

\* models: src/core/sleep.c: wake_one give_token
Wake(v) ==
    /\ (idle' = (idle \ {v}))
    /\ (searching' = (searching + 1))
    /\ (token' = [token EXCEPT ![v] = (Bug # 4)])

WakeOne ==
    IF (idle # {})
    THEN (\E v \in idle : Wake(v))
    ELSE (UNCHANGED sleep)

\* models: src/core/sleep.c: hi_sleep_post
Post ==
    IF ((searching = 0) /\ (Bug # 1))
    THEN WakeOne
    ELSE (UNCHANGED sleep)

\* --- from outside -----------------------------------------------------------

\* models: src/core/runtime.h: hi_visit_begin
Enter ==
    /\ (poster = "out")
    /\ (phase = "running")
    /\ (Foreign \ accepted # {})
    /\ (poster' = "in")
    /\ (UNCHANGED <<queues, work, frames, pc, hand, own, sleep, phase>>)

\* models: src/core/task.c: submit_foreign
Inject ==
    /\ (poster = "in")
    /\ (\E t \in (Foreign \ accepted) :
           /\ (\A u \in (Foreign \ accepted) : (t <= u))
           /\ (injector' = Append(injector, t))
           /\ (accepted' = (accepted \cup {t})))
    /\ (poster' = "notify")
    /\ (UNCHANGED <<deque, stamps, took, runs, done, frames, pc, hand, own,
                    sleep, phase>>)

Notify ==
    /\ (poster = "notify")
    /\ Post
    /\ (poster' = "out")
    /\ (UNCHANGED <<queues, work, frames, pc, hand, own, phase>>)

Visitor == ((Inject) \/ (Notify))

\* --- a worker finds work -----------------------------------------------------

\* It has item i in its hand.
Hold(w, i) ==
    /\ (hand' = [hand EXCEPT ![w] = i])
    /\ Go(w, "found")

\* models: src/core/find.c: from_deque from_item
\* models: src/core/frame.c: hi_frame_take
\* A ticket is only a hint: the frame itself decides.
Got(w, i) ==
    IF (i = Frame)
    THEN (IF ((frame = "exposed") \/ (Bug = 8))
          THEN (/\ (frame' = "taken")
                /\ (taker' = (taker \cup {w}))
                /\ Hold(w, i))
          ELSE (/\ (UNCHANGED <<frame, taker, hand, pc>>)))
    ELSE (/\ Hold(w, i)
          /\ (UNCHANGED frames))

Pop(w) ==
    LET q == deque[w]
        n == Len(q)
    IN /\ (n > 0)
       /\ (deque' = [deque EXCEPT ![w] = SubSeq(q, 1, (n - 1))])
       /\ (took' = [kind |-> "pop", stamp |-> (q[n]).stamp,
                    rest |-> (Stamps(SubSeq(q, 1, (n - 1))))])
       /\ Got(w, (q[n]).what)
       /\ (UNCHANGED <<injector, stamps>>)

Oldest(w, v) ==
    LET q == deque[v]
        n == Len(q)
        at == (IF (Bug = 7) THEN n ELSE 1)
        rest == (IF (Bug = 7) THEN SubSeq(q, 1, (n - 1)) ELSE SubSeq(q, 2, n))
    IN /\ (n > 0)
       /\ (deque' = (IF (Bug = 6) THEN deque
                     ELSE [deque EXCEPT ![v] = rest]))
       /\ (took' = [kind |-> "steal", stamp |-> (q[at]).stamp,
                    rest |-> (Stamps(rest))])
       /\ Got(w, (q[at]).what)
       /\ (UNCHANGED <<injector, stamps>>)

\* models: src/core/find.c: from_injector
FromInjector(w) ==
    /\ (Len(injector) > 0)
    /\ (injector' = Tail(injector))
    /\ Hold(w, Head(injector))
    /\ (UNCHANGED <<deque, stamps, took, frames>>)

\* models: src/core/find.c: hi_find_local
\* models: src/core/worker.c: next_work
Look(w) ==
    /\ (pc[w] = "look")
    /\ (IF (Len(deque[w]) > 0)
        THEN Pop(w)
        ELSE (IF (Len(injector) > 0)
              THEN FromInjector(w)
              ELSE (/\ Go(w, "search")
                    /\ (UNCHANGED <<queues, frames, hand>>))))
    /\ (UNCHANGED <<work, own, sleep, poster, phase>>)

\* models: src/core/find.c: hi_find_search
\* models: src/core/sleep.c: hi_sleep_search
Search(w) ==
    /\ (pc[w] = "search")
    /\ (IF ((counted[w]) \/ ((2 * searching) < Cardinality(Workers)))
        THEN (/\ (searching' = (IF counted[w] THEN searching
                                ELSE (searching + 1)))
              /\ (counted' = [counted EXCEPT ![w] = TRUE])
              /\ Go(w, "steal"))
        ELSE (/\ Go(w, (IF called[w] THEN "steal" ELSE "park"))
              /\ (UNCHANGED <<searching, counted>>)))
    /\ (called' = [called EXCEPT ![w] = FALSE])
    /\ (UNCHANGED <<queues, work, frames, hand, idle, token, poster, phase>>)

\* models: src/core/find.c: steal_pass
Steal(w) ==
    /\ (pc[w] = "steal")
    /\ (IF (\E v \in (Workers \ {w}) : (Len(deque[v]) > 0))
        THEN (\E v \in (Workers \ {w}) : Oldest(w, v))
        ELSE (IF (Len(injector) > 0)
              THEN FromInjector(w)
              ELSE (/\ Go(w, (IF (phase = "ending") THEN "ended" ELSE "park"))
                    /\ (UNCHANGED <<queues, frames, hand>>))))
    /\ (UNCHANGED <<work, own, sleep, poster, phase>>)

\* models: src/core/sleep.c: hi_sleep_found
Found(w) ==
    /\ (pc[w] = "found")
    /\ (IF (counted[w])
        THEN (/\ (counted' = [counted EXCEPT ![w] = FALSE])
              /\ (IF (((searching = 1) /\ Visible) /\ ((idle # {}) /\ (Bug # 3)))
                  THEN (\E v \in idle :
                           (/\ (idle' = (idle \ {v}))
                            /\ (searching' = searching)
                            /\ (token' = [token EXCEPT ![v] = (Bug # 4)])))
                  ELSE (/\ (searching' = (searching - 1))
                        /\ (UNCHANGED <<idle, token>>))))
        ELSE (UNCHANGED <<counted, sleep>>))
    /\ Go(w, "run")
    /\ (called' = [called EXCEPT ![w] = FALSE])
    /\ (UNCHANGED <<queues, work, frames, hand, poster, phase>>)

\* --- a worker sleeps -----------------------------------------------------------

\* models: src/core/sleep.c: hi_sleep_park
Announce(w) ==
    /\ (pc[w] = "park")
    /\ (idle' = (idle \cup {w}))
    /\ (searching' = (IF counted[w] THEN (searching - 1) ELSE searching))
    /\ (counted' = [counted EXCEPT ![w] = FALSE])
    /\ Go(w, (IF (Bug = 2) THEN "asleep" ELSE "recheck"))
    /\ (UNCHANGED <<queues, work, frames, hand, called, token, poster, phase>>)

\* models: src/core/sleep.c: wake_self
\* Somebody else may have taken the bit: then his token is on its way.
Recheck(w) ==
    /\ (pc[w] = "recheck")
    /\ (IF ((Visible \/ (phase = "ending")) /\ (w \in idle))
        THEN (/\ (idle' = (idle \ {w}))
              /\ (searching' = (IF (Bug = 5) THEN searching
                                ELSE (searching + 1)))
              /\ (counted' = [counted EXCEPT ![w] = (Bug # 5)])
              /\ (called' = [called EXCEPT ![w] = TRUE])
              /\ Go(w, "look"))
        ELSE (/\ Go(w, "asleep")
              /\ (UNCHANGED <<idle, searching, own>>)))
    /\ (UNCHANGED <<queues, work, frames, hand, token, poster, phase>>)

\* models: src/core/sleep.c: sleep_on_parker
Awake(w) ==
    /\ (pc[w] = "asleep")
    /\ ((token[w]) /\ (Bug # 10))
    /\ (token' = [token EXCEPT ![w] = FALSE])
    /\ (counted' = [counted EXCEPT ![w] = TRUE])
    /\ (called' = [called EXCEPT ![w] = TRUE])
    /\ Go(w, "look")
    /\ (UNCHANGED <<queues, work, frames, hand, searching, idle, poster, phase>>)

\* --- a worker works --------------------------------------------------------------

Least(S) == (CHOOSE i \in S : (\A j \in S : (i <= j)))
Entry(i, n) == [what |-> i, stamp |-> (stamps + n)]

\* Pushes a set of one or two, the least first.
Push(w, S) ==
    /\ (deque' = [deque EXCEPT
                  ![w] = (IF (Cardinality(S) = 1)
                          THEN Append(deque[w], Entry(Least(S), 1))
                          ELSE Append(Append(deque[w], Entry(Least(S), 1)),
                                      Entry(Least(S \ {Least(S)}), 2)))])
    /\ (stamps' = (stamps + Cardinality(S)))
    /\ (UNCHANGED <<injector, took>>)

\* models: src/core/worker.c: loop
\* models: src/core/task.c: submit heist_spawn
\* models: src/core/frame.c: hi_frame_expose hi_frame_run
Run(w) ==
    /\ (pc[w] = "run")
    /\ (LET i == hand[w]
        IN (/\ (runs' = [runs EXCEPT ![i] = (runs[i] + 1)])
            /\ (IF (i = Parent)
                THEN (/\ (IF (Children = {})
                          THEN (/\ Go(w, "leaf")
                                /\ (UNCHANGED queues))
                          ELSE (/\ Push(w, Children)
                                /\ Go(w, "post")))
                      /\ (accepted' = (accepted \cup Children))
                      /\ (UNCHANGED <<done, hand, frame>>))
                ELSE (IF (i = Forker)
                      THEN (/\ Push(w, {Frame})
                            /\ (accepted' = (accepted \cup {Frame}))
                            /\ (frame' = "exposed")
                            /\ Go(w, "post")
                            /\ (UNCHANGED <<done, hand>>))
                      ELSE (/\ (done' = (done \cup {i}))
                            /\ (frame' = (IF (i = Frame) THEN "done"
                                          ELSE frame))
                            /\ (hand' = [hand EXCEPT ![w] = None])
                            /\ Go(w, "look")
                            /\ (UNCHANGED <<queues, accepted>>))))))
    /\ (UNCHANGED <<taker, own, sleep, poster, phase>>)

PostOwn(w) ==
    /\ (pc[w] = "post")
    /\ Post
    /\ Go(w, (IF (hand[w] = Parent) THEN "leaf" ELSE "join"))
    /\ (UNCHANGED <<queues, work, frames, hand, own, poster, phase>>)

Return(w) ==
    /\ (done' = (done \cup {hand[w]}))
    /\ (hand' = [hand EXCEPT ![w] = None])
    /\ Go(w, "look")

\* The parent: a long leaf, which looks at nothing.
Leaf(w) ==
    /\ (pc[w] = "leaf")
    /\ ((accepted \ {Parent}) \subseteq done)
    /\ Return(w)
    /\ (UNCHANGED <<queues, accepted, runs, frames, own, sleep, poster, phase>>)

\* models: src/fork/fork.c: heist_join_slow
\* models: src/core/frame.c: hi_frame_unexpose hi_frame_settle
\* Exposed: takes it back (the ticket stays, and is stale) and runs it here.
Join(w) ==
    /\ (pc[w] = "join")
    /\ (IF (frame = "exposed")
        THEN (/\ (frame' = "done")
              /\ (taker' = (taker \cup {w}))
              /\ (runs' = [runs EXCEPT ![Frame] = (runs[Frame] + 1)])
              /\ (done' = (done \cup {Frame, Forker})))
        ELSE (/\ (frame = "done")
              /\ (done' = (done \cup {Forker}))
              /\ (UNCHANGED <<frame, taker, runs>>)))
    /\ (hand' = [hand EXCEPT ![w] = None])
    /\ Go(w, "look")
    /\ (UNCHANGED <<queues, accepted, own, sleep, poster, phase>>)

Worker(w) ==
    \/ Look(w) \/ Search(w) \/ Steal(w) \/ Found(w) \/ Announce(w)
    \/ Recheck(w) \/ Awake(w) \/ Run(w) \/ PostOwn(w) \/ Leaf(w) \/ Join(w)

\* --- stop -------------------------------------------------------------------------

\* models: src/core/runtime.c: heist_stop
Stop ==
    /\ (phase = "running")
    /\ (phase' = "stopping")
    /\ (UNCHANGED <<queues, work, frames, pc, hand, own, sleep, poster>>)

\* models: src/core/runtime.c: is_quiet threads_end
\* models: src/core/sleep.c: hi_sleep_wake_all
Quiet ==
    /\ (poster = "out")
    /\ (~Visible)
    /\ ((idle = Workers) \/ (Bug = 9))

End ==
    /\ (phase = "stopping")
    /\ Quiet
    /\ (phase' = "ending")
    /\ (IF (Bug = 11)
        THEN (UNCHANGED sleep)
        ELSE (/\ (idle' = {})
              /\ (searching' = (searching + Cardinality(idle)))
              /\ (token' = [w \in Workers |->
                            ((token[w]) \/ (w \in idle))])))
    /\ (UNCHANGED <<queues, work, frames, pc, hand, own, poster>>)

\* All is over: stand still.
Over ==
    /\ (\A w \in Workers : (pc[w] = "ended"))
    /\ (UNCHANGED vars)

Next ==
    \/ Enter \/ Visitor \/ Stop \/ End \/ Over
    \/ (\E w \in Workers : Worker(w))

\* Fairness for each process by itself.  Enter and Stop need not happen.
Spec ==
    /\ Init
    /\ [][Next]_vars
    /\ WF_vars(Visitor)
    /\ WF_vars(End)
    /\ (\A w \in Workers : WF_vars(Worker(w)))

\* --- what must hold ---------------------------------------------------------------

InQueues(i) ==
    ((\E k \in 1..Len(injector) : (injector[k] = i))
     \/ (\E w \in Workers : (i \in Whats(deque[w]))))
Hands(i) == {w \in Workers : (hand[w] = i)}

\* A stale ticket may lie about, so the frame is counted by its state.
NoneLost ==
    /\ (\A i \in (accepted \ {Frame}) :
           ((i \in done) \/ (InQueues(i) \/ (Hands(i) # {}))))
    /\ ((frame = "exposed") => InQueues(Frame))
    /\ ((frame = "taken") => ((Hands(Frame) # {}) \/ (Frame \in done)))
    /\ ((phase = "ending") => (accepted \subseteq done))

OnlyOnce ==
    /\ (\A i \in Items : (runs[i] <= 1))
    /\ (\A i \in Items : (Cardinality(Hands(i)) <= 1))
    /\ (\A i \in (Items \ {Frame}) : ((Hands(i) # {}) => (~InQueues(i))))

Order ==
    /\ ((took.kind = "pop") => (\A s \in took.rest : (s < took.stamp)))
    /\ ((took.kind = "steal") => (\A s \in took.rest : (s > took.stamp)))

OneTaker ==
    /\ (Cardinality(taker) <= 1)
    /\ ((Forker \in done) => (Frame \in done))

\* searching is what the workers say, and the tokens on their way.
Counts ==
    /\ (searching = (Cardinality({w \in Workers : (counted[w])})
                     + Cardinality({w \in Workers : (token[w])})))
    /\ (\A w \in Workers : (token[w] => (w \notin idle)))

\* W5.
AllDone == (accepted \subseteq done)
Ended == (\A w \in Workers : (pc[w] = "ended"))
Stopping == (phase # "running")
HasWork == (accepted # done)
Progress == (HasWork ~> AllDone)
Stops == (Stopping ~> Ended)
==========================================================================
