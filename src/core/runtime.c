/* SPDX-License-Identifier: MIT
 *
 * runtime.c: start and stop, the default runtime, guests, fork().
 *
 * Stopping.  STOPPING turns work from outside away.  The runtime is quiet when
 * no visitor is inside, every worker is idle, no strand is put aside and all
 * queues are empty; only a worker that is not idle could change that.  Whoever
 * may have made it quiet counts up `quiet`; the stopper looks for itself
 * (is_quiet) and then lets the workers end.
 *
 * A worker may wake, work and be idle again behind the stopper's back, so
 * is_quiet reads each worker's count of announcements before and after: if
 * none moved, all were idle at one moment in between.
 *
 * Edges
 *   S5  visit  visitors; fence; phase       <>  stop  phase; fence; visitors
 *       (a guest's visit is in its own word; its fence is the stopper's barrier)
 *   S11  leave release quiet               ->  stop  acquire quiet  who has left
 *   S6  stop  release phase                 ->  all   acquire phase  hooks see it
 *   S8  suspend  release put_aside          ->  stop  put_aside; fence  awake
 *   V1  seat  release victim, count         ->  thief acquire   its fields
 *   G1  revive  release generation          ->  get   acquire generation
 *   G2  start  release default              ->  get   acquire default
 *   G3  stop  release seat                  ->  enter acquire seat
 *
 * Locks
 *   home.lock   revival, the list of free guests
 *   rt.lock     new seats in rt.victims
 */
#include "core/runtime.h"

#include "core/frame.h"
#include "core/task.h"
#include "queue/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WORKERS_MAX = 4096,
    SETTLE_SPINS = 400,
    ANSWER_SPINS = 32, /* about a microsecond */
    ATTEMPTS_MAX = 4096,
    WORKER_STACK = 256 << 10 /* of the thread; tasks run on strands */
};

/* What a runtime had before a fork(): abandoned in the child, not lost. */
typedef struct relic {
    struct relic *next;
    void *pool, *victims, *slots, *overflow;
} relic;

static struct {
    hi_lock lock;
    HEIST_ATOMIC(uint32_t) generation; /* counts fork() */
    HEIST_ATOMIC(uint32_t) homes;      /* given to workers */
    hi_worker *free_guests;
    relic *relics;
} home;

hi_runtime_cell hi_standard;

heist_time heist_now(void)
{
    return hi_clock();
}

heist_time heist_after(heist_time delay)
{
    heist_time now = hi_clock();
    if (delay <= 0) return now;
    return delay > HEIST_FOREVER - now ? HEIST_FOREVER : now + delay;
}

static void log_line(heist_runtime *rt, const char *message)
{
    if (rt->config.log) rt->config.log(rt->config.user, message);
}

/* --- fork() -------------------------------------------------------------------- */

uint32_t hi_generation(void)
{
    return heist_load_relaxed(&home.generation); /* relaxed: own-field */
}

/* In the child: the only thread, which is no worker and no guest any more. */
static void child(void)
{
    for (hi_worker *w = hi_self_get(); w; w = w->before) {
        w->orphan = true;
        w->rt = NULL;
        hi_strand *s = heist_load_relaxed(&w->strand); /* relaxed: init */
        /* A thief of the parent may have held their locks. */
        for (; s; s = heist_load_relaxed(&s->outer)) /* relaxed: init */
            heist_init(&s->lock.word, 0);
    }
    heist_init(&home.lock.word, 0);
    home.free_guests = NULL;
    heist_add_relaxed(&home.generation, 1); /* relaxed: init */
    hi_strand_after_fork();
    hi_self_set(NULL);
}

__attribute__((constructor)) int hi_generation_watch(void)
{
    static hi_at_fork forks = {.child = child};
    return hi_watch_forks(&forks);
}

/* --- workers ------------------------------------------------------------------- */

