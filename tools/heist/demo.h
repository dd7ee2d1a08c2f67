/* SPDX-License-Identifier: MIT */
#ifndef DEMO_H
#define DEMO_H

#include "picture.h"
#include "term.h"

#include <heist.h>

/*
 * A job of the demo: one computation, once as plain C and once with forks,
 * and a check of its result.
 */
typedef struct demo_job {
    const char *name;

    /* Makes the state: 0 or a negative errno.  Writes a title that tells the
     * size, of at most DEMO_TITLE bytes. */
    int (*open)(void **state, bool small, char *title);
    void (*close)(void *state);

    /* Before each run, outside of the time taken.  May be NULL. */
    void (*prepare)(void *state);
    void (*serial)(void *state);
    heist_root_fn *parallel;

    /* After each run.  False: says in `why` (DEMO_WHY bytes) what is wrong. */
    bool (*right)(void *state, char *why);

    /* What to draw at the end.  May be NULL. */
    const picture *(*picture)(void *state);
} demo_job;

enum {
    DEMO_COLUMNS = 72, /* the table needs; with fewer it is cut down */
    DEMO_TITLE = 24,
    DEMO_WHY = 128,
    DEMO_JOBS = 5
};

extern const demo_job demo_fib, demo_nqueens, demo_uts, demo_mandelbrot,
    demo_sort;

/* How often the same thing is done, to report the best of the times. */
enum {
    DEMO_RUNS = 3
};

/* Serially, on one worker, on all of them. */
enum {
    DEMO_SERIAL,
    DEMO_ONE,
    DEMO_ALL,
    DEMO_MODES
};

typedef struct demo_result {
    const demo_job *job;
    void *state;
    char title[DEMO_TITLE];
    heist_time best[DEMO_MODES]; /* 0: not done */
    heist_time wall;             /* all runs on all workers together */
    uint64_t steals;             /* in those runs */
    double *busy; /* share of wall; one per worker, then the caller's */
} demo_result;

/* The title, or where there is little room the name. */
const char *demo_title(const demo_result *r, const term *t);

/* Prints the table and the utilisation of the workers. */
void demo_report(const demo_result *results, int count, unsigned workers,
                 const term *t);

/* Prints a time in at most nine columns: "12.3 ms". */
void demo_format_time(char *out, size_t bytes, heist_time time);

#endif
