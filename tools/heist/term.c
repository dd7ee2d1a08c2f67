/* SPDX-License-Identifier: MIT */
#include "term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    COLUMNS_DEFAULT = 80,
    COLUMNS_LEAST = 20,
    COLUMNS_MOST = 1000
};

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static int columns(void)
{
    const char *value = getenv("COLUMNS");
    char *end;
    long n = value ? strtol(value, &end, 10) : 0;
    if (n <= 0 || *end) {
        struct winsize size;
        bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
        n = known && size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
    }
    if (n < COLUMNS_LEAST) n = COLUMNS_LEAST;
    return n > COLUMNS_MOST ? COLUMNS_MOST : (int)n;
}

/* Bare containers set no locale at all, and their terminals speak UTF-8 all the
 * same; a locale that is set must say so. */
static bool unicode(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        if (!is_set(variables[i])) continue;
        const char *charset = strchr(getenv(variables[i]), '.');
        return charset && strncasecmp(charset, ".utf", 4) == 0;
    }
    return true;
}

void term_init(term *t)
{
    memset(t, 0, sizeof *t);
    t->columns = columns();
    const char *kind = getenv("TERM");
    t->live = isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
    t->colour = t->live && !is_set("NO_COLOR");
    t->unicode = t->live && unicode();
    const char *depth = getenv("COLORTERM");
    t->truecolor = t->colour && depth &&
                   (!strcmp(depth, "truecolor") || !strcmp(depth, "24bit"));
}

void term_progress(const term *t, unsigned done, unsigned total,
                   const char *label)
{
    if (!t->live) return;
    int width = t->columns / 3;
    if (width > 30) width = 30;
    printf("\r\033[K");
    term_bar(t, total ? (double)done / total : 0, width);
    int room = t->columns - width - 8; /* the last column stays free */
    if (room > 0) printf(" %3u%%  %.*s", 100 * done / total, room, label);
    fflush(stdout);
}

void term_progress_end(const term *t)
{
    if (!t->live) return;
    printf("\r\033[K");
    fflush(stdout);
}

void term_bar(const term *t, double share, int width)
{
    const char *full = t->unicode ? "█" : "#", *empty = t->unicode ? "░" : ".";
    int cells = (int)(share * width + 0.5);
    for (int i = 0; i < width; i++)
        fputs(i < cells ? full : empty, stdout);
}

void term_level(const term *t, double share)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄",
                                         "▅", "▆", "▇", "█"};
    if (t->unicode)
        fputs(blocks[(int)(share * 7 + 0.5)], stdout);
    else
        putchar('0' + (int)(share * 9 + 0.5));
}

void term_wrap(const term *t, int at, const char *text)
{
    int column = at;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > at && column + 1 + word > t->columns) {
            printf("\n%*s", at, "");
            column = at;
        }
        bool blank = column > 0;
        printf("%s%.*s", blank ? " " : "", word, text);
        column += word + blank;
        text += word;
        text += strspn(text, " ");
    }
}

const char *term_bold(const term *t)
{
    return t->colour ? "\033[1m" : "";
}

const char *term_plain(const term *t)
{
    return t->colour ? "\033[0m" : "";
}