static int pool_create(heist_runtime *rt)
{
    const heist_allocator *a = &rt->config.allocator;
    size_t victims = rt->workers + HI_GUESTS_MAX;
    int rc = -ENOMEM;
    unsigned made = 0;
    rt->pool = hi_alloc(a, rt->workers * sizeof *rt->pool, HEIST_LINE);
    if (!rt->pool) return rc;
    rt->victims = hi_alloc(a, victims * sizeof *rt->victims, HEIST_LINE);
    if (!rt->victims) goto fail_pool;
    rc = hi_sleep_init(&rt->sleep, rt->workers, a);
    if (rc < 0) goto fail_victims;
    rc = hi_injector_init(&rt->injector, rt->config.queue_capacity, a);
    if (rc < 0) goto fail_sleep;
    hi_inbox_init(&rt->overflow);
    hi_cpus cpus;
    hi_cpus_read(&cpus, "");
    bool homes = !rt->config.unpinned && rt->workers <= cpus.mask;
    /* Several small runtimes shall not all sleep on the first CPUs. */
    unsigned first = 0;
    /* relaxed: counter */
    if (homes) first = heist_add_relaxed(&home.homes, rt->workers);
    for (; made < rt->workers; made++) {
        hi_worker *w = &rt->pool[made];
        w->allocator = *a;
        rc = hi_worker_init(w, &w->allocator);
        if (rc < 0) goto fail_workers;
        w->rt = rt;
        w->index = made;
        w->idle_word = &rt->sleep.idle[made / 64];
        w->idle_bit = UINT64_C(1) << made % 64;
        w->home = homes ? hi_cpus_nth((first + made) % cpus.mask) : -1;
        hi_random_seed(&w->random, rt->config.seed, made);
        heist_init(&rt->victims[made], (uintptr_t)w);
        rc = hi_worker_prepare(w);
        if (rc < 0) {
            hi_worker_fini(w);
            goto fail_workers;
        }
    }
    heist_init(&rt->victim_count, rt->workers);
    rt->near = rt->workers + HI_GUESTS_NEAR;
    return 0;
fail_workers:
    while (made > 0)
        hi_worker_fini(&rt->pool[--made]);
    hi_injector_fini(&rt->injector);
fail_sleep:
    hi_sleep_fini(&rt->sleep, a);
fail_victims:
    hi_free(a, rt->victims, victims * sizeof *rt->victims);
fail_pool:
    hi_free(a, rt->pool, rt->workers * sizeof *rt->pool);
    rt->pool = NULL;
    return rc;
}

static void pool_destroy(heist_runtime *rt)
{
    const heist_allocator *a = &rt->config.allocator;
    for (unsigned i = 0; i < rt->workers; i++)
        hi_worker_fini(&rt->pool[i]);
    hi_injector_fini(&rt->injector);
    hi_sleep_fini(&rt->sleep, a);
    hi_free(a, rt->victims,
            (rt->workers + HI_GUESTS_MAX) * sizeof *rt->victims);
    hi_free(a, rt->pool, rt->workers * sizeof *rt->pool);
    rt->pool = NULL;
}

/*
 * Hooks run when all threads are there.  They may call the library, and so wait for
 * who holds home.lock: a start that fails under it could not join them.
 */
enum {
    HOOKS_WAIT,
    HOOKS_RUN,
    HOOKS_NEVER
};

static bool has_hooks(const heist_runtime *rt)
{
    return rt->config.on_worker_start || rt->config.on_worker_stop;
}

static void hooks_decide(heist_runtime *rt, uint32_t decision)
{
    if (!has_hooks(rt)) return;
    heist_store_relaxed(&rt->hooks, decision); /* relaxed: hint */
    hi_futex_wake(&rt->hooks, INT32_MAX);
}

bool hi_runtime_may_hook(heist_runtime *rt)
{
    if (!has_hooks(rt)) return true;
    uint32_t decision;
    /* relaxed: hint (what it needs was there before its thread) */
    while ((decision = heist_load_relaxed(&rt->hooks)) == HOOKS_WAIT)
        hi_futex_wait(&rt->hooks, HOOKS_WAIT, HEIST_FOREVER);
    return decision == HOOKS_RUN;
}

