/* SPDX-License-Identifier: MIT
 *
 * deque_model.c: the shipped deque in every order, under C11.
 *
 * Most tests are a script per thread, one letter a call:
 *     p  push the next item       s  steal
 *     o  pop                      q  steal item 0, if it is the oldest
 *     0  pop_if item 0 (1, ...)   r  steal the oldest, if it is not item 0
 * After each execution the owner pops what is left, and the whole history is
 * held against a sequential deque: nothing lost, nothing twice, newest first
 * for the owner, oldest first for thieves.
 *
 * An item is the address of a record whose payload is written before the push
 * and read by the taker, both plain: an edge that is missing is a data race.
 *
 * What "empty" means to a thief.  Push ends with a release store and no fence,
 * so a thief may miss an item that was pushed before it looked, by the clock on
 * the wall; it may not miss what it was told of, nor what the owner fenced
 * behind.  With .fenced the owner fences after each push: then an empty steal
 * must fit the history like any other call.  Without, it may be left out.
 */
#include "model.h"

#include "queue/deque.h"
#include "queue/memory.h"

#include <errno.h>
#include <string.h>

enum {
    ITEMS = 8,
    THREADS = 4,
    OWNER = 0
};

/* --- scenarios ------------------------------------------------------------ */

typedef struct scenario {
    const char *before;          /* what the owner does in setup */
    const char *script[THREADS]; /* the owner's first */
    size_t capacity;
    int64_t first;
    bool fenced;
    bool never_grows;
} scenario;

typedef struct item {
    uint64_t payload;
    unsigned taken;
} item;

typedef struct taker {
    unsigned takes;
    unsigned retries;
} taker;

static scenario run;
static hi_deque deque;
static bool made;
static item items[ITEMS];
static bool refused[ITEMS];
static unsigned pushed; /* the owner's: items that had their push */
static unsigned arrays; /* allocations: more than one means growth */
static taker takers[THREADS];

/* Seen in some execution, by model_saw. */
enum {
    POPPED,
    POPPED_NOTHING,
    STOLEN,
    STOLEN_NOTHING,
    RETRIED,
    GREW,
    REFUSED,
    LEFT_ALONE /* pop_if or a range did not take what was there */
};

#define SEEN(what) ((uint64_t)1 << (what))

static void *counting_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (arrays && run.never_grows) return NULL;
    void *p = hi_alloc(NULL, bytes, align);
    if (p && arrays++) model_saw(GREW);
    return p;
}

/* Writes first: whoever still reads, without an edge to here, races with it. */
static void counting_free(void *user, void *p, size_t bytes)
{
    (void)user;
    memset(p, 0xee, bytes);
    hi_free(NULL, p, bytes);
}

static const heist_allocator counting = {counting_alloc, counting_free, NULL};

/* --- the sequential deque -------------------------------------------------- */

enum {
    PUSH,
    POP,
    POP_IF,
    STEAL,
    STEAL_ONLY,   /* item arg, if it is the oldest */
    STEAL_EXCEPT, /* the oldest, if it is not item arg */
};

enum {
    NOTHING = 0, /* item i is i + 1 */
    RETRY = ITEMS + 1
};

typedef struct spec_state {
    uint8_t top;
    uint8_t bottom;
    uint8_t word[ITEMS];
} spec_state;

static void spec_init(void *state)
{
    *(spec_state *)state = (spec_state){0};
}

static bool spec_pop(spec_state *s, uint64_t result)
{
    if (s->top == s->bottom) return result == NOTHING;
    return s->word[--s->bottom] == result;
}

/* wanted: whether the thief may have the oldest item, if there is one. */
static bool spec_steal(spec_state *s, bool wanted, uint64_t result)
{
    if (result == RETRY) return true;
    bool there = s->top != s->bottom && wanted;
    if (result == NOTHING) return !there || !run.fenced;
    return there && s->word[s->top++] == result;
}

static bool spec_step(void *state, unsigned op, uint64_t arg, uint64_t result)
{
    spec_state *s = state;
    uint64_t newest = s->top != s->bottom ? s->word[s->bottom - 1] : NOTHING;
    bool oldest_is_arg = s->top != s->bottom && s->word[s->top] == arg;
    switch (op) {
    case PUSH:
        if (result) s->word[s->bottom++] = (uint8_t)arg;
        return true;
    case POP: return spec_pop(s, result);
    case POP_IF: return newest == arg ? spec_pop(s, result) : !result;
    case STEAL: return spec_steal(s, true, result);
    case STEAL_ONLY: return spec_steal(s, oldest_is_arg, result);
    case STEAL_EXCEPT: return spec_steal(s, !oldest_is_arg, result);
    default: return false;
    }
}

