/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines whose nodes are alike, and schedules that are the same seen from each node: all that
 * happens on node 0 happens on the others at the same time. So node 0 is simulated alone. Its
 * message to the node at some distance arrives there as node 0 gets one from the node at the same
 * distance the other way round.
 */
#ifndef COLLSHIM_PLANNERS_MODEL_FOLD_H
#define COLLSHIM_PLANNERS_MODEL_FOLD_H

#include "planners/plan/plan.h"

struct topo;

/* How plans are the same: node k's peers are node 0's with k added to their nodes, around the end,
   or with the bits of k turned over. A mask of both where either holds. */
enum model_fold_by { MODEL_FOLD_SHIFTED = 1, MODEL_FOLD_TURNED = 2 };

struct model_fold {
    const struct topo *t; /* borrowed */
    unsigned by;
};

/* Are all nodes alike, with their ranks in order? */
int model_fold_suits(const struct topo *t);

/* In which of these ways is a rank's plan the same as that of node 0's rank at its place? */
unsigned model_fold_by(const struct topo *t, const struct plan *first, const struct plan *plan);

/* The rank of node 0 that stands for a rank; f NULL: itself. */
int model_fold_rank(const struct model_fold *f, int rank);

/* From whom the rank that stands for `to` gets what `from`, of node 0, sends to `to`. */
int model_fold_sender(const struct model_fold *f, int from, int to);

#endif
