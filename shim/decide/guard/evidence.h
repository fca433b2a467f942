/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured times of a few contenders, and how noisy they are.
 *
 * Contenders are measured in rounds, one call each, so that a disturbance of the machine slows a
 * whole round. Times are logarithms: a ratio of two contenders is a difference, and noise is a
 * share of a call. A call that took more than three times its contender's usual time was held up,
 * and does not count, unless the contender has clearly more such calls than the others. Only the
 * four operations are used, so that all ranks get the same bits with any mathematical library. No
 * MPI, no clock, no memory of its own. Thread rule: the caller's.
 */
#ifndef COLLSHIM_SHIM_DECIDE_EVIDENCE_H
#define COLLSHIM_SHIM_DECIDE_EVIDENCE_H

#include <stdint.h>

enum { EVIDENCE_ARMS = 5, EVIDENCE_ROUNDS = 40, EVIDENCE_NONE = INT16_MIN };

/* One call in so many is held up, at first sight. */
static const double evidence_usual_calls = 20;

/* Logarithm: a sample so far above its contender's others is held up. */
static const double evidence_held_up = 1.2;

/* One size class. All zero is empty. Rounds are in order, oldest first. A new one replaces the
   oldest that is not among the last two of a contender. */
struct evidence {
    int16_t time[EVIDENCE_ROUNDS][EVIDENCE_ARMS]; /* 1/1024 of an e-fold of a second */
    uint16_t rounds;                              /* so far */
    uint8_t tries[EVIDENCE_ARMS];                 /* samples so far, up to 255 */
};

/* The samples that count. */
struct samples {
    double log[EVIDENCE_ROUNDS][EVIDENCE_ARMS]; /* of seconds */
    uint8_t in[EVIDENCE_ROUNDS];                /* contenders that the round has, a bit each */
    int rounds, n[EVIDENCE_ARMS];
    double variance[EVIDENCE_ARMS]; /* of one sample of a contender */
    int held_up, all;               /* calls of all contenders */
    double tail[EVIDENCE_ARMS]; /* extra time of a contender's held-up calls, added to the logarithm
                                   of its mean, beyond that of the others */
};

/* Add a round: seconds of each contender, 0 or less: not in it. A contender's first call is cold,
   and is forgotten with its second unless that took as long. */
void evidence_add(struct evidence *e, const double seconds[EVIDENCE_ARMS]);

/* Forget one contender, as if it had never been tried. */
void evidence_forget_arm(struct evidence *e, int arm);

void evidence_samples(const struct evidence *e, struct samples *s);

/* The natural logarithm of x > 0, and e to the x, -30 <= x <= 30, and the root of x >= 0, all good
 * to 1e-4. */
double evidence_ln(double x);
double evidence_exp(double x);
double evidence_root(double x);

#endif