static const char *const ops[] = {"push",  "pop",        "pop_if",
                                  "steal", "steal_only", "steal_except"};

static const model_spec deque_spec = {ops, sizeof(spec_state), spec_init,
                                      spec_step};

/* --- calls, noted ----------------------------------------------------------- */

/* What came out of the deque, as a number; takes note of the taking. */
static unsigned received(uintptr_t word, unsigned by)
{
    if (!word) return NOTHING;
    size_t i = (word - (uintptr_t)items) / sizeof *items;
    model_check(i < ITEMS && word == (uintptr_t)&items[i]);
    model_check(items[i].payload == 100 + i);
    items[i].taken++;
    takers[by].takes++;
    return (unsigned)i + 1;
}

static void push(void)
{
    unsigned i = pushed++;
    items[i].payload = 100 + i;
    unsigned call = model_call(PUSH, i + 1);
    int error = hi_deque_push(&deque, (uintptr_t)&items[i]);
    model_check(error == 0 || error == -ENOMEM);
    if (run.fenced) heist_fence_seq_cst();
    model_return(call, error == 0);
    refused[i] = error != 0;
    if (error) model_saw(REFUSED);
}

static unsigned pop(void)
{
    unsigned call = model_call(POP, 0);
    unsigned got = received(hi_deque_pop(&deque), OWNER);
    model_return(call, got);
    return got;
}

static void pop_if(unsigned i)
{
    unsigned call = model_call(POP_IF, i + 1);
    bool popped = hi_deque_pop_if(&deque, (uintptr_t)&items[i]);
    if (popped) received((uintptr_t)&items[i], OWNER);
    model_return(call, popped ? i + 1 : NOTHING);
    model_saw(popped ? POPPED : LEFT_ALONE);
}

static unsigned steal(unsigned by, unsigned op)
{
    uintptr_t low = (uintptr_t)&items[op == STEAL_EXCEPT ? 1 : 0];
    uintptr_t high = (uintptr_t)&items[op == STEAL_ONLY ? 1 : ITEMS];
    uintptr_t word = 0;
    unsigned call = model_call(op, 1);
    hi_steal said = op == STEAL
                        ? hi_deque_steal(&deque, &word)
                        : hi_deque_steal_range(&deque, low, high, &word);
    unsigned got = received(said == HI_STEAL_TAKEN ? word : 0, by);
    if (said == HI_STEAL_TAKEN) model_check(got != NOTHING);
    if (said == HI_STEAL_RETRY) {
        got = RETRY;
        takers[by].retries++;
    }
    model_return(call, got);
    model_saw(got == RETRY ? RETRIED : got ? STOLEN : STOLEN_NOTHING);
    return got;
}

/* Takes what it has looked at: that, and nothing else. */
static void steal_seen(unsigned by)
{
    int64_t place = 0;
    unsigned call = model_call(STEAL, 1);
    uintptr_t word = hi_deque_peek(&deque, &place);
    bool taken = word && hi_deque_steal_at(&deque, place);
    model_return(call, taken ? received(word, by) : RETRY);
    model_saw(taken ? STOLEN : STOLEN_NOTHING);
}

static void act(unsigned by, char what)
{
    switch (what) {
    case 'p': push(); break;
    case 'o': model_saw(pop() ? POPPED : POPPED_NOTHING); break;
    case 's': steal(by, STEAL); break;
    case 'k': steal_seen(by); break;
    case 'q': steal(by, STEAL_ONLY); break;
    case 'r': steal(by, STEAL_EXCEPT); break;
    default: pop_if((unsigned)(what - '0')); break;
    }
}

/* --- before, during, after --------------------------------------------------- */

static void start(scenario s)
{
    run = s;
    model_calls_reset();
    made = hi_deque_init(&deque, s.capacity, s.first, &counting) == 0;
    for (const char *c = s.before; made && c && *c; c++)
        act(OWNER, *c);
}

static void play(unsigned id)
{
    for (const char *c = run.script[id]; made && c && *c; c++)
        act(id, *c);
}

/* Each retry of a thief is a take of somebody else: that is what makes the
 * thieves lock-free. */
