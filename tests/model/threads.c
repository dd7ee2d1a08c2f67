/* SPDX-License-Identifier: MIT
 *
 * threads.c: the threads of an execution and who of them runs next.
 *
 * Threads are coroutines.  The switch does not ask on which stack a thread
 * runs at the moment: the program may switch stacks inside a thread.
 */
#include "engine.h"

#include <stdio.h>

void *hi_switch(hi_context *from, hi_context *to);
void *hi_switch_make(void *top, void (*entry)(void *arg), void *arg);

void threads_init(void)
{
    engine.threads = engine_map(SLOTS * sizeof *engine.threads);
}

void threads_reset(void)
{
    for (unsigned i = 0; i < engine.test->threads; i++)
        memset(&engine.threads[i], 0, offsetof(thread, now));
    engine.started = engine.test->threads;
    engine.ready = engine.yielded = engine.live = engine.settled = 0;
    engine.left_to_end = 0;
    engine.unjoined = 0;
    engine.patience = POINTS_MAX;
    engine.steps = engine.point = engine.changes = 0;
    engine.idle_turns = 0;
    engine.idle_jump = 1000;
    engine.clock = 1000000;
}

/* --- begin and end -------------------------------------------------------------- */

static void thread_end(thread *t)
{
    engine.point++;
    if (engine.tracing) trace(NULL, "ends");
    engine.live &= ~bit(t->slot);
    engine.ready &= ~bit(t->slot);
    for (unsigned i = 0; i < engine.started; i++)
        if (engine.live & bit(i) && engine.threads[i].joining == (int)t->slot)
            engine.ready |= bit(i);
    unsigned main = engine.test->threads;
    if (t->slot < main && --engine.left_to_end == 0) engine.ready |= bit(main);
    changed();
    leave();
    __builtin_unreachable();
}

static void thread_main(void *arg)
{
    thread *t = arg;
    t->fn(t->arg);
    if (t->at_exit) t->at_exit(t->at_exit_arg);
    if (t->slot == engine.test->threads) main_ends(t);
    thread_end(t);
}

static void set_name(thread *t, const char *name)
{
    size_t n = name ? strnlen(name, sizeof t->name - 1) : 2;
    char own[] = {'T', (char)('0' + t->slot)};
    memcpy(t->name, name ? name : own, n);
    t->name[n] = 0;
}

/* The child knows what its parent knows. */
thread *thread_create(unsigned slot, void (*fn)(void *arg), void *arg,
                      const char *name)
{
    if (slot >= SLOTS) fail("more than %d threads", SLOTS);
    thread *t = &engine.threads[slot];
    if (engine.started <= slot) engine.started = slot + 1;
    memset(t, 0, offsetof(thread, now));
    t->slot = slot;
    t->fn = fn;
    t->arg = arg;
    t->joining = -1;
    t->fresh = true;
    set_name(t, name);
    char *top = (char *)(STACKS + (t->slot + 1) * STACK_BYTES);
    t->context.sp = hi_switch_make(top, thread_main, t);
    thread *parent = engine.current;
    if (parent) {
        engine.unjoined++;
        memcpy(t->now, parent->now, (size_t)engine.length * sizeof(stamp));
        parent->now[parent->slot]++;
    } else {
        memset(t->now, 0, (size_t)engine.length * sizeof(stamp));
    }
    t->now[t->slot] = 1;
    engine.live |= bit(t->slot);
    engine.ready |= bit(t->slot);
    if (engine.mode == RANDOM) t->priority = random_next() | UINT64_C(1) << 63;
    return t;
}

/* --- who runs next --------------------------------------------------------------- */

/*
 * Steps that change places.  A thread t was about to make a step, others went
 * first, and nothing of what they did has to do with that step.  If t went on
 * now, the execution would be the same as one in which t makes the step first
 * and is left then, with as many preemptions or fewer: it has been explored,
 * because to go on is option 0.  So t is settled, and not chosen until somebody
 * does something that its step could notice, or that could notice its step.
 *
 * This holds for preemptions only (a free switch would become one), and not
 * while somebody spins, because fairness counts turns.
 */
static const effect EVERYTHING = {.all = true};

static bool dependent(effect a, effect b)
{
    if (a.all || b.all || (a.strong && b.strong) || (a.timed && b.timed))
        return true;
    return a.cell == b.cell && a.cell && (a.write || b.write);
}

void notice(effect does)
{
    for (unsigned rest = engine.settled; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        if (dependent(does, engine.threads[i].next)) engine.settled &= ~bit(i);
    }
}

/* What can follow option 0 is known by the time another one is taken. */
void moment(void)
{
    choice *c = engine.current->chosen;
    if (c && !c->taken) c->timed = true;
    notice((effect){.timed = true});
}

