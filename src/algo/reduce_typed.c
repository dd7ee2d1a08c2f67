/* SPDX-License-Identifier: MIT
 *
 * reduce_typed.c: sums and extremes of plain numbers.
 *
 * An array is cut into blocks of a fixed number of bytes, and they are put
 * together in a tree that depends on their number only: floats are rounded alike
 * whoever does what.  In a block several lanes run side by side, so that the
 * compiler makes vectors of them without being allowed to change the order of
 * additions.  An array of one block needs neither fork nor tree.
 */
#include <math.h>

#include "algo/loop.h"

enum {
    BLOCK_BYTES = 65536 /* two microseconds or more: a thousand forks */
};

/* The value of some blocks, and the index where the block begins that it is
 * from (sums do not look at it). */
typedef struct part {
    heist_word value;
    size_t at;
} part;

typedef struct reduction {
    size_t block; /* elements */
    part (*of_block)(const void *base, size_t begin, size_t end);
    part (*combine)(part left, part right);
} reduction;

/* Once for all types: a call per block is nothing. */
static part tree(heist_ctx c, const reduction *r, const void *base,
                 size_t begin, size_t end) __attribute__((noinline));

static void tree_right(heist_ctx c, heist_frame *f)
{
    part p = tree(c, f->arg[0].cp, f->arg[1].cp, f->arg[2].u, f->arg[3].u);
    f->result = p.value;
    f->arg[0].u = p.at;
}

/* begin is the beginning of a block. */
static part tree(heist_ctx c, const reduction *r, const void *base,
                 size_t begin, size_t end)
{
    if (end - begin <= r->block) return r->of_block(base, begin, end);
    size_t blocks = (end - begin - 1) / r->block + 1;
    size_t middle = begin + blocks / 2 * r->block;
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = r;
    right->arg[1].cp = base;
    right->arg[2].u = middle;
    right->arg[3].u = end;
    part left = tree(heist_fork(c, tree_right), r, base, begin, middle);
    if (heist_join(c)) return r->combine(left, tree(c, r, base, middle, end));
    return r->combine(left, (part){right->result, right->arg[0].u});
}

static part add_integers(part left, part right)
{
    left.value.u += right.value.u;
    return left;
}

static part add_floats(part left, part right)
{
    left.value.d += right.value.d;
    return left;
}

/*
 * For each type: of which LANE, a member WORD of heist_word, sums are made and
 * what they are to the caller; in which member extremes are kept; how many lanes
 * find them (64-bit integers are compared in scalar registers, of which there
 * are few); the LEAST and the GREATEST there is.
 */
#define TYPE       int32_t
#define NAME(name) name##_i32
#define SUM        int64_t
#define LANE       uint64_t
#define LANE_WORD  u
#define ADD        add_integers
#define WORD       i
#define SIDE       32
#define LEAST      INT32_MIN
#define GREATEST   INT32_MAX
#include "algo/reduce_typed.h"

#define TYPE       uint32_t
#define NAME(name) name##_u32
#define SUM        uint64_t
#define LANE       uint64_t
#define LANE_WORD  u
#define ADD        add_integers
#define WORD       u
#define SIDE       32
#define LEAST      0
#define GREATEST   UINT32_MAX
#include "algo/reduce_typed.h"

#define TYPE       int64_t
#define NAME(name) name##_i64
#define SUM        int64_t
#define LANE       uint64_t
#define LANE_WORD  u
#define ADD        add_integers
#define WORD       i
#define SIDE       4
#define LEAST      INT64_MIN
#define GREATEST   INT64_MAX
#include "algo/reduce_typed.h"

#define TYPE       uint64_t
#define NAME(name) name##_u64
#define SUM        uint64_t
#define LANE       uint64_t
#define LANE_WORD  u
#define ADD        add_integers
#define WORD       u
#define SIDE       4
#define LEAST      0
#define GREATEST   UINT64_MAX
#include "algo/reduce_typed.h"

#define TYPE       float
#define NAME(name) name##_f32
#define SUM        double
#define LANE       double
#define LANE_WORD  d
#define ADD        add_floats
#define WORD       d
#define SIDE       32
#define LEAST      (-INFINITY)
#define GREATEST   INFINITY
#include "algo/reduce_typed.h"

#define TYPE       double
#define NAME(name) name##_f64
#define SUM        double
#define LANE       double
#define LANE_WORD  d
#define ADD        add_floats
#define WORD       d
#define SIDE       32
#define LEAST      (-INFINITY)
#define GREATEST   INFINITY
#include "algo/reduce_typed.h"
