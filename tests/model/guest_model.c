/* SPDX-License-Identifier: MIT
 *
 * Guests: foreign threads that enter a runtime, take a seat among the victims,
 * and leave while others steal, stop it or sit down.
 *
 * Where the workers do not matter the runtime is hollow: it has none, and so
 * stops as soon as the last visitor has left.
 */
#include "pool.h"

#include "core/frame.h"

#include <errno.h>
#include <stdlib.h>

enum {
    GUESTS = 2,
    SAW_RUN = 1,
    SAW_REFUSED = 2,
    SAW_REUSED = 3,
    SAW_FRESH = 4,
    SAW_STOPPED = 5,
    SAW_ASIDE = 6,
    WORKER = 2,  /* the thread that is one, where there is one */
    SOON = 5000, /* ns: a deadline that may pass or not */
    PARENTS = 7  /* a generation that is not this process's */
};

static heist_runtime *rt, *other;
static hi_worker *guests[GUESTS];
static hi_futex entered, hold, outside;
static heist_latch done;
static unsigned runs, held, accepted;
static int payload, stopped;
static HEIST_ATOMIC(uint32_t) ended;

/* --- the rig ------------------------------------------------------------------- */

static heist_runtime *hollow_open(void)
{
    heist_runtime *r = hi_alloc(NULL, sizeof *r, HEIST_LINE);
    r->victims = hi_alloc(NULL, HI_GUESTS_MAX * sizeof *r->victims, HEIST_LINE);
    model_check(hi_injector_init(&r->injector, 2, NULL) == 0);
    return r;
}

static void setup_hollow(void)
{
    rt = hollow_open();
}

/* Guests pass no fence: whoever stops it does, for all threads. */
static void setup_hollow_with_barrier(void)
{
    setup_hollow();
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
}

static void stop(heist_runtime *r)
{
    model_check(heist_stop(r, HEIST_FOREVER) == 0);
}

static void note_guest(unsigned i)
{
    guests[i] = hi_worker_self();
    model_check(guests[i]->guest && guests[i]->rt);
}

/* They keep their memory for the next time; here there is none. */
static void free_guests(void)
{
    for (unsigned i = 0; i < GUESTS; i++) {
        hi_worker *g = guests[i];
        if (!g || (i && g == guests[0])) continue;
        model_check(heist_load_relaxed(&g->seat) == NULL);
        hi_worker_fini(g);
        hi_strand_destroy(g->native);
    }
}

/* --- on the way out --------------------------------------------------------------- */

static void telling_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    note_guest(0);
    payload = 1;
    pool_tell(&entered);
}

/* The root has told of itself, the guest is still on its way out. */
static void guest_leaves_late(unsigned id)
{
    if (id == 1) {
        model_check(heist_run(rt, telling_root, NULL) == 0);
        return;
    }
    pool_await(&entered);
    stop(rt);
    model_check(payload == 1);
}

/* A visit that has begun is waited for, whatever it does last. */
static void visitor_leaves_late(unsigned id)
{
    if (id == 1) {
        hi_visit_begin(rt);
        pool_tell(&entered);
        payload = 1;
        hi_visit_end(rt);
        return;
    }
    pool_await(&entered);
    stop(rt);
    model_check(payload == 1);
}

/* What a visitor has left in a queue, having seen the runtime run, keeps stop
 * from its end.  The visit may come too late, so here the memory stays. */
static void *stay[8];
static unsigned stays;

static void *stay_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    return hi_alloc(NULL, bytes, align);
}

static void stay_free(void *user, void *p, size_t bytes)
{
    (void)user;
    if (bytes == sizeof(hi_task))
        hi_free(NULL, p, bytes); /* not the runtime's, and so it may go */
    else
        stay[stays++] = p;
}

static void free_what_stayed(void)
{
    for (unsigned i = 0; i < stays; i++)
        hi_free(NULL, stay[i], 1);
}

