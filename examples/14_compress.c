/* SPDX-License-Identifier: MIT
 *
 * A pipeline that compresses a stream: one block after the other is read, many
 * are compressed at a time, and they are written in their order.  No more of
 * them are in memory than the pipeline has lines.
 *
 *     14_compress [FILE [PACKED]]
 *
 * Without FILE it makes up a text; PACKED keeps the result.  The result is
 * unpacked again and compared.
 *
 * A packed block is a list of
 *
 *     0nnnnnnn  n + 1 bytes                     those bytes
 *     1nnnnnnn  two bytes of distance, low first n + SHORTEST bytes from so far
 *                                                back
 */
#include <errno.h>
#include <heist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1 << 16,
    SHORTEST = 4, /* of what is worth a reference */
    LONGEST = 127 + SHORTEST,
    LITERALS = 128,
    SLOTS_LOG = 13,
    SLOTS = 1 << SLOTS_LOG,
    PACKED_MOST = BLOCK + BLOCK / LITERALS + 1,
    HEAD = 8,          /* of a packed block: both sizes */
    MADE_UP = 8 << 20, /* bytes of text */
    RUNS = 3
};

struct block {
    size_t bytes, packed_bytes;
    uint8_t plain[BLOCK];
    uint8_t packed[PACKED_MOST];
};

/* --- the compressor --------------------------------------------------------- */

