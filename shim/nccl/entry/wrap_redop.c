/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that the program makes and ends. */
#include "shim/nccl/call/thread.h"
#include "shim/nccl/comm/comm.h"
#include "shim/nccl/comm/redop.h"
#include "shim/nccl/entry/wrappers.h"

/* An operation that is unknown on one rank would be native there alone. */
ncclResult_t nccl_wrap_RedOpCreatePreMulSum(struct nccl_copy *copy, ncclRedOp_t *op, void *scalar,
                                            ncclDataType_t type, ncclScalarResidence_t residence,
                                            ncclComm_t comm)
{
    ncclResult_t result = REAL(copy, RedOpCreatePreMulSum, op, scalar, type, residence, comm);
    struct nccl_comm *c = result || this_thread.inside ? NULL : nccl_comm_find(comm);

    if (c && nccl_call_type_bytes(type) && redop_note(c, *op, scalar, type, residence) < 0) {
        REAL(copy, RedOpDestroy, *op, comm);
        result = ncclSystemError;
    }
    if (c)
        nccl_comm_release(c);
    return result;
}

ncclResult_t nccl_wrap_RedOpDestroy(struct nccl_copy *copy, ncclRedOp_t op, ncclComm_t comm)
{
    struct nccl_comm *c = this_thread.inside ? NULL : nccl_comm_find(comm);
    struct redop *r = c ? redop_find(c, op) : NULL;
    int kept = r && !redop_end(c, r);

    if (c)
        nccl_comm_release(c);
    return kept ? ncclSuccess : REAL(copy, RedOpDestroy, op, comm);
}