static void threads_end(heist_runtime *rt, unsigned n)
{
    /* S6: nothing is left.  kept: heist_stop has a fence before it, a start that
     * fails has none. */
    heist_store_release(&rt->phase, HI_ENDING);
    hi_sleep_wake_all(rt);
    for (unsigned i = 0; i < n; i++)
        hi_thread_join(rt->pool[i].thread);
}

static int threads_start(heist_runtime *rt)
{
    heist_store_relaxed(&rt->phase, HI_RUNNING); /* relaxed: init */
    heist_store_relaxed(&rt->hooks, HOOKS_WAIT); /* relaxed: init */
    for (unsigned i = 0; i < rt->workers; i++) {
        char name[24];
        hi_worker *w = &rt->pool[i];
        snprintf(name, sizeof name, "heist-%u", i);
        int rc =
            hi_thread_start(&w->thread, hi_worker_main, w, name, WORKER_STACK);
        if (rc == 0) continue;
        hooks_decide(rt, HOOKS_NEVER);
        threads_end(rt, i);
        return rc;
    }
    hooks_decide(rt, HOOKS_RUN);
    return 0;
}

/* --- start --------------------------------------------------------------------- */

/* Of a later version's fields none can be heeded. */
static bool uses_reserved(const heist_config *c)
{
    uintptr_t used = 0;
    for (size_t i = 0; i < sizeof c->reserved / sizeof *c->reserved; i++)
        used |= c->reserved[i];
    return used != 0;
}

static int config_complete(heist_config *c)
{
    hi_cpus cpus;
    if (c->workers > WORKERS_MAX || c->exposure > HEIST_EAGER ||
        c->idle > HEIST_LATENCY || c->quantum < 0 ||
        c->steal_attempts > ATTEMPTS_MAX || c->queue_capacity > 1u << 30 ||
        c->stack_bytes > HI_STACK_MOST ||
        !hi_allocator_is_whole(&c->allocator) || uses_reserved(c))
        return -EINVAL;
    if (c->workers == 0) {
        hi_cpus_read(&cpus, "");
        c->workers = cpus.workers;
    }
    if (c->queue_capacity == 0) c->queue_capacity = 256;
    if (c->steal_attempts == 0) c->steal_attempts = 32;
    if (c->quantum == 0) c->quantum = 100 * HEIST_MICROSECOND;
    if (c->stack_bytes == 0) c->stack_bytes = HI_STACK_BYTES;
    if (c->stack_bytes < 64 << 10) c->stack_bytes = 64 << 10;
    if (c->seed == 0) c->seed = 0x9e3779b97f4a7c15u;
    return 0;
}

static int64_t spin_of(heist_idle idle)
{
    switch (idle) {
    case HEIST_ECO: return 5 * HEIST_MICROSECOND;
    case HEIST_LATENCY: return HEIST_MILLISECOND;
    case HEIST_BALANCED: break;
    }
    return 50 * HEIST_MICROSECOND;
}

static void log_start(heist_runtime *rt)
{
    char line[96];
    snprintf(line, sizeof line, "heist: started, %u worker%s", rt->workers,
             rt->workers == 1 ? "" : "s");
    log_line(rt, line);
    /* relaxed: init */
    if (heist_load_relaxed(&rt->rescue) != HI_RESCUE_TAKES)
        log_line(rt, "heist: no membarrier here, so frames behind a long leaf "
                     "wait for their owner");
}

static hi_rescue rescue_here(void)
{
    return hi_barrier_init() ? HI_RESCUE_TAKES : HI_RESCUE_CALLS;
}

int heist_start(heist_runtime **out, const heist_config *config)
{
    heist_config c = config ? *config : (heist_config){0};
    int rc = config_complete(&c);
    if (rc == 0) rc = hi_generation_watch();
    if (rc < 0) return rc;
    heist_runtime *rt = hi_alloc(&c.allocator, sizeof *rt, HEIST_LINE);
    if (!rt) return -ENOMEM;
    rt->config = c;
    rt->workers = c.workers;
    rt->spin = spin_of(c.idle);
    rt->settle_spins = SETTLE_SPINS;
    rt->answer_spins = ANSWER_SPINS;
    heist_init(&rt->rescue, rescue_here());
    heist_init(&rt->generation, hi_generation());
    rc = pool_create(rt);
    if (rc < 0) goto fail;
    rc = threads_start(rt);
    if (rc == 0) {
        log_start(rt);
        *out = rt;
        return 0;
    }
    pool_destroy(rt);
fail:
    hi_free(&c.allocator, rt, sizeof *rt);
    return rc;
}

