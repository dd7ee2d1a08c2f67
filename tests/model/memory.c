/* SPDX-License-Identifier: MIT
 *
 * memory.c: the memory model, RC11 without load buffering.
 *
 * A location has a list of stores, in the order of execution, which is taken
 * for its modification order.  A thread has a view: for each location the
 * oldest store that it may still read, and for each thread how far it knows
 * what that one did.  Views travel with stores: an acquire load of a release
 * store joins the view of its writer.
 *
 * The newest value is always in the cell itself, too; locations that are not
 * shared have nothing else.
 */
#include "engine.h"

enum {
    STORES_MAX = 1 << 16,
    STAMPS_MAX = 1 << 25,
    LOCATIONS_MAX = 1 << 18
};

static struct {
    location *locations, *free, *end;
} pool __attribute__((section("model_engine")));

void memory_init(void)
{
    engine.store_pool = engine_map(STORES_MAX * sizeof(store));
    engine.store_end = engine.store_pool + STORES_MAX;
    engine.view_pool = engine_map(STAMPS_MAX * sizeof(stamp));
    engine.view_end = engine.view_pool + STAMPS_MAX - VIEW;
    engine.strong = engine_map(VIEW * sizeof(stamp));
    pool.locations = engine_map(LOCATIONS_MAX * sizeof(location));
    pool.free = pool.locations;
    pool.end = pool.locations + LOCATIONS_MAX;
}

void memory_reset(void)
{
    engine.store_free = engine.store_pool;
    engine.view_free = engine.view_pool;
    engine.length = engine.indices = SLOTS;
    memset(engine.strong, 0, SLOTS * sizeof(stamp));
}

/* --- views ---------------------------------------------------------------------- */

void view_join(stamp *to, const stamp *from, int length)
{
    for (int i = 0; i < length; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* Lengths are multiples of eight, and what is not used is zero. */
static void views_grow(void)
{
    int from = engine.length;
    if (from + 8 > VIEW) fail("more than %d shared locations", VIEW - SLOTS);
    for (unsigned i = 0; i < engine.started; i++)
        memset(engine.threads[i].now + from, 0, 8 * sizeof(stamp));
    memset(engine.strong + from, 0, 8 * sizeof(stamp));
    engine.length = from + 8;
}

static stamp *view_copy(const stamp *from, int length)
{
    stamp *view = engine.view_free;
    if (UNLIKELY(view > engine.view_end)) fail("out of views");
    memcpy(view, from, (size_t)length * sizeof(stamp));
    engine.view_free += length;
    return view;
}

/* A view shorter than `length` goes on with zeros. */
static int view_extend(stamp *view, int length, int to)
{
    if (to <= length) return length;
    memset(view + length, 0, (size_t)(to - length) * sizeof(stamp));
    return to;
}

void fence(thread *t, model_order order)
{
    size_t bytes = (size_t)engine.length * sizeof(stamp);
    if (order != MODEL_RELEASE && t->acquired_length) {
        view_join(t->now, t->acquired, t->acquired_length);
        t->acquired_length = 0;
    }
    if (order == MODEL_SEQ_CST) {
        /* Without the clocks: fences order stores, but what one thread did
         * happens before what the other does only if that one read it. */
        view_join(t->now + SLOTS, engine.strong + SLOTS, engine.length - SLOTS);
        memcpy(engine.strong + SLOTS, t->now + SLOTS,
               bytes - SLOTS * sizeof(stamp));
    }
    if (order == MODEL_RELEASE || order >= MODEL_ACQ_REL) {
        memcpy(t->released, t->now, bytes);
        t->released_length = engine.length;
        t->now[t->slot]++;
    }
}

/* --- locations ------------------------------------------------------------------ */

static inline uint64_t truncated(uint64_t value, unsigned bytes)
{
    return bytes == 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1);
}

static inline uint64_t cell_read(const void *cell, unsigned bytes)
{
    switch (bytes) {
    case 1: return *(const volatile uint8_t *)cell;
    case 2: return *(const volatile uint16_t *)cell;
    case 4: return *(const volatile uint32_t *)cell;
    default: return *(const volatile uint64_t *)cell;
    }
}

static inline void cell_write(void *cell, unsigned bytes, uint64_t value)
{
    switch (bytes) {
    case 1: *(volatile uint8_t *)cell = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)cell = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)cell = (uint32_t)value; break;
    default: *(volatile uint64_t *)cell = value;
    }
}

