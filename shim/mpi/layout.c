/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/layout.h"

#include <string.h>

#include "shim/mpi/calls.h"

enum { PACK_PIECE = 1 << 30 }; /* bytes that one MPI_Pack handles: its sizes are ints */

/*
 * Is an element exactly its packed bytes? That size and extent agree is not enough: a struct
 * type may list its members in another order, or overlap them. So only predefined types, and
 * contiguous types and duplicates made of them, count; anything else is packed, which is
 * always right.
 */
static int is_dense(MPI_Datatype type, MPI_Count size, MPI_Count extent)
{
    int integers, addresses, types, combiner;

    if (size != extent ||
        mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return 0;
    if (combiner == MPI_COMBINER_NAMED)
        return 1;
    if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) || types != 1 ||
        integers > 1 || addresses)
        return 0;
    int count, dense = 0;
    MPI_Aint no_address;
    MPI_Datatype inner;
    struct layout in;
    if (mpi.Type_get_contents(type, integers, 0, 1, &count, &no_address, &inner) != MPI_SUCCESS)
        return 0;
    if (!layout_of(inner, &in))
        dense = in.dense;
    if (mpi.Type_get_envelope(inner, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED)
        mpi.Type_free(&inner); /* contents of derived types are new references */
    return dense;
}

int layout_of(MPI_Datatype type, struct layout *l)
{
    MPI_Count lower;

    l->type = type;
    if (type == MPI_DATATYPE_NULL || mpi.Type_size_x(type, &l->size) != MPI_SUCCESS ||
        mpi.Type_get_extent_x(type, &lower, &l->extent) != MPI_SUCCESS || l->size < 0)
        return -1;
    l->dense = lower == 0 && is_dense(type, l->size, l->extent);
    return 0;
}

/* How many elements one MPI_Pack may take. */
static MPI_Count piece_of(const struct layout *l, MPI_Count count)
{
    MPI_Count most = l->size < PACK_PIECE ? PACK_PIECE / l->size : 1;

    return count < most ? count : most;
}

int layout_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm)
{
    const char *from = user;
    char *to = packed;

    if (l->dense || !l->size) {
        memcpy(to, from, (size_t)(count * l->size));
        return MPI_SUCCESS;
    }
    while (count > 0) {
        MPI_Count piece = piece_of(l, count);
        int position = 0;
        int rc = mpi.Pack(from, (int)piece, l->type, to, (int)(piece * l->size), &position, comm);

        if (rc != MPI_SUCCESS)
            return rc;
        from += piece * l->extent;
        to += piece * l->size;
        count -= piece;
    }
    return MPI_SUCCESS;
}

int layout_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm)
{
    const char *from = packed;
    char *to = user;

    if (l->dense || !l->size) {
        memcpy(to, from, (size_t)(count * l->size));
        return MPI_SUCCESS;
    }
    while (count > 0) {
        MPI_Count piece = piece_of(l, count);
        int position = 0;
        int rc = mpi.Unpack(from, (int)(piece * l->size), &position, to, (int)piece, l->type, comm);

        if (rc != MPI_SUCCESS)
            return rc;
        to += piece * l->extent;
        from += piece * l->size;
        count -= piece;
    }
    return MPI_SUCCESS;
}
