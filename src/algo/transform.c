/* SPDX-License-Identifier: MIT
 *
 * transform.c: elements made from elements, or put elsewhere.
 *
 * Loops (loop.h) over the elements.  What only moves bytes has pieces of a size
 * that caches like; what calls a function of the user's finds its grain by the
 * clock.
 */
#include "algo/chain.h"
#include "algo/loop.h"
#include "algo/move.h"
#include "fork/scratch.h"

enum {
    PIECE_BYTES = 128 << 10,
    PIECE_INDICES = 4096 /* each may be a cache miss */
};

typedef struct transform {
    hi_loop loop; /* first: found by it */
    void *out;
    size_t out_size;
    const void *a, *b;
    size_t a_size, b_size;
    const size_t *index;
    heist_map_fn *map;
    heist_zip_fn *zip;
    heist_make_fn *make;
    void *arg;
} transform;

/* --- made by a function ---------------------------------------------------------- */

static void map_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    (void)c;
    for (size_t i = begin; i < end; i++)
        t->map(hi_at(t->out, i, t->out_size), hi_in(t->a, i, t->a_size), i,
               t->arg);
}

void heist_map(heist_ctx c, void *out, size_t out_size, const void *in,
               size_t in_size, size_t n, heist_map_fn *map, void *arg)
{
    transform t = {.loop = {.piece = map_piece},
                   .out = out,
                   .out_size = out_size,
                   .a = in,
                   .a_size = in_size,
                   .map = map,
                   .arg = arg};
    hi_loop_run(c, &t.loop, 0, n);
}

static void zip_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    (void)c;
    for (size_t i = begin; i < end; i++)
        t->zip(hi_at(t->out, i, t->out_size), hi_in(t->a, i, t->a_size),
               hi_in(t->b, i, t->b_size), i, t->arg);
}

void heist_zip(heist_ctx c, void *out, size_t out_size, const void *a,
               size_t a_size, const void *b, size_t b_size, size_t n,
               heist_zip_fn *zip, void *arg)
{
    transform t = {.loop = {.piece = zip_piece},
                   .out = out,
                   .out_size = out_size,
                   .a = a,
                   .b = b,
                   .a_size = a_size,
                   .b_size = b_size,
                   .zip = zip,
                   .arg = arg};
    hi_loop_run(c, &t.loop, 0, n);
}

static void make_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    (void)c;
    for (size_t i = begin; i < end; i++)
        t->make(hi_at(t->out, i, t->out_size), i, t->arg);
}

void heist_generate(heist_ctx c, void *out, size_t n, size_t size,
                    heist_make_fn *make, void *arg)
{
    transform t = {.loop = {.piece = make_piece},
                   .out = out,
                   .out_size = size,
                   .make = make,
                   .arg = arg};
    hi_loop_run(c, &t.loop, 0, n);
}

/* --- moved ------------------------------------------------------------------------ */

HEIST_INLINE void fill_range(const transform *t, size_t begin, size_t end,
                             size_t size)
{
    const void *value = t->a;
    unsigned char own[16]; /* nothing that is written can change it */
    if (size <= sizeof own) value = memcpy(own, value, size);
    for (size_t i = begin; i < end; i++)
        memcpy(hi_at(t->out, i, size), value, size);
}

static void fill_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    const unsigned char *value = t->a;
    size_t size = t->out_size;
    (void)c;
    if (memcmp(value, value + 1, size - 1) == 0)
        memset(hi_at(t->out, begin, size), *value, (end - begin) * size);
    else
        HI_BY_SIZE(size, fill_range, t, begin, end);
}

void heist_fill(heist_ctx c, void *out, size_t n, size_t size,
                const void *value)
{
    transform t = {
        .loop = {.piece = fill_piece, .grain = hi_block(PIECE_BYTES, size)},
        .out = out,
        .out_size = size,
        .a = value};
    hi_loop_run(c, &t.loop, 0, n);
}

static void copy_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    size_t size = t->out_size;
    (void)c;
    memcpy(hi_at(t->out, begin, size), hi_in(t->a, begin, size),
           (end - begin) * size);
}

void heist_copy(heist_ctx c, void *out, const void *in, size_t n, size_t size)
{
    transform t = {
        .loop = {.piece = copy_piece, .grain = hi_block(PIECE_BYTES, size)},
        .out = out,
        .out_size = size,
        .a = in};
    hi_loop_run(c, &t.loop, 0, n);
}

HEIST_INLINE void gather_range(const transform *t, size_t begin, size_t end,
                               size_t size)
{
    for (size_t i = begin; i < end; i++)
        memcpy(hi_at(t->out, i, size), hi_in(t->a, t->index[i], size), size);
}

HEIST_INLINE void scatter_range(const transform *t, size_t begin, size_t end,
                                size_t size)
{
    for (size_t i = begin; i < end; i++)
        memcpy(hi_at(t->out, t->index[i], size), hi_in(t->a, i, size), size);
}

static void gather_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    (void)c;
    HI_BY_SIZE(t->out_size, gather_range, t, begin, end);
}

