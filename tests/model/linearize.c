/* SPDX-License-Identifier: MIT
 *
 * linearize.c: is there an order of the calls that a sequential object could
 * have done?  The search of Wing and Gong, as a recursion: of the calls not yet
 * placed, any that began before the first of the others ended may come next.
 *
 * Dead ends are remembered (Lowe): the same calls placed in another order often
 * lead to the same state.  The memory is small and forgets; then the search only
 * takes longer.
 */
#include "engine.h"

#include <inttypes.h>
#include <string.h>

enum {
    STATE_BYTES = 256,
    DEAD_ENDS = 256, /* a power of two */
    PENDING = 0      /* the end of a call that has not returned */
};

typedef struct noted_call {
    uint64_t arg;
    uint64_t result;
    const char *thread;
    unsigned op;
    unsigned begin; /* ticks of one clock, from 1 on */
    unsigned end;
} noted_call;

typedef struct dead_end {
    uint64_t search;
    unsigned placed;
    unsigned char state[STATE_BYTES];
} dead_end;

/* Too large to be put back before each execution, and no need to. */
static struct {
    uint64_t search; /* which one this is: the dead ends of others are void */
    unsigned noted;  /* in this one */
    dead_end at[DEAD_ENDS];
} memory __attribute__((section("model_engine")));

static noted_call calls[MODEL_CALLS];
static unsigned call_count;
static unsigned ticks;

void model_calls_reset(void)
{
    call_count = 0;
    ticks = 0;
}

unsigned model_call(unsigned op, uint64_t arg)
{
    model_check(call_count < MODEL_CALLS);
    moment();
    noted_call *c = &calls[call_count];
    *c = (noted_call){arg, 0, engine.current->name, op, ++ticks, PENDING};
    if (engine.tracing) trace(NULL, "call %u begins", call_count + 1);
    return call_count++;
}

void model_return(unsigned call, uint64_t result)
{
    model_check(call < call_count && calls[call].end == PENDING);
    moment();
    calls[call].result = result;
    calls[call].end = ++ticks;
    if (engine.tracing) trace(NULL, "call %u ends", call + 1);
}

/* The first end among the calls that are not placed: none that began later
 * can come before that one. */
static unsigned first_end(unsigned placed)
{
    unsigned first = ticks + 1;
    for (unsigned i = 0; i < call_count; i++)
        if (!(placed >> i & 1) && calls[i].end < first) first = calls[i].end;
    return first;
}

static dead_end *where(const model_spec *spec, unsigned placed,
                       const unsigned char *state)
{
    uint64_t hash = placed;
    for (size_t i = 0; i < spec->bytes; i++)
        hash = (hash ^ state[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &memory.at[hash >> 32 & (DEAD_ENDS - 1)];
}

static bool is_dead_end(const model_spec *spec, unsigned placed,
                        const void *state)
{
    if (!memory.noted) return false;
    const dead_end *d = where(spec, placed, state);
    return d->search == memory.search && d->placed == placed &&
           memcmp(d->state, state, spec->bytes) == 0;
}

static void note_dead_end(const model_spec *spec, unsigned placed,
                          const void *state)
{
    dead_end *d = where(spec, placed, state);
    d->search = memory.search;
    d->placed = placed;
    memcpy(d->state, state, spec->bytes);
    memory.noted++;
}

/* Can the calls that are not placed follow in this state? */
static bool search(const model_spec *spec, unsigned placed, const void *state)
{
    if (placed == (1u << call_count) - 1) return true;
    if (is_dead_end(spec, placed, state)) return false;
    unsigned limit = first_end(placed);
    for (unsigned i = 0; i < call_count; i++) {
        const noted_call *c = &calls[i];
        if (placed >> i & 1 || c->begin > limit) continue;
        _Alignas(uint64_t) unsigned char next[STATE_BYTES];
        memcpy(next, state, spec->bytes);
        if (spec->step(next, c->op, c->arg, c->result) &&
            search(spec, placed | 1u << i, next))
            return true;
    }
    note_dead_end(spec, placed, state);
    return false;
}

static void say_calls(const model_spec *spec)
{
    trace(NULL, "no order of these calls is one of the specification:");
    for (unsigned i = 0; i < call_count; i++) {
        const noted_call *c = &calls[i];
        trace(NULL, "call %u, %u to %u, %s: %s(%#" PRIx64 ") gives %#" PRIx64,
              i + 1, c->begin, c->end, c->thread, spec->ops[c->op], c->arg,
              c->result);
    }
}

bool model_linearizable(const model_spec *spec)
{
    model_check(spec->bytes <= STATE_BYTES);
    for (unsigned i = 0; i < call_count; i++)
        model_check(calls[i].end != PENDING);
    _Alignas(uint64_t) unsigned char state[STATE_BYTES];
    memory.search++;
    memory.noted = 0;
    spec->init(state);
    bool found = search(spec, 0, state);
    if (!found && engine.tracing) say_calls(spec);
    return found;
}
