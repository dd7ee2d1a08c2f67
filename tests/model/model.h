/* SPDX-License-Identifier: MIT */
#ifndef MODEL_H
#define MODEL_H

/*
 * The checker: runs a small concurrent program in every order, and with every
 * outcome of its atomic accesses that C11 allows, within stated bounds.
 *
 * The shipped sources are compiled against another <heist/atomic.h>
 * (tests/model/include) and linked with another platform (tests/model/
 * platform.c).  The threads of a test are coroutines of one OS thread; every
 * atomic access, fence, futex call, allocation and yield is a point where the
 * checker decides what happens next.  README.md tells how it works.
 *
 *     static hi_deque d;
 *
 *     static void setup(void) { hi_deque_init(&d, 2, 0, NULL); ... }
 *     static void thread(unsigned id) { if (id == 0) pop(); else steal(); }
 *     static void after(void) { model_check(taken == 1); hi_deque_fini(&d); }
 *
 *     static const model_test tests[] = {
 *         {.name = "the_last_item_has_one_taker", .threads = 2,
 *          .setup = setup, .thread = thread, .after = after},
 *     };
 *     int main(int argc, char **argv)
 *     {
 *         return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
 *     }
 *
 * Rules for tests.  All state is made by setup, which runs alone before each
 * execution, and checked by after, which runs alone when all threads have
 * ended and sees all they did.  Static variables are put back to what they
 * were before the first setup.  Memory comes from hi_alloc or malloc and is
 * freed in after: what is left is reported.  No real time, no real randomness.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_THREADS = 8 /* at a time, the ones started later counted */
};

enum {
    MODEL_NONE = 1 << 20 /* as a bound: none of them */
};

/* How far one run explores.  Zero is the default of the level asked for. */
typedef struct model_bounds {
    unsigned preemptions; /* switches away from a thread that could go on */
    unsigned stale;       /* reads of a value that is not the newest */
    unsigned faults;      /* spurious wake-ups, early time-outs, failed
                             allocations, failed weak CAS: together */
} model_bounds;

typedef struct model_test {
    const char *name; /* the sentence it proves */
    unsigned threads; /* started at once; they may start others */
    void (*setup)(void);
    void (*thread)(unsigned id);
    void (*after)(void);
    void (*end)(void);        /* once, after the last execution; may be NULL */
    model_bounds quick;       /* make test: about a second */
    model_bounds full;        /* make test-all: the stated bounds;
                                 make check-deep: from there on */
    bool allocation_may_fail; /* then a failed allocation is a choice */
    bool no_barrier;          /* a machine on which nobody can keep watch */
    bool random;              /* too large to exhaust: random at every level */
    unsigned clock_step; /* ns that each look at the clock takes; 0: 1000 */
    bool keeps;          /* memory that static variables, or pages that are
                             held, still reach in the end is no leak */
    bool spins_end;      /* a spin loop may also give up while the others
                             stand still; that costs a preemption */
    bool exact;          /* it is about these bounds: they are not widened */
    bool twice;          /* exact; first with the executions that repeat others,
                            then without */
    const char *fails;   /* part of the message: it must fail like this */
} model_test;

/* The fields that most tests have; `finish` and `seen_all` may be NULL. */
#define MODEL_TEST(sentence, n, make, run, finish, seen_all)              \
    .name = (sentence), .threads = (n), .setup = (make), .thread = (run), \
    .after = (finish), .end = (seen_all)

/* Preemptions and stale reads: quick, full. */
#define MODEL_BOUNDS(qp, qs, fp, fs)               \
    .quick = {.preemptions = (qp), .stale = (qs)}, \
    .full = {.preemptions = (fp), .stale = (fs)}

/*
 * Runs the tests as the command line says:
 *     [--quick | --full | --deep] [--only NAME] [--replay CHOICES]
 *     [--random EXECUTIONS] [--seed N] [--list] [--json FILE]
 *     [--trace | --trace-all]
 * Default: --quick.  Returns 0 when all hold, 1 when one does not.  --trace
 * shows failures that are expected, too; --trace-all also what a thread does
 * with cells that only it uses.
 */
int model_main(int argc, char **argv, const model_test *tests, size_t n);

/* --- for tests --------------------------------------------------------- */

/* A property.  When it does not hold, the trace is printed and the run ends. */
#define model_check(condition) \
    ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition))

_Noreturn void model_fail(const char *file, int line, const char *what);

/* The calling thread of the test: 0 .. threads - 1. */
unsigned model_self(void);

/* Remembers that this value was seen in some execution; values below 64. */
void model_saw(unsigned value);

/* In end(): the set of values seen in all executions, bit by bit. */
uint64_t model_seen(void);

/* In end(): how many executions there were. */
uint64_t model_executions(void);

/* Of a test that is explored twice: is this the first time? */
bool model_whole(void);

/* A choice of the test's own: 0 .. n - 1, all of them explored. */
unsigned model_choose(unsigned n);

/* --- linearizability (linearize.c) --------------------------------------- */

/*
 * Each thread notes what it calls and what comes back; in after(),
 * model_linearizable searches an order of the calls that respects their
 * overlap in time and that the sequential specification can do (Wing and
 * Gong).  A call that returned `retry` may have done nothing.
 */
enum {
    MODEL_CALLS = 16 /* in one execution */
};

typedef struct model_spec {
    const char *const *ops; /* their names */
    size_t bytes;           /* of the specification's state, at most 256 */
    void (*init)(void *state);
    /* Does op(arg) in `state` and says whether `result` is what it gives. */
    bool (*step)(void *state, unsigned op, uint64_t arg, uint64_t result);
} model_spec;

/* Returns the number of the call. */
unsigned model_call(unsigned op, uint64_t arg);
void model_return(unsigned call, uint64_t result);

/* Forgets the calls of the execution before; setup calls it. */
void model_calls_reset(void);

bool model_linearizable(const model_spec *spec);

/* --- what the bindings call ---------------------------------------------- */

typedef enum model_order {
    MODEL_RELAXED,
    MODEL_ACQUIRE,
    MODEL_RELEASE,
    MODEL_ACQ_REL,
    MODEL_SEQ_CST
} model_order;

/* Where an access stands in the source: one static constant per access. */
typedef struct model_site {
    const char *file;
    int line;
    const char *what; /* the expression, as written */
} model_site;

typedef enum model_rmw {
    MODEL_SWAP,
    MODEL_ADD,
    MODEL_SUB,
    MODEL_OR,
    MODEL_AND
} model_rmw;

void model_init(void *cell, unsigned bytes, uint64_t value,
                const model_site *site);
uint64_t model_load(const void *cell, unsigned bytes, model_order order,
                    const model_site *site);
void model_store(void *cell, unsigned bytes, uint64_t value, model_order order,
                 const model_site *site);
uint64_t model_update(void *cell, unsigned bytes, model_rmw op, uint64_t value,
                      model_order order, const model_site *site);
/* weak: may fail for no reason. */
bool model_cas(void *cell, unsigned bytes, uint64_t *expected, uint64_t desired,
               model_order order, bool weak, const model_site *site);
void model_fence(model_order order, const model_site *site);

#endif
