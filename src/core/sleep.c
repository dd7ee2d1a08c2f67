/* SPDX-License-Identifier: MIT
 *
 * sleep.c: how a worker without work goes to sleep, and who wakes it.
 *
 * The poster          P1  publish the work (deque, injector, overflow, inbox)
 *                     P2  fence
 *                     P3  if a worker is searching: done
 *                     P4  else take an idle worker's bit, count it as searching,
 *                         put a token into its parker
 * The worker          W1  stop searching: searching - 1
 *                     W2  announce: set the own idle bit
 *                     W3  fence
 *                     W4  look at everything once more; if there is work, take
 *                         the own bit back and search again
 *                     W5  sleep until there is a token
 * The finder          N1  found work: searching - 1
 *                     N2  if it was the last searcher: fence, look at everything;
 *                         if there is more, do as the poster in P4
 *
 * No wake-up is lost.  Say a task was published at P1 and stays.  Of the fence
 * P2 and the fence W3 of any worker one comes first.  If W3 comes first, the
 * poster sees the worker's bit at P4 (or another searcher at P3); if P2 comes
 * first, the worker sees the task at W4.  So when the poster stops at P3
 * because of a searcher X, X had not yet done W1 or N1 as far as the poster saw,
 * so X's fence (W3 or N2) comes after P2 and X sees the task at W4, or at N2 if
 * X was the last; if X was not the last, the same holds for the one who was.
 * A bit is taken by one RMW, so a worker gets one token for one announcement,
 * and a worker that takes its own bit back gets none.
 *
 * The proof uses no time-out.  There is one all the same, for another purpose:
 * one sleeper, the watchman, looks every few milliseconds for frames hidden
 * behind a long leaf (frame.c, rescue).  They are not published, so no poster
 * speaks for them.  While somebody works and somebody sleeps, one keeps watch:
 *   - who goes to sleep keeps watch if nobody does;
 *   - a watchman keeps the watch while he looks, until he finds work or is called,
 *     and gives it up without a successor only if nobody is awake;
 *   - who goes to work after a search, perhaps because the watchman was woken,
 *     wakes another sleeper if nobody keeps watch and nobody searches (a searcher
 *     does one of the two).  Who begins something alone puts it off until that
 *     forks, or until it goes on with something else (worker.c, looks), and so
 *     does a guest that enters (fork.c, look); who opens a frame without a fork
 *     sees to it then (graph/owner.h).  A guest whose root has been brief puts it
 *     off until it is as old as a wake-up is dear (run.c, enter_unwatched);
 *   - if no worker may be woken because of the guests, the last guest too many
 *     does it when it leaves and somebody still works.
 * Fences stand between being counted as awake and looking for a watchman, and
 * between ceasing to be the watchman and looking whether somebody is awake.  A guest
 * is not counted before it looks around for the first time (runtime.h); until then its
 * strand is shown, and the fence between showing it and looking for a watchman is
 * put there by who ceases to be the watchman, with a barrier for all threads.
 *
 * Edges
 *   S1  post  fence; searching, idle  <>  park  idle; fence; queues
 *   S2  wake  and idle                <>  park  or idle     letter or token
 *   S3  wake  swap parker             ->  park  swap parker what the waker did
 *   S4  found searching; fence        <>  post  queue; fence; searching
 *   S9  watch awake; fence; watchman  <>  park  watchman; fence; awake
 *       guest strand; fence; watchman <>  park  watchman; fence; strands
 *       (awake counted for us by who woke us)
 *   S10  leave awake; fence; queues   <>  post_frames  queue; fence; awake
 *        leave awake; fence; strands  <>  watch  strand; fence; awake
 */
#include "core/sleep.h"

#include "core/runtime.h"
#include "queue/memory.h"

#include <errno.h>

enum {
    AWAKE = 0, /* parker: no token, not asleep */
    ASLEEP = 1,
    TOKEN = 2
};

