/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of other contexts than the device's primary one: those of green contexts, above all. Our
 * kernels and events are the primary one's, and may not go there. So a reroute goes to a stream of
 * the communicator's own, which waits for the program's, and for which the program's waits.
 *
 * Rejected: kernels and events of each context. A green context ends when the program says so.
 */
#ifndef COLLSHIM_SHIM_NCCL_ASIDE_H
#define COLLSHIM_SHIM_NCCL_ASIDE_H

#include "shim/nccl/comm/comm.h"

/* Is the stream of another context? Any context may be current. */
int aside_is_needed(const struct nccl_comm *c, CUstream stream);

/* The communicator's own stream; NULL: it cannot be had. The primary context is current. */
CUstream aside_stream(struct nccl_comm *c);
void aside_forget(struct nccl_comm *c);

/* Let one stream wait for the work on the other, in any contexts. After an error it does not. */
CUresult aside_order(const struct nccl_comm *c, CUstream first, CUstream then);

#endif
