/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A site's decisions for all jobs: a folder with collshim.yaml and `off`. Settings in collshim.yaml
 * are read before the user's. If `off` exists, all jobs that start are native. The folder is
 * /etc/collshim; where that is absent, the one that COLLSHIM_TEST_SITE names.
 *
 * Beside settings the file may have, each one value or a list:
 *   lock           settings that users cannot change
 *   skip_programs  patterns of fnmatch(3) for the file that runs; of its path if it has a '/'
 *   skip_users     numbers, compared with the process's real one; names, with $USER
 *   share          the percentage of jobs that take part, by a hash of the job's id
 *
 * In doubt the process is left out: the file cannot be read or is not YAML, the share is no
 * percentage. Names of users are not looked up. The service that knows them may be far away, and
 * all ranks of a large job would ask it at once.
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/hash.h"
#include "config/base/schedulers.h"
#include "config/base/text.h"
#include "config/settings/settings_private.h"

#ifndef COLLSHIM_VERSION
#define COLLSHIM_VERSION "of no version"
#endif

static int is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void find_folder(struct cfg *c, const char *named)
{
    if (is_folder(COLLSHIM_SITE_DIR)) {
        snprintf(c->rules.directory, sizeof c->rules.directory, "%s", COLLSHIM_SITE_DIR);
        if (*named && strcmp(named, COLLSHIM_SITE_DIR) != 0)
            cfg_note(c, "COLLSHIM_TEST_SITE=%s: not read, because %s is there", named,
                     COLLSHIM_SITE_DIR);
    } else if (*named && is_folder(named)) {
        snprintf(c->rules.directory, sizeof c->rules.directory, "%s", named);
    } else if (*named) {
        cfg_problem(c, "COLLSHIM_TEST_SITE=%s: no such folder; it must hold collshim.yaml or `off`",
                    named);
    }
}

void cfg_site_read(struct cfg *c, const char *named)
{
    char path[sizeof c->rules.directory + 32];
    struct stat st;

    c->rules.share = CFG_SHARE_ALL;
    find_folder(c, named);
    if (!c->rules.directory[0])
        return;
    snprintf(path, sizeof path, "%s/collshim.yaml", c->rules.directory);
    if (lstat(path, &st) != 0 && errno == ENOENT)
        return;
    c->rules.has_file = 1;
    c->reading_site = 1;
    c->rules.broken |= cfg_read_yaml(c, path, CFG_FROM_SITE) < 0;
    c->reading_site = 0;
}

/* The next word of a list, or 0. Words have no blanks and no commas in them. */
static int next_word(const char **list, char *word, size_t size)
{
    static const char dividers[] = ", \t\n";
    size_t n;

    *list += strspn(*list, dividers);
    n = strcspn(*list, dividers);
    snprintf(word, size, "%.*s", (int)n, *list);
    *list += n;
    return n > 0;
}

static void take_lock(struct cfg *c, const char *where, const char *words)
{
    const char *nearest;
    char word[64];

    while (next_word(&words, word, sizeof word)) {
        int id = cfg_find_key(word, &nearest);

        if (id >= CFG_COUNT)
            cfg_note(c, "%s%s: write %s", where, word, cfg_rows[cfg_now((enum cfg_id)id)].name);
        if (id >= 0)
            c->locked[cfg_now((enum cfg_id)id)] = 1;
        else
            cfg_problem(c, "%s%s: no such setting; %s%s", where, word,
                        nearest ? "the nearest is " : "`collshim info` lists them",
                        nearest ? nearest : "");
    }
}

/* "5%", "0.25%" in hundredths of a percent, or -1. */
static int read_share(const char *text)
{
    int whole = 0, part = 0, digits = 0;

    text += strspn(text, " \t");
    for (; text_is_digit(*text) && whole <= 100; text++, digits++)
        whole = 10 * whole + (*text - '0');
    if (!digits)
        return -1;
    if (*text == '.')
        for (int scale = 10; text_is_digit(*++text); scale /= 10)
            part += (*text - '0') * scale;
    if (strcmp(text, "%") != 0 || 100 * whole + part > CFG_SHARE_ALL)
        return -1;
    return 100 * whole + part;
}

