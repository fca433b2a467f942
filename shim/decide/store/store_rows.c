/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/decide/store/store_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/base/read_file.h"
#include "config/base/text.h"
#include "config/base/write_file.h"
#include "shim/decide/base/say.h"
#include "shim/decide/guard/guard_entry.h"

enum { TRIES = 1000, IDLE_TRIES = 30, TRY_NS = 10 * 1000 * 1000, MERGES = 4 };

static const double between_jobs = .05; /* standard deviation of one ratio from job to job */
static const double contradict = 3;     /* of their standard deviations: the machine is another */
static const double finest = .01;       /* no spread is less */
static const double least = .001, most = 1000; /* ratios that are believed; no row has finer ones */

/* Digits with at most one point. Not strtod, which follows the application's locale. */
static int read_number(const char *text, double *value)
{
    double unit = 0;

    *value = 0;
    if (!text_is_digit(*text))
        return 0;
    for (; text_is_digit(*text) || (*text == '.' && unit == 0); text++) {
        if (*text == '.') {
            unit = 1;
            continue;
        }
        *value = 10 * *value + (*text - '0');
        unit *= 10;
    }
    if (unit > 0)
        *value /= unit;
    return !*text && *value < 1e15;
}

/* 65536, 64K, 1M, 4G: a power of two. */
static int read_bytes(char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t n = strlen(text);
    const char *unit = n ? strchr(units, text[n - 1]) : NULL;
    double value;

    if (unit)
        text[n - 1] = 0;
    if (!read_number(text, &value))
        return 0;
    *bytes = (uint64_t)value << (unit ? 10 * (unit - units + 1) : 0);
    return *bytes && !(*bytes & (*bytes - 1));
}

static int read_count(const char *text, unsigned *n)
{
    double value;

    if (!read_number(text, &value) || value > 1e9)
        return 0;
    *n = (unsigned)value;
    return 1;
}

/* The options of a row, NAME=VALUE each. */
static int read_option(struct store_row *r, char *word)
{
    char *value = strchr(word, '=');
    unsigned n = 0;
    int rc;

    if (!value)
        return 0;
    *value++ = 0;
    if (!strcmp(word, "ratio"))
        return read_number(value, &r->ratio);
    if (!strcmp(word, "spread"))
        return read_number(value, &r->spread);
    rc = read_count(value, &n);
    if (!strcmp(word, "ppg"))
        r->ppg = (int)n;
    else if (!strcmp(word, "jobs"))
        r->jobs = n;
    else if (!strcmp(word, "day"))
        r->day = n;
    return rc;
}

static int copy_word(char *to, size_t size, const char *word)
{
    return word && (size_t)snprintf(to, size, "%s", word) < size;
}

/* Cuts the line in pieces. */
static int read_row(char *line, struct store_row *r)
{
    char *rest = NULL, *word = strtok_r(line, " \t\r", &rest);
    int collective;

    *r = (struct store_row){.ppg = 1, .jobs = 1, .spread = between_jobs};
    if (!word || *word == '#' || !copy_word(r->where, sizeof r->where, word))
        return 0;
    word = strtok_r(NULL, " \t\r", &rest);
    collective = word ? plan_collective_find(word) : -1;
    if (collective < 0)
        return 0;
    r->collective = (enum plan_collective)collective;
    word = strtok_r(NULL, " \t\r", &rest);
    if (!word || !read_count(word, &r->kind) || r->kind >= GUARD_KINDS)
        return 0;
    word = strtok_r(NULL, " \t\r", &rest);
    if (!word || !read_bytes(word, &r->bytes) ||
        !copy_word(r->algorithm, sizeof r->algorithm, strtok_r(NULL, " \t\r", &rest)))
        return 0;
    while ((word = strtok_r(NULL, " \t\r", &rest)))
        if (!read_option(r, word))
            return 0;
    return r->ratio >= least && r->ratio <= most && r->spread >= least && r->spread < 10;
}

struct store_row *store_rows_find(const struct store_rows *rows, const struct store_row *key)
{
    for (int i = 0; i < rows->n; i++) {
        struct store_row *r = &rows->row[i];

        if (r->collective == key->collective && r->kind == key->kind && r->bytes == key->bytes &&
            r->ppg == key->ppg && !strcmp(r->where, key->where) &&
            !strcmp(r->algorithm, key->algorithm))
            return r;
    }
    return NULL;
}

