/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm of the library serves an Allreduce? variants [SEED [HOW]]
 *
 * Sums whose rounding depends on the order in which ranks are combined; rank 0 prints a hash of the
 * bits. They are right in any order: within what rounding allows.
 *
 * HOW: multiple  MPI_Init_thread asks for MPI_THREAD_MULTIPLE; exit code 77 if it is not given
 *      idup      a communicator is being made without waiting while the first of these calls are
 *                made; another call comes before that
 */
#include <math.h>

#include "test/mpi/harness.h"

enum { CALLS = 12, MOST = 40000 };

static uint64_t hash = 1;

/* Few elements and many: libraries and segments. */
static int count_of(int call)
{
    static const int few[] = {1, 3, 16, 1000};

    return call % 3 == 2 ? MOST - call : few[call % 4];
}

static void sum(int call, MPI_Comm comm)
{
    static double mine[MOST], all[MOST], again[MOST];
    int n = count_of(call);

    for (int i = 0; i < n; i++) {
        struct draw d = draw_from((uint64_t)call << 32 | (uint64_t)i, (uint64_t)world_rank);

        mine[i] = (draw_below(&d, 2000001) - 1000000) * pow(10, draw_below(&d, 9)) / 3;
        again[i] = mine[i];
    }
    MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, again, n, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < n; i++) {
        double exact = 0, sizes = 0;
        uint64_t bits;

        for (int r = 0; r < world_size; r++) {
            struct draw d = draw_from((uint64_t)call << 32 | (uint64_t)i, (uint64_t)r);
            double value = (draw_below(&d, 2000001) - 1000000) * pow(10, draw_below(&d, 9)) / 3;

            exact += value;
            sizes += fabs(value);
        }
        if (fabs(all[i] - exact) > sizes * 1e-14 || fabs(again[i] - exact) > sizes * 1e-14) {
            fail("call %d: element %d is %.17g, in place %.17g, expected %.17g", call, i, all[i],
                 again[i], exact);
            return;
        }
        memcpy(&bits, &all[i], sizeof bits);
        hash = mix(hash ^ bits);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int wanted = !strcmp(how, "multiple") ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, level, now;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Init_thread(&argc, &argv, wanted, &level);
    test_began("variants", argc, argv);
    if (level < wanted) {
        if (!world_rank)
            printf("variants: the library has no such thread level\n");
        MPI_Finalize();
        return EXIT_SKIP;
    }
    if (!strcmp(how, "idup")) {
        int all[64];

        MPI_Allgather(&world_rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    }
    for (int call = 0; call < CALLS; call++)
        sum(call, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (copy != MPI_COMM_NULL) {
        sum(CALLS, copy);
        MPI_Comm_free(&copy);
    }
    MPI_Query_thread(&now);
    if (now != level)
        fail("the thread level was %d and is %d", level, now);
    if (!world_rank)
        printf("variants: bits %016llx\n", (unsigned long long)hash);
    int rc = test_ended();
    MPI_Finalize();
    return rc;
}
