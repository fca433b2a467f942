/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bits of every rerouted collective's result, as one number on rank 0:
 *     bits: HASH of N collectives on P ranks
 *
 * Elements are random reals, so a sum's bits tell in which order it was made. A program that is
 * compiled once runs with each library of the standard ABI; equal lines are equal results.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20011, MOST_RANKS = 16 };

static double in[N * MOST_RANKS], out[N * MOST_RANKS];
static int rank, size, counts[MOST_RANKS], displs[MOST_RANKS], bytes_at[MOST_RANKS];
static MPI_Datatype doubles[MOST_RANKS];
static MPI_Comm comm;

static uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
    return h ^ (h >> 32);
}

/* Every magnitude between 1/1024 and 1024, so that sums round. */
static void fill(int call)
{
    for (int i = 0; i < N * size; i++) {
        uint64_t h = mix(mix((uint64_t)(call * MOST_RANKS + rank + 1)) + (uint64_t)i);

        in[i] = (double)(int64_t)h * 0x1p-63 * (double)(1ull << (h & 15)) * 0x1p-8;
        out[i] = 0;
    }
}

static void call(int which)
{
    switch (which) {
    case 0:
        MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 1:
        MPI_Reduce(in, out, N, MPI_DOUBLE, MPI_PROD, size - 1, comm);
        break;
    case 2:
        MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 3:
        MPI_Reduce_scatter_block(in, out, N, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 4:
        MPI_Bcast(in, N, MPI_DOUBLE, size - 1, comm);
        memcpy(out, in, sizeof(double) * N);
        break;
    case 5:
        MPI_Allgather(in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, comm);
        break;
    case 6:
        MPI_Allgatherv(in, counts[rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, comm);
        break;
    case 7:
        MPI_Gather(in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, 0, comm);
        break;
    case 8:
        MPI_Gatherv(in, counts[rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, 0, comm);
        break;
    case 9:
        MPI_Scatter(in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, 0, comm);
        break;
    case 10:
        MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, counts[rank], MPI_DOUBLE, 0, comm);
        break;
    case 11:
        MPI_Alltoall(in, N, MPI_DOUBLE, out, N, MPI_DOUBLE, comm);
        break;
    case 12:
        MPI_Allreduce(MPI_IN_PLACE, in, N, MPI_DOUBLE, MPI_SUM, comm);
        memcpy(out, in, sizeof(double) * N);
        break;
    case 13:
        MPI_Allreduce_c(in, out, N, MPI_DOUBLE, MPI_SUM, comm);
        break;
    default:
        MPI_Alltoallw(in, counts, bytes_at, doubles, out, counts, bytes_at, doubles, comm);
    }
}
enum { CALLS = 15 };

int main(int argc, char **argv)
{
    uint64_t mine = 0, all[MOST_RANKS], hash = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int r = 0; r < size; r++) {
        counts[r] = N - 7;
        displs[r] = r * N;
        bytes_at[r] = displs[r] * (int)sizeof *in;
        doubles[r] = MPI_DOUBLE;
    }
    for (int c = 0; c < CALLS; c++) {
        fill(c);
        call(c);
        for (int i = 0; i < N * size; i++) {
            uint64_t word;

            memcpy(&word, &out[i], sizeof word);
            mine = mix(mine + word);
        }
    }
    MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, comm);
    for (int r = 0; !rank && r < size; r++)
        hash = mix(hash + all[r]);
    if (!rank)
        printf("bits: %016llx of %d collectives on %d ranks\n", (unsigned long long)hash, CALLS,
               size);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
