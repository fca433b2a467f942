/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine under the guard: ranks are entries side by side, whose calls take the times it gives.
 */
#ifndef COLLSHIM_TEST_UNIT_GUARDED_H
#define COLLSHIM_TEST_UNIT_GUARDED_H

#include "shim/decide/guard/guard.h"
#include "test/unit/random.h"

enum { MOST_RANKS = 5, MIB = 1 << 20, MOST_WAYS = GUARD_REROUTES };

/* So many calls settle a machine: trials lose a call and a thirty-second of all. */
enum { FIRST_CALLS = 260 };

/* A machine: how long calls take, in times of the library's call of 1 MiB. */
struct machine {
    int ranks, reroutes;
    uint64_t bytes;          /* of a call; 0: a MiB */
    double native;           /* seconds of the library's call */
    double share[MOST_WAYS]; /* of a reroute, in times of native; 0: cannot serve */
    double cold[MOST_WAYS];  /* the extra time of its first call */
    double noise;            /* a call takes up to so much longer, as a share */
    double hiccup;           /* one call in 20 takes so many times longer */
    double slow;             /* a third of the library's calls take so many times longer */
    double behind;           /* ... behind a call of a reroute; 0: no longer */
    double fresh;            /* the first calls of a reroute in a row take so many times as long; */
    int fresh_calls;         /* how many; 0: none */
    int busy;                /* in the first calls of all a reroute takes so many times as long: */
    double busy_by;
    int held_up; /* this call, counted from 1, takes so many times as long: */
    double held_up_by;
    int jumps;     /* every so many calls the clock of one rank jumps; 0: none does */
    unsigned skew; /* of the calls to come */
    double offer;  /* one more reroute is offered, once calls afford so many seconds; 0: none is */
    struct estimate recalled[GUARD_CONTENDERS]; /* of earlier jobs */
    struct rng rng;

    struct guard guard[MOST_RANKS];
    int warm[MOST_WAYS];
    double took, lost; /* all calls; against the library */
    int last, run;     /* the way that ran last (machine_way), and how often in a row */
    int calls, timed, ran[1 + MOST_WAYS], verdicts, agreements;
};

/* Which of the machine's reroutes, from 1, is the entry's contender; 0: the library. */
int machine_way(const struct guard_entry *e, int contender);

/* A rank's part in a call up to its measurement. Returns the contender. */
int machine_begin_call(struct machine *m, struct guard *g, struct guard_entry *e, uint64_t total,
                       int *slot);

/* All ranks make one call of so many bytes, or n of m->bytes. Their decisions are compared. */
void machine_call(struct machine *m, uint64_t total);
void machine_calls(struct machine *m, int n);

/* Rank 0's entry for calls of m->bytes. */
struct guard_entry *machine_entry(struct machine *m);

/* Which contender is in use when the first calls are over? */
int machine_settled_on(struct machine *m);

#endif
