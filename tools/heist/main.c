/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <heist.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command top = {
    .name = "",
    .usage = "heist demo|doctor|help|version [OPTION...]",
};

static const cli_command *const commands[] = {&cli_demo, &cli_doctor};

enum {
    COMMANDS = sizeof commands / sizeof *commands
};

int cli_misused(const cli_command *cmd, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* It quotes what was typed, and must stay one harmless line. */
    for (char *p = text; *p; p++)
        if (iscntrl((unsigned char)*p)) *p = '?';
    fprintf(stderr, "heist%s%s: %s; usage: %s\n", *cmd->name ? " " : "",
            cmd->name, text, cmd->usage);
    return CLI_USAGE;
}

int cli_failed(int rc, const char *format, ...)
{
    fflush(stdout); /* what was said before comes first */
    va_list args;
    va_start(args, format);
    fprintf(stderr, "heist: ");
    vfprintf(stderr, format, args);
    if (rc < 0) fprintf(stderr, ": %s", strerror(-rc));
    fprintf(stderr, "\n");
    va_end(args);
    return CLI_FAILED;
}

unsigned cli_wanted_workers(bool *ignored)
{
    const char *text = getenv("HEIST_WORKERS");
    *ignored = false;
    if (!text || !*text) return 0;
    unsigned long n = strtoul(text, NULL, 10);
    bool digits = strspn(text, "0123456789") == strlen(text);
    *ignored = !digits || n < 1 || n > CLI_WORKERS_MOST;
    return *ignored ? 0 : (unsigned)n;
}

static int help(void)
{
    printf("usage: %s\n\n"
           "heist is a work-stealing runtime for C; this program shows it at\n"
           "work and looks at the machine it would run on.\n\n",
           top.usage);
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-10s %s\n", "help",
           "this text, as --help; or that of a command");
    printf("  %-10s %s\n", "version", "the version, as --version");
    printf("\n`heist help COMMAND`, or `heist COMMAND --help`, tells more.\n");
    return CLI_OK;
}

static int version(void)
{
    printf("heist %d.%d.%d\n", HEIST_VERSION_MAJOR, HEIST_VERSION_MINOR,
           HEIST_VERSION_PATCH);
    return CLI_OK;
}

/* The name, or the option of that name. */
static bool means(const char *word, const char *name)
{
    return !strcmp(word, name) ||
           (!strncmp(word, "--", 2) && !strcmp(word + 2, name));
}

static const cli_command *find_command(const char *word)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i]->name) == 0) return commands[i];
    return NULL;
}

static int help_on(char *word)
{
    char option[] = "--help";
    const cli_command *cmd = find_command(word);
    if (cmd) return cmd->run(2, (char *[]){word, option, NULL});
    if (!strcmp(word, "help") || !strcmp(word, "version")) return help();
    return cli_misused(&top, "unknown command '%s'", word);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) return cli_misused(&top, "no command given");
    const char *word = argv[1];
    const cli_command *cmd = find_command(word);
    if (cmd) return cmd->run(argc - 1, argv + 1);
    if (!strcmp(word, "help") && argc == 3) return help_on(argv[2]);
    bool helps = means(word, "help") || !strcmp(word, "-h");
    bool known = helps || means(word, "version");
    int most = strcmp(word, "help") ? 2 : 3;
    if (known && argc > most)
        return cli_misused(&top, "nothing follows %s, but '%s' does",
                           argv[most - 1], argv[most]);
    if (known) return helps ? help() : version();
    const char *kind = *word == '-' ? "option" : "command";
    return cli_misused(&top, "unknown %s '%s'", kind, word);
}

/* The first file to be opened must not become a closed standard output.  Read
 * only: what is written there still fails. */
static void keep_standard_streams(void)
{
    int fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO) close(fd);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_failed(errno ? -errno : -EIO, "cannot write the output");
    return status;
}
