/* SPDX-License-Identifier: MIT */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

/*
 * What the files of the checker share.  One execution is running at a time, in
 * one OS thread; all state is in `engine`, which is left alone when the
 * program's static variables are put back.
 */
#include "model.h"
#include "platform/platform.h"

#include <string.h>

/* The linker routes the program's calls to the checker; not our own. */
void *__real_memset(void *p, int c, size_t bytes);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
#define memset(p, c, bytes)      __real_memset(p, c, bytes)
#define memcpy(to, from, bytes)  __real_memcpy(to, from, bytes)
#define memmove(to, from, bytes) __real_memmove(to, from, bytes)

enum {
    SLOTS = 16,            /* threads of one execution, all ever started */
    VIEW = 1024,           /* clocks and locations in a view */
    STEPS_MAX = 20000,     /* of one execution; more is a livelock */
    POINTS_MAX = 20000,    /* accesses until others get a turn, too */
    RUN_MAX = 500,         /* steps until others get a turn, too */
    IDLE_TURNS_MAX = 3000, /* turns of a spin loop while nothing changes */
    RELAXES_MAX = 1000,    /* in a row that count as one */
    HASTY_TURNS = 500      /* until a spin loop must have given up */
};

/* --- views: what a thread knows ---------------------------------------------- */

/* Signed, because SSE2 has a maximum of signed 16-bit words only. */
typedef int16_t stamp;

/* One store of a location, in modification order. */
typedef struct store {
    struct store *older;
    uint64_t value;
    const stamp *view; /* what an acquire load of it learns; NULL: nothing */
    const model_site *site;
    uint32_t step;
    int16_t length; /* of the view */
    stamp at;       /* its place in modification order */
    bool inherits;  /* the view is not its writer's alone */
    uint8_t slot;
} store;

typedef struct granule granule;

/* An atomic cell.  The first part lives as long as the test. */
typedef struct location {
    granule *home;
    uintptr_t address;
    uint16_t readers, writers; /* threads, over all executions */
    uint8_t bytes, mask;
    bool shared; /* one writes it and another one uses it */

    uint32_t generation; /* the rest belongs to this execution */
    int16_t index;       /* in views; 0: not there */
    store *newest;
    stamp reads[SLOTS], writes[SLOTS]; /* clocks of the last accesses */
    const model_site *sites[SLOTS];
} location;

/* A plain access to some bytes of a granule. */
typedef struct plain {
    const void *site; /* a model_site if it is an initialisation, else a pc */
    stamp clock;
    uint8_t slot, mask;
    bool write, init;
} plain;

enum {
    PLAINS = 24
};

/* Eight aligned bytes. */
struct granule {
    uintptr_t address;
    uint32_t generation;
    uint8_t plains;
    uint8_t locations;
    plain plain[PLAINS];
    location *at[8];
};

/* --- threads --------------------------------------------------------------- */

/* What a step does that another thread could notice. */
typedef struct effect {
    const location *cell; /* NULL: none */
    bool write;
    bool strong; /* takes part in the order of all seq_cst operations */
    bool all;    /* does not change places with anything */
    bool timed;  /* until the step after it, there is a moment that counts */
} effect;

typedef enum wake_reason {
    ASLEEP,
    WOKEN,
    SPURIOUS,
    TIMED_OUT
} wake_reason;

/* One decision.  `value` says what was decided whatever the bounds are. */
typedef struct choice {
    uint32_t point;
    uint8_t taken, options, value;
    bool timed; /* after option 0 came a moment that counts */
} choice;

