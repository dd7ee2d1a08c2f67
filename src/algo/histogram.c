/* SPDX-License-Identifier: MIT
 *
 * histogram.c: how many elements there are of each kind.
 *
 * Pieces are taken from a counter by whoever is at work (crew.h).  The caller
 * counts in the counts that he was given; who comes to help has counts of his
 * own, which are added up when he has gone.  Without memory for them nobody
 * helps.
 */
#include "algo/crew.h"
#include "algo/move.h"
#include "fork/scratch.h"
#include "platform/platform.h"

#include <heist/algo.h>

enum {
    PIECE_TIME = 20000, /* ns */
    PROBE_TIME = 2000,  /* ns that say what an element costs */
    PROBE_STEP = 8,
    PROBE_FEW = 64,
    PIECES_MOST = 4096,
    WORTH = PIECE_TIME / 4 /* buckets that take as long as a piece */
};

typedef struct histogram {
    const void *base;
    size_t begin, end, size;
    size_t buckets;
    heist_key_fn *bucket;
    void *arg;
    size_t piece;
    size_t pieces;
    HEIST_ATOMIC(size_t) next HEIST_ALIGNED(HEIST_LINE); /* piece to take */
} histogram;

static void count(const histogram *h, size_t *counts, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t bucket = h->bucket(hi_in(h->base, i, h->size), h->arg);
        if (bucket < h->buckets) counts[bucket]++;
    }
}

static bool count_piece(histogram *h, size_t *counts)
{
    size_t k = heist_add_relaxed(&h->next, 1); /* relaxed: counter */
    if (k >= h->pieces) return false;
    size_t begin = h->begin + k * h->piece;
    size_t end = k + 1 == h->pieces ? h->end : begin + h->piece;
    count(h, counts, begin, end);
    return true;
}

static void help(heist_ctx c, heist_frame *f);

static void work(heist_ctx c, histogram *h, size_t *counts)
{
    hi_post post = hi_post_for(help, h);
    heist_ctx k = hi_invite(c, &post);
    while (count_piece(h, counts))
        k = hi_invite(k, &post);
    while (k.frame != c.frame) {
        k.frame--;
        heist_frame *f = heist_slot(k);
        if (heist_join(k) || !f->result.p) continue;
        const size_t *more = f->result.p;
        for (size_t i = 0; i < h->buckets; i++)
            counts[i] += more[i];
        hi_scratch_put(c, f->result.p, h->buckets, sizeof *counts);
    }
}

static void help(heist_ctx c, heist_frame *f)
{
    histogram *h = hi_post_taken(f);
    size_t *counts = NULL;
    size_t next = heist_load_relaxed(&h->next); /* relaxed: hint */
    /* Counts of his own must be cleared and added up: a few ns for each. */
    if (next < h->pieces && (h->pieces - next) > h->buckets / WORTH)
        counts = hi_scratch_get(c, h->buckets, sizeof *counts);
    f->result.p = counts;
    if (!counts) return;
    memset(counts, 0, h->buckets * sizeof *counts);
    work(c, h, counts);
}

/* Counts longer and longer pieces until it is clear what an element costs, and
 * sets out the rest. */
static void set_out(histogram *h, size_t *counts)
{
    size_t piece = 1;
    uint64_t start = hi_ticks(), took = 0;
    while (h->begin < h->end) {
        if (piece > h->end - h->begin) piece = h->end - h->begin;
        count(h, counts, h->begin, h->begin + piece);
        h->begin += piece;
        uint64_t now = hi_ticks();
        took = now - start;
        start = now;
        if (took >= PROBE_TIME) break;
        /* What comes next may be dear: not much more than what was seen. */
        piece = h->begin < PROBE_FEW ? piece * PROBE_STEP : h->begin / 4;
    }
    size_t rest = h->end - h->begin;
    double each = (double)(took + 1) / (double)piece;
    double share = PIECE_TIME / each;
    if (share < (double)rest / PIECES_MOST) share = (double)rest / PIECES_MOST;
    h->piece = share >= (double)rest ? rest : share < 1 ? 1 : (size_t)share;
    h->pieces = rest > 0 ? (rest - 1) / h->piece + 1 : 0;
}

int heist_histogram(heist_ctx c, size_t *counts, size_t buckets,
                    const void *base, size_t n, size_t size,
                    heist_key_fn *bucket, void *arg)
{
    if (buckets == 0) return 0;
    histogram h = {.base = base,
                   .end = n,
                   .size = size,
                   .buckets = buckets,
                   .bucket = bucket,
                   .arg = arg};
    heist_init(&h.next, 0u);
    set_out(&h, counts);
    if (h.pieces == 1)
        count(&h, counts, h.begin, h.end);
    else if (h.pieces > 1)
        work(c, &h, counts);
    return 0;
}
