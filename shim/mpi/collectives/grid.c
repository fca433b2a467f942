/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/collectives/grid.h"

#include <string.h>

#include "shim/mpi/api/calls.h"

struct grid {
    int dimensions;
    int length[GRID_DIMENSIONS], periodic[GRID_DIMENSIONS], here[GRID_DIMENSIONS];
};

/* The sum of a rank's coordinates is even on every other rank. MPI numbers ranks in row-major
   order. */
static int parity_of(const struct grid *g, int rank)
{
    int sum = 0;

    for (int d = g->dimensions - 1; d >= 0; d--) {
        sum += rank % g->length[d];
        rank /= g->length[d];
    }
    return sum % 2;
}

/* One rank's row. bytes: of each block that it sends. */
static void fill_row(const struct grid *g, int rank, uint64_t bytes, uint64_t *row)
{
    int step = 1, rest = rank;

    for (int d = g->dimensions - 1; d >= 0; d--) {
        int n = g->length[d], at = rest % n, first = rank - at * step;

        if (at > 0 || g->periodic[d])
            row[first + (at + n - 1) % n * step] = bytes;
        if (at < n - 1 || g->periodic[d])
            row[first + (at + 1) % n * step] = bytes;
        rest /= n;
        step *= n;
    }
}

int grid_demand(MPI_Comm comm, int n, uint64_t sends, uint64_t receives, uint64_t *matrix)
{
    struct grid g;
    int rank;

    if (mpi.Cartdim_get(comm, &g.dimensions) != MPI_SUCCESS || g.dimensions > GRID_DIMENSIONS ||
        mpi.Cart_get(comm, g.dimensions, g.length, g.periodic, g.here) != MPI_SUCCESS ||
        mpi.Comm_rank(comm, &rank) != MPI_SUCCESS)
        return -1;
    /* Around a ring of odd length, a size would change places with itself. */
    for (int d = 0; d < g.dimensions; d++)
        if (sends != receives && g.periodic[d] && g.length[d] % 2)
            return -1;
    memset(matrix, 0, (size_t)n * (size_t)n * sizeof *matrix);
    for (int r = 0; r < n; r++)
        fill_row(&g, r, parity_of(&g, r) == parity_of(&g, rank) ? sends : receives,
                 matrix + (size_t)r * (size_t)n);
    return 0;
}