static void setup_staying(void)
{
    rt = hollow_open();
    rt->config.allocator = (heist_allocator){stay_alloc, stay_free, NULL};
    rt->injector.allocator = &rt->config.allocator;
}

static void visitor_leaves_an_item(unsigned id)
{
    if (id == 0) {
        stopped = heist_stop(rt, hi_clock() + SOON);
        return;
    }
    hi_visit_begin(rt);
    bool running = hi_runtime_is(rt, HI_RUNNING);
    if (running) hi_injector_push(&rt->injector, (uintptr_t)&payload);
    model_saw(running ? SAW_RUN : SAW_REFUSED);
    runs = running;
    hi_visit_end(rt);
}

static void after_item(void)
{
    uintptr_t item;
    model_check(stopped == 0 || stopped == -ETIMEDOUT);
    if (stopped == 0) {
        model_check(runs == 0);
    } else {
        model_check(hi_injector_take(&rt->injector, &item, 1) == runs);
        stop(rt);
    }
    free_what_stayed();
}

/* The same by a guest. */
static void pushing_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    hi_injector_push(&rt->injector, (uintptr_t)&payload);
}

static void guest_leaves_an_item(unsigned id)
{
    if (id == 0) {
        stopped = heist_stop(rt, hi_clock() + SOON);
        return;
    }
    int rc = heist_run(rt, pushing_root, NULL);
    model_check(rc == 0 || rc == -ESHUTDOWN);
    model_saw(rc == 0 ? SAW_RUN : SAW_REFUSED);
    runs = rc == 0;
    guests[0] = hi_self_get();
}

static void after_guests_item(void)
{
    after_item();
    hi_worker *g = guests[0]; /* it may have sat down after the end */
    heist_init(&g->seat, (heist_runtime *)NULL);
    free_guests();
}

static void setup_staying_with_barrier(void)
{
    setup_staying();
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
}

/* A task that was taken keeps stop from its end, too; nobody runs it here. */
static int before_the_end(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(!hi_runtime_is(rt, HI_ENDING));
    runs++;
    return 0;
}

static void spawn_late(void)
{
    int rc = heist_spawn(rt, before_the_end, NULL, NULL, HEIST_FOREVER);
    model_check(rc == 0 || rc == -ESHUTDOWN);
    model_saw(rc == 0 ? SAW_RUN : SAW_REFUSED);
    accepted = rc == 0;
}

static void spawner_leaves_a_task(unsigned id)
{
    if (id == 0)
        stopped = heist_stop(rt, hi_clock() + SOON);
    else
        spawn_late();
}

static void after_task(void)
{
    uintptr_t task;
    model_check(stopped == -ETIMEDOUT || (stopped == 0 && !accepted));
    if (accepted) {
        model_check(hi_injector_take(&rt->injector, &task, 1) == 1);
        hi_free(NULL, (void *)task, sizeof(hi_task));
    }
    if (stopped < 0) stop(rt);
    free_what_stayed();
}

/* The same with a worker, who runs what was taken.  It is the third thread, and
 * that is the one that stop waits for in the end. */
static hi_strand *strand;

static void setup_staying_worker(void)
{
    rt = pool_open(1, 2);
    pool_injector_only(rt);
    rt->config.allocator = (heist_allocator){stay_alloc, stay_free, NULL};
    rt->injector.allocator = &rt->config.allocator;
    rt->pool[0].thread.handle = WORKER;
    strand = rt->pool[0].native = hi_strand_create(0);
    heist_store_relaxed(&strand->worker, &rt->pool[0]);
    hi_strand_reset(strand, true);
}

/* A worker that has found nothing, and so begins with its sleep.  If stop does
 * not end it the time does. */
static void sleep_and_work(hi_worker *w)
{
    hi_wake why;
    hi_self_set(w);
    do {
        why = hi_sleep_park(w, HEIST_SECOND);
        hi_task *task = (hi_task *)pool_local(w);
        if (task) {
            hi_sleep_found(w);
            hi_task_run(w, task, strand->base);
        } else {
            hi_cpu_relax(); /* a push may be between claim and item */
        }
    } while (why == HI_WAKE_WORK && !hi_runtime_is(rt, HI_ENDING));
    hi_self_set(NULL);
}

