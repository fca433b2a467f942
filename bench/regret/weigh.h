/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of the library's call (contender 0) and a few reroutes, take the one that is measured to be
 * fastest, per communicator, collective and size class, and lose little time in finding out.
 * worth.h says how a trial is weighed against what it may bring.
 *
 * A round is one call of each contender that is worth it, the one in use among them. All ranks then
 * agree on its times, the slowest rank's for each, and all follow the same path from there. Between
 * rounds no call is timed or agreed on. Values may be agreed on later, when they are there: calls
 * in between take the contender in use.
 *
 * A size class is a power of two of the collective's bytes. Calls of one sum of bytes take part, so
 * that times can be compared; calls of other sums take the contender in use. Where one sum does not
 * come back, all of the class take part, and times are compared by the byte. Exchanges of one sum
 * of bytes may take ten times as long when all of it goes to one rank, so there a class is also of
 * one skew (nimble_skew); so do calls in device memory, which others are not judged by.
 *
 * All ranks make the same calls in the same order, so all are at the same point. This file knows no
 * clock and no MPI: the caller brings both. Thread rule: as struct comm.
 */
#ifndef COLLSHIM_BENCH_REGRET_WEIGH_H
#define COLLSHIM_BENCH_REGRET_WEIGH_H

#include <stdint.h>

#include "planners/choose.h"
#include "bench/regret/belief.h"

enum { WEIGH_NATIVE = 0, WEIGH_CONTENDERS = EVIDENCE_ARMS, WEIGH_REROUTES = WEIGH_CONTENDERS - 1 };
enum {
    WEIGH_ENTRIES = 48, /* collectives by class */
    WEIGH_IDLE = 20000, /* calls of others after which an entry gives way to a new one */
    WEIGH_UNTIMED = -1,
    WEIGH_NO_VERDICT = -1,
    WEIGH_NO_NEWS = -2,
    WEIGH_VALUES = 2 * WEIGH_CONTENDERS + 1 /* that are agreed on at once */
};

/* What a contender other than the library runs. */
struct weigh_reroute {
    const struct plan_algorithm *algorithm;
    const char *recipe; /* borrowed: lives as long as the process, or NULL */
    size_t chunk_bytes;
    int ppg; /* processes per rank; 1: not cut into slices */
};

struct weigh_entry {
    struct weigh_reroute reroute[WEIGH_REROUTES]; /* of contenders 1 ... */
    struct evidence evidence;
    struct belief prior;                /* without its own samples */
    double predicted[WEIGH_CONTENDERS]; /* logarithm of the model's seconds */
    double mine[WEIGH_CONTENDERS];      /* of this round, this rank's seconds */
    double cost[WEIGH_CONTENDERS];      /* with what getting ready took */
    double spent;                       /* time lost by trying, in calls of the one in use */
    double agreement;                   /* seconds that this rank's last agreement took */
    double agreeing;                    /* what an agreement takes, in calls */
    double cold, cold_variance;         /* what a first call takes longer, in calls of the
                                           library */
    uint64_t total;                     /* bytes of the calls that take part */
    uint32_t calls;                     /* that took part or were settled */
    uint32_t seen[WEIGH_CONTENDERS];    /* calls when it was last measured */
    uint32_t changed;                   /* calls when the machine was last found to have changed */
    uint32_t left, interval;            /* settled: calls until the next look; between looks */
    struct estimate against; /* contender `rival` against the library, as it was weighed last;
                                spread 0: not yet */
    uint8_t rival;           /* the contender in use, or the closest if that is the library */
    uint8_t state;
    uint8_t n;                      /* contenders, with the library */
    uint8_t best;                   /* the contender in use */
    uint8_t turn[WEIGH_CONTENDERS]; /* contenders of this round, in order */
    uint8_t turns, at, noted;       /* how many; picked so far; timed so far */
    uint8_t free_rounds;            /* that may follow each other */
    uint8_t led;                    /* calls of this turn that were not measured */
    uint8_t elsewhere, loose;       /* calls of other sums since one took part; all may */
    uint8_t out;                    /* contenders that cannot serve, a bit each */
    uint8_t alarms;                 /* looks in a row that found the one in use slower */
    uint8_t near_by;                /* a class near by has samples */
    uint8_t discarded;              /* contenders whose only call was held up, a bit each */
    uint8_t told;                   /* 1 + the verdict that was told; 0: none */
    uint8_t why;                    /* the caller's, while nothing can be tried */
};

/* All of a communicator's entries; all zero at first. Owned by the communicator's state. */
struct weigh {
    uint16_t key[WEIGH_ENTRIES]; /* 0: free */
    uint32_t used[WEIGH_ENTRIES];
    uint32_t calls;
    uint8_t lead;   /* set by the caller: calls of a turn before the one that is measured */
    uint32_t colds; /* how often a first call was set beside a second */
    double cold, cold_squares; /* sums of what it took longer, in calls of the library */
    struct weigh_entry entry[WEIGH_ENTRIES];
};

/* The entry of that collective, kind and size; a new one is all zero. kind: of an exchange its
   skew, of others where the buffers are (enum plan_memory). NULL: all entries are in use. */
struct weigh_entry *weigh_find(struct weigh *g, enum plan_collective c, unsigned kind,
                               uint64_t total);

/* Is nothing to be timed? Counts the call if so. The contender is e->best then. */
int weigh_settled(struct weigh_entry *e);

/* If not settled: shall candidates be handed in by weigh_begin before weigh_pick? Without any the
   entry is settled on the library for good. Entries of the same collective and kind in classes near
   by tell what to expect. */
int weigh_wants_candidates(const struct weigh_entry *e);
void weigh_begin(struct weigh *g, struct weigh_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n);

/* If not settled: the contender of this call. *slot: its place in the round, to be given to
   weigh_note or weigh_cannot, or WEIGH_UNTIMED. */
int weigh_pick(struct weigh *g, struct weigh_entry *e, uint64_t total, int *slot);

/* The call of that slot took so many seconds on this rank; setup: what was spent on getting ready
   besides, such as building the plan. bytes: the call's. */
void weigh_note(struct weigh_entry *e, int slot, double seconds, double setup, uint64_t total);

/* The reroute of that slot cannot serve, on all ranks alike. */
void weigh_cannot(struct weigh_entry *e, int slot);

/* Is the round complete? Then its values are to be agreed on, now or some calls later: fills in
   this rank's and returns how many, the same on all ranks; else 0. */
int weigh_values(const struct weigh_entry *e, double value[WEIGH_VALUES]);

/* Agreeing took so many seconds on this rank. bytes: of the call. For the rounds to come. */
void weigh_agreed(struct weigh_entry *e, double seconds, uint64_t total);

/* The values, each now the largest of any rank. Returns 1 if the entry is settled thereby, else 0.
   If one is infinite, some rank does not know it yet: nothing changes, and the values are to be
   agreed on again later. */
int weigh_tell(struct weigh *g, struct weigh_entry *e, const double value[WEIGH_VALUES]);

/* The verdict that was told so far, if the entry has another one by now: a contender, or
   WEIGH_NO_VERDICT. Else WEIGH_NO_NEWS. Tells it: the next call has no news. */
int weigh_new_verdict(struct weigh_entry *e);

/* Agreeing failed: the library, for good. */
void weigh_give_up(struct weigh_entry *e);

#endif
