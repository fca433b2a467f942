/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation of the application: its arguments, and their meaning for planners and kernels.
 * Knows no communicator's state; pure functions.
 */
#ifndef COLLSHIM_SHIM_NCCL_CALL_H
#define COLLSHIM_SHIM_NCCL_CALL_H

#include "shim/nccl/call/process.h"

/* An operation that the program has made of a communicator (redop.h). */
struct redop {
    struct redop *next; /* of the communicator; owned by it */
    ncclRedOp_t op;
    ncclDataType_t type;
    uint64_t factor;       /* an element of that type in its first bytes */
    const void *factor_at; /* the application's, on the device; NULL: factor is it */
    int users;             /* the program, and calls that groups keep */
    int ended;             /* the program does not know it any more */
};

enum call_kind { CALL_COLLECTIVE, CALL_SEND, CALL_RECV };

struct nccl_call {
    enum call_kind kind;
    enum plan_collective collective; /* where it is one */
    struct nccl_copy *copy;
    unsigned site; /* the line of the program (sited.h) */
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;      /* where it combines */
    struct redop *redop; /* borrowed: that, if the program has made it; NULL: not, or unknown */
    int root;            /* where there is one; of a message: the peer */
    int combines;
    ncclComm_t comm;
    cudaStream_t stream;
    int captured; /* the stream is in capture */
    ncclResult_t (*native)(
        const struct nccl_call *call); /* the library's own, with these arguments */
};

/* Are its type and its operation known here? */
int nccl_call_is_understood(const struct nccl_call *call);

/* fp8, which not every NCCL and GPU combines. */
int nccl_call_combines_fp8(const struct nccl_call *call);

/* 0: not a type that is known. */
size_t nccl_call_type_bytes(ncclDataType_t type);

/* Bytes of what each rank has, or of the vector, or of the message. Its type must be known. */
size_t nccl_call_block_bytes(const struct nccl_call *call);

/* Bytes of all ranks, as COLLSHIM_MIN_BYTES counts them. */
uint64_t nccl_call_total_bytes(const struct nccl_call *call, int nranks);

enum reduce_type nccl_call_reduce_type(const struct nccl_call *call);

/* The operation on two elements: the sum, if the operation does more. */
enum reduce_op nccl_call_reduce_op(const struct nccl_call *call);

/*
 * Its further work, element by element, before or behind combining, as in NCCL. Operations of the
 * program scale this rank's input by this rank's scalar. ncclAvg divides: floats before, so that
 * their sum does not overflow, and integers behind, the wrapped sum, towards 0. NCCL multiplies
 * floats by 1/n, rounded to their type. Dividing gives the same bits if n is a power of two, and is
 * nearer to the average otherwise.
 */
enum call_time { CALL_BEFORE, CALL_BEHIND };
int nccl_call_scales(const struct nccl_call *call, enum call_time when); /* the same on all ranks */
/* The kernel for it; sets the operand of *args. */
enum reduce_op nccl_call_scale_op(const struct nccl_call *call, int nranks,
                                  struct cuda_reduce_args *args);

/* Does the result depend on the order in which ranks are combined? */
int nccl_call_rounds_results(const struct nccl_call *call);

/* Are its buffers there? One that is not is for the library to complain about. */
int nccl_call_has_buffers(const struct nccl_call *call, int rank);

#endif
