/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NCCL that does nothing, as fast as possible, so that a program measures the preload. Any
 * process may be any rank. With NULL_NCCL_BOARD set, ids hold an address as NCCL's do, so that
 * ranks find each other.
 */
#include <arpa/inet.h>
#include <nccl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/overhead/null.h"

__attribute__((visibility("default"))) struct null_counts null_nccl_counts;

#define NULL_CALL(name, params)                                                                    \
    __attribute__((visibility("default"))) ncclResult_t pnccl##name params;                        \
    __attribute__((visibility("default"), weak, alias("pnccl" #name)))                             \
    ncclResult_t nccl##name params;                                                                \
    ncclResult_t pnccl##name params

struct ncclComm {
    int nranks, rank;
};

NULL_CALL(GetVersion, (int *version))
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
NULL_CALL(GetUniqueId, (ncclUniqueId * id))
{
    struct {
        uint64_t magic;
        struct sockaddr_in address;
    } here = {1, {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

    memset(id, 0, sizeof *id);
    if (getenv("NULL_NCCL_BOARD"))
        memcpy(id, &here, sizeof here);
    return ncclSuccess;
}
NULL_CALL(CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))
{
    (void)id;
    *comm = malloc(sizeof **comm);
    if (!*comm)
        return ncclSystemError;
    **comm = (struct ncclComm){nranks, rank};
    return ncclSuccess;
}
NULL_CALL(CommCount, (const ncclComm_t comm, int *count))
{
    *count = comm->nranks;
    return ncclSuccess;
}
NULL_CALL(CommUserRank, (const ncclComm_t comm, int *rank))
{
    *rank = comm->rank;
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
    free(comm);
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
    null_nccl_counts.messages++;
    return ncclSuccess;
}
NULL_CALL(Recv, (void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                 cudaStream_t stream))
{
    (void)recv, (void)count, (void)type, (void)peer, (void)comm, (void)stream;
    null_nccl_counts.messages++;
    return ncclSuccess;
}
NULL_CALL(GroupStart, (void))
{
    null_nccl_counts.groups++;
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
