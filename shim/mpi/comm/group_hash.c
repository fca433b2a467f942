/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/group_hash.h"

#include "config/base/hash.h"
#include "shim/mpi/api/calls.h"

enum { PIECE = 256 }; /* ranks that are translated at once: no memory is needed */

static uint64_t hash_ranks(MPI_Group group, MPI_Group world, int size)
{
    uint64_t hash = hash_bytes(HASH_SEED, &size, sizeof size);
    int here[PIECE], there[PIECE];

    for (int from = 0, n; from < size; from += n) {
        n = size - from < PIECE ? size - from : PIECE;
        for (int i = 0; i < n; i++)
            here[i] = from + i;
        if (mpi.Group_translate_ranks(group, n, here, world, there) != MPI_SUCCESS)
            return 0;
        for (int i = 0; i < n; i++)
            if (there[i] == MPI_UNDEFINED)
                return 0;
        hash = hash_bytes(hash, there, (size_t)n * sizeof *there);
    }
    return hash | 1;
}

uint64_t group_hash(MPI_Comm comm, int *size, int *rank)
{
    MPI_Group group, world;
    uint64_t hash = 0;
    int inter;

    if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
        mpi.Comm_size(comm, size) != MPI_SUCCESS || *size < 2 ||
        mpi.Comm_rank(comm, rank) != MPI_SUCCESS || mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return 0;
    if (mpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        hash = hash_ranks(group, world, *size);
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return hash;
}
