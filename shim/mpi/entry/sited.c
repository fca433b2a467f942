/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers with call sites: the same functions, and where they were called from and how long
 * they took (shim/record/sites/call_site.h). The backend hands these out where a report is wanted,
 * and the plain ones else, so that sites cost nothing then.
 */
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/sampled.h"
#include "shim/mpi/entry/report.h"
#include "shim/record/sites/call_site.h"

/* For functions without parameters of these names; those of others hide them. */
enum { root = -1, request = 0 };

/* A failed call is not counted: its communicator may be none. (MPICH 5.0.2 returns MPI_SUCCESS
   behind an error handler, for MPI_COMM_NULL as well.) */
static void count(MPI_Comm comm, int of_root, int is_started)
{
    int size;

    if (mpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return;
    const struct mpi_comm *c = mpi_process.verdict ? NULL : mpi_comm_find(comm);
    uint64_t now = site_count((uint32_t)size, c && c->topo ? (uint32_t)c->topo->nnodes : 0);
    if (!is_started)
        sampled_call(comm, of_root, now);
    site_now.ended = now;
}

int mpi_sited_leave(const char *cfa, MPI_Comm comm, int rc, int of_root, int is_started)
{
    int is_counted = comm != MPI_COMM_NULL && site_is_noted(cfa);

    if (is_counted && rc == MPI_SUCCESS)
        count(comm, of_root, is_started);
    else if (is_counted)
        sampled_failed(comm);
    uint64_t now = is_counted ? site_now.ended : 0;
    site_leave(cfa);
    if (now >= __atomic_load_n(&mpi_report_due, __ATOMIC_RELAXED))
        mpi_report_so_far(now);
    return rc;
}

#pragma GCC diagnostic ignored "-Wshadow"
#define COLLECTIVE(name, parameters, arguments)                                                    \
    int NAMED(mpi_sited_##name) parameters                                                         \
    {                                                                                              \
        const char *cfa = __builtin_dwarf_cfa();                                                   \
                                                                                                   \
        site_enter(__builtin_return_address(0), cfa);                                              \
        int rc = NAMED(mpi_wrap_##name) arguments;                                                 \
        return mpi_sited_leave(cfa, comm, rc, root, request != 0);                                 \
    }

#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"

#include "shim/mpi/api/width_large.h"
#include "shim/preload/collectives.def"

/* Nothing replaces it: it is counted and sampled alone. */
int mpi_sited_Barrier(MPI_Comm comm)
{
    const char *cfa = __builtin_dwarf_cfa();

    site_enter(__builtin_return_address(0), cfa);
    site_note_native((enum plan_collective)SITE_BARRIER, REASON_NO_ALGORITHM);
    return mpi_sited_leave(cfa, comm, mpi_library.Barrier(comm), root, 0);
}
