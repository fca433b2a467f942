/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim site DIR`: the reports of a spool (COLLSHIM_REPORT) added up. Any user may have written
 * files there. Only regular files are read, one at a time, and of each user as much as the user may
 * keep there. A report is believed if the file is of the user it names, or the caller's own, who
 * has put it there. The rest is counted and named.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/base/text.h"
#include "shim/cli/cli.h"
#include "shim/cli/page/csv.h"
#include "shim/cli/page/page.h"
#include "shim/cli/site/site_show.h"
#include "shim/record/report/spool.h"

enum { LARGEST = 4 << 20 }; /* reading costs jansson some 80 times as much memory */

static const char help[] =
    "collshim site DIR [--since TIME] [--until TIME] [--wide]\n"
    "                  [--json | --prometheus | --csv TABLE | --html PAGE]\n"
    "collshim site DIR --create\n"
    "\n"
    "Adds up the reports that jobs left in DIR, which COLLSHIM_REPORT named: node hours saved,\n"
    "programs that gained or lost, why calls ran natively, and what to do next. Names programs\n"
    "that are slower since their MPI library, collshim or nodes changed.\n"
    "\n"
    "  --since TIME, --until TIME\n"
    "                   jobs that began then: 2026-11-22, 2026-11-22T10:30 (UTC), seconds since\n"
    "                   1970, or an age: 90m, 12h, 7d, 4w\n"
    "  --wide           all columns, and long lines as they are; else 80 columns\n"
    "  --json           one JSON object\n"
    "  --csv TABLE      one table as CSV: programs, reasons, settings or skipped\n"
    "  --html PAGE      also write one HTML file that shows it all, for a browser; it needs no "
    "network\n"
    "  --prometheus     the text form that Prometheus reads, e.g. by node_exporter's textfile\n"
    "  --create         make DIR, for reports of all users of this machine. Each user's go to a\n"
    "                   directory that others cannot write to; to let a group read them:\n"
    "                   chgrp GROUP DIR; chmod g+rxs DIR\n"
    "\n"
    "A user keeps at most 1,000 reports and 64 MiB there; a new one replaces the oldest, and\n"
    "no more is read. A report must be of the user it names, or the caller's own file. Its job\n"
    "cannot have taken longer than from its begin until the file was written.\n"
    "How to read the tables\n"
    "  collectives   node hours in them: seconds of all ranks through ranks per node\n"
    "  saved         node hours, and two standard errors; by call site as `collshim report` has "
    "it\n"
    "  slower        beside older jobs of the program with as many ranks and nodes and the same\n"
    "                settings, if that is as sure as `collshim gate` is (five jobs each at least)\n"
    "  gained, lost  jobs whose gain or loss is larger than the doubt about it\n"
    "\n"
    "Examples:\n"
    "  collshim site /var/spool/collshim --create\n"
    "  collshim site /var/spool/collshim --since 7d\n"
    "  collshim site /var/spool/collshim --html site.html\n"
    "  collshim site /var/spool/collshim --prometheus >/var/lib/node_exporter/collshim.prom\n";

/* A user, and what was read of the user's files. */
struct author {
    uid_t uid;
    long long files, bytes;
};

struct reader {
    struct sum sum;
    struct site_skips skips;
    long long since, until;
    char *text;            /* owned, LARGEST + 1 bytes */
    struct author *author; /* owned; [authors] */
    int authors;
};

static void skip(struct reader *r, enum site_skip why, const char *name)
{
    long long n = r->skips.files[why]++;

    if (n < 3)
        text_show(r->skips.name[why][n], SUM_TEXT, name, strlen(name));
}

/* Does the user keep within the caps with one more such file? */
static int is_within_caps(struct reader *r, const struct stat *st)
{
    struct author *a = r->author;
    int i = 0;

    if (st->st_uid == geteuid())
        return 1;
    while (i < r->authors && a[i].uid != st->st_uid)
        i++;
    if (i == r->authors) {
        a = realloc(r->author, (size_t)(r->authors + 1) * sizeof *a);
        if (!a)
            return 0;
        r->author = a;
        a[r->authors++] = (struct author){.uid = st->st_uid};
    }
    a[i].files++;
    a[i].bytes += st->st_size;
    return a[i].files <= spool_caps.files && a[i].bytes <= spool_caps.bytes;
}

/* Returns the bytes read, or -1 with *why. *st: of the file. */
static long read_text(struct reader *r, int dir, const char *name, struct stat *st,
                      enum site_skip *why)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    long n = -1;

    *why = SKIP_UNREADABLE;
    if (fd < 0 || fstat(fd, st))
        *why = errno == ELOOP ? SKIP_FOREIGN : SKIP_UNREADABLE;
    else if (!S_ISREG(st->st_mode))
        *why = SKIP_FOREIGN;
    else if (st->st_size > LARGEST)
        *why = SKIP_TOO_LARGE;
    else if (!is_within_caps(r, st))
        *why = SKIP_TOO_MANY;
    else
        n = 0;
    while (n >= 0 && n < LARGEST) {
        ssize_t got = read(fd, r->text + n, (size_t)(LARGEST - n));

        if (got <= 0) {
            n = got < 0 ? -1 : n;
            break;
        }
        n += got;
    }
    if (fd >= 0)
        close(fd);
    return n;
}

static int is_trusted(const struct stat *st, long long uid)
{
    return st->st_uid == geteuid() || (long long)st->st_uid == uid;
}

static void read_report(struct reader *r, int dir, const char *name, const char *shown)
{
    enum site_skip why;
    json_error_t e;
    struct stat st;
    long n = read_text(r, dir, name, &st, &why);

    if (n < 0) {
        skip(r, why, shown);
        return;
    }
    json_t *report = json_loadb(r->text, (size_t)n, JSON_REJECT_DUPLICATES, &e);
    if (!report) {
        int cut = !n || json_error_code(&e) == json_error_premature_end_of_input;

        skip(r, cut ? SKIP_CUT_OFF : SKIP_FOREIGN, shown);
        return;
    }
    long long began = sum_began(report);
    if (began < 0 || (began >= r->since && began <= r->until)) {
        if (!is_trusted(&st, sum_user(report)))
            skip(r, SKIP_AUTHOR, shown);
        else if (sum_add(&r->sum, report, (long long)st.st_mtime) < 0)
            skip(r, SKIP_FOREIGN, shown);
    }
    json_decref(report);
}

static int is_report(const char *name)
{
    size_t n = strlen(name);

    return name[0] != '.' && n > 5 && !strcmp(name + n - 5, ".json");
}

/* A report in DIR itself, or a user's directory of them. below: are these looked into? */
static int read_directory(struct reader *r, int at, const char *path, int below)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (below ? 0 : O_NOFOLLOW));
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    char shown[600];
    struct dirent *e;
    struct stat st;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (!below && !fstat(fd, &st) && !is_trusted(&st, strtoll(path, NULL, 10)))
        skip(r, SKIP_AUTHOR, path);
    while ((e = readdir(d))) {
        snprintf(shown, sizeof shown, "%s%s%s", below ? "" : path, below ? "" : "/", e->d_name);
        if (is_report(e->d_name))
            read_report(r, fd, e->d_name, shown);
        else if (below && e->d_name[0] != '.' &&
                 !fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode) &&
                 read_directory(r, fd, e->d_name, 0) < 0)
            skip(r, SKIP_UNREADABLE, shown);
    }
    closedir(d);
    return 0;
}

/* Returns 0, or -1: no time. */
static int read_time(const char *text, long long *when)
{
    static const struct {
        char letter;
        int seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    char *end;
    long n = strtol(text, &end, 10);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end > text && n >= 0 && n < 1000000 && end[0] == units[i].letter && !end[1]) {
            *when = (long long)time(NULL) - (long long)n * units[i].seconds;
            return 0;
        }
    if (end > text && n >= 0 && !*end && end - text > 4) {
        *when = n;
        return 0;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm = {0};
        const char *rest = strptime(text, forms[i], &tm);

        if (rest && !*rest) {
            *when = (long long)timegm(&tm);
            return 0;
        }
    }
    return -1;
}

/* Users make their directories, and cannot see those of others: they are neither listed nor
   removed. */
static int create(const char *path)
{
    if (mkdir(path, 0700))
        return cli_fail("%s: cannot be made: %s", path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 || fchmod(fd, 01733) ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (rc)
        return cli_fail("%s: %s", path, strerror(rc));
    printf("%s: made, for the reports of all users: COLLSHIM_REPORT=%s\n", path, path);
    return CLI_OK;
}

static const struct csv_table tables[] = {
    {"programs", "programs", NULL}, {"reasons", "reasons", NULL}, {"settings", "settings", NULL},
    {"skipped", "skipped", NULL},   {NULL, NULL, NULL},
};

/* The outputs that the caller asks for; NULL: not this one. */
struct output {
    int json, prometheus, make;
    const char *csv, *html;
};

/* The sums as JSON, as --json prints them. NULL: no memory. The caller releases it. */
static json_t *sums(const struct reader *r)
{
    cli_capture();
    site_show_json(&r->sum, &r->skips);
    char *text = cli_captured();
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;

    free(text);
    return root;
}

static int write_table(const struct reader *r, const char *name)
{
    json_t *root = sums(r);
    int code = root ? csv_print("site", tables, name, root) : cli_fail("out of memory");

    json_decref(root);
    return code;
}

static int write_page(const struct reader *r, const char *path)
{
    cli_capture();
    site_show_advice(&r->sum);
    char *next = cli_captured();
    json_t *root = sums(r);
    int code = root ? page_write(path, "site", root, next) : cli_fail("out of memory");

    json_decref(root);
    free(next);
    return code;
}

static int show(const struct reader *r, const struct output *o)
{
    if (o->csv)
        return write_table(r, o->csv);
    if (o->json)
        site_show_json(&r->sum, &r->skips);
    else if (o->prometheus)
        site_show_prometheus(&r->sum, &r->skips);
    else {
        cli_capture();
        site_show_text(&r->sum, &r->skips);
        cli_print_captured();
    }
    return o->html ? write_page(r, o->html) : CLI_OK;
}

static int add_up(struct reader *r, const char *path, const struct output *o)
{
    r->text = malloc(LARGEST + 1);
    if (!r->text || sum_open(&r->sum) < 0) {
        free(r->text);
        return cli_fail("out of memory");
    }
    int rc = read_directory(r, AT_FDCWD, path, 1);
    int code = rc < 0 ? cli_fail("%s: %s", path, strerror(errno)) : CLI_OK;
    sum_sort(&r->sum);
    code = code ? code : show(r, o);
    sum_close(&r->sum);
    free(r->author);
    free(r->text);
    return code;
}

int cli_site(int argc, char **argv)
{
    struct reader r = {.until = INT64_MAX};
    const char *since = NULL, *until = NULL;
    struct output o = {0};
    const struct cli_option options[] = {
        {"--json", &o.json, NULL},   {"--prometheus", &o.prometheus, NULL},
        {"--create", &o.make, NULL}, {"--csv", NULL, &o.csv},
        {"--html", NULL, &o.html},   {"--wide", &cli_is_wide, NULL},
        {"--since", NULL, &since},   {"--until", NULL, &until},
        {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);

    if (n < 0)
        return -1 - n;
    if (n != 1)
        return cli_usage("site", n ? "one directory at a time" : "a directory is missing");
    if (o.json + o.prometheus + o.make + !!o.csv + !!o.html > 1)
        return cli_usage("site",
                         "one of --json, --prometheus, --csv, --html and --create, not both");
    if (since && read_time(since, &r.since) < 0)
        return cli_usage("site", "--since: '%s' is no time; write 2026-11-22, or 7d", since);
    if (until && read_time(until, &r.until) < 0)
        return cli_usage("site", "--until: '%s' is no time; write 2026-11-22, or 7d", until);
    return o.make ? create(argv[1]) : add_up(&r, argv[1], &o);
}
