/* SPDX-License-Identifier: MIT
 *
 * injector_model.c: the shipped injector in every order, under C11.
 *
 * A test is a script per thread, one character a call: p pushes the thread's
 * next item, a digit takes up to so many.  Items carry a plain payload.
 *
 * The sequential queue has the injector's own two steps: a push claims an index
 * and publishes it, a take claims a row of published ones and frees their
 * slots.  A push or take is noted as that many calls over the same stretch of
 * time.  So the history shows exactly what the injector promises: full, when
 * the slot of the round before is not yet free, though its item is claimed;
 * empty, when the oldest claim is not published, though later ones are.
 *
 * With .fenced each call begins and ends with a fence, and full, empty and the
 * length of a row must fit the history.  A slot is looked at as it was at some
 * moment of the call, not before, but maybe earlier than the index that led to
 * it: the second step of a call that got less than it wanted is this look.
 * Without fences only what was put in and taken out must fit.
 */
#include "model.h"

#include "queue/injector.h"

enum {
    THREADS = 4,
    EACH = 4, /* items of one thread */
    ITEMS = THREADS * EACH,
    CAPACITY = 2,
    ROW = 3 /* longest take */
};

typedef struct scenario {
    const char *before; /* thread 0's, in setup */
    const char *script[THREADS];
    bool fenced;
} scenario;

typedef struct item {
    uint64_t payload;
    unsigned taken;
    bool inside; /* its push returned true */
} item;

static scenario run;
static hi_injector queue;
static item items[ITEMS];
static unsigned pushed[THREADS];
static bool alone; /* before the threads, and after them */

enum {
    PUSHED,
    WAS_FULL,
    TOOK_ONE,
    TOOK_MORE,
    WAS_EMPTY
};

#define SEEN(what) ((uint64_t)1 << (what))

/* --- the sequential queue ---------------------------------------------------- */

enum {
    CLAIM,      /* an index for item arg: 1, or 0 when full */
    PUBLISH,    /* item arg: 1; 0: it was full, this is the look */
    TAKE,       /* arg = thread, max: 5 bits an item, the first one lowest */
    FREE,       /* arg = thread: the item whose slot; 0: this is the look */
    PUSH_ALONE, /* both steps, when nobody else is there */
    TAKE_ALONE
};

typedef struct spec_state {
    uint8_t head;
    uint8_t tail;
    uint16_t published;
    uint16_t free;
    uint16_t looked[THREADS]; /* published or free, as it was looked at */
    uint8_t word[ITEMS];
} spec_state;

enum {
    NO_LOOK = 0xffff
};

static void spec_init(void *state)
{
    spec_state *s = state;
    *s = (spec_state){0};
    for (unsigned i = 0; i < THREADS; i++)
        s->looked[i] = NO_LOOK;
}

/* The index that holds this item. */
static unsigned index_of(const spec_state *s, uint64_t word)
{
    unsigned i = 0;
    while (i < s->tail && s->word[i] != word)
        i++;
    return i;
}

static bool spec_claim(spec_state *s, uint64_t word, uint64_t result)
{
    unsigned before = s->tail - CAPACITY; /* same slot, if there is one */
    unsigned by = (unsigned)(word - 1) / EACH;
    uint16_t looked = s->looked[by];
    s->looked[by] = NO_LOOK;
    if (!result && !run.fenced) return true;
    if (!result) return s->tail >= CAPACITY && !(looked >> before & 1);
    if (s->tail >= CAPACITY && !(s->free >> before & 1)) return false;
    s->word[s->tail++] = (uint8_t)word;
    return true;
}

static bool spec_publish(spec_state *s, uint64_t word, uint64_t result)
{
    unsigned i = index_of(s, word);
    if (!result) s->looked[(word - 1) / EACH] = s->free;
    if (!result) return true;
    if (i == s->tail) return false; /* first the claim */
    s->published = (uint16_t)(s->published | 1u << i);
    return true;
}

static bool spec_take(spec_state *s, uint64_t arg, uint64_t row)
{
    unsigned n = 0;
    unsigned by = (unsigned)arg >> 4;
    uint16_t looked = s->looked[by];
    s->looked[by] = NO_LOOK;
    for (; row; row >>= 5, n++) {
        bool there = s->head < s->tail && s->published >> s->head & 1;
        if (!there || s->word[s->head++] != (row & 31)) return false;
    }
    if (n == (arg & 15) || !run.fenced) return true;
    return s->head == s->tail || !(looked >> s->head & 1);
}

