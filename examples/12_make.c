/* SPDX-License-Identifier: MIT
 *
 * A runner of commands in the order in which they need each other, as make is.
 * Each target is a node and each need an edge; a target that is newer than all
 * it needs is left alone.
 *
 *     12_make [-j N] [-k] [-n] [--svg FILE] [--dot FILE] [--json FILE]
 *             [MAKEFILE [TARGET]...]
 *
 *     -j N  at most N commands at a time; as many as there are CPUs
 *     -k    keep going: after a failure make what does not need it
 *     -n    only say what would be made
 *
 * and then pictures and times of the run.  What a MAKEFILE may hold:
 *
 *     # a comment
 *     target: need need      # one target; needs are targets or files
 *     <tab>command           to the shell as it stands, each line on its own
 *
 * The first target is made if none is named.  Without a MAKEFILE it shows itself
 * in a temporary directory, and checks what it has made.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <heist.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct target;

struct need {
    char *name;
    struct target *target; /* NULL: a file */
};

struct command {
    char *text;
    unsigned line;
};

struct target {
    char *name;
    unsigned line;
    size_t first_need, end_need;       /* in the makefile's needs */
    size_t first_command, end_command; /* in its commands */
    const struct target *seen_by;      /* the last one that needs it */
    bool wanted;
    heist_node node;
};

struct makefile {
    const char *path;
    char *text; /* all the names point into it */
    struct target *targets;
    struct need *needs;
    struct command *commands;
    struct target **by_name;
    size_t target_count, need_count, command_count;
};

struct options {
    const char *path; /* NULL: the demonstration */
    char **goals;
    int goal_count;
    unsigned jobs;
    bool keep_going, dry_run;
    FILE *svg, *dot, *json;
};

/* What became of a target: its node's output. */
enum state {
    FRESH,
    MADE,
    FAILED
};

struct build {
    const struct options *options;
    const struct makefile *makefile;
    heist_runtime *rt;
    heist_graph *graph;
    heist_limit jobs;
    bool live; /* one line that changes */
    pthread_mutex_t lock;
    size_t done, made, failed; /* under the lock, as what is printed */
    heist_failure failure;
};

static void *check_memory(void *p)
{
    if (!p) fprintf(stderr, "no memory\n"), exit(1);
    return p;
}

/* Room for one more: the array doubles at each power of two. */
static void *grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1)) return array;
    return check_memory(realloc(array, (count ? 2 * count : 1) * size));
}

