/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of a memory's uses, on any streams: each use waits for the one before it.
 */
#ifndef COLLSHIM_SHIM_NCCL_USE_ORDER_H
#define COLLSHIM_SHIM_NCCL_USE_ORDER_H

#include "transports/cuda/cuda_driver.h"

struct use_order {
    CUevent last;   /* after the last use; owned; NULL: not made */
    int has_run;    /* last is recorded */
    int in_a_graph; /* so it may be used at any time */
};

/* Around a use, on a stream, which may be in capture. */
CUresult use_order_begin(const struct cuda_calls *cu, const struct use_order *o, CUstream stream,
                         int captured);
CUresult use_order_end(const struct cuda_calls *cu, struct use_order *o, CUstream stream,
                       int captured);

#endif
