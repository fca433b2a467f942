/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/layout.h"

#include <stdint.h>
#include <string.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/device.h"

enum { PACK_PIECE = 1 << 30 }; /* bytes that one MPI_Pack handles: its sizes are ints */

#define ABOVE_BOTTOM ((intptr_t)4096) /* neither MPI_BOTTOM nor MPI_IN_PLACE of any library */

/* The F90 types are predefined but have no name. */
int type_is_predefined(const struct type_parts *p)
{
    return p->combiner == MPI_COMBINER_NAMED || p->combiner == MPI_COMBINER_F90_REAL ||
           p->combiner == MPI_COMBINER_F90_COMPLEX || p->combiner == MPI_COMBINER_F90_INTEGER;
}

/* MPI_Type_get_envelope fails, through the error handler, on a type made with large counts. */
int type_parts_of(MPI_Datatype type, struct type_parts *p)
{
    MPI_Count integers, addresses, counts, types;

    *p = (struct type_parts){0};
    if (!mpi.Type_get_envelope_c)
        return mpi.Type_get_envelope(type, &p->integers, &p->addresses, &p->types, &p->combiner)
                   ? -1
                   : 0;
    if (mpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &p->combiner))
        return -1;
    p->integers = (int)integers;
    p->addresses = (int)addresses;
    p->types = (int)types;
    p->large = counts > 0;
    return 0;
}

/*
 * Is an element exactly its packed bytes? That size and extent agree is not enough: a struct
 * type may list its members in another order, or overlap them. So only predefined types, and
 * contiguous types and duplicates made of them, count; anything else is packed, which is
 * always right.
 */
static int is_dense(MPI_Datatype type, MPI_Count size, MPI_Count extent)
{
    struct type_parts p;
    int count, dense = 0;
    MPI_Aint no_address;
    MPI_Datatype inner;
    struct layout in;

    if (size != extent || type_parts_of(type, &p) < 0)
        return 0;
    if (type_is_predefined(&p))
        return 1;
    if ((p.combiner != MPI_COMBINER_CONTIGUOUS && p.combiner != MPI_COMBINER_DUP) || p.large ||
        p.types != 1 || p.integers > 1 || p.addresses ||
        mpi.Type_get_contents(type, p.integers, 0, 1, &count, &no_address, &inner) != MPI_SUCCESS)
        return 0;
    if (!layout_of(inner, &in))
        dense = in.dense;
    if (!type_parts_of(inner, &p) && !type_is_predefined(&p))
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

static int pack_pieces(const struct layout *l, const char *from, MPI_Count count, char *to,
                       MPI_Comm comm)
{
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

static int unpack_pieces(const struct layout *l, const char *from, char *to, MPI_Count count,
                         MPI_Comm comm)
{
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

/*
 * For MPI_BOTTOM, that is a type of absolute addresses on a null pointer: MPICH's MPI_Pack takes
 * no null pointer, so the same type moved down, to be used on the address ABOVE_BOTTOM.
 * Returns an MPI code; on success the caller frees moved->type.
 */
static int move_down(const struct layout *l, struct layout *moved)
{
    int one = 1;
    MPI_Aint down = -ABOVE_BOTTOM;

    *moved = *l;
    int rc = mpi.Type_create_hindexed(1, &one, &down, l->type, &moved->type);
    return rc == MPI_SUCCESS ? mpi.Type_commit(&moved->type) : rc;
}

int layout_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm)
{
    struct layout moved;
    struct cuda_place place;

    if (!count || !l->size)
        return MPI_SUCCESS;
    if (device_holds(l, user, count, &place))
        return device_pack(&place, l, user, count, packed, comm);
    if (l->dense) {
        memcpy(packed, user, (size_t)(count * l->size));
        return MPI_SUCCESS;
    }
    if (user)
        return pack_pieces(l, user, count, packed, comm);
    int rc = move_down(l, &moved);
    if (rc == MPI_SUCCESS) {
        rc = pack_pieces(&moved, (const char *)ABOVE_BOTTOM, count, packed, comm);
        mpi.Type_free(&moved.type);
    }
    return rc;
}

int layout_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm)
{
    struct layout moved;
    struct cuda_place place;

    if (!count || !l->size)
        return MPI_SUCCESS;
    if (device_holds(l, user, count, &place))
        return device_unpack(&place, l, packed, user, count, comm);
    if (l->dense) {
        memcpy(user, packed, (size_t)(count * l->size));
        return MPI_SUCCESS;
    }
    if (user)
        return unpack_pieces(l, packed, user, count, comm);
    int rc = move_down(l, &moved);
    if (rc == MPI_SUCCESS) {
        rc = unpack_pieces(&moved, packed, (char *)ABOVE_BOTTOM, count, comm);
        mpi.Type_free(&moved.type);
    }
    return rc;
}
