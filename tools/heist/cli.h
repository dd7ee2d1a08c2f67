/* SPDX-License-Identifier: MIT */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

/*
 * What the sub-commands share.  A command gets its own name as argv[0] and
 * returns the exit status of the program.
 */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2
};

enum {
    CLI_WORKERS_MOST = 4096 /* as many as the library takes */
};

typedef struct cli_command {
    const char *name;
    const char *usage;   /* one line */
    const char *summary; /* one line */
    int (*run)(int argc, char **argv);
} cli_command;

extern const cli_command cli_demo, cli_doctor;

/* Says what is wrong and how it is right, in one line; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_misused(const cli_command *cmd,
                                                      const char *format, ...);

/* HEIST_WORKERS as the library reads it; 0: it does not count, and *ignored says
 * whether somebody has set it all the same. */
unsigned cli_wanted_workers(bool *ignored);

/* Says what failed and, unless rc is zero, why; returns CLI_FAILED. */
__attribute__((format(printf, 2, 3))) int cli_failed(int rc, const char *format,
                                                     ...);

#endif
