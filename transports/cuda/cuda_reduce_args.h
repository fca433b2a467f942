/* SPDX-License-Identifier: BSD-3-Clause */
/* The argument of every reduction kernel; read by C, CUDA C++ and the simulated driver. */
#ifndef COLLSHIM_TRANSPORTS_CUDA_REDUCE_ARGS_H
#define COLLSHIM_TRANSPORTS_CUDA_REDUCE_ARGS_H

#include <stdint.h>

/* In a node of eight: the own one, seven that have come from there, and one from another node. */
#define CUDA_REDUCE_SOURCES 9
#define CUDA_REDUCE_PASSES 4

/* One pass: dst[i] = src[0][i] op src[1][i] op ... in that order; dst may be any of the sources.
   Operations of one source: dst[i] = src[0][i] op the operand. */
struct cuda_reduce_args {
    void *dst;
    const void *src[CUDA_REDUCE_SOURCES];
    uint64_t count;        /* elements */
    uint32_t sources;      /* 2 .. CUDA_REDUCE_SOURCES; 1 of `divide` and `scale` */
    uint32_t divisor;      /* of `divide` */
    uint64_t factor;       /* of `scale`: its first bytes are the element */
    const void *factor_at; /* where on the device it is read from instead, when it runs; or NULL */
};

/* One launch: blocks of row y work on pass[y], so there are as many rows as passes. Passes run in
   any order. */
struct cuda_reduce_batch {
    struct cuda_reduce_args pass[CUDA_REDUCE_PASSES];
};

#define CUDA_REDUCE_KERNEL(op, type) collshim_reduce_##op##_##type

#endif
