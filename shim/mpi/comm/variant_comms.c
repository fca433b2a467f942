/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/variant_comms.h"

#include "shim/mpi/api/calls.h"

void variants_free(struct variants *v)
{
    for (int i = 0; i < v->n; i++)
        if (v->made[i].comm != MPI_COMM_NULL)
            mpi.Comm_free(&v->made[i].comm);
    v->n = 0;
}
