/* SPDX-License-Identifier: MIT
 *
 * Quicksort for one kind of elements; included once for each by quick.c, which
 * says before
 *
 *     QUICK(name)  the names of its functions,
 *     SIZE         of an element, given `by`,
 *     LESS         the comparison, a hi_less_fn.
 */

/* --- heapsort: where quicksort would take too long --------------------------- */

static void QUICK(sink)(char *base, size_t i, size_t n, const hi_by *by)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        char *at = base + i * SIZE, *next = base + child * SIZE;
        if (child + 1 < n && LESS(next, next + SIZE, by)) {
            next += SIZE;
            child++;
        }
        if (!LESS(at, next, by)) return;
        hi_swap(at, next, SIZE);
    }
}

static void QUICK(heap_sort)(char *base, size_t n, const hi_by *by)
{
    for (size_t i = n / 2; i-- > 0;)
        QUICK(sink)(base, i, n, by);
    for (size_t i = n; i-- > 1;) {
        hi_swap(base, base + i * SIZE, SIZE);
        QUICK(sink)(base, 0, i, by);
    }
}

/* --- the pivot ----------------------------------------------------------------- */

static const char *QUICK(middle)(const char *a, const char *b, const char *d,
                                 const hi_by *by)
{
    bool less = LESS(a, b, by);
    if (less != LESS(a, d, by)) return a;
    return less == LESS(b, d, by) ? b : d;
}

/* About the middle one of three stretches of n elements each: of the middle ones
 * of their eighths, and so on. */
static const char *QUICK(guess)(const char *a, const char *b, const char *d,
                                size_t n, const hi_by *by)
{
    if (n >= 8) {
        size_t part = n / 8, four = part * 4 * SIZE, seven = part * 7 * SIZE;
        a = QUICK(guess)(a, a + four, a + seven, part, by);
        b = QUICK(guess)(b, b + four, b + seven, part, by);
        d = QUICK(guess)(d, d + four, d + seven, part, by);
    }
    return QUICK(middle)(a, b, d, by);
}

/* Puts a pivot at the front of n >= 8 elements. */
static void QUICK(choose)(char *base, size_t n, const hi_by *by)
{
    size_t part = n / 8;
    const char *b = base + part * 4 * SIZE, *d = base + part * 7 * SIZE;
    const char *pivot;
    if (n < 64)
        pivot = QUICK(middle)(base, b, d, by);
    else
        pivot = QUICK(guess)(base, b, d, part, by);
    hi_swap(base, base + (size_t)(pivot - base), SIZE);
}

/* --- splitting ----------------------------------------------------------------- */

/* Which elements go to the left of the pivot. */
HEIST_INLINE bool QUICK(is_small)(const char *a, const char *pivot, side how,
                                  const hi_by *by)
{
    return how == UP_TO ? !LESS(pivot, a, by) : LESS(a, pivot, by);
}

/*
 * Elements up to `small` are small, those up to begin are not, those up to end
 * have not been looked at.  Takes them one by one to the end of the small ones,
 * whose place is then the next one's or the same again: nothing to guess for the
 * processor.  Returns the new end of the small ones.
 *
 * What was at `begin` is held, so that there is a hole: one element less to move
 * each time.
 */
HEIST_INLINE char *QUICK(sift)(char *small, char *begin, char *end,
                               const char *pivot, side how, const hi_by *by)
{
    char held[HI_HELD] HEIST_ALIGNED(HEIST_LINE);
    char *hole = begin;
    hi_move(held, begin, SIZE);
    for (char *next = begin + SIZE; next < end; next += SIZE) {
        size_t step = QUICK(is_small)(next, pivot, how, by) ? SIZE : 0;
        memmove(hole, small, SIZE);
        hi_move(small, next, SIZE);
        hole = next;
        small += step;
    }
    size_t step = QUICK(is_small)(held, pivot, how, by) ? SIZE : 0;
    memmove(hole, small, SIZE);
    hi_move(small, held, SIZE);
    return small + step;
}

/*
 * The same for large elements, which are moved only if they are small: first it
 * is noted which of a block are, then each of them goes to the end of the small
 * ones, and what was there to where it has come from.
 */
HEIST_INLINE char *QUICK(sift_block)(char *small, char *begin, size_t n,
                                     const char *pivot, side how,
                                     const hi_by *by)
{
    unsigned char which[BLOCK];
    char held[HI_HELD] HEIST_ALIGNED(HEIST_LINE);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        which[count] = (unsigned char)i;
        count += QUICK(is_small)(begin + i * SIZE, pivot, how, by);
    }
    size_t next = 0; /* those that are in their places stay there */
    while (next < count && begin + which[next] * SIZE == small) {
        small += SIZE;
        next++;
    }
    if (next == count) return small;
    char *hole = begin + which[next] * SIZE;
    hi_move(held, small, SIZE);
    hi_move(small, hole, SIZE);
    while (++next < count) {
        small += SIZE;
        if (hole != small) hi_move(hole, small, SIZE);
        hole = begin + which[next] * SIZE;
        hi_move(small, hole, SIZE);
    }
    hi_move(hole, held, SIZE);
    return small + SIZE;
}

