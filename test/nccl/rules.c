/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that a program may rely on, beside results: groups, the life of communicators. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/nccl/sums.h"

static void test_nothing(struct rank *r)
{
    char *p = device_new(64);

    NCCL(ncclAllReduce(p, p, 0, ncclFloat, ncclSum, r->comm, r->stream));
    NCCL(ncclAllGather(p, p, 0, ncclFloat, r->comm, r->stream));
    NCCL(ncclReduceScatter(NULL, NULL, 0, ncclFloat, ncclSum, r->comm, r->stream));
    stream_wait(r->stream);
    sum_all(r, r->comm, r->stream, "after nothing");
    device_free(p);
}

static void test_one_rank(struct rank *r)
{
    ncclComm_t alone;

    NCCL(ncclCommSplit(r->comm, r->rank, 0, &alone, NULL));
    sum_all(r, alone, r->stream, "one rank");
    NCCL(ncclCommDestroy(alone));
}

static void test_groups(struct rank *r)
{
    ncclComm_t other = ranks_comm(r);
    struct sum a = sum_begin(r, r->comm, r->stream), b = sum_begin(r, other, r->stream),
               c = sum_begin(r, r->comm, r->stream);

    NCCL(ncclGroupStart());
    NCCL(sum_call(&a));
    NCCL(ncclGroupStart());
    NCCL(sum_call(&b));
    NCCL(ncclGroupEnd());
    NCCL(sum_call(&c));
    NCCL(ncclGroupEnd());
    sum_end(r, &a, "group, first");
    sum_end(r, &b, "group, another communicator");
    sum_end(r, &c, "group, last");
    for (int i = 0; i < 3; i++) { /* and one after the other */
        sum_all(r, r->comm, r->stream, "two communicators, first");
        sum_all(r, other, r->stream, "two communicators, second");
    }
    NCCL(ncclCommDestroy(other));
}

/* Messages and a collective in one group. */
static void test_mixed_group(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    int *data = device_new(2 * sizeof *data), host[2] = {r->rank, -1};

    device_write(data, host, sizeof host);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(data, 1, ncclInt, next, r->comm, r->stream));
    NCCL(sum_call(&s));
    NCCL(ncclRecv(data + 1, 1, ncclInt, before, r->comm, r->stream));
    NCCL(ncclGroupEnd());
    sum_end(r, &s, "collective among messages");
    device_read(host, data, sizeof host);
    check(r, host[1] == before, "message beside a collective: %d", host[1]);
    device_free(data);
}

static void test_split(struct rank *r)
{
    ncclComm_t part, rest = NULL;
    int half = r->rank < (r->nranks + 1) / 2, last = r->nranks - 1;

    NCCL(ncclCommSplit(r->comm, half, -r->rank, &part, NULL));
    sum_all(r, part, r->stream, "half");
    NCCL(ncclCommDestroy(part));
    NCCL(ncclCommSplit(r->comm, half ? 1 : NCCL_SPLIT_NOCOLOR, 0, &part, NULL));
    check(r, (part != NULL) == half, "a rank without colour has no communicator");
    if (part) {
        sum_all(r, part, r->stream, "one half alone");
        NCCL(ncclCommDestroy(part));
    } else {
        r->sums++; /* sums are numbered alike on all ranks */
    }
    if (r->nranks > 1 && r->rank != last) {
        NCCL(ncclCommShrink(r->comm, &last, 1, &rest, NULL, NCCL_SHRINK_DEFAULT));
        sum_all(r, rest, r->stream, "shrunk");
        NCCL(ncclCommDestroy(rest));
    } else {
        r->sums++;
    }
    sum_all(r, r->comm, r->stream, "the parent goes on");
}

/* The children are there when the group ends, and are known then. Each has a parent of its own:
 * NCCL makes no two children of one at a time. */
static void test_split_in_group(struct rank *r)
{
    ncclComm_t half = NULL, all = NULL, parent = ranks_comm(r);

    NCCL(ncclGroupStart());
    NCCL(ncclCommSplit(r->comm, r->rank % 2, r->rank, &half, NULL));
    NCCL(ncclCommSplit(parent, 0, r->rank, &all, NULL));
    NCCL(ncclGroupEnd());
    if (!check(r, half && all, "no communicator behind the group"))
        return;
    for (int i = 0; i < 3; i++) {
        sum_all(r, all, r->stream, "split in a group");
        sum_all(r, half, r->stream, "a part split in a group");
    }
    NCCL(ncclCommDestroy(half));
    NCCL(ncclCommDestroy(all));
    NCCL(ncclCommDestroy(parent));
}

static void test_init_in_group(struct rank *r)
{
    ncclUniqueId id[2] = {ranks_id(r), ranks_id(r)};
    ncclComm_t comm[2];

    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommInitRank(&comm[i], r->nranks, id[i], r->rank));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2; i++)
        sum_all(r, comm[i], r->stream, "initialised in a group");
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommDestroy(comm[i]));
}

