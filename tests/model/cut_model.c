/* SPDX-License-Identifier: MIT
 *
 * cut_model.c: the checker leaves out executions that repeat another one, and
 * nothing else.  Random programs are explored whole and cut short; both must end
 * in the same ways.
 */
#include "model.h"
#include "platform/platform.h"

#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 3,
    OPS = 5, /* of a thread, at most */
    CELLS = 3,
    PROGRAMS = 64, /* in a group: as many as one choice has options */
    GROUPS = 16,
    ENDS = 1 << 18
};

typedef enum action {
    LOAD,
    LOAD_ACQUIRE,
    LOAD_SEQ_CST,
    STORE,
    STORE_RELEASE,
    STORE_SEQ_CST,
    ADD,
    CAS,
    CAS_WEAK,
    FENCE_SEQ_CST,
    FENCE_ACQUIRE,
    FENCE_RELEASE,
    BARRIER,
    ALLOCATE,
    CLOCK, /* from here on time counts */
    RELAX,
    SPIN,
    SLEEP,
    WAKE,
    ACTIONS
} action;

typedef struct op {
    action what;
    unsigned cell;
    int value;
} op;

typedef struct program {
    unsigned ops[THREADS];
    op op[THREADS][OPS];
} program;

static program now; /* the one that runs */
typedef HEIST_ATOMIC(int) cell;

static cell cells[CELLS];
static hi_futex word;
static int64_t result[THREADS][OPS];

/* The ways in which programs ended, by hash: those of both explorations. */
static struct {
    uint64_t whole[ENDS], cut[ENDS];
    unsigned whole_count, cut_count;
} ends __attribute__((section("model_engine")));

/* --- a program --------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static unsigned draw(uint64_t *state, unsigned n)
{
    *state = mix(*state, n);
    return (unsigned)(*state >> 33) % n;
}

/* Every other program is about time and sleep. */
static action draw_action(uint64_t *state, bool timed)
{
    unsigned first = timed ? CLOCK : 0;
    return (action)(first + draw(state, ACTIONS - first));
}

static program program_make(uint64_t seed, unsigned threads)
{
    program p = {0};
    bool timed = seed % 2;
    for (unsigned t = 0; t < threads; t++) {
        p.ops[t] = 2 + draw(&seed, threads == 2 ? 4 : 3);
        for (unsigned i = 0; i < p.ops[t]; i++)
            p.op[t][i] = (op){draw_action(&seed, timed), draw(&seed, CELLS),
                              1 + (int)draw(&seed, 3)};
    }
    return p;
}

static int64_t swap_if(cell *c, int value)
{
    int expected = value & 1;
    bool done = heist_cas_acq_rel(c, &expected, value + 2);
    return done ? -1 : expected;
}

static int64_t swap_if_weak(cell *c, int value)
{
    int expected = value & 1;
    bool done = heist_cas_weak_acq_rel(c, &expected, value + 2);
    return done ? -1 : expected;
}

static int64_t spin(cell *c)
{
    int64_t turns = 0;
    for (; turns < 2 && !heist_load_acquire(c); turns++)
        hi_cpu_relax();
    return turns;
}

static int64_t run_op(op o)
{
    cell *c = &cells[o.cell];
    switch (o.what) {
    case LOAD: return heist_load_relaxed(c);
    case LOAD_ACQUIRE: return heist_load_acquire(c);
    case LOAD_SEQ_CST: return heist_load_seq_cst(c);
    case STORE: heist_store_relaxed(c, o.value); break;
    case STORE_RELEASE: heist_store_release(c, o.value); break;
    case STORE_SEQ_CST: heist_store_seq_cst(c, o.value); break;
    case ADD: return heist_add_acq_rel(c, 1);
    case CAS: return swap_if(c, o.value);
    case CAS_WEAK: return swap_if_weak(c, o.value);
    case FENCE_SEQ_CST: heist_fence_seq_cst(); break;
    case FENCE_ACQUIRE: heist_fence_acquire(); break;
    case FENCE_RELEASE: heist_fence_release(); break;
    case BARRIER: hi_barrier_all(); break;
    case ALLOCATE: return (int64_t)(uintptr_t)malloc(8);
    case CLOCK: return hi_clock();
    case RELAX: hi_cpu_relax(); break;
    case SPIN: return spin(c);
    case SLEEP: return hi_futex_wait(&word, 0, hi_clock() + 5000);
    case WAKE:
        heist_store_release(&word, 1);
        hi_futex_wake(&word, 1);
        break;
    case ACTIONS: break;
    }
    return 0;
}

static void run_program(unsigned id)
{
    for (unsigned i = 0; i < now.ops[id]; i++)
        result[id][i] = run_op(now.op[id][i]);
}

/* --- how it ends ------------------------------------------------------------- */

/* Of looks at the clock and of addresses only the order counts. */
static int64_t rank(action what, int64_t of)
{
    int64_t before = 0;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < now.ops[t]; i++)
            before += now.op[t][i].what == what && result[t][i] < of;
    return before;
}

static uint64_t hash_of_end(void)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof now; i++)
        hash = mix(hash, ((const unsigned char *)&now)[i]);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < now.ops[t]; i++) {
            action what = now.op[t][i].what;
            int64_t r = result[t][i];
            if (what == CLOCK || what == ALLOCATE) r = rank(what, r);
            hash = mix(hash, (uint64_t)r);
        }
    for (unsigned i = 0; i < CELLS; i++) /* relaxed: alone */
        hash = mix(hash, (uint64_t)heist_load_relaxed(&cells[i]));
    return hash ? hash : 1;
}

static void note(uint64_t *set, unsigned *count, uint64_t hash)
{
    model_check(*count < ENDS / 2);
    size_t at = hash % ENDS;
    for (; set[at]; at = (at + 1) % ENDS)
        if (set[at] == hash) return;
    set[at] = hash;
    ++*count;
}

static void free_all(void)
{
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < now.ops[t]; i++)
            if (now.op[t][i].what == ALLOCATE)
                free((void *)(uintptr_t)result[t][i]);
}

static void note_end(void)
{
    uint64_t hash = hash_of_end();
    free_all();
    if (model_whole())
        note(ends.whole, &ends.whole_count, hash);
    else
        note(ends.cut, &ends.cut_count, hash);
}

static void none_is_lost(void)
{
    unsigned whole = ends.whole_count, cut = ends.cut_count;
    memset(&ends, 0, sizeof ends);
    model_check(whole > GROUPS * PROGRAMS);
    model_check(cut == whole);
}

/* --- the tests --------------------------------------------------------------- */

static void setup(unsigned threads)
{
    unsigned group = model_choose(GROUPS), one = model_choose(PROGRAMS);
    now = program_make(group * PROGRAMS + one + 1, threads);
    for (unsigned i = 0; i < CELLS; i++)
        heist_init(&cells[i], 0);
    heist_init(&word, 0);
}

static void setup_two(void)
{
    setup(2);
}

static void setup_three(void)
{
    setup(3);
}

static const model_test tests[] = {
    {MODEL_TEST("cut_short_no_end_of_two_threads_is_lost", 2, setup_two,
                run_program, note_end, none_is_lost),
     MODEL_BOUNDS(2, 1, 4, 2), .twice = true},
    {MODEL_TEST("cut_short_no_end_of_three_threads_is_lost", 3, setup_three,
                run_program, note_end, none_is_lost),
     MODEL_BOUNDS(1, 1, 3, 2), .twice = true},
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
