/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce: seen and counted; no algorithm serves it yet. */
#include "shim/mpi/count.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/wrappers.h"

int wrap_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    count_native(COLL_ALLREDUCE, REASON_NO_ALGORITHM);
    return mpi.Allreduce(sendbuf, recvbuf, count, type, op, comm);
}