/* False: no memory. */
static bool abandon(heist_runtime *rt)
{
    if (!rt->pool) return true; /* an earlier attempt has */
    relic *r = hi_alloc(NULL, sizeof *r, HEIST_LINE);
    if (!r) return false;
    *r = (relic){home.relics, rt->pool, rt->victims, rt->injector.slots,
                 hi_inbox_take(&rt->overflow)};
    home.relics = r;
    rt->pool = NULL;
    return true;
}

/*
 * In the child of a fork() none of the workers exist.  What the parent's
 * threads had in hand is abandoned; the runtime gets a new pool.
 */
static bool revive(heist_runtime *rt)
{
    hi_lock_take(&home.lock);
    bool ok = true;
    /* relaxed: under-lock */
    if (heist_load_relaxed(&rt->generation) != hi_generation()) {
        heist_init(&rt->lock.word, 0);
        heist_init(&rt->visitors, 0);
        heist_init(&rt->waiting, 0);
        heist_init(&rt->watchman, 0);
        heist_init(&rt->brief, 0);
        heist_init(&rt->rescue, rescue_here());
        ok = abandon(rt) && pool_create(rt) == 0;
        if (ok && threads_start(rt) < 0) {
            pool_destroy(rt);
            ok = false;
        }
        /* G1: the new pool. */
        if (ok) heist_store_release(&rt->generation, hi_generation());
    }
    hi_lock_give(&home.lock);
    return ok;
}

/* A number from 1 to WORKERS_MAX; anything else: 0. */
static unsigned wanted_workers(const char *text)
{
    unsigned n = 0;
    for (; text && *text; text++) {
        if (*text < '0' || *text > '9') return 0;
        n = n * 10 + (unsigned)(*text - '0');
        if (n > WORKERS_MAX) return 0;
    }
    return n;
}

static heist_runtime *start_standard(void)
{
    heist_config c = {0};
    c.workers = wanted_workers(getenv("HEIST_WORKERS"));
    heist_runtime *fresh = NULL, *none = NULL;
    if (heist_start(&fresh, &c) < 0) return NULL;
    /* G2: a runtime that runs. */
    if (heist_cas_release(&hi_standard, &none, fresh)) return fresh;
    heist_stop(fresh, HEIST_FOREVER); /* somebody else was faster */
    return hi_runtime_standard();
}

HI_HOT heist_runtime *hi_runtime_get(heist_runtime *rt)
{
    if (!rt) {
        const hi_worker *w = hi_worker_self();
        rt = w && w->rt ? w->rt : hi_runtime_standard();
    }
    if (!rt) return start_standard();
    /* G1: its pool is this process's. */
    if (HEIST_LIKELY(heist_load_acquire(&rt->generation) == hi_generation()))
        return rt;
    return revive(rt) ? rt : NULL;
}

/* --- guests -------------------------------------------------------------------- */

/* Of its frames, which have ended, there may be tickets left. */
static void clear_tickets(hi_worker *g)
{
    while (hi_ticket_is_frame(hi_deque_newest(&g->deque)) &&
           hi_deque_pop(&g->deque))
        ;
}

void hi_guest_vanish(heist_runtime *rt, hi_worker *g)
{
    clear_tickets(g);
    if (!hi_deque_is_empty(&g->deque)) return;
    /* relaxed: hint (it comes back by hi_guest_appear) */
    heist_store_relaxed(&rt->victims[g->index], (uintptr_t)g | HI_SEAT_LEFT);
}

static void guest_release(hi_worker *g)
{
    clear_tickets(g);
    hi_lock_take(&home.lock);
    g->next_guest = home.free_guests;
    home.free_guests = g;
    hi_lock_give(&home.lock);
}

