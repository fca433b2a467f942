/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the rails are, relative to each other: measured once per job, because neither MPI nor
 * the machine says what a rail's traffic is limited to, and a share that is cut for equal rails
 * makes every collective wait for a slow one.
 */
#ifndef COLLSHIM_SHIM_MPI_RAILS_H
#define COLLSHIM_SHIM_MPI_RAILS_H

#include <mpi.h>

#include "config/topo.h"

/* Is there anything to find out? One rail, or one rank per node, leaves nothing to divide. */
int rails_wanted(const struct topo *t);

/*
 * If the topology spans nodes and does not know its rails' rates: let every rank measure what it
 * can send to the next node, unless all ranks have done so before, and fill in t->rail if the rates
 * differ by more than measuring does. Collective over comm, whose ranks are those of t; all ranks
 * come to the same rates. Returns an MPI code, after which t is as it was.
 */
int rails_measure(MPI_Comm comm, int rank, struct topo *t);

#endif
