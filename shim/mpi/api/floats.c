/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/floats.h"

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/calls.h"

struct mpi_calls mpi_library;

/* RUNS(name, parameters, arguments): a function in which the library may wait, or call the program.
   Collectives are such functions too. */
#define ALL_THAT_RUN                                                                               \
    RUNS(Reduce_local, (const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op),         \
         (in, inout, n, type, op))                                                                 \
    RUNS(Finalize, (void), ())                                                                     \
    RUNS(Barrier, (MPI_Comm comm), (comm))                                                         \
    RUNS(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * made), (comm, group, made))      \
    RUNS(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * made), (comm, info, made))  \
    RUNS(Comm_free, (MPI_Comm * comm), (comm))                                                     \
    RUNS(Comm_call_errhandler, (MPI_Comm comm, int code), (comm, code))                            \
    RUNS(Dist_graph_create_adjacent,                                                               \
         (MPI_Comm comm, int in, const int *sources, const int *in_weights, int out,               \
          const int *targets, const int *out_weights, MPI_Info info, int reorder, MPI_Comm *made), \
         (comm, in, sources, in_weights, out, targets, out_weights, info, reorder, made))          \
    RUNS(Isend,                                                                                    \
         (const void *at, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,                \
          MPI_Request *request),                                                                   \
         (at, n, type, to, tag, comm, request))                                                    \
    RUNS(Irecv,                                                                                    \
         (void *at, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,                    \
          MPI_Request *request),                                                                   \
         (at, n, type, from, tag, comm, request))                                                  \
    RUNS(Start, (MPI_Request * request), (request))                                                \
    RUNS(Startall, (int n, MPI_Request *request), (n, request))                                    \
    RUNS(Waitall, (int n, MPI_Request *request, MPI_Status *status), (n, request, status))         \
    RUNS(Testsome, (int n, MPI_Request *request, int *done, int *index, MPI_Status *status),       \
         (n, request, done, index, status))                                                        \
    RUNS(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))    \
    RUNS(Iprobe, (int from, int tag, MPI_Comm comm, int *found, MPI_Status *status),               \
         (from, tag, comm, found, status))                                                         \
    RUNS(Request_free, (MPI_Request * request), (request))                                         \
    RUNS(Grequest_complete, (MPI_Request request), (request))

#define RUNS(name, parameters, arguments)                                                          \
    static int in_their_mode_##name parameters                                                     \
    {                                                                                              \
        FLOATS_THEIRS;                                                                             \
        return mpi_library.name arguments;                                                         \
    }
#define COLLECTIVE RUNS
#define PERSISTENT(name, parameters, arguments)
ALL_THAT_RUN
#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"
#undef RUNS

void floats_fill(void)
{
    mpi_library = mpi;
#define RUNS(name, parameters, arguments) mpi.name = in_their_mode_##name;
#define PERSISTENT(name, parameters, arguments)
    ALL_THAT_RUN
#include "shim/preload/collectives.def"
}
