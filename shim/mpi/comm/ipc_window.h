/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory on a device that a helper works in as well. It is the rank's own memory, exported once.
 * Rejected: the application's buffers. Memory that another process has open must not be freed, and
 * the application frees at any time. Pools and virtual memory cannot be exported this way at all.
 * Copying a slice there and back takes one pass each at the speed of the device's memory, a
 * hundredth of the network's time (computed). In return the application's output stays untouched
 * until all slices are done, and a helper's result survives the helper. Lending concerns one rank
 * alone: peers see the same messages. Thread rule: as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_IPC_WINDOW_H
#define COLLSHIM_SHIM_MPI_IPC_WINDOW_H

#include "shim/mpi/call/reduction.h"
#include "transports/cuda/cuda_memory.h"

/* To one helper, on one channel; or without a helper, for the rank itself. All zero: nothing. */
struct ipc_window {
    struct cuda_gpu *gpu; /* borrowed: whose memory it is */
    char *at;             /* owned, unless a helper may be in it that did not answer */
    size_t bytes;
    int combines; /* the helper is known to have kernels */
    int refused;  /* it cannot work there: for good */
};

enum { IPC_WINDOW_OF_NOBODY = -1 };

/*
 * So many bytes on the gpu's device, which the helper has open; kept for later calls. r: what will
 * be combined, or NULL. NULL: there is no room, or the helper cannot; it then works in host memory.
 */
char *ipc_window_get(struct ipc_window *l, int helper, int channel, struct cuda_gpu *gpu,
                     size_t bytes, const struct cuda_place *place, const struct reduction *r);

/* closed: the helper has left it, and with it the channel. */
void ipc_window_free(struct ipc_window *l, int closed);

#endif
