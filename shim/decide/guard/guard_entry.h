/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's state (guard.h): an entry for each collective and class of calls, and its verdict.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_ENTRY_H
#define COLLSHIM_SHIM_DECIDE_GUARD_ENTRY_H

#include <stdint.h>

#include "planners/choose/choose.h"
#include "shim/decide/guard/belief.h"

enum { GUARD_NATIVE, GUARD_CONTENDERS = EVIDENCE_ARMS, GUARD_REROUTES = GUARD_CONTENDERS - 1 };
enum {
    GUARD_ENTRIES = 48, /* collectives by class */
    GUARD_IDLE = 20000, /* calls of others after which an entry gives way to a new one */
    GUARD_ROUND = 3,    /* slots of a round, at most */
    GUARD_ROUNDS = 3,   /* of a run; that wait for a deferred clock together, at most */
    GUARD_SLOTS = GUARD_ROUND * GUARD_ROUNDS,
    GUARD_FEW = 3,    /* calls or rounds that chance hardly explains */
    GUARD_KNOWN = 12, /* calls or rounds after which a contender is known well */
    GUARD_LEAD = GUARD_KNOWN - GUARD_ROUNDS, /* calls in a row before those that a run measures */
    GUARD_HORIZON = 2000, /* calls that are expected, besides as many as were made */
    /* Trials lose a call and a 32nd of all calls at most. Looks are a 32nd of the calls apart. */
    GUARD_SHARE = 32,
    GUARD_PAUSE = 4,    /* calls from the last slot until a deferred clock is asked first */
    GUARD_CLASSES = 64, /* powers of two of the size */
    GUARD_KINDS = GUARD_CLASSES,
    GUARD_UNTIMED = -1,
    GUARD_VALUES = GUARD_SLOTS + 1 /* that are agreed on at once */
};

_Static_assert((int)GUARD_REROUTES >= (int)PLAN_CANDIDATES, "all that planners hand over");

/* Which contender is in use, and by what. */
struct guard_verdict {
    uint8_t known;           /* 0: there is none */
    uint8_t contender;       /* in use */
    uint8_t rival;           /* the same, or the closest if that is the library; 0: none */
    struct estimate against; /* logarithm of the rival's time through the library's */
};

/* Estimates of the contenders before any call. */
struct guard_prior {
    struct estimate recalled[GUARD_CONTENDERS]; /* of earlier jobs; spread 0: nothing */
    double predicted[GUARD_CONTENDERS];         /* logarithm of the model's seconds */
};

/* Turns since the last agreement: of one round, or of several. */
struct guard_slots {
    double mine[GUARD_SLOTS];       /* this rank's seconds of a slot by the byte */
    double scale[GUARD_SLOTS];      /* of a slot's seconds, to compare by the byte */
    uint8_t contender[GUARD_SLOTS]; /* of each slot, in order */
    uint8_t n, picked;              /* how many slots; picked so far */
    uint8_t end[GUARD_ROUNDS];      /* of each round: the slots up to there */
    uint8_t rounds;                 /* how many; more than one with a deferred clock or in runs */
    uint8_t in_runs; /* these rounds are one: slots of a contender follow each other */
    uint8_t led;     /* calls before this slot that are not measured, so far */
};

/* The cost of measuring. */
struct guard_cost {
    double spent;     /* time lost by trying, in calls of the one in use */
    double agreement; /* the time of this rank's last agreement with its arithmetic, by the byte */
    double agreeing;  /* the time of an agreement, in calls */
};

/* The sizes of calls that take part. */
struct guard_sizes {
    uint64_t total;           /* bytes of such a call */
    uint8_t elsewhere, loose; /* calls of other sums since one took part; all may */
};

/* The distance of rounds. */
struct guard_look {
    uint32_t left, apart; /* settled: calls until the next look; between looks */
    uint8_t free_rounds;  /* that may follow each other */
};

/* A deferred clock (guard_deferred.h). */
struct guard_clock {
    uint32_t pause, waited; /* calls until it is asked; since the last slot */
    uint32_t lag;           /* calls after which it answers, as far as is known */
    uint8_t deferred;       /* as struct guard's: 0: the clock is not one */
};

/* Has the machine changed? */
struct guard_change {
    uint32_t at;      /* calls when that was last found; 0: never */
    uint16_t alarmed; /* rounds of the evidence before these alarms */
    uint8_t alarms;   /* looks in a row that found the one in use slower */
};

/* The limits of the evidence. */
struct guard_doubts {
    uint32_t seen[GUARD_CONTENDERS]; /* calls when a contender was last measured */
    uint8_t discarded;               /* contenders whose only call was held up, a bit each */
};

struct guard_entry {
    struct plan_candidate reroute[GUARD_REROUTES]; /* of contenders 1 ... */
    struct evidence evidence;
    struct guard_prior prior;
    struct estimate found[GUARD_CONTENDERS]; /* against the library, when the verdict was made */
    struct guard_verdict verdict;            /* the last one */
    struct guard_verdict before;             /* the one before */
    struct guard_slots slots;
    struct guard_cost cost;
    struct guard_sizes sizes;
    struct guard_clock clock;
    struct guard_look look;
    struct guard_change change;
    struct guard_doubts doubts;
    uint32_t calls;     /* that took part, waited for a clock or were settled */
    uint32_t spared_at; /* calls when the library was last spared, or no longer */
    uint8_t state;
    uint8_t n;        /* contenders, with the library */
    uint8_t best;     /* the contender in use */
    uint8_t out;      /* contenders that cannot serve, a bit each */
    uint8_t afforded; /* guard_affords was true */
    uint8_t why;      /* why the library serves for good, the caller's; 0: it does not */
};

/* All of a communicator's entries. Owned by the communicator's state. */
struct guard {
    uint32_t key[GUARD_ENTRIES]; /* 0: free */
    uint32_t used[GUARD_ENTRIES];
    uint32_t calls;
    uint8_t deferred;    /* the clock answers later */
    uint32_t spared;     /* calls without a trial of the library (guard_spare); 0: none */
    double (*now)(void); /* seconds, to find what an agreement takes; NULL: the usual */
    struct guard_entry entry[GUARD_ENTRIES];
};

#endif
