/* SPDX-License-Identifier: MIT
 *
 * chain.c: blocks that depend on the ones before them, in one pass over memory.
 *
 * Blocks are taken in order from a counter by whoever is at work.  One of them
 * knows what comes before his block and does it in one pass; the others make the
 * sums of theirs in the meantime and hold them, if all goes well not longer than
 * they are in the cache.  Where a sum and what comes before it meet, the next
 * block gets to know what comes before, too, and so on; who holds such a block
 * finishes it.  Alone, one always knows: the serial loop, and the price of a
 * counter per block.
 *
 * Nobody waits for long: who has his hands full, or finds no block any more,
 * leaves his blocks to the one who brings what comes before them, and with them
 * the set of rooms that they are in; the last one who needs it gives it back.  If
 * the one who knows is held up others would leave set after set, so there are
 * only so many, and who finds none does not help.
 *
 *             sum           leave
 *     BARE ---------> SUMMED -----> LEFT
 *       |               |            |    what comes before is known
 *       +----> KNOWN <--+            +--> LEFT, finished by who brings it
 *
 * Invariants
 *   I1  a block that is not KNOWN and was taken has one before it, taken too, that
 *       is KNOWN and being worked on; that one's worker holds nothing that is not
 *       KNOWN.  So not all of them leave, and every block is taken and finished.
 *   I2  `before` of a block is written by who tells it (or by the pass of the
 *       block before), and belongs to its holder once it is KNOWN.
 *
 * Edges
 *   A7  sum     CAS state      ->  tell    load state             sum and room
 *   A8  tell    CAS state      ->  step    load state             before
 *   A9  drop    sub users      ->  drop    load users             rooms
 */
#include "algo/chain.h"

#include "algo/crew.h"
#include "algo/loop.h"
#include "fork/scratch.h"
#include "platform/platform.h"

#include <string.h>

enum {
    HELD = 32,          /* blocks, if they need no room of their own, ... */
    ROOMS = 7,          /* ... and if they do: they should stay in the cache */
    PATIENCE = 20000,   /* ns to wait before blocks are left */
    BLOCK_TIME = 20000, /* ns of a block */
    PROBE_TIME = 2000,  /* ns that say what an element costs */
    WHOLE_TIME = 8000,  /* ns: less than it takes to wake somebody */
    PROBE_STEP = 8,     /* each probe is so much longer, ... */
    PROBE_FEW = 64,     /* ... up to here */
    BLOCKS_MOST = 2048, /* of cheap elements that looked dear */
    SETS_FEW = 16,      /* sets of rooms at a time, ... */
    SETS_SHARE = 64,    /* ... one more for so many blocks: a ninth of them */
    USERS = HELD + 1    /* of a set: more than it can have */
};

enum {
    BARE,
    SUMMED,
    LEFT,
    KNOWN
};

/* The rooms of one who is at work. */
typedef struct set {
    HEIST_ATOMIC(unsigned) users; /* USERS, until he knows how many he left */
    unsigned char rooms[] HEIST_ALIGNED(HEIST_LINE);
} set;

/* What is known of a block: its sum, then this, then, on a line of its own, what
 * comes before; the two values are written once per element, by different
 * workers. */
typedef struct slot {
    HEIST_ATOMIC(unsigned) state;
    set *set;   /* that its room is in, if it needs one */
    void *room; /* of this block */
} slot;

typedef struct table {
    hi_chain *chain;
    unsigned char *slots; /* one more than blocks */
    size_t stride, slot_at, before_at;
    size_t begin, end, block, blocks;
    size_t set_bytes, most_sets;
    HEIST_ATOMIC(size_t) next HEIST_ALIGNED(HEIST_LINE); /* block to take */
    HEIST_ATOMIC(size_t) sets;                           /* that there are */
} table;

/* One who is at work. */
typedef struct hand {
    heist_ctx c;
    table *t;
    set *set;              /* NULL: no block needs room */
    uint32_t free;         /* rooms, or just places: a bit for each */
    unsigned first, count; /* held: first, first + 1, ... modulo HELD */
    size_t held[HELD];     /* blocks, oldest first, ... */
    unsigned place[HELD];  /* ... and where they are */
} hand;

static slot *slot_of(const table *t, size_t k)
{
    return (slot *)(void *)(t->slots + k * t->stride + t->slot_at);
}

static void *sum_of(const table *t, size_t k)
{
    return t->slots + k * t->stride;
}

static void *before_of(const table *t, size_t k)
{
    return t->slots + k * t->stride + t->before_at;
}

static size_t begin_of(const table *t, size_t k)
{
    return t->begin + k * t->block;
}

static size_t end_of(const table *t, size_t k)
{
    return k + 1 == t->blocks ? t->end : begin_of(t, k + 1);
}

