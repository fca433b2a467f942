/* SPDX-License-Identifier: BSD-3-Clause */
/* The program frees a communicator. */
#include "shim/mpi/api/freeing.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/comm/comm.h"

/* MPI_COMM_WORLD and MPI_COMM_SELF are the library's to refuse. */
static int may_be_freed(const MPI_Comm *comm)
{
    return comm && *comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF;
}

static int end_of(MPI_Comm *comm, int (*library)(MPI_Comm *))
{
    const char *frame = __builtin_frame_address(0);

    if (mpi_process.verdict || !may_be_freed(comm))
        return library(comm);
    int rc = mpi_comm_leave(*comm);
    if (rc != MPI_SUCCESS)
        return rc;
    freeing_begin(*comm, frame);
    rc = library(comm);
    freeing_end(frame);
    return rc;
}

int mpi_wrap_Comm_free(MPI_Comm *comm)
{
    return end_of(comm, mpi.Comm_free);
}

int mpi_wrap_Comm_disconnect(MPI_Comm *comm)
{
    return end_of(comm, mpi.Comm_disconnect);
}