static void scatter_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const transform *t = (const transform *)l;
    (void)c;
    HI_BY_SIZE(t->out_size, scatter_range, t, begin, end);
}

static size_t indices_grain(size_t size)
{
    size_t block = hi_block(PIECE_BYTES, size);
    return block < PIECE_INDICES ? block : PIECE_INDICES;
}

void heist_gather(heist_ctx c, void *out, const void *in, const size_t *index,
                  size_t n, size_t size)
{
    transform t = {
        .loop = {.piece = gather_piece, .grain = indices_grain(size)},
        .out = out,
        .out_size = size,
        .a = in,
        .index = index};
    hi_loop_run(c, &t.loop, 0, n);
}

void heist_scatter(heist_ctx c, void *out, const void *in, const size_t *index,
                   size_t n, size_t size)
{
    transform t = {
        .loop = {.piece = scatter_piece, .grain = indices_grain(size)},
        .out = out,
        .out_size = size,
        .a = in,
        .index = index};
    hi_loop_run(c, &t.loop, 0, n);
}

/* --- flattened -------------------------------------------------------------------- */

/*
 * First the places of all parts, a prefix sum; then the elements.  Pieces of
 * elements alone would be unfair to who meets a million empty parts, so a part
 * counts as one element more: in that count part i begins at place[i] + i.
 */
typedef struct flatten {
    hi_chain chain; /* first: found by it */
    hi_loop loop;
    void *out;
    const heist_part *part;
    size_t parts, size;
    size_t *place;
} flatten;

static void place_pass(hi_chain *h, size_t begin, size_t end, void *before,
                       void *spare)
{
    const flatten *f = (const flatten *)h;
    size_t *total = before;
    (void)spare;
    for (size_t i = begin; i < end; i++) {
        f->place[i] = *total;
        *total += f->part[i].n;
    }
}

static void place_sum(hi_chain *h, size_t begin, size_t end, void *sum,
                      void *room)
{
    const flatten *f = (const flatten *)h;
    size_t total = 0;
    (void)room;
    for (size_t i = begin; i < end; i++)
        total += f->part[i].n;
    *(size_t *)sum = total;
}

static void place_add(hi_chain *h, void *before, const void *sum)
{
    (void)h;
    *(size_t *)before += *(const size_t *)sum;
}

static void place_finish(hi_chain *h, size_t begin, size_t end, void *before,
                         void *sum, const void *room)
{
    (void)room;
    place_pass(h, begin, end, before, sum);
}

static size_t place_all(heist_ctx c, flatten *f)
{
    size_t total = 0, spare;
    f->chain = (hi_chain){.pass = place_pass,
                          .sum = place_sum,
                          .add = place_add,
                          .finish = place_finish,
                          .value = sizeof total,
                          .most = PIECE_BYTES / sizeof(heist_part)};
    hi_chain_run(c, &f->chain, f->parts, &total, &spare);
    f->place[f->parts] = total;
    return total;
}

/* The last part that does not begin behind `at`. */
static size_t part_at(const flatten *f, size_t at)
{
    size_t low = 0, high = f->parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (f->place[middle] + middle <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void flatten_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    const flatten *f = heist_container(l, flatten, loop);
    (void)c;
    for (size_t i = part_at(f, begin); begin < end; i++) {
        size_t start = f->place[i] + i, next = f->place[i + 1] + i + 1;
        size_t stop = end < next ? end : next;
        /* Its first place is the part itself. */
        size_t from = begin > start ? begin - start - 1 : 0;
        size_t to = stop - start - 1;
        if (from < to)
            memcpy(hi_at(f->out, f->place[i] + from, f->size),
                   hi_in(f->part[i].base, from, f->size),
                   (to - from) * f->size);
        begin = stop;
    }
}

/* Without memory for the places. */
static size_t flatten_here(heist_ctx c, void *out, const heist_part *part,
                           size_t parts, size_t size)
{
    size_t total = 0;
    for (size_t i = 0; i < parts; i++) {
        heist_copy(c, hi_at(out, total, size), part[i].base, part[i].n, size);
        total += part[i].n;
    }
    return total;
}

size_t heist_flatten(heist_ctx c, void *out, const heist_part *part,
                     size_t parts, size_t size, size_t *offsets)
{
    size_t few[64], *place = offsets;
    bool small = parts < sizeof few / sizeof *few;
    if (!place)
        place = small ? few : hi_scratch_get(c, parts + 1, sizeof *place);
    if (!place) return flatten_here(c, out, part, parts, size);
    flatten f = {
        .loop = {.piece = flatten_piece, .grain = hi_block(PIECE_BYTES, size)},
        .out = out,
        .part = part,
        .parts = parts,
        .size = size,
        .place = place};
    size_t total = place_all(c, &f);
    hi_loop_run(c, &f.loop, 0, total + parts);
    if (place != offsets && !small)
        hi_scratch_put(c, place, parts + 1, sizeof *place);
    return total;
}
