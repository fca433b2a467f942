/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The estimated times of all contenders of a size class at once: a normal distribution of their
 * logarithms. Contenders are of three kinds: the library's own choice, other algorithms of the
 * library, and our schedules. Each kind has its own model, whose error its contenders share. If one
 * of ours is slower than predicted, others of ours probably are too; that tells nothing about the
 * library's.
 *
 * Before any sample, the distribution says that
 * - the library's own choice may take any time;
 * - the contenders of a kind are together as fast as that, give or take a factor of two;
 * - each is off from what the model predicts of it beside the others, by a third or so; the
 *   library's other algorithms, which the model knows by their outline alone, by twice as much.
 * From one size class to the next a kind changes by a little, and each of its contenders by less.
 *
 * Times of a round share the state of the machine. So contenders of one round compare well, and
 * those of different rounds roughly.
 *
 * Only the four operations; no MPI, no clock, no memory of its own. Thread rule: the caller's.
 */
#ifndef COLLSHIM_SHIM_DECIDE_BELIEF_H
#define COLLSHIM_SHIM_DECIDE_BELIEF_H

#include "shim/decide/evidence.h"

enum belief_kind { BELIEF_CHOICE, BELIEF_OURS, BELIEF_LIBRARY, BELIEF_KINDS };

struct belief {
    double mean[EVIDENCE_ARMS], cov[EVIDENCE_ARMS][EVIDENCE_ARMS];
    uint8_t kind[EVIDENCE_ARMS]; /* enum belief_kind */
    int n;                       /* contenders; 0 is the library's choice */
};

/* How much longer one contender takes than another, as a logarithm, and its standard deviation. */
struct estimate {
    double mean, spread;
};

/* The model's prediction: logarithms of seconds of contenders 1 ... n - 1, and their kinds. n >= 2.
 */
void belief_begin(struct belief *b, const double *predicted, const uint8_t *kind, int n);

/* The same contenders in another size class, or on a machine that has changed by so much (standard
   deviations of a kind together and of each contender; 0: by the usual of a class). */
void belief_carry(struct belief *b, double together, double each);

/* Learn from samples. to[i]: which of b's contenders contender i of the samples is, or -1. */
void belief_learn(struct belief *b, const struct samples *s, const int to[EVIDENCE_ARMS]);

/* Contender i against contender k. */
struct estimate belief_compare(const struct belief *b, int i, int k);

#endif
