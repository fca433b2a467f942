/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory that communicators use and hand on. The driver gets it back where NCCL gives
 * memory back itself, since that waits for the device. Thread-safe.
 */
#ifndef COLLSHIM_SHIM_NCCL_SCRATCH_H
#define COLLSHIM_SHIM_NCCL_SCRATCH_H

#include <stdint.h>

#include "transports/cuda/cuda_driver.h"

/* At least so many bytes on the device of the current context, or NULL. *got: how many. */
char *scratch_take(const struct cuda_calls *cu, uint64_t bytes, uint64_t *got);

/* Hand it on, in the context it is of, as soon as `last` has happened, which becomes the pool's
 * (NULL: at once). p may be NULL. */
void scratch_give(CUcontext context, char *p, uint64_t bytes, CUevent last);

/* That is open in other processes: it stays in the pool. NULL is fine. */
void scratch_keep(const char *p);

/* Give unused memory back to the driver. May wait for the device. */
void scratch_trim(const struct cuda_calls *cu);

#endif
