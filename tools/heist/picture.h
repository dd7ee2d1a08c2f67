/* SPDX-License-Identifier: MIT */
#ifndef PICTURE_H
#define PICTURE_H

#include "term.h"

#include <stdint.h>
#include <stdio.h>

/* An indexed picture, as PNG has it. */
typedef struct picture {
    uint32_t width, height;
    uint8_t *pixel;
    uint8_t palette[256][3];
} picture;

/* Writes a PNG.  Returns 0 or a negative errno; out is not closed. */
int picture_write(const picture *p, FILE *out);

/* Draws it, reduced to the width of the terminal: coloured half blocks where
 * that can be shown, shades made of ASCII characters otherwise. */
void picture_draw(const picture *p, const term *t);

#endif