/* Stop looks once: if it succeeds, what was taken has run. */
static void spawner_stopper_and_worker(unsigned id)
{
    if (id == 0)
        stopped = heist_stop(rt, HEIST_NOW);
    else if (id == 1)
        spawn_late();
    else
        sleep_and_work(&rt->pool[0]);
}

static void after_one_look(void)
{
    uintptr_t task;
    if (stopped == 0) {
        model_check(runs == accepted);
        if (runs) model_saw(SAW_STOPPED);
    } else {
        if (hi_injector_take(&rt->injector, &task, 1))
            hi_free(NULL, (void *)task, sizeof(hi_task));
        pool_close(rt);
    }
    hi_strand_destroy(strand);
    free_what_stayed();
}

/* Inside, a visitor sees the runtime run, or leaves without a trace. */
static void visit_or_refused(unsigned id)
{
    if (id == 0) {
        pool_await(&entered);
        stop(rt);
        model_check(runs <= 1);
    } else if (id == 1) {
        hi_visit_begin(rt); /* keeps it alive */
        pool_tell(&entered);
        pool_await(&hold);
        hi_visit_end(rt);
    } else {
        pool_await(&entered);
        hi_visit_begin(rt);
        bool running = hi_runtime_is(rt, HI_RUNNING);
        pool_tell(&hold);
        if (running) runs++;
        model_saw(running ? SAW_RUN : SAW_REFUSED);
        hi_visit_end(rt);
    }
}

static void holding_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    note_guest(0);
    pool_tell(&entered);
    pool_await(&hold);
    held++;
}

static void counting_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    note_guest(1);
    runs++;
}

/* While one guest is inside, another one gets in or is refused. */
static void run_or_refused(unsigned id)
{
    if (id == 0) {
        pool_await(&entered);
        stop(rt);
        model_check(held == 1);
        return;
    }
    if (id == 1) {
        model_check(heist_run(rt, holding_root, NULL) == 0);
        return;
    }
    pool_await(&entered);
    int rc = heist_run(rt, counting_root, NULL);
    model_check(rc == 0 || rc == -ESHUTDOWN);
    model_check(runs == (rc == 0));
    model_saw(rc == 0 ? SAW_RUN : SAW_REFUSED);
    guests[1] = hi_self_get();
    pool_tell(&hold);
}

static void both_were_seen(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(model_seen() >> SAW_REFUSED & 1);
}

static void stopped_after_it_ran(void)
{
    both_were_seen();
    model_check(model_seen() >> SAW_STOPPED & 1);
}

/* --- seats ------------------------------------------------------------------------ */

static void setup_two_hollow(void)
{
    rt = hollow_open();
    other = hollow_open();
}

static void noting_root(heist_ctx c, void *arg)
{
    (void)c;
    note_guest(*(unsigned *)arg);
}

/* Both come for the first time. */
static void seated_apart(unsigned id)
{
    model_check(heist_run(rt, noting_root, &id) == 0);
    if (heist_add_acq_rel(&ended, 1) == 0) return;
    for (unsigned i = 0; i < GUESTS; i++)
        model_check(hi_seated(rt, guests[i]->index) == guests[i]);
    stop(rt);
}

/* Leaves a strand behind, as a region that has waited for something does. */
static void spare_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    note_guest(0);
    hi_strand *s = hi_strand_create(POOL_STACK);
    hi_context_adopt(&s->context);
    hi_spares_put(&guests[0]->spare, s);
}

static void heir_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    note_guest(1);
    model_check(guests[1]->spare.warm == NULL);
    model_check(guests[1]->rt == other);
}

/* A guest whose thread has ended is free for others, but not before the
 * runtime it sat in has let it go. */