/* When a foreign thread ends, its seat is free for another one. */
static void thread_ends(void *unused)
{
    hi_worker *g = hi_self_get();
    (void)unused;
    if (!g || !g->guest) return;
    hi_self_set(NULL);
    if (!g->inside) guest_release(g); /* else its region has not ended */
}

/* Its room is zero: only guests write there, and they are never destroyed. */
static hi_worker *guest_create(void)
{
    hi_strand *s = hi_strand_create(0);
    if (!s) return NULL;
    hi_worker *g = hi_guest_of(s);
    if (hi_worker_init(g, NULL) < 0) {
        hi_strand_destroy(s);
        return NULL;
    }
    g->guest = true;
    g->native = s;
    hi_pages_hold(g, sizeof *g);
    heist_store_relaxed(&s->worker, g); /* relaxed: init */
    hi_strand_enter_region(s, g);
    hi_strand_reset(s, true);
    return g;
}

/*
 * A free guest that already sits in rt, or one that sits nowhere.  Best is one
 * without tasks that others have still to run, because who waits runs what is its
 * own; of the rest only those that sit in rt count, and if there is no other seat.
 */
static hi_worker *guest_from_list(heist_runtime *rt, bool full)
{
    hi_worker **best = NULL, **last = NULL;
    for (hi_worker **link = &home.free_guests; *link;
         link = &(*link)->next_guest) {
        heist_runtime *seat = hi_guest_seat(*link);
        bool has_tasks = !hi_deque_is_empty(&(*link)->deque);
        if (seat == rt && has_tasks) last = link;
        if (has_tasks) continue;
        if (seat == rt) {
            best = link;
            break;
        }
        if (!seat && !full) best = link;
    }
    if (!best && full) best = last;
    hi_worker *g = best ? *best : NULL;
    if (g) *best = g->next_guest;
    return g;
}

static bool is_full(const heist_runtime *rt)
{
    /* relaxed: hint */
    uint32_t n = heist_load_relaxed(&rt->victim_count);
    return n >= rt->workers + HI_GUESTS_MAX;
}

/* What it counted elsewhere stays there. */
static void stats_clear(hi_stats *s)
{
    hi_counter *counter = (hi_counter *)(void *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *counter; i++)
        heist_store_relaxed(&counter[i], 0); /* relaxed: counter */
}

static bool take_seat(heist_runtime *rt, hi_worker *g)
{
    stats_clear(&g->stats);
    g->brief_runs = 0; /* rt's watchman knows of no brief root yet */
    hi_lock_take(&rt->lock);
    /* relaxed: under-lock */
    uint32_t n = heist_load_relaxed(&rt->victim_count);
    bool room = !is_full(rt);
    if (room) {
        g->rt = rt;
        g->allocator = rt->config.allocator;
        g->index = n;
        g->eager = rt->config.exposure == HEIST_EAGER;
        g->far = n >= rt->near;
        hi_random_seed(&g->random, rt->config.seed, n);
        heist_store_relaxed(&g->seat, rt); /* relaxed: own-field */
        hi_guest_appear(rt, g);
        heist_store_release(&rt->victim_count, n + 1); /* V1: its fields. */
        heist_fence_seq_cst(); /* S9: who gives up the watch asks guests, too. */
    }
    hi_lock_give(&rt->lock);
    return room;
}

/* The calling thread is a guest whose runtime has stopped. */
static bool lost_its_seat(const hi_worker *g)
{
    return g && g->guest && !g->inside && !hi_guest_seat(g);
}

/* NULL: no memory; or no seat, and none is made that could not sit down. */
static hi_worker *guest_find(heist_runtime *rt, bool full)
{
    hi_lock_take(&home.lock);
    hi_worker *g = guest_from_list(rt, full);
    hi_lock_give(&home.lock);
    return g || full ? g : guest_create();
}

