/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA, through the driver API alone and found at run time: nothing is linked, so one build serves
 * machines with and without a GPU. The CUDA runtime is not used: it would drag its own state into
 * the application's process, and it cannot be simulated in tests.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_DRIVER_H
#define COLLSHIM_TRANSPORTS_CUDA_DRIVER_H

#include <cudaTypedefs.h>

struct cuda_calls {
#define CUDA_CALL(name, version) PFN_cu##name##_v##version name;
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
};

/*
 * CUDA_IF_LOADED leaves a process without CUDA as it is: only memory of a process that has the
 * driver loaded can lie on a device. CUDA_LOAD loads it.
 */
enum cuda_wish { CUDA_IF_LOADED, CUDA_LOAD };

/*
 * The driver's functions, never unloaded and never freed. NULL: there is no driver, or one older
 * than CUDA 12.0; cuda_missing() then says which. Does not call cuInit. Thread-safe.
 */
const struct cuda_calls *cuda_open(enum cuda_wish wish);

/*
 * The same for CUDA_IF_LOADED, for every call of an application. It costs a few ns, also without a
 * driver: it looks only after a library was loaded. It keeps the library loaded last from being
 * unloaded. Thread-safe.
 */
const struct cuda_calls *cuda_if_loaded(void);

/* Do processes share the device through a Multi-Process Service, so that their kernels run side by
   side? As the driver says, or, of one that does not know, whether the service's pipe is there. */
int cuda_has_mps(const struct cuda_calls *cu, CUdevice device);

/* Why the last cuda_open() gave NULL, as half a sentence; static. "" after a success. */
const char *cuda_missing(void);

/* The name of a result, CUDA_ERROR_INVALID_VALUE say; static. Works without a driver. */
const char *cuda_result_name(CUresult result);

#endif