enum {
    WATCH_FIRST = 1000000, /* ns until the watchman looks the first time */
    WATCH_LONGER = 4,      /* ... and by what part he waits longer then, ... */
    WATCH_LONGEST = 9000000, /* ... until it is this long */
    WATCH_IDLE = 10000000,   /* ... when all work; when nobody does, so long, */
    WATCH_IDLE_TIMES = 2,    /* ... four times as long, and then not at all. */
    WATCH_RARE = 1000000000  /* If roots are brief: so long, always. */
};

int hi_sleep_init(hi_sleep *s, unsigned workers,
                  const heist_allocator *allocator)
{
    s->workers = workers;
    s->words = (workers + 63) / 64;
    s->idle = hi_alloc(allocator, s->words * sizeof *s->idle, HEIST_LINE);
    if (!s->idle) return -ENOMEM;
    heist_init(&s->searching, 0);
    heist_init(&s->awake, workers);
    heist_init(&s->forked, 0);
    heist_init(&s->visits, 0);
    return 0;
}

void hi_sleep_fini(hi_sleep *s, const heist_allocator *allocator)
{
    hi_free(allocator, s->idle, s->words * sizeof *s->idle);
}

/* Takes w's idle bit.  Who gets it owes w a token. */
static bool take_bit(hi_worker *w)
{
    /* S2: what we posted, if w announces itself only now. */
    return heist_and_release(w->idle_word, ~w->idle_bit) & w->idle_bit;
}

static void give_token(hi_worker *w)
{
    heist_runtime *rt = w->rt;
    if (!w->guest) {
        /* relaxed: before-S3 */
        heist_add_relaxed(&rt->sleep.searching, 1);
    }
    heist_add_relaxed(&rt->sleep.awake, 1); /* relaxed: hint */
    /* S3: what was published, then the token. */
    if (heist_swap_release(&w->parker, TOKEN) == ASLEEP)
        hi_futex_wake(&w->parker, 1);
    hi_worker *self = hi_worker_self();
    if (self) hi_count(&self->stats.woken, 1);
}

/*
 * The sleeper whose waking costs least: not the watchman, or somebody must take
 * his place; least of all the one whose home is this CPU, it would have to wait
 * for us.
 */
static hi_worker *best_sleeper(heist_runtime *rt)
{
    const hi_sleep *s = &rt->sleep;
    hi_worker *best = NULL;
    int best_cost = 0, here = -2;
    for (unsigned i = 0; i < s->words; i++) {
        /* relaxed: after-S1 (every announced worker is seen) */
        uint64_t bits = heist_load_relaxed(&s->idle[i]);
        for (; bits; bits &= bits - 1) {
            hi_worker *w = &rt->pool[i * 64 + (unsigned)__builtin_ctzll(bits)];
            if (here == -2) here = hi_cpu_current();
            int cost = w->home == here && here >= 0 ? 2 : 0;
            /* relaxed: hint */
            cost += heist_load_relaxed(&rt->watchman) == w->index + 1;
            if (cost == 0) return w;
            if (!best || cost < best_cost) best = w, best_cost = cost;
        }
    }
    return best;
}

static bool wake_one(heist_runtime *rt)
{
    for (hi_worker *w; (w = best_sleeper(rt));) {
        if (!take_bit(w)) continue; /* somebody was faster: one sleeper less */
        give_token(w);
        return true;
    }
    return false;
}

/* S9: called after the fence that follows our being counted as awake. */
bool hi_sleep_unwatched(heist_runtime *rt)
{
    hi_sleep *s = &rt->sleep;
    if (heist_load_relaxed(&rt->watchman)) return false; /* relaxed: after-S9 */
    /* relaxed: hint (only tests do without him) */
    if (!heist_load_relaxed(&rt->rescue)) return false;
    if (heist_load_relaxed(&s->searching)) return false; /* relaxed: after-S9 */
    /* relaxed: after-S10 (who leaves sees to it) */
    if (heist_load_relaxed(&s->awake) >= rt->workers) return false;
    uint64_t sleepers = 0;
    for (unsigned i = 0; i < s->words; i++)
        sleepers |= heist_load_relaxed(&s->idle[i]); /* relaxed: after-S9 */
    return sleepers != 0;
}

