/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library without device support cannot pack device memory. Gaps between the elements must not be
 * written: a kernel of the application may use them. So a stretch is copied to the host as a whole
 * and packed there, but brought back piece by piece. The library itself tells which bytes are data:
 * it unpacks onto two backgrounds, and bytes that then differ are gaps.
 */
#include "shim/mpi/call/device.h"

#include <stdint.h>
#include <string.h>

#include "transports/base/host_memory.h"

int device_holds(const struct layout *l, const void *user, MPI_Count count,
                 struct cuda_place *place)
{
    struct layout_span span = {0};

    if (!cuda_present() || count <= 0 || l->size <= 0)
        return 0;
    if (!l->dense && layout_span_of(l, count, &span) < 0)
        return 0;
    return cuda_place_of((const char *)user + span.from, place);
}

static int mpi_code(int rc)
{
    return rc ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Are all of the elements in the allocation of the first? Returns an MPI code. */
static int find_span(const struct cuda_place *place, const struct layout *l, MPI_Count count,
                     struct layout_span *span)
{
    if (layout_span_of(l, count, span) < 0)
        return MPI_ERR_TYPE;
    return place->after && (size_t)(span->to - span->from) > place->after ? MPI_ERR_BUFFER
                                                                          : MPI_SUCCESS;
}

static int pack_from(const struct cuda_place *place, const struct layout *l, const void *user,
                     MPI_Count count, void *packed, MPI_Comm comm)
{
    struct layout_span span;

    if (l->dense)
        return mpi_code(cuda_move(place, packed, user, (size_t)(count * l->size)));
    int rc = find_span(place, l, count, &span);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = (size_t)(span.to - span.from);
    char *image = host_memory_take(bytes);
    if (!image)
        return MPI_ERR_NO_MEM;
    rc = mpi_code(cuda_move(place, image, (const char *)user + span.from, bytes));
    if (rc == MPI_SUCCESS)
        rc = layout_pack(l, image - span.from, count, packed, comm);
    host_memory_give(image);
    return rc;
}

/* The pieces of `image` in which another background makes no difference. */
static size_t find_pieces(const char *image, const char *other, size_t bytes,
                          struct cuda_piece *piece, size_t most)
{
    size_t n = 0, at = 0;

    while (at < bytes && n < most) {
        while (at < bytes && image[at] != other[at])
            at++;
        size_t from = at;
        while (at < bytes && image[at] == other[at])
            at++;
        if (at > from)
            piece[n++] = (struct cuda_piece){from, at - from};
    }
    return n;
}

static int unpack_to(const struct cuda_place *place, const struct layout *l, const void *packed,
                     void *user, MPI_Count count, MPI_Comm comm)
{
    enum { AT_ONCE = 256 };
    struct cuda_piece piece[AT_ONCE];
    struct layout_span span;

    if (l->dense)
        return mpi_code(cuda_move(place, user, packed, (size_t)(count * l->size)));
    int rc = find_span(place, l, count, &span);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = (size_t)(span.to - span.from);
    char *image = host_memory_take(bytes), *other = host_memory_take(bytes);
    rc = image && other ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS) {
        memset(image, 0, bytes);
        memset(other, 0xff, bytes);
        rc = layout_unpack(l, packed, image - span.from, count, comm);
    }
    if (rc == MPI_SUCCESS)
        rc = layout_unpack(l, packed, other - span.from, count, comm);
    for (size_t at = 0; rc == MPI_SUCCESS && at < bytes;) {
        size_t n = find_pieces(image + at, other + at, bytes - at, piece, AT_ONCE);

        rc = mpi_code(cuda_move_pieces(place, (char *)user + span.from + at, image + at, piece, n));
        at = n < AT_ONCE ? bytes : at + piece[n - 1].offset + piece[n - 1].bytes;
    }
    host_memory_give(image);
    host_memory_give(other);
    return rc;
}

int device_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm)
{
    struct cuda_place place;

    return device_holds(l, user, count, &place) ? pack_from(&place, l, user, count, packed, comm)
                                                : layout_pack(l, user, count, packed, comm);
}

int device_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm)
{
    struct cuda_place place;

    return device_holds(l, user, count, &place) ? unpack_to(&place, l, packed, user, count, comm)
                                                : layout_unpack(l, packed, user, count, comm);
}