/* --- reading ---------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int
complain(const struct makefile *m, unsigned line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%u: ", m->path, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return -EINVAL;
}

static char *trim(char *s)
{
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}

static int read_command(struct makefile *m, char *text, unsigned line)
{
    if (m->target_count == 0)
        return complain(m, line, "a command, but no target before it");
    m->commands = grow(m->commands, m->command_count, sizeof *m->commands);
    m->commands[m->command_count++] = (struct command){text, line};
    m->targets[m->target_count - 1].end_command = m->command_count;
    return 0;
}

static int read_rule(struct makefile *m, char *text, unsigned line)
{
    text[strcspn(text, "#")] = '\0';
    char *colon = strchr(text, ':'), *rest = NULL;
    if (!colon)
        return complain(m, line, "neither 'target: needs' nor a command");
    *colon = '\0';
    char *name = trim(text);
    if (!*name) return complain(m, line, "no target before the colon");
    if (strpbrk(name, " \t")) return complain(m, line, "more than one target");
    struct target t = {.name = name, .line = line};
    t.first_need = m->need_count;
    t.first_command = t.end_command = m->command_count;
    char *word = strtok_r(colon + 1, " \t", &rest);
    for (; word; word = strtok_r(NULL, " \t", &rest)) {
        m->needs = grow(m->needs, m->need_count, sizeof *m->needs);
        m->needs[m->need_count++] = (struct need){word, NULL};
    }
    t.end_need = m->need_count;
    m->targets = grow(m->targets, m->target_count, sizeof *m->targets);
    m->targets[m->target_count++] = t;
    return 0;
}

static int read_line(struct makefile *m, char *text, unsigned line)
{
    size_t n = strlen(trim(text));
    size_t blanks = strspn(text, " \t");
    if (blanks == n) return 0;
    if (text[n - 1] == '\\') return complain(m, line, "lines do not continue");
    if (*text == '\t') return read_command(m, text + 1, line);
    if (text[blanks] == '#') return 0;
    if (blanks > 0)
        return complain(m, line, "blanks in front: a command needs a tab");
    return read_rule(m, text, line);
}

static char *read_all(FILE *file)
{
    char *text = NULL;
    size_t n = 0;
    for (int c; (c = getc(file)) != EOF; n++) {
        text = grow(text, n, 1);
        text[n] = (char)c;
    }
    text = grow(text, n, 1);
    text[n] = '\0';
    return text;
}

static int read_makefile(struct makefile *m)
{
    FILE *file = fopen(m->path, "r");
    if (!file) return perror(m->path), -ENOENT;
    m->text = read_all(file);
    bool unreadable = ferror(file) != 0; /* a directory, for one */
    fclose(file);
    if (unreadable) return fprintf(stderr, "%s: unreadable\n", m->path), -EIO;
    char *next = m->text;
    for (unsigned line = 1; next; line++) {
        char *text = next, *end = strchr(text, '\n');
        next = end ? end + 1 : NULL;
        if (end) *end = '\0';
        int rc = read_line(m, text, line);
        if (rc < 0) return rc;
    }
    return m->target_count ? 0 : complain(m, 1, "no target");
}

static void forget(struct makefile *m)
{
    free(m->text);
    free(m->targets);
    free(m->needs);
    free(m->commands);
    free(m->by_name);
}

/* --- what the names mean ---------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct target *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x)->line < (*y)->line ? -1 : 1;
}

static int name_to_target(const void *name, const void *target)
{
    return strcmp(name, (*(struct target *const *)target)->name);
}

static struct target *find(const struct makefile *m, const char *name)
{
    struct target **found = bsearch(name, m->by_name, m->target_count,
                                    sizeof *m->by_name, name_to_target);
    return found ? *found : NULL;
}

static int resolve(struct makefile *m, const struct target *t, struct need *n)
{
    n->target = find(m, n->name);
    if (n->target == t)
        return complain(m, t->line, "'%s' needs itself", t->name);
    if (n->target && n->target->seen_by == t)
        return complain(m, t->line, "'%s' needs '%s' twice", t->name, n->name);
    if (n->target) n->target->seen_by = t;
    if (!n->target && access(n->name, F_OK) != 0)
        return complain(m, t->line,
                        "'%s' needs '%s', which is no target and no file",
                        t->name, n->name);
    return 0;
}

static int resolve_all(struct makefile *m)
{
    m->by_name =
        check_memory(malloc(m->target_count * sizeof(struct target *)));
    for (size_t i = 0; i < m->target_count; i++)
        m->by_name[i] = &m->targets[i];
    qsort(m->by_name, m->target_count, sizeof *m->by_name, by_name);
    for (size_t i = 1; i < m->target_count; i++) {
        const struct target *a = m->by_name[i - 1], *b = m->by_name[i];
        if (strcmp(a->name, b->name) == 0)
            return complain(m, b->line, "'%s' again, it is in line %u", b->name,
                            a->line);
    }
    for (size_t i = 0; i < m->target_count; i++) {
        const struct target *t = &m->targets[i];
        for (size_t n = t->first_need; n < t->end_need; n++) {
            int rc = resolve(m, t, &m->needs[n]);
            if (rc < 0) return rc;
        }
    }
    return 0;
}

/* Marks what the goals need. */
static int want(struct makefile *m, const struct options *o)
{
    size_t size = (m->target_count + 1) * sizeof(struct target *);
    struct target **list = check_memory(malloc(size));
    size_t n = 0;
    for (int i = 0; i < o->goal_count || i == 0; i++) {
        struct target *t =
            o->goal_count ? find(m, o->goals[i]) : &m->targets[0];
        if (!t) {
            fprintf(stderr, "%s: no target '%s'\n", m->path, o->goals[i]);
            free(list);
            return -ENOENT;
        }
        if (!t->wanted) list[n++] = t;
        t->wanted = true;
    }
    while (n > 0) {
        const struct target *t = list[--n];
        for (size_t i = t->first_need; i < t->end_need; i++) {
            struct target *next = m->needs[i].target;
            if (!next || next->wanted) continue;
            next->wanted = true;
            list[n++] = next;
        }
    }
    free(list);
    return 0;
}

