/* SPDX-License-Identifier: MIT
 *
 * inbox_model.c: the shipped inbox in every order, under C11.
 *
 * Thread 0 is the owner.  A test is a script per thread, one letter a call:
 *     a b c d  post that node        t  take all (owner)
 *     T        take all, and post each node again (owner)
 * A node carries a plain payload, written before the post and read by the
 * owner.  The history is held against a sequential list: what a take returns is
 * all that was posted since the one before, oldest first.
 *
 * A take looks first, without an order, whether there is anything, so it may
 * miss a post that it was not told of: with .fenced, posts end and takes begin
 * with a fence, and an empty take must fit as well.
 */
#include "model.h"

#include "queue/inbox.h"

enum {
    THREADS = 4,
    NODES = 4
};

typedef struct letter {
    hi_inbox_node node;
    uint64_t payload;
    unsigned posted;
    unsigned taken;
} letter;

typedef struct scenario {
    const char *before; /* in setup */
    const char *script[THREADS];
    bool fenced;
} scenario;

static scenario run;
static hi_inbox inbox;
static letter letters[NODES];

enum {
    WAS_EMPTY,
    TOOK_ONE,
    TOOK_MORE,
    OTHER_ORDER, /* b before a */
    SAME_ORDER
};

#define SEEN(what) ((uint64_t)1 << (what))

/* --- the sequential inbox ------------------------------------------------------ */

enum {
    POST, /* node arg, from 1 on */
    TAKE  /* all: 3 bits each, the oldest lowest */
};

typedef struct spec_state {
    uint64_t all; /* as TAKE gives it */
    unsigned bits;
} spec_state;

static void spec_init(void *state)
{
    *(spec_state *)state = (spec_state){0, 0};
}

static bool spec_step(void *state, unsigned op, uint64_t arg, uint64_t result)
{
    spec_state *s = state;
    if (op == POST) {
        s->all |= arg << s->bits;
        s->bits += 3;
        return true;
    }
    if (!result && !run.fenced) return true;
    bool same = result == s->all;
    spec_init(s);
    return same;
}

static const char *const ops[] = {"post", "take"};

static const model_spec inbox_spec = {ops, sizeof(spec_state), spec_init,
                                      spec_step};

/* --- calls, noted ----------------------------------------------------------------- */

static void post(unsigned i)
{
    letters[i].payload = 100 + i;
    letters[i].posted++;
    unsigned call = model_call(POST, i + 1);
    hi_inbox_post(&inbox, &letters[i].node);
    if (run.fenced) heist_fence_seq_cst();
    model_return(call, 0);
}

static unsigned received(hi_inbox_node *node)
{
    letter *l = heist_container(node, letter, node);
    unsigned i = (unsigned)(l - letters);
    model_check(i < NODES);
    model_check(l->payload == 100 + i);
    l->taken++;
    return i + 1;
}

/* Takes all; returns them as TAKE gives them. */
static uint64_t take(void)
{
    unsigned call = model_call(TAKE, 0);
    if (run.fenced) heist_fence_seq_cst();
    hi_inbox_node *node = hi_inbox_take(&inbox);
    uint64_t all = 0;
    unsigned bits = 0;
    while (node) {
        hi_inbox_node *next = node->next;
        all |= (uint64_t)received(node) << bits;
        bits += 3;
        model_check(bits <= 3 * NODES); /* or it goes in a circle */
        node = next;
    }
    model_return(call, all);
    model_saw(bits == 0 ? WAS_EMPTY : bits == 3 ? TOOK_ONE : TOOK_MORE);
    if (all == (2 | 1 << 3)) model_saw(OTHER_ORDER);
    if (all == (1 | 2 << 3)) model_saw(SAME_ORDER);
    return all;
}

static void play_script(const char *script)
{
    for (; script && *script; script++) {
        if (*script == 't') {
            take();
        } else if (*script == 'T') {
            for (uint64_t all = take(); all; all >>= 3)
                post((unsigned)(all & 7) - 1);
        } else {
            post((unsigned)(*script - 'a'));
        }
    }
}

