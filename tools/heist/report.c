/* SPDX-License-Identifier: MIT */
#include "demo.h"

#include <inttypes.h>

enum {
    BARS_MOST = 4,    /* workers that get a bar each; more get a character */
    LEVELS_MOST = 16, /* those that get one; more get a summary */
    BAR_CELLS = 6,
    BAR_COLUMNS = BAR_CELLS + 6 /* a blank before it, "100%" after it */
};

/* How wide the columns are, the blank before them included; 0: left out. */
typedef struct layout {
    int title;
    int time[DEMO_MODES];
    int ratio;
    int steals;
} layout;

void demo_format_time(char *out, size_t bytes, heist_time time)
{
    if (time < HEIST_MILLISECOND)
        snprintf(out, bytes, "%.1f us", (double)time / 1e3);
    else if (time < HEIST_SECOND)
        snprintf(out, bytes, "%.1f ms", (double)time / 1e6);
    else
        snprintf(out, bytes, "%.3f s", (double)time / 1e9);
}

const char *demo_title(const demo_result *r, const term *t)
{
    return t->columns < DEMO_COLUMNS ? r->job->name : r->title;
}

static int width(const layout *l)
{
    int sum = l->title + l->ratio + l->steals;
    for (int mode = 0; mode < DEMO_MODES; mode++)
        sum += l->time[mode];
    return sum;
}

/* What is missed least goes first; what is left has 39 columns. */
static layout fit(int modes, const term *t)
{
    layout l = {DEMO_TITLE - 4, {11, 11, 11}, 10, 9};
    if (t->columns < DEMO_COLUMNS)
        l = (layout){sizeof "mandelbrot" - 1, {10, 10, 10}, 9, 9};
    if (modes < DEMO_MODES) l.time[DEMO_ALL] = 0;
    if (width(&l) > t->columns) l.steals = 0;
    if (width(&l) > t->columns && modes == DEMO_MODES) l.time[DEMO_ONE] = 0;
    return l;
}

static void row(const demo_result *r, const layout *l, int modes, const term *t)
{
    printf("%-*s", l->title, demo_title(r, t));
    for (int mode = 0; mode < modes; mode++) {
        char time[16];
        demo_format_time(time, sizeof time, r->best[mode]);
        if (l->time[mode]) printf("%*s", l->time[mode], time);
    }
    heist_time best = r->best[modes - 1];
    double ratio = (double)r->best[DEMO_SERIAL] / (double)(best ? best : 1);
    printf("%*.2fx", l->ratio - 1, ratio);
    if (l->steals) printf("%*" PRIu64, l->steals, r->steals);
    putchar('\n');
}

static void table(const demo_result *results, int count, unsigned workers,
                  int modes, const term *t)
{
    layout l = fit(modes, t);
    char all[32];
    if (snprintf(all, sizeof all, "%u workers", workers) >= l.time[DEMO_ALL])
        snprintf(all, sizeof all, "on %u", workers);
    const char *const names[DEMO_MODES] = {"serial", "1 worker", all};
    printf("\n%s%-*s", term_bold(t), l.title, "job");
    for (int mode = 0; mode < modes; mode++)
        if (l.time[mode]) printf("%*s", l.time[mode], names[mode]);
    printf("%*s", l.ratio, "speed-up");
    if (l.steals) printf("%*s", l.steals, "steals");
    printf("%s\n", term_plain(t));
    for (int i = 0; i < count; i++)
        row(&results[i], &l, modes, t);
}

/* A line per job and a bar per worker; the last is the calling thread, which
 * takes the place of one of them. */
static void bars(const demo_result *r, unsigned workers, const term *t)
{
    for (unsigned i = 0; i <= workers; i++) {
        putchar(' ');
        term_bar(t, r->busy[i], BAR_CELLS);
        printf(" %3.0f%%", 100 * r->busy[i]);
    }
}

static void levels(const demo_result *r, unsigned workers, const term *t)
{
    putchar(' ');
    for (unsigned i = 0; i <= workers; i++)
        term_level(t, r->busy[i]);
}

static void summary(const demo_result *r, unsigned workers, const term *t)
{
    (void)t;
    double least = r->busy[0], most = r->busy[0], sum = 0;
    for (unsigned i = 0; i < workers; i++) {
        double share = r->busy[i];
        if (share < least) least = share;
        if (share > most) most = share;
        sum += share;
    }
    printf(" %4.0f%% %4.0f%% %4.0f%% %5.0f%%", 100 * least, 100 * sum / workers,
           100 * most, 100 * r->busy[workers]);
}

static void utilisation(const demo_result *results, int count, unsigned workers,
                        int title, const term *t)
{
    void (*show)(const demo_result *, unsigned, const term *) = bars;
    bool fits = title + BAR_COLUMNS * ((int)workers + 1) <= t->columns;
    printf("\n%s%-*s", term_bold(t), title, "busy");
    if (workers > LEVELS_MOST) {
        show = summary;
        printf(" least  mean  most caller");
    } else if (workers > BARS_MOST || !fits) {
        char text[96];
        show = levels;
        snprintf(text, sizeof text,
                 "%u worker%s, then the calling thread; %s = always", workers,
                 workers == 1 ? "" : "s", t->unicode ? "full block" : "9");
        term_wrap(t, title, text);
    } else {
        for (unsigned i = 0; i < workers; i++)
            printf(" worker %-4u", i);
        printf(" caller");
    }
    printf("%s\n", term_plain(t));
    for (int i = 0; i < count; i++) {
        printf("%-*s", title, demo_title(&results[i], t));
        show(&results[i], workers, t);
        putchar('\n');
    }
}

void demo_report(const demo_result *results, int count, unsigned workers,
                 const term *t)
{
    int modes = workers == 1 ? DEMO_ALL : DEMO_MODES;
    table(results, count, workers, modes, t);
    utilisation(results, count, workers, fit(modes, t).title, t);
    bool steals = fit(modes, t).steals;
    char who[64] = "the calling thread", text[512];
    if (workers > 1)
        snprintf(who, sizeof who,
                 "%u workers, one of which is the calling thread", workers);
    snprintf(text, sizeof text,
             "All results were checked. Times are the best of %d runs; %sbusy "
             "time (over wall time) %s of all %d runs on %s.",
             DEMO_RUNS, steals ? "steals and " : "",
             steals ? "are those" : "is that", DEMO_RUNS, who);
    putchar('\n');
    term_wrap(t, 0, text);
    putchar('\n');
}
