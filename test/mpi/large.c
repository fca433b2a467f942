/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of MPI 4.0 with large counts, each once with and once without MPI_IN_PLACE;
 * rooted.c has those of gather, scatter and alltoall. Skipped if neither the library nor the
 * preload has any.
 */
#include "test/mpi/harness.h"
#include "test/mpi/large_counts.h"

enum { EACH = 1000, MOST_RANKS = 64 };

static int input[EACH * MOST_RANKS], output[EACH * MOST_RANKS];
static MPI_Count counts[MOST_RANKS];
static MPI_Aint displs[MOST_RANKS];

/* Rank r's contribution at i. */
static int value(int r, int i)
{
    return r * 100003 + i * 7;
}

static int sum(int i)
{
    int s = 0;

    for (int r = 0; r < world_size; r++)
        s += value(r, i);
    return s;
}

/* The contribution at the start of both buffers, for calls in place and others. */
static void fill(int n)
{
    for (int i = 0; i < n; i++)
        input[i] = output[i] = value(world_rank, i);
}

static void check_sums(const char *what, int n, int from)
{
    for (int i = 0; i < n; i++)
        if (output[i] != sum(from + i))
            fail("%s: element %d is %d, expected %d", what, i, output[i], sum(from + i));
}

static void check_blocks(const char *what)
{
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < EACH; i++)
            if (output[r * EACH + i] != value(r, i))
                fail("%s: element %d of rank %d is %d", what, i, r, output[r * EACH + i]);
}

static void gathering(int in_place)
{
    const void *send = in_place ? MPI_IN_PLACE : input;

    for (int vector = 0; vector < 2; vector++) {
        memset(output, 0, sizeof output);
        for (int i = 0; i < EACH; i++)
            output[world_rank * EACH + i] = input[i] = value(world_rank, i);
        if (vector)
            MPI_Allgatherv_c(send, EACH, MPI_INT, output, counts, displs, MPI_INT, MPI_COMM_WORLD);
        else
            MPI_Allgather_c(send, EACH, MPI_INT, output, EACH, MPI_INT, MPI_COMM_WORLD);
        check_blocks(vector ? "allgatherv" : "allgather");
    }
}

static void reducing(int in_place)
{
    int all = EACH * world_size, root = world_size - 1;
    const void *send = in_place ? MPI_IN_PLACE : input;

    fill(all);
    MPI_Allreduce_c(send, output, all, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_sums("allreduce", all, 0);
    fill(all);
    MPI_Reduce_c(world_rank == root ? send : input, output, all, MPI_INT, MPI_SUM, root,
                 MPI_COMM_WORLD);
    if (world_rank == root)
        check_sums("reduce", all, 0);
    fill(all);
    MPI_Reduce_scatter_c(send, output, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_sums("reduce_scatter", EACH, world_rank * EACH);
    fill(all);
    MPI_Reduce_scatter_block_c(send, output, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_sums("reduce_scatter_block", EACH, world_rank * EACH);
}

/* Rank r gets the sum of the first r + 1, or the first r. */
static void scanning(int in_place)
{
    const void *send = in_place ? MPI_IN_PLACE : input;

    for (int exclusive = 0; exclusive < 2; exclusive++) {
        fill(EACH);
        if (exclusive)
            MPI_Exscan_c(send, output, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Scan_c(send, output, EACH, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < EACH && !(exclusive && !world_rank); i++) {
            int want = 0;

            for (int r = 0; r < world_rank + !exclusive; r++)
                want += value(r, i);
            if (output[i] != want)
                fail("%s: element %d is %d, expected %d", exclusive ? "exscan" : "scan", i,
                     output[i], want);
        }
    }
}

static void broadcasting(int root)
{
    fill(EACH);
    MPI_Bcast_c(output, EACH, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < EACH; i++)
        if (output[i] != value(root, i))
            fail("bcast: element %d is %d", i, output[i]);
}

/* A library of ints cannot be handed more: it says so on all ranks, and to the error handler. */
static void too_many(void)
{
    MPI_Datatype nothing;
    int code, class = MPI_SUCCESS;

    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Bcast_c(output, (MPI_Count)1 << 32, nothing, 0, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class != (MPI_VERSION < 4 ? MPI_ERR_COUNT : MPI_SUCCESS))
        fail("bcast of 2^32 elements of no bytes: error class %d", class);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&nothing);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("large", argc, argv);
    if (!large_counts()) {
        printf("large: this library is of MPI %d.%d\n", MPI_VERSION, MPI_SUBVERSION);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int r = 0; r < world_size; r++) {
        counts[r] = EACH;
        displs[r] = r * EACH;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        gathering(in_place);
        reducing(in_place);
        scanning(in_place);
        broadcasting(in_place ? world_size - 1 : 0);
    }
    too_many();
    /* each collective twice on each rank; the harness itself makes one or two calls more */
    if (!world_rank)
        printf("large: to reroute: above=%d\n", 2 * world_size - 1);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