/* The guest is on the stack that the thread is on: its own, or a strand's. */
static void stand_on(hi_worker *g, hi_worker *self)
{
    /* relaxed: own-field */
    hi_strand *s = self ? heist_load_relaxed(&self->strand) : NULL;
    if (s)
        g->native->context = s->context;
    else
        hi_context_adopt(&g->native->context);
}

int hi_guest_sit(heist_runtime *rt, hi_worker **out)
{
    hi_worker *self = hi_self_get();
    if (lost_its_seat(self)) {
        self->modes = hi_float_modes();
        *out = self;
        return take_seat(rt, self) ? 0 : -EUSERS;
    }
    bool full = is_full(rt);
    hi_worker *g = guest_find(rt, full);
    if (!g) return full ? -EUSERS : -ENOMEM;
    if (hi_guest_seat(g) != rt && !take_seat(rt, g)) {
        guest_release(g);
        return -EUSERS;
    }
    stand_on(g, self);
    g->modes = hi_float_modes();
    g->before = self;
    g->stranger = self != NULL;
    hi_self_set(g);
    if (!self) hi_thread_at_exit(thread_ends, g);
    *out = g;
    return 0;
}

void hi_guest_stand(hi_worker *g)
{
    hi_self_set(g->before);
    g->stranger = false;
    guest_release(g);
}

/* --- stop ---------------------------------------------------------------------- */

void hi_runtime_maybe_quiet(heist_runtime *rt)
{
    heist_add_release(&rt->quiet, 1); /* S11: who has left. */
    hi_futex_wake(&rt->quiet, INT32_MAX);
}

static uint64_t announcements(heist_runtime *rt)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rt->workers; i++) {
        /* relaxed: after-S2 */
        sum += heist_load_relaxed(&rt->pool[i].announced);
    }
    return sum;
}

/* Anything at all, even what hi_worker_visible_work leaves to those at work: how
 * many they are is a hint. */
static bool is_queued(heist_runtime *rt)
{
    if (hi_runtime_has_tasks(rt)) return true;
    for (uint32_t i = 0, n = hi_victim_count(rt); i < n; i++) {
        hi_worker *v = hi_victim(rt, i);
        if (v && !hi_deque_is_empty(&v->deque)) return true;
    }
    return false;
}

/* A foreign thread that is inside of the runtime; gone: or was, and is not gone. */
static bool somebody_visits(heist_runtime *rt, bool gone)
{
    /* S5: who was counted before the phase changed is still at it. */
    uint64_t visitors = heist_load_acquire(&rt->visitors);
    if (gone ? visitors != 0 : (uint32_t)visitors != 0) return true;
    for (uint32_t i = rt->workers, n = hi_victim_count(rt); i < n; i++) {
        /* S5: who said so before the phase changed is still at it. */
        uint32_t visit = heist_load_acquire(&hi_seated(rt, i)->visit);
        if (visit % HI_VISIT == HI_INSIDE) return true;
        if (gone && visit % HI_VISIT != HI_OUTSIDE) return true;
    }
    return false;
}

static bool somebody_is_inside(heist_runtime *rt)
{
    return somebody_visits(rt, false);
}

static bool nothing_left(heist_runtime *rt)
{
    if (somebody_is_inside(rt) || is_queued(rt)) return false;
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        if (!hi_inbox_is_empty(&w->inbox)) return false;
        /* relaxed: before-S8 (if a strand has gone on, w will be seen awake) */
        if (heist_load_relaxed(&w->put_aside)) return false;
    }
    return true;
}

static bool is_quiet(heist_runtime *rt)
{
    uint64_t before = announcements(rt);
    return hi_sleep_all_idle(rt) && nothing_left(rt) && hi_sleep_all_idle(rt) &&
           announcements(rt) == before;
}

static int wait_quiet(heist_runtime *rt, heist_time deadline)
{
    int rc = 0;
    for (;;) {
        uint32_t seen = heist_load_acquire(&rt->quiet); /* S11: who has left. */
        if (is_quiet(rt)) return 0;
        /* Guests that have left may have left jobs that nobody was told of, and
         * tickets that nobody needs: somebody shall clear them away. */
        if (!somebody_is_inside(rt) && is_queued(rt)) hi_sleep_post(rt);
        if (rc < 0 || deadline <= HEIST_NOW) return -ETIMEDOUT;
        rc = hi_futex_wait(&rt->quiet, seen, deadline);
    }
}