/* --- making ----------------------------------------------------------------- */

/* In one piece, whoever else prints. */
static void say_progress(struct build *b, const struct target *t, bool works)
{
    pthread_mutex_lock(&b->lock);
    b->done++;
    b->made += works;
    if (works || b->live) {
        printf("%s[%zu/%zu] %s%s", b->live ? "\r\033[K" : "", b->done,
               heist_graph_size(b->graph), t->name, b->live ? "" : "\n");
        fflush(stdout);
    }
    pthread_mutex_unlock(&b->lock);
}

static void say_failure(struct build *b, const struct target *t,
                        const struct command *c, int status)
{
    pthread_mutex_lock(&b->lock);
    b->failed++;
    b->made--;
    fprintf(stderr, "%s%s:%u: '%s' failed, %s %d: %s\n",
            b->live ? "\r\033[K" : "", b->makefile->path, c->line, t->name,
            WIFSIGNALED(status) ? "by signal" : "exit status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
            c->text);
    pthread_mutex_unlock(&b->lock);
}

static int run_command(const char *text, int *status)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *argv[] = {shell, option, (char *)(uintptr_t)text, NULL};
    pid_t child;
    posix_spawnattr_t attributes;
    sigset_t none; /* a worker's own mask would keep Ctrl-C from the command */
    sigemptyset(&none);
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0) return -rc;
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawn(&child, shell, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc != 0) return -rc;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR) return -errno;
    return *status == 0 ? 0 : -EIO;
}

