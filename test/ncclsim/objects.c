/* SPDX-License-Identifier: BSD-3-Clause */
/* An application's objects at a communicator: buffers, windows, operations of its own. */
#include <stdlib.h>
#include <string.h>

#include "test/ncclsim/ncclsim.h"

static CUmemAllocationProp on_device(CUdevice device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

/* One allocation, mapped (ncclMemAlloc, allocator.cc, v2.28.9-1). */
NCCL_API(ncclResult_t, MemAlloc, (void **p, size_t bytes))
{
    const struct cuda_calls *cu = sim_cuda();
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUdeviceptr at = 0;
    CUdevice device;
    size_t grain;

    if (!cu || cu->CtxGetDevice(&device) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    prop = on_device(device);
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (cu->MemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
        CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    bytes = (bytes + grain - 1) / grain * grain;
    if (cu->MemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    if (cu->MemAddressReserve(&at, bytes, 0, 0, 0) != CUDA_SUCCESS ||
        cu->MemMap(at, bytes, 0, handle, 0) != CUDA_SUCCESS ||
        cu->MemSetAccess(at, bytes, &access, 1) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    cu->MemRelease(handle);
    *p = (void *)at;
    return ncclSuccess;
}

NCCL_API(ncclResult_t, MemFree, (void *p))
{
    const struct cuda_calls *cu = sim_cuda();
    CUdeviceptr at;
    size_t bytes;

    if (!cu || cu->MemGetAddressRange(&at, &bytes, (CUdeviceptr)p) != CUDA_SUCCESS ||
        cu->MemUnmap(at, bytes) != CUDA_SUCCESS || cu->MemAddressFree(at, bytes) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    return ncclSuccess;
}

/* NULL handles where the environment turns it off (ncclCommRegister, register.cc, v2.28.9-1). */
static ncclResult_t add_range(struct ncclComm *comm, void *buffer, size_t bytes, void **handle)
{
    const char *set = getenv("NCCL_LOCAL_REGISTER");
    struct range *free_one = comm->ranges;

    *handle = NULL;
    if (set && atoi(set) == 0)
        return ncclSuccess;
    while (free_one < comm->ranges + SIM_RANGES && free_one->bytes)
        free_one++;
    if (free_one == comm->ranges + SIM_RANGES)
        return comm_error(comm, ncclInternalError, "more than %d buffers", SIM_RANGES);
    *free_one = (struct range){buffer, bytes};
    *handle = free_one;
    return ncclSuccess;
}

/* A handle of NULL is fine, an unknown one is ncclInvalidUsage (commDeregister, same file). */
static ncclResult_t drop_range(struct ncclComm *comm, void *handle)
{
    for (struct range *r = comm->ranges; handle && r < comm->ranges + SIM_RANGES; r++)
        if (r == handle && r->bytes) {
            r->bytes = 0;
            return ncclSuccess;
        }
    return handle ? comm_error(comm, ncclInvalidUsage, "no registration") : ncclSuccess;
}

NCCL_API(ncclResult_t, CommRegister,
         (const ncclComm_t comm, void *buffer, size_t bytes, void **handle))
{
    ncclResult_t bad = comm_check(comm, "CommRegister");

    return bad                 ? bad
           : !buffer || !bytes ? ncclInvalidArgument
                               : add_range(comm, buffer, bytes, handle);
}

NCCL_API(ncclResult_t, CommDeregister, (const ncclComm_t comm, void *handle))
{
    ncclResult_t bad = comm->finalized ? ncclSuccess : comm_check(comm, "CommDeregister");

    return bad ? bad : drop_range(comm, handle);
}

/* The ranks' hosts meet (ncclDevrWindowRegisterInGroup, dev_runtime.cc, v2.28.9-1), and the buffer
 * is registered through the exported name. */
NCCL_API(ncclResult_t, CommWindowRegister,
         (ncclComm_t comm, void *buffer, size_t bytes, ncclWindow_t *window, int flags))
{
    ncclResult_t bad = comm_check(comm, "CommWindowRegister");

    (void)flags;
    if (bad)
        return bad;
    if (!group_open() && board_meet(comm, &comm->board->host) < 0)
        return ncclSystemError;
    return ncclCommRegister(comm, buffer, bytes, (void **)window);
}

NCCL_API(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))
{
    ncclResult_t bad = comm_check(comm, "CommWindowDeregister");

    return bad ? bad : ncclCommDeregister(comm, window);
}

/* NCCL_GRAPH_REGISTER (register.cc): memory that can be exported. */
static int is_exportable(const void *at)
{
    const char *set = getenv("NCCL_GRAPH_REGISTER");
    CUmemGenericAllocationHandle handle;

    if (set && atoi(set) == 0)
        return 0;
    if (sim_cuda()->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)at) != CUDA_SUCCESS)
        return 0;
    sim_cuda()->MemRelease(handle);
    return 1;
}

int comm_is_registered(const struct ncclComm *comm, const void *at, size_t bytes, int captured)
{
    const char *from = at;

    for (const struct range *r = comm->ranges; r < comm->ranges + SIM_RANGES; r++)
        if (r->bytes && from >= r->at && from + bytes <= r->at + r->bytes)
            return 1;
    return captured && is_exportable(at);
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
