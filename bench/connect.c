/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For two reasons. Libraries open a connection at the first message, and the first algorithm to use
 * a pair would pay for all later ones. MPICH 4.0.2 over UCX and TCP hangs in MPI_Finalize if a pair
 * of ranks never exchanged a message. Finalizing connects the two then, while the peer already
 * waits in a barrier that answers nothing (pmodels/mpich pull request 6596 removed that barrier).
 * Without this exchange four runs in five never ended.
 */
#include "connect.h"

#include <errno.h>
#include <stdlib.h>

int bench_connect(const struct bench_mpi *mpi, MPI_Comm comm)
{
    enum { TAG = 70 };
    MPI_Request *requests;
    char *in, out = 0;
    int ranks, rank, n = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    requests = calloc(2 * (size_t)ranks, sizeof(*requests));
    in = calloc((size_t)ranks, 1);
    if (!requests || !in) {
        free(requests);
        free(in);
        return -ENOMEM;
    }
    for (int i = 1; i < ranks; i++) {
        int to = (rank + i) % ranks, from = (rank + ranks - i) % ranks;

        MPI_Irecv(&in[from], 1, MPI_CHAR, from, TAG, comm, &requests[n++]);
        MPI_Isend(&out, 1, MPI_CHAR, to, TAG, comm, &requests[n++]);
    }
    for (int done = 0, at; done < n; done++)
        MPI_Waitany(n, requests, &at, MPI_STATUS_IGNORE);
    mpi->Barrier(comm);
    free(requests);
    free(in);
    return 0;
}
