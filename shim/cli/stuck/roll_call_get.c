/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/cli/stuck/roll_call_private.h"

enum { MOST_LINES = 4096, MOST_RANKS = 1 << 22 };
static const json_int_t most_calls = 1ll << 60;

static void get_call(struct stuck_line *l, json_t *from)
{
    json_int_t number, bytes;
    const char *what, *where;
    struct stuck_call c = {.what = ROLL_WHATS};

    if (l->calls == ROLL_CALLS ||
        json_unpack(from, "{s:I,s:s,s:i,s:I,s:i,s:s}", "number", &number, "what", &what, "form",
                    &c.form, "bytes", &bytes, "root", &c.root, "where", &where) ||
        c.form < 0 || c.form >= ROLL_FORMS || number < 1 || number > most_calls)
        return;
    for (int i = 0; i < ROLL_WHATS; i++)
        c.what = strcmp(what, roll_names[i]) ? c.what : i;
    c.number = (uint64_t)number;
    c.bytes = (uint64_t)bytes;
    c.where = stuck_keep(where);
    if (c.what < ROLL_WHATS)
        l->call[l->calls++] = c;
}

static void get_line(struct stuck_process *p, json_t *from)
{
    struct stuck_line *l = p->lines < MOST_LINES ? stuck_add_line(p) : NULL, in = {0};
    json_t *calls;
    const char *id;
    json_int_t number;

    if (!l)
        return;
    if (json_unpack(from, "{s:s,s:I,s:F,s:i,s:i,s:i,s:i,s:i,s:i,s:o}", "id", &id, "number", &number,
                    "age_s", &in.age, "inside", &in.inside, "size", &in.size, "rank", &in.rank,
                    "is_world", &in.is_world, "is_request", &in.is_request, "nccl", &in.nccl,
                    "calls", &calls) ||
        number < 0 || number > most_calls || in.size < 0 || in.size > MOST_RANKS || in.rank < -1 ||
        in.rank >= MOST_RANKS) {
        p->lines--;
        return;
    }
    in.id = strtoull(id, NULL, 16);
    in.number = (uint64_t)number;
    for (size_t i = 0; i < json_array_size(calls); i++)
        get_call(&in, json_array_get(calls, i));
    *l = in;
}

static int get_process(struct stuck_roll *r, json_t *from)
{
    const char *host, *job, *scheduler, *state;
    struct stuck_process in = {0}, *p;
    json_t *lines;

    if (json_unpack(from, "{s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s?i,s:s,s:F,s:o}", "host", &host, "job",
                    &job, "scheduler", &scheduler, "pid", &in.pid, "rank", &in.rank, "size",
                    &in.size, "ranks_here", &in.here, "ended", &in.ended, "full", &in.full, "state",
                    &state, "cpu", &in.cpu, "communicators", &lines) ||
        in.size < 0 || in.size > MOST_RANKS || in.rank < -1 || in.rank >= MOST_RANKS ||
        in.here < 0 || in.here > MOST_RANKS || !(p = stuck_add(r)))
        return 0;
    text_show(in.host, sizeof in.host, host, strlen(host));
    text_show(in.scheduler, sizeof in.scheduler, scheduler, strlen(scheduler));
    /* Without a scheduler each node names the job by its own launcher. */
    job = scheduler[0] ? job : "of the files";
    text_show(in.job, sizeof in.job, job, strlen(job));
    in.full = in.full != 0;
    in.state = (unsigned char)state[0];
    *p = in;
    for (size_t i = 0; i < json_array_size(lines); i++)
        get_line(p, json_array_get(lines, i));
    return 1;
}

int stuck_get(struct stuck_roll *r, FILE *f)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    int found = 0;

    while ((n = getline(&text, &room, f)) > 0) {
        const char *begin = memchr(text, '{', (size_t)n);
        json_t *object = begin ? json_loadb(begin, (size_t)(text + n - begin), 0, NULL) : NULL;

        found += object ? get_process(r, object) : 0;
        json_decref(object);
    }
    free(text);
    return found;
}