/* NULL: no memory, or there are enough. */
static set *get_set(heist_ctx c, table *t)
{
    set *s = NULL;
    /* relaxed: counter */
    if (heist_add_relaxed(&t->sets, 1) < t->most_sets)
        s = hi_scratch_get(c, t->set_bytes, 1);
    if (s)
        heist_init(&s->users, USERS);
    else
        heist_sub_relaxed(&t->sets, 1); /* relaxed: counter */
    return s;
}

/* So many users less. */
static void drop_set(heist_ctx c, table *t, set *s, unsigned users)
{
    /* A9: what was done in its rooms. */
    if (!s || heist_sub_release(&s->users, users) != users) return;
    (void)heist_load_acquire(&s->users); /* A9: by all the others, too. */
    hi_scratch_put(c, s, t->set_bytes, 1);
    heist_sub_relaxed(&t->sets, 1); /* relaxed: counter */
}

static bool is_known(const table *t, size_t k)
{
    /* A8: what comes before the block. */
    return heist_load_acquire(&slot_of(t, k)->state) == KNOWN;
}

/* What comes before block k and its sum are there: what comes before k + 1. */
static void add(table *t, size_t k)
{
    memcpy(before_of(t, k + 1), before_of(t, k), t->chain->value);
    t->chain->add(t->chain, before_of(t, k + 1), sum_of(t, k));
}

static void finish(table *t, size_t k)
{
    t->chain->finish(t->chain, begin_of(t, k), end_of(t, k), before_of(t, k),
                     sum_of(t, k), slot_of(t, k)->room);
}

/* What comes before block k is in its place.  False: its sum is not. */
static bool tell_one(table *t, size_t k)
{
    slot *s = slot_of(t, k);
    unsigned bare = BARE;
    /* A7: the sum, if there is one. */
    while (heist_load_acquire(&s->state) == BARE) {
        /* A8: what comes before. */
        if (heist_cas_release(&s->state, &bare, KNOWN)) return false;
        bare = BARE;
    }
    add(t, k);
    /* A8: what comes before; from here on it is the holder's. */
    if (heist_swap_release(&s->state, KNOWN) == LEFT)
        heist_store_relaxed(&s->state, LEFT); /* relaxed: own-field */
    return true;
}

/* The same, and on over all blocks that have their sums; then finishes those of
 * them that were left. */
static void tell(hand *h, size_t k)
{
    table *t = h->t;
    size_t end = k;
    while (end < t->blocks && tell_one(t, end))
        end++;
    for (; k < end; k++) {
        slot *s = slot_of(t, k);
        /* relaxed: own-field (of those who told; else KNOWN) */
        if (heist_load_relaxed(&s->state) != LEFT) continue;
        finish(t, k);
        drop_set(h->c, t, s->set, 1);
    }
}

/* A block of which all is known. */
static void pass(hand *h, size_t k)
{
    table *t = h->t;
    memcpy(before_of(t, k + 1), before_of(t, k), t->chain->value);
    t->chain->pass(t->chain, begin_of(t, k), end_of(t, k), before_of(t, k + 1),
                   sum_of(t, k));
    tell(h, k + 1);
}

/* A block of which it is not known what comes before. */
static void sum(hand *h, size_t k)
{
    table *t = h->t;
    slot *s = slot_of(t, k);
    unsigned place = (unsigned)__builtin_ctz(h->free), bare = BARE;
    s->set = h->set;
    if (h->set) s->room = h->set->rooms + place * t->block * t->chain->room;
    t->chain->sum(t->chain, begin_of(t, k), end_of(t, k), sum_of(t, k),
                  s->room);
    /* A7: the sum. */
    if (heist_cas_release(&s->state, &bare, SUMMED)) {
        unsigned last = (h->first + h->count++) % HELD;
        h->held[last] = k;
        h->place[last] = place;
        h->free &= ~(UINT32_C(1) << place);
    } else if (is_known(t, k)) { /* since it was begun */
        add(t, k);
        tell(h, k + 1);
        finish(t, k);
    }
}

/* Waits for what comes before block k; false: not that long. */
static bool await(const table *t, size_t k, uint64_t patience)
{
    uint64_t start = patience ? hi_ticks() : 0;
    while (!is_known(t, k)) {
        if (!patience || hi_ticks() - start > patience) return false;
        hi_cpu_relax();
    }
    return true;
}

/* Finishes the oldest block held if what comes before it gets known. */
static bool finish_oldest(hand *h, uint64_t patience)
{
    size_t k = h->held[h->first];
    if (!await(h->t, k, patience)) return false;
    finish(h->t, k);
    h->free |= UINT32_C(1) << h->place[h->first];
    h->first = (h->first + 1) % HELD;
    h->count--;
    return true;
}

/* Takes a block; false: there are no more, or the hands are full. */
static bool step(hand *h)
{
    table *t = h->t;
    while (h->count > 0 && finish_oldest(h, h->free ? 0 : PATIENCE))
        ;
    if (!h->free) return false;
    size_t k = heist_add_relaxed(&t->next, 1); /* relaxed: counter */
    if (k >= t->blocks) return false;
    if (is_known(t, k))
        pass(h, k);
    else
        sum(h, k);
    return true;
}