static void seat_is_inherited(unsigned id)
{
    if (id == 0) {
        model_check(heist_run(rt, spare_root, NULL) == 0);
        pool_tell(&outside);
    } else if (id == 1) {
        pool_await(&outside);
        stop(rt);
    } else {
        pool_await(&outside);
        model_check(heist_run(other, heir_root, NULL) == 0);
        model_saw(guests[1] == guests[0] ? SAW_REUSED : SAW_FRESH);
    }
}

static void after_inherited(void)
{
    stop(other);
    free_guests();
}

static void both_seats_were_seen(void)
{
    model_check(model_seen() >> SAW_REUSED & 1);
    model_check(model_seen() >> SAW_FRESH & 1);
}

static void nothing_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
}

/* A region inside leaves a strand with the guest, which the stopper takes. */
static void nesting_root(heist_ctx c, void *arg)
{
    (void)c;
    note_guest(*(unsigned *)arg);
    model_check(heist_run(NULL, nothing_root, NULL) == 0);
}

/* The thread goes on in another runtime while the first one stops. */
static void guest_goes_on(unsigned id)
{
    unsigned first = 0, second = 1;
    if (id == 1) {
        pool_await(&outside);
        stop(rt);
        return;
    }
    model_check(heist_run(rt, nesting_root, &first) == 0);
    pool_tell(&outside);
    model_check(heist_run(other, nesting_root, &second) == 0);
    model_saw(guests[1] == guests[0] ? SAW_REUSED : SAW_FRESH);
}

/* --- victims ------------------------------------------------------------------------ */

static void setup_worker(void)
{
    rt = pool_open(1, 2);
    pool_prepare(rt);
    heist_latch_init(&done, 1);
}

static int work(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(payload == 1);
    runs++;
    return 0;
}

static void spawning_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    payload = 1;
    model_check(heist_spawn(rt, work, NULL, &done, HEIST_FOREVER) == 0);
}

static void check_runs(void)
{
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_check(runs == 1);
}

/* The worker has to find the new seat and the task in its queue. */
static void guest_leaves_a_task(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, nothing_root, NULL) == 0); /* it comes back */
    model_check(heist_run(rt, spawning_root, NULL) == 0);
    check_runs();
    pool_end(rt);
}

static void waiting_root(heist_ctx c, void *arg)
{
    spawning_root(c, arg);
    check_runs();
}

/* The guest steps aside for its own task, or the worker runs it. */
static void guest_waits_for_its_task(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, waiting_root, NULL) == 0);
    pool_end(rt);
}

/* A task of the guest's own lets its root go on, and is put aside itself. */
static heist_latch later;

static int outlasting_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch_arrive(&done);
    model_check(heist_latch_wait(&later, HEIST_FOREVER) == 0);
    runs++;
    return 0;
}

static void outlasted_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(heist_spawn(rt, outlasting_task, NULL, NULL, HEIST_FOREVER) ==
                0);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_saw(runs ? SAW_RUN : SAW_ASIDE);
}

/* What it waits for is a task that the guest, on its way out, leaves to the worker. */
static heist_latch both_ended;

static int ending_task(heist_ctx c, void *arg)
{
    int rc = outlasting_task(c, arg);
    heist_latch_arrive(&both_ended);
    return rc;
}

static int releasing_task(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    heist_latch_arrive(&later);
    heist_latch_arrive(&both_ended);
    return 0;
}

static void leaving_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(heist_spawn(rt, ending_task, NULL, NULL, HEIST_FOREVER) == 0);
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
    model_check(heist_spawn(rt, releasing_task, NULL, NULL, HEIST_FOREVER) ==
                0);
}

static void guest_leaves_what_it_waits_for(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, leaving_root, NULL) == 0);
    model_check(heist_latch_wait(&both_ended, HEIST_FOREVER) == 0);
    model_check(runs == 1);
    pool_end(rt);
}

static void guest_is_outlasted(unsigned id)
{
    if (id == 0) {
        heist_latch_arrive(&later);
    } else {
        model_check(heist_run(rt, outlasted_root, NULL) == 0);
        model_check(runs == 1);
    }
}

