/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways of an Allgather, for the tracer of test/ways: ways [SEED]
 *
 * Rank 0 marks each call: small ones, and large ones, of which the guard gives some to the library.
 */
#include "test/ways/trace.h"
#include "test/mpi/harness.h"

enum { SMALL = 64, LARGE = 1 << 20, CALLS = 12 };

static unsigned char mine[LARGE], all[2 * LARGE];

static void gather(int bytes, const char *name)
{
    memset(all, 0, sizeof all);
    memset(mine, 1 + world_rank, sizeof mine);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!world_rank)
        trace_begin(name);
    MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    if (!world_rank)
        trace_end();
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < bytes; i++)
            if (all[r * bytes + i] != 1 + r) {
                fail("byte %d of rank %d's block: %d", i, r, all[r * bytes + i]);
                return;
            }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("ways", argc, argv);
    if (world_size > 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int k = 0; k < CALLS; k++) {
        gather(SMALL, "small");
        gather(LARGE, "large");
    }
    int code = test_ended();
    MPI_Finalize();
    return code;
}
