/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that runs far ahead of its stream, as in a backward pass that waits for nothing. */
#include "test/nccl/ranks.h"

#include <stdlib.h>

enum { CALLS = 2500, AHEAD = 500 };

/* Call i is made once call i - AHEAD is over. */
static void test_ahead(struct rank *r)
{
    CUevent behind[AHEAD];
    float *data = device_new(r->count * sizeof *data), *host = calloc(r->count, sizeof *host);
    int wrong = 0;

    if (!host)
        abort();
    device_write(data, host, r->count * sizeof *host);
    for (int i = 0; i < AHEAD; i++)
        CUDA(EventCreate(&behind[i], CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < CALLS; i++) {
        if (i >= AHEAD)
            CUDA(EventSynchronize(behind[i % AHEAD]));
        NCCL(ncclAllReduce(data, data, r->count, ncclFloat, ncclSum, r->comm, r->stream));
        CUDA(EventRecord(behind[i % AHEAD], r->stream));
    }
    stream_wait(r->stream);
    device_read(host, data, r->count * sizeof *host);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[i] != 0;
    check(r, !wrong, "a sum of zeroes is none");
    free(host);
    device_free(data);
    for (int i = 0; i < AHEAD; i++)
        CUDA(EventDestroy(behind[i]));
}

const struct test_case cases_ahead[] = {{"ahead", test_ahead}, {NULL, NULL}};