static void aside_or_not(void)
{
    model_check(model_seen() >> SAW_RUN & 1);
    model_check(model_seen() >> SAW_ASIDE & 1);
}

static void after_worker(void)
{
    model_check(heist_load_relaxed(&rt->visitors) == 0);
    pool_check(rt);
    pool_close(rt);
}

/* Two regions, and room for both: who waits in one takes nothing of the other. */
static void setup_two_regions(void)
{
    rt = pool_open(GUESTS, 2);
    heist_init(&rt->sleep.awake, 0); /* there are no workers */
    rt->config.exposure = HEIST_EAGER;
    heist_latch_init(&done, 1);
}

static void wait_in_one(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    model_check(heist_latch_wait(&done, HEIST_FOREVER) == 0);
}

static void of_the_other_region(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    model_check(false);
}

static void fork_in_the_other(heist_ctx c, void *arg)
{
    (void)arg;
    heist_fork(c, of_the_other_region);
    heist_latch_arrive(&done);
    model_check(heist_join(c)); /* nobody has taken it */
}

static void two_regions(unsigned id)
{
    model_check(heist_run(rt, id ? fork_in_the_other : wait_in_one, NULL) == 0);
}

static void after_two_regions(void)
{
    heist_init(&rt->sleep.awake, rt->workers);
    after_worker();
}

/* The watchman looks for hidden frames while a guest sits down. */
static void setup_watch(void)
{
    setup_worker();
    heist_init(&rt->rescue, 1);
}

static void counted_root(heist_ctx c, void *arg)
{
    (void)c, (void)arg;
    runs++;
}

static void guest_is_watched(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, counted_root, NULL) == 0);
    pool_end(rt);
}

/* The sum over all guests, while one sits down. */
static void setup_no_worker(void)
{
    rt = pool_open(1, 2);
}

/* Of two workers one is busy elsewhere and not counted: there is room for more, so a
 * guest that goes to sleep makes none. */
static void setup_leaving(void)
{
    rt = pool_open(2, 2);
    pool_prepare(rt);
    heist_init(&rt->sleep.awake, 1);
    heist_latch_init(&done, 1);
    heist_latch_init(&later, 1);
    heist_latch_init(&both_ended, 2);
}

/* The watchman is about to give up while a guest sits down, forks without a look
 * and waits for its frame.  There is room for both. */
static void setup_last_watch(void)
{
    setup_leaving();
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
    heist_init(&rt->watchman, 1);
    rt->pool[0].watch_idle = 2;
}

static void hidden_right(heist_ctx c, heist_frame *f)
{
    (void)c, (void)f;
    runs++;
    pool_tell(&hold);
}

static void long_root(heist_ctx c, void *arg)
{
    (void)arg;
    heist_fork(c, hidden_right);
    pool_await(&hold);
    model_check(!heist_join(c));
}

static void hidden_by_a_guest(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, long_root, NULL) == 0);
    model_check(runs == 1);
    pool_end(rt);
}

/* It was here before, and was not visited meanwhile. */
static void hidden_by_one_that_comes_back(unsigned id)
{
    if (id == 0) {
        pool_await(&outside);
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, nothing_root, NULL) == 0);
    const hi_worker *g = hi_self_get();
    model_check(hi_victim(rt, g->index) == NULL);
    heist_store_relaxed(&rt->sleep.forked,
                        0); /* the watchman has looked since */
    pool_tell(&outside);
    hidden_by_a_guest(id);
}

static void after_leaving(void)
{
    heist_add_relaxed(&rt->sleep.awake, 1);
    after_worker();
}

static void setup_outlasted(void)
{
    setup_no_worker();
    heist_latch_init(&done, 1);
    heist_latch_init(&later, 1);
}

/* Until the worker, who is asleep or about to be, has looked `times` more. */
static void await_looks(unsigned times)
{
    uint64_t last = heist_load_relaxed(&rt->pool[0].announced) + times;
    while (heist_load_relaxed(&rt->pool[0].announced) < last)
        hi_cpu_relax();
}

