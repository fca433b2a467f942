/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a binomial tree: a rank holds its own table and one message at a time, whatever the number of
 * ranks. Rejected: MPI_Gatherv, for which rank 0 needs memory in proportion to the ranks.
 */
#include "shim/mpi/site_gather.h"

#include <limits.h>
#include <stdlib.h>

#include "shim/decide/site_merge.h"
#include "shim/mpi/process.h"

static int send_to(int rank, MPI_Comm comm)
{
    MPI_Request request;
    char *data = NULL;
    size_t size = site_pack(&data);
    int n = size <= INT_MAX ? (int)size : 0, rc;

    rc = mpi.Isend(&n, 1, MPI_INT, rank, 0, comm, &request);
    rc = rc ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
    rc = rc || !n ? rc : mpi.Isend(data, n, MPI_BYTE, rank, 1, comm, &request);
    rc = rc || !n ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
    free(data);
    return rc;
}

/* What does not fit into memory is received and dropped, a piece at a time: the sender waits. */
static int receive_from(int rank, MPI_Comm comm)
{
    MPI_Request request;
    int n = 0, rc = mpi.Irecv(&n, 1, MPI_INT, rank, 0, comm, &request);

    rc = rc ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (rc || !n)
        return rc;
    char *data = malloc((size_t)n);
    if (!data)
        return MPI_ERR_NO_MEM;
    rc = mpi.Irecv(data, n, MPI_BYTE, rank, 1, comm, &request);
    rc = rc ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (!rc)
        site_unpack(data, (size_t)n);
    free(data);
    return rc;
}

void site_gather(void)
{
    int rank = mpi_process.world_rank, rc = MPI_SUCCESS;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group;

    if (mpi.Comm_group(MPI_COMM_WORLD, &group) != MPI_SUCCESS)
        return;
    rc = mpi.Comm_create(MPI_COMM_WORLD, group, &comm);
    mpi.Group_free(&group);
    if (rc || comm == MPI_COMM_NULL)
        return;
    mpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int step = 1; step < mpi_process.world_size && !rc; step *= 2) {
        if (rank & step) {
            rc = send_to(rank - step, comm);
            break;
        }
        if (rank + step < mpi_process.world_size)
            rc = receive_from(rank + step, comm);
    }
    mpi.Comm_free(&comm);
}
