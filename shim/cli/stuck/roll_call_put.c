/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "config/base/json.h"
#include "shim/cli/stuck/roll_call.h"

static void put_call(struct json *j, const struct stuck_call *c)
{
    json_open(j, NULL, '{');
    json_int(j, "number", (long long)c->number);
    json_string(j, "what", roll_names[c->what]);
    json_int(j, "form", c->form);
    json_int(j, "bytes", (long long)c->bytes); /* -1: ROLL_NO_BYTES */
    json_int(j, "root", c->root);
    json_string(j, "where", c->where);
    json_close(j, '}');
}

static void put_line(struct json *j, const struct stuck_line *l)
{
    char id[32];

    snprintf(id, sizeof id, "%016" PRIx64, l->id);
    json_open(j, NULL, '{');
    json_string(j, "id", id);
    json_int(j, "number", (long long)l->number);
    json_rounded(j, "age_s", 6, l->age);
    json_int(j, "inside", l->inside);
    json_int(j, "size", l->size);
    json_int(j, "rank", l->rank);
    json_int(j, "is_world", l->is_world);
    json_int(j, "is_request", l->is_request);
    json_int(j, "nccl", l->nccl);
    json_open(j, "calls", '[');
    for (int i = 0; i < l->calls; i++)
        put_call(j, &l->call[i]);
    json_close(j, ']');
    json_close(j, '}');
}

void stuck_put(FILE *f, const struct stuck_process *p)
{
    struct json j = json_begin(f);
    char state[2] = {(char)p->state, 0};

    j.line = 1;
    json_open(&j, NULL, '{');
    json_string(&j, "host", p->host);
    json_string(&j, "job", p->job);
    json_string(&j, "scheduler", p->scheduler);
    json_int(&j, "pid", p->pid);
    json_int(&j, "rank", p->rank);
    json_int(&j, "size", p->size);
    json_int(&j, "ranks_here", p->here);
    json_int(&j, "ended", p->ended);
    json_int(&j, "full", p->full);
    json_string(&j, "state", state);
    json_rounded(&j, "cpu", 4, p->cpu);
    json_open(&j, "communicators", '[');
    for (int i = 0; i < p->lines; i++)
        put_line(&j, &p->line[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}
