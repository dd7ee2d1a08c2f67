/* SPDX-License-Identifier: MIT */
#include "demo.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const demo_job *const all_jobs[DEMO_JOBS] = {
    &demo_fib, &demo_nqueens, &demo_uts, &demo_mandelbrot, &demo_sort};

typedef struct demo {
    /* asked for */
    bool help;
    bool small;
    unsigned workers; /* 0 until known */
    const char *path; /* of the picture; NULL: none is written */
    bool path_given;
    bool chosen[DEMO_JOBS];

    term term;
    FILE *picture; /* NULL: no job draws one, or not made yet */
    demo_result result[DEMO_JOBS];
    int count;
    unsigned step, steps; /* of the progress line */
} demo;

/* --- options -------------------------------------------------------------- */

static bool parse_workers(const char *text, unsigned *out)
{
    char *end;
    if (*text < '0' || *text > '9') return false; /* no sign, no blanks */
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (errno || *end || n < 1 || n > CLI_WORKERS_MOST) return false;
    *out = (unsigned)n;
    return true;
}

static bool choose(demo *d, const char *name, size_t length)
{
    for (int i = 0; i < DEMO_JOBS; i++) {
        const char *known = all_jobs[i]->name;
        if (strlen(known) != length || strncmp(known, name, length)) continue;
        d->chosen[i] = true;
        return true;
    }
    return false;
}

/* A list of names with commas between them. */
static bool parse_only(demo *d, const char *list)
{
    memset(d->chosen, 0, sizeof d->chosen);
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!choose(d, list, length)) return false;
        if (!list[length]) return true;
        list += length + 1;
    }
}

static void job_names(char *out, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < DEMO_JOBS && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? "," : "",
                                 all_jobs[i]->name);
}

static int parse_option(demo *d, int option, char *word)
{
    char names[64];
    switch (option) {
    case 'h': d->help = true; return CLI_OK;
    case 'w':
        if (parse_workers(optarg, &d->workers)) return CLI_OK;
        return cli_misused(&cli_demo,
                           "--workers takes a number from 1 to %d,"
                           " not '%s'",
                           CLI_WORKERS_MOST, optarg);
    case 'j':
        if (parse_only(d, optarg)) return CLI_OK;
        job_names(names, sizeof names);
        return cli_misused(&cli_demo, "--only takes some of %s, not '%s'",
                           names, optarg);
    case 's':
        d->small = strcmp(optarg, "small") == 0;
        if (d->small || strcmp(optarg, "normal") == 0) return CLI_OK;
        return cli_misused(&cli_demo, "no such size: '%s'", optarg);
    case 'o':
        d->path = optarg;
        d->path_given = true;
        /* Standard output has the tables. */
        if (*optarg && strcmp(optarg, "-")) return CLI_OK;
        return cli_misused(&cli_demo,
                           "--out takes the name of a file, not '%s'", optarg);
    case ':': return cli_misused(&cli_demo, "'%s' takes a value", word);
    default: return cli_misused(&cli_demo, "unknown option '%s'", word);
    }
}

