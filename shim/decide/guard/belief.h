/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The estimated times of all contenders of a size class at once: a normal distribution of their
 * logarithms. Contender 0 is the library's own choice, the others are reroutes. The model that
 * predicts reroutes has an error that all of them share: if one is slower than predicted, others
 * probably are too.
 *
 * Before any sample, the distribution says that
 * - the library may take any time;
 * - the reroutes are together as fast as that, give or take a factor of two;
 * - each is off from what the model predicts of it beside the others, by a half or so.
 * From one size class to the next they change together by a little, and each by less.
 *
 * Times of a round share the state of the machine. So contenders of one round compare well, and
 * those of different rounds roughly.
 *
 * Only the four operations; no MPI, no clock, no memory of its own. Thread rule: the caller's.
 */
#ifndef COLLSHIM_SHIM_DECIDE_BELIEF_H
#define COLLSHIM_SHIM_DECIDE_BELIEF_H

#include "shim/decide/guard/evidence.h"

/* Standard deviation of a logarithm: of a contender from one class or job to the next, and of the
   machine from one round to the next. */
static const double belief_drift = .1;

/* No estimate is better. */
static const double belief_finest = .004;

struct belief {
    double mean[EVIDENCE_ARMS], cov[EVIDENCE_ARMS][EVIDENCE_ARMS];
    int n; /* contenders; 0 is the library's choice */
};

/* How much longer one contender takes than another, as a logarithm, and its standard deviation. */
struct estimate {
    double mean, spread;
};

/* The model's prediction: logarithms of seconds of contenders 1 ... n - 1. n >= 2. */
void belief_begin(struct belief *b, const double *predicted, int n);

/* The same contenders in another size class, or in another job. */
void belief_carry(struct belief *b);

/* Learn from samples. to[i]: which of b's contenders contender i of the samples is, or -1. */
void belief_learn(struct belief *b, const struct samples *s, const int to[EVIDENCE_ARMS]);

/* Contender i against contender k. */
struct estimate belief_compare(const struct belief *b, int i, int k);

#endif
