/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a rail that is planned as slow faster by now? A few bytes tell. They must be more than what a
 * rate limiter lets through at once, and all ranks wait for them. Rejected: a probe in the
 * background. The rank's next message waits behind it, on the same connection and rail.
 */
#ifndef COLLSHIM_SHIM_MPI_RAILS_PROBE_H
#define COLLSHIM_SHIM_MPI_RAILS_PROBE_H

#include <mpi.h>

#include "config/topo/topo.h"

/*
 * Send a few bytes over the rails that t has as slow, and see whether some are `much` times as fast
 * by now: *faster; *seconds: what that took. Collective, and the same on all ranks.
 */
int rails_probe(MPI_Comm comm, int rank, const struct topo *t, double much, int *faster,
                double *seconds);

/* Seconds that this takes while rails are as slow as planned. */
double rails_probe_cost(const struct topo *t);

#endif
