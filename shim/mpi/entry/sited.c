/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers with call sites: the same functions, and where they were called from and how long
 * they took (shim/record/sites/call_site.h). The backend hands these out where a report is wanted,
 * and the plain ones else, so that sites cost nothing then.
 */
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/entry/report.h"
#include "shim/record/sites/call_site.h"

/* A failed call is not counted: its communicator may be none. (MPICH 5.0.2 returns MPI_SUCCESS
   behind an error handler, for MPI_COMM_NULL as well.) */
int mpi_sited_leave(const char *cfa, MPI_Comm comm, int rc)
{
    uint64_t now = 0;
    int size;

    if (rc == MPI_SUCCESS && comm != MPI_COMM_NULL && site_is_noted(cfa) &&
        mpi.Comm_size(comm, &size) == MPI_SUCCESS) {
        const struct mpi_comm *c = mpi_process.verdict ? NULL : mpi_comm_find(comm);

        now = site_count((uint32_t)size, c && c->topo ? (uint32_t)c->topo->nnodes : 0);
    }
    site_leave(cfa);
    if (now >= __atomic_load_n(&mpi_report_due, __ATOMIC_RELAXED))
        mpi_report_so_far(now);
    return rc;
}

#define COLLECTIVE(name, parameters, arguments)                                                    \
    int NAMED(mpi_sited_##name) parameters                                                         \
    {                                                                                              \
        const char *cfa = __builtin_dwarf_cfa();                                                   \
                                                                                                   \
        site_enter(__builtin_return_address(0), cfa);                                              \
        return mpi_sited_leave(cfa, comm, NAMED(mpi_wrap_##name) arguments);                       \
    }

#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"

#include "shim/mpi/api/width_large.h"
#include "shim/preload/collectives.def"
