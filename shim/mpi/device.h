/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of the application that lie on a device. The place of buffers concerns one rank alone. It
 * never enters a decision, and a rank's peers see plain bytes (docs/mpi.md, "GPU memory").
 */
#ifndef COLLSHIM_SHIM_MPI_DEVICE_H
#define COLLSHIM_SHIM_MPI_DEVICE_H

#include "shim/mpi/layout.h"
#include "transports/cuda_memory.h"

/* From the first byte of count elements to behind the last, as distances from their address. */
struct layout_span {
    MPI_Aint from, to;
};

/* Returns 0, or -1 if the type cannot be asked or the distances are too large. count > 0. */
int layout_span_of(const struct layout *l, MPI_Count count, struct layout_span *span);

/* Do these elements lie in device memory? place: of their first byte. */
int device_holds(const struct layout *l, const void *user, MPI_Count count,
                 struct cuda_place *place);

/*
 * layout_pack and layout_unpack for elements that do. packed: host memory, or, of a dense layout,
 * of the same device. Gaps are not written. Return an MPI code; MPI_ERR_BUFFER: the elements are
 * not all in one allocation.
 */
int device_pack(const struct cuda_place *place, const struct layout *l, const void *user,
                MPI_Count count, void *packed, MPI_Comm comm);
int device_unpack(const struct cuda_place *place, const struct layout *l, const void *packed,
                  void *user, MPI_Count count, MPI_Comm comm);

#endif
