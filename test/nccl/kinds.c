/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made in every way that there is, and the ways to call them that a program need not
 * know of the library: with any current context, and any place of the data.
 */
#include <stdlib.h>
#include <unistd.h>

#include "shim/nccl/board/notice.h"
#include "test/nccl/sums.h"

static void test_configured(struct rank *r)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id = ranks_id(r), ids[1] = {ranks_id(r)};
    ncclComm_t comm[2], part;

    config.blocking = 1;
    NCCL(ncclCommInitRankConfig(&comm[0], r->nranks, id, r->rank, &config));
    NCCL(ncclCommInitRankScalable(&comm[1], r->nranks, r->rank, 1, ids, &config));
    for (int i = 0; i < 2; i++) {
        sum_all(r, comm[i], r->stream, i ? "made by a list of ids" : "made with a configuration");
        NCCL(ncclCommSplit(comm[i], 0, r->rank, &part, &config));
        sum_all(r, part, r->stream, "split with a configuration");
        NCCL(ncclCommDestroy(part));
        NCCL(ncclCommDestroy(comm[i]));
    }
}

/* A communicator of devices of one process. */
static void test_init_all(struct rank *r)
{
    int devices, n, list[2], sums = r->sums;
    CUcontext context[2];
    ncclComm_t comm[2];
    struct sum s[2];

    CUDA(DeviceGetCount(&devices));
    n = devices > 1 ? 2 : 1;
    for (int i = 0; i < n; i++)
        list[i] = (r->device + i) % devices;
    NCCL(ncclCommInitAll(comm, n, list));
    for (int i = 0; i < n; i++) {
        CUDA(DevicePrimaryCtxRetain(&context[i], list[i]));
        CUDA(CtxPushCurrent(context[i]));
        r->sums = sums; /* both are of one sum */
        s[i] = sum_begin(r, comm[i], stream_new());
        CUDA(CtxPopCurrent(NULL));
    }
    NCCL(ncclGroupStart());
    for (int i = 0; i < n; i++)
        NCCL(sum_call(&s[i]));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < n; i++) {
        CUDA(CtxPushCurrent(context[i]));
        sum_end(r, &s[i], "all devices of a process");
        CUDA(StreamDestroy(s[i].stream));
        CUDA(CtxPopCurrent(NULL));
        NCCL(ncclCommDestroy(comm[i]));
    }
}

/* By the profiling names, which no library replaces. */
static void test_unseen(struct rank *r)
{
    ncclUniqueId id = ranks_id(r);
    ncclComm_t comm, part;

    NCCL(pncclCommInitRank(&comm, r->nranks, id, r->rank));
    sum_all(r, comm, r->stream, "made unseen");
    NCCL(ncclCommSplit(comm, 0, r->rank, &part, NULL));
    sum_all(r, part, r->stream, "part of one made unseen");
    NCCL(ncclCommDestroy(part));
    NCCL(ncclCommDestroy(comm));
}

static void test_nonblocking(struct rank *r)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t state, result;
    ncclUniqueId id = ranks_id(r);
    ncclComm_t comm, part;

    config.blocking = 0;
    result = ncclCommInitRankConfig(&comm, r->nranks, id, r->rank, &config);
    check(r, result == ncclSuccess || result == ncclInProgress, "non-blocking init: %d", result);
    state = comm_wait(comm);
    check(r, state == ncclSuccess, "non-blocking init ended with %d", state);
    struct sum s = sum_begin(r, comm, r->stream);
    result = sum_call(&s);
    comm_wait(comm);
    check(r, result == ncclSuccess || result == ncclInProgress, "non-blocking call: %d", result);
    sum_end(r, &s, "non-blocking communicator");
    /* a part of it is as it is, unless told otherwise */
    result = ncclCommSplit(comm, 0, r->rank, &part, NULL);
    check(r, result == ncclSuccess || result == ncclInProgress, "non-blocking split: %d", result);
    check(r, comm_wait(comm) == ncclSuccess && comm_wait(part) == ncclSuccess, "a part is made");
    sum_all(r, part, r->stream, "part of a non-blocking communicator");
    NCCL(ncclCommDestroy(part));
    config.blocking = 1;
    result = ncclCommSplit(comm, 0, -r->rank, &part, &config);
    check(r, result == ncclSuccess || result == ncclInProgress, "blocking split: %d", result);
    check(r, comm_wait(comm) == ncclSuccess && comm_wait(part) == ncclSuccess, "one that blocks");
    sum_all(r, part, r->stream, "blocking part of a non-blocking communicator");
    NCCL(ncclCommDestroy(part));
    NCCL(ncclCommDestroy(comm));
}

