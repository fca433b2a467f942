/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory that communicators use and hand on. None of it is given back to the driver: that
 * would wait for the device, and ending a communicator must not. Thread-safe.
 */
#ifndef COLLSHIM_SHIM_NCCL_SCRATCH_H
#define COLLSHIM_SHIM_NCCL_SCRATCH_H

#include <stdint.h>

#include "transports/cuda_driver.h"

/* At least so many bytes on the device of the current context, or NULL. *got: how many. */
char *scratch_take(const struct cuda_calls *cu, uint64_t bytes, uint64_t *got);

/* Hand it on, in the context it is of, as soon as `last` has happened, which becomes the pool's
 * (NULL: at once). p may be NULL. */
void scratch_give(CUcontext context, char *p, uint64_t bytes, CUevent last);

#endif
