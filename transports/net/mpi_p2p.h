/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport over MPI point-to-point on a private communicator. Tags are MPI's tags,
 * so MPI's own ordering rule is the matching rule of plans.
 * Compiled once per MPI family; calls MPI only through the functions it is given.
 */
#ifndef COLLSHIM_TRANSPORTS_MPI_P2P_H
#define COLLSHIM_TRANSPORTS_MPI_P2P_H

#include <mpi.h>

#include "transports/base/xport.h"

/* The library's own functions. */
struct mpi_p2p_calls {
    int (*Isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Testsome)(int, MPI_Request *, int *, int *, MPI_Status *);
    int (*Iprobe)(int, int, MPI_Comm, int *, MPI_Status *);
    int (*Cancel)(MPI_Request *);
    int (*Request_free)(MPI_Request *);
    int (*Error_class)(int, int *);
    int (*Get_count)(const MPI_Status *, MPI_Datatype, int *);
    /* Behind an error: this rank takes no more part in what is in flight. NULL is fine. */
    void (*failed)(MPI_Comm);
};

/*
 * comm: private, with MPI_ERRORS_RETURN; borrowed, as are the calls (constant for the process).
 * moves_device: the library takes pointers to device memory.
 * Returns 0 and fills *x (close with xport_mpi_p2p_close), or -ENOMEM. Error codes of the
 * transport are MPI's; MPI_ERR_COUNT for a message of more bytes than an int counts.
 */
int xport_mpi_p2p_open(const struct mpi_p2p_calls *calls, MPI_Comm comm, int moves_device,
                       struct xport *x);
void xport_mpi_p2p_close(struct xport *x);

#endif