static void start(scenario s)
{
    run = s;
    model_calls_reset();
    hi_inbox_init(&inbox);
    play_script(s.before);
}

static void play(unsigned id)
{
    play_script(run.script[id]);
}

static void check(void)
{
    take();
    model_check(hi_inbox_is_empty(&inbox));
    for (unsigned i = 0; i < NODES; i++)
        model_check(letters[i].taken == letters[i].posted);
    model_check(model_linearizable(&inbox_spec));
}

/* --- scripts ------------------------------------------------------------------------ */

static void one_poster(void)
{
    start((scenario){.script = {"tt", "abc"}});
}

static void one_poster_fenced(void)
{
    start((scenario){.script = {"tt", "abc"}, .fenced = true});
}

static void two_posters(void)
{
    start((scenario){.script = {"tt", "ac", "b"}});
}

static void two_posters_fenced(void)
{
    start((scenario){.script = {"tt", "ac", "b"}, .fenced = true});
}

static void three_posters(void)
{
    start((scenario){.script = {"tt", "a", "b", "c"}});
}

static void posted_again(void)
{
    start((scenario){.before = "a", .script = {"Tt", "b"}});
}

static void posted_again_by_two(void)
{
    start((scenario){.before = "a", .script = {"Tt", "b", "c"}});
}

static void nothing_one_or_more(void)
{
    uint64_t all = SEEN(WAS_EMPTY) | SEEN(TOOK_ONE) | SEEN(TOOK_MORE);
    model_check((model_seen() & all) == all);
}

static void both_orders(void)
{
    nothing_one_or_more();
    uint64_t all = SEEN(OTHER_ORDER) | SEEN(SAME_ORDER);
    model_check((model_seen() & all) == all);
}

/* --- the sleeper's look ------------------------------------------------------------------ */

static HEIST_ATOMIC(uint32_t) asleep;
static bool poster_saw_nobody[THREADS];
static bool owner_saw_nothing;

static void post_and_sleep(unsigned id)
{
    if (id == 0) {
        heist_store_relaxed(&asleep, 1);
        heist_fence_seq_cst();
        owner_saw_nothing = hi_inbox_is_empty(&inbox);
        model_saw(owner_saw_nothing ? WAS_EMPTY : TOOK_MORE);
        return;
    }
    post(id);
    heist_fence_seq_cst();
    poster_saw_nobody[id] = !heist_load_relaxed(&asleep);
}

static void post_seen_or_not(void)
{
    uint64_t all = SEEN(WAS_EMPTY) | SEEN(TOOK_MORE);
    model_check((model_seen() & all) == all);
}

static void sleeper(void)
{
    heist_init(&asleep, 0);
    start((scenario){0});
}

static void somebody_saw(void)
{
    if (owner_saw_nothing)
        model_check(!poster_saw_nobody[1] && !poster_saw_nobody[2]);
    check();
}

/* --- all of them --------------------------------------------------------------------------- */

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
    PLAY("posts_are_taken_once_and_in_order", 2, one_poster,
         nothing_one_or_more, 3, 6),
    PLAY("an_empty_take_is_true_after_a_fence", 2, one_poster_fenced,
         nothing_one_or_more, 3, 6),
    PLAY("two_posters_keep_their_orders", 3, two_posters, both_orders, 2, 4),
    PLAY("an_empty_take_is_true_for_two_posters_after_a_fence", 3,
         two_posters_fenced, both_orders, 2, 4),
    PLAY("three_posters_lose_nothing", 4, three_posters, both_orders, 2, 3),
    PLAY("a_node_may_be_posted_again", 2, posted_again, both_orders, 4, 6),
    PLAY("a_node_may_be_posted_again_among_two_posters", 3, posted_again_by_two,
         nothing_one_or_more, 2, 4),
    TEST("poster_or_sleeper_sees_the_other", 3, sleeper, post_and_sleep,
         somebody_saw, post_seen_or_not, 2, 4),
};

int main(int argc, char **argv)
{
    return model_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
