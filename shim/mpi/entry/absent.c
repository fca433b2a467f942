/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 4 has them as MPIX_, with the same arguments. Under a library with neither name, a call
 * raises MPI_ERR_OTHER on its communicator, as for other names that only the preload has.
 *
 * Rejected: exporting the MPIX_ names too. Other libraries may define them with other arguments.
 * MPI Advance has had an MPIX_Alltoall_init with a communicator and a request of its own types.
 */
#include "shim/mpi/entry/absent.h"

#include <dlfcn.h>
#include <string.h>

#include "shim/mpi/api/calls.h"

static int lacks(MPI_Comm comm, MPI_Request *request)
{
    if (request)
        *request = MPI_REQUEST_NULL;
    mpi.Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define COLLECTIVE(name, parameters, arguments)
#define PERSISTENT(name, parameters, arguments)                                                    \
    static int lacks_##name parameters                                                             \
    {                                                                                              \
        return lacks(comm, request);                                                               \
    }
#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"
#undef COLLECTIVE

/* to: the place in the table. */
static void fill(void *libmpi, const char *name, void *to)
{
    void *function = dlsym(libmpi, name);

    if (function)
        memcpy(to, &function, sizeof function);
}

void absent_fill(void *libmpi)
{
#define COLLECTIVE(name, parameters, arguments)
#define PERSISTENT(name, parameters, arguments)                                                    \
    if (!mpi.name) {                                                                               \
        mpi.name = lacks_##name;                                                                   \
        fill(libmpi, "PMPIX_" #name, &mpi.name);                                                   \
    }
#include "shim/preload/collectives.def"
#undef COLLECTIVE
}
