/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/nccl/sums.h"

#include <stdlib.h>

struct sum sum_begin(struct rank *r, ncclComm_t comm, CUstream stream)
{
    struct sum s = {.comm = comm, .count = r->count, .stream = stream, .own = 1 + r->sums++ % 50};
    float *host = malloc(s.count * sizeof *host);

    if (!host)
        abort();
    NCCL(ncclCommUserRank(comm, &s.rank));
    NCCL(ncclCommCount(comm, &s.nranks));
    s.data = device_new(s.count * sizeof *host);
    for (size_t i = 0; i < s.count; i++)
        host[i] = (float)(s.rank + 1) + (float)(i % 3) * (float)s.own;
    device_write(s.data, host, s.count * sizeof *host);
    free(host);
    return s;
}

ncclResult_t sum_call(const struct sum *s)
{
    return ncclAllReduce(s->data, s->data, s->count, ncclFloat, ncclSum, s->comm, s->stream);
}

void sum_end(struct rank *r, struct sum *s, const char *what)
{
    float *host = malloc(s->count * sizeof *host);
    size_t wrong = 0;
    int n = s->nranks;

    if (!host)
        abort();
    stream_wait(s->stream);
    device_read(host, s->data, s->count * sizeof *host);
    for (size_t i = 0; i < s->count; i++)
        wrong += host[i] != (float)(n * (n + 1) / 2) + (float)n * (float)(i % 3) * (float)s->own;
    check(r, !wrong, "%s: %zu elements are wrong", what, wrong);
    device_free(s->data);
    free(host);
}

void sum_all(struct rank *r, ncclComm_t comm, CUstream stream, const char *what)
{
    struct sum s = sum_begin(r, comm, stream);

    NCCL(sum_call(&s));
    sum_end(r, &s, what);
}