static void check_retries(void)
{
    unsigned takes = 0;
    for (unsigned i = 0; i < THREADS; i++)
        takes += takers[i].takes;
    for (unsigned i = 0; i < THREADS; i++)
        model_check(takers[i].retries <= takes - takers[i].takes);
}

static void check(void)
{
    if (!made) return;
    check_retries();
    while (pop())
        ;
    for (unsigned i = 0; i < pushed; i++)
        model_check(items[i].taken == (refused[i] ? 0 : 1));
    model_check(model_linearizable(&deque_spec));
    hi_deque_fini(&deque);
}

/* --- the last item ------------------------------------------------------------ */

static void last_item(void)
{
    start((scenario){.capacity = 2, .before = "p", .script = {"o", "s"}});
}

static void both_win_sometimes(void)
{
    uint64_t all = SEEN(POPPED) | SEEN(POPPED_NOTHING) | SEEN(STOLEN) |
                   SEEN(STOLEN_NOTHING);
    model_check((model_seen() & all) == all);
}

static void every_outcome(void)
{
    both_win_sometimes();
    model_check(model_seen() & SEEN(RETRIED));
}

static void last_item_thieves(void)
{
    start((scenario){.capacity = 2, .before = "p", .script = {"o", "s", "s"}});
}

/* --- owner and thieves ---------------------------------------------------------- */

static void one_thief(void)
{
    start((scenario){.capacity = 4, .script = {"ppoo", "ss"}});
}

static void one_thief_fenced(void)
{
    start((scenario){.capacity = 4, .script = {"ppopo", "ss"}, .fenced = true});
}

static void two_thieves(void)
{
    start(
        (scenario){.capacity = 4, .before = "p", .script = {"poo", "s", "s"}});
}

static void two_thieves_fenced(void)
{
    start((scenario){.capacity = 4,
                     .before = "p",
                     .script = {"po", "s", "s"},
                     .fenced = true});
}

static void batch_of_pops(void)
{
    start((scenario){
        .capacity = 4, .before = "pppp", .script = {"ooo", "ss", "s"}});
}

static void three_thieves(void)
{
    start((scenario){
        .capacity = 4, .before = "pp", .script = {"oo", "s", "s", "s"}});
}

/* --- growth --------------------------------------------------------------------- */

static void growth(void)
{
    start((scenario){.capacity = 1, .before = "p", .script = {"ppoo", "ss"}});
}

static void growth_fenced(void)
{
    start((scenario){.capacity = 2, .script = {"pppo", "ss"}, .fenced = true});
}

static void growth_thieves(void)
{
    start(
        (scenario){.capacity = 1, .before = "p", .script = {"ppo", "s", "s"}});
}

static void growth_three_thieves(void)
{
    start((scenario){
        .capacity = 1, .before = "p", .script = {"po", "s", "s", "s"}});
}

static void growth_and_theft(void)
{
    uint64_t all = SEEN(GREW) | SEEN(STOLEN) | SEEN(POPPED);
    model_check((model_seen() & all) == all);
}

static void refusal(void)
{
    start((scenario){.capacity = 1, .script = {"ppoo", "ss"}});
}

static void refusal_and_growth(void)
{
    growth_and_theft();
    model_check(model_seen() & SEEN(REFUSED));
}

/* --- slots used again -------------------------------------------------------------- */

static void reuse(void)
{
    start((scenario){.capacity = 1,
                     .before = "p",
                     .script = {"pp", "ss"},
                     .never_grows = true});
}

static void reuse_thieves(void)
{
    start((scenario){.capacity = 1,
                     .before = "p",
                     .script = {"pop", "s", "s"},
                     .never_grows = true});
}

static void reuse_and_refusal(void)
{
    uint64_t all = SEEN(REFUSED) | SEEN(STOLEN);
    model_check((model_seen() & all) == all);
    model_check(!(model_seen() & SEEN(GREW)));
}

/* --- the end of the integers --------------------------------------------------------- */

static void wrap_signed(void)
{
    start((scenario){.capacity = 2,
                     .first = INT64_MAX - 1,
                     .before = "p",
                     .script = {"ppoo", "ss"}});
}

static void wrap_unsigned(void)
{
    start((scenario){
        .capacity = 2, .first = -1, .before = "p", .script = {"ppoo", "ss"}});
}

static void wrap_thieves(void)
{
    start((scenario){.capacity = 1,
                     .first = INT64_MAX,
                     .before = "p",
                     .script = {"po", "s", "s"}});
}

