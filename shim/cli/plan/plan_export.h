/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans in the formats of other tools. Operation-level: a line is an operation, not a chunk. */
#ifndef COLLSHIM_SHIM_CLI_PLAN_EXPORT_H
#define COLLSHIM_SHIM_CLI_PLAN_EXPORT_H

#include <stdio.h>

#include "config/topo/topo.h"
#include "planners/plan/plan.h"

/* One rank's operations and dependencies for Graphviz. */
void plan_export_dot(FILE *f, const struct plan *p);

/* All ranks for LogGOPSim: https://htor.inf.ethz.ch/research/LogGOPSim/ describes GOAL. */
void plan_export_goal(FILE *f, const struct plan *const *plan, int nranks);

/*
 * The bytes from rank to rank, as a matrix of characters: a row for each sender, a column for each
 * receiver. Beyond 64 ranks they are nodes, beyond 64 nodes groups of nodes. Returns 0 or -ENOMEM.
 * Source: figure 7 of HiCCL.
 */
int plan_export_matrix(FILE *f, const struct plan *const *plan, const struct topo *t);

#endif
