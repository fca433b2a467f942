/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a piece of device memory, without a CUDA type. cuda_place_of (cuda_memory.h) finds
   it. */
#ifndef COLLSHIM_TRANSPORTS_CUDA_PLACE_H
#define COLLSHIM_TRANSPORTS_CUDA_PLACE_H

#include <stddef.h>

/* A context, and the bounds of a piece of device memory. */
struct cuda_place {
    void *context; /* NULL: the device's primary one */
    int device;
    size_t before, after; /* bytes of the allocation below the address, and from it on */
};

#endif
