/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of an AllReduce, for the tracer of test/ways: rank 0 marks each call, small or large. */
#include "test/ways/trace.h"
#include "test/nccl/ranks.h"

static void sum(struct rank *r, float *data, size_t count, const char *name)
{
    float result;

    ranks_meet(r);
    if (!r->rank)
        trace_begin(name);
    NCCL(ncclAllReduce(data, data, count, ncclFloat, ncclSum, r->comm, r->stream));
    if (!r->rank)
        trace_end();
    stream_wait(r->stream);
    device_read(&result, data + count - 1, sizeof result);
    check(r, result == 0, "a %s sum of zeroes is none", name);
}

static void test_ways(struct rank *r)
{
    enum { CALLS = 12 };
    float *data = device_new(r->count * sizeof *data);

    CUDA(MemsetD8Async((CUdeviceptr)data, 0, r->count * sizeof *data, r->stream));
    for (int i = 0; i < CALLS; i++) {
        sum(r, data, 1, "small");
        sum(r, data, r->count, "large");
    }
    device_free(data);
}

const struct test_case cases_ways[] = {{"ways", test_ways}, {NULL, NULL}};
