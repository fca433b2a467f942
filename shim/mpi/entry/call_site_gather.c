/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a binomial tree: a rank holds its own table and one message at a time, for any number of
 * ranks. Rejected: MPI_Gatherv, for which rank 0 needs memory in proportion to the ranks.
 */
#include "shim/mpi/entry/call_site_gather.h"

#include <limits.h>
#include <stdlib.h>

#include "shim/mpi/comm/comm.h"
#include "shim/record/report/call_site_merge.h"

/* So that a rank without memory can still take what is sent to it, and drop it. */
enum { PIECE = 1 << 16, TAG = 32766 /* above the tags of plans */ };

static int piece_at(int n, int from)
{
    return n - from < PIECE ? n - from : PIECE;
}

static int send_bytes(const void *data, int n, int rank, MPI_Comm comm)
{
    MPI_Request request;
    int rc = mpi.Isend(data, n, MPI_BYTE, rank, TAG, comm, &request);

    return rc ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static int receive_bytes(void *data, int n, int rank, MPI_Comm comm)
{
    MPI_Request request;
    int rc = mpi.Irecv(data, n, MPI_BYTE, rank, TAG, comm, &request);

    return rc ? rc : mpi.Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static int send_to(int rank, MPI_Comm comm)
{
    char *data = NULL;
    size_t size = site_pack(&data);
    int n = size <= INT_MAX ? (int)size : 0;
    int rc = send_bytes(&n, sizeof n, rank, comm);

    for (int from = 0; !rc && from < n; from += PIECE)
        rc = send_bytes(data + from, piece_at(n, from), rank, comm);
    free(data);
    return rc;
}

static int receive_from(int rank, MPI_Comm comm)
{
    static char dropped[PIECE];
    int n = 0, rc = receive_bytes(&n, sizeof n, rank, comm);
    char *data = rc || !n ? NULL : malloc((size_t)n);

    for (int from = 0; !rc && from < n; from += PIECE)
        rc = receive_bytes(data ? data + from : dropped, piece_at(n, from), rank, comm);
    if (!rc && data)
        site_unpack(data, (size_t)n);
    free(data);
    return rc;
}

static void gather(MPI_Comm comm)
{
    int rank = mpi_process.world_rank, rc = MPI_SUCCESS;

    for (int step = 1; step < mpi_process.world_size && !rc; step *= 2) {
        if (rank & step) {
            rc = send_to(rank - step, comm);
            break;
        }
        if (rank + step < mpi_process.world_size)
            rc = receive_from(rank + step, comm);
    }
}

/* All ranks of MPI_COMM_WORLD, for this once. Returns 0 if a rank has none. */
static int make_comm(MPI_Comm *comm)
{
    int well = 0, all = 0;
    MPI_Group group;

    *comm = MPI_COMM_NULL;
    if (mpi.Comm_group(MPI_COMM_WORLD, &group) == MPI_SUCCESS) {
        well = mpi.Comm_create(MPI_COMM_WORLD, group, comm) == MPI_SUCCESS &&
               mpi.Comm_set_errhandler(*comm, mpi_process.errors_return) == MPI_SUCCESS;
        mpi.Group_free(&group);
    }
    if (mpi.Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS)
        all = 0;
    if (!all && *comm != MPI_COMM_NULL)
        mpi.Comm_free(comm);
    return all;
}

/*
 * On a communicator of ours: a receive of the program may still be open on MPI_COMM_WORLD and match
 * any message there. Where a job has used up all communicators, rank 0 has its own sites alone.
 */
void site_gather(void)
{
    const struct mpi_comm *world = mpi_process.verdict ? NULL : mpi_comm_find(MPI_COMM_WORLD);
    MPI_Comm comm;

    if (world && !world->verdict) {
        gather(world->private_comm);
    } else if (make_comm(&comm)) {
        gather(comm);
        mpi.Comm_free(&comm);
    }
}
