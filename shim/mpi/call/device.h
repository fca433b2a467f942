/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of the application that lie on a device. The place of buffers concerns one rank alone. It
 * never enters a decision, and a rank's peers see plain bytes (docs/mpi.md, "GPU memory").
 */
#ifndef COLLSHIM_SHIM_MPI_DEVICE_H
#define COLLSHIM_SHIM_MPI_DEVICE_H

#include "shim/mpi/call/layout.h"
#include "transports/cuda/cuda_memory.h"

/* Do these elements lie in device memory? place: of their first byte. */
int device_holds(const struct layout *l, const void *user, MPI_Count count,
                 struct cuda_place *place);

/*
 * As layout_pack and layout_unpack, for elements in host memory or on a device. packed: host
 * memory, or, of a dense layout, of the same device. Gaps are not written. MPI_ERR_BUFFER: the
 * elements are not all in one allocation.
 */
int device_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm);
int device_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm);

#endif
