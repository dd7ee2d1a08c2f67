/* SPDX-License-Identifier: MIT
 *
 * platform.c: src/platform/platform.h as the checker gives it.  Time is
 * virtual, threads are its own, the futex is a list.
 */
#include "engine.h"

#include <errno.h>

/* --- time --------------------------------------------------------------------- */

int64_t hi_clock(void)
{
    unsigned step_ns = engine.test ? engine.test->clock_step : 0;
    engine.clock += step_ns ? step_ns : 1000;
    if (engine.running) {
        engine.point++;
        engine.current->clock_read = true;
        moment();
        expire();
    }
    return engine.clock;
}

/* --- futex -------------------------------------------------------------------- */

static wake_reason choose_sleep(int64_t deadline)
{
    static const uint8_t values[] = {ASLEEP, SPURIOUS, TIMED_OUT};
    engine.point++;
    if (!engine.left.faults) return ASLEEP;
    unsigned i =
        choose(CHOOSE_FAULT, deadline != HEIST_FOREVER ? 3 : 2, values);
    if (i) engine.left.faults--;
    return values[i];
}

int hi_futex_wait(hi_futex *f, uint32_t expected, int64_t deadline)
{
    static const model_site site = {__FILE__, __LINE__, "the futex"};
    thread *t = engine.current;
    location *l = location_of(f, 4, false, &site);
    step((effect){.cell = l, .strong = true});
    atomic_access(l, false, &site);
    fence(t, MODEL_SEQ_CST);
    uint32_t value = *(volatile uint32_t *)&f->heist_cell;
    if (engine.tracing)
        trace(NULL, "futex wait %#lx while %#x, is %#x",
              (unsigned long)l->address, expected, value);
    if (value != expected) return 0;
    if (deadline != HEIST_FOREVER) moment();
    if (deadline <= engine.clock) return -ETIMEDOUT;
    t->waits_on = l->address;
    t->deadline = deadline;
    t->reason = choose_sleep(deadline);
    if (t->reason == ASLEEP) engine.ready &= ~bit(t->slot);
    leave();
    notice((effect){.strong = true}); /* a wake comes before it or after */
    t->waits_on = 0;
    bool late = t->reason == TIMED_OUT;
    if (late) moment();
    if (late && engine.clock < deadline) engine.clock = deadline;
    if (engine.tracing)
        trace(NULL, "futex wait ends: %s",
              late                    ? "time is up"
              : t->reason == SPURIOUS ? "for no reason"
                                      : "woken");
    return late ? -ETIMEDOUT : 0;
}

static unsigned sleepers(uintptr_t address, uint8_t *slots)
{
    unsigned n = 0;
    for (unsigned i = 0; i < engine.started; i++) {
        thread *t = &engine.threads[i];
        if (t->waits_on == address && t->reason != WOKEN)
            slots[n++] = (uint8_t)i;
    }
    return n;
}

void hi_futex_wake(hi_futex *f, int n)
{
    uint8_t slots[SLOTS];
    step((effect){.strong = true});
    fence(engine.current, MODEL_SEQ_CST);
    if (engine.tracing) trace(NULL, "futex wake %#lx", (unsigned long)f);
    for (; n > 0; n--) {
        engine.point++;
        unsigned waiting = sleepers((uintptr_t)f, slots);
        if (!waiting) break;
        unsigned i = 0;
        if (waiting > (unsigned)n) i = choose(CHOOSE_OTHER, waiting, slots);
        engine.threads[slots[i]].reason = WOKEN;
        changed();
        engine.ready |= bit(slots[i]);
    }
}

/* --- processor ----------------------------------------------------------------- */

void hi_cpu_relax(void)
{
    yield_turn();
}

int hi_cpu_current(void)
{
    return -1;
}

bool hi_barrier_init(void)
{
    return !engine.test->no_barrier;
}

void hi_barrier_all(void)
{
    step((effect){.all = true});
    if (engine.tracing) trace(NULL, "barrier for all threads");
    thread *t = engine.current;
    fence(t, MODEL_SEQ_CST);
    for (unsigned i = 0; i < engine.started; i++)
        if (engine.threads[i].fn && i != t->slot) /* the ended ones, too */
            fence(&engine.threads[i], MODEL_SEQ_CST);
    fence(t, MODEL_SEQ_CST);
}

void hi_cpus_read(hi_cpus *out, const char *root)
{
    (void)root;
    *out = (hi_cpus){.online = 64, .mask = 64, .workers = 2};
}

int hi_cpus_nth(unsigned i)
{
    (void)i;
    return -1;
}

void hi_cpu_pin(int cpu)
{
    (void)cpu;
}

void hi_cpu_unpin(void)
{
}

/* --- threads ------------------------------------------------------------------- */

int hi_thread_start(hi_thread *t, void (*fn)(void *arg), void *arg,
                    const char *name, size_t stack_bytes)
{
    (void)stack_bytes;
    if (engine.test->allocation_may_fail && choose_fault()) return -EAGAIN;
    thread *made = thread_create(engine.started, fn, arg, name);
    t->handle = made->slot;
    if (engine.tracing) trace(NULL, "starts %s", made->name);
    step((effect){.all = true});
    return 0;
}

void hi_thread_join(hi_thread t)
{
    thread *me = engine.current, *other = &engine.threads[t.handle];
    step((effect){.all = true});
    if (engine.live & bit(other->slot)) {
        me->joining = (int)other->slot;
        engine.ready &= ~bit(me->slot);
        leave();
        me->joining = -1;
    }
    if (engine.tracing) trace(NULL, "joined %s", other->name);
    view_join(me->now, other->now, engine.length);
    if (!other->joined) engine.unjoined--;
    other->joined = true;
}

void hi_thread_yield(void)
{
    yield_turn();
}

void hi_thread_state_take(hi_thread_state *s)
{
    *s = (hi_thread_state){0};
}

void hi_thread_state_put(const hi_thread_state *s)
{
    (void)s;
}

uint64_t hi_float_modes(void)
{
    return 0;
}

void hi_float_modes_set(uint64_t modes)
{
    (void)modes;
}

void *hi_self_get(void)
{
    return engine.current->self;
}

void hi_self_set(void *self)
{
    engine.current->self = self;
}

void hi_thread_at_exit(void (*fn)(void *arg), void *arg)
{
    engine.current->at_exit = fn;
    engine.current->at_exit_arg = arg;
}

int hi_watch_forks(hi_at_fork *what)
{
    (void)what;
    return 0;
}

/* --- pages --------------------------------------------------------------------- */

size_t hi_page_size(void)
{
    return PAGE;
}

void *hi_pages_reserve(size_t bytes)
{
    if (engine.test->allocation_may_fail && choose_fault()) return NULL;
    return pages_reserve(bytes);
}

int hi_pages_commit(void *p, size_t bytes)
{
    (void)p, (void)bytes;
    if (engine.test->allocation_may_fail && choose_fault()) return -ENOMEM;
    return 0;
}

int hi_pages_guard(void *p, size_t bytes)
{
    (void)p, (void)bytes;
    return 0;
}

void hi_pages_discard(void *p, size_t bytes)
{
    pages_clear((uintptr_t)p, bytes);
}

void hi_pages_release(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

void hi_pages_hold(const void *p, size_t bytes)
{
    pages_hold(p, bytes);
}

void *hi_pages_large(size_t bytes)
{
    return hi_pages_reserve(bytes);
}

/* --- last words ------------------------------------------------------------------- */

void hi_die(const char *file, int line, const char *message)
{
    fail("%s:%d: the library gave up: %s", file, line, message);
}
