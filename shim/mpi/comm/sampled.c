/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/sampled.h"

#include "shim/mpi/api/calls.h"
#include "shim/record/sites/call_site.h"
#include "shim/record/waits/sample.h"

enum { WORLD = 1 };

static uint64_t opened; /* 0: nothing is sampled */
static struct {
    int size, rank, failed;
    struct series *series[SITE_BARRIER + 1]; /* owned; NULL: none yet */
} world;

void sampled_open(uint64_t now)
{
    if (mpi.Comm_size(MPI_COMM_WORLD, &world.size) == MPI_SUCCESS &&
        mpi.Comm_rank(MPI_COMM_WORLD, &world.rank) == MPI_SUCCESS && world.size > 1)
        opened = now;
}

void sampled_call(MPI_Comm comm, int root, uint64_t now)
{
    const struct site_call *call = &site_now;

    if (!opened || world.failed || comm != MPI_COMM_WORLD || !sample_role(call->collective, 0))
        return;
    struct series **series = &world.series[call->collective];
    if (!*series && !(*series = series_make(
                          &(struct series_key){WORLD, (uint32_t)world.size, call->collective})))
        return;
    series_add(*series,
               (struct sample){.entry = call->began,
                               .exit = now,
                               .work = call->began - (call->ended ? call->ended : opened),
                               .row = call->row,
                               .role = (uint8_t)sample_role(call->collective, root == world.rank)});
}

void sampled_failed(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        world.failed = 1;
}
