/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation of the application: its arguments, and what they mean to planners and kernels.
 * Knows no communicator's state; pure functions.
 */
#ifndef COLLSHIM_SHIM_NCCL_CALL_H
#define COLLSHIM_SHIM_NCCL_CALL_H

#include "shim/nccl/process.h"

enum call_kind { CALL_COLLECTIVE, CALL_SEND, CALL_RECV };

struct call {
    enum call_kind kind;
    enum plan_collective collective; /* where it is one */
    struct copy *copy;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op; /* where it combines */
    int root;       /* where there is one; of a message: the peer */
    int combines;
    ncclComm_t comm;
    cudaStream_t stream;
    int captured;                                    /* the stream is in capture */
    ncclResult_t (*native)(const struct call *call); /* the library's own, with these arguments */
};

/* Is its type one that is known here, and its operation one of NCCL's own? */
int call_is_understood(const struct call *call);

/* Bytes of what each rank has, or of the vector, or of the message. Its type must be known. */
size_t call_block_bytes(const struct call *call);

/* Of all ranks, as COLLSHIM_MIN_BYTES means it. */
uint64_t call_total_bytes(const struct call *call, int nranks);

enum reduce_type call_reduce_type(const struct call *call);

/* Is the operation one of NCCL's own that kernels can do? Sets *op. */
int call_reduce_op(const struct call *call, enum reduce_op *op);

/* Does the result depend on the order in which ranks are combined? */
int call_rounds_results(const struct call *call);

/* Are its buffers there? One that is not is for the library to complain about. */
int call_has_buffers(const struct call *call, int rank);

#endif
