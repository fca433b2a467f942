/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faulty [COUNT]. Calls of every kind whose results do not depend on who carries them: each rank
 * prints a hash of all it received. test/faults/run.sh compares it with the library's own. Errors
 * end the job. COUNT: elements of a block (default 3000; under a limit of memory, more).
 */
#include <stdint.h>
#include <stdlib.h>

#include "test/mpi/harness.h"
#include "test/mpi/persistent_calls.h"

static int rank, size, count = 3000;
static int *in, *out, *counts, *displs, *twice;
static uint64_t hash = 1469598103934665603u;

static void take_in(void)
{
    const unsigned char *at = (const void *)out;

    for (size_t i = 0; i < (size_t)count * (size_t)size * 2 * sizeof *out; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    memset(out, 0, (size_t)count * (size_t)size * 2 * sizeof *out);
}

static void blocking(MPI_Comm comm)
{
    MPI_Datatype gaps;

    MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 2 * (MPI_Aint)sizeof(int) * count, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm), take_in();
    MPI_Allgather(in, count, MPI_INT, out, 1, gaps, comm), take_in();
    MPI_Allgatherv(in, counts[0], MPI_INT, out, counts, displs, MPI_INT, comm), take_in();
    MPI_Alltoall(in, 1, gaps, out, count, MPI_INT, comm), take_in();
    MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm), take_in();
    MPI_Gatherv(in, counts[0], MPI_INT, out, counts, displs, MPI_INT, 0, comm), take_in();
    MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_MAX, comm), take_in();
    MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm), take_in();
    memcpy(out, in, (size_t)count * sizeof *out);
    MPI_Bcast(out, 1, gaps, size - 1, comm), take_in();
    MPI_Type_free(&gaps);
}

/* Twice: by a persistent request where the library has them. */
static void start_again(MPI_Comm comm, int again)
{
    static MPI_Request r;

    if (!persistent_calls())
        MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &r);
    else if (!again)
        MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
    if (persistent_calls())
        MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (persistent_calls() && again)
        MPI_Request_free(&r);
}

static void started(MPI_Comm comm)
{
    MPI_Request r[2];

    MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &r[0]);
    MPI_Iallgather(in, count, MPI_INT, twice, count, MPI_INT, comm, &r[1]);
    for (int i = 0; i < 2; i++)
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    take_in();
    memcpy(out, twice, (size_t)count * (size_t)size * sizeof *out), take_in();
    MPI_Ialltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE), take_in();
    MPI_Igatherv(in, counts[0], MPI_INT, out, counts, displs, MPI_INT, 0, comm, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE), take_in();
    for (int i = 0; i < 2; i++)
        start_again(comm, i), take_in();
}

int main(int argc, char **argv)
{
    MPI_Comm comm[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        count = atoi(argv[1]);
    in = malloc((size_t)count * (size_t)size * 2 * sizeof *in);
    out = calloc((size_t)count * (size_t)size * 2, sizeof *out);
    twice = malloc((size_t)count * (size_t)size * sizeof *twice);
    counts = malloc((size_t)size * sizeof *counts);
    displs = malloc((size_t)size * sizeof *displs);
    for (int i = 0; i < 2 * count * size; i++)
        in[i] = (int)((unsigned)i * 2654435761u >> 9) + rank * 1000003;
    for (int r = 0; r < size; r++) {
        counts[r] = count - 7;
        displs[r] = r * count;
    }
    comm[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[1]);
    for (int i = 0; i < 3; i++) {
        blocking(comm[i % 2]);
        started(comm[i % 2]);
    }
    MPI_Comm_free(&comm[1]);
    printf("rank %d: %016llx\n", rank, (unsigned long long)hash);
    MPI_Finalize();
    free(in), free(out), free(twice), free(counts), free(displs);
    return 0;
}
