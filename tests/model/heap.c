/* SPDX-License-Identifier: MIT
 *
 * heap.c: the program's memory: what it allocates, and pages.
 *
 * Addresses are given out upwards and never again within an execution, so they
 * are the same in each replay, and a late access finds its block marked as
 * freed.  For eight bytes there is one byte that tells how many of them may be
 * used.
 */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    FREED = 0xfe, /* other values of the map: the number of usable bytes */
    GAP = 16,     /* between blocks */
    BLOCKS_MAX = 1 << 16,
    TOUCHED_MAX = 1 << 16,
    HELD_MAX = 16
};

typedef struct block {
    uintptr_t address;
    size_t bytes;
    const void *made, *freed; /* pc */
    uint8_t made_by, freed_by;
    bool alive, reached;
} block;

static struct {
    uint8_t *map;
    block *blocks;
    unsigned count, alive;
    uintptr_t next; /* of the heap */
    uintptr_t pages_next;
    uint32_t *touched_in; /* per page: the execution */
    uint32_t *touched;
    unsigned touched_count;

    struct {
        const char *from, *to;
    } held[HELD_MAX];

    unsigned held_count;
} heap __attribute__((section("model_engine")));

void heap_init(void)
{
    int flags =
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *p = mmap((void *)REGION, REGION_BYTES, PROT_READ | PROT_WRITE, flags,
                   -1, 0);
    if (p != (void *)REGION) {
        fprintf(stderr, "the checker finds no address space\n");
        exit(2);
    }
    heap.map = engine_map(HEAP_BYTES / 8);
    heap.blocks = engine_map(BLOCKS_MAX * sizeof(block));
    heap.touched_in = engine_map(PAGES_BYTES / PAGE * sizeof(uint32_t));
    heap.touched = engine_map(TOUCHED_MAX * sizeof(uint32_t));
    heap.next = HEAP;
    heap.pages_next = PAGES;
}

void heap_reset(void)
{
    memset(heap.map, 0, (heap.next - HEAP) / 8);
    heap.next = HEAP;
    heap.count = heap.alive = 0;
    for (unsigned i = 0; i < heap.touched_count; i++)
        memset((void *)(PAGES + heap.touched[i] * PAGE), 0, PAGE);
    heap.touched_count = heap.held_count = 0;
    heap.pages_next = PAGES;
}

/* --- blocks ----------------------------------------------------------------------- */

static block *block_of(uintptr_t address)
{
    for (unsigned i = heap.count; i-- > 0;) {
        block *b = &heap.blocks[i];
        if (address >= b->address) return b;
    }
    return NULL;
}

static _Noreturn void bad_access(uintptr_t address, const void *site,
                                 bool atomic)
{
    block *b = block_of(address);
    char where[256], freed[256];
    snprintf(where, sizeof where, "%s", place_of(site, !atomic));
    if (!b || address >= b->address + b->bytes || !b->freed)
        fail("access outside of allocated memory by %s (%s)",
             engine.current->name, where);
    snprintf(freed, sizeof freed, "%s", place_of(b->freed, true));
    fail("use after free: access by %s (%s) to %zu bytes freed by %s (%s)",
         engine.current->name, where, b->bytes,
         engine.threads[b->freed_by].name, freed);
}

void heap_check(uintptr_t address, size_t bytes, const void *site, bool atomic)
{
    uintptr_t last = address + bytes - 1;
    for (uintptr_t i = (address - HEAP) >> 3; i <= (last - HEAP) >> 3; i++) {
        uintptr_t end = HEAP + (i << 3) + 8;
        unsigned need = last < end ? (unsigned)(last & 7) + 1 : 8;
        if (LIKELY(heap.map[i] == 8)) continue;
        if (heap.map[i] == FREED || heap.map[i] < need)
            bad_access(address, site, atomic);
    }
}

static void *allocate(size_t bytes, size_t align, const void *pc)
{
    if (engine.test->allocation_may_fail && choose_fault()) {
        if (engine.tracing) trace(NULL, "allocation of %zu bytes fails", bytes);
        return NULL;
    }
    moment(); /* who comes first has the lower address */
    if (align < 16) align = 16;
    uintptr_t p = (heap.next + GAP + align - 1) & ~(align - 1);
    if (bytes > HEAP_BYTES || p + bytes > HEAP + HEAP_BYTES - 2 * GAP)
        return NULL;
    if (heap.count == BLOCKS_MAX) fail("too many allocations");
    heap.next = (p + bytes + 7) & ~UINT64_C(7);
    heap.blocks[heap.count++] = (block){
        .address = p,
        .bytes = bytes,
        .made = pc,
        .made_by = (uint8_t)engine.current->slot,
        .alive = true,
    };
    heap.alive++;
    memset(heap.map + (p - HEAP) / 8, 8, bytes / 8);
    if (bytes & 7) heap.map[(p + bytes - HEAP) / 8] = (uint8_t)(bytes & 7);
    return (void *)p;
}

