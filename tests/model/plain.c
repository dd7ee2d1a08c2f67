/* SPDX-License-Identifier: MIT
 *
 * plain.c: races of plain accesses, with each other and with atomic ones.
 *
 * The program under test is compiled with -fsanitize=thread, so that each of
 * its plain accesses calls a __tsan_ function; these are ours.  A plain access
 * is no point of choice: whether it races does not depend on the order of
 * execution, only on what happens before what.
 *
 * For eight bytes at a time it is remembered who used which of them when, as
 * far as that can still matter: a note is dropped when a later one that knew
 * of it covers it.
 */
#include "engine.h"

#include <stdio.h>

enum {
    GRANULES_MAX = 1 << 19
};

void plain_init(void)
{
    size_t statics = (size_t)(_end - __data_start) / 8 + 2;
    engine.region_map = engine_map(REGION_BYTES / 8 * sizeof(uint32_t));
    engine.statics_map = engine_map(statics * sizeof(uint32_t));
    engine.granules = engine_map(GRANULES_MAX * sizeof(granule));
    engine.granules_used = 1;
}

void granule_new(uint32_t *slot, uintptr_t address)
{
    if (engine.granules_used == GRANULES_MAX)
        fail("the program uses too much memory");
    *slot = engine.granules_used++;
    engine.granules[*slot].address = address & ~UINT64_C(7);
}

/* --- races ---------------------------------------------------------------------- */

static inline bool unordered(unsigned slot, stamp clock)
{
    thread *t = engine.current;
    return slot != t->slot && clock > t->now[slot];
}

static _Noreturn void race(uintptr_t address, const char *one,
                           const char *one_who, const char *one_where,
                           const char *other, const char *other_where)
{
    fail("data race at %#lx: %s by %s (%s) and %s by %s (%s)",
         (unsigned long)address, one, one_who, one_where, other,
         engine.current->name, other_where);
}

static const char *kind_of(bool write, bool init)
{
    return init ? "initialisation" : write ? "plain write" : "plain read";
}

static _Noreturn void race_plain(const granule *g, const plain *p, bool write,
                                 bool init, const void *site)
{
    char first[256];
    snprintf(first, sizeof first, "%s", place_of(p->site, !p->init));
    race(g->address, kind_of(p->write, p->init), engine.threads[p->slot].name,
         first, kind_of(write, init), place_of(site, !init));
}

static void check_locations(granule *g, unsigned mask, bool write, bool init,
                            const void *site)
{
    for (int i = 0; i < 8; i++) {
        location *l = g->at[i];
        if (!l || !(l->mask & mask) || l->generation != engine.generation)
            continue;
        for (unsigned k = 0; k < engine.started; k++) {
            bool by_write = unordered(k, l->writes[k]);
            if (!by_write && !(write && unordered(k, l->reads[k]))) continue;
            char first[256];
            snprintf(first, sizeof first, "%s", place_of(l->sites[k], false));
            race(l->address, by_write ? "atomic write" : "atomic read",
                 engine.threads[k].name, first, kind_of(write, init),
                 place_of(site, !init));
        }
    }
}

static void granule_access(granule *g, unsigned mask, bool write, bool init,
                           const void *site)
{
    thread *t = engine.current;
    stamp clock = t->now[t->slot];
    /* The last one is the most likely to be met again. */
    const plain *p = &g->plain[g->plains - (g->plains > 0)];
    if (g->plains && p->slot == t->slot && p->clock == clock &&
        p->mask == mask && p->write >= write)
        return;
    unsigned kept = 0;
    for (unsigned i = 0; i < g->plains; i++) {
        p = &g->plain[i];
        bool before = !unordered(p->slot, p->clock);
        if (p->mask & mask && !before && (write || p->write))
            race_plain(g, p, write, init, site);
        if (!(p->mask & ~mask) && before && (write || !p->write)) continue;
        if (kept != i) g->plain[kept] = *p;
        kept++;
    }
    if (UNLIKELY(kept == PLAINS)) fail("too many accesses to eight bytes");
    if (g->locations) check_locations(g, mask, write, init, site);
    g->plain[kept] =
        (plain){site, clock, (uint8_t)t->slot, (uint8_t)mask, write, init};
    g->plains = (uint8_t)(kept + 1);
}