typedef struct thread {
    hi_context context;
    unsigned slot;
    char name[24];
    void (*fn)(void *arg);
    void *arg;
    void *self; /* hi_self_get */
    void (*at_exit)(void *arg);
    void *at_exit_arg;
    int joining; /* slot it waits for; -1: none */

    uintptr_t waits_on; /* futex; 0: none */
    int64_t deadline;
    wake_reason reason;

    uint32_t own_changes;
    uint32_t seen_changes; /* of others, when its last spin turn began */
    uint32_t yield_step;   /* it knows what was newest then */
    uint32_t yield_point;
    bool clock_read; /* since its last spin turn began */
    bool joined;
    unsigned relaxes;  /* in a row */
    unsigned hasty;    /* turns of spin loops that do not wait */
    uint64_t priority; /* random mode */

    /* Fairness: sets of threads. */
    unsigned waiting;   /* could have gone on ever since its last turn began */
    unsigned scheduled; /* have run since */
    unsigned behind;    /* it does not run before them */
    uint32_t run_since; /* step */
    unsigned losses;    /* of patience */
    bool fresh;         /* was chosen just now */
    unsigned ready_then;

    effect next;    /* of the step that it was about to make */
    choice *chosen; /* before its last step; NULL: there was no choice */

    int acquired_length, released_length;
    stamp now[VIEW] __attribute__((aligned(64)));
    stamp acquired[VIEW]; /* what an acquire fence would learn */
    stamp released[VIEW]; /* what was known at the last release fence */
} thread;

/* One fixed region: stacks of threads, the heap, pages. */
#define REGION       UINT64_C(0x2000000000)
#define STACK_BYTES  (UINT64_C(256) << 10)
#define STACKS       (REGION)
#define STACKS_BYTES (SLOTS * STACK_BYTES)
#define HEAP         (REGION + (UINT64_C(1) << 30))
#define HEAP_BYTES   (UINT64_C(1) << 28)
#define PAGES        (REGION + (UINT64_C(2) << 30))
#define PAGES_BYTES  (UINT64_C(30) << 30)
#define REGION_BYTES (UINT64_C(32) << 30)
#define PAGE         UINT64_C(4096)

/* --- the whole --------------------------------------------------------------- */

typedef enum mode {
    EXHAUST,
    RANDOM,
    REPLAY
} mode;

typedef enum outcome {
    RUNS,
    HOLDS,
    FAILED,
    RESTART, /* a location turned out to be shared */
    REPEATED /* would go on like one before */
} outcome;

enum {
    CHOICES_MAX = 1 << 16
};

typedef struct model_engine {
    /* the execution */
    bool running;
    bool tracing, trace_all;
    unsigned unjoined; /* threads that main does not know the end of */
    thread *current;
    unsigned ready;   /* threads that could go on, bit by bit */
    unsigned yielded; /* those that wait for a change */
    unsigned live;
    unsigned settled; /* of the ready ones: to go on now repeats an execution */
    unsigned started; /* slots used */
    unsigned left_to_end;  /* threads of the test */
    uint32_t generation;   /* of the execution */
    uint32_t steps, point; /* point: every place where a choice could be */
    uint32_t patience;     /* the point at which it ends */
    uint32_t changes;
    unsigned idle_turns;
    int64_t clock, idle_jump;
    model_bounds left;
    outcome outcome;
    int length;    /* of views, as far as they are used */
    int indices;   /* used of them */
    stamp *strong; /* the view of seq_cst fences */
    stamp *view_pool, *view_free, *view_end;
    store *store_pool, *store_free, *store_end;
    thread *threads;
    hi_context explorer;

    /* By address: which granule, 0 for none yet.  Large and almost empty. */
    uint32_t *region_map, *statics_map;
    granule *granules;
    uint32_t granules_used;

    /* the exploration */
    const model_test *test;
    mode mode;
    bool whole; /* nothing is cut short */
    model_bounds bounds;
    choice *choices;
    unsigned depth, decided;
    uint64_t executions, repeated, total_steps;
    uint32_t longest;
    uint64_t seen;
    uint64_t random;
    uint64_t seed;
    uint32_t change_points[16];
    char message[2048];
} model_engine;

extern model_engine engine;

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x)   __builtin_expect(!!(x), 1)

/* Might somebody else do something that the current thread does not know? */
static inline bool concurrent(void)
{
    return engine.unjoined != 0;
}

static inline unsigned bit(unsigned slot)
{
    return 1u << slot;
}

/* --- snapshot.c: static variables of the program -------------------------------- */

extern char __data_start[], _end[];
extern char __start_model_engine[], __stop_model_engine[];

void snapshot_take(void);
void snapshot_restore(void);
void snapshot_each(void (*range)(const char *from, const char *to));

/* Is it one of them?  The checker's own are not. */
static inline bool snapshot_holds(uintptr_t address)
{
    uintptr_t low = (uintptr_t)__data_start, high = (uintptr_t)_end;
    uintptr_t own = (uintptr_t)__start_model_engine;
    uintptr_t rest = (uintptr_t)__stop_model_engine;
    return address - low < high - low && address - own >= rest - own;
}

