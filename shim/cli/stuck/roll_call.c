/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/stuck/roll_call.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/base/text.h"
#include "shim/cli/report/lines.h"
#include "shim/cli/stuck/roll_call_private.h"
#include "shim/cli/top/top_read.h"

enum { SAMPLE_MS = 200, MOST_RANKS = 1 << 22, DEPTH = 4 };

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const char *stuck_keep(const char *text)
{
    static char **kept;
    static int n;
    char shown[256];

    text_show(shown, sizeof shown, text, strlen(text));
    for (int i = 0; i < n; i++)
        if (!strcmp(kept[i], shown))
            return kept[i];
    char **more = n % 64 ? kept : realloc(kept, (size_t)(n + 64) * sizeof *more);
    char *copy = more ? strdup(shown) : NULL;
    kept = more ? more : kept;
    if (!copy)
        return "";
    return kept[n++] = copy;
}

struct stuck_process *stuck_add(struct stuck_roll *r)
{
    struct stuck_process *more = realloc(r->process, (size_t)(r->n + 1) * sizeof *more);

    if (!more)
        return NULL;
    r->process = more;
    return memset(&r->process[r->n++], 0, sizeof *more);
}

struct stuck_line *stuck_add_line(struct stuck_process *p)
{
    struct stuck_line *more = realloc(p->line, (size_t)(p->lines + 1) * sizeof *more);

    if (!more)
        return NULL;
    p->line = more;
    return memset(&p->line[p->lines++], 0, sizeof *more);
}

/* The memory of a process, opened again. Returns a descriptor, or -1: it is gone. */
static int open_again(const struct top_counters *c, int flags)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)c->pid, c->fd);
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) || st.st_dev != c->device || st.st_ino != c->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static const char *where_is(const struct roll *roll, unsigned site)
{
    struct line line;
    char text[512];

    if (!site || site >= ROLL_SITES || roll->site[site].object >= ROLL_OBJECTS)
        return "";
    const struct roll_object *o = &roll->object[roll->site[site].object];
    if (!memchr(o->path, 0, sizeof o->path) || !memchr(o->build_id, 0, sizeof o->build_id))
        return "";
    if (lines_find(o->path, o->build_id[0] ? o->build_id : NULL, roll->site[site].offset, &line) &&
        line.file[0])
        snprintf(text, sizeof text, "%s:%d", line.file, line.line);
    else
        snprintf(text, sizeof text, "%s+0x%llx%s%s%s", o->path,
                 (unsigned long long)roll->site[site].offset, line.function[0] ? " (" : "",
                 line.function, line.function[0] ? ")" : "");
    return stuck_keep(text);
}

static void copy_line(struct stuck_line *to, const struct roll *roll, const struct roll_line *l,
                      uint64_t now)
{
    uint64_t since = l->seen == l->state ? l->since : roll->beat;

    to->id = l->id;
    to->number = l->state / 2;
    to->inside = (int)(l->state & 1);
    to->age = since && since < now ? (double)(now - since) * 1e-9 : 0;
    to->size = l->size;
    to->rank = l->rank;
    to->is_world = l->is_world == 1;
    to->is_request = l->is_request == 1;
    for (uint64_t n = to->number < ROLL_CALLS ? 1 : to->number - ROLL_CALLS + 1; n <= to->number;
         n++) {
        const struct roll_call *c = &l->call[n % ROLL_CALLS];

        if (c->number == n && c->what < ROLL_WHATS && c->form < ROLL_FORMS)
            to->call[to->calls++] = (struct stuck_call){n,       c->bytes, c->root,
                                                        c->what, c->form,  where_is(roll, c->site)};
    }
}

/* Two backends of one process are one row. */
static struct stuck_process *row_of(struct stuck_roll *r, const struct top_counters *c)
{
    struct stuck_process *p;

    for (int i = 0; i < r->n; i++)
        if (r->process[i].pid == c->pid && !strcmp(r->process[i].host, c->host))
            return &r->process[i];
    p = stuck_add(r);
    if (!p)
        return p;
    memcpy(p->host, c->host, sizeof p->host);
    memcpy(p->job, c->job, sizeof p->job);
    snprintf(p->scheduler, sizeof p->scheduler, "%s", c->scheduler ? c->scheduler : "");
    p->pid = (int)c->pid;
    p->rank = c->rank;
    p->size = c->size < MOST_RANKS ? c->size : 0;
    p->here = c->here;
    p->ended = c->ended;
    p->state = '?';
    return p;
}

