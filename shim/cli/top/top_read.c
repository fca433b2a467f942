/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/top/top_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/base/schedulers.h"
#include "config/base/text.h"
#include "shim/record/roll/roll_layout.h"

#define SHOWN_NAME "/memfd:" LIVE_NAME " (deleted)"

enum { ENVIRONMENT = 1 << 20, GENERATIONS = 32 };

/* A process has a file for each backend, and those of its parents that it has forked from. Any user
   can make more, and a row costs 20 KB. */
enum { PROCESS_FILES = 16, USER_ROWS = 2048 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The whole file, up to size - 1 bytes, and a 0. Returns how many, 0 without it. */
static size_t read_file(int dir, const char *name, char *text, size_t size)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got = 1;

    while (fd >= 0 && got > 0 && n < size - 1) {
        got = read(fd, text + n, size - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    text[n] = 0;
    return n;
}

/* The value of a variable in a block of them, or NULL. */
static const char *variable(const char *block, size_t n, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = block; at < block + n; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=' && at[length + 1])
            return at + length + 1;
    return NULL;
}

static void find_job(struct top_counters *c, int dir)
{
    static const struct {
        const char *scheduler, *variable;
    } numbers[] = {
#define ROW(scheduler, variable) {scheduler, variable},
        SCHEDULERS(ROW)
#undef ROW
    };
    static char block[ENVIRONMENT];
    size_t n = read_file(dir, "environ", block, sizeof block);
    static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                              "LOCAL_WORLD_SIZE"};

    for (size_t i = 0; i < sizeof local_sizes / sizeof *local_sizes && !c->here; i++) {
        const char *here = variable(block, n, local_sizes[i]);

        c->here = here ? atoi(here) : 0;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *id = variable(block, n, numbers[i].variable);

        if (id) {
            text_show(c->job, sizeof c->job, id, strlen(id));
            c->scheduler = numbers[i].scheduler;
            return;
        }
    }
    snprintf(c->job, sizeof c->job, "%d", (int)(c->size > 1 ? c->parent : c->pid));
}

/* The value for the process whose folder that is; 0: not known. */
static pid_t parent_of(int dir, const char *stat_file)
{
    char text[512];
    int parent = 0;

    read_file(dir, stat_file, text, sizeof text);
    const char *behind = strrchr(text, ')'); /* the name may hold anything */
    return behind && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

static void find_process(struct top_counters *c, int dir)
{
    char text[512];
    ssize_t n = readlinkat(dir, "exe", text, sizeof text);

    if (n > 0)
        text_show(c->program, sizeof c->program, text, (size_t)n);
    c->parent = parent_of(dir, "stat");
}

static void skip(struct top_reading *r, enum top_skip why, pid_t pid, const char *version)
{
    if (r->skipped[why].n++)
        return;
    r->skipped[why].pid = pid;
    text_show(r->skipped[why].version, sizeof r->skipped[why].version, version,
              strnlen(version, sizeof r->skipped[why].version - 1));
}

/* Returns 1 if the file holds counters of this build's layout. */
static int read_counts(struct top_reading *r, int fd, struct top_counters *c)
{
    struct live_header h;

    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
        memcmp(h.magic, LIVE_MAGIC, sizeof h.magic) != 0) {
        skip(r, TOP_GARBAGE, c->pid, "");
        return 0;
    }
    if (h.layout != LIVE_LAYOUT || h.counts_bytes != sizeof c->counts || h.names != live_names()) {
        skip(r, TOP_FOREIGN, c->pid, h.version);
        return 0;
    }
    if (pread(fd, &c->counts, sizeof c->counts, (off_t)h.counts_at) != (ssize_t)sizeof c->counts) {
        skip(r, TOP_GARBAGE, c->pid, "");
        return 0;
    }
    c->when = now();
    c->nccl = !strncmp(h.library, "NCCL", sizeof h.library);
    c->size = h.size > 0 ? h.size : 0;
    c->rank = h.rank >= 0 && h.rank < c->size ? h.rank : -1;
    text_show(c->host, sizeof c->host, h.host, strnlen(h.host, sizeof h.host - 1));
    c->ended = h.ended != 0;
    c->has_roll = h.roll_bytes == sizeof(struct roll);
    return !c->ended || r->with_ended;
}

/* A child of a fork that exec has not followed may have its parent's file open. */
static int is_known(const struct top_reading *r, dev_t device, ino_t inode)
{
    for (int i = 0; i < r->n; i++)
        if (r->list[i].device == device && r->list[i].inode == inode)
            return 1;
    return 0;
}

static struct top_counters *new_row(struct top_reading *r)
{
    if (r->n == r->room) {
        int room = r->room ? 2 * r->room : 16;
        struct top_counters *list = realloc(r->list, (size_t)room * sizeof *list);

        if (!list)
            return NULL;
        r->list = list;
        r->room = room;
    }
    return memset(&r->list[r->n], 0, sizeof *r->list);
}

static int has_many(struct top_reading *r, unsigned uid, pid_t pid)
{
    int n = 0;

    for (int i = 0; i < r->n; i++)
        n += r->list[i].uid == uid;
    if (n >= USER_ROWS)
        skip(r, TOP_MANY, pid, "");
    return n >= USER_ROWS;
}

/* The file by that number of a process. Returns 1 if it has the name of counters, -1: out of
   memory. */
static int read_descriptor(struct top_reading *r, int dir, int fds, const char *name, pid_t pid)
{
    char link[sizeof SHOWN_NAME];
    struct stat st, owner;
    int fd;

    if (readlinkat(fds, name, link, sizeof link) != sizeof SHOWN_NAME - 1 ||
        memcmp(link, SHOWN_NAME, sizeof SHOWN_NAME - 1) != 0)
        return 0;
    struct top_counters *c = new_row(r);
    if (!c)
        return -1;
    fd = openat(fds, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    c->pid = pid;
    c->fd = atoi(name);
    if (fd < 0)
        return 1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !fstat(dir, &owner) &&
        !is_known(r, st.st_dev, st.st_ino) && !has_many(r, owner.st_uid, pid) &&
        read_counts(r, fd, c)) {
        c->uid = owner.st_uid;
        c->device = st.st_dev;
        c->inode = st.st_ino;
        find_process(c, dir);
        find_job(c, dir);
        r->n++;
    }
    close(fd);
    return 1;
}

static int read_process(struct top_reading *r, int proc, const char *name)
{
    int dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fds = dir < 0 ? -1 : openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fds < 0 ? NULL : fdopendir(fds);
    int rc = 0, files = 0;

    if (dir >= 0 && fds < 0 && errno == EACCES)
        r->closed++;
    for (struct dirent *e; d && rc >= 0 && files < PROCESS_FILES && (e = readdir(d));)
        if (text_is_digit(e->d_name[0])) {
            rc = read_descriptor(r, dir, fds, e->d_name, (pid_t)atoi(name));
            files += rc > 0;
        }
    if (d)
        closedir(d);
    else if (fds >= 0)
        close(fds);
    if (dir >= 0)
        close(dir);
    return rc < 0 ? -1 : 0;
}

/* A launcher may be some processes above its ranks. */
static int is_wanted(const struct top_counters *c, const char *wanted)
{
    char text[32];
    pid_t pid = c->pid;

    if (!wanted || !strcmp(wanted, c->job))
        return 1;
    for (int level = 0; level < GENERATIONS && pid > 1; level++) {
        snprintf(text, sizeof text, "%d", (int)pid);
        if (!strcmp(wanted, text))
            return 1;
        snprintf(text, sizeof text, "/proc/%d/stat", (int)pid);
        pid = parent_of(AT_FDCWD, text);
    }
    return 0;
}

static int by_job(const void *a, const void *b)
{
    const struct top_counters *x = a, *y = b;
    int order = strcmp(x->job, y->job);

    order = order ? order : x->nccl - y->nccl;
    return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

int top_read(struct top_reading *r, const char *wanted, int with_ended)
{
    DIR *proc = opendir("/proc");
    int rc = proc ? 0 : -1, kept = 0;

    memset(r, 0, sizeof *r);
    r->with_ended = with_ended;
    for (struct dirent *e; proc && !rc && (e = readdir(proc));)
        if (text_is_digit(e->d_name[0]))
            rc = read_process(r, dirfd(proc), e->d_name);
    int why = errno;
    if (proc)
        closedir(proc);
    for (int i = 0; i < r->n; i++)
        if (is_wanted(&r->list[i], wanted))
            r->list[kept++] = r->list[i];
    r->n = kept;
    if (r->n)
        qsort(r->list, (size_t)r->n, sizeof *r->list, by_job);
    errno = why;
    return rc;
}

void top_free(struct top_reading *r)
{
    free(r->list);
    r->list = NULL;
    r->n = r->room = 0;
}

const struct top_counters *top_same(const struct top_reading *r, const struct top_counters *c)
{
    for (int i = 0; i < r->n; i++)
        if (r->list[i].device == c->device && r->list[i].inode == c->inode)
            return &r->list[i];
    return NULL;
}

enum top_access top_may_see(const char *pid, unsigned *uid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    if (strspn(pid, "0123456789") != strlen(pid) || !*pid || stat(path, &st))
        return TOP_ABSENT;
    *uid = st.st_uid;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? TOP_CLOSED : TOP_ABSENT;
    close(fd);
    return TOP_OPEN;
}
