/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: a reroute that does not pay is taken back, by measurement. For each communicator,
 * collective and size class it tries the contenders (the library's own call, which is contender 0,
 * and up to GUARD_CANDIDATES reroutes), lets all ranks agree on the fastest, stays with it, and
 * looks again now and then. A trial costs little where nothing is gained; a new winner must be
 * clearly faster.
 *
 * What a rank measures is its own time for the call; the slowest rank's counts, because in a rooted
 * collective the others may be through long before the result is there.
 *
 * A size class is a power of two of the collective's bytes. Calls of one sum of bytes take part in
 * a trial, so that times can be compared; calls of other sizes meanwhile do what was best so far.
 * Where one sum does not come back, as in programs whose sizes never repeat, all of the class take
 * part, and times are compared by the byte. The verdict holds for the whole class.
 * Exchanges of one sum of bytes may take ten times as long when all of it goes to one rank, so
 * there a class is also of one skew (nimble_skew); so do calls in device memory, which others are
 * not judged by.
 *
 * All ranks make the same calls in the same order, so all are at the same point of the same trial;
 * what decides is agreed on first. This file knows no clock and no library: the caller brings both.
 *
 * A clock may answer later, as events on a stream do. Then a round of a trial is one call of each
 * contender instead of one contender's, so that few agreements do; the ranks agree GUARD_PAUSE
 * calls after it, and if a rank has no answer yet, after twice as many more. Turns are of two
 * calls, and the second is measured: ranks do not end an uneven exchange together, and the call
 * behind it waits for the last of them, which must not be the other contender's fault. Thread rule:
 * the communicator's: one thread at a time. Source: planners/README.md, "Choosing".
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_H
#define COLLSHIM_SHIM_DECIDE_GUARD_H

#include <stdint.h>

#include "planners/variants.h"

enum {
    GUARD_NATIVE = 0,
    GUARD_CANDIDATES = PLAN_CANDIDATES + VARIANT_CANDIDATES,
    GUARD_CONTENDERS
};
enum {
    GUARD_ENTRIES = 32, /* collectives by class; more of them take turns */
    GUARD_TURNS = 8,    /* of a round, at most */
    GUARD_PAUSE = 4,    /* calls from its last turn until a later clock is asked first */
    GUARD_UNTIMED = -1
};

struct guard_entry {
    struct plan_candidate reroute[GUARD_CANDIDATES]; /* of contenders 1 ... */
    double agreed[GUARD_CONTENDERS]; /* seconds of this trial: the fastest call, of the slowest
                                        rank; 0: not tried */
    double native;                   /* of the library, this rank's fastest call of this trial */
    double mine[GUARD_CONTENDERS];   /* of this round, this rank's fastest call */
    double cost[GUARD_CONTENDERS];   /* and what all calls of the round took, with their setup */
    double spent;                    /* seconds lost against the library in this trial, agreed */
    uint64_t total;                  /* bytes of the calls that take part */
    uint32_t left, interval;         /* calls until the next look; between looks */
    uint32_t pause, wait;            /* a later clock: calls until it is asked; between questions */
    double scale[GUARD_TURNS];       /* of a turn's time, to compare by the byte */
    uint16_t elsewhere;              /* calls of other sizes since one took part */
    uint8_t state, calls;            /* calls: how often the contender of this round was measured */
    uint8_t turn[GUARD_TURNS];       /* contenders of this round, in order */
    uint8_t turns, at;               /* how many; picked so far */
    uint8_t led;                     /* the call of this turn that is not measured is over */
    uint8_t n;                       /* contenders, with the library */
    uint8_t best;                    /* what other sizes do, and all when settled; at first 0 */
    uint8_t loose;                   /* calls of any sum of bytes take part */
    uint8_t why;                     /* the caller's, while nothing can be tried */
    uint8_t out;                     /* contenders of this trial that are dropped, a bit each */
    uint8_t later;                   /* as struct guard's */
};

/* All of a communicator's entries; all zero at first. Owned by the communicator's state. */
struct guard {
    uint32_t key[GUARD_ENTRIES]; /* 0: free */
    uint16_t next;               /* who goes when all are taken */
    uint8_t later;               /* set by the caller: the clock answers later */
    struct guard_entry entry[GUARD_ENTRIES];
};

/* The entry of that collective, kind (less than GUARD_KINDS) and size; a new one is all zero. kind:
   what is measured apart, as exchanges by their skew, or calls by where the buffers are. */
enum { GUARD_KINDS = 64 };
struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total);

/* The same if there is one and it has come to a verdict before, which is e->best; else NULL. */
const struct guard_entry *guard_known(const struct guard *g, enum plan_collective c, unsigned kind,
                                      uint64_t total);

/* Is the verdict there, and this call not the one that looks again? Counts the call if so. The
   contender is e->best then, and nothing is to be timed. */
int guard_settled(struct guard_entry *e);

/* If not settled: shall candidates be handed in by guard_begin before guard_pick? Without any the
   entry is settled on the library for good. Recipes are borrowed for as long as the entry lives.
   warm: the library has had such a call just before, so one more is enough to know its time. */
int guard_wants_candidates(const struct guard_entry *e);
void guard_begin(struct guard_entry *e, uint64_t total, const struct plan_candidate *c, int n,
                 int warm);

/* If not settled: the contender of this call. *slot: its turn if it is to be timed, one of
   guard_note and guard_cannot must then follow, or for a later clock the answer in guard_look; else
   GUARD_UNTIMED. */
int guard_pick(struct guard_entry *e, uint64_t total, int *slot);

/* Replace n values by the largest of any rank: collective. 0, or -1 if that failed. */
typedef int (*guard_agree)(void *context, double *value, int n);

/*
 * The call took so long here; setup: what was spent on getting ready besides, such as building the
 * plan. Collective where agree is called. Returns 1 if that settled the entry anew, else 0, or -1
 * if agree failed; the entry is then settled on the library for good.
 */
int guard_note(struct guard_entry *e, int slot, double seconds, double setup, guard_agree agree,
               void *context);

/* The reroute that was picked cannot serve the call, on all ranks alike. Returns as guard_note. */
int guard_cannot(struct guard_entry *e);

/* Is it time to ask a later clock? Before guard_settled and guard_pick of that call. */
int guard_due(const struct guard_entry *e);

/* The seconds of that turn's call on this rank; infinite: not known yet. */
typedef double (*guard_clock)(void *context, int slot);

/* Ask it, and agree: collective. Returns as guard_note. */
int guard_look(struct guard_entry *e, guard_clock clock, guard_agree agree, void *context);

/* The reroute that was closest to the library in the last trial, or faster; 0: none was tried. */
int guard_rival(const struct guard_entry *e);

#endif