static uint32_t four_bytes(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint32_t slot_of(const uint8_t *p)
{
    return four_bytes(p) * 2654435761u >> (32 - SLOTS_LOG);
}

static uint8_t *put_literals(uint8_t *out, const uint8_t *from, size_t n)
{
    while (n > 0) {
        size_t part = n < LITERALS ? n : LITERALS;
        *out++ = (uint8_t)(part - 1);
        memcpy(out, from, part);
        out += part, from += part, n -= part;
    }
    return out;
}

static size_t common(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* A table says where four bytes like these were last seen; it may be wrong, so
 * they are compared.  Returns how much was written. */
static size_t pack(const uint8_t *in, size_t bytes, uint8_t *packed)
{
    uint16_t seen[SLOTS] = {0};
    uint8_t *out = packed;
    size_t i = 0, done = 0; /* here we are; so much is written */
    while (i + SHORTEST <= bytes) {
        uint16_t *slot = &seen[slot_of(in + i)];
        size_t candidate = *slot, left = bytes - i;
        *slot = (uint16_t)i;
        size_t n = 0;
        if (candidate < i)
            n = common(in + candidate, in + i, left < LONGEST ? left : LONGEST);
        if (n < SHORTEST) {
            i++;
            continue;
        }
        size_t distance = i - candidate;
        out = put_literals(out, in + done, i - done);
        *out++ = (uint8_t)(128 + n - SHORTEST);
        *out++ = (uint8_t)distance;
        *out++ = (uint8_t)(distance >> 8);
        done = i += n;
    }
    out = put_literals(out, in + done, bytes - done);
    return (size_t)(out - packed);
}

/* One entry of the list; how many bytes of out it has filled, or -EBADMSG: it
 * was not written by us. */
static ptrdiff_t unpack_one(const uint8_t **in, const uint8_t *end,
                            uint8_t *out, size_t done, size_t room)
{
    size_t left = (size_t)(end - *in) - 1, n = *(*in)++;
    if (n < 128) {
        n++;
        if (n > left || n > room) return -EBADMSG;
        memcpy(out, *in, n);
        *in += n;
        return (ptrdiff_t)n;
    }
    n = n - 128 + SHORTEST;
    if (left < 2) return -EBADMSG;
    size_t distance = (*in)[0] + (size_t)(*in)[1] * 256;
    *in += 2;
    if (distance == 0 || distance > done || n > room) return -EBADMSG;
    for (size_t i = 0; i < n; i++) /* it may overlap itself */
        out[i] = *(out + i - distance);
    return (ptrdiff_t)n;
}

static int unpack(const uint8_t *in, size_t packed_bytes, uint8_t *out,
                  size_t bytes)
{
    const uint8_t *end = in + packed_bytes;
    size_t done = 0;
    while (in < end) {
        ptrdiff_t n = unpack_one(&in, end, out + done, done, bytes - done);
        if (n < 0) return (int)n;
        done += (size_t)n;
    }
    return done == bytes ? 0 : -EBADMSG;
}

/* --- the three stages ------------------------------------------------------- */

static int read_block(struct block *b, FILE *file)
{
    b->bytes = fread(b->plain, 1, BLOCK, file);
    return ferror(file) ? -EIO : 0;
}

static void put_size(uint8_t *to, size_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> 8 * i);
}

static int write_block(const struct block *b, FILE *file)
{
    uint8_t head[HEAD];
    put_size(head, b->bytes);
    put_size(head + 4, b->packed_bytes);
    fwrite(head, 1, HEAD, file);
    fwrite(b->packed, 1, b->packed_bytes, file);
    return ferror(file) ? -EIO : 0;
}

static int read_stage(heist_ctx c, heist_token *token, void *arg)
{
    struct block *b = &heist_data(token, struct block);
    (void)c;
    int rc = read_block(b, arg);
    if (rc == 0 && b->bytes == 0) heist_token_stop(token);
    return rc;
}

static int pack_stage(heist_ctx c, heist_token *token, void *arg)
{
    struct block *b = &heist_data(token, struct block);
    (void)c, (void)arg;
    b->packed_bytes = pack(b->plain, b->bytes, b->packed);
    return 0;
}

static int write_stage(heist_ctx c, heist_token *token, void *arg)
{
    (void)c;
    return write_block(&heist_data(token, struct block), arg);
}

static int pack_by_pipeline(FILE *in, FILE *out)
{
    heist_stage stages[] = {{HEIST_SERIAL, read_stage, in, "read"},
                            {HEIST_PARALLEL, pack_stage, NULL, "pack"},
                            {HEIST_SERIAL, write_stage, out, "write"}};
    heist_pipeline p = {
        .stages = stages, .count = 3, .token_bytes = sizeof(struct block)};
    heist_pipeline_failure why = {.name = ""};
    heist_pipeline_opts opts = {.failure = &why};
    int rc = heist_pipeline_run(&p, &opts, HEIST_FOREVER);
    if (rc < 0)
        fprintf(stderr, "stage '%s', block %llu: %s\n", why.name,
                (unsigned long long)why.token, strerror(-rc));
    return rc;
}

static int pack_serially(FILE *in, FILE *out)
{
    static struct block b;
    int rc = read_block(&b, in);
    while (rc == 0 && b.bytes > 0) {
        b.packed_bytes = pack(b.plain, b.bytes, b.packed);
        rc = write_block(&b, out);
        if (rc == 0) rc = read_block(&b, in);
    }
    return rc;
}

/* --- the check -------------------------------------------------------------- */

static size_t get_size(const uint8_t *from)
{
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        n |= (size_t)from[i] << 8 * i;
    return n;
}

/* Reads and unpacks a block; its size, 0 at the end, or an error. */
static ptrdiff_t unpack_block(struct block *b, FILE *file)
{
    uint8_t head[HEAD];
    size_t n = fread(head, 1, HEAD, file);
    if (n == 0 && feof(file)) return 0;
    if (n < HEAD) return -EBADMSG;
    b->bytes = get_size(head);
    b->packed_bytes = get_size(head + 4);
    if (b->bytes > BLOCK || b->packed_bytes > PACKED_MOST) return -EBADMSG;
    if (fread(b->packed, 1, b->packed_bytes, file) < b->packed_bytes)
        return -EBADMSG;
    int rc = unpack(b->packed, b->packed_bytes, b->plain, b->bytes);
    return rc < 0 ? rc : (ptrdiff_t)b->bytes;
}

static bool is_right(FILE *plain, FILE *packed)
{
    static struct block b;
    static uint8_t wanted[BLOCK];
    rewind(plain);
    rewind(packed);
    for (;;) {
        ptrdiff_t n = unpack_block(&b, packed);
        if (n < 0) return false;
        size_t m = fread(wanted, 1, n ? (size_t)n : 1, plain);
        if (n == 0) return m == 0;
        if (m < (size_t)n || memcmp(wanted, b.plain, m) != 0) return false;
    }
}

static bool is_same(FILE *a, FILE *b)
{
    int x, y;
    rewind(a);
    rewind(b);
    do {
        x = getc(a);
        y = getc(b);
    } while (x == y && x != EOF);
    return x == y;
}

/* --- both ways -------------------------------------------------------------- */

/* Sentences of words from a list, the first ones of it more often. */
static void make_up(FILE *file)
{
    uint32_t seed = 1;
    for (size_t n = 0; n < MADE_UP;) {
        seed = seed * 1664525 + 1013904223;
        uint32_t word = (seed >> 16) * (seed >> 20) >> 19; /* its number */
        for (uint32_t letters = word % 8 + 3; letters > 0; letters--, n++) {
            word = word * 40503 + 1;
            putc('a' + (int)(word >> 8) % 26, file);
        }
        putc(++n % 10 ? ' ' : '\n', file);
    }
}

typedef int pack_fn(FILE *in, FILE *out);

/* Keeps the shortest time in *best. */
static bool measure(pack_fn *run, FILE *in, FILE *out, heist_time *best)
{
    rewind(in);
    rewind(out);
    heist_time begin = heist_now();
    int rc = run(in, out);
    if (rc == 0 && fflush(out) != 0) rc = -EIO;
    heist_time took = heist_now() - begin;
    if (took < *best) *best = took;
    if (rc < 0) fprintf(stderr, "%s\n", strerror(-rc));
    return rc == 0;
}

static void say(const char *who, heist_time took, double plain, double packed)
{
    printf("%s  %6.1f ms  %6.1f MB/s  %.2f MB to %.2f MB: %.2f\n", who,
           (double)took / 1e6, plain / (double)took * 1e3, plain / 1e6,
           packed / 1e6, packed > 0 ? plain / packed : 1);
}

static bool compare(FILE *in, FILE *serial, FILE *out)
{
    heist_time alone = HEIST_FOREVER, shared = HEIST_FOREVER;
    for (int i = 0; i < RUNS; i++)
        if (!measure(pack_serially, in, serial, &alone) ||
            !measure(pack_by_pipeline, in, out, &shared))
            return false;
    double plain = (double)ftell(in), packed = (double)ftell(serial);
    say("serial  ", alone, plain, packed);
    say("pipeline", shared, plain, (double)ftell(out));
    bool right = is_right(in, out), same = is_same(serial, out);
    printf("unpacked again: %s; packed serially: %s\n",
           right ? "as it was" : "WRONG", same ? "the same" : "DIFFERENT");
    return right && same;
}

static bool complain(const char *path)
{
    perror(path);
    return false;
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : tmpfile();
    FILE *serial = tmpfile();
    FILE *out = argc > 2 ? fopen(argv[2], "w+b") : tmpfile();
    bool right = (in || complain(argc > 1 ? argv[1] : "a file")) &&
                 (serial || complain("a file")) &&
                 (out || complain(argc > 2 ? argv[2] : "a file"));
    if (right && argc == 1) make_up(in);
    right = right && compare(in, serial, out);
    if (in) fclose(in);
    if (serial) fclose(serial);
    if (out && fclose(out) != 0) right = complain("the result");
    return right ? 0 : 1;
}