int cfg_site_take(struct cfg *c, const char *where, const char *key, const char *words)
{
    if (!strcmp(key, "lock")) {
        snprintf(c->rules.lock, sizeof c->rules.lock, "%s", words);
        take_lock(c, where, words);
    } else if (!strcmp(key, "skip_programs")) {
        snprintf(c->rules.programs, sizeof c->rules.programs, "%s", words);
    } else if (!strcmp(key, "skip_users")) {
        snprintf(c->rules.users, sizeof c->rules.users, "%s", words);
    } else if (!strcmp(key, "share")) {
        c->rules.share = read_share(words);
        if (c->rules.share < 0) {
            cfg_problem(c, "%s%s: expected a percentage such as 5%% or 0.25%%; no job takes part",
                        where, words);
            c->rules.share = 0;
        }
    } else {
        return 0;
    }
    return 1;
}

static const char *value_of(char **environment, const char *name)
{
    size_t n = strlen(name);

    for (; *environment; environment++)
        if (!strncmp(*environment, name, n) && (*environment)[n] == '=')
            return *environment + n + 1;
    return "";
}

static int skips_program(const struct cfg *c, char program[PATH_MAX])
{
    const char *list = c->rules.programs, *slash;
    char pattern[CFG_SITE_TEXT];
    ssize_t n = readlink("/proc/self/exe", program, PATH_MAX - 1);

    program[n < 0 ? 0 : n] = 0;
    slash = strrchr(program, '/');
    while (slash && next_word(&list, pattern, sizeof pattern))
        if (!fnmatch(pattern, strchr(pattern, '/') ? program : slash + 1, 0))
            return 1;
    return 0;
}

static int skips_user(const struct cfg *c, char **environment)
{
    const char *list = c->rules.users, *name = value_of(environment, "USER");
    char word[CFG_SITE_TEXT], number[32];

    snprintf(number, sizeof number, "%lu", (unsigned long)getuid());
    while (next_word(&list, word, sizeof word))
        if (!strcmp(word, number) || (*name && !strcmp(word, name)))
            return 1;
    return 0;
}

/* A text common to the job's processes and different in other jobs; "" if nothing tells. */
static const char *job_of(char **environment)
{
    /* A heterogeneous job's parts have numbers of their own besides. */
    static const char *const names[] = {"SLURM_HET_JOB_ID",
#define ROW(scheduler, variable) variable,
                                        SCHEDULERS(ROW)
#undef ROW
                                            "PMIX_NAMESPACE"};
    const char *job = "";

    for (size_t i = 0; i < sizeof names / sizeof *names && !*job; i++)
        job = value_of(environment, names[i]);
    return job;
}

/* Ids of jobs follow each other, so their hash is mixed once more. */
static int share_of(const char *job)
{
    uint64_t hash = hash_text(HASH_SEED, job);

    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return (int)((hash ^ (hash >> 33)) % CFG_SHARE_ALL);
}

/* `off`, or `off-VERSION`, which stops one version only. Returns its name or NULL. */
static const char *stop_file(const struct cfg *c)
{
    static const char *const names[] = {"off", "off-" COLLSHIM_VERSION};
    char path[sizeof c->rules.directory + 64];
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", c->rules.directory, names[i]);
        if (lstat(path, &st) == 0 || errno == EACCES || errno == EIO || errno == ESTALE)
            return names[i];
    }
    return NULL;
}

void cfg_site_decide(struct cfg *c, char **environment)
{
    char program[PATH_MAX], *why = c->rules.left_out;
    const char *job = job_of(environment), *stop, *directory = c->rules.directory;
    const size_t size = sizeof c->rules.left_out;

    c->rules.own_mode = c->mode;
    if (!*directory)
        return;
    stop = stop_file(c);
    if (stop)
        snprintf(why, size, "%s/%s is there: the site has stopped collshim", directory, stop);
    else if (c->rules.broken)
        snprintf(why, size, "%s/collshim.yaml cannot be used", directory);
    else if (skips_program(c, program))
        snprintf(why, size, "%s/collshim.yaml: skip_programs has %.512s", directory, program);
    else if (skips_user(c, environment))
        snprintf(why, size, "%s/collshim.yaml: skip_users has this user", directory);
    else if (c->rules.share < CFG_SHARE_ALL && !*job)
        snprintf(why, size, "%s/collshim.yaml: share: the job has no id to choose it by",
                 directory);
    else if (c->rules.share < CFG_SHARE_ALL && share_of(job) >= c->rules.share)
        snprintf(why, size, "%s/collshim.yaml: share: job %.64s is not among those that take part",
                 directory, job);
    if (!*why)
        return;
    c->mode = CFG_MODE_OFF;
    c->origin[CFG_mode] = CFG_FROM_SITE;
}