/*
 * Fairness, after Musuvathi and Qadeer (PLDI 2008): who could have run during
 * a whole turn of a thread's spin loop and did not goes before that thread
 * from then on.  Otherwise two spinning threads could keep a third one out for
 * ever.
 */
static void turn_ends(thread *t)
{
    notice(EVERYTHING);
    t->behind |= t->waiting & ~t->scheduled & ~bit(t->slot);
    t->waiting = engine.ready;
    t->scheduled = 0;
    t->run_since = engine.steps;
}

static void is_scheduled(unsigned slot)
{
    for (unsigned i = 0; i < engine.started; i++) {
        thread *t = &engine.threads[i];
        t->scheduled |= bit(slot);
        t->behind &= ~bit(slot);
        t->waiting &= engine.ready;
    }
}

/* Those of the set that are not behind another one of it. */
static unsigned fair(unsigned set)
{
    unsigned in_front = 0;
    for (unsigned rest = set; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);
        if (!(engine.threads[i].behind & engine.ready)) in_front |= bit(i);
    }
    return in_front;
}

static void run(thread *t)
{
    thread *from = engine.current;
    is_scheduled(t->slot);
    t->run_since = engine.steps;
    t->ready_then = engine.ready;
    engine.patience = engine.point + POINTS_MAX;
    if (t == from) return;
    engine.current = t;
    hi_switch(&from->context, &t->context);
}

/* The threads of the set, in turn from the one after the current. */
static unsigned list(unsigned set, uint8_t *slots)
{
    unsigned n = 0, low = bit(engine.current->slot) - 1;
    for (unsigned later = set & ~low; later; later &= later - 1)
        slots[n++] = (uint8_t)__builtin_ctz(later);
    for (unsigned earlier = set & low; earlier; earlier &= earlier - 1)
        slots[n++] = (uint8_t)__builtin_ctz(earlier);
    return n;
}

/* Random mode: at its change points a thread falls behind all others. */
static void lower_priority(thread *t)
{
    for (unsigned i = 0; i < sizeof engine.change_points / sizeof(uint32_t);
         i++)
        if (engine.change_points[i] == engine.steps) t->priority = i;
}

static _Noreturn void too_long(void)
{
    fail("livelock: more than %d steps", STEPS_MAX);
}

/* A loop over cells that are not known to be shared makes no steps. */
void lose_patience(void)
{
    thread *t = engine.current;
    if (++t->losses > 10) fail("livelock: %s goes round in circles", t->name);
    engine.patience = engine.point + POINTS_MAX;
    turn_ends(t);
    leave();
}

static bool somebody_spins(void)
{
    unsigned behind = engine.yielded;
    for (unsigned i = 0; i < engine.started; i++)
        behind |= engine.threads[i].behind;
    return behind != 0;
}

static void preempt(thread *t, thread *next, effect does)
{
    if (engine.left.preemptions) engine.left.preemptions--;
    t->next = does;
    bool cuts = engine.mode == EXHAUST && !engine.whole;
    if (cuts && !does.all && !somebody_spins()) engine.settled |= bit(t->slot);
    run(next);
}

/* Lets others go first, if they may and it is chosen so. */
static void let_others(thread *t, effect does)
{
    unsigned others = engine.ready & ~bit(t->slot);
    if (!others) return;
    /* Whoever could go now could have been chosen instead. */
    bool fresh = t->fresh;
    t->fresh = false;
    if (fresh && !(others & ~t->ready_then)) return;
    if (UNLIKELY(engine.steps - t->run_since > RUN_MAX)) {
        turn_ends(t);
        leave();
        t->fresh = false;
        return;
    }
    if (engine.mode == RANDOM)
        lower_priority(t);
    else if (engine.left.preemptions == 0)
        return;
    others = fair(others) & ~engine.settled;
    if (!others) return;
    uint8_t slots[SLOTS + 1];
    slots[0] = (uint8_t)t->slot;
    unsigned n = 1 + list(others, slots + 1);
    t->chosen = &engine.choices[engine.depth];
    unsigned next = slots[choose(CHOOSE_THREAD, n, slots)];
    does.timed = t->chosen->timed;
    if (next != t->slot) preempt(t, &engine.threads[next], does);
}

void step(effect does)
{
    engine.steps++;
    engine.point++;
    if (UNLIKELY(engine.steps > STEPS_MAX)) too_long();
    engine.current->chosen = NULL;
    let_others(engine.current, does);
    if (engine.settled) notice(does);
}

/* --- time ----------------------------------------------------------------------- */

static void print_waiters(char *out, size_t size)
{
    size_t n = 0;
    for (unsigned i = 0; i < engine.started; i++) {
        thread *t = &engine.threads[i];
        if (!(engine.live & bit(i)) || n >= size) continue;
        int more;
        if (t->waits_on)
            more = snprintf(out + n, size - n, "; %s waits on the futex %#lx",
                            t->name, (unsigned long)t->waits_on);
        else if (t->joining >= 0)
            more = snprintf(out + n, size - n, "; %s waits for the end of %s",
                            t->name, engine.threads[t->joining].name);
        else if (engine.yielded & bit(i))
            more = snprintf(out + n, size - n, "; %s spins", t->name);
        else
            continue;
        n += (size_t)more;
    }
}