/* Those from `first` on, in the table of victims. */
static bool somebody_works(heist_runtime *rt, uint32_t first)
{
    for (uint32_t i = first, n = hi_victim_count(rt); i < n; i++) {
        hi_worker *v = hi_victim(rt, i);
        if (v && hi_worker_shown(v)) return true;
    }
    return false;
}

/* After giving up the watch: guests are asked from now on, counted or not. */
static void ask_guests(heist_runtime *rt)
{
    if (hi_victim_count(rt) > rt->workers) hi_fence_heavy(rt);
}

/* Nobody else is at work: when the caller forks is soon enough. */
static bool is_alone(heist_runtime *rt)
{
    /* relaxed: after-S9 */
    if (heist_load_relaxed(&rt->sleep.awake) != 1) return false;
    ask_guests(rt);
    return !somebody_works(rt, rt->workers);
}

void hi_sleep_see_to_watch(heist_runtime *rt, bool looks)
{
    heist_fence_seq_cst(); /* S9, S10: counted as awake, now look. */
    if (hi_sleep_unwatched(rt) && !(looks && is_alone(rt))) wake_one(rt);
}

void hi_sleep_post(heist_runtime *rt)
{
    heist_fence_seq_cst(); /* S1, S4: the work is published, now look. */
    /* relaxed: after-S1 (a searcher that is counted will see the work) */
    if (heist_load_relaxed(&rt->sleep.searching) == 0) wake_one(rt);
}

void hi_sleep_post_frames(hi_worker *w)
{
    /* S1, S4, S10: the frames are published, now look. */
    heist_fence_seq_cst();
    heist_runtime *rt = w->rt;
    hi_sleep_count(w);
    /* relaxed: after-S1 (a searcher that is counted will see them) */
    if (heist_load_relaxed(&rt->sleep.searching) != 0) return;
    /* relaxed: after-S10 (who leaves looks for the frames) */
    if (heist_load_relaxed(&rt->sleep.awake) >= rt->workers) return;
    wake_one(rt);
}

static void watch_end(hi_worker *w)
{
    heist_runtime *rt = w->rt;
    /* relaxed: own-field (nobody else writes our number) */
    if (heist_load_relaxed(&rt->watchman) != w->index + 1 || w->guest) return;
    heist_store_relaxed(&rt->watchman, 0); /* relaxed: before-S9 */
}

bool hi_sleep_search(hi_worker *w)
{
    if (w->searching) return true;
    hi_sleep *s = &w->rt->sleep;
    /* relaxed: hint */
    if (2 * heist_load_relaxed(&s->searching) >= s->workers && s->workers > 1)
        return false;
    heist_add_relaxed(&s->searching, 1); /* relaxed: hint */
    w->searching = true;
    return true;
}

void hi_sleep_found(hi_worker *w)
{
    if (!w->searching) return;
    w->searching = false;
    watch_end(w);
    /* relaxed: before-S4 (from now on a poster must look for somebody else) */
    if (heist_sub_relaxed(&w->rt->sleep.searching, 1) != 1) return;
    heist_fence_seq_cst(); /* S4: what was posted while we were counted. */
    if (hi_worker_visible_work(w->rt)) wake_one(w->rt);
}

/* Nobody has worked for many watches.  If there are regions that begin unwatched
 * because they are known to be brief, one that is not, this time, is found. */
static int64_t look_rarely(heist_runtime *rt)
{
    /* relaxed: hint (set while somebody is awake, who parks later) */
    return heist_load_relaxed(&rt->brief) ? hi_clock() + WATCH_RARE
                                          : HEIST_FOREVER;
}

