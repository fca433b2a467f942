/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the rails are, relative to each other, by node and way. They are measured in the job,
 * because neither MPI nor the machine tells the limits of a rail. A share that is cut for equal
 * rails makes every collective wait for a slow one.
 */
#ifndef COLLSHIM_SHIM_MPI_RAILS_H
#define COLLSHIM_SHIM_MPI_RAILS_H

#include <mpi.h>

#include "config/topo/topo.h"

/* Is there anything to find out? One node, or two ranks, leave nothing to divide. */
int rails_wanted(const struct topo *t);

/*
 * Nothing is done unless rails_wanted and the topology does not know its rails' rates. Every rank
 * measures its rate to the next node. Where rates differ, it also measures that to the node before,
 * or on two nodes to another rank there. brief: with fewer bytes, and not which messages suit the
 * rails. If all ranks have done as much in the last half minute, that serves. t gets the rates if
 * they differ by more than measuring does. Rails above 3 Gbit/s are too fast for the brief form:
 * nothing is known then.
 * *usual: bytes/s of the median rail, if that is known. Collective over comm, whose ranks are
 * those of t; all ranks come to the same rates. Returns an MPI code, after which t is as it was.
 */
int rails_measure(MPI_Comm comm, int rank, int brief, struct topo *t, double *usual);

/*
 * A glance for small calls: 96 KiB from each rank to the next node's, and once more where a rail
 * was slow. Sets *slow where a rail takes at least four times as long as the usual one both times:
 * measuring is worth more than these calls' bytes say. Collective, and the same on all ranks.
 */
int rails_glance(MPI_Comm comm, int rank, const struct topo *t, int *slow);

/*
 * Measure again, briefly. Sets *changed where some rates differ from t's by more than the error of
 * measuring. Then t has them, and a line tells which. calls: the number of calls before. *cost:
 * seconds that it took the rank that came last. Collective, and the same on all ranks.
 */
int rails_measure_again(MPI_Comm comm, int rank, struct topo *t, unsigned calls, int *changed,
                        double *usual, double *cost);

#endif
