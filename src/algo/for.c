/* SPDX-License-Identifier: MIT
 *
 * for.c: loops.
 *
 * Edges
 *   A1  lock  CAS taken  ->  unlock  store taken     the failed piece
 */
#include "algo/loop.h"
#include "platform/platform.h"

/* --- all of it ------------------------------------------------------------- */

typedef struct range_loop {
    hi_loop loop;
    heist_range_fn *body;
    void *arg;
} range_loop;

static void range_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    range_loop *r = heist_container(l, range_loop, loop);
    r->body(c, begin, end, r->arg);
}

void heist_for(heist_ctx c, size_t begin, size_t end, heist_range_fn *body,
               void *arg)
{
    range_loop r = {
        {.piece = range_piece, .body = (void (*)(void))body}, body, arg};
    hi_loop_run(c, &r.loop, begin, end);
}

void heist_for_grain(heist_ctx c, size_t begin, size_t end, size_t grain,
                     heist_range_fn *body, void *arg)
{
    size_t most = grain ? grain : 1;
    range_loop r = {{.piece = range_piece, .grain = most}, body, arg};
    hi_loop_run(c, &r.loop, begin, end);
}

/* --- planes ------------------------------------------------------------------ */

enum {
    TILE_SHARE = 16,  /* no tile is more of the plane, ... */
    TILE_FIRST = 1024 /* ... and the first no larger */
};

typedef struct plane {
    heist_tile_fn *body;
    void *arg;
    size_t rows, columns; /* of the largest tile; 0: any */
} plane;

static size_t rows_of(const heist_tile *t)
{
    return t->row_end - t->row;
}

static size_t columns_of(const heist_tile *t)
{
    return t->column_end - t->column;
}

/* As far as numbers go. */
static size_t area_of(const heist_tile *t)
{
    size_t area;
    bool beyond = __builtin_mul_overflow(rows_of(t), columns_of(t), &area);
    return beyond ? SIZE_MAX : area;
}

/* Halves the side that is too long, or else the longer one of those that are not
 * given; t becomes the first half.  False: small enough. */
static bool cut(const plane *p, heist_tile *t, heist_tile *second,
                size_t largest)
{
    size_t rows = rows_of(t), columns = columns_of(t);
    bool tall = p->rows && rows > p->rows;
    bool wide = p->columns && columns > p->columns;
    if (!tall && !wide) {
        if (area_of(t) <= largest) return false;
        tall = !p->rows && rows > 1;
        wide = !p->columns && columns > 1;
        if (!tall && !wide) return false;
    }
    *second = *t;
    if (tall && (!wide || rows > columns))
        second->row = t->row_end = t->row + rows / 2;
    else
        second->column = t->column_end = t->column + columns / 2;
    return true;
}

static void run_plane(heist_ctx c, plane *p, heist_tile t);

static void part_of_plane(heist_ctx c, heist_frame *f)
{
    heist_tile t = {f->arg[1].u, f->arg[2].u, f->arg[3].u, f->arg[4].u};
    run_plane(c, f->arg[0].p, t);
}

static heist_ctx fork_tile(heist_ctx c, plane *p, const heist_tile *t)
{
    heist_frame *f = heist_slot(c);
    f->arg[0].p = p;
    f->arg[1].u = t->row;
    f->arg[2].u = t->row_end;
    f->arg[3].u = t->column;
    f->arg[4].u = t->column_end;
    return heist_fork(c, part_of_plane);
}

/* In tiles of at most that area, which follows the clock up to `most`; returns
 * the last one. */
static size_t run_tiles(heist_ctx c, plane *p, heist_tile t, size_t area,
                        size_t most)
{
    heist_tile second;
    while (cut(p, &t, &second, area)) {
        area = run_tiles(fork_tile(c, p, &second), p, t, area, most);
        if (!heist_join(c)) return area;
        t = second;
    }
    uint64_t start = hi_ticks();
    p->body(c, t, p->arg);
    if (p->rows && p->columns) return area; /* the size is given */
    area = hi_grain_after(area, area_of(&t), hi_ticks() - start);
    return area < most ? area : most;
}

