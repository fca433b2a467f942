/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the rails are, relative to each other, by node and way: measured in the job, because
 * neither MPI nor the machine says what a rail's traffic is limited to, and a share that is cut for
 * equal rails makes every collective wait for a slow one.
 */
#ifndef COLLSHIM_SHIM_MPI_RAILS_H
#define COLLSHIM_SHIM_MPI_RAILS_H

#include <mpi.h>

#include "config/topo.h"

/* Is there anything to find out? One node, or two ranks, leave nothing to divide. */
int rails_wanted(const struct topo *t);

/*
 * If rails_wanted and the topology does not know its rails' rates: let every rank measure what it
 * can send to the next node, and where that differs, to the one before, unless all ranks have done
 * so half a minute before, at most. Fill in t's rates if they differ by more than measuring does.
 * Collective over comm, whose ranks are those of t; all ranks come to the same rates. Returns an
 * MPI code, after which t is as it was.
 */
int rails_measure(MPI_Comm comm, int rank, struct topo *t);

/*
 * Send a few bytes over the rails that t has as slow, and see whether some are `much` times as fast
 * by now: *faster; *seconds: what that took. Collective, and the same on all ranks.
 */
int rails_probe(MPI_Comm comm, int rank, const struct topo *t, double much, int *faster,
                double *seconds);

/*
 * Measure again, with fewer bytes. *changed: rates were found that differ from t's by
 * more than measuring does, and t has them now; a line says which. calls: how many there were.
 * Collective, and the same on all ranks.
 */
int rails_measure_again(MPI_Comm comm, int rank, struct topo *t, unsigned calls, int *changed);

#endif
