/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/call/call.h"

#include <stdlib.h>

#include "shim/mpi/api/calls.h"

void mpi_call_drop(const struct mpi_call *call)
{
    for (int i = 0; i < call->owned.ntypes; i++)
        mpi.Type_free(&call->owned.types[i]);
    free(call->owned.room);
}