static _Noreturn void nobody_can_run(const char *what)
{
    char who[1024] = "";
    print_waiters(who, sizeof who);
    fail("%s%s", what, who);
}

/* The threads whose deadline has passed can go on. */
void expire(void)
{
    for (unsigned i = 0; i < engine.started; i++) {
        thread *t = &engine.threads[i];
        if (!t->waits_on || t->reason != ASLEEP || t->deadline > engine.clock)
            continue;
        t->reason = TIMED_OUT;
        engine.ready |= bit(i);
    }
}

static int64_t next_deadline(void)
{
    int64_t next = HEIST_FOREVER;
    for (unsigned i = 0; i < engine.started; i++) {
        thread *t = &engine.threads[i];
        if (t->waits_on && t->reason == ASLEEP && t->deadline < next)
            next = t->deadline;
    }
    return next;
}

/* Nobody can go on: either time helps, or nothing does. */
static void pass_time(void)
{
    int64_t next = next_deadline();
    unsigned watchers = 0;
    for (unsigned i = 0; i < engine.started; i++)
        if (engine.yielded & bit(i) && engine.threads[i].clock_read)
            watchers |= bit(i);
    if (watchers) { /* they spin until some time: let it come */
        if (engine.idle_jump < next - engine.clock)
            engine.clock += engine.idle_jump;
        else
            engine.clock = next;
        engine.idle_jump *= 2;
        engine.ready |= watchers;
        engine.yielded &= ~watchers;
    } else if (next != HEIST_FOREVER) {
        engine.clock = next;
    } else if (engine.yielded && engine.idle_turns < IDLE_TURNS_MAX) {
        /* A loop that gives up after some turns must come to that. */
        engine.idle_turns++;
        unsigned later = engine.yielded & ~(2 * bit(engine.current->slot) - 1);
        unsigned one =
            later ? later & -later : engine.yielded & -engine.yielded;
        engine.ready |= one;
        engine.yielded &= ~one;
    } else if (engine.yielded) {
        nobody_can_run("livelock: nobody changes anything any more");
    } else {
        nobody_can_run("deadlock: nobody can run");
    }
    expire();
}

void leave(void)
{
    thread *t = engine.current;
    bool idle = false;
    engine.point++;
    if (++engine.steps > STEPS_MAX) too_long();
    t->hasty = 0;
    t->chosen = NULL;
    for (; !engine.ready; idle = true)
        pass_time();
    unsigned can = fair(engine.ready);
    if (!can) can = engine.ready;
    can &= ~engine.settled;
    if (!can) execution_end(REPEATED);
    uint8_t slots[SLOTS + 1];
    unsigned n = list(can & ~bit(t->slot), slots);
    if (can & bit(t->slot)) slots[n++] = (uint8_t)t->slot;
    /* Those that only wait for time to pass take turns; anything else costs
     * as much as a preemption. */
    if (idle && engine.mode == EXHAUST && !engine.left.preemptions) n = 1;
    unsigned i = n > 1 ? choose(CHOOSE_THREAD, n, slots) : 0;
    if (idle && i && engine.left.preemptions) engine.left.preemptions--;
    run(&engine.threads[slots[i]]);
    t->fresh = true;
}

/* Nobody else runs until the loop gives up: a preemption of all others. */
static bool is_hasty(thread *t)
{
    static const uint8_t values[] = {0, 1};
    if (!engine.test->spins_end) return false;
    if (t->hasty) return t->hasty--;
    engine.point++;
    if (!engine.left.preemptions || !(engine.ready & ~bit(t->slot)))
        return false;
    if (!choose(CHOOSE_FAULT, 2, values)) return false;
    engine.left.preemptions--;
    t->hasty = HASTY_TURNS;
    return true;
}

/*
 * One turn of a spin loop.  The thread waits until somebody has changed
 * something since its last turn began; if that is so already it may go on,
 * but others may go first.
 */
void yield_turn(void)
{
    thread *t = engine.current;
    bool again = engine.point == t->yield_point;
    if (again && ++t->relaxes % RELAXES_MAX) return;
    if (engine.tracing) trace(NULL, "spins");
    notice(EVERYTHING);
    if (is_hasty(t)) return;
    turn_ends(t);
    if (engine.changes - t->own_changes == t->seen_changes) {
        engine.ready &= ~bit(t->slot);
        engine.yielded |= bit(t->slot);
    }
    leave();
    notice(EVERYTHING);
    t->seen_changes = engine.changes - t->own_changes;
    t->yield_step = engine.steps;
    t->yield_point = engine.point;
    t->clock_read = false;
}