/* One after the other, unless the run has been stopped by another target. */
static int run_commands(struct build *b, heist_step *step,
                        const struct target *t)
{
    for (size_t i = t->first_command; i < t->end_command; i++) {
        const struct command *c = &b->makefile->commands[i];
        int status = 0;
        if (heist_step_stopped(step)) return -ECANCELED;
        int rc = run_command(c->text, &status);
        if (rc == 0) continue;
        if (status != 0)
            say_failure(b, t, c, status);
        else
            fprintf(stderr, "/bin/sh: %s\n", strerror(-rc));
        return rc;
    }
    return 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
    return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* What is to be done: all that it needs is there, or has failed under -k. */
static enum state judge(const struct makefile *m, heist_step *step,
                        const struct target *t)
{
    struct stat own, other;
    bool stale = stat(t->name, &own) != 0;
    for (size_t i = t->first_need; i < t->end_need; i++) {
        const struct need *n = &m->needs[i];
        if (n->target) {
            enum state s = heist_in(step, n->target->node, enum state);
            if (s == FAILED) return FAILED;
            if (s == MADE) stale = true;
        }
        if (!stale && stat(n->name, &other) == 0)
            stale = is_newer(&other, &own);
    }
    return stale ? MADE : FRESH;
}

/* A target that a failed command has touched would look fresh the next time. */
static void drop_if_touched(const struct target *t, const struct stat *before)
{
    struct stat after;
    if (stat(t->name, &after) != 0 || !S_ISREG(after.st_mode)) return;
    if (is_newer(&after, before)) unlink(t->name);
}

/*
 * A node.  Its worker is blocked while a command runs: that is why there are as
 * many workers as jobs.  The thread that has called heist_graph_run takes part
 * too, so one would be too many at work; the limit holds it back.
 */
static int make_target(heist_ctx c, heist_step *step, void *arg)
{
    struct build *b = heist_step_context(step);
    const struct target *t = arg;
    enum state *state = &heist_out(step, enum state);
    struct stat before = {0};
    (void)c;
    *state = judge(b->makefile, step, t);
    if (*state == FAILED) return 0;
    bool works = *state == MADE && t->first_command < t->end_command;
    say_progress(b, t, works);
    if (!works || b->options->dry_run) return 0;
    stat(t->name, &before);
    int rc = run_commands(b, step, t);
    if (rc == 0) return 0;
    drop_if_touched(t, &before);
    *state = FAILED;
    return b->options->keep_going ? 0 : rc;
}

/* --- a build ---------------------------------------------------------------- */

static int plan(struct build *b)
{
    const struct makefile *m = b->makefile;
    for (size_t i = 0; i < m->target_count; i++) {
        struct target *t = &m->targets[i];
        if (!t->wanted) continue;
        t->node = heist_graph_add(b->graph, t->name, make_target, t);
        heist_graph_output(b->graph, t->node, sizeof(enum state));
        heist_graph_limit(b->graph, t->node, &b->jobs);
    }
    for (size_t i = 0; i < m->target_count; i++) {
        const struct target *t = &m->targets[i];
        for (size_t n = t->first_need; t->wanted && n < t->end_need; n++)
            if (m->needs[n].target)
                heist_graph_edge(b->graph, m->needs[n].target->node, t->node);
    }
    char why[400] = "";
    int rc = heist_graph_check(b->graph, why, sizeof why);
    if (rc < 0)
        fprintf(stderr, "%s: %s\n", m->path, *why ? why : strerror(-rc));
    return rc;
}

static void draw(const struct build *b, const heist_profile *profile)
{
    const struct options *o = b->options;
    int rc = 0;
    if (o->svg) rc = heist_graph_svg(b->graph, profile, o->svg);
    if (o->dot && rc == 0) rc = heist_graph_dot(b->graph, profile, o->dot);
    if (o->json && rc == 0 && profile)
        rc = heist_profile_json(profile, o->json);
    if (rc < 0) fprintf(stderr, "the picture: %s\n", strerror(-rc));
}

static void say_end(const struct build *b, int rc, heist_time took)
{
    printf("%s", b->live ? "\r\033[K" : "");
    if (rc < 0) {
        printf("stopped at '%s', ", b->failure.name);
    } else if (b->made + b->failed == 0) {
        printf("all is fresh, ");
    }
    printf("%zu of %zu targets %s, %zu failed, %.2f s\n", b->made,
           heist_graph_size(b->graph),
           b->options->dry_run ? "would be made" : "made", b->failed,
           (double)took / (double)HEIST_SECOND);
    fflush(stdout);
}

/* Runs what was planned; what was not right with the plan is drawn all the
 * same. */
static int run_plan(struct build *b)
{
    heist_profile *profile = NULL;
    int rc = plan(b);
    if (rc == 0) rc = heist_profile_create(&profile, b->graph);
    if (rc == 0) {
        heist_time begin = heist_now();
        heist_flow_opts opts = {.rt = b->rt,
                                .context = b,
                                .profile = profile,
                                .failure = &b->failure};
        rc = heist_graph_run(b->graph, &opts, HEIST_FOREVER);
        say_end(b, rc, heist_now() - begin);
    }
    draw(b, profile);
    heist_profile_destroy(profile);
    return rc;
}

static int build(struct build *b, const struct options *o)
{
    struct makefile m = {.path = o->path};
    *b = (struct build){.options = o, .makefile = &m};
    b->live = isatty(STDOUT_FILENO);
    pthread_mutex_init(&b->lock, NULL);
    int rc = read_makefile(&m);
    if (rc == 0) rc = resolve_all(&m);
    if (rc == 0) rc = want(&m, o);
    if (rc == 0) {
        heist_config config = {.workers = o->jobs};
        rc = heist_start(&b->rt, &config);
        if (rc == 0) rc = heist_graph_create(&b->graph, NULL);
        if (rc < 0) fprintf(stderr, "%s\n", strerror(-rc));
    }
    if (rc == 0) {
        heist_limit_init(&b->jobs, heist_workers(b->rt));
        rc = run_plan(b);
    }
    heist_graph_destroy(b->graph);
    if (b->rt) heist_stop(b->rt, HEIST_FOREVER);
    forget(&m);
    pthread_mutex_destroy(&b->lock);
    return rc == 0 && b->failed ? -EIO : rc;
}

/* --- the demonstration ------------------------------------------------------ */

enum {
    CHAPTERS = 5,
    LETTERS = 26,
    WORDS = LETTERS * LETTERS /* all have two letters */
};

static void write_chapter(int number, unsigned *tally)
{
    char name[16];
    uint32_t seed = (uint32_t)number;
    snprintf(name, sizeof name, "chapter-%d", number);
    FILE *file = check_memory(fopen(name, "w"));
    for (int i = 1; i <= 15000 * number; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned word = seed / 65536 * WORDS / 65536;
        tally[word]++;
        fprintf(file, "%c%c%c", 'a' + (int)word / LETTERS,
                'a' + (int)word % LETTERS, i % 10 ? ' ' : '\n');
    }
    fclose(file);
}

/* A book, and what one wants to know about its words. */
static void write_makefile(void)
{
    FILE *file = check_memory(fopen("Makefile", "w"));
    fprintf(file,
            "# The words of a book of %d chapters.\n"
            "all: book report\n\n"
            "book: contents index\n"
            "\tcat contents chapter-* index > book\n\n"
            "report: index common distinct contents\n"
            "\tcat distinct common contents > report\n\n"
            "common: index\n"
            "\tsort -rn index | sed -n 1,10p > common\n\n"
            "contents: chapter-1 chapter-2 chapter-3 chapter-4 chapter-5\n"
            "\twc -w chapter-* > contents\n\n"
            "index: words-1 words-2 words-3 words-4 words-5\n"
            "\tsort -m words-* | uniq -c > index\n\n"
            "distinct: distinct-1 distinct-2 distinct-3 distinct-4 distinct-5\n"
            "\tcat distinct-* > distinct\n",
            CHAPTERS);
    for (int i = 1; i <= CHAPTERS; i++)
        fprintf(file,
                "\nwords-%d: chapter-%d\n"
                "\ttr -cs a-z '\\n' < chapter-%d | sort > words-%d\n"
                "distinct-%d: words-%d\n"
                "\tuniq words-%d | wc -l > distinct-%d\n",
                i, i, i, i, i, i, i, i);
    fclose(file);
    file = check_memory(fopen("broken", "w"));
    fputs("all: good bad\n"
          "good:\n\ttrue\n"
          "bad:\n\techo half > bad; exit 3\n",
          file);
    fclose(file);
    file = check_memory(fopen("circle", "w"));
    fputs("all: chicken\nchicken: egg\negg: chicken\n", file);
    fclose(file);
}

/* Does the index say how often each word was written? */
static bool is_index_right(unsigned *tally)
{
    FILE *file = fopen("index", "r");
    unsigned n, words = 0, wanted = 0;
    char word[3];
    if (!file) return false;
    for (; fscanf(file, "%u %2s", &n, word) == 2; words++)
        if (tally[(word[0] - 'a') * LETTERS + word[1] - 'a'] != n) break;
    bool all = feof(file);
    fclose(file);
    for (int i = 0; i < WORDS; i++)
        wanted += tally[i] > 0;
    return all && words == wanted;
}

/* Makes it newer than what was made of it, however coarse the clock is. */
static bool touch(const char *name, const char *made)
{
    struct stat a, b;
    do {
        if (utimensat(AT_FDCWD, name, NULL, 0) != 0) return false;
        if (stat(name, &a) != 0 || stat(made, &b) != 0) return false;
    } while (!is_newer(&a, &b));
    return true;
}

static bool expect(const char *what, bool right)
{
    if (!right) fprintf(stderr, "WRONG: %s\n", what);
    return right;
}

static bool demonstrate(struct options o)
{
    unsigned tally[WORDS] = {0};
    struct build b;
    struct options quiet = {.path = "Makefile", .jobs = o.jobs};
    for (int i = 1; i <= CHAPTERS; i++)
        write_chapter(i, tally);
    write_makefile();
    o.path = quiet.path;
    bool right = expect("all is made", build(&b, &o) == 0 && b.made == 16) &&
                 expect("the index", is_index_right(tally));
    puts("\nAgain:");
    right = right &&
            expect("nothing is made", build(&b, &quiet) == 0 && b.made == 0);
    puts("\nAfter a change in chapter 3, first without doing it:");
    quiet.dry_run = true;
    right = right && expect("the clock", touch("chapter-3", "book")) &&
            expect("a dry run", build(&b, &quiet) == 0 && b.made == 8);
    quiet.dry_run = false;
    right = right &&
            expect("what it concerns", build(&b, &quiet) == 0 && b.made == 8);
    puts("\nA command that fails:");
    quiet.path = "broken";
    right =
        right && expect("a failure", build(&b, &quiet) == -EIO &&
                                         strcmp(b.failure.name, "bad") == 0 &&
                                         access("bad", F_OK) != 0);
    puts("\nTargets that wait for each other:");
    quiet.path = "circle";
    return right && expect("a circle", build(&b, &quiet) == -EDEADLK);
}

static void remove_here(void)
{
    DIR *here = opendir(".");
    const struct dirent *entry;
    while (here && (entry = readdir(here)))
        if (entry->d_name[0] != '.') unlink(entry->d_name);
    if (here) closedir(here);
}

static int demonstration(const struct options *o)
{
    const char *base = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/heist-make-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path) || chdir(path) != 0) return perror(path), 1;
    setenv("LC_ALL", "C", 1); /* sort as we compare */
    bool right = demonstrate(*o);
    remove_here();
    if (chdir("/") != 0 || rmdir(path) != 0) perror(path);
    return right ? 0 : 1;
}