static char *QUICK(split_piece)(char *small, char *begin, char *end,
                                const char *pivot, side how, const hi_by *by)
{
    if (SIZE <= 16 && how != FEW_BELOW && begin < end) {
        if (how == UP_TO)
            return QUICK(sift)(small, begin, end, pivot, UP_TO, by);
        return QUICK(sift)(small, begin, end, pivot, BELOW, by);
    }
    bool blocks = SIZE > 16 && SIZE <= HI_HELD && how != FEW_BELOW;
    for (size_t n; blocks && begin < end; begin += n * SIZE) {
        n = (size_t)(end - begin) / SIZE;
        if (n > BLOCK) n = BLOCK;
        small = QUICK(sift_block)(small, begin, n, pivot, how, by);
    }
    for (; begin < end; begin += SIZE) {
        if (!QUICK(is_small)(begin, pivot, how, by)) continue;
        hi_swap(small, begin, SIZE);
        small += SIZE;
    }
    return small;
}

static void QUICK(exchange_right)(heist_ctx c, heist_frame *f);

/* Exchanges two stretches. */
static void QUICK(exchange)(heist_ctx c, char *a, char *b, size_t n,
                            const hi_by *by)
{
    while (n > PIECE) {
        heist_frame *right = heist_slot(c);
        right->arg[0].p = a + n / 2 * SIZE;
        right->arg[1].p = b + n / 2 * SIZE;
        right->arg[2].u = n - n / 2;
        right->arg[3].cp = by;
        QUICK(exchange)(heist_fork(c, QUICK(exchange_right)), a, b, n / 2, by);
        if (!heist_join(c)) return;
        a += n / 2 * SIZE;
        b += n / 2 * SIZE;
        n -= n / 2;
    }
    for (; n; n--, a += SIZE, b += SIZE)
        hi_swap(a, b, SIZE);
}

static void QUICK(exchange_right)(heist_ctx c, heist_frame *f)
{
    QUICK(exchange)(c, f->arg[0].p, f->arg[1].p, f->arg[2].u, f->arg[3].cp);
}

static char *QUICK(split)(heist_ctx c, char *small, char *begin, char *end,
                          const char *pivot, side how, const hi_by *by);

static void QUICK(split_right)(heist_ctx c, heist_frame *f)
{
    char *begin = f->arg[0].p;
    f->result.p = QUICK(split)(c, begin, begin, f->arg[1].p, f->arg[2].cp,
                               (side)f->arg[3].u, f->arg[4].cp);
}

/*
 * The same in parallel.  If nobody took the right half, the left one is simply
 * gone on with: splitting in parallel costs only when it helps.
 */
static char *QUICK(split)(heist_ctx c, char *small, char *begin, char *end,
                          const char *pivot, side how, const hi_by *by)
{
    while ((size_t)(end - begin) > PIECE * SIZE) {
        char *half = begin + (size_t)(end - begin) / SIZE / 2 * SIZE;
        heist_frame *right = heist_slot(c);
        right->arg[0].p = half;
        right->arg[1].p = end;
        right->arg[2].cp = pivot;
        right->arg[3].u = how;
        right->arg[4].cp = by;
        heist_ctx left = heist_fork(c, QUICK(split_right));
        small = QUICK(split)(left, small, begin, half, pivot, how, by);
        if (heist_join(c)) {
            begin = half;
            continue;
        }
        char *right_small = right->result.p;
        size_t wrong = (size_t)(half - small);
        size_t right_wrong = (size_t)(right_small - half);
        if (right_wrong < wrong) wrong = right_wrong;
        QUICK(exchange)(c, small, right_small - wrong, wrong / SIZE, by);
        return small + (size_t)(right_small - half);
    }
    return QUICK(split_piece)(small, begin, end, pivot, how, by);
}

/* Splits by the pivot at the front; returns where it belongs, and is now. */
static char *QUICK(divide)(heist_ctx c, char *base, size_t n, side how,
                           const hi_by *by)
{
    char *first = base + SIZE, *end = base + n * SIZE;
    char *small = QUICK(split)(c, first, first, end, base, how, by) - SIZE;
    hi_swap(base, small, SIZE);
    return small;
}

/* Exchanges a few elements, so that a pattern that made for a bad pivot does not
 * do so again. */
static void QUICK(shuffle)(char *base, size_t n, const hi_by *by)
{
    (void)by;
    size_t random = n;
    for (size_t i = 0; i < 3 && n >= 8; i++) {
        random = random * 2862933555777941757u + 3037000493u;
        hi_swap(base + (n / 4 + i * (n / 4)) * SIZE,
                base + (random >> 16) % n * SIZE, SIZE);
    }
}

/* --- the sort ------------------------------------------------------------------ */

static void QUICK(sort_at)(heist_ctx c, char *base, size_t n, unsigned chances,
                           bool inner, const hi_by *by);

static void QUICK(sort_right)(heist_ctx c, heist_frame *f)
{
    QUICK(sort_at)
    (c, f->arg[0].p, f->arg[1].u, (unsigned)f->arg[2].u, true, f->arg[3].cp);
}

