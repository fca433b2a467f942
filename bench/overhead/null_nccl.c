/* SPDX-License-Identifier: BSD-3-Clause */
/* An NCCL that does nothing, as fast as can be: what is then measured is the preload. */
#include <nccl.h>
#include <string.h>

#define NULL_CALL(name, params)                                                                    \
    __attribute__((visibility("default"))) ncclResult_t pnccl##name params;                        \
    __attribute__((visibility("default"), weak, alias("pnccl" #name)))                             \
    ncclResult_t nccl##name params;                                                                \
    ncclResult_t pnccl##name params

static struct handle {
    char unused;
} the_only;

NULL_CALL(GetVersion, (int *version))
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
NULL_CALL(GetUniqueId, (ncclUniqueId * id))
{
    memset(id, 0, sizeof *id);
    return ncclSuccess;
}
NULL_CALL(CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))
{
    (void)nranks, (void)id, (void)rank;
    *comm = (ncclComm_t)(void *)&the_only;
    return ncclSuccess;
}
NULL_CALL(CommCount, (const ncclComm_t comm, int *count))
{
    (void)comm;
    *count = 8;
    return ncclSuccess;
}
NULL_CALL(CommUserRank, (const ncclComm_t comm, int *rank))
{
    (void)comm;
    *rank = 0;
    return ncclSuccess;
}
NULL_CALL(CommCuDevice, (const ncclComm_t comm, int *device))
{
    (void)comm;
    *device = 0;
    return ncclSuccess;
}
NULL_CALL(CommInitAll, (ncclComm_t * comm, int n, const int *devices))
{
    (void)comm, (void)n, (void)devices;
    return ncclInvalidUsage;
}
NULL_CALL(CommDestroy, (ncclComm_t comm))
{
    (void)comm;
    return ncclSuccess;
}
NULL_CALL(CommAbort, (ncclComm_t comm))
{
    (void)comm;
    return ncclSuccess;
}
NULL_CALL(AllReduce, (const void *send, void *recv, size_t count, ncclDataType_t type,
                      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
{
    (void)send, (void)recv, (void)count, (void)type, (void)op, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(AllGather, (const void *send, void *recv, size_t count, ncclDataType_t type,
                      ncclComm_t comm, cudaStream_t stream))
{
    (void)send, (void)recv, (void)count, (void)type, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(ReduceScatter, (const void *send, void *recv, size_t count, ncclDataType_t type,
                          ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
{
    (void)send, (void)recv, (void)count, (void)type, (void)op, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(Broadcast, (const void *send, void *recv, size_t count, ncclDataType_t type, int root,
                      ncclComm_t comm, cudaStream_t stream))
{
    (void)send, (void)recv, (void)count, (void)type, (void)root, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(Bcast, (void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                  cudaStream_t stream))
{
    (void)buffer, (void)count, (void)type, (void)root, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(Reduce, (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                   int root, ncclComm_t comm, cudaStream_t stream))
{
    (void)send, (void)recv, (void)count, (void)type, (void)op, (void)root, (void)comm;
    (void)stream;
    return ncclSuccess;
}
NULL_CALL(Send, (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                 cudaStream_t stream))
{
    (void)send, (void)count, (void)type, (void)peer, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(Recv, (void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                 cudaStream_t stream))
{
    (void)recv, (void)count, (void)type, (void)peer, (void)comm, (void)stream;
    return ncclSuccess;
}
NULL_CALL(GroupStart, (void))
{
    return ncclSuccess;
}
NULL_CALL(GroupEnd, (void))
{
    return ncclSuccess;
}
__attribute__((visibility("default"))) const char *pncclGetErrorString(ncclResult_t result)
{
    return result ? "an error" : "no error";
}
