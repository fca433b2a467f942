/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard chooses between the library's call (contender 0) and a few reroutes. It takes the one
 * measured to be fastest, per communicator, collective and size class, and loses little time by
 * measuring. worth.h weighs a trial against its possible gain.
 *
 * A round is one call of each contender that is worth it, the one in use among them. All ranks then
 * agree on its times, and all follow the same path from there. The slowest rank's time counts: in a
 * rooted collective the others may end long before the result is there. Between rounds no call is
 * timed or agreed on.
 *
 * A size class is a power of two of the collective's bytes. Calls of one sum of bytes take part, so
 * that times can be compared; calls of other sums take the contender in use. If no sum comes back,
 * all calls of the class take part, and times are compared by the byte. Exchanges of one sum of
 * bytes may take ten times as long when all of it goes to one rank. So a class of exchanges also
 * has one skew (nimble_skew). Calls in device memory have classes of their own.
 *
 * A call may leave full queues behind, spent bursts of a rate limiter, or other caches. That must
 * not count for another contender. First tries tell far contenders apart all the same. Near ones
 * are compared in a block, as they are in the long run: each is called several times in a row, and
 * the last few calls are measured.
 *
 * A clock may answer later, as events on a stream do: hundreds of calls later, if a host runs
 * ahead (guard_later.h). The calls meanwhile take the contender in use. All turns have two calls
 * there. Ranks do not end an uneven exchange together, so the call behind it waits for the last
 * rank.
 *
 * All ranks make the same calls in the same order, so all are at the same point. This file knows no
 * library: the caller brings the clock and the agreement. Thread rule: the communicator's: one
 * thread at a time.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_H
#define COLLSHIM_SHIM_DECIDE_GUARD_H

#include <stdint.h>

#include "planners/choose.h"
#include "shim/decide/belief.h"

enum { GUARD_NATIVE, GUARD_CONTENDERS = EVIDENCE_ARMS, GUARD_REROUTES = GUARD_CONTENDERS - 1 };
enum {
    GUARD_ENTRIES = 48, /* collectives by class */
    GUARD_IDLE = 20000, /* calls of others after which an entry gives way to a new one */
    GUARD_ROUND = 3,    /* turns of a round, at most */
    GUARD_ROUNDS = 3,   /* of a block; that wait for a later clock together, at most */
    GUARD_TURNS = GUARD_ROUND * GUARD_ROUNDS,
    GUARD_FEW = 3,    /* calls or rounds that chance hardly explains */
    GUARD_KNOWN = 12, /* calls or rounds after which a contender is known well */
    GUARD_LEAD = GUARD_KNOWN - GUARD_ROUNDS, /* calls in a row before those that a block measures */
    GUARD_HORIZON = 2000, /* calls that are expected, besides as many as were made */
    /* Trials lose a call and a 32nd of all calls at most. Looks are a 32nd of the calls apart. */
    GUARD_SHARE = 32,
    GUARD_PAUSE = 4,    /* calls from the last turn until a later clock is asked first */
    GUARD_CLASSES = 64, /* powers of two of the size */
    GUARD_KINDS = GUARD_CLASSES,
    GUARD_UNTIMED = -1,
    GUARD_VALUES = GUARD_TURNS + 1 /* that are agreed on at once */
};

_Static_assert((int)GUARD_REROUTES >= (int)PLAN_CANDIDATES, "all that planners hand over");

/* Which contender is in use, and by what. */
struct guard_verdict {
    uint8_t known;           /* 0: there is none */
    uint8_t contender;       /* in use */
    uint8_t rival;           /* the same, or the closest if that is the library; 0: none */
    struct estimate against; /* logarithm of the rival's time through the library's */
};

struct guard_entry {
    struct plan_candidate reroute[GUARD_REROUTES]; /* of contenders 1 ... */
    struct evidence evidence;
    struct estimate recalled[GUARD_CONTENDERS]; /* of earlier jobs; spread 0: nothing */
    struct estimate found[GUARD_CONTENDERS];    /* the same, when the verdict was made */
    struct guard_verdict verdict;               /* the last one */
    struct guard_verdict before;                /* the one before */
    double predicted[GUARD_CONTENDERS];         /* logarithm of the model's seconds */
    double mine[GUARD_TURNS];                   /* this rank's seconds of a turn by the byte */
    double scale[GUARD_TURNS];                  /* of a turn's seconds, to compare by the byte */
    double spent;     /* time lost by trying, in calls of the one in use */
    double agreement; /* the time of this rank's last agreement with its arithmetic, as mine */
    double agreeing;  /* the time of an agreement, in calls */
    uint64_t total;   /* bytes of the calls that take part */
    uint32_t calls;   /* that took part, waited for a clock or were settled */
    uint32_t seen[GUARD_CONTENDERS]; /* calls when it was last measured */
    uint32_t spared_at;              /* calls when the library was last spared, or no longer */
    uint32_t changed;                /* calls when the machine was last found to have changed */
    uint32_t left, interval;         /* settled: calls until the next look; between looks */
    uint32_t pause, waited; /* a later clock: calls until it is asked; since the last turn */
    uint32_t lag;           /* calls after which it answers, as far as is known */
    uint8_t state;
    uint8_t n;                 /* contenders, with the library */
    uint8_t best;              /* the contender in use */
    uint8_t turn[GUARD_TURNS]; /* contenders of these rounds, in order */
    uint8_t turns, at;         /* how many; picked so far */
    uint8_t end[GUARD_ROUNDS]; /* of each round: the turns up to there */
    uint8_t rounds;            /* how many; more than one with a later clock or in a block */
    uint8_t free_rounds;       /* that may follow each other */
    uint8_t block;             /* these rounds are one: turns of a contender follow each other */
    uint8_t led;               /* calls before this turn that are not measured, so far */
    uint8_t elsewhere, loose;  /* calls of other sums since one took part; all may */
    uint8_t out;               /* contenders that cannot serve, a bit each */
    uint8_t alarms;            /* looks in a row that found the one in use slower */
    uint16_t alarmed;          /* rounds of the evidence before them */
    uint8_t discarded;         /* contenders whose only call was held up, a bit each */
    uint8_t why;               /* why the library serves for good, the caller's; 0: it does not */
    uint8_t later;             /* as struct guard's */
};