int store_rows_set(struct store_rows *rows, const struct store_row *r)
{
    struct store_row *there = store_rows_find(rows, r);

    if (there) {
        *there = *r;
        return 0;
    }
    if (rows->n == rows->room) {
        int room = rows->room ? 2 * rows->room : 16;
        void *more = realloc(rows->row, (size_t)room * sizeof *rows->row);
        if (!more)
            return -ENOMEM;
        rows->row = more;
        rows->room = room;
    }
    rows->row[rows->n++] = *r;
    return 0;
}

int store_rows_parse(const char *text, struct store_rows *rows)
{
    *rows = (struct store_rows){0};
    while (*text && rows->n < STORE_ROWS) {
        size_t n = strcspn(text, "\n");
        char line[STORE_LINE];
        struct store_row r;

        if (n < sizeof line) {
            memcpy(line, text, n);
            line[n] = 0;
            if (read_row(line, &r) && store_rows_set(rows, &r))
                return -ENOMEM;
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

int store_rows_read(const char *path, struct store_rows *rows)
{
    const char *why;
    char *text;
    size_t size;

    *rows = (struct store_rows){0};
    if (access(path, F_OK))
        return 0;
    if (config_read_file(path, STORE_BYTES, &text, &size, &why) < 0) {
        say(CFG_LEVEL_WARN, "COLLSHIM_STORE: %s: %s; nothing is known of earlier jobs", path, why);
        return -1;
    }
    if (size && strncmp(text, STORE_HEAD, strlen(STORE_HEAD))) {
        say(CFG_LEVEL_WARN,
            "COLLSHIM_STORE: %s is no store: its first line is not '%.*s'; it is left as it is",
            path, (int)strlen(STORE_HEAD) - 1, STORE_HEAD);
        free(text);
        return -1;
    }
    int rc = store_rows_parse(text, rows);
    free(text);
    if (!rc)
        return 0;
    store_rows_free(rows);
    say(CFG_LEVEL_WARN, "COLLSHIM_STORE: %s: out of memory; it is left as it is", path);
    return -1;
}

static void print_thousandths(FILE *f, const char *name, double value)
{
    unsigned long long n = (unsigned long long)(value * 1000 + .5);

    fprintf(f, " %s=%llu.%03llu", name, n / 1000, n % 1000);
}

void store_row_print(FILE *f, const struct store_row *r)
{
    uint64_t bytes = r->bytes;
    int unit = 0;

    for (; unit < 3 && bytes % 1024 == 0; bytes /= 1024)
        unit++;
    fprintf(f, "%s %s %u %llu%.*s %s ppg=%d", r->where, plan_collective_name(r->collective),
            r->kind, (unsigned long long)bytes, unit > 0, &"?KMG"[unit], r -> algorithm, r -> ppg);
    print_thousandths(f, "ratio", r->ratio);
    print_thousandths(f, "spread", r->spread);
    fprintf(f, " jobs=%u day=%u\n", r->jobs, r->day);
}

int store_row_combine(struct store_row *old, const struct store_row *newer)
{
    double a = evidence_ln(old->ratio), b = evidence_ln(newer->ratio),
           apart = a > b ? a - b : b - a;
    double u = old->spread * old->spread + between_jobs * between_jobs;
    double v = newer->spread * newer->spread + between_jobs * between_jobs;
    unsigned jobs = old->jobs;

    if (apart > contradict * evidence_root(u + v)) {
        *old = *newer;
        return 1;
    }
    *old = *newer;
    old->ratio = evidence_exp((a / u + b / v) / (1 / u + 1 / v));
    old->spread = evidence_root(1 / (1 / u + 1 / v));
    old->spread = old->spread > finest ? old->spread : finest;
    old->jobs = jobs + 1;
    return 0;
}

/* The newest first, then by key, so that two files of the same rows are the same. */
static int by_day(const void *a, const void *b)
{
    const struct store_row *x = a, *y = b;
    int rc = (x->day < y->day) - (x->day > y->day);

    rc = rc ? rc : strcmp(x->where, y->where);
    rc = rc ? rc : (int)x->collective - (int)y->collective;
    rc = rc ? rc : (x->bytes > y->bytes) - (x->bytes < y->bytes);
    return rc ? rc : strcmp(x->algorithm, y->algorithm);
}

/* Has no other job written the file since? Each makes a file of its own. */
static int is_as_read(const char *path, const struct stat *then)
{
    struct stat now = {0};

    if (stat(path, &now))
        return !then->st_ino;
    return now.st_ino == then->st_ino && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* All zero: there is none. */
static struct stat look_at(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return (struct stat){0};
    return st;
}

/*
 * Lock the folder, so that no lock file is left behind. Any reader of the folder can hold the lock
 * for ever, and a file system may have none. So the lock only keeps jobs from doing the same work
 * again (store_rows_merge). It is waited for while the jobs in front write the file, at most ten
 * seconds. Returns a descriptor to be closed, which unlocks it, or -1.
 */
static int lock_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat then = look_at(path);

    free(folder);
    for (int i = 0, idle = 0; fd >= 0 && i < TRIES && idle < IDLE_TRIES; i++, idle++) {
        if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
            break;
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
        if (!is_as_read(path, &then)) {
            then = look_at(path);
            idle = 0;
        }
    }
    return fd;
}

static const struct store_rows *printed; /* by store_rows_merge, which one thread calls */

static void print_rows(FILE *f)
{
    fputs(STORE_HEAD, f);
    for (int i = 0; i < printed->n && i < STORE_ROWS; i++)
        store_row_print(f, &printed->row[i]);
}

/* Was the faster way another one? was: a row of the file, and the one that contradicts it. */
static int is_other_way(const struct store_row was[2])
{
    return (was[0].ratio < 1) != (was[1].ratio < 1);
}

/* A warning if a row chose what is the slower way by now. */
static void say_wrong(const char *path, const struct store_row was[2], int wrong)
{
    say(is_other_way(was) ? CFG_LEVEL_WARN : CFG_LEVEL_INFO,
        "COLLSHIM_STORE: %s: %d row%s wrong by now and replaced, e.g. %s from %llu bytes by "
        "%s: %.0f %% of the library's time, now %.0f %%",
        path, wrong, wrong == 1 ? " is" : "s are", plan_collective_name(was->collective),
        (unsigned long long)was->bytes, was->algorithm, 100 * was[0].ratio, 100 * was[1].ratio);
}

/* The rows of the file, and these. Returns how many of the file's these contradict, with one
   of them in was; or -1. */
static int read_and_combine(const char *path, const struct store_rows *rows, struct store_rows *all,
                            struct store_row was[2])
{
    int wrong = 0;

    if (store_rows_read(path, all))
        return -1;
    for (int i = 0; i < rows->n; i++) {
        struct store_row *there = store_rows_find(all, &rows->row[i]);

        struct store_row old = there ? *there : rows->row[i];

        if (!there) {
            store_rows_set(all, &old);
        } else if (store_row_combine(there, &rows->row[i])) {
            if (!wrong++ || !is_other_way(was)) {
                was[0] = old;
                was[1] = rows->row[i];
            }
        }
    }
    if (all->n)
        qsort(all->row, (size_t)all->n, sizeof *all->row, by_day);
    return wrong;
}

void store_rows_merge(const char *path, const struct store_rows *rows)
{
    struct store_row was[2];
    struct store_rows all;
    const char *why;
    int fd = lock_folder(path);

    for (int i = 0; i < MERGES; i++) {
        struct stat then = look_at(path);

        int wrong = read_and_combine(path, rows, &all, was);
        if (wrong < 0)
            break;
        printed = &all;
        int written = i == MERGES - 1 || is_as_read(path, &then);
        if (written && config_write_file(path, print_rows, &why) < 0)
            say(CFG_LEVEL_WARN, "COLLSHIM_STORE: cannot write %s: %s; it is as before", path, why);
        else if (written && wrong)
            say_wrong(path, was, wrong);
        store_rows_free(&all);
        if (written)
            break;
    }
    if (fd >= 0)
        close(fd);
}

void store_rows_free(struct store_rows *rows)
{
    free(rows->row);
    *rows = (struct store_rows){0};
}
