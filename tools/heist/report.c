/* SPDX-License-Identifier: MIT */
#include "demo.h"

#include <inttypes.h>

enum {
    BARS_MOST = 4 /* workers that get a bar each; more get a character */
};

void demo_format_time(char *out, size_t bytes, heist_time time)
{
    if (time < HEIST_MILLISECOND)
        snprintf(out, bytes, "%.1f us", (double)time / 1e3);
    else if (time < HEIST_SECOND)
        snprintf(out, bytes, "%.1f ms", (double)time / 1e6);
    else
        snprintf(out, bytes, "%.3f s", (double)time / 1e9);
}

static void row(const demo_result *r, int modes)
{
    printf("%-*s", DEMO_TITLE - 4, r->title);
    for (int mode = 0; mode < modes; mode++) {
        char time[16];
        demo_format_time(time, sizeof time, r->best[mode]);
        printf(" %10s", time);
    }
    heist_time best = r->best[modes - 1];
    double ratio = (double)r->best[DEMO_SERIAL] / (double)(best ? best : 1);
    printf(" %8.2fx %8" PRIu64 "\n", ratio, r->steals);
}

static void table(const demo_result *results, int count, unsigned workers,
                  int modes, const term *t)
{
    printf("\n%s%-*s %10s %10s", term_bold(t), DEMO_TITLE - 4, "job", "serial",
           "1 worker");
    if (modes == DEMO_MODES) {
        char name[32];
        snprintf(name, sizeof name, "%u workers", workers);
        printf(" %10s", name);
    }
    printf(" %9s %8s%s\n", "speed-up", "steals", term_plain(t));
    for (int i = 0; i < count; i++)
        row(&results[i], modes);
}

/* A line per job and a bar per worker; the last is the calling thread, which
 * takes the place of one of them. */
static void bars(const demo_result *r, unsigned workers, const term *t)
{
    printf("%-*s ", DEMO_TITLE - 4, r->title);
    for (unsigned i = 0; i <= workers; i++) {
        if (i > 0) putchar(' ');
        term_bar(t, r->busy[i], 6);
        printf(" %3.0f%%", 100 * r->busy[i]);
    }
    putchar('\n');
}

static void levels(const demo_result *r, unsigned workers, const term *t)
{
    int room = t->columns - (DEMO_TITLE - 4) - 2;
    if (room < 10) room = 10;
    printf("%-*s ", DEMO_TITLE - 4, r->title);
    for (unsigned i = 0; i <= workers; i++) {
        if (i > 0 && i % (unsigned)room == 0)
            printf("\n%*s", DEMO_TITLE - 3, "");
        term_level(t, r->busy[i]);
    }
    putchar('\n');
}

static void utilisation(const demo_result *results, int count, unsigned workers,
                        const term *t)
{
    printf("\n%s%-*s", term_bold(t), DEMO_TITLE - 4, "busy");
    if (workers > BARS_MOST) {
        printf(" %u workers, then the calling thread; %s%s\n", workers,
               t->unicode ? "full block = always" : "9 = always",
               term_plain(t));
        for (int i = 0; i < count; i++)
            levels(&results[i], workers, t);
        return;
    }
    for (unsigned i = 0; i < workers; i++)
        printf(" worker %-4u", i);
    printf(" caller%s\n", term_plain(t));
    for (int i = 0; i < count; i++)
        bars(&results[i], workers, t);
}

void demo_report(const demo_result *results, int count, unsigned workers,
                 const term *t)
{
    int modes = workers == 1 ? DEMO_ALL : DEMO_MODES;
    table(results, count, workers, modes, t);
    utilisation(results, count, workers, t);
    printf("\nAll results were checked.  Times are the best of %d runs; steals "
           "and busy\ntime (over wall time) are those of all %d runs on %u "
           "worker%s, one of which\nis the calling thread.\n",
           DEMO_RUNS, DEMO_RUNS, workers, workers == 1 ? "" : "s");
}
