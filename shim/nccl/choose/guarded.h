/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bundle as the guard decides: it measures the library and each way by events on the stream, and
 * the ranks agree on the times some calls later.
 */
#ifndef COLLSHIM_SHIM_NCCL_GUARDED_H
#define COLLSHIM_SHIM_NCCL_GUARDED_H

#include "shim/nccl/run/run.h"

/* The ranks are about to ask each other about a set: the time of that on the stream is part of a
   reroute's time, and not of the library's. */
void nccl_guarded_note_asking(struct nccl_bundle *b);

/* As the guard decides. */
ncclResult_t nccl_guarded(struct nccl_bundle *b);

/* As the guard decided last, of a bundle in capture, also while it looks again: in a capture
 * nothing can be measured. */
ncclResult_t nccl_guarded_capture(struct nccl_bundle *b);

#endif
