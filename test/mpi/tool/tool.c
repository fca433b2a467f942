/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiling tool as others write them: counts calls and passes them on to PMPI_. It wraps
 * what the application calls and what collshim calls on its own behalf, to see that the two are
 * not mixed up. Built by run.sh into its temporary directory.
 */
#include <mpi.h>
#include <stdio.h>

#define COUNTED(name, parameters, arguments)                                                       \
    static int n_##name;                                                                           \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        n_##name++;                                                                                \
        return PMPI_##name arguments;                                                              \
    }

COUNTED(Allgather,
        (const void *s, int ns, MPI_Datatype ts, void *r, int nr, MPI_Datatype tr, MPI_Comm c),
        (s, ns, ts, r, nr, tr, c))
COUNTED(Allgatherv,
        (const void *s, int ns, MPI_Datatype ts, void *r, const int *nr, const int *at,
         MPI_Datatype tr, MPI_Comm c),
        (s, ns, ts, r, nr, at, tr, c))
COUNTED(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (s, r, n, t, op, c))
COUNTED(Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
        (s, r, n, t, op, root, c))
COUNTED(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q),
        (b, n, t, to, tag, c, q))
COUNTED(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q),
        (b, n, t, from, tag, c, q))
COUNTED(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *made), (c, g, made))
COUNTED(Comm_set_attr, (MPI_Comm c, int key, void *value), (c, key, value))
COUNTED(Comm_free, (MPI_Comm * c), (c))

int MPI_Finalize(void)
{
    fprintf(stderr,
            "tool: Allgather=%d Allgatherv=%d Allreduce=%d Reduce=%d Bcast=%d Isend=%d Irecv=%d "
            "Comm_create=%d Comm_set_attr=%d Comm_free=%d\n",
            n_Allgather, n_Allgatherv, n_Allreduce, n_Reduce, n_Bcast, n_Isend, n_Irecv,
            n_Comm_create, n_Comm_set_attr, n_Comm_free);
    return PMPI_Finalize();
}
