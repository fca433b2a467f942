/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PMPI tool as others write them: counts the calls it wraps and passes them on to PMPI_.
 * -DWRAP_INIT and -DWRAP_ALLGATHER choose what it wraps.
 */
#include <mpi.h>
#include <stdio.h>

static int calls_init;
static int calls_allgather;

#ifdef WRAP_INIT
int MPI_Init(int *argc, char ***argv)
{
    calls_init++;
    return PMPI_Init(argc, argv);
}
#endif

#ifdef WRAP_ALLGATHER
int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
                  int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    calls_allgather++;
    return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
}
#endif

__attribute__((destructor)) static void report(void)
{
    if (calls_init || calls_allgather)
        fprintf(stderr, "tool: Init=%d Allgather=%d\n", calls_init, calls_allgather);
}
