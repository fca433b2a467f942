/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinned host memory that the ranks of a communicator on one node share, in one process or several:
 * for each rank a few pieces that it writes and all ranks read. Each process pins all of it. It
 * stays as long as the communicator.
 *
 * Thread rule: as struct nccl_comm, but for host_memory_trim(), which any thread may call.
 */
#ifndef COLLSHIM_SHIM_NCCL_HOST_MEMORY_H
#define COLLSHIM_SHIM_NCCL_HOST_MEMORY_H

#include "shim/nccl/call/use_order.h"
#include "shim/nccl/comm/comm.h"

struct host_memory {
    char *map;        /* NULL: not mapped */
    CUdeviceptr at;   /* the same on the device; 0: not pinned */
    size_t bytes;     /* of all */
    CUstream side[2]; /* beside the program's; NULL: not made */
    CUevent ahead;    /* of the program's stream */
    CUevent done[2];  /* of those beside it */
    struct use_order order;
    struct host_memory *next; /* once it has no user, */
    CUcontext context;        /* in which it is given back */
};

/*
 * The communicator's, with that many pieces of that many bytes for each rank; agreed on by all
 * ranks at the first call, and then the same. NULL: it cannot be had, on all ranks.
 */
struct host_memory *host_memory_of(struct nccl_comm *c, int pieces, size_t piece_bytes);

/* It is there already, on all ranks alike. */
int host_memory_is_there(const struct nccl_comm *c);

/* The communicator ends. Its memory is given back later, by host_memory_trim(). */
void host_memory_forget(struct nccl_comm *c);

/* Give back what has no user and no work under way. May wait for the device. */
void host_memory_trim(const struct cuda_calls *cu);

#endif
