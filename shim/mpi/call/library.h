/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calling the library's own function. Most libraries take pointers to host memory only. They get
 * whole images in host memory of buffers that lie on a device, for any datatype and operation. That
 * is for native calls. It concerns this rank alone, so it needs no agreement. A nonblocking call
 * gets the pointers: an image would have to outlive it.
 */
#ifndef COLLSHIM_SHIM_MPI_LIBRARY_H
#define COLLSHIM_SHIM_MPI_LIBRARY_H

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/call/call.h"
#include "shim/record/sites/call_site.h"
#include "transports/cuda/cuda_memory.h"

/* One buffer argument of a call. */
struct library_buffer {
    const void **argument; /* where the library's function will find the pointer */
    int reads, writes;
    int n;                     /* blocks, */
    struct counts counts;      /* of so many elements each; not given: one block of */
    MPI_Count count;           /* so many */
    struct displs displs;      /* in extents; with types: in bytes */
    MPI_Datatype type;         /* of all, or */
    const MPI_Datatype *types; /* of each */
};

/* Returns what the MPI function returns; MPI_ERR_NO_MEM or MPI_ERR_OTHER, raised on the
   communicator, if an image could not be made or brought back. */
int library_call_with_images(const struct mpi_call *call);
static inline int library_call(const struct mpi_call *call)
{
    FLOATS_THEIRS;
    site_note_bytes(call->total);
    return !cuda_present() || mpi_process.cuda_aware || call->nonblocking
               ? call->native(call)
               : library_call_with_images(call);
}

/* Counts the call, which the library serves for that reason. Until the ranks meet it is timed
   (outlay.h). Returns the same. */
int library_serves(const struct mpi_call *call, enum reason why);

/* A buffer of one block, of blocks one behind the other included. */
static inline struct library_buffer library_block(const void *argument, MPI_Count count,
                                                  MPI_Datatype type)
{
    return (struct library_buffer){
        .argument = (const void **)(uintptr_t)argument, .n = 1, .count = count, .type = type};
}

/* count * n, or -1 (for the library to judge). */
MPI_Count library_times(MPI_Count count, int n);

/* Put those that are there, MPI_IN_PLACE is not, into list: first what is only read, then what is
   written, and read where the first is not there. Returns how many. */
int library_buffers(struct library_buffer *list, const struct library_buffer *send,
                    const struct library_buffer *receive);

/* Ranks on the other side of a communicator's collectives: its own, or the remote group's.
   Returns 0 if the communicator is none. */
int library_peers(MPI_Comm comm);

/* Does this rank hold the blocks of all (1), its own (0), or nothing (-1) in a rooted call? */
int library_is_root(MPI_Comm comm, int root);

#endif
