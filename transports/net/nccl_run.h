/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL, found at run time, and a schedule in rounds on a stream. Each round is a group of messages;
 * local work between rounds is done by copies and kernels on the same stream. Everything is
 * enqueued; the host waits for nothing.
 *
 * All of it goes over the communicator and the stream that the application named. So NCCL's
 * promises about order, errors, abort and capture hold as for NCCL's own operations.
 */
#ifndef COLLSHIM_TRANSPORTS_NCCL_RUN_H
#define COLLSHIM_TRANSPORTS_NCCL_RUN_H

#include <nccl.h>

#include "planners/rounds/rounds.h"
#include "transports/cuda/cuda_reduce.h"

struct nccl_calls {
#define NCCL_CALL(name) __typeof__(&nccl##name) name;
#include "transports/net/nccl_calls.def"
};

/* Fill the table from a dlopen handle, with the library's own functions (pncclX). Returns NULL, or
   the name of a required function that is missing. */
const char *nccl_calls_open(void *library, struct nccl_calls *calls);

/* A buffer of the plan that lies in several pieces of memory: bytes from[i] .. from[i + 1] of it at
   at[i]. No step crosses a border. */
struct nccl_pieces {
    int n;
    const uint64_t *from; /* [n + 1] */
    char *const *at;      /* [n] */
};

/* The place of a call: communicator, stream, buffers. All borrowed. */
struct nccl_run {
    const struct nccl_calls *nccl;
    const struct cuda_calls *cu;
    struct cuda_reducer *reducer; /* NULL if nothing is combined */
    const int *stop;              /* set once the communicator is aborted; NULL: it is not */
    ncclComm_t comm;
    CUstream stream;                             /* its context is current */
    const struct nccl_pieces *pieces[PLAN_NONE]; /* NULL: the buffer is one piece */
    char *buffer[PLAN_NONE]; /* by enum plan_buffer; device memory, or NULL where no step uses it */
    enum reduce_op op;
    enum reduce_type type;
};

/*
 * Enqueue all steps. Returns ncclSuccess; after an error the communicator's ranks have not all done
 * the same, as after a failed call of NCCL. Any thread that may use the communicator.
 */
ncclResult_t nccl_run(const struct nccl_run *run, const struct rounds *rounds);

#endif
