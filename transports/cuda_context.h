/* SPDX-License-Identifier: BSD-3-Clause */
/* Being in the context of a piece of memory for a while. For the files of this folder. */
#ifndef COLLSHIM_TRANSPORTS_CUDA_CONTEXT_H
#define COLLSHIM_TRANSPORTS_CUDA_CONTEXT_H

#include "transports/cuda_driver.h"
#include "transports/cuda_memory.h"

struct cuda_entry {
    CUcontext context;
    CUdevice device; /* whose primary context is retained, or -1 */
};

/* Make the place's context the current one of this thread. Returns 0 (cuda_leave ends it) or -EIO.
 */
int cuda_enter(const struct cuda_calls *cu, const struct cuda_place *place,
               struct cuda_entry *entry);
void cuda_leave(const struct cuda_calls *cu, const struct cuda_entry *entry);

#endif
