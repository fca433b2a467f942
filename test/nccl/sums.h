/* SPDX-License-Identifier: BSD-3-Clause */
/* An AllReduce whose result is known: what most of the cases do with a communicator. */
#ifndef COLLSHIM_TEST_NCCL_SUMS_H
#define COLLSHIM_TEST_NCCL_SUMS_H

#include "test/nccl/ranks.h"

/* A sum over a communicator's ranks, checked: rank i of it brings i + 1, and what no other sum has.
 */
struct sum {
    ncclComm_t comm;
    float *data;
    size_t count;
    CUstream stream;
    int rank, nranks, own;
};

/* Data for the next sum of r->count elements; all ranks of r make as many sums. */
struct sum sum_begin(struct rank *r, ncclComm_t comm, CUstream stream);
ncclResult_t sum_call(const struct sum *s);
/* Wait for the stream, check the result, free the data. */
void sum_end(struct rank *r, struct sum *s, const char *what);

void sum_all(struct rank *r, ncclComm_t comm, CUstream stream, const char *what);

#endif