/* --- explore.c: choices ------------------------------------------------------- */

typedef enum choice_kind {
    CHOOSE_THREAD,
    CHOOSE_VALUE,
    CHOOSE_FAULT,
    CHOOSE_OTHER
} choice_kind;

/* Takes one of n >= 2 options; values[i] names option i for a replay. */
unsigned choose(choice_kind kind, unsigned n, const uint8_t *values);

/* True: this time it fails. */
bool choose_fault(void);

_Noreturn void main_ends(thread *me);

/* Ends the execution; does not come back. */
_Noreturn void execution_end(outcome outcome);

/* A property does not hold in end(). */
_Noreturn void end_fail(void);

uint64_t random_next(void);

/* Was the location shared in the execution that is replayed? */
bool replay_shares(uintptr_t address);

/* All locations that there are, to write down those that are shared. */
void locations_forget(void);
void locations_each(void (*each)(const location *l));

/* --- threads.c ---------------------------------------------------------------- */

void threads_init(void);
void threads_reset(void);
thread *thread_create(unsigned slot, void (*fn)(void *arg), void *arg,
                      const char *name);

/* The current thread is about to make a step; another one may go first. */
void step(effect does);

/* The current thread does this now: preempted threads whose next step has to do
 * with it may go on. */
void notice(effect does);

/* The clock is read or set, or a call noted: the order of these counts. */
void moment(void);

/* The current thread cannot go on, or would rather not: who does? */
void leave(void);

/* Somebody changed something: spinning threads look again. */
static inline void changed(void)
{
    engine.changes++;
    engine.current->own_changes++;
    engine.ready |= engine.yielded;
    engine.yielded = 0;
    engine.idle_turns = 0;
    engine.idle_jump = 1000;
}

void yield_turn(void);
void lose_patience(void);

/* Threads whose deadline has passed can go on. */
void expire(void);

/* --- memory.c ----------------------------------------------------------------- */

void memory_init(void);
void memory_reset(void);
void view_join(stamp *to, const stamp *from, int length);
void fence(thread *t, model_order order);

/* The location of a cell; notes that the current thread uses it. */
location *location_of(const void *cell, unsigned bytes, bool write,
                      const model_site *site);

/* --- plain.c ------------------------------------------------------------------ */

void plain_init(void);
void granule_new(uint32_t *slot, uintptr_t address);

/* The address is in the region or one of the program's variables. */
static inline uint32_t *granule_slot(uintptr_t address)
{
    if (address - REGION < REGION_BYTES)
        return &engine.region_map[(address - REGION) >> 3];
    uintptr_t low = (uintptr_t)__data_start & ~UINT64_C(7);
    return &engine.statics_map[(address - low) >> 3];
}

static inline granule *granule_find(uintptr_t address)
{
    uint32_t *slot = granule_slot(address);
    if (UNLIKELY(!*slot)) granule_new(slot, address);
    granule *g = &engine.granules[*slot];
    if (g->generation != engine.generation) {
        g->generation = engine.generation;
        g->plains = 0;
    }
    return g;
}

void plain_free(uintptr_t address, size_t bytes, const void *site);
void plain_access(uintptr_t address, size_t bytes, bool write, bool init,
                  const void *site);

/* Races of an atomic access with plain ones. */
void atomic_access(location *l, bool write, const model_site *site);

/* --- heap.c ------------------------------------------------------------------- */

void heap_init(void);
void heap_reset(void);
void heap_check(uintptr_t address, size_t bytes, const void *site, bool atomic);
void heap_report_leaks(void);
void *pages_reserve(size_t bytes);
void pages_touch(uintptr_t address, size_t bytes);
void pages_clear(uintptr_t address, size_t bytes);
void pages_hold(const void *p, size_t bytes);

/* --- trace.c ------------------------------------------------------------------ */

void *engine_map(size_t bytes);
_Noreturn void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void trace(const model_site *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void trace_begin(void);
void trace_print(void);
const char *order_name(model_order order);
/* "file:line" of a pc or a model_site; a static buffer. */
const char *place_of(const void *site, bool is_pc);

#endif