/* All the room there is for threads is taken by one that has not looked yet.  Here and
 * in the next one what the watchman reads of guests is a hint: no read is stale. */
static void setup_full(void)
{
    setup_worker();
    heist_init(&rt->rescue, HI_RESCUE_TAKES);
    heist_init(&rt->watchman, 1);
}

static void keep_the_room(heist_ctx c, void *arg)
{
    (void)arg;
    heist_fork(c, hidden_right);
    pool_tell(&entered);
    await_looks(2); /* between two of them it is the watchman */
    model_check(heist_join(c));
}

static void guest_keeps_the_room(unsigned id)
{
    if (id == 0) {
        pool_await(&entered);
        hi_worker_main(&rt->pool[0]);
        return;
    }
    model_check(heist_run(rt, keep_the_room, NULL) == 0);
    pool_end(rt);
}

/* The watchman does not see a guest that is not here, but that it was. */
static void guest_comes_again_and_again(unsigned id)
{
    if (id == 0) {
        hi_worker_main(&rt->pool[0]);
        return;
    }
    for (int i = 0; i < 3; i++) {
        model_check(heist_run(rt, nothing_root, NULL) == 0);
        await_looks(1);
        model_check(heist_load_relaxed(&rt->watchman) == 1);
    }
    pool_end(rt);
}

static void guests_are_counted(unsigned id)
{
    if (id == 0) {
        heist_stats stats;
        model_check(heist_stats_read(rt, 1, &stats) == 0);
        model_check(stats.executed == 0);
    } else {
        model_check(heist_run(rt, counted_root, NULL) == 0);
    }
}

/* --- another process ------------------------------------------------------------------ */

static hi_worker *old_pool;
static void *old_victims, *old_idle;
static hi_injector old_injector;

/* As in the child of a fork(): what the parent had is there, its threads are
 * not. */
static void setup_child(void)
{
    rt = pool_open(1, 2);
    heist_init(&rt->generation, PARENTS);
    old_pool = rt->pool;
    old_victims = rt->victims;
    old_idle = rt->sleep.idle;
    old_injector.slots = rt->injector.slots;
    old_injector.mask = rt->injector.mask;
    rt->config.queue_capacity = 2;
    rt->config.unpinned = true;
}

static void revived_once(unsigned id)
{
    (void)id;
    model_check(hi_runtime_get(rt) == rt);
    model_check(rt->pool != old_pool);
    model_check(rt->pool[0].index == 0);
    if (heist_add_acq_rel(&ended, 1) == 1) stop(rt);
}

static void after_child(void)
{
    hi_worker_fini(&old_pool[0]);
    hi_injector_fini(&old_injector);
    hi_free(NULL, old_pool, sizeof *old_pool);
    hi_free(NULL, old_victims, 3 * sizeof *rt->victims);
    hi_free(NULL, old_idle, sizeof(hi_counter));
}

/* A revival for which there is no memory, or no thread, can be tried again. */
static unsigned blocks;

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *p = hi_alloc(NULL, bytes, align);
    blocks += p != NULL;
    return p;
}

static void counted_free(void *user, void *p, size_t bytes)
{
    (void)user;
    blocks -= p != NULL;
    hi_free(NULL, p, bytes);
}

static void setup_poor_child(void)
{
    setup_child();
    rt->config.allocator = (heist_allocator){counted_alloc, counted_free, NULL};
    blocks = 1; /* rt itself, which stop frees */
}

static void revived_at_last(unsigned id)
{
    (void)id;
    while (hi_runtime_get(rt) != rt) {
        model_check(blocks == 1);
        model_saw(SAW_REFUSED);
    }
    model_saw(SAW_RUN);
    while (heist_stop(rt, HEIST_FOREVER) == -ENOMEM)
        ;
    model_check(blocks == 0);
}

/* --- the default runtime ----------------------------------------------------------------- */