/* Returns 0, or -1 with errno. */
static int read_one(struct stuck_roll *r, const struct top_counters *c)
{
    static struct roll roll;
    struct live_header h;
    int fd = c->has_roll ? open_again(c, O_RDONLY) : -1, rc = 0;
    uint64_t now = now_ns();

    if (!c->has_roll) {
        r->without++;
        return row_of(r, c) ? 0 : -1;
    }
    if (fd >= 0 && pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
        pread(fd, &roll, sizeof roll, (off_t)h.roll_at) == (ssize_t)sizeof roll) {
        struct stuck_process *p = row_of(r, c);

        rc = p ? 0 : -1;
        if (p)
            p->full |= roll.full != 0;
        for (int i = 0; !rc && i < ROLL_LINES; i++) {
            struct stuck_line *l = roll.line[i].id ? stuck_add_line(p) : NULL;

            if (l)
                copy_line(l, &roll, &roll.line[i], now);
            if (l)
                l->nccl = c->nccl;
        }
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Clock ticks that a process has used, and those that it has waited for; its state. -1: it is gone.
 */
static long long ticks_of(int pid, int *state)
{
    char path[64], text[1024];
    unsigned long long user = 0, system = 0, waited_user = 0, waited_system = 0;
    char letter = '?';
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *behind = strrchr(text, ')');
    if (!behind ||
        sscanf(behind, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &letter,
               &user, &system, &waited_user, &waited_system) != 5)
        return -1;
    *state = (unsigned char)letter;
    return (long long)(user + system + waited_user + waited_system);
}

/* The same of it and of what it has started, as a rank waits for its shell command or subprocess.
   depth: of the processes in between that count. */
static long long ticks_of_all(int pid, int *state, int depth)
{
    long long sum = ticks_of(pid, state);
    char pattern[64];
    glob_t files;
    int child, ignored;

    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/children", pid);
    if (sum < 0 || !depth || glob(pattern, 0, NULL, &files))
        return sum;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *f = fopen(files.gl_pathv[i], "re");

        while (f && fscanf(f, "%d", &child) == 1) {
            long long more = ticks_of_all(child, &ignored, depth - 1);

            sum += more > 0 ? more : 0;
        }
        if (f)
            fclose(f);
    }
    globfree(&files);
    return sum;
}

/* Look at what the processes do, over a moment. */
static void sample(struct stuck_roll *r)
{
    struct timespec moment = {.tv_nsec = SAMPLE_MS * 1000000};
    double unit = SAMPLE_MS * 1e-3 * (double)sysconf(_SC_CLK_TCK);
    long long *before = calloc((size_t)r->n + 1, sizeof *before);

    for (int i = 0; before && i < r->n; i++)
        before[i] = ticks_of_all(r->process[i].pid, &r->process[i].state, DEPTH);
    nanosleep(&moment, NULL);
    for (int i = 0; before && i < r->n; i++) {
        long long now = ticks_of_all(r->process[i].pid, &r->process[i].state, DEPTH);

        if (now >= before[i] && before[i] >= 0)
            r->process[i].cpu = (double)(now - before[i]) / unit;
    }
    free(before);
}

/* Write times into the rolls. */
static void mark(const char *job, size_t at, const uint64_t *times, size_t n)
{
    struct top_reading t;

    if (top_read(&t, job, 1) == 0)
        for (int i = 0; i < t.n; i++) {
            struct live_header h;
            int fd = t.list[i].has_roll ? open_again(&t.list[i], O_RDWR) : -1;

            if (fd >= 0 && pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h)
                (void)!pwrite(fd, times, n * sizeof *times, (off_t)(h.roll_at + at));
            if (fd >= 0)
                close(fd);
        }
    top_free(&t);
}

static uint64_t after(double seconds)
{
    return now_ns() + (uint64_t)(seconds * 1e9);
}

void stuck_again(const struct stuck_roll *r, double seconds)
{
    uint64_t next = after(seconds);

    if (r->n)
        mark(r->process[0].job, offsetof(struct roll, next), &next, 1);
}

void stuck_told(const struct stuck_roll *r)
{
    uint64_t now = now_ns();

    if (r->n)
        mark(r->process[0].job, offsetof(struct roll, told), &now, 1);
}

int stuck_read(struct stuck_roll *r, const char *wanted, double alarm)
{
    struct top_reading t;
    char job[64];

    memset(r, 0, sizeof *r);
    int rc = top_read(&t, wanted, 1);
    /* A rank's number stands for its job. */
    for (int i = 0; !rc && wanted && i < t.n; i++)
        if (t.list[i].pid == (pid_t)atoi(wanted) && strcmp(t.list[i].job, wanted) != 0) {
            memcpy(job, t.list[i].job, sizeof job);
            top_free(&t);
            rc = top_read(&t, job, 1);
            break;
        }
    const uint64_t times[] = {now_ns(), after(alarm)};
    if (!rc && alarm > 0 && t.n)
        mark(t.list[0].job, offsetof(struct roll, looked), times, 2);
    for (int i = 0; !rc && i < t.n; i++)
        rc = read_one(r, &t.list[i]);
    int why = errno;
    top_free(&t);
    lines_close();
    sample(r);
    stuck_sort(r);
    errno = why;
    return rc;
}

static int by_rank(const void *a, const void *b)
{
    const struct stuck_process *x = a, *y = b;
    int order = strcmp(x->job, y->job);

    order = order ? order : x->rank - y->rank;
    return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

void stuck_sort(struct stuck_roll *r)
{
    if (r->n)
        qsort(r->process, (size_t)r->n, sizeof *r->process, by_rank);
}

void stuck_free(struct stuck_roll *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->process[i].line);
    free(r->process);
    *r = (struct stuck_roll){0};
}
