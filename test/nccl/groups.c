/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of collectives: several kinds and communicators, nested, over two streams, and several
 * ranks that one thread drives. Rank i brings i + 1 everywhere, so that results are known.
 */
#include <stdlib.h>
#include <unistd.h>

#include "test/nccl/ranks.h"

/* Numbers on the device: n of them, value in the first `filled`, from `at` on. */
static float *numbers(size_t n, size_t at, size_t filled, float value)
{
    float *host = malloc(n * sizeof *host), *data = device_new(n * sizeof *data);

    if (!host)
        abort();
    for (size_t i = 0; i < n; i++)
        host[i] = i >= at && i < at + filled ? value : -1;
    device_write(data, host, n * sizeof *host);
    free(host);
    return data;
}

/* Is element i what it should be: constant, or of the block it is in? */
static void expect(struct rank *r, float *data, size_t n, size_t block, float first, float step,
                   const char *what)
{
    float *host = malloc(n * sizeof *host);
    size_t wrong = 0;

    if (!host)
        abort();
    device_read(host, data, n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        wrong += host[i] != first + step * (float)(i / block);
    check(r, !wrong, "%s: %zu of %zu are wrong", what, wrong, n);
    free(host);
    device_free(data);
}

/* Every collective at once; both communicators; results seen on either stream. */
static void every_collective(struct rank *r, ncclComm_t other, CUstream s, CUstream t)
{
    size_t n = r->count, all = n * (size_t)r->nranks;
    float me = (float)(r->rank + 1), ranks = (float)r->nranks, sum = ranks * (ranks + 1) / 2;
    float *a = numbers(n, 0, n, me), *b = numbers(n, 0, n, 2 * me);
    float *gathered = numbers(all, n * (size_t)r->rank, n, me), *in = numbers(all, 0, all, me);
    float *scattered = numbers(n, 0, 0, 0), *sent = numbers(n, 0, n, 7 * me);

    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(a, a, n, ncclFloat, ncclSum, r->comm, s));
    NCCL(ncclGroupStart());
    NCCL(ncclAllGather(gathered + n * (size_t)r->rank, gathered, n, ncclFloat, r->comm, t));
    NCCL(ncclAllReduce(b, b, n, ncclFloat, ncclMax, other, s));
    NCCL(ncclGroupEnd());
    NCCL(ncclReduceScatter(in, scattered, n, ncclFloat, ncclSum, r->comm, s));
    NCCL(ncclBroadcast(sent, sent, n, ncclFloat, 1 % r->nranks, other, s));
    NCCL(ncclGroupEnd());
    stream_wait(t); /* each of a group's streams waits for all of the group */
    expect(r, a, n, n, sum, 0, "AllReduce in a group");
    expect(r, gathered, all, n, 1, 1, "AllGather in a group, on another stream");
    expect(r, scattered, n, n, sum, 0, "ReduceScatter in a group");
    stream_wait(s);
    expect(r, b, n, n, 2 * ranks, 0, "AllReduce on another communicator");
    expect(r, sent, n, n, 7.0f * (float)(1 % r->nranks + 1), 0, "Broadcast in a group");
    device_free(in);
}

static void test_group_many(struct rank *r)
{
    ncclComm_t other = ranks_comm(r);
    CUstream t = stream_new();

    for (int i = 0; i < 40; i++)
        every_collective(r, other, r->stream, i % 2 ? t : r->stream);
    NCCL(ncclCommDestroy(other));
    CUDA(StreamDestroy(t));
}

/* Two communicators on one stream, called in one order by some ranks and in the other by the rest.
 */
static void test_group_crosswise(struct rank *r)
{
    ncclComm_t comm[2] = {r->comm, ranks_comm(r)};
    size_t n = r->count;
    float ranks = (float)r->nranks, me = (float)(r->rank + 1);

    for (int round = 0; round < 4; round++) {
        float *a[2];

        NCCL(ncclGroupStart());
        for (int k = 0; k < 2; k++) {
            int i = k ^ (r->rank & 1);

            a[i] = numbers(n, 0, n, me * (float)(i + 1));
            NCCL(ncclAllReduce(a[i], a[i], n, ncclFloat, ncclSum, comm[i], r->stream));
        }
        NCCL(ncclGroupEnd());
        stream_wait(r->stream);
        for (int i = 0; i < 2; i++)
            expect(r, a[i], n, n, (float)(i + 1) * ranks * (ranks + 1) / 2, 0,
                   "communicators called crosswise");
    }
    NCCL(ncclCommDestroy(comm[1]));
}

