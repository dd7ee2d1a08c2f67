/* SPDX-License-Identifier: MIT */
#ifndef HEIST_FUZZ_ARRAYS_H
#define HEIST_FUZZ_ARRAYS_H

/*
 * What the fuzz targets of the algorithms have in common.  The input chooses the
 * operation, the runtime, how many elements there are and what they look like,
 * and whether the library has memory; an operation takes from the rest of it.
 * Arrays are allocated to the byte, and those of elements begin at any address,
 * so that a sanitizer sees what is read or written beside them.
 */
#include "fuzz.h"

#include <errno.h>
#include <heist.h>
#include <math.h>

enum {
    RUNTIMES = 3,
    BUFFERS = 24,
    FEW = 300,
    MANY = 50000,
    SHORT_SIZES = 40
};

/* --- the library's memory ----------------------------------------------------- */

static HEIST_ATOMIC(bool) starved;

static inline void *limited_alloc(void *user, size_t bytes, size_t align)
{
    void *p = NULL;
    (void)user;
    if (heist_load_relaxed(&starved)) return NULL;
    return posix_memalign(&p, align, bytes) ? NULL : p;
}

static inline void limited_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

/* One worker; some; some that see every fork. */
static inline heist_runtime *runtime(size_t which)
{
    static heist_runtime *started[RUNTIMES];
    heist_config config = {
        .workers = which ? 3 : 1,
        .exposure = which == 2 ? HEIST_EAGER : HEIST_ON_DEMAND,
        .allocator = {.alloc = limited_alloc, .free = limited_free},
    };
    if (!started[which]) FUZZ_CHECK(heist_start(&started[which], &config) == 0);
    return started[which];
}

/* --- one input ------------------------------------------------------------------ */

typedef struct job {
    fuzz_input in;
    size_t n;
    uint64_t *number; /* n of them: what everything is made from */
    size_t size;      /* of an element of `element` */
    char *element;    /* n of them, with any bytes in them */
    size_t shift;     /* of an element's address */
    size_t key_size;  /* of a key that is made of an element */
    uint32_t few;     /* keys are below it */
    bool starve;      /* the library has no memory */
    bool rounded;     /* there is a ... */
    double sum;       /* ... that must be the same on every runtime */
    void *buffer[BUFFERS];
    size_t buffers;
} job;

/* Freed after the input. */
static inline void *room(job *j, size_t bytes)
{
    FUZZ_CHECK(j->buffers < BUFFERS);
    void *p = malloc(bytes ? bytes : 1);
    FUZZ_CHECK(p != NULL);
    return j->buffer[j->buffers++] = p;
}

static inline void *copy_of(job *j, const void *from, size_t bytes)
{
    return memcpy(room(j, bytes), from, bytes);
}

/* For bytes of elements: any address. */
static inline char *element_room(job *j, size_t bytes)
{
    return (char *)room(j, j->shift + bytes) + j->shift;
}

static inline char *copy_of_elements(job *j)
{
    size_t bytes = j->n * j->size;
    return memcpy(element_room(j, bytes), j->element, bytes);
}

/* From here to `failed` there may be no memory. */
static inline void begin(const job *j)
{
    heist_store_relaxed(&starved, j->starve);
}

/* True: what returned rc has failed for want of memory. */
static inline bool failed(const job *j, ptrdiff_t rc)
{
    heist_store_relaxed(&starved, false);
    if (rc >= 0) return false;
    FUZZ_CHECK(rc == -ENOMEM && j->starve);
    return true;
}

static inline uint64_t mixed(uint64_t x)
{
    x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return (x ^ x >> 29) * 0x94d049bb133111ebu;
}

/* Numbers of many shapes; the few bytes of an input make thousands. */
static inline void make_numbers(job *j)
{
    uint64_t shape = fuzz_take(&j->in, 1), seed = fuzz_take(&j->in, 4);
    const uint8_t *bytes = j->in.next;
    size_t left = j->in.left, n = j->n;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = mixed(seed + i);
        switch (shape % 8) {
        case 0: v = left ? bytes[i % left] : 0; break;
        case 1: v = i; break;
        case 2: v = n - i; break;
        case 3: v = seed; break;
        case 4: v = i < n / 2 ? i : n - i; break;
        case 5: v = (uint64_t)0 - v % 3; break;
        case 6: v = v << 52 | (v & 1); break; /* zeros, NaNs, infinities */
        }
        j->number[i] = shape & 8 ? v << 60 | v >> 4 : v;
    }
}

