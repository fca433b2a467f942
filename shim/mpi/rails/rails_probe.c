/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/rails/rails_probe.h"

#include <stdlib.h>

#include "shim/decide/base/say.h"
#include "shim/decide/choose/rails_level.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/rails/rails_pass.h"

enum { PROBED = 128 << 10 };

static double fastest(const struct topo *t)
{
    double most = 0;

    for (int r = 0; r < t->nrails; r++)
        most = t->rail[r].bw_bytes_per_s > most ? t->rail[r].bw_bytes_per_s : most;
    return most;
}

/* The measured rate from the rank to the one of its local index on the next node, if that is
   planned as slow; else 0. */
static double planned_slow(const struct topo *t, int rank)
{
    int to = rank == MPI_PROC_NULL ? MPI_PROC_NULL : rails_counterpart(t, rank, rails_next);

    if (to == MPI_PROC_NULL || t->rank[rank].rail < 0)
        return 0;
    const struct topo_rank *a = &t->rank[rank], *b = &t->rank[to];
    double out = topo_rail_rate(t, a->node, a->rail, TOPO_OUT);
    double in = topo_rail_rate(t, b->node, b->rail, TOPO_IN), rate = out < in ? out : in;
    double most = fastest(t);

    return rate < rails_slow_from * most ? rate : 0;
}

double rails_probe_cost(const struct topo *t)
{
    double cost = 0;

    for (int r = 0; r < t->nranks; r++) {
        double planned = planned_slow(t, r);

        if (planned > 0 && PROBED / planned > cost)
            cost = PROBED / planned;
    }
    return cost;
}

int rails_probe(MPI_Comm comm, int rank, const struct topo *t, double much, int *faster,
                double *seconds)
{
    int to = rails_counterpart(t, rank, rails_next),
        from = rails_counterpart(t, rank, rails_opposite(rails_next));
    double out = planned_slow(t, rank), in = planned_slow(t, from);
    char *buffer = calloc(2, RAILS_TIMED);
    double value[2] = {!buffer};
    struct rails_passed mine;
    int rc = mpi.Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_MAX, comm);

    *faster = 0;
    *seconds = 0;
    if (rc == MPI_SUCCESS && value[0] <= 0) {
        rc =
            rails_pass_on(comm, buffer, out > 0 ? to : MPI_PROC_NULL, in > 0 ? from : MPI_PROC_NULL,
                          (struct rails_transfer){PROBED, RAILS_SMALL, RAILS_BURST}, &mine);
        value[0] = out > 0 && mine.rate > much * out;
        value[1] = out > 0 ? mine.seconds : 0;
        if (out > 0)
            say_here(CFG_LEVEL_DEBUG, "rails: a probe took %.3g s, %.3g Mbit/s; planned %.3g",
                     mine.seconds, mine.rate * 8 / 1e6, out * 8 / 1e6);
        if (rc == MPI_SUCCESS)
            rc = mpi.Allreduce(MPI_IN_PLACE, value, 2, MPI_DOUBLE, MPI_MAX, comm);
        *faster = value[0] > 0;
        *seconds = value[1];
    }
    free(buffer);
    return rc;
}
