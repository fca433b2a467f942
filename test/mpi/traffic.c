/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application's own messages on the communicator whose collectives are rerouted: receives
 * with MPI_ANY_SOURCE and MPI_ANY_TAG wait all the time, probes look for messages that do not
 * exist, messages lie unexpected, nonblocking collectives are under way. Only the
 * application's messages may ever show.
 */
#include "test/mpi/harness.h"

enum { ROUNDS = 40, MOST = 64, LARGE = 3000 };

static struct draw together; /* the same on all ranks */

/* A few collectives of several sizes. */
static void collectives(MPI_Comm comm, int rank, int size)
{
    static int mine[LARGE], all[MOST * LARGE], counts[MOST], displs[MOST];
    int calls = 1 + draw_below(&together, 3);

    for (int c = 0; c < calls; c++) {
        int vector = draw_below(&together, 2), next = 0;
        int n = 1 + draw_below(&together, draw_below(&together, 4) ? 50 : LARGE - MOST);
        for (int r = 0; r < size; r++) {
            counts[r] = vector ? n + r : n;
            displs[r] = next;
            next += counts[r];
        }
        for (int i = 0; i < counts[rank]; i++)
            mine[i] = rank * 100000 + i + c;
        memset(all, 0xff, (size_t)next * sizeof *all);
        if (vector)
            MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, displs, MPI_INT, comm);
        else
            MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, comm);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < counts[r]; i++)
                if (all[displs[r] + i] != r * 100000 + i + c)
                    fail("collective of %d: wrong at rank %d, element %d", n, r, i);
        if (size > 1 && vector)
            expected_allgatherv++;
        else if (size > 1)
            expected_allgather++;
    }
}

static void nothing_to_probe(MPI_Comm comm, const char *when)
{
    MPI_Status status;
    int flag;

    for (int i = 0; i < 3; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
        if (flag)
            fail("%s: a probe found a message with tag %d from %d", when, status.MPI_TAG,
                 status.MPI_SOURCE);
    }
}

/* A receive for anything waits through collectives; then its message comes. */
static void posted_before(MPI_Comm comm, int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, tag = draw_below(&together, 30000);
    int out = rank * 7 + tag, in = -1, done;
    MPI_Request receive;
    MPI_Status status;

    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive);
    collectives(comm, rank, size);
    MPI_Test(&receive, &done, &status);
    if (done && in != from * 7 + tag)
        fail("a receive for anything got something else: %d", in);
    MPI_Send(&out, 1, MPI_INT, to, tag, comm);
    if (!done)
        MPI_Wait(&receive, &status);
    if (in != from * 7 + tag || status.MPI_SOURCE != from || status.MPI_TAG != tag)
        fail("a receive for anything got %d, tag %d from %d", in, status.MPI_TAG,
             status.MPI_SOURCE);
}

/* A message lies unexpected while collectives run. */
static void sent_before(MPI_Comm comm, int rank, int size)
{
    int to = (rank + size - 1) % size, from = (rank + 1) % size, in[2] = {-1, -1};
    int first = rank, second = rank + 1000;
    MPI_Request send[2];
    MPI_Status status;

    MPI_Isend(&first, 1, MPI_INT, to, 0, comm, &send[0]);
    MPI_Isend(&second, 1, MPI_INT, to, 1, comm, &send[1]);
    collectives(comm, rank, size);
    for (int i = 0; i < 2; i++) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        if (status.MPI_SOURCE != from || status.MPI_TAG != i)
            fail("message %d: a probe found tag %d from %d", i, status.MPI_TAG, status.MPI_SOURCE);
        MPI_Recv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    }
    if (in[0] != from || in[1] != from + 1000)
        fail("unexpected messages became %d and %d", in[0], in[1]);
    for (int i = 0; i < 2; i++)
        MPI_Wait(&send[i], MPI_STATUS_IGNORE);
}

/* A nonblocking collective on the same communicator, begun before and ended after. */
static void under_way(MPI_Comm comm, int rank, int size)
{
    int out = rank + 1, sum = 0;
    MPI_Request reduce, barrier;

    MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, comm, &reduce);
    collectives(comm, rank, size);
    MPI_Ibarrier(comm, &barrier);
    collectives(comm, rank, size);
    MPI_Wait(&reduce, MPI_STATUS_IGNORE);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    if (sum != size * (size + 1) / 2)
        fail("a nonblocking sum is %d", sum);
}

static void rounds(MPI_Comm comm)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < ROUNDS; i++) {
        switch (draw_below(&together, 3)) {
        case 0:
            posted_before(comm, rank, size);
            break;
        case 1:
            sent_before(comm, rank, size);
            break;
        default:
            under_way(comm, rank, size);
        }
        MPI_Barrier(comm);
        nothing_to_probe(comm, "between rounds");
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm fresh;

    MPI_Init(&argc, &argv);
    test_began("traffic", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    together = draw_from(4, 0);
    rounds(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &fresh);
    rounds(fresh);
    MPI_Comm_free(&fresh);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
