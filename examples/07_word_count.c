/* SPDX-License-Identifier: MIT
 *
 * The words of a text, their letters, and the longest one.  A range is cut
 * without a look at the words, so a word belongs to the piece in which it
 * begins, and is read beyond the end of it.
 *
 *     07_word_count [TEXT]
 */
#include <ctype.h>
#include <heist.h>
#include <stdio.h>
#include <string.h>

struct count {
    size_t words, letters;
    size_t longest, length; /* the first of the longest words */
};

struct job {
    const char *text; /* with a zero behind it */
    size_t size;
    struct count count;
    int error;
};

static bool is_letter(char x)
{
    return isalpha((unsigned char)x) != 0;
}

/* Adds the words that begin in this piece. */
static void count_words(heist_ctx c, size_t begin, size_t end, void *sum,
                        void *arg)
{
    const char *text = ((const struct job *)arg)->text;
    struct count *s = sum;
    (void)c;
    for (size_t i = begin; i < end; i++) {
        if (!is_letter(text[i])) continue;
        if (i > 0 && is_letter(text[i - 1])) continue;
        size_t n = 1;
        while (is_letter(text[i + n]))
            n++;
        s->words++;
        s->letters += n;
        if (n > s->length) s->length = n, s->longest = i;
    }
}

static void add(void *left, const void *right, void *arg)
{
    struct count *l = left;
    const struct count *r = right;
    (void)arg;
    l->words += r->words;
    l->letters += r->letters;
    if (r->length > l->length) l->length = r->length, l->longest = r->longest;
}

static void root(heist_ctx c, void *arg)
{
    struct job *job = arg;
    job->error = heist_fold(c, 0, job->size, &job->count, sizeof job->count,
                            count_words, add, job, 0);
}

/* The same without borders. */
static struct count count_serial(const char *text)
{
    struct count s = {0};
    for (const char *p = text; *p; p++) {
        const char *word = p;
        while (is_letter(*p))
            p++;
        size_t n = (size_t)(p - word);
        if (n > s.length) s.length = n, s.longest = (size_t)(word - text);
        s.words += n > 0;
        s.letters += n;
        if (!*p) break;
    }
    return s;
}

/* A page of the documentation: a text that is always at hand. */
static FILE *open_page(void)
{
    char path[4096];
    int folder = (int)(strlen(__FILE__) - strlen("07_word_count.c"));
    snprintf(path, sizeof path, "%.*s../docs/proof.md", folder, __FILE__);
    return fopen(path, "r");
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : open_page();
    if (!file) return perror("the text"), 1;
    struct job job = {.text = text};
    job.size = fread(text, 1, sizeof text - 1, file);
    bool whole = getc(file) == EOF;
    fclose(file);
    if (!whole) return fputs("the text is longer than 1 MiB\n", stderr), 1;
    int rc = heist_run(NULL, root, &job);
    if (rc == 0) rc = job.error;
    if (rc < 0) return fprintf(stderr, "%s\n", strerror(-rc)), 1;

    struct count wanted = count_serial(text);
    bool right = memcmp(&job.count, &wanted, sizeof wanted) == 0;
    printf("%zu words, %zu letters, the longest is %.*s: %s\n", job.count.words,
           job.count.letters, (int)job.count.length, text + job.count.longest,
           right ? "as counted serially" : "WRONG");
    return !right || job.count.words == 0;
}