static void release(uintptr_t p, const void *pc)
{
    block *b = block_of(p);
    if (!b || b->address != p)
        fail("free of what was not allocated (%s)", place_of(pc, true));
    if (!b->alive) {
        char first[256];
        snprintf(first, sizeof first, "%s", place_of(b->freed, true));
        fail("double free: first by %s (%s), then by %s (%s)",
             engine.threads[b->freed_by].name, first, engine.current->name,
             place_of(pc, true));
    }
    plain_free(p, b->bytes, pc);
    b->alive = false;
    b->freed = pc;
    b->freed_by = (uint8_t)engine.current->slot;
    heap.alive--;
    memset(heap.map + (p - HEAP) / 8, FREED, (b->bytes + 7) / 8);
}

/* --- what is left --------------------------------------------------------------------- */

static void reach(const char *from, const char *to)
{
    for (const char *p = from; p + sizeof(uintptr_t) <= to;
         p += sizeof(uintptr_t)) {
        uintptr_t word = *(const uintptr_t *)(const void *)p;
        if (word - HEAP >= HEAP_BYTES) continue;
        block *b = block_of(word);
        if (!b || !b->alive || b->reached || word >= b->address + b->bytes)
            continue;
        b->reached = true;
        const char *start = (const char *)b->address;
        reach(start, start + b->bytes);
    }
}

void heap_report_leaks(void)
{
    if (heap.alive == 0) return;
    if (engine.test->keeps) {
        snapshot_each(reach);
        for (unsigned i = 0; i < heap.held_count; i++)
            reach(heap.held[i].from, heap.held[i].to);
    }
    for (unsigned i = 0; i < heap.count; i++) {
        block *b = &heap.blocks[i];
        if (b->alive && !b->reached)
            fail("leak: %zu bytes allocated by %s (%s)", b->bytes,
                 engine.threads[b->made_by].name, place_of(b->made, true));
    }
}

/* --- the linker sends the program's calls here (--wrap) ---------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *p);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *p);

void *__wrap_malloc(size_t bytes)
{
    if (!engine.running) return __real_malloc(bytes);
    void *p = allocate(bytes, 16, __builtin_return_address(0));
    if (p) memset(p, 0xa5, bytes); /* not zero, and always the same */
    return p;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    if (!engine.running) return __real_calloc(n, bytes);
    void *p = allocate(n * bytes, 16, __builtin_return_address(0));
    if (p) memset(p, 0, n * bytes);
    return p;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    if (!engine.running) return __real_aligned_alloc(align, bytes);
    void *p = allocate(bytes, align, __builtin_return_address(0));
    if (p) memset(p, 0xa5, bytes);
    return p;
}

void __wrap_free(void *p)
{
    uintptr_t address = (uintptr_t)p;
    if (address - HEAP >= HEAP_BYTES)
        __real_free(p);
    else if (engine.running)
        release(address, __builtin_return_address(0));
}

/* --- pages ----------------------------------------------------------------------------- */

void *pages_reserve(size_t bytes)
{
    bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    if (bytes > PAGES + PAGES_BYTES - heap.pages_next) return NULL;
    moment();
    void *p = (void *)heap.pages_next;
    heap.pages_next += bytes;
    return p;
}

/* The next execution finds zeros again. */
void pages_touch(uintptr_t address, size_t bytes)
{
    if (address - PAGES >= PAGES_BYTES) return;
    uintptr_t last = (address + bytes - 1 - PAGES) / PAGE;
    for (uintptr_t i = (address - PAGES) / PAGE; i <= last; i++) {
        if (heap.touched_in[i] == engine.generation) continue;
        heap.touched_in[i] = engine.generation;
        if (heap.touched_count == TOUCHED_MAX) fail("too many pages");
        heap.touched[heap.touched_count++] = (uint32_t)i;
    }
}

void pages_clear(uintptr_t address, size_t bytes)
{
    for (unsigned i = 0; i < heap.touched_count; i++) {
        uintptr_t page = PAGES + heap.touched[i] * PAGE;
        if (page - address < bytes) memset((void *)page, 0, PAGE);
    }
}

/* What hangs on these is reached. */
void pages_hold(const void *p, size_t bytes)
{
    if (heap.held_count == HELD_MAX) fail("too many pages are held");
    heap.held[heap.held_count].from = p;
    heap.held[heap.held_count++].to = (const char *)p + bytes;
}