/* --- pop_if, steal_range ---------------------------------------------------------------- */

static void popped_if_newest(void)
{
    start((scenario){.capacity = 2, .before = "pp", .script = {"0100", "ss"}});
}

static void seen_and_taken(void)
{
    start(
        (scenario){.capacity = 4, .before = "pp", .script = {"1p", "s", "k"}});
}

static void taken_or_left(void)
{
    uint64_t all = SEEN(POPPED) | SEEN(LEFT_ALONE) | SEEN(STOLEN);
    model_check((model_seen() & all) == all);
}

static void ranges(void)
{
    start(
        (scenario){.capacity = 2, .before = "p", .script = {"po", "rq", "sr"}});
}

/* Only the owner pushes and only the thief takes, so that the thief's view of
 * top is never out of date: then a range says "empty" rightly. */
static void range_alone(void)
{
    start((scenario){.capacity = 1, .script = {"pp", "rqr"}, .fenced = true});
}

static void steal_outcomes(void)
{
    uint64_t all = SEEN(STOLEN) | SEEN(STOLEN_NOTHING);
    model_check((model_seen() & all) == all);
}

/* --- D5: who uses a slot again comes after its reader ------------------------------------- */

static unsigned thief_was_here;

static void reader_first(unsigned id)
{
    if (id != OWNER) {
        thief_was_here = 1;
        steal(id, STEAL);
        return;
    }
    push(); /* the ring holds one and does not grow: the thief made room */
    if (!refused[1]) model_check(thief_was_here == 1);
}

/* The thief's last touch is its CAS, so the owner that saw it may even end the
 * deque: the array's memory is written when it is freed. */
static void reader_then_end(unsigned id)
{
    if (id != OWNER) {
        steal(id, STEAL);
        return;
    }
    push();
    if (refused[1]) return;
    received((uintptr_t)&items[1], OWNER);
    hi_deque_fini(&deque);
    made = false;
}

static void ended_or_not(void)
{
    if (made) check();
}

static void reuse_one(void)
{
    start((scenario){.capacity = 1, .before = "p", .never_grows = true});
}

/* --- what a thief was told -------------------------------------------------------------------- */

static HEIST_ATOMIC(uint32_t) told;

static void tell(unsigned id)
{
    if (id == OWNER) {
        push();
        push();
        heist_store_release(&told, 1);
        return;
    }
    if (!heist_load_acquire(&told)) return;
    model_check(steal(id, STEAL) == 1);
    model_check(steal(id, STEAL) == 2);
}

static void tell_growing(void)
{
    heist_init(&told, 0);
    start((scenario){.capacity = 1});
}

static void told_and_stolen(void)
{
    uint64_t all = SEEN(GREW) | SEEN(STOLEN);
    model_check((model_seen() & all) == all);
}

/* --- looks --------------------------------------------------------------------------------------- */

/* oldest shows an item with all that its owner wrote, unless a thief is faster
 * and the slot is used again: here there is none. */
static void look_at_oldest(unsigned id)
{
    if (id == OWNER) {
        play(id);
        return;
    }
    uintptr_t word = hi_deque_oldest(&deque);
    model_saw(word ? STOLEN : STOLEN_NOTHING);
    if (!word) return;
    model_check(word == (uintptr_t)&items[0]);
    model_check(items[0].payload == 100);
}

static void oldest_growing(void)
{
    start((scenario){.capacity = 1, .script = {"pp"}});
}

static void oldest_lowered(void)
{
    start((scenario){.capacity = 2, .script = {"ppo"}});
}

/*
 * The owner posts: push, fence, does somebody sleep?  The sleeper announces
 * itself, fences and looks.  If the owner's last post saw no sleeper and the
 * sleeper saw nothing, then nothing has stayed.
 */
static HEIST_ATOMIC(uint32_t) asleep;
static bool owner_saw_nobody;
static bool sleeper_saw_nothing;
static bool look_by_oldest;
static unsigned posts;

static void post_and_sleep(unsigned id)
{
    if (id == OWNER) {
        for (unsigned i = 0; i < posts; i++) {
            push();
            heist_fence_seq_cst();
            owner_saw_nobody = !heist_load_relaxed(&asleep);
        }
        play(id);
    } else if (id == 1) {
        heist_store_relaxed(&asleep, 1);
        heist_fence_seq_cst();
        sleeper_saw_nothing = look_by_oldest ? !hi_deque_oldest(&deque)
                                             : hi_deque_is_empty(&deque);
    } else {
        play(id);
    }
}