/* Messages between every two ranks: of one element with the last rank, else of `most`. */
static void call_exchange(const struct rank *r, ncclComm_t comm, float *from, float *to,
                          size_t most, CUstream s)
{
    for (int peer = 0; peer < r->nranks; peer++) {
        int last = r->nranks - 1;
        size_t n = peer == last || r->rank == last ? 1 : most;

        NCCL(ncclSend(from, n, ncclFloat, peer, comm, s));
        NCCL(ncclRecv(to + (size_t)peer * most, n, ncclFloat, peer, comm, s));
    }
}

/* Is the stream idle within some seconds? */
static int ends(CUstream s)
{
    enum { PATIENCE_MS = 20000 };

    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        if (cu->StreamQuery(s) != CUDA_ERROR_NOT_READY)
            return 1;
        usleep(1000);
    }
    return 0;
}

/*
 * A collective on one communicator and an exchange on the other, in one group on one stream. The
 * last rank has little to send, the others much; each communicator has either part once.
 */
static void test_group_apart(struct rank *r)
{
    ncclComm_t comm[2] = {ranks_comm(r), ranks_comm(r)};
    size_t n = r->count, all = n * (size_t)r->nranks;
    float ranks = (float)r->nranks, me = (float)(r->rank + 1);
    float *out = numbers(all, 0, 0, 0), *from = numbers(n, 0, n, 1);
    int hangs = 0;

    for (int round = 0; round < 8 && !hangs; round++) {
        float *a = numbers(n, 0, n, me);

        NCCL(ncclGroupStart());
        NCCL(ncclAllReduce(a, a, n, ncclFloat, ncclSum, comm[round % 2], r->stream));
        call_exchange(r, comm[1 - round % 2], from, out, n, r->stream);
        NCCL(ncclGroupEnd());
        hangs = !check(r, ends(r->stream), "a collective and an exchange in a group hang");
        if (!hangs)
            expect(r, a, n, n, ranks * (ranks + 1) / 2, 0, "a collective beside an exchange");
    }
    for (int i = 0; i < 2; i++)
        NCCL(hangs ? ncclCommAbort(comm[i]) : ncclCommDestroy(comm[i]));
    stream_wait(r->stream);
    device_free(out);
    device_free(from);
}

/* An operation that the program makes and ends within the group, for a call in every place of it;
 * one rank has a message more in the group, which says nothing about the others' collectives. */
static void beside_made(struct rank *r, __typeof__(&ncclRedOpCreatePreMulSum) make)
{
    size_t n = r->count;
    float ranks = (float)r->nranks, half = 0.5f, me = (float)(r->rank + 1);
    float sum = ranks * (ranks + 1) / 2;
    ncclRedOp_t op;

    for (int where = 0; where < 4; where++) {
        float *a = numbers(n, 0, n, me), *b = numbers(n, 0, n, me), *c = numbers(n, 0, n, 2 * me);
        float *d = numbers(2 * n, 0, n, me);

        NCCL(make(&op, &half, ncclFloat, ncclScalarHostImmediate, r->comm));
        NCCL(ncclGroupStart());
        if (r->rank == 0 && where % 2)
            NCCL(ncclSend(d, n, ncclFloat, 0, r->comm, r->stream));
        if (where == 0)
            NCCL(ncclAllReduce(c, c, n, ncclFloat, op, r->comm, r->stream));
        NCCL(ncclAllReduce(a, a, n, ncclFloat, ncclSum, r->comm, r->stream));
        if (where == 1)
            NCCL(ncclAllReduce(c, c, n, ncclFloat, op, r->comm, r->stream));
        NCCL(ncclAllReduce(b, b, n, ncclFloat, ncclSum, r->comm, r->stream));
        if (where >= 2)
            NCCL(ncclAllReduce(c, c, n, ncclFloat, op, r->comm, r->stream));
        if (r->rank == 0 && where % 2)
            NCCL(ncclRecv(d + n, n, ncclFloat, 0, r->comm, r->stream));
        NCCL(ncclRedOpDestroy(op, r->comm));
        NCCL(ncclGroupEnd());
        stream_wait(r->stream);
        expect(r, a, n, n, sum, 0, "beside a created operation");
        expect(r, b, n, n, sum, 0, "behind a created operation");
        expect(r, c, n, n, sum, 0, "a created operation in a group");
        if (r->rank == 0 && where % 2)
            expect(r, d, 2 * n, n, 1, 0, "a message beside it");
        else
            device_free(d);
    }
}

static void test_group_made(struct rank *r)
{
    beside_made(r, ncclRedOpCreatePreMulSum);
}

/* One that only the library understands. */
static void test_group_foreign(struct rank *r)
{
    beside_made(r, pncclRedOpCreatePreMulSum);
}

