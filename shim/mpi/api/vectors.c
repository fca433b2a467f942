/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/vectors.h"

int vectors_sizes(struct counts counts, int n, MPI_Datatype type, size_t *bytes, uint64_t *offset,
                  uint64_t *total)
{
    uint64_t element = 0, block, next = 0;
    int asked = 0;

    if (!counts_given(counts))
        return -1;
    for (int i = 0; i < n; i++) {
        MPI_Count count = counts_at(counts, i);

        if (count && !asked++ && bytes_of(1, type, &element) < 0)
            return -1;
        if (count < 0 || __builtin_mul_overflow((uint64_t)count, element, &block) ||
            block > MOST_BYTES - next)
            return -1;
        if (bytes)
            bytes[i] = (size_t)block;
        if (offset)
            offset[i] = next;
        next += block;
    }
    *total = next;
    return 0;
}

struct vectors vectors_keep(struct counts counts, struct displs displs, int n, void *room)
{
    if (!room)
        return (struct vectors){counts, displs};
    MPI_Count *count = room;
    MPI_Aint *displ = (MPI_Aint *)(count + n);
    for (int i = 0; i < n; i++) {
        count[i] = counts_at(counts, i);
        displ[i] = displs_at(displs, i);
    }
    return (struct vectors){.counts.wide = count, .displs.wide = displ};
}

int vectors_are_packed(const struct vectors *v, int n, MPI_Count extent, const uint64_t *offset)
{
    for (int i = 0; i < n; i++)
        if (counts_at(v->counts, i) &&
            (uint64_t)(((MPI_Count)displs_at(v->displs, i) - displs_at(v->displs, 0)) * extent) !=
                offset[i])
            return 0;
    return 1;
}
