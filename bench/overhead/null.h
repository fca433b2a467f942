/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that the libraries that do nothing were asked to put on streams. Any thread; not exact. */
#ifndef COLLSHIM_BENCH_OVERHEAD_NULL_H
#define COLLSHIM_BENCH_OVERHEAD_NULL_H

struct null_counts {
    unsigned long groups, messages;        /* of null_nccl.c */
    unsigned long kernels, copies, events; /* of null_cuda.c */
};

#endif