static bool spec_free(spec_state *s, unsigned by, uint64_t word)
{
    unsigned i = index_of(s, word);
    if (!word) s->looked[by] = s->published;
    if (!word) return true;
    if (i >= s->head) return false; /* first the take */
    s->free = (uint16_t)(s->free | 1u << i);
    return true;
}

static bool spec_step(void *state, unsigned op, uint64_t arg, uint64_t result)
{
    switch (op) {
    case CLAIM: return spec_claim(state, arg, result);
    case PUBLISH: return spec_publish(state, arg, result);
    case TAKE: return spec_take(state, arg, result);
    case FREE: return spec_free(state, (unsigned)arg, result);
    case PUSH_ALONE:
        return spec_claim(state, arg, result) &&
               spec_publish(state, arg, result);
    case TAKE_ALONE:
        spec_free(state, 0, 0);
        if (!spec_take(state, arg, result)) return false;
        for (; result; result >>= 5)
            spec_free(state, 0, result & 31);
        return true;
    default: return false;
    }
}

static const char *const ops[] = {"claim", "publish",    "take",
                                  "free",  "push alone", "take alone"};

static const model_spec queue_spec = {ops, sizeof(spec_state), spec_init,
                                      spec_step};

/* --- calls, noted --------------------------------------------------------------- */

static void fence(void)
{
    if (run.fenced) heist_fence_seq_cst();
}

static bool push(unsigned by)
{
    unsigned i = by * EACH + pushed[by]++;
    items[i].payload = 100 + i;
    unsigned claim = model_call(alone ? PUSH_ALONE : CLAIM, i + 1);
    unsigned publish = alone ? 0 : model_call(PUBLISH, i + 1);
    fence();
    bool done = hi_injector_push(&queue, (uintptr_t)&items[i]);
    fence();
    model_return(claim, done);
    if (!alone) model_return(publish, done);
    items[i].inside = done;
    model_saw(done ? PUSHED : WAS_FULL);
    return done;
}

/* What came out, as a number from 1 on. */
static unsigned received(uintptr_t word)
{
    size_t i = (word - (uintptr_t)items) / sizeof *items;
    model_check(i < ITEMS && word == (uintptr_t)&items[i]);
    model_check(items[i].payload == 100 + i);
    items[i].taken++;
    return (unsigned)i + 1;
}

static void take(unsigned by, unsigned max)
{
    uintptr_t got[ROW] = {0};
    unsigned frees[ROW];
    unsigned call = model_call(alone ? TAKE_ALONE : TAKE, by << 4 | max);
    for (unsigned i = 0; !alone && i < max; i++)
        frees[i] = model_call(FREE, by);
    fence();
    size_t n = hi_injector_take(&queue, got, max);
    fence();
    model_check(n <= max);
    uint64_t row = 0;
    for (unsigned i = 0; i < max; i++) {
        unsigned word = i < n ? received(got[i]) : 0;
        row |= (uint64_t)word << (5 * i);
        if (!alone) model_return(frees[i], word);
    }
    model_return(call, row);
    model_saw(n > 1 ? TOOK_MORE : n ? TOOK_ONE : WAS_EMPTY);
}

static void play_script(unsigned id, const char *script)
{
    for (; script && *script; script++) {
        if (*script == 'p')
            push(id);
        else
            take(id, (unsigned)(*script - '0'));
    }
}

static void start(scenario s)
{
    run = s;
    model_calls_reset();
    model_check(hi_injector_init(&queue, CAPACITY, NULL) == 0);
    alone = true;
    play_script(0, s.before);
    alone = false;
}

static void play(unsigned id)
{
    play_script(id, run.script[id]);
}

static void check(void)
{
    model_check(hi_injector_length(&queue) <= CAPACITY);
    alone = true;
    take(0, CAPACITY + 1);
    model_check(hi_injector_is_empty(&queue));
    for (unsigned i = 0; i < ITEMS; i++)
        model_check(items[i].taken == items[i].inside);
    model_check(model_linearizable(&queue_spec));
    hi_injector_fini(&queue);
}

/* --- scripts ---------------------------------------------------------------------- */

static void one_to_one(void)
{
    start((scenario){.script = {"ppp", "11"}});
}

static void one_to_one_fenced(void)
{
    start((scenario){.script = {"ppp", "11"}, .fenced = true});
}

