/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judging measured rates of rails: which are equal within the error of measuring, and which have
 * changed. Every rank holds the same numbers and has the same answers.
 */
#ifndef COLLSHIM_SHIM_DECIDE_RAILS_LEVEL_H
#define COLLSHIM_SHIM_DECIDE_RAILS_LEVEL_H

#include "config/topo/topo.h"

/* The median of the n values that are above 0; 0: there are none. room: [n], for the work. */
double rails_median(const double *value, int n, double *room);
/* With an even number of values, the lower one of the two in the middle: the usual time, also where
   half of all rails are slow. */
double rails_lower_median(const double *value, int n, double *room);

/* Are all values that are above 0 equal, as far as measuring can tell? */
int rails_alike(const double *rate, int n);

/* Rates of 0, which are not measured, become the usual one. Rates that differ by no more than the
   error of measuring become their mean. Otherwise a rail with a lucky measurement would get too
   much, and all others would wait for it. For the same reason a single rate above all others
   becomes the next one, where there are 8 or more. With one rail at a quarter, a tenth too little
   costs a call 1 %, and a tenth too much 10 %. room: [n], for the work. */
void rails_level(double *rate, int n, double *room);

/* Parts of the fastest rate. Below rails_slow_from a rail is slow. */
double rails_share(const double *rate, int n, int i);
extern const double rails_slow_from;

/* How many times faster or slower value i is than before, relative to the fastest; 1: within the
   error of measuring. Either may be all 0: equal rails. The rate of a rail that is hardly used does
   not matter. */
double rails_times(const double *before, const double *now, int n, int i);

/* Is that more than 1 for one of them? */
int rails_changed(const double *before, const double *now, int n);

/* How many times as long as one that suits the rates a call takes that uses a node's rails evenly;
   1: rates are equal, or not known. */
double rails_even_use(const struct topo *t);

#endif