static int parse(demo *d, int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {"workers", required_argument, NULL, 'w'},
        {"only", required_argument, NULL, 'j'},
        {"size", required_argument, NULL, 's'},
        {"out", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    for (;;) {
        char *word = argv[optind < argc ? optind : argc - 1];
        /* The colon: we complain ourselves, in one line. */
        int option = getopt_long(argc, argv, "+:h", options, NULL);
        if (option == -1) break;
        int status = parse_option(d, option, word);
        if (status != CLI_OK) return status;
    }
    if (optind < argc)
        return cli_misused(&cli_demo, "unknown argument '%s'", argv[optind]);
    return CLI_OK;
}

static int help(void)
{
    printf("usage: %s\n\n"
           "Runs some computations serially, on one worker and on all of them,"
           "\nchecks every result and shows times, steals and how busy each\n"
           "worker was.\n\n"
           "  --workers N    use N workers (default: HEIST_WORKERS, else as\n"
           "                 many as affinity mask and cgroup quota allow)\n"
           "  --only JOBS    a comma-separated list of",
           cli_demo.usage);
    for (int i = 0; i < DEMO_JOBS; i++)
        printf("%s %s", i ? "," : "", all_jobs[i]->name);
    printf("\n"
           "  --size SIZE    normal (about ten seconds) or small (one)\n"
           "  --out FILE     where the Mandelbrot picture goes, as PNG\n"
           "                 (default: mandelbrot.png, if it can be written)\n"
           "  --help         this text\n\n"
           "A progress bar and colours appear on a terminal only; NO_COLOR\n"
           "and COLUMNS are honoured.  Exit status: 0; 1 when something "
           "failed\nor a result was wrong; 2 for wrong options.\n");
    return CLI_OK;
}

/* --- runs ----------------------------------------------------------------- */

static const char *mode_name(const demo *d, int mode, char *room, size_t bytes)
{
    if (mode == DEMO_SERIAL) return "serial";
    unsigned n = mode == DEMO_ONE ? 1 : d->workers;
    snprintf(room, bytes, "%u worker%s", n, n == 1 ? "" : "s");
    return room;
}

static void show_step(demo *d, const demo_result *r, int mode)
{
    char name[32], label[80];
    snprintf(label, sizeof label, "%s, %s", r->title,
             mode_name(d, mode, name, sizeof name));
    term_progress(&d->term, d->step++, d->steps, label);
}

/* One run in time.  rt is NULL for the serial one. */
static int run_once(demo *d, demo_result *r, int mode, heist_runtime *rt)
{
    show_step(d, r, mode);
    if (r->job->prepare) r->job->prepare(r->state);
    int rc = 0;
    heist_time begin = heist_now();
    if (rt)
        rc = heist_run(rt, r->job->parallel, r->state);
    else
        r->job->serial(r->state);
    heist_time time = heist_now() - begin;

    char name[32], why[DEMO_WHY];
    mode_name(d, mode, name, sizeof name);
    if (rc < 0) {
        term_progress_end(&d->term);
        return cli_failed(rc, "%s on %s", r->title, name);
    }
    if (!r->job->right(r->state, why)) {
        term_progress_end(&d->term);
        return cli_failed(0, "%s: wrong result (%s): %s", r->title,
                          rt ? name : "serial", why);
    }
    if (r->best[mode] == 0 || time < r->best[mode]) r->best[mode] = time;
    r->wall += time;
    return CLI_OK;
}

/* The last mode with a runtime is the one whose workers are shown. */
static void read_stats(demo_result *r, heist_runtime *rt, unsigned workers)
{
    r->steals = 0;
    for (unsigned i = 0; i <= workers; i++) {
        heist_stats stats;
        if (heist_stats_read(rt, i, &stats) < 0) continue;
        r->steals += stats.stolen;
        double share = (double)stats.busy / (double)r->wall;
        r->busy[i] = share > 1 ? 1 : share;
    }
}

static int run_mode(demo *d, demo_result *r, int mode)
{
    heist_runtime *rt = NULL;
    unsigned workers = mode == DEMO_ONE ? 1 : d->workers;
    if (mode != DEMO_SERIAL) {
        heist_config config = {.workers = workers};
        int rc = heist_start(&rt, &config);
        if (rc < 0) {
            term_progress_end(&d->term);
            return cli_failed(rc, "cannot start %u worker%s", workers,
                              workers == 1 ? "" : "s");
        }
    }
    int status = CLI_OK;
    r->wall = 0;
    for (int i = 0; i < DEMO_RUNS && status == CLI_OK; i++)
        status = run_once(d, r, mode, rt);
    if (rt) {
        read_stats(r, rt, workers);
        heist_stop(rt, HEIST_FOREVER);
    }
    if (status != CLI_OK || d->term.live) return status;

    char name[32], time[16];
    demo_format_time(time, sizeof time, r->best[mode]);
    printf("%s, %s: %s\n", demo_title(r, &d->term),
           mode_name(d, mode, name, sizeof name), time);
    fflush(stdout); /* somebody may be watching the pipe */
    return CLI_OK;
}

static int run_job(demo *d, demo_result *r)
{
    term_progress_end(&d->term); /* room for a message */
    r->busy = calloc(d->workers + 1, sizeof *r->busy);
    if (!r->busy) return cli_failed(-ENOMEM, "%s", r->job->name);
    int rc = r->job->open(&r->state, d->small, r->title);
    if (rc < 0) return cli_failed(rc, "%s", r->job->name);
    int modes = d->workers == 1 ? DEMO_ALL : DEMO_MODES; /* one = all */
    int status = CLI_OK;
    for (int mode = 0; mode < modes && status == CLI_OK; mode++)
        status = run_mode(d, r, mode);
    return status;
}

/* --- the picture ----------------------------------------------------------- */

static int picture_failed(const demo *d, int rc)
{
    return cli_failed(0, "%scannot write %s: %s; --out FILE takes another name",
                      d->path_given ? "" : "without the picture: ", d->path,
                      strerror(-rc));
}

/* 0 or a negative errno. */
static int open_picture(demo *d)
{
    int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return -errno;
    d->picture = fdopen(fd, "wb");
    if (d->picture) return 0;
    int rc = -errno;
    close(fd);
    return rc;
}

/* What the file held stays until there is something better; if there was none,
 * there is none until then. */
static int probe_picture(demo *d)
{
    int fd = open(d->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) return open_picture(d);
    if (fd < 0) return -errno;
    close(fd);
    unlink(d->path);
    return 0;
}

/* Before any work is done, so that a wrong name costs no time.  Who has not asked
 * for a picture is not denied the rest for want of it. */
static int try_picture(demo *d)
{
    int rc = probe_picture(d);
    if (rc == 0) return CLI_OK;
    picture_failed(d, rc);
    if (d->path_given) return CLI_FAILED;
    d->path = NULL;
    return CLI_OK;
}

static int empty_file(FILE *f)
{
    struct stat info;
    if (fstat(fileno(f), &info) < 0) return -errno;
    if (!S_ISREG(info.st_mode)) return 0; /* a pipe, a device */
    return ftruncate(fileno(f), 0) < 0 ? -errno : 0;
}

static int write_picture(demo *d, const picture *p)
{
    int rc = d->picture ? 0 : open_picture(d);
    if (rc < 0) return picture_failed(d, rc);
    rc = empty_file(d->picture);
    if (rc == 0) rc = picture_write(p, d->picture);
    if (fclose(d->picture) != 0 && rc == 0) rc = -errno;
    d->picture = NULL;
    if (rc < 0) return picture_failed(d, rc);
    printf("The picture is in %s.\n", d->path);
    return CLI_OK;
}

static int show_pictures(demo *d)
{
    for (int i = 0; i < d->count; i++) {
        const demo_result *r = &d->result[i];
        if (!r->job->picture) continue;
        const picture *p = r->job->picture(r->state);
        putchar('\n');
        picture_draw(p, &d->term);
        return d->path ? write_picture(d, p) : CLI_OK;
    }
    return CLI_OK;
}

/* --- the command ----------------------------------------------------------- */

/* The library knows best how many workers this machine should have. */
static int default_workers(unsigned *out)
{
    bool ignored;
    cli_wanted_workers(&ignored);
    if (ignored)
        cli_failed(0, "HEIST_WORKERS is ignored: not a number from 1 to %d",
                   CLI_WORKERS_MOST);
    *out = heist_workers(NULL);
    if (*out == 0) return cli_failed(-EAGAIN, "cannot start the runtime");
    heist_stop(NULL, HEIST_FOREVER);
    return CLI_OK;
}

static int set_up(demo *d)
{
    term_init(&d->term);
    bool draws = false;
    for (int i = 0; i < DEMO_JOBS; i++) {
        if (!d->chosen[i]) continue;
        d->result[d->count++].job = all_jobs[i];
        draws |= all_jobs[i]->picture != NULL;
    }
    int status = CLI_OK;
    if (draws) status = try_picture(d);
    if (status == CLI_OK && d->workers == 0)
        status = default_workers(&d->workers);
    int modes = d->workers == 1 ? DEMO_ALL : DEMO_MODES;
    d->steps = (unsigned)(d->count * modes * DEMO_RUNS);
    return status;
}

static void tear_down(demo *d)
{
    for (int i = 0; i < d->count; i++) {
        demo_result *r = &d->result[i];
        if (r->state) r->job->close(r->state);
        free(r->busy);
    }
    if (d->picture) fclose(d->picture);
}

static int run(demo *d)
{
    for (int i = 0; i < d->count; i++) {
        int status = run_job(d, &d->result[i]);
        if (status != CLI_OK) return status;
    }
    term_progress_end(&d->term);
    int status = show_pictures(d);
    demo_report(d->result, d->count, d->workers, &d->term);
    return status;
}

static int demo_main(int argc, char **argv)
{
    demo d = {.path = "mandelbrot.png"};
    memset(d.chosen, true, sizeof d.chosen);
    int status = parse(&d, argc, argv);
    if (status != CLI_OK) return status;
    if (d.help) return help();
    status = set_up(&d);
    if (status == CLI_OK) status = run(&d);
    tear_down(&d);
    return status;
}

const cli_command cli_demo = {
    .name = "demo",
    .usage = "heist demo [--workers N] [--only JOB,...] [--size small|normal] "
             "[--out FILE] [--help]",
    .summary = "runs five computations and shows what the workers do",
    .run = demo_main,
};