static inline void prepare(job *j)
{
    static const size_t long_sizes[] = {48, 64, 100, 256, 257, 600};
    uint64_t big = fuzz_take(&j->in, 1), wanted = fuzz_take(&j->in, 2);
    size_t shape = (size_t)fuzz_take(&j->in, 1);
    j->n = (size_t)wanted % (big % 32 ? FEW : MANY);
    j->size = 1 + shape % SHORT_SIZES;
    if (shape > 200 && j->n < FEW) j->size = long_sizes[shape % 6];
    uint32_t few = (uint32_t)fuzz_take(&j->in, 1);
    j->few = 1 + (few % 4 ? few / 4 : few * 64);
    j->starve = big / 32 % 8 == 0;
    j->shift = (size_t)fuzz_take(&j->in, 1) % 8;
    j->number = room(j, j->n * sizeof *j->number);
    make_numbers(j);
    j->element = element_room(j, j->n * j->size);
    for (size_t i = 0; i < j->n * j->size; i++)
        j->element[i] = (char)(j->number[i / j->size] >> i % j->size * 8 % 64);
}

/* A key of an element, of which there are few. */
static inline uint64_t key_of(const void *element, void *arg)
{
    const job *j = arg;
    uint16_t key = 0;
    memcpy(&key, element, j->size < 2 ? 1 : 2);
    return key % j->few;
}

static inline bool is_odd(const void *element, void *arg)
{
    return key_of(element, arg) & 1;
}

static inline int by_key(const void *a, const void *b, void *arg)
{
    uint64_t x = key_of(a, arg), y = key_of(b, arg);
    return (x > y) - (x < y);
}

static inline const char *element(const job *j, size_t i)
{
    return j->element + i * j->size;
}

static inline uint64_t key(const job *j, const char *base, size_t i)
{
    return key_of(base + i * j->size, (void *)(uintptr_t)j);
}

/* --- numbers of every type -------------------------------------------------------- */

typedef enum type {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    TYPES
} type;

static inline size_t size_of(type t)
{
    return t == I32 || t == U32 || t == F32 ? 4 : 8;
}

/* Exact for all of them, if long double is what it should be. */
static inline long double value(type t, const void *base, size_t i)
{
    switch (t) {
    case I32: return ((const int32_t *)base)[i];
    case U32: return ((const uint32_t *)base)[i];
    case I64: return ((const int64_t *)base)[i];
    case U64: return ((const uint64_t *)base)[i];
    case F32: return ((const float *)base)[i];
    default: return ((const double *)base)[i];
    }
}

static inline void *numbers(job *j, type t)
{
    char *base = room(j, j->n * size_of(t));
    for (size_t i = 0; i < j->n; i++) {
        uint64_t v = j->number[i];
        uint32_t high = (uint32_t)(v >> 32 ^ v);
        memcpy(base + i * size_of(t), t == F32 ? (void *)&high : (void *)&v,
               size_of(t));
    }
    return base;
}

/* --- running -------------------------------------------------------------------- */

typedef void operation(heist_ctx c, job *j);

typedef struct call {
    job *job;
    operation *operation;
} call;

static inline void call_root(heist_ctx c, void *arg)
{
    call *what = arg;
    what->operation(c, what->job);
}

/* One of the operations, as the bytes say. */
static inline void run_one(const uint8_t *data, size_t size,
                           operation *const *operations, size_t count)
{
    job j = {.in = {data, size}};
    call what = {&j, operations[fuzz_take(&j.in, 1) % count]};
    size_t which = (size_t)fuzz_take(&j.in, 1) % RUNTIMES;
    prepare(&j);
    FUZZ_CHECK(heist_run(runtime(which), call_root, &what) == 0);
    if (j.rounded) { /* to the same bits everywhere */
        double sum = j.sum;
        which = (which + 1) % RUNTIMES;
        FUZZ_CHECK(heist_run(runtime(which), call_root, &what) == 0);
        FUZZ_CHECK(memcmp(&sum, &j.sum, sizeof sum) == 0);
    }
    for (size_t i = 0; i < j.buffers; i++)
        free(j.buffer[i]);
}

#endif
