/* SPDX-License-Identifier: MIT
 *
 * A picture is blurred, tile by tile: each pixel becomes the weighted mean of
 * the 25 around it.  Tiles are small enough for the cache, and nobody needs to
 * say how many there are per worker.
 *
 *     08_convolution [PICTURE.pgm]     keeps the picture
 */
#include <heist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1200,
    HEIGHT = 800
};

struct job {
    uint8_t *in, *out;
};

/* Rings that grow finer towards the outside. */
static uint8_t ring(size_t y, size_t x)
{
    return (uint8_t)((x * x + y * y) / 512);
}

static void draw(heist_ctx c, heist_tile t, void *arg)
{
    struct job *job = arg;
    (void)c;
    for (size_t y = t.row; y < t.row_end; y++)
        for (size_t x = t.column; x < t.column_end; x++)
            job->in[y * WIDTH + x] = ring(y, x);
}

/* Beyond the border the picture goes on as it ends. */
static size_t clamp(size_t place, size_t offset, size_t end)
{
    size_t moved = place + offset < 2 ? 0 : place + offset - 2;
    return moved < end ? moved : end - 1;
}

static uint8_t blurred(const uint8_t *in, size_t y, size_t x)
{
    static const unsigned weight[5] = {1, 4, 6, 4, 1}; /* together 16 */
    unsigned sum = 128;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            sum += weight[i] * weight[j] *
                   in[clamp(y, i, HEIGHT) * WIDTH + clamp(x, j, WIDTH)];
    return (uint8_t)(sum / 256);
}

static void blur(heist_ctx c, heist_tile t, void *arg)
{
    struct job *job = arg;
    (void)c;
    for (size_t y = t.row; y < t.row_end; y++)
        for (size_t x = t.column; x < t.column_end; x++)
            job->out[y * WIDTH + x] = blurred(job->in, y, x);
}

static void root(heist_ctx c, void *arg)
{
    heist_for_2d(c, HEIGHT, WIDTH, 0, 0, draw, arg);
    heist_for_2d(c, HEIGHT, WIDTH, 0, 0, blur, arg);
}

static bool write_picture(FILE *file, const uint8_t *pixel)
{
    if (!file) return false;
    fprintf(file, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
    fwrite(pixel, WIDTH, HEIGHT, file);
    bool written = !ferror(file) && fflush(file) == 0;
    return fclose(file) == 0 && written;
}

int main(int argc, char **argv)
{
    struct job job = {malloc(WIDTH * HEIGHT), malloc(WIDTH * HEIGHT)};
    if (!job.in || !job.out) return fprintf(stderr, "no memory\n"), 1;
    int rc = heist_run(NULL, root, &job);
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    size_t wrong = 0;
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            wrong += job.in[y * WIDTH + x] != ring(y, x) ||
                     job.out[y * WIDTH + x] != blurred(job.in, y, x);
    bool written =
        write_picture(argc > 1 ? fopen(argv[1], "wb") : tmpfile(), job.out);
    printf("%d x %d pixels, %zu of them wrong, %s\n", WIDTH, HEIGHT, wrong,
           written ? "written" : "NOT WRITTEN");
    free(job.in);
    free(job.out);
    return wrong != 0 || !written;
}
