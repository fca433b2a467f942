/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting in the report: of each row of call sites, of each rank, and the calls that a trace shows.
 *
 * Thread rule: one thread, when calls are over.
 */
#ifndef COLLSHIM_SHIM_RECORD_WAITS_REPORT_H
#define COLLSHIM_SHIM_RECORD_WAITS_REPORT_H

#include "config/base/json.h"
#include "shim/record/report/job.h"
#include "shim/record/waits/meeting.h"

enum { WAITS_STAYS = 4096, WAITS_RANKS = 4096 }; /* stays and ranks that a report lists */

/* A rank in a traced call; rank 0's time. All 0: it was not in it. */
struct waits_stay {
    uint64_t entry, exit, wait;
};

struct waits_place {
    char host[JOB_HOST_BYTES];
    int rail; /* -1: all of its host's */
};

/* Rank 0's, once gathered; ranks 0: nothing is known. */
struct waits_found {
    int ranks;
    uint64_t *sums;             /* owned [3 * ranks]: waiting, times late, others' waiting for it */
    struct meetings meetings;   /* owned */
    struct waits_stay *stays;   /* owned [ranks * traced]: by rank, then by call */
    size_t traced;              /* meetings that are traced */
    struct waits_place *places; /* owned, by rank; NULL: not known */
};
extern struct waits_found waits_found;

/* Mark the meetings to be traced: those with the most waiting, as many as fit. */
void waits_choose(struct meetings *m, int ranks);

/* This rank's stays in the marked ones, *n; the caller frees them. NULL: no memory. */
struct waits_stay *waits_stays(const struct meetings *m, const struct host_clock *clock,
                               const struct sample *const *own, size_t *n);

/* The member "waiting" of a row, if any of its calls was sampled. ranks: whose calls it holds. */
void waits_report_row(struct json *j, const struct site_waits *w, double ranks);

/* The lists "by_rank" and "trace". */
void waits_report(struct json *j);

#endif