/* Finishes what is held, or leaves it. */
static void leave(hand *h)
{
    uint64_t patience = PATIENCE;
    unsigned left = 0;
    for (; h->count > 0; h->count--) {
        size_t k = h->held[h->first];
        unsigned summed = SUMMED;
        h->first = (h->first + 1) % HELD;
        if (!await(h->t, k, patience)) patience = 0;
        /* relaxed: after-A7 (the sum went with SUMMED) */
        if (heist_cas_relaxed(&slot_of(h->t, k)->state, &summed, LEFT))
            left++;
        else if (is_known(h->t, k))
            finish(h->t, k);
    }
    drop_set(h->c, h->t, h->set, USERS - left);
}

static void help(heist_ctx c, heist_frame *f);

/* Works at blocks while there are any; false: there is no set for it. */
static bool work(heist_ctx c, table *t)
{
    hand h;
    h.c = c;
    h.t = t;
    h.set = NULL;
    h.free = UINT32_MAX;
    h.first = h.count = 0;
    if (t->chain->room) {
        h.set = get_set(c, t);
        if (!h.set) return false;
        h.free >>= HELD - ROOMS;
    }
    hi_post post = hi_post_for(help, t);
    heist_ctx k = hi_invite(c, &post);
    while (step(&h))
        k = hi_invite(k, &post);
    leave(&h);
    while (k.frame != c.frame) {
        k.frame--;
        (void)heist_join(k);
    }
    return true;
}

static void help(heist_ctx c, heist_frame *f)
{
    table *t = hi_post_taken(f);
    /* relaxed: hint */
    if (heist_load_relaxed(&t->next) < t->blocks) work(c, t);
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Sets out a table for the range; false: no memory. */
static bool set_out(heist_ctx c, table *t, size_t most)
{
    size_t value = t->chain->value, n = t->end - t->begin;
    t->blocks = (n - 1) / most + 1;
    t->block = (n - 1) / t->blocks + 1;
    t->blocks = (n - 1) / t->block + 1;
    t->slot_at = round_up(value, _Alignof(slot));
    t->before_at = round_up(t->slot_at + sizeof(slot), HEIST_LINE);
    t->stride = t->before_at + round_up(value, HEIST_LINE);
    t->most_sets = SETS_FEW + t->blocks / SETS_SHARE;
    if (__builtin_mul_overflow(ROOMS * t->block, t->chain->room,
                               &t->set_bytes) ||
        __builtin_add_overflow(t->set_bytes, sizeof(set), &t->set_bytes))
        return false;
    t->slots = hi_scratch_get(c, t->blocks + 1, t->stride);
    if (!t->slots) return false;
    heist_init(&t->next, 0u);
    heist_init(&t->sets, 0u);
    for (size_t k = 0; k <= t->blocks; k++) {
        slot *s = slot_of(t, k);
        heist_init(&s->state, k ? BARE : KNOWN);
        s->set = NULL;
        s->room = NULL;
    }
    return true;
}

/* Begins with longer and longer pieces until it is clear what an element costs.
 * Returns where it stopped and sets how long a block should be. */
static size_t probe(hi_chain *h, size_t n, void *before, void *spare,
                    size_t *most)
{
    size_t at = 0, piece = 1;
    uint64_t start = hi_ticks(), took = 0;
    double each = 1;
    while (at < n) {
        if (piece > n - at) piece = n - at;
        h->pass(h, at, at + piece, before, spare);
        at += piece;
        uint64_t now = hi_ticks();
        took = now - start;
        start = now;
        each = (double)(took + 1) / (double)piece;
        if ((took >= PROBE_TIME || piece >= *most) &&
            each * (double)(n - at) > WHOLE_TIME)
            break;
        piece = at < PROBE_FEW ? piece * PROBE_STEP : hi_smaller(at / 4, *most);
    }
    double rest = (double)(n - at), block = BLOCK_TIME / each;
    if (block < rest / BLOCKS_MOST) block = rest / BLOCKS_MOST;
    if (block < (double)h->least) block = (double)h->least;
    if (block < (double)*most) *most = block < 1 ? 1 : (size_t)block;
    return at;
}

void hi_chain_run(heist_ctx c, hi_chain *h, size_t n, void *before, void *spare)
{
    size_t most = h->most;
    size_t begin = h->timed ? probe(h, n, before, spare, &most) : 0;
    if (begin == n) return;
    table t = {.chain = h, .begin = begin, .end = n};
    if (n - begin <= most || !set_out(c, &t, most)) {
        h->pass(h, begin, n, before, spare);
        return;
    }
    memcpy(before_of(&t, 0), before, h->value);
    if (work(c, &t))
        memcpy(before, before_of(&t, t.blocks), h->value);
    else
        h->pass(h, begin, n, before, spare);
    hi_scratch_put(c, t.slots, t.blocks + 1, t.stride);
}