static void sleeper_is_empty(void)
{
    posts = 2;
    heist_init(&asleep, 0);
    start((scenario){.capacity = 1, .script = {"o", NULL, "s"}});
}

static void sleeper_oldest(void)
{
    look_by_oldest = true;
    sleeper_is_empty();
}

/* The ring is used again, and then it grows, under the sleeper's eyes. */
static void sleeper_growing(void)
{
    posts = 2;
    look_by_oldest = true;
    heist_init(&asleep, 0);
    start((scenario){
        .capacity = 2, .before = "pp", .script = {NULL, NULL, "ss"}});
}

/* The owner goes on after its last post, and tells nobody. */
static void sleeper_and_more(void)
{
    posts = 0;
    look_by_oldest = true;
    heist_init(&asleep, 0);
    start(
        (scenario){.capacity = 2, .before = "pp", .script = {"pp", NULL, "s"}});
}

static void post_then_more(unsigned id)
{
    if (id == OWNER) {
        heist_fence_seq_cst();
        owner_saw_nobody = !heist_load_relaxed(&asleep);
    }
    post_and_sleep(id);
}

static void always_seen(void)
{
    uint64_t all = SEEN(STOLEN) | SEEN(GREW);
    model_check((model_seen() & all) == all);
}

static void seen_or_not(void)
{
    uint64_t all = SEEN(STOLEN) | SEEN(STOLEN_NOTHING) | SEEN(GREW);
    model_check((model_seen() & all) == all);
}

static void somebody_saw(void)
{
    if (owner_saw_nobody && sleeper_saw_nothing)
        model_check(hi_deque_pop(&deque) == 0);
    model_saw(owner_saw_nobody ? POPPED_NOTHING : POPPED);
    model_saw(sleeper_saw_nothing ? STOLEN_NOTHING : STOLEN);
    check();
}

/* --- the search itself ------------------------------------------------------------------------------ */

static void note(unsigned op, uint64_t arg, uint64_t result)
{
    model_return(model_call(op, arg), result);
}

static bool fits(void)
{
    bool fit = model_linearizable(&deque_spec);
    model_calls_reset();
    return fit;
}

/* Histories whose verdict is known. */
static void known_histories(unsigned id)
{
    (void)id;
    run.fenced = true;
    note(PUSH, 1, 1);
    note(PUSH, 2, 1);
    note(STEAL, 1, 1);
    note(POP, 0, 2);
    note(POP, 0, NOTHING);
    model_check(fits());
    note(PUSH, 1, 1);
    note(PUSH, 2, 1);
    note(POP, 0, 1); /* not the newest */
    model_check(!fits());
    note(PUSH, 1, 1);
    note(POP, 0, 1);
    note(STEAL, 1, 1); /* twice */
    model_check(!fits());
    note(PUSH, 1, 1);
    note(STEAL, 1, NOTHING); /* lost */
    model_check(!fits());
    unsigned early = model_call(STEAL, 1);
    note(PUSH, 1, 1);
    model_return(early, NOTHING); /* overlaps: came first */
    model_check(fits());
    early = model_call(STEAL, 1);
    note(PUSH, 1, 1);
    note(PUSH, 2, 1);
    note(POP, 0, 2);
    note(POP, 0, NOTHING);
    model_return(early, 1); /* overlaps: came between */
    model_check(fits());
}

static void nothing(void)
{
}

/* --- all of them --------------------------------------------------------------------------------------- */

#define BOUNDED(quick_, full_)                                   \
    .quick = {.preemptions = (quick_), .stale = 1, .faults = 1}, \
    .full = {.preemptions = (full_), .stale = 2, .faults = 2}
#define TEST(sentence, n, make, run, finish, seen_all, ...)   \
    {                                                         \
        MODEL_TEST(sentence, n, make, run, finish, seen_all), \
            BOUNDED(__VA_ARGS__)                              \
    }
/* A test that is a script. */
#define PLAY(name_, threads_, setup_, end_, ...) \
    TEST(name_, threads_, setup_, play, check, end_, __VA_ARGS__)

