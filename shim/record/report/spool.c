/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/report/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/base/write_file.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/report/job.h"

enum { NAME_BYTES = 256, STALE_S = 3600 /* of what a killed job may have left on NFS */ };

int spool_is_printing;

/* A file of ours. */
struct entry {
    char *name; /* owned */
    long long bytes;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Names begin with the time, so that their order is their age's. A process may have a report of MPI
   and one of NCCL. */
static void make_name(char *name, size_t size)
{
    snprintf(name, size, "%012lld-%s-%s-%d%s.json", job_began(), job_id()[0] ? job_id() : "0",
             job_host(), (int)getpid(), settings.calls && settings.calls[0] ? "-nccl" : "");
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c <= ' ')
            *c = '_';
}

static int is_report(const char *name)
{
    size_t n = strlen(name);

    return name[0] != '.' && n > 5 && !strcmp(name + n - 5, ".json");
}

/* The files there but for `own`, the oldest first. Returns how many; *list is the caller's. */
static int list_reports(int dir, const char *own, struct entry **list)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat st;

    *list = NULL;
    if (!d && fd >= 0)
        close(fd);
    while (d && (e = readdir(d))) {
        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (!strncmp(e->d_name, ".collshim-", 10) && st.st_mtime < time(NULL) - STALE_S)
            unlinkat(dir, e->d_name, 0);
        if (!is_report(e->d_name) || !strcmp(e->d_name, own))
            continue;
        struct entry *more = realloc(*list, (size_t)(n + 1) * sizeof *more);
        char *name = more ? strdup(e->d_name) : NULL;
        *list = more ? more : *list;
        if (!name)
            break;
        (*list)[n++] = (struct entry){name, (long long)st.st_size};
    }
    if (d)
        closedir(d);
    if (n)
        qsort(*list, (size_t)n, sizeof **list, by_name);
    return n;
}

/* Until one more file of that size would fit. */
static void rotate(int dir, const char *own, const struct spool_caps *caps, long long size)
{
    struct entry *list;
    int n = list_reports(dir, own, &list);
    long long bytes = size;

    for (int i = 0; i < n; i++)
        bytes += list[i].bytes;
    for (int i = 0; i < n; i++) {
        if (n - i >= caps->files || bytes > caps->bytes) {
            unlinkat(dir, list[i].name, 0); /* another job may have been faster */
            bytes -= list[i].bytes;
        }
        free(list[i].name);
    }
    free(list);
}

/* Make the directory, unless it is there. Returns a descriptor or a negative code; -EEXIST:
   another user has made something of that name, -EPERM: it is the user's, and others may write to
   it. */
static int enter(int spool, const char *name, mode_t mode)
{
    struct stat st;

    if (mkdirat(spool, name, mode) && errno != EEXIST)
        return -errno;
    int own = openat(spool, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    if (own < 0)
        return errno == ELOOP || errno == ENOTDIR || errno == EACCES ? -EEXIST : -errno;
    if (fstat(own, &st) || st.st_uid != geteuid())
        rc = -EEXIST;
    else if (st.st_mode & 022)
        rc = -EPERM;
    if (rc)
        close(own);
    return rc ? rc : own;
}

/* May other users remove what is in it, or put something in its place? */
static int is_open_to_others(const struct stat *st)
{
    mode_t writers = st->st_uid == geteuid() ? S_IWOTH : S_IWOTH | S_IWGRP;

    return st->st_mode & writers && !(st->st_mode & S_ISVTX);
}

/* The user's own directory. Returns a descriptor, or a negative code. */
static int open_own(const char *directory, const char **why)
{
    int spool = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), own;
    char name[64];
    struct stat st;
    static uint64_t number; /* one for all reports of the process */

    if (spool < 0)
        return -errno;
    if (fstat(spool, &st) || is_open_to_others(&st)) {
        *why = "others may remove what is there; chmod +t, or `collshim site --create`";
        close(spool);
        return -EPERM;
    }
    mode_t mode = st.st_mode & S_ISGID ? 0750 : 0700;
    int length = snprintf(name, sizeof name, "%u", (unsigned)geteuid());
    own = enter(spool, name, mode);
    if (own == -EEXIST &&
        (number || getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number)) {
        say(CFG_LEVEL_WARN, "COLLSHIM_REPORT: %s/%s is another user's: it should be removed",
            directory, name);
        snprintf(name + length, sizeof name - (size_t)length, "-%016" PRIx64, number);
        own = enter(spool, name, mode);
    }
    if (own == -EPERM)
        *why = "others may write to the directory named by the user's number";
    close(spool);
    return own;
}

int spool_write(const char *directory, const struct spool_caps *caps, void (*print)(FILE *f),
                const char **why)
{
    char name[NAME_BYTES];
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    *why = NULL;
    int own = open_own(directory, why), rc = -ENOMEM;
    if (own < 0) {
        *why = *why ? *why : config_write_reason(-own);
        return own;
    }
    make_name(name, sizeof name);
    f = open_memstream(&text, &size);
    if (f) {
        spool_is_printing = 1;
        print(f);
        spool_is_printing = 0;
        rc = ferror(f) ? -ENOMEM : 0;
        rc = fclose(f) ? -ENOMEM : rc;
    }
    if (!rc)
        rotate(own, name, caps, (long long)size);
    if (!rc)
        rc = config_write_at(own, name, text, size, why);
    else
        *why = config_write_reason(-rc);
    free(text);
    close(own);
    return rc;
}