static heist_runtime *standard[GUESTS];

static void started_once(unsigned id)
{
    standard[id] = hi_runtime_get(NULL);
    model_check(standard[id] && standard[id]->workers == 1);
    model_check(standard[id]->pool[0].rt == standard[id]);
    if (heist_add_acq_rel(&ended, 1) == 1) stop(NULL);
}

static void after_standard(void)
{
    model_check(standard[0] == standard[1]);
}

static const model_test tests[] = {
    {.name = "stop_waits_for_a_guest_on_its_way_out",
     .threads = 2,
     .setup = setup_hollow,
     .thread = guest_leaves_late,
     .after = free_guests,
     .quick = {2, 2, 1},
     .full = {4, 2, 1}},
    {.name = "stop_waits_for_a_visitor_on_its_way_out",
     .threads = 2,
     .setup = setup_hollow,
     .thread = visitor_leaves_late,
     .after = free_guests,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {.name = "stop_sees_what_a_visitor_has_left",
     .threads = 2,
     .setup = setup_staying,
     .thread = visitor_leaves_an_item,
     .after = after_item,
     .end = both_were_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 2}},
    {MODEL_TEST("what_a_guest_has_left_keeps_stop_from_its_end", 2,
                setup_staying, guest_leaves_an_item, after_guests_item,
                both_were_seen),
     MODEL_BOUNDS(1, 2, 4, 2)},
    {MODEL_TEST("what_a_guest_without_fence_has_left_keeps_stop_from_its_end",
                2, setup_staying_with_barrier, guest_leaves_an_item,
                after_guests_item, both_were_seen),
     MODEL_BOUNDS(1, 2, 4, 2)},
    {MODEL_TEST("a_guest_without_fence_gets_in_or_is_refused", 3,
                setup_hollow_with_barrier, run_or_refused, free_guests,
                both_were_seen),
     .quick = {1, 1, 1}, .full = {1, 2, 1}},
    {MODEL_TEST("stop_waits_for_a_guest_without_fence_on_its_way_out", 2,
                setup_hollow_with_barrier, guest_leaves_late, free_guests,
                NULL),
     MODEL_BOUNDS(4, 2, 6, 2)},
    {MODEL_TEST("a_spawn_is_refused_or_keeps_stop_from_its_end", 2,
                setup_staying, spawner_leaves_a_task, after_task,
                both_were_seen),
     MODEL_BOUNDS(2, 2, 4, 2)},
    {MODEL_TEST("a_spawn_beside_stop_is_refused_or_run_once", 3,
                setup_staying_worker, spawner_stopper_and_worker,
                after_one_look, stopped_after_it_ran),
     .quick = {1, 2, MODEL_NONE}, .full = {3, 2, MODEL_NONE}},
    {.name = "a_visit_that_saw_it_run_ends_before_stop",
     .threads = 3,
     .setup = setup_hollow,
     .thread = visit_or_refused,
     .after = free_guests,
     .end = both_were_seen,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "a_guest_gets_in_or_is_refused",
     .threads = 3,
     .setup = setup_hollow,
     .thread = run_or_refused,
     .after = free_guests,
     .end = both_were_seen,
     .quick = {1, 1, 1},
     .full = {1, 2, 1}},
    {.name = "two_guests_have_two_seats",
     .threads = 2,
     .setup = setup_hollow,
     .thread = seated_apart,
     .after = free_guests,
     .quick = {1, 1, 1},
     .full = {2, 2, 1}},
    {.name = "a_seat_is_inherited_when_it_is_free",
     .threads = 3,
     .setup = setup_two_hollow,
     .thread = seat_is_inherited,
     .after = after_inherited,
     .end = both_seats_were_seen,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "a_guest_goes_on_as_its_runtime_stops",
     .threads = 2,
     .setup = setup_two_hollow,
     .thread = guest_goes_on,
     .after = after_inherited,
     .end = both_seats_were_seen,
     .quick = {2, 2, 1},
     .full = {4, 2, 1}},
    {.name = "a_worker_takes_what_a_guest_has_left",
     .threads = 2,
     .setup = setup_worker,
     .thread = guest_leaves_a_task,
     .after = after_worker,
     .quick = {1, 2, 1},
     .full = {2, 2, 1}},
    {.name = "a_guest_that_sits_down_is_watched",
     .threads = 2,
     .setup = setup_watch,
     .thread = guest_is_watched,
     .after = after_worker,
     .quick = {1, 2, 1},
     .full = {2, 2, 2}},
    {MODEL_TEST("a_long_leaf_of_a_guest_that_sits_down_is_found", 2,
                setup_last_watch, hidden_by_a_guest, after_leaving, NULL),
     .quick = {1, 1, 1}, .full = {2, 2, 1}},
    {MODEL_TEST("a_long_leaf_of_a_guest_that_comes_back_is_found", 2,
                setup_last_watch, hidden_by_one_that_comes_back, after_leaving,
                NULL),
     .quick = {1, 1, 1}, .full = {2, 1, 1}},
    {MODEL_TEST("a_guest_that_has_not_looked_takes_room", 2, setup_full,
                guest_keeps_the_room, after_worker, NULL),
     .quick = {1, MODEL_NONE, MODEL_NONE}, .full = {3, MODEL_NONE, MODEL_NONE}},
    {MODEL_TEST("visits_to_a_far_seat_keep_the_watch", 2, setup_full,
                guest_comes_again_and_again, after_worker, NULL),
     .quick = {1, MODEL_NONE, MODEL_NONE}, .full = {3, MODEL_NONE, MODEL_NONE}},
    {.name = "a_guest_that_sits_down_is_counted",
     .threads = 2,
     .setup = setup_no_worker,
     .thread = guests_are_counted,
     .after = after_worker,
     .quick = {2, 2, 1},
     .full = {4, 2, 1}},
    {.name = "a_guest_waits_for_its_task",
     .threads = 2,
     .setup = setup_worker,
     .thread = guest_waits_for_its_task,
     .after = after_worker,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {MODEL_TEST("a_guest_ends_what_it_has_put_aside", 2, setup_outlasted,
                guest_is_outlasted, after_worker, aside_or_not),
     .quick = {2, 1, MODEL_NONE}, .full = {4, 2, MODEL_NONE}},
    {MODEL_TEST("a_task_that_a_guest_leaves_to_others_is_found", 2,
                setup_leaving, guest_leaves_what_it_waits_for, after_leaving,
                NULL),
     .quick = {1, MODEL_NONE, MODEL_NONE}, .full = {2, 1, MODEL_NONE}},
    {MODEL_TEST("a_guest_that_waits_leaves_another_region_alone", 2,
                setup_two_regions, two_regions, after_two_regions, NULL),
     .quick = {1, 1, MODEL_NONE}, .full = {1, 2, MODEL_NONE}},
    {.name = "a_runtime_is_revived_once",
     .threads = 2,
     .setup = setup_child,
     .thread = revived_once,
     .after = after_child,
     .keeps = true,
     .clock_step = 1000000,
     .quick = {1, 1, 1},
     .full = {2, 1, 1}},
    {.name = "a_revival_that_fails_leaves_nothing_behind",
     .threads = 1,
     .setup = setup_poor_child,
     .thread = revived_at_last,
     .after = after_child,
     .end = both_were_seen,
     .keeps = true,
     .allocation_may_fail = true,
     .clock_step = 1000000,
     .quick = {MODEL_NONE, MODEL_NONE, 1},
     .full = {1, 1, 2}},
    {.name = "the_default_runtime_is_started_once",
     .threads = 2,
     .thread = started_once,
     .after = after_standard,
     .clock_step = 1000000,
     .quick = {3, 2, 1},
     .full = {4, 3, 2},
     .random = true},
};

int main(int argc, char **argv)
{
    setenv("HEIST_WORKERS", "1", 1);
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