/* Has no guest come since the last time? */
static bool no_visits(heist_runtime *rt)
{
    uint32_t visits = 0;
    for (uint32_t i = rt->workers, n = hi_victim_count(rt); i < n; i++) {
        hi_worker *g = hi_victim(rt, i);
        if (g) visits += heist_load_relaxed(&g->visit); /* relaxed: hint */
    }
    bool same =
        heist_load_relaxed(&rt->sleep.visits) == visits; /* relaxed: hint */
    heist_store_relaxed(&rt->sleep.visits, visits);      /* relaxed: hint */
    return same;
}

typedef enum rest {
    AT_WORK, /* somebody is */
    AT_REST, /* nobody is now */
    IDLE     /* nobody has been since the last watch */
} rest;

static rest look_about(heist_runtime *rt)
{
    hi_sleep *s = &rt->sleep;
    bool forked = heist_load_relaxed(&s->forked);      /* relaxed: hint */
    if (forked) heist_store_relaxed(&s->forked, 0);    /* relaxed: hint */
    if (heist_load_relaxed(&s->awake)) return AT_WORK; /* relaxed: after-S9 */
    if (somebody_works(rt, rt->workers)) return AT_WORK;
    return no_visits(rt) && !forked ? IDLE : AT_REST;
}

/* Nobody is to keep watch from now on, unless somebody has come meanwhile. */
static rest give_up(hi_worker *w)
{
    watch_end(w);
    heist_fence_seq_cst(); /* S9: nobody keeps watch, now look. */
    ask_guests(w->rt);
    return look_about(w->rt);
}

/* Not by a swap if he has it: guests read that line. */
static bool take_watch(hi_worker *w)
{
    uint32_t self = w->index + 1;
    uint32_t now = heist_load_relaxed(&w->rt->watchman); /* relaxed: hint */
    if (now) return now == self;
    /* relaxed: hint */
    return heist_cas_relaxed(&w->rt->watchman, &now, self);
}

/* How long w may sleep at most before it looks for hidden frames.  Who does so
 * often is the watchman. */
static int64_t watch_until(hi_worker *w)
{
    hi_sleep *s = &w->rt->sleep;
    /* relaxed: hint (only tests do without him) */
    if (w->guest || !heist_load_relaxed(&w->rt->rescue)) return HEIST_FOREVER;
    rest others = look_about(w->rt);
    if (others == IDLE && w->watch_idle + 1 >= WATCH_IDLE_TIMES)
        others = give_up(w);
    w->watch_idle = others == IDLE ? w->watch_idle + 1 : 0;
    if (w->watch_idle >= WATCH_IDLE_TIMES) return look_rarely(w->rt);
    if (!take_watch(w)) return HEIST_FOREVER;
    /* relaxed: hint */
    if (others != AT_WORK || heist_load_relaxed(&s->awake) >= s->workers)
        return hi_clock() + ((int64_t)WATCH_IDLE << 2 * w->watch_idle);
    if (w->watch < WATCH_FIRST) w->watch = WATCH_FIRST;
    return hi_clock() + w->watch;
}

bool hi_sleep_is_called(const hi_worker *w)
{
    return heist_load_relaxed(&w->parker) == TOKEN; /* relaxed: before-S3 */
}

/* Sleeps until there is a token; false: the time came first. */
static bool sleep_on_parker(hi_worker *w, int64_t until)
{
    uint32_t awake = AWAKE;
    /* relaxed: before-S3 (fails if a token is there already) */
    if (heist_cas_relaxed(&w->parker, &awake, ASLEEP)) {
        hi_count(&w->stats.parked, 1);
        if (w->home >= 0 && !w->pinned) {
            hi_cpu_pin(w->home);
            w->pinned = true;
        }
        int rc = 0;
        /* relaxed: before-S3 */
        while (heist_load_relaxed(&w->parker) == ASLEEP && rc == 0)
            rc = hi_futex_wait(&w->parker, ASLEEP, until);
        uint32_t asleep = ASLEEP;
        /* relaxed: before-S3 (fails if the token came just now) */
        if (rc < 0 && heist_cas_relaxed(&w->parker, &asleep, AWAKE))
            return false;
    }
    heist_swap_acquire(&w->parker, AWAKE); /* S3: what the waker did. */
    return true;
}

