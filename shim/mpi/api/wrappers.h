/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that take the place of the library's: same signatures, same contracts. */
#ifndef COLLSHIM_SHIM_MPI_WRAPPERS_H
#define COLLSHIM_SHIM_MPI_WRAPPERS_H

#include "shim/mpi/api/calls.h"

int mpi_wrap_Init(int *argc, char ***argv);
int mpi_wrap_Init_thread(int *argc, char ***argv, int required, int *provided);
int mpi_wrap_Finalize(void);
int mpi_wrap_Start(MPI_Request *request);
int mpi_wrap_Startall(int n, MPI_Request *request);
int mpi_wrap_Cancel(MPI_Request *request);
int mpi_wrap_Request_free(MPI_Request *request);
int mpi_wrap_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session);
int mpi_wrap_Comm_free(MPI_Comm *comm);
int mpi_wrap_Comm_disconnect(MPI_Comm *comm);
int mpi_wrap_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request);
int mpi_wrap_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy,
                                 MPI_Request *request);

int mpi_sited_Barrier(MPI_Comm comm);

/* Those that keep the roll (rolled.c). Open: MPI is there. */
void mpi_rolled_open(void);
int mpi_rolled_Finalize(void);
int mpi_rolled_Barrier(MPI_Comm comm);
int mpi_rolled_Ibarrier(MPI_Comm comm, MPI_Request *request);
int mpi_rolled_Start(MPI_Request *request);
int mpi_rolled_Startall(int n, MPI_Request *request);
int mpi_rolled_Request_free(MPI_Request *request);
int mpi_rolled_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made);
int mpi_rolled_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *made);
int mpi_rolled_Comm_free(MPI_Comm *comm);
int mpi_rolled_Comm_disconnect(MPI_Comm *comm);
int mpi_rolled_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request);
int mpi_rolled_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy,
                                   MPI_Request *request);

/* A call between site_enter and this is over (sited.c): counts it, and returns rc. root: -1 for
 * none.
 */
int mpi_sited_leave(const char *cfa, MPI_Comm comm, int rc, int root, int is_started);

/* Each collective's, the same with its call site (sited.c), and with the roll too. */
#define COLLECTIVE(name, parameters, arguments)                                                    \
    int NAMED(mpi_wrap_##name) parameters;                                                         \
    int NAMED(mpi_sited_##name) parameters;                                                        \
    int NAMED(mpi_rolled_##name) parameters;
#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"

#include "shim/mpi/api/width_large.h"
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#include "shim/mpi/api/width_none.h"

#endif