/* Few of the GPU's multiprocessors, or none, for it and its parts: run.sh looks at the report. */
static void test_policies(struct rank *r)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    for (int policy = NCCL_CTA_POLICY_DEFAULT; policy <= NCCL_CTA_POLICY_ZERO; policy++) {
        ncclUniqueId id = ranks_id(r);
        ncclComm_t comm, part;

        config.CTAPolicy = policy;
        config.maxCTAs = policy ? NCCL_CONFIG_UNDEF_INT : 8; /* which is a policy too */
        NCCL(ncclCommInitRankConfig(&comm, r->nranks, id, r->rank, &config));
        sum_all(r, comm, r->stream, "a communicator with a policy");
        NCCL(ncclCommSplit(comm, 0, r->rank, &part, NULL));
        sum_all(r, part, r->stream, "a part of one with a policy");
        NCCL(ncclCommDestroy(part));
        NCCL(ncclCommDestroy(comm));
    }
}

/* Given up, without a hang: nothing can be called on it, and it can be destroyed. */
static void test_revoked(struct rank *r)
{
    struct sum s;

    sum_all(r, r->comm, r->stream, "before it is revoked");
    NCCL(ncclCommRevoke(r->comm, NCCL_REVOKE_DEFAULT));
    s = sum_begin(r, r->comm, r->stream);
    check(r, sum_call(&s) != ncclSuccess, "a call on a revoked communicator");
    device_free(s.data);
    NCCL(ncclCommDestroy(r->comm));
    r->comm = ranks_comm(r);
    sum_all(r, r->comm, r->stream, "after one was revoked");
}

/* Another device is current at the call: NCCL knows which one the communicator is of. */
static void test_current_device(struct rank *r)
{
    CUcontext other, now;
    int devices;

    CUDA(DeviceGetCount(&devices));
    CUDA(DevicePrimaryCtxRetain(&other, (r->device + 1) % devices));
    for (int i = 0; i < 3; i++) {
        struct sum s = sum_begin(r, r->comm, r->stream);

        CUDA(CtxPushCurrent(other));
        NCCL(sum_call(&s));
        CUDA(CtxGetCurrent(&now));
        check(r, now == other, "a call has changed the current device");
        CUDA(CtxPopCurrent(NULL));
        sum_end(r, &s, "another device is current");
    }
}

/* Buffers that begin anywhere a number may, other on each rank. */
static void test_unaligned(struct rank *r)
{
    for (int i = 0; i < 4; i++) {
        size_t count = r->count, off = (size_t)(r->rank + i) % 4;
        struct sum s;
        float *wide, *at;

        r->count = count / 2 + (size_t)i;
        s = sum_begin(r, r->comm, r->stream);
        wide = device_new((2 * s.count + 8) * sizeof *wide);
        at = wide + s.count + 4 + off % 3;
        CUDA(MemcpyDtoDAsync((CUdeviceptr)(wide + off), (CUdeviceptr)s.data, s.count * sizeof *wide,
                             r->stream));
        NCCL(ncclAllReduce(wide + off, at, s.count, ncclFloat, ncclSum, r->comm, r->stream));
        CUDA(MemcpyDtoDAsync((CUdeviceptr)s.data, (CUdeviceptr)at, s.count * sizeof *wide,
                             r->stream));
        sum_end(r, &s, "unaligned");
        device_free(wide);
        r->count = count;
    }
}

/* How long would that take? Nothing happens. */
static void test_simulated_end(struct rank *r)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    struct sum s = sum_begin(r, r->comm, r->stream);

    NCCL(ncclGroupStart());
    NCCL(sum_call(&s));
    NCCL(ncclGroupSimulateEnd(&info));
    check(r, info.estimatedTime > 0, "an estimate: %g", (double)info.estimatedTime);
    NCCL(sum_call(&s));
    sum_end(r, &s, "after a group that was only simulated");
}

/* One rank still loads or compiles while the others wait for it without result; from then on all
   keep step. */
static void test_late_once(struct rank *r)
{
    ncclComm_t comm = ranks_comm(r);

    if (r->rank == r->nranks - 1)
        sleep(NOTICE_PATIENCE_S + 1);
    for (int i = 0; i < 10; i++)
        sum_all(r, comm, r->stream, "one rank was late");
    NCCL(ncclCommDestroy(comm));
}

const struct test_case cases_kinds[] = {
    {"configured", test_configured},
    {"init_all", test_init_all},
    {"unseen", test_unseen},
    {"nonblocking", test_nonblocking},
    {"revoked", test_revoked},
    {"current_device", test_current_device},
    {"unaligned", test_unaligned},
    {"simulated_end", test_simulated_end},
    {"late_once", test_late_once},
    {"policies", test_policies},
    {NULL, NULL},
};
