/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What measured rates of rails say: which are equal as far as measuring can tell, and whether they
 * are others than they were. Every rank holds the same numbers and comes to the same answers.
 */
#ifndef COLLSHIM_SHIM_DECIDE_RAILS_LEVEL_H
#define COLLSHIM_SHIM_DECIDE_RAILS_LEVEL_H

/* The median of the n values that are above 0; 0: there are none. room: [n], for the work. */
double rails_median(const double *value, int n, double *room);

/* Are all values that are above 0 equal, as far as measuring can tell? */
int rails_alike(const double *rate, int n);

/* Rates of 0, which nobody measured, become the usual one; rates that measuring does not tell apart
   become their mean: what one is given too much of, because it had a good moment, all others wait
   for. room: [n], for the work. */
void rails_level(double *rate, int n, double *room);

/* Of the fastest rate. Below rails_slow_from a rail is not as the others are. */
double rails_share(const double *rate, int n, int i);
extern const double rails_slow_from;

/* How many times faster or slower value i is than before, in relation to the fastest; 1: by no more
   than measuring errs. Either may be all 0: equal ones. Of rails that are hardly used it does not
   matter how slow they are. */
double rails_times(const double *before, const double *now, int n, int i);

/* Is that more than 1 for one of them? */
int rails_changed(const double *before, const double *now, int n);

#endif
