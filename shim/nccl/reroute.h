/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call of the application on its way: is it worth a reroute (one rule, the same
 * answer on every rank), then the schedule, then the stream.
 */
#ifndef COLLSHIM_SHIM_NCCL_REROUTE_H
#define COLLSHIM_SHIM_NCCL_REROUTE_H

#include "shim/nccl/comm.h"

struct call {
    enum plan_collective collective;
    struct copy *copy;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op; /* where it combines */
    int root;       /* where there is one */
    int combines;
    ncclComm_t comm;
    cudaStream_t stream;
    ncclResult_t (*native)(const struct call *call); /* the library's own, with these arguments */
};

/* Run the call, rerouted or natively. grouped: the thread is inside a group of the application. */
ncclResult_t reroute(const struct call *call, int grouped);

/* For ppg.h: the request of a call, what a schedule says for it enqueued, the bytes of an element,
 * and NCCL's type and operation as kernels number them. */
struct plan_request reroute_request(const struct call *call, const struct comm *c);
ncclResult_t reroute_by_rounds(struct comm *c, const struct call *call, const struct rounds *r,
                               const struct plan_request *q);
size_t reroute_element_bytes(const struct call *call);
void reroute_kernel(const struct call *call, int *type, int *op);

#endif