/* Preemptions: quick, full. */
static const model_test tests[] = {
    {.name = "the_search_tells_histories_apart",
     .threads = 1,
     .setup = model_calls_reset,
     .thread = known_histories,
     .after = nothing},
    {MODEL_TEST("what_was_seen_is_what_is_taken", 3, seen_and_taken, play,
                check, NULL),
     MODEL_BOUNDS(3, 2, 3, 2)},
    PLAY("the_last_item_has_one_taker", 2, last_item, both_win_sometimes, 4, 6),
    PLAY("the_last_item_has_one_taker_of_three", 3, last_item_thieves,
         every_outcome, 2, 4),
    PLAY("owner_and_thief_take_each_item_once", 2, one_thief,
         both_win_sometimes, 3, 5),
    PLAY("empty_is_true_after_a_fence", 2, one_thief_fenced, both_win_sometimes,
         3, 5),
    PLAY("owner_and_two_thieves_take_each_item_once", 3, two_thieves,
         every_outcome, 2, 4),
    PLAY("empty_is_true_for_two_thieves_after_a_fence", 3, two_thieves_fenced,
         every_outcome, 2, 4),
    PLAY("a_batch_of_pops_meets_two_thieves", 3, batch_of_pops, every_outcome,
         2, 3),
    PLAY("owner_and_three_thieves_take_each_item_once", 4, three_thieves,
         every_outcome, 1, 2),
    PLAY("growth_under_a_thief_keeps_every_item", 2, growth, growth_and_theft,
         2, 4),
    PLAY("growth_does_not_look_empty_after_a_fence", 2, growth_fenced,
         growth_and_theft, 2, 5),
    PLAY("growth_under_two_thieves_keeps_every_item", 3, growth_thieves,
         growth_and_theft, 2, 3),
    PLAY("growth_under_three_thieves_keeps_every_item", 4, growth_three_thieves,
         growth_and_theft, 1, 2),
    {.name = "a_push_without_memory_changes_nothing",
     .threads = 2,
     .setup = refusal,
     .thread = play,
     .after = check,
     .end = refusal_and_growth,
     .allocation_may_fail = true,
     BOUNDED(2, 4)},
    PLAY("a_slot_is_used_again_under_a_thief", 2, reuse, reuse_and_refusal, 3,
         6),
    PLAY("a_slot_is_used_again_under_two_thieves", 3, reuse_thieves,
         reuse_and_refusal, 2, 4),
    TEST("who_uses_a_slot_again_comes_after_its_reader", 2, reuse_one,
         reader_first, check, reuse_and_refusal, 4, 6),
    TEST("who_saw_the_last_theft_may_end_the_deque", 2, reuse_one,
         reader_then_end, ended_or_not, reuse_and_refusal, 4, 6),
    PLAY("indices_run_over_the_end_of_the_integers", 2, wrap_signed,
         growth_and_theft, 2, 4),
    PLAY("indices_run_through_minus_one", 2, wrap_unsigned, growth_and_theft, 2,
         4),
    PLAY("indices_run_over_the_end_under_two_thieves", 3, wrap_thieves,
         growth_and_theft, 1, 3),
    PLAY("pop_if_takes_that_item_or_nothing", 2, popped_if_newest,
         taken_or_left, 3, 5),
    PLAY("a_range_is_kept_among_thieves", 3, ranges, every_outcome, 2, 3),
    PLAY("a_range_finds_what_is_in_it_after_a_fence", 2, range_alone,
         steal_outcomes, 3, 5),
    TEST("a_thief_finds_what_it_was_told_of", 2, tell_growing, tell, check,
         told_and_stolen, 4, 6),
    TEST("oldest_shows_what_its_owner_wrote", 2, oldest_growing, look_at_oldest,
         check, steal_outcomes, 4, 6),
    TEST("oldest_shows_what_its_owner_wrote_before_a_pop", 2, oldest_lowered,
         look_at_oldest, check, steal_outcomes, 4, 6),
    TEST("owner_or_sleeper_sees_the_other_by_is_empty", 3, sleeper_is_empty,
         post_and_sleep, somebody_saw, both_win_sometimes, 1, 3),
    TEST("owner_or_sleeper_sees_the_other_by_oldest", 3, sleeper_oldest,
         post_and_sleep, somebody_saw, both_win_sometimes, 1, 3),
    TEST("owner_or_sleeper_sees_the_other_while_the_deque_grows", 3,
         sleeper_growing, post_and_sleep, somebody_saw, seen_or_not, 1, 3),
    TEST("a_sleeper_sees_what_stays_while_the_deque_grows", 3, sleeper_and_more,
         post_then_more, somebody_saw, always_seen, 2, 3),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
