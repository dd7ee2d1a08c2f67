/* SPDX-License-Identifier: MIT
 *
 * trace.c: what is said when a property does not hold.
 */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LINES_MAX = 1 << 12,
    LINE_BYTES = 192
};

static struct {
    char (*lines)[LINE_BYTES]; /* a ring: the last ones */
    unsigned count;
} journal __attribute__((section("model_engine")));

void *engine_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "the checker has no memory\n");
        exit(2);
    }
    return p;
}

void trace_begin(void)
{
    if (!journal.lines)
        journal.lines = engine_map(LINES_MAX * sizeof *journal.lines);
    journal.count = 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void trace(const model_site *site, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *line = journal.lines[journal.count++ % LINES_MAX];
    if (site)
        snprintf(line, LINE_BYTES, "%5u %-8s %-60s %s:%d", engine.steps,
                 engine.current->name, text, base_name(site->file), site->line);
    else
        snprintf(line, LINE_BYTES, "%5u %-8s %s", engine.steps,
                 engine.current->name, text);
}

void trace_print(void)
{
    enum {
        MOST = 200
    };

    unsigned from = journal.count > MOST ? journal.count - MOST : 0;
    if (from) printf("  ... %u earlier lines\n", from);
    for (unsigned i = from; i < journal.count; i++)
        printf("  %s\n", journal.lines[i % LINES_MAX]);
}

const char *order_name(model_order order)
{
    static const char *const names[] = {"relaxed", "acquire", "release",
                                        "acq_rel", "seq_cst"};
    return names[order];
}

/* Asks addr2line, if it is there, only when there is something to report. */
static const char *place_of_pc(const void *pc)
{
    extern char __executable_start[];
    static char line[256];
    char command[128];
    size_t offset = (size_t)((const char *)pc - __executable_start);
    snprintf(line, sizeof line, "pc %#zx", offset);
    snprintf(command, sizeof command,
             "addr2line -s -e /proc/%d/exe %#zx 2>/dev/null", (int)getpid(),
             offset - 1);
    FILE *pipe = engine.tracing ? popen(command, "r") : NULL;
    if (!pipe) return line;
    char answer[256];
    if (fgets(answer, sizeof answer, pipe) && answer[0] != '?') {
        answer[strcspn(answer, "\n ")] = 0;
        snprintf(line, sizeof line, "%s", answer);
    }
    pclose(pipe);
    return line;
}

const char *place_of(const void *site, bool is_pc)
{
    static char line[256];
    if (is_pc) return place_of_pc(site);
    const model_site *s = site;
    snprintf(line, sizeof line, "%s:%d %s", base_name(s->file), s->line,
             s->what);
    return line;
}

void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(engine.message, sizeof engine.message, format, args);
    va_end(args);
    execution_end(FAILED);
}

void model_fail(const char *file, int line, const char *what)
{
    if (engine.running)
        fail("%s:%d: does not hold: %s", base_name(file), line, what);
    snprintf(engine.message, sizeof engine.message,
             "%s:%d: does not hold: %s in the end", base_name(file), line,
             what);
    end_fail();
}
