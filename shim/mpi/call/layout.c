/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/call/layout.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/call/type_parts.h"

enum { PIECE = 1 << 30 }; /* bytes that one MPI_Pack handles: its sizes are ints */

#define ABOVE_BOTTOM ((intptr_t)4096) /* neither MPI_BOTTOM nor MPI_IN_PLACE of any library */

/*
 * Is an element exactly its packed bytes? Equal size and extent are not enough: a struct type may
 * list its members in another order, or overlap them. So its few blocks must follow each other. Any
 * other type is packed, which is always right. So is a type that an int can count and that is not
 * merely repeated, since MPI_Pack finds types that were never committed.
 */
static int is_dense(MPI_Datatype type, MPI_Count size, MPI_Count extent)
{
    enum { FEW = 8 };
    struct type_parts p;
    struct type_contents c;
    struct layout in;
    MPI_Count next = 0;

    if (size != extent || type_parts_of(type, &p) < 0)
        return 0;
    if (type_is_predefined(&p))
        return 1;
    int repeated = p.combiner == MPI_COMBINER_CONTIGUOUS || p.combiner == MPI_COMBINER_DUP;
    if ((size <= INT_MAX && !repeated) || type_contents_open(type, &c) < 0)
        return 0;
    MPI_Count n = type_blocks(&c);
    int dense = n >= 0 && n <= FEW;
    for (MPI_Count i = 0; dense && i < n; i++) {
        struct type_block b = type_block_at(&c, i);

        dense = !layout_of(b.type, &in) && in.dense && b.at == next;
        if (dense)
            next += b.count * in.size;
    }
    type_contents_close(&c);
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

int layout_of_elements(MPI_Count count, MPI_Datatype type, struct layout *l)
{
    *l = (struct layout){.type = MPI_BYTE, .size = 1, .extent = 1, .dense = 1};
    return count ? layout_of(type, l) : 0;
}

int layout_keep(struct layout *l, MPI_Datatype *kept)
{
    MPI_Datatype type;
    int rc;

    if (l->dense || !l->size)
        return MPI_SUCCESS;
    if ((rc = mpi.Type_contiguous(1, l->type, &type)) != MPI_SUCCESS)
        return rc;
    if ((rc = mpi.Type_commit(&type)) != MPI_SUCCESS) {
        mpi.Type_free(&type);
        return rc;
    }
    l->type = *kept = type;
    return rc;
}

/* The application's elements to packed bytes, or back. */
enum way { PACK, UNPACK };

static int convert_all(const struct layout *l, char *user, MPI_Count count, char *packed,
                       MPI_Comm comm, enum way way);

/* Can the library pack an element? An int may not count its bytes, and there may be no other way to
   say how many. */
static int packs_elements(const struct layout *l)
{
    return l->size <= INT_MAX || (mpi.Pack_c && mpi.Unpack_c);
}

/* If not: by its blocks. Distributed arrays, which cannot be taken apart, are the one failure. */
static int convert_apart(const struct layout *l, char *user, char *packed, MPI_Comm comm,
                         enum way way)
{
    struct type_contents c;
    struct layout in;

    if (type_contents_open(l->type, &c) < 0)
        return MPI_ERR_TYPE;
    MPI_Count n = type_blocks(&c);
    int rc = n < 0 ? MPI_ERR_TYPE : MPI_SUCCESS;
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < n; i++) {
        struct type_block b = type_block_at(&c, i);

        rc = layout_of(b.type, &in) < 0 ? MPI_ERR_TYPE : mpi.Type_commit(&b.type);
        if (rc == MPI_SUCCESS)
            rc = convert_all(&in, user + b.at, b.count, packed, comm, way);
        packed += b.count * in.size;
    }
    type_contents_close(&c);
    return rc;
}

/* As much as one MPI_Pack takes. */
static int convert(const struct layout *l, char *user, int count, char *packed, MPI_Comm comm,
                   enum way way)
{
    MPI_Count bytes = count * l->size, done = 0;
    int position = 0;

    if (!packs_elements(l))
        return convert_apart(l, user, packed, comm, way);
    if (bytes > INT_MAX)
        return way == PACK ? mpi.Pack_c(user, count, l->type, packed, bytes, &done, comm)
                           : mpi.Unpack_c(packed, bytes, &done, user, count, l->type, comm);
    return way == PACK ? mpi.Pack(user, count, l->type, packed, (int)bytes, &position, comm)
                       : mpi.Unpack(packed, (int)bytes, &position, user, count, l->type, comm);
}

static int convert_pieces(const struct layout *l, char *user, MPI_Count count, char *packed,
                          MPI_Comm comm, enum way way)
{
    MPI_Count most = l->size < PIECE ? PIECE / l->size : 1;
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && count > 0) {
        int piece = (int)(count < most ? count : most);

        rc = convert(l, user, piece, packed, comm, way);
        user += piece * l->extent;
        packed += piece * l->size;
        count -= piece;
    }
    return rc;
}

/*
 * For MPI_BOTTOM, a type of absolute addresses on a null pointer. MPICH's MPI_Pack takes no null
 * pointer, so the same type is moved down and used on the address ABOVE_BOTTOM.
 */
static int convert_at_bottom(const struct layout *l, MPI_Count count, char *packed, MPI_Comm comm,
                             enum way way)
{
    int one = 1;
    MPI_Aint down = -ABOVE_BOTTOM;
    struct layout moved = *l;
    int rc = mpi.Type_create_hindexed(1, &one, &down, l->type, &moved.type);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi.Type_commit(&moved.type);
    if (rc == MPI_SUCCESS)
        rc = convert_pieces(&moved, (char *)ABOVE_BOTTOM, count, packed, comm, way);
    mpi.Type_free(&moved.type);
    return rc;
}

static int convert_all(const struct layout *l, char *user, MPI_Count count, char *packed,
                       MPI_Comm comm, enum way way)
{
    size_t bytes = (size_t)(count * l->size);

    if (!bytes)
        return MPI_SUCCESS;
    if (l->dense)
        memcpy(way == PACK ? packed : user, way == PACK ? user : packed, bytes);
    else
        return user || !packs_elements(l) ? convert_pieces(l, user, count, packed, comm, way)
                                          : convert_at_bottom(l, count, packed, comm, way);
    return MPI_SUCCESS;
}

int layout_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm)
{
    return convert_all(l, (char *)(uintptr_t)user, count, packed, comm, PACK);
}

int layout_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm)
{
    return convert_all(l, user, count, (char *)(uintptr_t)packed, comm, UNPACK);
}

int layout_span_of(const struct layout *l, MPI_Count count, struct layout_span *span)
{
    MPI_Count lower, extent, last, end;

    if (mpi.Type_get_true_extent_x(l->type, &lower, &extent) != MPI_SUCCESS ||
        __builtin_mul_overflow(count - 1, l->extent, &last) ||
        __builtin_add_overflow(last > 0 ? last : 0, lower + extent, &end))
        return -1;
    *span = (struct layout_span){.from = (MPI_Aint)(lower + (last < 0 ? last : 0)),
                                 .to = (MPI_Aint)end};
    return 0;
}