/* A call that NCCL refuses: nothing of the group happens, and the next one does. */
static void test_group_refused(struct rank *r)
{
    size_t n = r->count;
    float me = (float)(r->rank + 1), ranks = (float)r->nranks, *a = numbers(n, 0, n, me);

    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(a, a, n, ncclFloat, ncclSum, r->comm, r->stream));
    check(r, ncclAllReduce(a, a, n, (ncclDataType_t)99, ncclSum, r->comm, r->stream) != ncclSuccess,
          "no such type in a group");
    check(r, ncclGroupEnd() != ncclSuccess, "a group with a refused call");
    stream_wait(r->stream);
    expect(r, a, n, n, me, 0, "of a refused group");
    a = numbers(n, 0, n, me);
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(a, a, n, ncclFloat, ncclSum, r->comm, r->stream));
    NCCL(ncclGroupEnd());
    stream_wait(r->stream);
    expect(r, a, n, n, ranks * (ranks + 1) / 2, 0, "after a refused group");
}

/* One thread with two ranks of a communicator, on a device each; the last rank's has one. */
static void test_group_devices(struct rank *r)
{
    int devices, mine = r->rank == r->nranks - 1 ? 1 : 2, nranks = 2 * r->nranks - 1;
    CUcontext context[2] = {r->context};
    CUstream stream[2] = {r->stream};
    ncclComm_t comm[2];
    ncclUniqueId id;
    size_t n = r->count;
    float all = (float)nranks, sum = all * (all + 1) / 2;

    CUDA(DeviceGetCount(&devices));
    if (r->rank == 0)
        NCCL(ncclGetUniqueId(&id));
    ranks_tell(r, &id, sizeof id);
    if (devices < 2 * r->nranks)
        return;
    if (mine == 2) {
        CUDA(DevicePrimaryCtxRetain(&context[1], r->device + r->nranks));
        CUDA(CtxPushCurrent(context[1]));
        stream[1] = stream_new();
        CUDA(CtxPopCurrent(NULL));
    }
    NCCL(ncclGroupStart());
    for (int i = 0; i < mine; i++) {
        CUDA(CtxPushCurrent(context[i]));
        NCCL(ncclCommInitRank(&comm[i], nranks, id, 2 * r->rank + i));
        CUDA(CtxPopCurrent(NULL));
    }
    NCCL(ncclGroupEnd());
    for (int round = 0; round < 6; round++) {
        float *a[2], *b[2];

        for (int i = 0; i < mine; i++) {
            CUDA(CtxPushCurrent(context[i]));
            a[i] = numbers(n, 0, n, (float)(2 * r->rank + i + 1));
            b[i] = numbers(n * (size_t)nranks, 0, n * (size_t)nranks, (float)(2 * r->rank + i + 1));
            CUDA(CtxPopCurrent(NULL));
        }
        if (mine > 1)
            NCCL(ncclGroupStart()); /* the others may do without */
        for (int i = 0; i < mine; i++)
            NCCL(
                ncclAllReduce(a[i], a[i], n, ncclFloat, ncclSum, comm[i], (cudaStream_t)stream[i]));
        if (mine > 1) {
            NCCL(ncclGroupEnd());
            NCCL(ncclGroupStart());
        }
        for (int i = 0; i < mine; i++)
            NCCL(ncclReduceScatter(b[i], b[i] + n * (size_t)(2 * r->rank + i), n, ncclFloat,
                                   ncclSum, comm[i], (cudaStream_t)stream[i]));
        if (mine > 1)
            NCCL(ncclGroupEnd());
        for (int i = 0; i < mine; i++) {
            CUDA(CtxPushCurrent(context[i]));
            stream_wait(stream[i]);
            expect(r, a[i], n, n, sum, 0, "a thread of several ranks: AllReduce");
            float *host = malloc(n * sizeof *host);
            size_t wrong = 0;
            device_read(host, b[i] + n * (size_t)(2 * r->rank + i), n * sizeof *host);
            for (size_t k = 0; k < n; k++)
                wrong += host[k] != sum;
            check(r, !wrong, "a thread of several ranks: ReduceScatter: %zu are wrong", wrong);
            free(host);
            device_free(b[i]);
            CUDA(CtxPopCurrent(NULL));
        }
    }
    for (int i = 0; i < mine; i++)
        NCCL(ncclCommDestroy(comm[i]));
    if (mine == 2) {
        CUDA(CtxPushCurrent(context[1]));
        CUDA(StreamDestroy(stream[1]));
        CUDA(CtxPopCurrent(NULL));
    }
}

const struct test_case cases_groups[] = {
    {"group_many", test_group_many},       {"group_crosswise", test_group_crosswise},
    {"group_apart", test_group_apart},     {"group_made", test_group_made},
    {"group_foreign", test_group_foreign}, {"group_refused", test_group_refused},
    {"group_devices", test_group_devices}, {NULL, NULL},
};
