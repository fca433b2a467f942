/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard for work that is only enqueued: whether a reroute pays is measured by events around
 * calls and looked at later, never by waiting for a stream. Calls of one collective and size class
 * take turns between the library and the reroutes; some calls after the last of them the ranks
 * compare what they have, by then long finished in any program that makes progress, and the slowest
 * rank's times decide for all. A rank whose events are not there yet says so, and all try again.
 * Looks after the first are at the library and the reroute that was fastest.
 *
 * Turns are of two calls, and the second is measured. Ranks do not end an uneven exchange together,
 * and the call behind it has to wait for the last of them: it must not be the other way's fault.
 *
 * All ranks make the same calls in the same order, so all are at the same point. Knows no NCCL and
 * no clock: the caller brings events. Thread rule: as struct nccl_comm.
 */
#ifndef COLLSHIM_SHIM_NCCL_TRIAL_H
#define COLLSHIM_SHIM_NCCL_TRIAL_H

#include "planners/choose.h"
#include "transports/cuda_driver.h"

enum {
    TRIAL_CALLS = 5,    /* of each way that are measured, the first of each not counted */
    TRIAL_PAUSE = 16,   /* calls from the last of them until the ranks compare */
    TRIAL_AGAIN = 4000, /* calls until the next look */
    TRIAL_ENTRIES = 32,
    TRIAL_NATIVE = 0, /* the way that is the library; reroutes have numbers from 1 */
    TRIAL_WAYS = 1 + PLAN_CANDIDATES
};

struct trial {
    uint32_t key;
    uint32_t n;        /* calls in this look */
    int ways;          /* in this look, the library being one */
    int rival;         /* the one reroute that it is about; 0: all */
    int settled, best; /* best: a way, of the last look that ended */
    int ended;         /* one has */
    CUevent begin[TRIAL_WAYS][TRIAL_CALLS],
        end[TRIAL_WAYS][TRIAL_CALLS]; /* owned; NULL: not made */
};

struct trials {
    int n;
    struct trial entry[TRIAL_ENTRIES];
};

/* The entry of that kind (a collective, or what the caller numbers behind them) and size class;
 * NULL: no room, run natively. */
struct trial *trial_find(struct trials *t, unsigned kind, uint64_t total);

/* The one that there is, or NULL. */
const struct trial *trial_known(const struct trials *t, unsigned kind, uint64_t total);

/* The way that this call takes, of as many reroutes. *sample: its number among those measured, or
 * -1. *compare: the ranks are to compare before the call, by trial_best() and trial_settle(). */
int trial_pick(struct trial *t, int reroutes, int *sample, int *compare);

/* This rank's best seconds of each way: infinite where an event has not happened, 0 where the way
 * is not looked at. */
void trial_best(const struct trial *t, const struct cuda_calls *cu, double seconds[TRIAL_WAYS]);

/* With the agreed seconds. Returns 1 if settled, 0: not all had finished, another look begins. */
int trial_settle(struct trial *t, const double seconds[TRIAL_WAYS]);

/* Forget all verdicts. */
void trials_close(struct trials *t, const struct cuda_calls *cu);

#endif