static void rounds(void)
{
    start((scenario){.before = "pp1p1", .script = {"p1", "p1"}});
}

static void rows(void)
{
    start((scenario){.before = "p", .script = {"pp", "22"}});
}

static void rows_fenced(void)
{
    start((scenario){.before = "p", .script = {"pp", "21"}, .fenced = true});
}

static void two_producers(void)
{
    start((scenario){.script = {"pp", "pp", "2"}});
}

static void two_producers_fenced(void)
{
    start((scenario){.script = {"pp", "p", "2"}, .fenced = true});
}

static void two_consumers(void)
{
    start((scenario){.before = "pp", .script = {"p", "2", "1"}});
}

static void two_consumers_fenced(void)
{
    start(
        (scenario){.before = "pp", .script = {"p", "2", "1"}, .fenced = true});
}

static void two_and_two(void)
{
    start((scenario){.before = "p", .script = {"p", "p", "2", "1"}});
}

static void full_and_empty(void)
{
    uint64_t all = SEEN(PUSHED) | SEEN(WAS_FULL) | SEEN(WAS_EMPTY);
    model_check((model_seen() & all) == all);
}

static void full_and_rows(void)
{
    uint64_t all =
        SEEN(PUSHED) | SEEN(WAS_FULL) | SEEN(TOOK_MORE) | SEEN(TOOK_ONE);
    model_check((model_seen() & all) == all);
}

/* --- the sleeper's look --------------------------------------------------------------- */

static HEIST_ATOMIC(uint32_t) asleep;
static bool pusher_saw_nobody;
static bool sleeper_saw_nothing;

/* Thread 2 is another producer: it may have claimed an index below the one
 * that matters, and not published it. */
static void post_and_sleep(unsigned id)
{
    if (id == 0) {
        push(id);
        heist_fence_seq_cst();
        pusher_saw_nobody = !heist_load_relaxed(&asleep);
    } else if (id == 1) {
        heist_store_relaxed(&asleep, 1);
        heist_fence_seq_cst();
        sleeper_saw_nothing = hi_injector_is_empty(&queue);
    } else {
        play(id);
    }
}

static void sleeper(void)
{
    heist_init(&asleep, 0);
    start((scenario){.script = {NULL, NULL, "p"}});
}

static void sleeper_and_taker(void)
{
    heist_init(&asleep, 0);
    start((scenario){.before = "p", .script = {NULL, NULL, "1"}});
}

static void somebody_saw(void)
{
    if (pusher_saw_nobody && sleeper_saw_nothing)
        model_check(hi_injector_length(&queue) == 0);
    model_saw(sleeper_saw_nothing ? WAS_EMPTY : WAS_FULL);
    check();
}

/* --- all of them ------------------------------------------------------------------------ */

#define BOUNDED(quick_, full_) MODEL_BOUNDS(quick_, 1, full_, 2)
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
    PLAY("items_come_out_once_and_in_order", 2, one_to_one, full_and_empty, 4,
         6),
    PLAY("full_and_empty_are_true_after_a_fence", 2, one_to_one_fenced,
         full_and_empty, 3, 5),
    PLAY("the_second_round_is_like_the_first", 2, rounds, full_and_empty, 3, 5),
    PLAY("a_row_is_taken_at_once", 2, rows, full_and_rows, 4, 6),
    PLAY("a_row_is_as_long_as_it_can_be_after_a_fence", 2, rows_fenced,
         full_and_rows, 3, 5),
    PLAY("two_producers_keep_their_orders", 3, two_producers, full_and_rows, 1,
         3),
    PLAY("a_claim_in_front_hides_what_is_behind", 3, two_producers_fenced,
         full_and_rows, 1, 3),
    PLAY("two_consumers_share_without_overlap", 3, two_consumers, full_and_rows,
         2, 4),
    PLAY("full_means_no_room_or_room_in_the_making", 3, two_consumers_fenced,
         full_and_rows, 2, 4),
    PLAY("two_producers_and_two_consumers", 4, two_and_two, full_and_rows, 1,
         2),
    TEST("pusher_or_sleeper_sees_the_other", 3, sleeper, post_and_sleep,
         somebody_saw, full_and_empty, 2, 4),
    TEST("pusher_or_sleeper_sees_the_other_beside_a_taker", 3,
         sleeper_and_taker, post_and_sleep, somebody_saw, full_and_empty, 2, 4),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
