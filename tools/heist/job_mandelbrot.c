/* SPDX-License-Identifier: MIT
 *
 * The Mandelbrot set: rows cost very different amounts of time, and halving
 * the range of rows lets the workers find out which.
 */
#include "demo.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The window, four to three, and the area of the set inside it. */
static const double window_x = -2.2, window_y = -1.125;
static const double window_width = 3.0, window_height = 2.25;
static const double set_area = 1.5066;

enum {
    INSIDE = 0, /* the palette's entry for points of the set */
    STEPS = 500
};

typedef struct state {
    picture picture;
    uint8_t colour_of[STEPS]; /* by the number of steps it took to escape */
    uint8_t *first;           /* the pixels of the first run */
} state;

/* Slow escapes are rare: a logarithmic scale shows them as well as the quick
 * ones. */
static void make_palette(state *s)
{
    for (int i = 0; i < STEPS; i++)
        s->colour_of[i] = (uint8_t)(1 + 254 * log(1 + i) / log(STEPS));
    for (int i = 1; i < 256; i++) {
        double x = i / 255.0;
        uint8_t *rgb = s->picture.palette[i];
        rgb[0] = (uint8_t)(255 * pow(x, 1.6));
        rgb[1] = (uint8_t)(255 * pow(sin(x * 2.6), 2));
        rgb[2] = (uint8_t)(255 * (0.25 + 0.75 * sin(x * 3.14)));
    }
}

static void job_close(void *arg)
{
    state *s = arg;
    free(s->picture.pixel);
    free(s->first);
    free(s);
}

static int job_open(void **out, bool small, char *title)
{
    state *s = calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    s->picture.width = small ? 256 : 1024;
    s->picture.height = small ? 192 : 768;
    s->picture.pixel = calloc(s->picture.width, s->picture.height);
    if (!s->picture.pixel) {
        job_close(s);
        return -ENOMEM;
    }
    make_palette(s);
    snprintf(title, DEMO_TITLE, "Mandelbrot %ux%u", s->picture.width,
             s->picture.height);
    *out = s;
    return 0;
}

static void job_prepare(void *arg)
{
    state *s = arg;
    memset(s->picture.pixel, 0xff,
           (size_t)s->picture.width * s->picture.height);
}

static uint8_t colour_at(const state *s, double cx, double cy)
{
    double x = 0, y = 0, xx = 0, yy = 0;
    for (int i = 0; i < STEPS; i++) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        if (xx + yy > 4) return s->colour_of[i];
    }
    return INSIDE;
}

static void draw_row(const state *s, uint32_t y)
{
    const picture *p = &s->picture;
    double cy = window_y + window_height * (y + 0.5) / p->height;
    for (uint32_t x = 0; x < p->width; x++) {
        double cx = window_x + window_width * (x + 0.5) / p->width;
        p->pixel[(size_t)y * p->width + x] = colour_at(s, cx, cy);
    }
}

static void draw_serial(const state *s, uint32_t begin, uint32_t end)
{
    if (end - begin == 1) {
        draw_row(s, begin);
        return;
    }
    uint32_t middle = begin + (end - begin) / 2;
    draw_serial(s, begin, middle);
    draw_serial(s, middle, end);
}

static void draw(heist_ctx c, const state *s, uint32_t begin, uint32_t end);

static void draw_right(heist_ctx c, heist_frame *f)
{
    draw(c, f->arg[0].cp, (uint32_t)f->arg[1].u, (uint32_t)f->arg[2].u);
}

static void draw(heist_ctx c, const state *s, uint32_t begin, uint32_t end)
{
    if (end - begin == 1) {
        draw_row(s, begin);
        return;
    }
    uint32_t middle = begin + (end - begin) / 2;
    heist_frame *right = heist_slot(c);
    right->arg[0].cp = s;
    right->arg[1].u = middle;
    right->arg[2].u = end;
    draw(heist_fork(c, draw_right), s, begin, middle);
    if (heist_join(c)) draw(c, s, middle, end);
}

static void job_serial(void *arg)
{
    state *s = arg;
    draw_serial(s, 0, s->picture.height);
}

static void job_parallel(heist_ctx c, void *arg)
{
    state *s = arg;
    draw(c, s, 0, s->picture.height);
}

/* The first picture must show a set of the right size, and all others must be
 * equal to it, byte by byte. */
static bool job_right(void *arg, char *why)
{
    state *s = arg;
    size_t bytes = (size_t)s->picture.width * s->picture.height;
    if (s->first) {
        snprintf(why, DEMO_WHY, "the picture differs from the serial one");
        return memcmp(s->first, s->picture.pixel, bytes) == 0;
    }
    s->first = malloc(bytes);
    if (!s->first) {
        snprintf(why, DEMO_WHY, "%s", strerror(ENOMEM));
        return false;
    }
    memcpy(s->first, s->picture.pixel, bytes);
    size_t inside = 0;
    for (size_t i = 0; i < bytes; i++)
        inside += s->first[i] == INSIDE;
    double area = window_width * window_height * (double)inside / (double)bytes;
    snprintf(why, DEMO_WHY, "the set has an area of %.3f, wanted %.3f", area,
             set_area);
    return fabs(area - set_area) < 0.03;
}

static const picture *job_picture(void *arg)
{
    state *s = arg;
    return &s->picture;
}

const demo_job demo_mandelbrot = {
    .name = "mandelbrot",
    .open = job_open,
    .close = job_close,
    .prepare = job_prepare,
    .serial = job_serial,
    .parallel = job_parallel,
    .right = job_right,
    .picture = job_picture,
};