/* Guests keep their memory but lose their seat. */
static void unseat_guests(heist_runtime *rt)
{
    uint32_t n = hi_victim_count(rt);
    for (uint32_t i = rt->workers; i < n; i++) {
        hi_worker *g = hi_seated(rt, i);
        hi_worker_free_spare(g); /* the next runtime may want other stacks */
        /* G3: the thread that owns it finds no seat. */
        heist_store_release(&g->seat, (heist_runtime *)NULL);
    }
}

/* Is the caller in a task or region of rt, maybe with others in between? */
static bool is_inside(const heist_runtime *rt)
{
    for (const hi_worker *w = hi_self_get(); w; w = w->before)
        if (w->rt == rt && (!w->guest || w->inside)) return true;
    return false;
}

int heist_stop(heist_runtime *rt, heist_time deadline)
{
    bool standard = rt == NULL;
    if (standard) rt = hi_runtime_standard();
    if (!rt) return 0;
    if (is_inside(rt)) return -EDEADLK;
    rt = hi_runtime_get(rt);
    if (!rt) return -ENOMEM;
    uint32_t running = HI_RUNNING;
    /* relaxed: before-S5 */
    heist_cas_relaxed(&rt->phase, &running, HI_STOPPING);
    hi_fence_heavy(rt); /* S5: the phase is set, now ask the guests. */
    int rc = wait_quiet(rt, deadline);
    if (rc < 0) return rc;
    /* relaxed: own-field (one thread stops it; the next use starts another) */
    if (standard) heist_store_relaxed(&hi_standard, (heist_runtime *)NULL);
    threads_end(rt, rt->workers);
    while (somebody_visits(rt, true))
        hi_thread_yield();
    unseat_guests(rt);
    pool_destroy(rt);
    heist_allocator a = rt->config.allocator;
    hi_free(&a, rt, sizeof *rt);
    return 0;
}

/* --- questions ------------------------------------------------------------------- */

unsigned heist_workers(heist_runtime *rt)
{
    rt = hi_runtime_get(rt);
    return rt ? rt->workers : 0;
}

int heist_worker_index(void)
{
    hi_worker *w = hi_worker_self();
    return w && !w->guest ? (int)w->index : -1;
}

static void stats_add(heist_stats *out, const hi_stats *s)
{
    /* relaxed: counter (all of them) */
    out->executed += heist_load_relaxed(&s->executed);
    out->exposed += heist_load_relaxed(&s->exposed);     /* relaxed: counter */
    out->stolen += heist_load_relaxed(&s->stolen);       /* relaxed: counter */
    out->failed += heist_load_relaxed(&s->failed);       /* relaxed: counter */
    out->retries += heist_load_relaxed(&s->retries);     /* relaxed: counter */
    out->injected += heist_load_relaxed(&s->injected);   /* relaxed: counter */
    out->parked += heist_load_relaxed(&s->parked);       /* relaxed: counter */
    out->woken += heist_load_relaxed(&s->woken);         /* relaxed: counter */
    out->suspended += heist_load_relaxed(&s->suspended); /* relaxed: counter */
    out->rescued += heist_load_relaxed(&s->rescued);     /* relaxed: counter */
    out->busy += heist_load_relaxed(&s->busy);           /* relaxed: counter */
}

int heist_stats_read(heist_runtime *rt, unsigned index, heist_stats *out)
{
    rt = hi_runtime_get(rt);
    if (!rt || index > rt->workers) return -EINVAL;
    *out = (heist_stats){0};
    if (index < rt->workers) {
        stats_add(out, &rt->pool[index].stats);
        return 0;
    }
    uint32_t n = hi_victim_count(rt);
    for (uint32_t i = rt->workers; i < n; i++) {
        stats_add(out, &hi_seated(rt, i)->stats);
    }
    return 0;
}
