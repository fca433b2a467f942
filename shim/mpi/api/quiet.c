/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/quiet.h"

#include "shim/mpi/api/process.h"

void quiet_begin(struct quiet *q, MPI_Comm comm)
{
    q->comm = comm;
    q->on = mpi.Comm_get_errhandler(comm, &q->handler) == MPI_SUCCESS;
    if (q->on)
        mpi.Comm_set_errhandler(comm, mpi_process.errors_return);
}

void quiet_end(struct quiet *q)
{
    if (!q->on)
        return;
    mpi.Comm_set_errhandler(q->comm, q->handler);
    mpi.Errhandler_free(&q->handler);
}
