/* SPDX-License-Identifier: BSD-3-Clause */
/* What an application keeps at a communicator: buffers, windows, operations of its own. */
#include <string.h>

#include "test/ncclsim/ncclsim.h"

NCCL_API(ncclResult_t, MemAlloc, (void **p, size_t bytes))
{
    CUdeviceptr at;

    if (!sim_cuda() || sim_cuda()->MemAlloc(&at, bytes) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    *p = (void *)at;
    return ncclSuccess;
}

NCCL_API(ncclResult_t, MemFree, (void *p))
{
    return sim_cuda() && sim_cuda()->MemFree((CUdeviceptr)p) == CUDA_SUCCESS
               ? ncclSuccess
               : ncclUnhandledCudaError;
}

NCCL_API(ncclResult_t, CommRegister,
         (const ncclComm_t comm, void *buffer, size_t bytes, void **handle))
{
    (void)bytes;
    *handle = buffer;
    return comm_check(comm, "CommRegister");
}

NCCL_API(ncclResult_t, CommDeregister, (const ncclComm_t comm, void *handle))
{
    (void)handle;
    return comm_check(comm, "CommDeregister");
}

NCCL_API(ncclResult_t, CommWindowRegister,
         (ncclComm_t comm, void *buffer, size_t bytes, ncclWindow_t *window, int flags))
{
    (void)bytes;
    (void)flags;
    *window = buffer;
    return comm_check(comm, "CommWindowRegister");
}

NCCL_API(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))
{
    (void)window;
    return comm_check(comm, "CommWindowDeregister");
}

const struct redop *comm_redop(const struct ncclComm *comm, int op)
{
    int i = op - ncclNumOps_dummy;

    return i >= 0 && i < SIM_OPS && comm->ops[i].used ? &comm->ops[i] : NULL;
}

NCCL_API(ncclResult_t, RedOpCreatePreMulSum,
         (ncclRedOp_t * op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence,
          ncclComm_t comm))
{
    ncclResult_t bad = comm_check(comm, "RedOpCreatePreMulSum");
    int i = 0;

    if (bad || !type_exists(type) || !scalar)
        return bad ? bad : ncclInvalidArgument;
    while (i < SIM_OPS && comm->ops[i].used)
        i++;
    if (i == SIM_OPS)
        return comm_error(comm, ncclInternalError, "more than %d operations", SIM_OPS);
    comm->ops[i] = (struct redop){.used = 1, .type = type};
    if (residence == ncclScalarDevice)
        comm->ops[i].device_scalar = scalar;
    else
        memcpy(&comm->ops[i].scale, scalar, type_bytes(type));
    *op = (ncclRedOp_t)(ncclNumOps_dummy + i);
    return ncclSuccess;
}

NCCL_API(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))
{
    ncclResult_t bad = comm_check(comm, "RedOpDestroy");

    if (bad || !comm_redop(comm, op))
        return bad ? bad : ncclInvalidArgument;
    comm->ops[(int)op - ncclNumOps_dummy].used = 0;
    return ncclSuccess;
}
