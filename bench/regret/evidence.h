/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the measured times of a few contenders say about which is faster.
 *
 * Contenders are measured in rounds, one call each, so that whatever slows the machine for a while
 * slows all of a round. Two are compared by the rounds that both are in: the sum of one's times
 * over the sum of the other's. A call that took more than three times what its contender usually
 * takes was held up, and does not count, unless a contender has clearly more of them than others:
 * then that is how it is.
 *
 * Only the four operations are used, so that all ranks get the same bits whatever
 * mathematical library they have. No MPI, no clock, no memory of its own. Thread rule: the
 * caller's.
 */
#ifndef COLLSHIM_BENCH_REGRET_EVIDENCE_H
#define COLLSHIM_BENCH_REGRET_EVIDENCE_H

#include <stdint.h>

enum { EVIDENCE_ARMS = 8, EVIDENCE_ROUNDS = 40, EVIDENCE_NONE = INT16_MIN };

/* Of one size class. All zero is empty. The oldest round gives way to the newest. */
struct evidence {
    int16_t time[EVIDENCE_ROUNDS][EVIDENCE_ARMS]; /* 1/1024 of an e-fold of a second */
    uint16_t rounds;                              /* so far */
    uint8_t tries[EVIDENCE_ARMS];                 /* samples so far, up to 255 */
};

/* How much longer one contender takes than another, as a logarithm, and its standard error. */
struct estimate {
    double mean, spread;
};

/* The samples that count. */
struct samples {
    double seconds[EVIDENCE_ROUNDS][EVIDENCE_ARMS]; /* 0: none, or something held it up */
    int rounds, n[EVIDENCE_ARMS];
    int held_up, all;           /* of all contenders */
    double tail[EVIDENCE_ARMS]; /* what calls that are held up add to the mean, as a share, beyond
                                   what happens to others */
};

/* Add a round: seconds of each contender, 0 or less: not in it. A contender's first call is cold,
   and is forgotten with its second unless that took as long. */
void evidence_add(struct evidence *e, const double seconds[EVIDENCE_ARMS]);

/* All samples are of the past; that there were some is still known. */
void evidence_forget(struct evidence *e);

/* Seconds of the one sample of a contender; 0: none is kept. */
double evidence_first(const struct evidence *e, int arm);

void evidence_samples(const struct evidence *e, struct samples *s);

/* Contender a against b, by the rounds that both are in, else by any. spread 0: not known. */
struct estimate evidence_compare(const struct samples *s, int a, int b);

/* What may be hoped for from a contender that takes e longer: the mean of what it is shorter, where
   it is. */
double evidence_hope(struct estimate e);

/* The natural logarithm of x > 0, and e to the x, -30 <= x <= 30, and the root of x >= 0, all good
 * to 1e-4. */
double evidence_ln(double x);
double evidence_exp(double x);
double evidence_root(double x);

#endif