static location *location_new(granule *g, uintptr_t address, unsigned bytes)
{
    if (pool.free == pool.end) fail("too many locations");
    location *l = pool.free++;
    memset(l, 0, sizeof *l);
    l->home = g;
    l->address = address;
    l->bytes = (uint8_t)bytes;
    l->mask = (uint8_t)(((1u << bytes) - 1) << (address & 7));
    l->shared = engine.mode == REPLAY && replay_shares(address);
    g->at[address & 7] = l;
    g->locations++;
    return l;
}

static void location_refresh(location *l)
{
    l->generation = engine.generation;
    l->index = 0;
    l->newest = NULL;
    memset(l->reads, 0, sizeof l->reads);
    memset(l->writes, 0, sizeof l->writes);
}

/*
 * A location that one thread only uses, or that nobody writes, is no point
 * where another thread need go first.  That is known after the fact only: when
 * it turns out to be otherwise, the exploration starts again.
 */
static void note_use(location *l, bool write)
{
    uint16_t me = (uint16_t)bit(engine.current->slot);
    uint16_t *users = write ? &l->writers : &l->readers;
    if (*users & me) return;
    *users |= me;
    if (l->writers && __builtin_popcount(l->readers | l->writers) > 1) {
        l->shared = true;
        execution_end(RESTART);
    }
}

location *location_of(const void *cell, unsigned bytes, bool write,
                      const model_site *site)
{
    uintptr_t address = (uintptr_t)cell;
    if (UNLIKELY(++engine.point > engine.patience)) lose_patience();
    if (address - REGION < REGION_BYTES) {
        if (address - HEAP < HEAP_BYTES)
            heap_check(address, bytes, site, true);
        else if (write)
            pages_touch(address, bytes);
    } else if (UNLIKELY(!snapshot_holds(address))) {
        fail("an atomic access to memory that the checker does not know");
    }
    granule *g = granule_find(address);
    location *l = g->at[address & 7];
    if (UNLIKELY(!l)) l = location_new(g, address, bytes);
    if (UNLIKELY(l->bytes != bytes)) {
        /* The memory has become something else. */
        l->bytes = (uint8_t)bytes;
        l->mask = (uint8_t)(((1u << bytes) - 1) << (address & 7));
    }
    if (l->generation != engine.generation) location_refresh(l);
    if (!l->shared && concurrent()) note_use(l, write);
    return l;
}

/* --- stores --------------------------------------------------------------------- */

static store *store_add(location *l, uint64_t value, const model_site *site)
{
    store *s = engine.store_free++;
    if (UNLIKELY(s == engine.store_end)) fail("too many stores");
    s->older = l->newest;
    s->value = value;
    s->view = NULL;
    s->site = site;
    s->step = engine.steps;
    s->length = 0;
    s->inherits = false;
    s->at = (stamp)(l->newest ? l->newest->at + 1 : 0);
    s->slot = (uint8_t)engine.current->slot;
    l->newest = s;
    return s;
}

/*
 * Gives the location its history in this execution, which begins with what is
 * in the cell.  False: it has none, because nobody else is there to see it.
 */
static inline bool has_history(location *l)
{
    if (!l->shared) return false;
    uint64_t value = cell_read((const void *)l->address, l->bytes);
    /* Otherwise it was written plainly in between; whether that was a race is
     * another question, so it is a beginning. */
    if (LIKELY(l->index && value == l->newest->value)) return true;
    if (!concurrent()) return false;
    if (engine.indices == engine.length) views_grow();
    l->index = (int16_t)engine.indices++;
    l->newest = NULL;
    store_add(l, value, NULL)->step = 0;
    return true;
}

/* What the current thread learns by reading s. */
static inline void learn(thread *t, location *l, const store *s, bool acquire)
{
    if (t->now[l->index] < s->at) t->now[l->index] = s->at;
    if (!s->view || (s->slot == t->slot && !s->inherits)) return;
    if (acquire) {
        view_join(t->now, s->view, s->length);
    } else {
        t->acquired_length =
            view_extend(t->acquired, t->acquired_length, s->length);
        view_join(t->acquired, s->view, s->length);
    }
}

/* The view that travels with a new store.  `before`: the store that a
 * read-modify-write replaces and whose release sequence it continues. */
static inline void publish(thread *t, location *l, store *s, bool release,
                           const store *before)
{
    t->now[l->index] = s->at;
    const stamp *own = release ? t->now : t->released;
    int length = release ? engine.length : t->released_length;
    if (before && before->view) {
        int longest = length > before->length ? length : before->length;
        stamp *view = view_copy(own, length);
        engine.view_free = view + view_extend(view, length, longest);
        view_join(view, before->view, before->length);
        s->view = view;
        s->length = (int16_t)longest;
        s->inherits = true;
    } else if (length) {
        s->view = view_copy(own, length);
        s->length = (int16_t)length;
    }
    if (release) t->now[t->slot]++;
}