/* --- the command ------------------------------------------------------------ */

static int usage(void)
{
    fputs("usage: 12_make [-j N] [-k] [-n] [--svg FILE] [--dot FILE] "
          "[--json FILE]\n               [MAKEFILE [TARGET]...]\n",
          stderr);
    return 2;
}

static bool read_jobs(const char *text, struct options *o)
{
    char *end;
    long n = strtol(text, &end, 10);
    o->jobs = (unsigned)n;
    return end != text && *end == '\0' && n >= 1 && n <= 1024;
}

/* An option with a value. */
static bool read_option(const char *name, const char *value, struct options *o)
{
    FILE **file = strcmp(name, "--svg") == 0    ? &o->svg
                  : strcmp(name, "--dot") == 0  ? &o->dot
                  : strcmp(name, "--json") == 0 ? &o->json
                                                : NULL;
    if (!value) return false;
    if (strcmp(name, "-j") == 0) return read_jobs(value, o);
    if (!file || *file) return false;
    *file = fopen(value, "w");
    if (!*file) perror(value);
    return *file != NULL;
}

static void close_files(const struct options *o)
{
    FILE *files[] = {o->svg, o->dot, o->json};
    for (int i = 0; i < 3; i++)
        if (files[i] && fclose(files[i]) != 0) perror("the picture");
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct build b;
    int i = 1;
    bool understood = true;
    for (; understood && i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-k") == 0)
            o.keep_going = true;
        else if (strcmp(argv[i], "-n") == 0)
            o.dry_run = true;
        else
            understood = read_option(argv[i], argv[i + 1], &o), i++;
    }
    if (!understood || (i >= argc && (o.dry_run || o.keep_going)))
        return usage();
    int status;
    if (i >= argc) {
        status = demonstration(&o);
    } else {
        o.path = argv[i];
        o.goals = argv + i + 1;
        o.goal_count = argc - i - 1;
        status = build(&b, &o) < 0;
    }
    close_files(&o);
    return status;
}
