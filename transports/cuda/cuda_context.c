/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context of a call is that of its buffers. Memory without a context (pools, managed memory)
 * uses the device's primary one, as the CUDA runtime does.
 */
#include "transports/cuda/cuda_context.h"

#include <errno.h>

int cuda_enter(const struct cuda_calls *cu, const struct cuda_place *place,
               struct cuda_entry *entry)
{
    CUdevice device;

    *entry = (struct cuda_entry){.context = place->context, .device = -1};
    if (!entry->context) {
        if (cu->DeviceGet(&device, place->device) != CUDA_SUCCESS ||
            cu->DevicePrimaryCtxRetain(&entry->context, device) != CUDA_SUCCESS)
            return -EIO;
        entry->device = device;
    }
    if (cu->CtxPushCurrent(entry->context) == CUDA_SUCCESS) {
        entry->before = CU_STREAM_CAPTURE_MODE_RELAXED;
        entry->relaxed = cu->ThreadExchangeStreamCaptureMode(&entry->before) == CUDA_SUCCESS;
        return 0;
    }
    if (entry->device >= 0)
        cu->DevicePrimaryCtxRelease(entry->device);
    return -EIO;
}

void cuda_leave(const struct cuda_calls *cu, const struct cuda_entry *entry)
{
    CUstreamCaptureMode mode = entry->before;

    if (entry->relaxed)
        cu->ThreadExchangeStreamCaptureMode(&mode);
    cu->CtxPopCurrent(NULL);
    if (entry->device >= 0)
        cu->DevicePrimaryCtxRelease(entry->device);
}