static inline bool acquires(model_order order)
{
    return order == MODEL_ACQUIRE || order >= MODEL_ACQ_REL;
}

static inline bool releases(model_order order)
{
    return order >= MODEL_RELEASE;
}

/* Others may go first. */
static inline void access_step(const location *l, bool write, model_order order)
{
    if (!l->shared) return;
    step((effect){.cell = l, .write = write, .strong = order == MODEL_SEQ_CST});
}

/* --- loads ---------------------------------------------------------------------- */

/*
 * Picks what a load reads: the newest store, or one that the thread may not
 * know to be overwritten.  A compare-and-swap that is to fail does not find
 * `unlike`.
 */
static store *pick(thread *t, location *l, stamp floor, const uint64_t *unlike,
                   bool weak)
{
    enum {
        MOST = 32
    };

    store *found[MOST];
    uint8_t back[MOST];
    unsigned n = 0, k = 0;
    store *newer = NULL;
    for (store *s = l->newest; s && s->at >= floor && n < MOST - 1; k++) {
        /* It has spun since this one was overwritten. */
        if (newer && newer->step <= t->yield_step) break;
        if (!newer || !unlike || s->value != *unlike) {
            found[n] = s;
            back[n++] = (uint8_t)k;
        }
        if (!engine.left.stale) break;
        newer = s;
        s = s->older;
    }
    if (weak && engine.left.faults) {
        found[n] = NULL;
        back[n++] = 255;
    }
    if (n == 1) return found[0];
    unsigned i = choose(CHOOSE_VALUE, n, back);
    if (!found[i])
        engine.left.faults--;
    else if (i > 0)
        engine.left.stale--;
    return found[i];
}

/* What only one thread uses would make the trace long and tells little. */
static inline bool traced(const location *l)
{
    return UNLIKELY(engine.tracing) && (l->shared || engine.trace_all);
}

static unsigned staleness(const location *l, const store *s)
{
    return (unsigned)(l->newest->at - s->at);
}

static void trace_load(const location *l, const store *s, model_order order,
                       const model_site *site)
{
    if (s && s != l->newest)
        trace(site, "load %s %s = %#lx [STALE %u]", order_name(order),
              site->what, (unsigned long)s->value, staleness(l, s));
    else
        trace(site, "load %s %s = %#lx", order_name(order), site->what,
              (unsigned long)cell_read((const void *)l->address, l->bytes));
}

uint64_t model_load(const void *cell, unsigned bytes, model_order order,
                    const model_site *site)
{
    if (!engine.running) return cell_read(cell, bytes);
    location *l = location_of(cell, bytes, false, site);
    access_step(l, false, order);
    atomic_access(l, false, site);
    engine.point++;
    if (!has_history(l)) {
        if (traced(l)) trace_load(l, NULL, order, site);
        return cell_read(cell, bytes);
    }
    thread *t = engine.current;
    stamp floor = t->now[l->index];
    if (order == MODEL_SEQ_CST && engine.strong[l->index] > floor)
        floor = engine.strong[l->index];
    store *s = l->newest;
    if (floor < s->at && engine.left.stale) s = pick(t, l, floor, NULL, false);
    if (traced(l)) trace_load(l, s, order, site);
    learn(t, l, s, acquires(order));
    return s->value;
}

/* --- stores and read-modify-writes ------------------------------------------------ */

static void trace_write(const char *op, model_order order, uint64_t before,
                        uint64_t after, bool reads, const model_site *site)
{
    if (reads)
        trace(site, "%s %s %s: %#lx -> %#lx", op, order_name(order), site->what,
              (unsigned long)before, (unsigned long)after);
    else
        trace(site, "%s %s %s := %#lx", op, order_name(order), site->what,
              (unsigned long)after);
}

/* Writes the newest value; `rmw`: having read the one before. */
static void write_newest(location *l, uint64_t value, model_order order,
                         bool rmw, const model_site *site)
{
    void *cell = (void *)l->address;
    if (!has_history(l)) {
        cell_write(cell, l->bytes, value);
        return;
    }
    thread *t = engine.current;
    store *before = l->newest;
    if (rmw) learn(t, l, before, acquires(order));
    if (before->value != value) changed();
    store *s = store_add(l, value, site);
    publish(t, l, s, releases(order), rmw ? before : NULL);
    if (order == MODEL_SEQ_CST) engine.strong[l->index] = s->at;
    cell_write(cell, l->bytes, value);
}

