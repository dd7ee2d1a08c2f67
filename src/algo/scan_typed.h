/* SPDX-License-Identifier: MIT
 *
 * Prefix sums of one type of numbers: included by scan.c with TYPE, and with
 * NAME(x), which makes of x a name for that type.
 */
static void NAME(inclusive)(TYPE *out, const TYPE *in, size_t n, TYPE *before)
{
    TYPE sum = *before;
    for (size_t i = 0; i < n; i++) {
        sum += in[i];
        out[i] = sum;
    }
    *before = sum;
}

static void NAME(exclusive)(TYPE *out, const TYPE *in, size_t n, TYPE *before)
{
    TYPE sum = *before;
    for (size_t i = 0; i < n; i++) {
        TYPE element = in[i];
        out[i] = sum;
        sum += element;
    }
    *before = sum;
}

static void NAME(pass)(hi_chain *h, size_t begin, size_t end, void *before,
                       void *spare)
{
    const scan *s = (const scan *)h;
    const TYPE *in = s->in;
    TYPE *out = s->out;
    (void)spare;
    if (s->kind == HEIST_INCLUSIVE)
        NAME(inclusive)(out + begin, in + begin, end - begin, before);
    else
        NAME(exclusive)(out + begin, in + begin, end - begin, before);
}

/* As if nothing came before. */
static void NAME(sum)(hi_chain *h, size_t begin, size_t end, void *sum,
                      void *room)
{
    (void)room;
    *(TYPE *)sum = 0;
    NAME(pass)(h, begin, end, sum, NULL);
}

static void NAME(add)(hi_chain *h, void *before, const void *sum)
{
    (void)h;
    *(TYPE *)before += *(const TYPE *)sum;
}

static void NAME(finish)(hi_chain *h, size_t begin, size_t end, void *before,
                         void *sum, const void *room)
{
    TYPE *out = ((const scan *)h)->out, plus = *(const TYPE *)before;
    (void)sum;
    (void)room;
    for (size_t i = begin; i < end; i++)
        out[i] += plus;
}

int NAME(heist_scan)(heist_ctx c, TYPE *out, const TYPE *in, size_t n,
                     heist_scan_kind kind)
{
    scan s = {.chain = {.pass = NAME(pass),
                        .sum = NAME(sum),
                        .add = NAME(add),
                        .finish = NAME(finish),
                        .value = sizeof(TYPE),
                        .most = BLOCK_BYTES / sizeof(TYPE)},
              .out = out,
              .in = in,
              .kind = kind};
    TYPE before = 0, spare;
    hi_chain_run(c, &s.chain, n, &before, &spare);
    return 0;
}
