/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/call.h"

#include <stdlib.h>

#include "shim/mpi/calls.h"

void mpi_call_drop(const struct mpi_call *call)
{
    for (int i = 0; i < call->ntypes; i++)
        mpi.Type_free(&call->types[i]);
    free(call->room);
}
