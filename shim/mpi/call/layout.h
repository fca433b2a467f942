/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a buffer of the application lies in memory. Plans move packed bytes. A buffer whose type has
 * gaps, or another order than the type map's, is packed before and unpacked after. Each rank does
 * so for its own buffers only. Ranks may describe the same bytes by different types, so one rank's
 * types must not change the decision of all.
 */
#ifndef COLLSHIM_SHIM_MPI_LAYOUT_H
#define COLLSHIM_SHIM_MPI_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

struct layout {
    MPI_Datatype type;
    MPI_Count size;   /* bytes of data in one element */
    MPI_Count extent; /* distance between elements */
    int dense;        /* elements are their packed bytes, back to back */
};

/* Returns 0, or -1 if the type cannot be asked (the library will then say why). Local. */
int layout_of(MPI_Datatype type, struct layout *l);

/* The same for so many elements of it. Nothing is asked about the type of none: it is MPI_BYTE. */
int layout_of_elements(MPI_Count count, MPI_Datatype type, struct layout *l);

/* For a call in which the application may free the type: packing needs it, so l->type becomes one
   of ours, in *kept, which is else left alone. Returns an MPI code. */
int layout_keep(struct layout *l, MPI_Datatype *kept);

/* Is there data of a predefined kind, but no address for it? MPI_BOTTOM takes absolute types only.
 */
static inline int layout_is_nowhere(const void *buffer, const struct layout *l, size_t bytes)
{
    return !buffer && bytes && l->dense;
}

/* From the first byte of count elements to behind the last, as distances from their address. */
struct layout_span {
    MPI_Aint from, to;
};

/* Returns 0, or -1 if the type cannot be asked or the distances are too large. count > 0. */
int layout_span_of(const struct layout *l, MPI_Count count, struct layout_span *span);

/* Copy count elements between the application's buffer, in host memory, and packed bytes (device.h:
   anywhere). Returns an MPI code. */
int layout_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm);
int layout_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm);

/*
 * Are two runs of packed elements of that type equal? Bytes that hold no value count for nothing:
 * a library may leave them out when it copies (MPICH packs 10 of a long double's 16 bytes).
 */
int layout_equal(const struct layout *l, const void *a, const void *b, size_t bytes);

#endif
