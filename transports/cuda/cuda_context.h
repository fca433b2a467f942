/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread enters a context for a while, for calls that are no part of the program's captures.
 *
 * If any thread captures in the global mode, CUDA refuses calls that may wait for the device or
 * allocate (cuEventQuery, cuMemAlloc), and such a call spoils the capture. Our work does not
 * concern that capture, so it switches to the relaxed mode.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_CONTEXT_H
#define COLLSHIM_TRANSPORTS_CUDA_CONTEXT_H

#include "transports/cuda/cuda_driver.h"
#include "transports/cuda/cuda_place.h"

struct cuda_entry {
    CUcontext context;
    CUdevice device; /* whose primary context is retained, or -1 */
    int relaxed;     /* the thread's mode was another before: */
    CUstreamCaptureMode before;
};

/* Make the place's context the current one of this thread. Returns 0 (cuda_leave ends it) or -EIO.
 */
int cuda_enter(const struct cuda_calls *cu, const struct cuda_place *place,
               struct cuda_entry *entry);
void cuda_leave(const struct cuda_calls *cu, const struct cuda_entry *entry);

#endif
