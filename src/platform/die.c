/* SPDX-License-Identifier: MIT
 *
 * die.c: last words.  Nothing here allocates, locks or formats with stdio: the
 * caller may hold any lock and be on any stack, a small one included.
 */
#define _GNU_SOURCE 1
#include "platform/platform.h"

#include <stdlib.h>
#include <unistd.h>

static void say(const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(STDERR_FILENO, text, length);
        if (n <= 0) return; /* nobody listens; abort says the rest */
        text += n;
        length -= (size_t)n;
    }
}

static size_t append(char *line, size_t used, size_t size, const char *text)
{
    while (*text && used < size)
        line[used++] = *text++;
    return used;
}

_Noreturn void hi_die(const char *file, int line, const char *message)
{
    char digits[16];
    char *d = digits + sizeof digits;
    unsigned n = line > 0 ? (unsigned)line : 0;
    *--d = '\0';
    do {
        *--d = (char)('0' + n % 10);
        n /= 10;
    } while (n);

    /* One write, so that two dying threads do not mix their words. */
    char text[512];
    size_t size = sizeof text - 1;
    size_t used = append(text, 0, size, "heist: ");
    used = append(text, used, size, file);
    used = append(text, used, size, ":");
    used = append(text, used, size, d);
    used = append(text, used, size, ": ");
    used = append(text, used, size, message);
    text[used++] = '\n';
    say(text, used);
    abort();
}
