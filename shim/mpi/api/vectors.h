/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector arguments in either form: ints, or the wide numbers of the functions whose name ends in
 * _c. With them, and MPI_Count for single numbers, one implementation serves both forms.
 */
#ifndef COLLSHIM_SHIM_MPI_VECTORS_H
#define COLLSHIM_SHIM_MPI_VECTORS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/mpi/api/calls.h"

/* Borrowed from the application. One of the two is set, or none where it passed NULL. */
struct counts {
    const int *narrow;
    const MPI_Count *wide;
};

struct displs {
    const int *narrow;
    const MPI_Aint *wide;
};

static inline int counts_given(struct counts c)
{
    return c.narrow || c.wide;
}

static inline MPI_Count counts_at(struct counts c, int i)
{
    return c.wide ? c.wide[i] : c.narrow[i];
}

static inline int displs_given(struct displs d)
{
    return d.narrow || d.wide;
}

/* A side that holds no elements may lack them. */
static inline MPI_Aint displs_at(struct displs d, int i)
{
    return d.wide ? d.wide[i] : d.narrow ? d.narrow[i] : 0;
}

/* Bytes beyond this are no buffer's: for such counts, the library may say what it thinks. */
#define MOST_BYTES ((uint64_t)1 << 62)

/* Bytes of so many elements. Returns 0, or -1 if count or type is one for the library to judge.
   Nothing is asked about the type of no elements, which some libraries never look at. */
static inline int bytes_of(MPI_Count count, MPI_Datatype type, uint64_t *bytes)
{
    MPI_Count element;

    *bytes = 0;
    if (!count)
        return 0;
    if (count < 0 || type == MPI_DATATYPE_NULL || mpi.Type_size_x(type, &element) != MPI_SUCCESS ||
        element < 0 || __builtin_mul_overflow((uint64_t)count, (uint64_t)element, bytes) ||
        *bytes > MOST_BYTES)
        return -1;
    return 0;
}

/* The count of a rooted call, to be asked about like any other. On an intercommunicator, MPI
   ignores all buffers of a rank that passes MPI_PROC_NULL as the root: then -1, for the library. */
static inline MPI_Count count_rooted(MPI_Count count, int root)
{
    return root < 0 ? -1 : count;
}

/* Bytes of n such blocks; -1 as above. */
static inline int bytes_of_all(uint64_t block, int n, uint64_t *total)
{
    return __builtin_mul_overflow(block, (uint64_t)n, total) || *total > MOST_BYTES ? -1 : 0;
}

/*
 * Sizes of n blocks of that type. offset and bytes, unless NULL: [n], where each starts, packed,
 * and its bytes. Returns 0 and the sum, or -1 as above.
 */
int vectors_sizes(struct counts counts, int n, MPI_Datatype type, size_t *bytes, uint64_t *offset,
                  uint64_t *total);

/* The blocks of a call. */
struct vectors {
    struct counts counts;
    struct displs displs;
};

/* Room for a copy, by the block. */
enum { VECTORS_EACH = sizeof(MPI_Count) + sizeof(MPI_Aint) };

/*
 * Those vectors of n blocks, copied into room. MPI forbids a program to free its own before a
 * nonblocking call is complete. Some do, since their libraries read them at the start alone: mpi4py
 * where the library has no large counts. room: n * VECTORS_EACH bytes, or NULL: not copied.
 */
struct vectors vectors_keep(struct counts counts, struct displs displs, int n, void *room);

/* Do blocks at those displacements lie one behind the other in rank order, as packed ones do?
   extent: of an element, whose layout is dense. */
int vectors_are_packed(const struct vectors *v, int n, MPI_Count extent, const uint64_t *offset);

#endif
