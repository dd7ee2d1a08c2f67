/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <errno.h>
#include <string.h>

/* --- PNG ------------------------------------------------------------------ */

/* The file so far, with the two checksums PNG wants. */
typedef struct png {
    FILE *out;
    uint32_t crc;              /* of the chunk */
    uint32_t adler_a, adler_b; /* of the pixel data */
} png;

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
    }
    return crc;
}

/* Errors of the stream stick to it; picture_write looks once, at the end. */
static void put(png *f, const void *p, size_t n)
{
    f->crc = crc32(f->crc, p, n);
    fwrite(p, 1, n, f->out);
}

static void put32(png *f, uint32_t x)
{
    uint8_t bytes[4] = {(uint8_t)(x >> 24), (uint8_t)(x >> 16),
                        (uint8_t)(x >> 8), (uint8_t)x};
    put(f, bytes, sizeof bytes);
}

static void chunk_begin(png *f, const char *type, uint32_t bytes)
{
    put32(f, bytes);
    f->crc = 0xffffffff;
    put(f, type, 4);
}

static void chunk_end(png *f)
{
    put32(f, ~f->crc);
}

static void put_pixels(png *f, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        f->adler_a = (f->adler_a + p[i]) % 65521;
        f->adler_b = (f->adler_b + f->adler_a) % 65521;
    }
    put(f, p, n);
}

/* Each row is one deflate block that stores its bytes as they are: larger than
 * compressed, and nothing to depend on. */
static void put_row(png *f, const picture *p, uint32_t y)
{
    uint16_t n = (uint16_t)(p->width + 1);
    uint8_t head[5] = {y + 1 == p->height, (uint8_t)n, (uint8_t)(n >> 8),
                       (uint8_t)~n, (uint8_t)(~n >> 8)};
    uint8_t no_filter = 0;
    put(f, head, sizeof head);
    put_pixels(f, &no_filter, 1);
    put_pixels(f, p->pixel + (size_t)y * p->width, p->width);
}

int picture_write(const picture *p, FILE *out)
{
    png f = {.out = out, .adler_a = 1};
    if (p->width == 0 || p->width > 65534 || p->height == 0) return -EINVAL;
    errno = 0;
    put(&f, "\x89PNG\r\n\x1a\n", 8);

    chunk_begin(&f, "IHDR", 13);
    put32(&f, p->width);
    put32(&f, p->height);
    put(&f, "\x08\x03\0\0", 5); /* 8 bits, palette, no interlacing */
    chunk_end(&f);

    chunk_begin(&f, "PLTE", sizeof p->palette);
    put(&f, p->palette, sizeof p->palette);
    chunk_end(&f);

    chunk_begin(&f, "IDAT", 2 + p->height * (5 + 1 + p->width) + 4);
    put(&f, "\x78\x01", 2);
    for (uint32_t y = 0; y < p->height; y++)
        put_row(&f, p, y);
    put32(&f, f.adler_b << 16 | f.adler_a);
    chunk_end(&f);

    chunk_begin(&f, "IEND", 0);
    chunk_end(&f);
    if (fflush(out) == 0 && !ferror(out)) return 0;
    return errno ? -errno : -EIO;
}

/* --- the terminal --------------------------------------------------------- */

typedef struct colour {
    uint32_t r, g, b;
} colour;

/* The mean of a box of the picture: cell (x, y) of a grid of w by h. */
static colour cell(const picture *p, uint32_t x, uint32_t y, uint32_t w,
                   uint32_t h)
{
    uint32_t x0 = x * p->width / w, x1 = (x + 1) * p->width / w;
    uint32_t y0 = y * p->height / h, y1 = (y + 1) * p->height / h;
    if (x1 == x0) x1++;
    if (y1 == y0) y1++;
    colour sum = {0, 0, 0};
    for (uint32_t j = y0; j < y1; j++) {
        for (uint32_t i = x0; i < x1; i++) {
            const uint8_t *rgb = p->palette[p->pixel[j * p->width + i]];
            sum.r += rgb[0];
            sum.g += rgb[1];
            sum.b += rgb[2];
        }
    }
    uint32_t n = (x1 - x0) * (y1 - y0);
    return (colour){sum.r / n, sum.g / n, sum.b / n};
}

static void put_colour(const term *t, int layer, colour c)
{
    if (t->truecolor) {
        printf("\033[%d;2;%u;%u;%um", layer, c.r, c.g, c.b);
    } else { /* the 6x6x6 cube of the 256 colours */
        uint32_t r = (c.r + 25) / 51, g = (c.g + 25) / 51, b = (c.b + 25) / 51;
        printf("\033[%d;5;%um", layer, 16 + 36 * r + 6 * g + b);
    }
}

enum {
    FOREGROUND = 38,
    BACKGROUND = 48
};

/* A character is twice as high as wide: two pixels, one above the other. */
static void draw_half_blocks(const picture *p, const term *t, uint32_t w,
                             uint32_t h)
{
    for (uint32_t y = 0; y < h; y++) {
        for (uint32_t x = 0; x < w; x++) {
            put_colour(t, FOREGROUND, cell(p, x, 2 * y, w, 2 * h));
            put_colour(t, BACKGROUND, cell(p, x, 2 * y + 1, w, 2 * h));
            fputs("▀", stdout);
        }
        puts("\033[0m");
    }
}

static void draw_shades(const picture *p, uint32_t w, uint32_t h)
{
    static const char shades[] = " .:-=+*#%@";
    for (uint32_t y = 0; y < h; y++) {
        for (uint32_t x = 0; x < w; x++) {
            colour c = cell(p, x, y, w, h);
            uint32_t light = (2 * c.r + 5 * c.g + c.b) / 8;
            putchar(shades[light * (sizeof shades - 1) / 256]);
        }
        putchar('\n');
    }
}

void picture_draw(const picture *p, const term *t)
{
    uint32_t w = (uint32_t)t->columns - 1;
    if (w > 64) w = 64;
    uint32_t h = w * p->height / p->width / 2;
    if (h == 0) h = 1;
    if (t->colour && t->unicode)
        draw_half_blocks(p, t, w, h);
    else
        draw_shades(p, w, h);
}
