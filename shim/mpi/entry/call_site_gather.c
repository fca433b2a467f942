/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a binomial tree: a rank holds its own table and one message at a time, for any number of
 * ranks. Rejected: MPI_Gatherv, for which rank 0 needs memory in proportion to the ranks.
 */
#include "shim/mpi/entry/call_site_gather.h"

#include <stdlib.h>

#include "shim/mpi/api/tree.h"
#include "shim/mpi/comm/comm.h"

/* So that a rank without memory can still take what is sent to it, and drop it. */
enum { PIECE = 1 << 16 };

static size_t piece_at(size_t n, size_t from)
{
    return n - from < PIECE ? n - from : PIECE;
}

static int send_to(int rank, MPI_Comm comm, size_t (*pack)(char **data))
{
    char *data = NULL;
    size_t n = pack(&data);
    int rc = tree_send(&n, sizeof n, rank, comm);

    for (size_t from = 0; !rc && from < n; from += PIECE)
        rc = tree_send(data + from, piece_at(n, from), rank, comm);
    free(data);
    return rc;
}

static int receive_from(int rank, MPI_Comm comm, void (*unpack)(const char *data, size_t size))
{
    static char dropped[PIECE];
    size_t n = 0;
    int rc = tree_receive(&n, sizeof n, rank, comm);
    char *data = rc || !n ? NULL : malloc(n);

    for (size_t from = 0; !rc && from < n; from += PIECE)
        rc = tree_receive(data ? data + from : dropped, piece_at(n, from), rank, comm);
    if (!rc && data)
        unpack(data, n);
    free(data);
    return rc;
}

void gather_up(MPI_Comm comm, size_t (*pack)(char **data),
               void (*unpack)(const char *data, size_t size))
{
    int rank = mpi_process.world_rank, rc = MPI_SUCCESS;

    for (int step = 1; step < mpi_process.world_size && !rc; step *= 2) {
        if (rank & step) {
            rc = send_to(rank - step, comm, pack);
            break;
        }
        if (rank + step < mpi_process.world_size)
            rc = receive_from(rank + step, comm, unpack);
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
 * A communicator of ours: a receive of the program may still be open on MPI_COMM_WORLD and match
 * any message there. Where a job has used up all communicators, rank 0 has its own sites alone.
 */
int gather_open(MPI_Comm *comm)
{
    const struct mpi_comm *world = mpi_process.verdict ? NULL : mpi_comm_find(MPI_COMM_WORLD);

    if (!world || world->verdict)
        return make_comm(comm);
    *comm = world->private_comm;
    return 1;
}

void gather_close(MPI_Comm *comm)
{
    const struct mpi_comm *world = mpi_process.verdict ? NULL : mpi_comm_find(MPI_COMM_WORLD);

    if (!world || *comm != world->private_comm)
        mpi.Comm_free(comm);
}