/* Whoever woke w has counted it, as what it is. */
static void awake_again(hi_worker *w)
{
    w->searching = !w->guest;
    heist_store_relaxed(&w->counted, w->guest); /* relaxed: hint */
}

/*
 * Takes the own announcement back; if somebody was faster, his token with it.
 * Either way the worker searches again: what it saw may be more than it takes,
 * and the rest is seen to when it has found something (N2).
 */
static void wake_self(hi_worker *w)
{
    hi_sleep *s = &w->rt->sleep;
    if (!take_bit(w)) {
        sleep_on_parker(w, HEIST_FOREVER); /* the token is on its way */
    } else {
        heist_add_relaxed(&s->awake, 1);                    /* relaxed: hint */
        if (!w->guest) heist_add_relaxed(&s->searching, 1); /* relaxed: hint */
    }
    awake_again(w);
}

hi_wake hi_sleep_park(hi_worker *w, int64_t deadline)
{
    heist_runtime *rt = w->rt;
    if (w->searching) {
        w->searching = false;
        /* relaxed: before-S1 (from now on a poster must look for our bit) */
        heist_sub_relaxed(&rt->sleep.searching, 1);
    }
    hi_count(&w->announced, 1);
    /* S2: we are to be had, and this is what we did before. */
    heist_or_release(w->idle_word, w->idle_bit);
    if (w->guest)
        hi_sleep_uncount(w);
    else
        heist_sub_relaxed(&rt->sleep.awake, 1); /* relaxed: hint */
    heist_fence_seq_cst(); /* S1, S9: announced, now look once more. */
    /* A guest has helped long enough, and tasks are not for it: letters only. */
    bool work = !w->guest && hi_worker_visible_work(rt);
    if (work || !hi_inbox_is_empty(&w->inbox) || hi_runtime_is(rt, HI_ENDING)) {
        wake_self(w);
        return HI_WAKE_WORK;
    }
    if (!hi_runtime_is(rt, HI_RUNNING)) hi_runtime_maybe_quiet(rt);
    int64_t watch = watch_until(w), until = watch < deadline ? watch : deadline;
    hi_worker_tidy(w, until);
    if (sleep_on_parker(w, until)) {
        watch_end(w);
        awake_again(w);
        w->watch_idle = 0;
        return HI_WAKE_WORK;
    }
    wake_self(w);
    if (watch >= deadline) return HI_WAKE_DEADLINE;
    if (w->watch < WATCH_LONGEST) w->watch += w->watch / WATCH_LONGER;
    return HI_WAKE_WATCH;
}

void hi_sleep_make_room(heist_runtime *rt)
{
    heist_fence_seq_cst(); /* S10: not counted any more, now look. */
    bool wanted = hi_worker_visible_work(rt);
    if (!wanted && hi_sleep_unwatched(rt)) {
        ask_guests(rt);
        wanted = somebody_works(rt, 0);
    }
    if (wanted) wake_one(rt);
}

void hi_sleep_wake(hi_worker *w)
{
    if (take_bit(w)) give_token(w);
}

void hi_sleep_wake_all(heist_runtime *rt)
{
    for (unsigned i = 0; i < rt->workers; i++)
        if (take_bit(&rt->pool[i])) give_token(&rt->pool[i]);
}

bool hi_sleep_all_idle(heist_runtime *rt)
{
    /* S1, S8, J3, B2: after what was published; the second look after the first. */
    heist_fence_seq_cst();
    for (unsigned i = 0; i < rt->workers; i++) {
        hi_worker *w = &rt->pool[i];
        /* S2: the bit of a worker that is asleep or about to be. */
        if (!(heist_load_acquire(w->idle_word) & w->idle_bit)) return false;
    }
    return true;
}