/* Was that a bad split?  Then the next one shall be another. */
static bool QUICK(is_bad)(char *base, size_t left, size_t n, const hi_by *by)
{
    size_t right = n - 1 - left;
    if (left >= n / 8 && right >= n / 8) return false;
    QUICK(shuffle)(base, left, by);
    QUICK(shuffle)(base + (left + 1) * SIZE, right, by);
    return true;
}

/* With `inner`, the element before base is not above any of these.  After so
 * many bad splits, `chances`, it is heapsort's turn. */
static void QUICK(sort_at)(heist_ctx c, char *base, size_t n, unsigned chances,
                           bool inner, const hi_by *by)
{
    while (n > FEW) {
        if (chances == 0) {
            QUICK(heap_sort)(base, n, by);
            return;
        }
        QUICK(choose)(base, n, by);
        if (inner && !LESS(base - SIZE, base, by)) {
            char *last = QUICK(divide)(c, base, n, UP_TO, by);
            size_t equal = (size_t)(last - base) / SIZE + 1;
            if (equal < n / 8) chances--;
            n -= equal;
            base = last + SIZE;
            continue;
        }
        char *pivot = QUICK(divide)(c, base, n, BELOW, by);
        size_t left = (size_t)(pivot - base) / SIZE;
        if (QUICK(is_bad)(base, left, n, by)) chances--;
        heist_frame *right = heist_slot(c);
        right->arg[0].p = pivot + SIZE;
        right->arg[1].u = n - left - 1;
        right->arg[2].u = chances;
        right->arg[3].cp = by;
        QUICK(sort_at)
        (heist_fork(c, QUICK(sort_right)), base, left, chances, inner, by);
        if (!heist_join(c)) return;
        base = pivot + SIZE;
        n -= left + 1;
        inner = true;
    }
    hi_insertion_sort(base, n, SIZE, LESS, by);
}

static unsigned QUICK(chances)(size_t n)
{
    return (unsigned)(64 - __builtin_clzll(n | 1));
}

static void QUICK(sort)(heist_ctx c, char *base, size_t n, const hi_by *by)
{
    QUICK(sort_at)(c, base, n, QUICK(chances)(n), false, by);
}

/* --- selection ----------------------------------------------------------------- */

/* Puts a pivot at the front that is a little above the k-th of n, where k is
 * small: one of a sorted sample. */
static void QUICK(choose_low)(heist_ctx c, char *base, size_t n, size_t k,
                              const hi_by *by)
{
    size_t sample = n / SHARE;
    if (sample < SAMPLE_LEAST) sample = SAMPLE_LEAST;
    if (sample > SAMPLE_MOST) sample = SAMPLE_MOST;
    for (size_t i = 0; i < sample; i++)
        hi_swap(base + i * SIZE, base + n / sample * i * SIZE, SIZE);
    QUICK(sort)(c, base, sample, by);
    size_t rank = 2 * k / (n / sample) + 4;
    hi_swap(base, base + rank * SIZE, SIZE);
}

/* Chooses a pivot for the k-th of n and says how many will be below it. */
static side QUICK(choose_for)(heist_ctx c, char *base, size_t n, size_t k,
                              const hi_by *by)
{
    if (n < MANY || k > n / LOW) {
        QUICK(choose)(base, n, by);
        return BELOW;
    }
    QUICK(choose_low)(c, base, n, k, by);
    return FEW_BELOW;
}

/* Where the k-th element of n at base is to be found. */
typedef struct QUICK(search) {
    char *base;
    size_t n, k;
    bool inner; /* the element before base is not above any of these */
    unsigned chances;
} QUICK(search);

/* Leaves out what the k-th element is not among; true: it is in its place. */
static bool QUICK(narrow)(heist_ctx c, QUICK(search) * s, const hi_by *by)
{
    size_t n = s->n;
    side how = QUICK(choose_for)(c, s->base, n, s->k, by);
    bool equal = s->inner && !LESS(s->base - SIZE, s->base, by);
    char *pivot = QUICK(divide)(c, s->base, n, equal ? UP_TO : how, by);
    size_t left = (size_t)(pivot - s->base) / SIZE;
    if (s->k == left || (equal && s->k < left)) return true;
    if (s->k < left) {
        s->n = left;
    } else {
        s->base = pivot + SIZE;
        s->n -= left + 1;
        s->k -= left + 1;
        s->inner = true;
    }
    if (s->n > n - n / 8) {
        s->chances--;
        QUICK(shuffle)(s->base, s->n, by);
    }
    return false;
}

static void QUICK(select)(heist_ctx c, char *base, size_t n, size_t k,
                          const hi_by *by)
{
    QUICK(search) s = {base, n, k, false, QUICK(chances)(n)};
    while (s.n > FEW && s.chances)
        if (QUICK(narrow)(c, &s, by)) return;
    if (s.n > FEW)
        QUICK(heap_sort)(s.base, s.n, by);
    else
        hi_insertion_sort(s.base, s.n, SIZE, LESS, by);
}

static const hi_quick QUICK(quick) = {QUICK(sort), QUICK(select)};
