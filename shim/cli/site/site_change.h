/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that became slower after a change of library, collshim or nodes. The spool's older jobs
 * are the baseline: of the same program, shape and settings, before the newest job's library and
 * collshim came; where these never changed, before its nodes did. A job counts with its seconds and
 * with its mean time of a collective call. A change is sure by the rules of `collshim gate`.
 */
#ifndef COLLSHIM_SHIM_CLI_SITE_CHANGE_H
#define COLLSHIM_SHIM_CLI_SITE_CHANGE_H

#include <stdint.h>

struct json_t; /* jansson's, whose header does not go with config/base/json.h */

enum { CHANGE_JOBS = 65536 /* that are looked at */, CHANGE_TEXT = 160 };

struct change_job {
    char name[CHANGE_TEXT]; /* program and shape */
    char software[CHANGE_TEXT], nodes[CHANGE_TEXT];
    uint64_t settings; /* a hash */
    long long began;
    double value[2]; /* logarithms of its seconds, and of those of a call */
};

/* A program that is slower. Names borrowed from the jobs. */
struct change_loss {
    const char *name, *from, *to;
    long long since;
    int before, after; /* jobs compared */
    double share;      /* how much longer the slower of both takes */
    const char *what;  /* which that is */
};

struct changes {
    struct change_job *job;   /* owned */
    struct change_loss *loss; /* owned; found by change_find */
    int jobs, room, losses;
};

/* A report that was added up. Without memory, or without its times, it is left out. */
void change_add(struct changes *c, struct json_t *report, double collectives_s);
void change_find(struct changes *c);
void change_close(struct changes *c);

#endif