/* Sums of fp8 are right, or refused as the library refuses them, by all ranks and in every call. */
static void test_fp8_sums(struct rank *r)
{
    unsigned char *data = device_new(r->count), *host = calloc(r->count, 1);
    int major = 0, wrong = 0;
    CUdevice device;

    if (!host)
        abort();
    CUDA(DeviceGet(&device, r->device));
    CUDA(DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    device_write(data, host, r->count);
    for (int i = 0; i < 4; i++)
        wrong += ncclAllReduce(data, data, r->count, ncclFloat8e4m3, ncclSum, r->comm, r->stream) !=
                 (major < 9 ? ncclInvalidArgument : ncclSuccess);
    stream_wait(r->stream);
    device_read(host, data, r->count);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[i] != 0;
    check(r, !wrong, "sums of fp8 on sm_%d0: %d are not what the library gives", major, wrong);
    free(host);
    device_free(data);
}

static void test_destroy_early(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);

    NCCL(sum_call(&s));
    NCCL(sum_call(&s)); /* of sums: checked by hand below */
    NCCL(ncclCommDestroy(r->comm));
    r->comm = NULL;
    stream_wait(r->stream);
    float first;
    device_read(&first, s.data, sizeof first);
    check(r, first == (float)(r->nranks * r->nranks * (r->nranks + 1) / 2),
          "destroyed with work outstanding: %g", (double)first);
    device_free(s.data);
}

static void test_finalize(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);

    NCCL(sum_call(&s));
    NCCL(ncclCommFinalize(r->comm));
    sum_end(r, &s, "finalized");
    NCCL(ncclCommDestroy(r->comm));
    r->comm = NULL;
}

static void *abort_soon(void *data)
{
    struct rank *r = data;

    usleep(200000);
    NCCL(ncclCommAbort(r->comm));
    return NULL;
}

/* Rank 0 never comes; the others hang until another thread of theirs gives the communicator up. */
static void test_abort(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    pthread_t thread;

    NCCL(sum_call(&s));
    sum_end(r, &s, "before the abort");
    s = sum_begin(r, r->comm, r->stream);
    pthread_create(&thread, NULL, abort_soon, r);
    if (r->rank)
        sum_call(&s);
    stream_wait(r->stream);
    pthread_join(thread, NULL);
    check(r, 1, "aborted");
    r->comm = NULL;
    device_free(s.data);
    r->comm = ranks_comm(r);
    sum_all(r, r->comm, r->stream, "after an abort");
}

/* The same where the others meet each other before anything is on a stream: a size that is new. */
static void test_abort_meeting(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    size_t count = r->count;
    pthread_t thread;

    NCCL(sum_call(&s));
    sum_end(r, &s, "before the abort");
    r->count = count / 2 + 2;
    s = sum_begin(r, r->comm, r->stream);
    pthread_create(&thread, NULL, abort_soon, r);
    if (r->rank)
        sum_call(&s);
    stream_wait(r->stream);
    pthread_join(thread, NULL);
    device_free(s.data);
    r->count = count;
    r->comm = ranks_comm(r);
    sum_all(r, r->comm, r->stream, "after an abort");
}

static void test_async_error(struct rank *r)
{
    ncclResult_t state = ncclInternalError;

    for (int i = 0; i < 3; i++) {
        struct sum s = sum_begin(r, r->comm, r->stream);

        NCCL(sum_call(&s));
        NCCL(ncclCommGetAsyncError(r->comm, &state));
        check(r, state == ncclSuccess, "async error %d", state);
        sum_end(r, &s, "polled");
    }
}

/* Many calls of one size, then others: knowledge about a call must not change it. */
static void test_repeated(struct rank *r)
{
    size_t count = r->count;

    for (int i = 0; i < 60; i++) {
        r->count = i % 10 == 9 ? count / 2 + 1 : count;
        sum_all(r, r->comm, r->stream, "repeated");
    }
    r->count = count;
}

/* Once the guard has settled: sizes of one class, each new, then all of them once more. */
static void test_fresh(struct rank *r)
{
    size_t count = r->count;

    for (int i = 0; i < 200; i++)
        sum_all(r, r->comm, r->stream, "settling");
    for (int i = 0; i < 20; i++) {
        r->count = count - 1 - (size_t)i % 10;
        sum_all(r, r->comm, r->stream, "a size of its own");
    }
    r->count = count;
}

/* A handle's address comes back for the next communicator. */
static void test_recycled(struct rank *r)
{
    for (int i = 0; i < 4; i++) {
        ncclComm_t comm = ranks_comm(r);

        sum_all(r, comm, r->stream, "a new communicator");
        if (i % 2)
            NCCL(ncclCommAbort(comm));
        else
            NCCL(ncclCommDestroy(comm));
    }
}

const struct test_case cases_rules[] = {
    {"nothing", test_nothing},
    {"one_rank", test_one_rank},
    {"groups", test_groups},
    {"mixed_group", test_mixed_group},
    {"split", test_split},
    {"split_in_group", test_split_in_group},
    {"init_in_group", test_init_in_group},
    {"fp8_sums", test_fp8_sums},
    {"destroy_early", test_destroy_early},
    {"finalize", test_finalize},
    {"abort", test_abort},
    {"abort_meeting", test_abort_meeting},
    {"async_error", test_async_error},
    {"repeated", test_repeated},
    {"fresh", test_fresh},
    {"recycled", test_recycled},
    {NULL, NULL},
};