/* All of a communicator's entries. Owned by the communicator's state. */
struct guard {
    uint32_t key[GUARD_ENTRIES]; /* 0: free */
    uint32_t used[GUARD_ENTRIES];
    uint32_t calls;
    uint8_t later;       /* the clock answers later */
    uint32_t spared;     /* calls without a trial of the library (guard_spare); 0: none */
    double (*now)(void); /* seconds, to find what an agreement takes; NULL: the usual */
    struct guard_entry entry[GUARD_ENTRIES];
};

/* Without entries. later, now: as in the struct. */
void guard_open(struct guard *g, int later, double (*now)(void));

/* The entry of that collective, kind (less than GUARD_KINDS) and size; a new one is all zero but
   for `later`. kind: what is measured apart, as exchanges by their skew, or calls by where the
   buffers are. NULL: all entries are in use. */
struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total);

/* The same, if there is one and it has had a verdict; else NULL. */
const struct guard_entry *guard_known(const struct guard *g, enum plan_collective c, unsigned kind,
                                      uint64_t total);

/* The first entry of that collective, of any kind and size, whose verdict is a reroute; or NULL. */
const struct guard_entry *guard_favours(const struct guard *g, enum plan_collective c);

/* Is nothing to be timed? Counts the call if so. The contender is e->best then. */
int guard_settled(struct guard_entry *e);

/* If not settled: shall candidates be handed in by guard_begin before guard_pick? Without
   candidates the entry is settled on the library for good. Entries of the same collective and kind
   in near classes tell what to expect. Recipes are borrowed for as long as the entry lives. */
int guard_wants_candidates(const struct guard_entry *e);
void guard_begin(struct guard *g, struct guard_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n);

/* Contender i; NULL: there is none, or it is the library. */
const struct plan_candidate *guard_way(const struct guard_entry *e, int i);

/* Behind guard_begin: the findings of earlier jobs. They are the logarithm of each contender's time
   through the library's; spread 0: unknown. The entry is settled on them, and looks soon. */
void guard_recall(struct guard *g, struct guard_entry *e,
                  const struct estimate known[GUARD_CONTENDERS]);

/* If not settled: the contender of this call. *slot: its turn if it is to be timed, else
   GUARD_UNTIMED. After a timed turn guard_note or guard_cannot must follow. */
int guard_pick(struct guard *g, struct guard_entry *e, uint64_t total, int *slot);

/* The call of that turn took so many seconds on this rank. A later clock answers when the round is
   due; infinite: it is not known yet. */
void guard_note(struct guard_entry *e, int slot, double seconds);

/* The reroute of that turn cannot serve, on all ranks alike. why: becomes e->why if none can. */
void guard_cannot(struct guard_entry *e, int slot, unsigned why);

/* Is it time to conclude the round? Asked behind a call; with a later clock before it. */
int guard_due(const struct guard_entry *e);

/* Replace n values by the largest of any rank: collective. 0, or -1 if that failed. */
typedef int (*guard_agree)(void *context, double *value, int n);

/* Agree on the round's times, and draw conclusions. Collective. Returns 1 if e->verdict was made
   anew, else 0. If agreeing failed, the entry is settled on the library for good. */
int guard_conclude(struct guard *g, struct guard_entry *e, guard_agree agree, void *context);

/* All ranks have found that the machine is another one. Contenders that lost against the library,
   or that were not worth a trial, come back. A schedule in use stays: its looks go on. Not between
   guard_pick and guard_conclude. */
void guard_renew(struct guard *g);

/*
 * Rails have changed: the library is now expected to take so many times as long as a reroute that
 * suits them. If a trial would cost more than 3 calls, there is none until its cost is at most the
 * share of the calls that trials may lose. At 10 times that is after 144 calls, at 100 times after
 * 1,584. All that is known of the library is forgotten, if that makes a difference.
 */
void guard_spare(struct guard *g, double times);

/* Is there an entry that is not settled on the library? The same on all ranks. */
int guard_gains(const struct guard *g);

/* Is the contender of the verdict another one than that of the verdict before? */
int guard_is_news(const struct guard_entry *e);

#endif
