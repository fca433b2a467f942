/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLLSHIM_MODE=verify: a bundle both ways on the same input. The schedules write to memory of
 * ours, then the library writes what the application gets. Both results are copied to the host
 * behind that, on the stream, and compared at some later call: no thread waits for a stream here
 * either.
 *
 * Results must have the same bits. Rounded sums and products are the exception: there an element
 * may be off by one rounding per rank, of the largest element of the result. A program that ends
 * without another call leaves some uncompared, which the report counts.
 */
#ifndef COLLSHIM_SHIM_NCCL_VERIFY_H
#define COLLSHIM_SHIM_NCCL_VERIFY_H

#include "shim/nccl/run/run.h"

/* Run it both ways. The device's context is current. */
ncclResult_t verify_bundle(struct nccl_bundle *b);

/* Compare what has arrived by now. Any thread; waits for nothing. */
void verify_sweep(void);

#endif