void plain_access(uintptr_t address, size_t bytes, bool write, bool init,
                  const void *site)
{
    if (address - REGION < REGION_BYTES) {
        if (address - HEAP < HEAP_BYTES)
            heap_check(address, bytes, site, init);
        else if (write)
            pages_touch(address, bytes);
    } else if (!snapshot_holds(address)) {
        return;
    }
    if (!concurrent()) return; /* main knows all there was */
    uintptr_t end = address + bytes;
    for (uintptr_t at = address & ~UINT64_C(7); at < end; at += 8) {
        unsigned from = at < address ? (unsigned)(address - at) : 0;
        unsigned to = at + 8 < end ? 8 : (unsigned)(end - at);
        unsigned mask = (1u << to) - (1u << from);
        granule_access(granule_find(at), mask, write, init, site);
    }
}

/* A block is freed: whatever was done to it must be over.  As if all of it
 * were written, but what nobody has used is not remembered. */
void plain_free(uintptr_t address, size_t bytes, const void *site)
{
    if (!concurrent()) return;
    const uint32_t *slot = granule_slot(address);
    for (size_t i = 0; i < (bytes + 7) / 8; i++) {
        if (!slot[i]) continue;
        granule *g = &engine.granules[slot[i]];
        if (g->generation == engine.generation)
            granule_access(g, 255, true, false, site);
    }
}

void atomic_access(location *l, bool write, const model_site *site)
{
    granule *g = l->home;
    thread *t = engine.current;
    for (unsigned i = 0; i < g->plains; i++) {
        plain *p = &g->plain[i];
        if (!(p->mask & l->mask) || !(write || p->write) ||
            !unordered(p->slot, p->clock))
            continue;
        char first[256];
        snprintf(first, sizeof first, "%s", place_of(p->site, !p->init));
        race(l->address, kind_of(p->write, p->init),
             engine.threads[p->slot].name, first,
             write ? "atomic write" : "atomic read", place_of(site, false));
    }
    (write ? l->writes : l->reads)[t->slot] = t->now[t->slot];
    l->sites[t->slot] = site;
}

/* --- what the compiler calls --------------------------------------------------------- */

#define SEE(address, bytes, write)                                      \
    do {                                                                \
        if (LIKELY(engine.running))                                     \
            plain_access((uintptr_t)(address), (bytes), (write), false, \
                         __builtin_return_address(0));                  \
    } while (0)

#define ACCESS(name, bytes, write) \
    void __tsan_##name(void *p);   \
    void __tsan_##name(void *p)    \
    {                              \
        SEE(p, bytes, write);      \
    }

ACCESS(read1, 1, false)
ACCESS(read2, 2, false)
ACCESS(read4, 4, false)
ACCESS(read8, 8, false)
ACCESS(read16, 16, false)
ACCESS(write1, 1, true)
ACCESS(write2, 2, true)
ACCESS(write4, 4, true)
ACCESS(write8, 8, true)
ACCESS(write16, 16, true)
ACCESS(unaligned_read2, 2, false)
ACCESS(unaligned_read4, 4, false)
ACCESS(unaligned_read8, 8, false)
ACCESS(unaligned_read16, 16, false)
ACCESS(unaligned_write2, 2, true)
ACCESS(unaligned_write4, 4, true)
ACCESS(unaligned_write8, 8, true)
ACCESS(unaligned_write16, 16, true)

void __tsan_read_range(void *p, size_t bytes);

void __tsan_read_range(void *p, size_t bytes)
{
    SEE(p, bytes, false);
}

void __tsan_write_range(void *p, size_t bytes);

void __tsan_write_range(void *p, size_t bytes)
{
    SEE(p, bytes, true);
}

void __tsan_init(void);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);

void __tsan_func_entry(void *pc)
{
    (void)pc;
}

void __tsan_func_exit(void);

void __tsan_func_exit(void)
{
}

/* The linker sends the program's calls here (--wrap). */
void *__wrap_memset(void *p, int c, size_t bytes);

void *__wrap_memset(void *p, int c, size_t bytes)
{
    SEE(p, bytes, true);
    return __real_memset(p, c, bytes);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    SEE(from, bytes, false);
    SEE(to, bytes, true);
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes);

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
    SEE(from, bytes, false);
    SEE(to, bytes, true);
    return __real_memmove(to, from, bytes);
}