void model_store(void *cell, unsigned bytes, uint64_t value, model_order order,
                 const model_site *site)
{
    value = truncated(value, bytes);
    if (!engine.running) {
        cell_write(cell, bytes, value);
        return;
    }
    location *l = location_of(cell, bytes, true, site);
    access_step(l, true, order);
    atomic_access(l, true, site);
    if (traced(l)) trace_write("store", order, 0, value, false, site);
    write_newest(l, value, order, false, site);
}

void model_init(void *cell, unsigned bytes, uint64_t value,
                const model_site *site)
{
    value = truncated(value, bytes);
    if (engine.running) {
        plain_access((uintptr_t)cell, bytes, true, true, site);
    }
    cell_write(cell, bytes, value);
}

static uint64_t apply(model_rmw op, uint64_t a, uint64_t b)
{
    switch (op) {
    case MODEL_SWAP: return b;
    case MODEL_ADD: return a + b;
    case MODEL_SUB: return a - b;
    case MODEL_OR: return a | b;
    case MODEL_AND: return a & b;
    }
    return b;
}

uint64_t model_update(void *cell, unsigned bytes, model_rmw op, uint64_t value,
                      model_order order, const model_site *site)
{
    static const char *const names[] = {"swap", "add", "sub", "or", "and"};
    location *l = NULL;
    if (engine.running) {
        l = location_of(cell, bytes, true, site);
        access_step(l, true, order);
        atomic_access(l, true, site);
    }
    uint64_t before = cell_read(cell, bytes);
    uint64_t after = truncated(apply(op, before, value), bytes);
    if (!l) {
        cell_write(cell, bytes, after);
        return before;
    }
    if (traced(l)) trace_write(names[op], order, before, after, true, site);
    write_newest(l, after, order, true, site);
    return before;
}

/* --- compare and swap ------------------------------------------------------------- */

static void trace_failed_cas(const location *l, const store *s, uint64_t found,
                             model_order order, const model_site *site)
{
    if (s && s != l->newest)
        trace(site, "cas %s %s fails, finds %#lx [STALE %u]", order_name(order),
              site->what, (unsigned long)found, staleness(l, s));
    else
        trace(site, "cas %s %s fails, finds %#lx%s", order_name(order),
              site->what, (unsigned long)found, s ? "" : " for no reason");
}

/* Decides whether a cas fails, and which store it reads: success takes the
 * newest one, *spurious means that it fails although that would do. */
static bool cas_fails(location *l, uint64_t want, bool weak, store **read,
                      bool *spurious)
{
    thread *t = engine.current;
    bool equal = l->newest->value == want;
    stamp floor = t->now[l->index];
    *spurious = false;
    *read = l->newest;
    weak = weak && equal;
    if ((engine.left.stale && floor < l->newest->at) ||
        (weak && engine.left.faults)) {
        *read = pick(t, l, floor, &want, weak);
        *spurious = *read == NULL;
    }
    return *spurious || *read != l->newest || !equal;
}

bool model_cas(void *cell, unsigned bytes, uint64_t *expected, uint64_t desired,
               model_order order, bool weak, const model_site *site)
{
    uint64_t want = truncated(*expected, bytes);
    desired = truncated(desired, bytes);
    if (!engine.running) {
        uint64_t found = *expected = cell_read(cell, bytes);
        if (found == want) cell_write(cell, bytes, desired);
        return found == want;
    }
    location *l = location_of(cell, bytes, true, site);
    access_step(l, true, order);
    atomic_access(l, true, site);
    engine.point++;
    store *read = NULL;
    bool spurious = false, fails;
    if (has_history(l))
        fails = cas_fails(l, want, weak, &read, &spurious);
    else
        fails = cell_read(cell, bytes) != want;
    if (!fails) {
        if (traced(l)) trace_write("cas", order, want, desired, true, site);
        write_newest(l, desired, order, true, site);
        return true;
    }
    *expected = spurious ? want : read ? read->value : cell_read(cell, bytes);
    if (traced(l))
        trace_failed_cas(l,
                         spurious ? NULL
                         : read   ? read
                                  : l->newest,
                         *expected, order, site);
    if (read) learn(engine.current, l, read, false);
    return false;
}

void model_fence(model_order order, const model_site *site)
{
    if (!engine.running) return;
    /* Any other fence concerns its own thread only. */
    if (concurrent() && order == MODEL_SEQ_CST) step((effect){.strong = true});
    if (engine.tracing) trace(site, "fence %s", order_name(order));
    fence(engine.current, order);
}

void locations_forget(void)
{
    for (location *l = pool.locations; l < pool.free; l++)
        l->home->at[l->address & 7] = NULL, l->home->locations = 0;
    pool.free = pool.locations;
}

void locations_each(void (*each)(const location *l))
{
    for (location *l = pool.locations; l < pool.free; l++)
        each(l);
}
