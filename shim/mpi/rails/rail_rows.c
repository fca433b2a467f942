/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/rails/rail_rows.h"

#include <stdlib.h>
#include <string.h>

#include "config/base/host.h"
#include "shim/mpi/api/process.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/rail_count.h"
#include "shim/record/report/job.h"

void rail_open(void)
{
    if (mpi_process.topo)
        rail_count_number(mpi_process.topo->rank[mpi_process.world_rank].rail);
}

struct rail_row rail_row_own(void)
{
    struct rail_row row = {.host_key = host_key(), .rank = mpi_process.world_rank};

    strncpy(row.host, job_host(), sizeof row.host - 1);
    row.rail = counters.live.rail;
    return row;
}

void rail_rows_gather(struct rail_row **rows)
{
    struct rail_row own = rail_row_own();
    int n = mpi_process.world_size, there;

    *rows = mpi_process.world_rank ? NULL : malloc((size_t)n * sizeof **rows);
    there = *rows != NULL;
    if (mpi.Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS && there &&
        mpi.Gather(&own, (int)sizeof own, MPI_BYTE, *rows, (int)sizeof own, MPI_BYTE, 0,
                   MPI_COMM_WORLD) == MPI_SUCCESS)
        return;
    free(*rows);
    *rows = NULL;
}
