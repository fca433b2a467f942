/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms of the rows' cost functions: latencies, rates and least transfer times of a topology, in
 * seconds and bytes per second. They order the rows and drop those that cannot win. They do not
 * predict a clock: the guard measures the rest. rates.h has what the topology lacks.
 *
 * Pure functions of values that are the same on all ranks: never of rank or in_place.
 */
#ifndef COLLSHIM_PLANNERS_COST_H
#define COLLSHIM_PLANNERS_COST_H

#include "planners/links/rates.h"
#include "planners/plan/collective.h"

#define COST_MESSAGE_S 3e-7 /* to post and complete one message or chunk of one */

/* Before the first byte of a message is there, between nodes and inside one: the slowest link's. */
double cost_rail_latency(const struct topo *t);
double cost_local_latency(const struct topo *t);

/* One connection's rate over a usual rail of the slowest node, and a rank's slowest link inside its
   node. For data on GPUs the latter is the link between GPUs. */
double cost_rail_rate(const struct topo *t);
/* The rate of the links inside a node for a rank, as far as its messages can use it. */
double cost_inside_rate(const struct plan_request *q, double links);
double cost_local_rate(const struct plan_request *q);

/* The least time that the busiest node's rails need to carry the request, all of them in use; 0 on
   one node. (load_bound in seconds, also if rates are not known.) It is longer if connections are
   known to be capped and too few to fill the rails. For a slice (q->ppg of them) it is the best
   case: slices do not disturb each other, unless the rate of a connection is known. */
double cost_crossing(const struct plan_request *q);

/* Processes per rank whose connections fill the rails; INT_MAX if unknown. */
int cost_processes(const struct topo *t);

/* Seconds in which a rank of the largest node exchanges its share of the data with the ranks beside
   it; 0 with one rank per node. */
double cost_inside(const struct plan_request *q);

int cost_largest_node(const struct topo *t); /* ranks of it */
int cost_log2(int n);                        /* rounded up: steps of a tree over n */

/* How often a request's data goes round: 2 for allreduce, else 1. */
int cost_passes(const struct plan_request *q);

/* Posting and completing all chunks of what moves between two ranks, on the busiest rank. */
double cost_messages(const struct plan_request *q);

/* No library can be faster: a tree's latency and the least transfer. */
double cost_least(const struct plan_request *q);

#endif
