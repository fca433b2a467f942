/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Did a quantity change between the runs of two sides? Rows are quantities, e.g. call sites; values
 * are logarithms of times, so a difference is a ratio.
 *
 * A side's location is the mean without its slowest quarter of runs: runs that the machine held up
 * do not move it. The test is Westfall and Young's: runs change sides at random, and a row's p is
 * the share of these draws in which any row differs as much. So p holds for all rows together,
 * with any noise, and noise that rows have in common costs nothing. Rejected: Welch's test with
 * Holm's correction, which needs normal noise, and at 50 rows twice the runs.
 */
#ifndef COLLSHIM_SHIM_CLI_GATE_STAT_H
#define COLLSHIM_SHIM_CLI_GATE_STAT_H

enum { GATE_RUNS = 100 /* of a side at most */, GATE_DRAWS = 4999, GATE_HITS = 45 };

/* A p of at most this is sure: below 1 in 100, with room for the draws. */
static const double gate_sure = (double)GATE_HITS / (GATE_DRAWS + 1);

enum gate_verdict { GATE_SAME, GATE_SLOWER, GATE_FASTER, GATE_UNSURE };

struct gate_change {
    double side[2];        /* locations */
    double change, error;  /* their difference, and its standard error */
    double slower, faster; /* p; not below 1 in the number of ways to choose sides */
    enum gate_verdict verdict;
    int needed; /* runs of each side that would find the loss; 0: not known */
};

/*
 * value[row * (base + new) + run], the baseline's runs first; base and new: 1 to GATE_RUNS. loss:
 * the logarithm that matters. A row has a verdict if p is sure and the change is at least half of
 * loss; or if it is within loss beyond two standard errors, and there
 * are runs enough for a sure p. Fills change[rows]. Returns 0, or
 * -ENOMEM. The same values give the same result. Any thread.
 */
int gate_compare(const double *value, int rows, int base, int new, double loss,
                 struct gate_change *change);

#endif