static void run_plane(heist_ctx c, plane *p, heist_tile t)
{
    size_t most = area_of(&t) / TILE_SHARE + 1;
    if (p->rows && p->columns) most = SIZE_MAX; /* the size is given */
    bool small = most <= TILE_FIRST || (p->rows && p->columns);
    run_tiles(c, p, t, small ? most : TILE_FIRST, most);
}

void heist_for_2d(heist_ctx c, size_t rows, size_t columns, size_t tile_rows,
                  size_t tile_columns, heist_tile_fn *body, void *arg)
{
    if (rows == 0 || columns == 0) return;
    plane p = {body, arg, tile_rows, tile_columns};
    run_plane(c, &p, (heist_tile){0, rows, 0, columns});
}

/* --- until it is enough -------------------------------------------------- */

typedef struct while_loop {
    hi_loop loop;
    heist_while_fn *body;
    void *arg;
    HEIST_ATOMIC(bool) enough;
} while_loop;

static void while_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    while_loop *w = heist_container(l, while_loop, loop);
    if (!w->body(c, begin, end, w->arg))
        heist_store_relaxed(&w->enough, true); /* relaxed: hint */
}

static bool while_skip(hi_loop *l, size_t begin, size_t end)
{
    (void)begin, (void)end;
    while_loop *w = heist_container(l, while_loop, loop);
    return heist_load_relaxed(&w->enough); /* relaxed: hint */
}

bool heist_for_while(heist_ctx c, size_t begin, size_t end,
                     heist_while_fn *body, void *arg)
{
    while_loop w = {.loop = {.piece = while_piece, .skip = while_skip},
                    .body = body,
                    .arg = arg};
    heist_init(&w.enough, false);
    hi_loop_in_order(c, &w.loop, begin, end);
    return !heist_load_relaxed(&w.enough); /* relaxed: hint (all is joined) */
}

/* --- until something fails ----------------------------------------------- */

typedef struct try_loop {
    hi_loop loop;
    heist_try_fn *body;
    void *arg;
    HEIST_ATOMIC(bool) taken; /* a lock */
    HEIST_ATOMIC(size_t)
    failed;    /* the first that did; written under the lock */
    int error; /* its; under the lock */
} try_loop;

/* Seldom called, and over in an instant. */
static void note_failure(try_loop *t, size_t begin, int error)
{
    bool free = false;
    /* A1: the failed piece that was noted last. */
    while (!heist_cas_acquire(&t->taken, &free, true)) {
        free = false;
        hi_thread_yield();
    }
    if (begin < heist_load_relaxed(&t->failed)) { /* relaxed: under-lock */
        heist_store_relaxed(&t->failed, begin);   /* relaxed: under-lock */
        t->error = error;
    }
    heist_store_release(&t->taken, false); /* A1: this one. */
}

static void try_piece(heist_ctx c, hi_loop *l, size_t begin, size_t end)
{
    try_loop *t = heist_container(l, try_loop, loop);
    int rc = t->body(c, begin, end, t->arg);
    if (rc < 0) note_failure(t, begin, rc);
}

static bool try_skip(hi_loop *l, size_t begin, size_t end)
{
    (void)end;
    try_loop *t = heist_container(l, try_loop, loop);
    return begin > heist_load_relaxed(&t->failed); /* relaxed: hint */
}

static try_loop try_loop_of(heist_try_fn *body, void *arg, size_t grain)
{
    try_loop t = {
        .loop = {.piece = try_piece, .skip = try_skip, .grain = grain},
        .body = body,
        .arg = arg};
    heist_init(&t.taken, false);
    heist_init(&t.failed, SIZE_MAX);
    return t;
}

int heist_try_for(heist_ctx c, size_t begin, size_t end, heist_try_fn *body,
                  void *arg)
{
    try_loop t = try_loop_of(body, arg, 0);
    hi_loop_in_order(c, &t.loop, begin, end);
    return t.error;
}

int heist_try_for_grain(heist_ctx c, size_t begin, size_t end, size_t grain,
                        heist_try_fn *body, void *arg)
{
    try_loop t = try_loop_of(body, arg, grain ? grain : 1);
    hi_loop_run(c, &t.loop, begin, end);
    return t.error;
}
