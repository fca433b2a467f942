/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's call fails while it is carried out, since more is sent than it has room for, and its
 * error handler is the program's: handler [SEED [calls|jumps [CALLS]]], on two ranks
 *
 * It calls a collective in which the other rank is, too, or it does not return. So many calls come
 * before and behind, with a wrong one among every seven, in either turn of COLLSHIM_MODE=ab. Calls
 * on that communicator and on another one go on in between.
 */
#include <setjmp.h>

#include "test/mpi/sums.h"

enum { MOST = 64, WORDS = 17000, EXCHANGED = 6000 };

static int handled, jumps;
static jmp_buf back;

static void gather(int number)
{
    int mine = number + world_rank, all[MOST];

    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size; i++)
        if (all[i] != number + i)
            fail("gather %d: element %d is %d", number, i, all[i]);
    if (world_size > 1)
        expected_allgather++;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
    if (jumps)
        longjmp(back, 1);
    gather(1000);
}

/* The last rank has room for fewer words than are sent. */
static void wrong_call(MPI_Comm comm, int words)
{
    static int buffer[WORDS];
    int last = world_rank == world_size - 1, before = handled;

    if (!setjmp(back))
        MPI_Bcast(buffer, last ? words - 2 : words, MPI_INT, 0, comm);
    if (!last && !jumps)
        gather(1000);
    if (handled != before + last)
        fail("the error handler ran %d times", handled - before);
}

static void exchange(MPI_Comm comm, int number)
{
    static int in[2 * EXCHANGED], out[2 * EXCHANGED];
    int sizes[2] = {EXCHANGED, EXCHANGED}, at[2] = {0, EXCHANGED};

    for (int i = 0; i < 2 * EXCHANGED; i++)
        in[i] = number + i + 7 * world_rank;
    MPI_Alltoallv(in, sizes, at, MPI_INT, out, sizes, at, MPI_INT, comm);
    for (int r = 0; r < world_size; r++)
        if (out[r * EXCHANGED] != number + EXCHANGED * world_rank + 7 * r)
            fail("exchange %d: element of rank %d is %d", number, r, out[r * EXCHANGED]);
}

static void many(MPI_Comm comm, int calls)
{
    static int buffer[WORDS];

    for (int k = 0; k < calls; k++) {
        for (int i = 0; i < WORDS && !world_rank; i++)
            buffer[i] = k + i;
        MPI_Bcast(buffer, WORDS, MPI_INT, 0, comm);
        for (int i = 0; i < WORDS; i++)
            if (buffer[i] != k + i) {
                fail("broadcast %d: element %d is %d", k, i, buffer[i]);
                break;
            }
        if (k % 7 == 3)
            wrong_call(comm, WORDS);
        if (k % 8 == 0)
            exchange(comm, k);
        if (k % 5 == 0)
            sums_call(MPI_COMM_WORLD, WORDS, k);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    test_began("handler", argc, argv);
    if (world_size > 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    jumps = argc > 2 && !strcmp(argv[2], "jumps");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    gather(0);
    wrong_call(comm, 6);
    many(comm, argc > 3 ? atoi(argv[3]) : 0);
    gather(2000);
    MPI_Comm_free(&comm);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
