/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings: the sampled calls, each as all its ranks had it. Two lists become one by adding up, in
 * any order, so a tree of ranks needs no more memory than one list. Then each rank tells its own
 * waiting from moving.
 *
 * A rank is late by its own work alone: by so much as it worked longer, since the collective
 * before, than the rank that waits. A rank that came out of that collective later than others
 * carries the fault of a slow rail, and no rank waits "for it": that is moving, which a schedule
 * may save. Differences of work need no common clock.
 *
 * Thread rule: one thread, when calls are over.
 */
#ifndef COLLSHIM_SHIM_RECORD_MEETING_H
#define COLLSHIM_SHIM_RECORD_MEETING_H

#include <stddef.h>

#include "shim/record/waits/clock.h"
#include "shim/record/waits/sample.h"

enum {
    MEETINGS_MOST = 1 << 15,
    MEETING_NOISE_NS = 20000,   /* less work more is no cause, */
    MEETING_PART = 8,           /* nor is less than this part of the time between first and last, */
    MEETING_ENOUGH_NS = 500000, /* unless it is more than this */
    MEETING_DOUBT_NS = 200000,  /* of clocks: a rank may seem to leave before the last one comes */
};

struct meeting {
    uint64_t comm, number;
    uint32_t domain, collective, ranks;
    uint32_t seen;     /* so many of the ranks */
    uint32_t traced;   /* 1: waits_report.h shows it */
    int32_t late_rank; /* the last one that others wait for, in MPI_COMM_WORLD; -1: none yet */
    int32_t last_rank; /* to which the last message between hosts came; -1: none, or not known */
    uint64_t landed;   /* when that was */
    uint64_t latest;   /* when late_rank came */
    uint64_t late_work, all_work;           /* its own, and that of all ranks */
    uint64_t least_work, first, first_exit; /* of those who wait: least work, entry, exit */
};

struct meetings {
    struct meeting *list; /* owned; sorted */
    size_t n;
};

/* A sample as a meeting of one rank. */
struct meeting meeting_of(const struct series_key *key, const struct sample *s,
                          const struct host_clock *clock, int rank);

/* This rank's samples. Returns 0 or -1: no memory. */
int meetings_begin(struct meetings *m, const struct host_clock *clock, int rank);

/* Add another rank's list to m. Beyond MEETINGS_MOST the last go. Returns 0 or -1: no memory; then
   m is as before. */
int meetings_add(struct meetings *m, const struct meeting *other, size_t n);

/* Keep those that have all their ranks and in which no rank left before the last one came: others
   were miscounted, their clocks differ, or no byte made them wait. */
void meetings_keep_whole(struct meetings *m);

/* This rank's samples of them: own[i] is list[i]'s, NULL: none. */
void meetings_find_own(const struct meetings *m, const struct host_clock *clock,
                       const struct sample **own);

/* Did the last one make others wait by its work? */
int meeting_is_late(const struct meeting *m);

/* So long did the rank wait for the late one's work; 0: it did not. */
uint64_t meeting_wait(const struct meeting *m, const struct host_clock *clock,
                      const struct sample *own);

/* The sums of one rank: it waited, was late so many times, and waited for each rank of the job. */
struct waits_sum {
    uint64_t *waiting, *times; /* its own places of two arrays of the caller's */
    uint64_t *caused;          /* the caller's, a place per rank; nanoseconds, as `waiting` */
};

/* Put this rank's waiting, moving and combining into its rows of call sites, and into the sum. */
void meetings_attribute(const struct meetings *m, const struct host_clock *clock, int rank,
                        const struct sample *const *own, struct waits_sum *sum);

#endif
