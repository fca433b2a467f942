/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations' entry points: arguments checked as NCCL does, then into the group. */
#include "test/ncclsim/ncclsim.h"

/* "FP8 reduction support begins with sm90 capable devices" (enqueue.cc, v2.28.9-1). */
static int is_fp8_sum(const struct post *p)
{
    return (p->type == ncclFloat8e4m3 || p->type == ncclFloat8e5m2) &&
           (p->kind == KIND_ALLREDUCE || p->kind == KIND_REDUCESCATTER || p->kind == KIND_REDUCE);
}

static int sm_major(const struct ncclComm *c)
{
    int major = 0;

    sim_cuda()->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device);
    return major;
}

static ncclResult_t judge(const char *name, const struct call *call, ncclComm_t comm,
                          int needs_send, int needs_recv)
{
    const struct post *p = &call->post;
    ncclResult_t bad = comm_check(comm, name);

    if (bad)
        return bad;
    if (!type_exists(p->type))
        return comm_error(comm, ncclInvalidArgument, "%s: no type %d", name, p->type);
    if (is_fp8_sum(p) && sm_major(comm) < 9)
        return comm_error(comm, ncclInvalidArgument, "%s of fp8 before sm_90", name);
    if (p->op < 0 || (p->op >= ncclNumOps_dummy && !comm_redop(comm, p->op)))
        return comm_error(comm, ncclInvalidArgument, "%s: no operation %d", name, p->op);
    if (p->op >= ncclNumOps_dummy && comm_redop(comm, p->op)->type != p->type)
        return comm_error(comm, ncclInvalidArgument, "%s: operation %d is of another type", name,
                          p->op);
    if (p->root < 0 || p->root >= comm->nranks || call->peer < 0 || call->peer >= comm->nranks)
        return comm_error(comm, ncclInvalidArgument, "%s: no rank %d of %d", name,
                          p->root ? p->root : call->peer, comm->nranks);
    if (p->count && ((needs_send && !call->send) || (needs_recv && !call->recv)))
        return comm_error(comm, ncclInvalidArgument, "%s: a NULL buffer", name);
    return ncclSuccess;
}

static ncclResult_t add(const char *name, struct call *call, ncclComm_t comm, int needs_send,
                        int needs_recv)
{
    const struct post *p = &call->post;
    ncclResult_t bad = judge(name, call, comm, needs_send, needs_recv);

    if (bad)
        return group_refuse(bad);
    if (p->count == 0 && p->kind != KIND_SEND && p->kind != KIND_RECV)
        return ncclSuccess;
    call->comm = comm;
    if (comm_redop(comm, p->op))
        call->redop = *comm_redop(comm, p->op);
    return group_add(call);
}

NCCL_API(ncclResult_t, AllReduce,
         (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
          ncclComm_t comm, cudaStream_t stream))
{
    struct call call = {.post = {.kind = KIND_ALLREDUCE, .type = type, .op = op, .count = count},
                        .send = send,
                        .recv = recv,
                        .stream = stream};

    return add("AllReduce", &call, comm, 1, 1);
}

NCCL_API(ncclResult_t, ReduceScatter,
         (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
          ncclComm_t comm, cudaStream_t stream))
{
    struct call call = {
        .post = {.kind = KIND_REDUCESCATTER, .type = type, .op = op, .count = count},
        .send = send,
        .recv = recv,
        .stream = stream};

    return add("ReduceScatter", &call, comm, 1, 1);
}

NCCL_API(ncclResult_t, Reduce,
         (const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
          ncclComm_t comm, cudaStream_t stream))
{
    struct call call = {
        .post = {.kind = KIND_REDUCE, .type = type, .op = op, .count = count, .root = root},
        .send = send,
        .recv = recv,
        .stream = stream};

    return add("Reduce", &call, comm, 1, comm && comm->rank == root);
}

NCCL_API(ncclResult_t, Broadcast,
         (const void *send, void *recv, size_t count, ncclDataType_t type, int root,
          ncclComm_t comm, cudaStream_t stream))
{
    struct call call = {
        .post = {.kind = KIND_BROADCAST, .type = type, .count = count, .root = root},
        .send = send,
        .recv = recv,
        .stream = stream};

    return add("Broadcast", &call, comm, comm && comm->rank == root, 1);
}

/* Through the exported name, as the real one does it: an interposer sees this call a second time.
 */
NCCL_API(ncclResult_t, Bcast,
         (void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
          cudaStream_t stream))
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

/* AllGather, AlltoAll, Gather, Scatter. */
static ncclResult_t exchange(const char *name, int kind, const void *send, void *recv, size_t count,
                             ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.post = {.kind = kind, .type = type, .count = count, .root = root},
                        .send = send,
                        .recv = recv,
                        .stream = stream};
    int at_root = comm && comm->rank == root;

    return add(name, &call, comm, kind != KIND_SCATTER || at_root, kind != KIND_GATHER || at_root);
}

NCCL_API(ncclResult_t, AllGather,
         (const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream))
{
    return exchange("AllGather", KIND_ALLGATHER, send, recv, count, type, 0, comm, stream);
}

NCCL_API(ncclResult_t, AlltoAll,
         (const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
          cudaStream_t stream))
{
    return exchange("AlltoAll", KIND_ALLTOALL, send, recv, count, type, 0, comm, stream);
}

NCCL_API(ncclResult_t, Gather,
         (const void *send, void *recv, size_t count, ncclDataType_t type, int root,
          ncclComm_t comm, cudaStream_t stream))
{
    return exchange("Gather", KIND_GATHER, send, recv, count, type, root, comm, stream);
}

NCCL_API(ncclResult_t, Scatter,
         (const void *send, void *recv, size_t count, ncclDataType_t type, int root,
          ncclComm_t comm, cudaStream_t stream))
{
    return exchange("Scatter", KIND_SCATTER, send, recv, count, type, root, comm, stream);
}

NCCL_API(ncclResult_t, Send,
         (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream))
{
    struct call call = {.post = {.kind = KIND_SEND, .type = type, .count = count},
                        .send = send,
                        .peer = peer,
                        .stream = stream};

    return add("Send", &call, comm, 1, 0);
}

NCCL_API(ncclResult_t, Recv,
         (void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
          cudaStream_t stream))
{
    struct call call = {.post = {.kind = KIND_RECV, .type = type, .count = count},
                        .recv = recv,
                        .peer = peer,
                        .stream = stream};

    return add("Recv", &call, comm, 0, 1);
}
