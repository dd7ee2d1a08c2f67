/* SPDX-License-Identifier: MIT */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Standard output: a terminal that can redraw a line, or anything else, which
 * gets plain ASCII lines and never an escape code.
 */
typedef struct term {
    int columns;    /* COLUMNS, or the terminal's, or 80 */
    bool live;      /* a terminal that understands escape codes */
    bool colour;    /* live, and NO_COLOR is not set */
    bool truecolor; /* colour, and COLORTERM says 24 bits */
    bool unicode;   /* live, and no locale speaks against UTF-8 */
} term;

void term_init(term *t);

/* Redraws the progress line (live) or does nothing. */
void term_progress(const term *t, unsigned done, unsigned total,
                   const char *label);

/* Removes the progress line, so that others can write. */
void term_progress_end(const term *t);

/* Prints a bar of `width` cells, `share` (0 to 1) of them full. */
void term_bar(const term *t, double share, int width);

/* Prints `share` as one character. */
void term_level(const term *t, double share);

/* Prints text with a new line instead of a blank wherever it would be too wide.
 * It begins in column `at`: unless that is 0, each line with a blank there. */
void term_wrap(const term *t, int at, const char *text);

/* Bold and back, where there is colour. */
const char *term_bold(const term *t);
const char *term_plain(const term *t);

#endif
