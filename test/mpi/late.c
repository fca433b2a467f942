/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * late [SEED [CALLS [DELAY_US [ELEMENTS]]]]: Allreduces before each of which one rank works longer,
 * a random one each time. Rank 0 prints for each call which rank that was, which one came last by
 * the program's own clock, and microseconds until the last rank was out. DELAY_US 0: no rank is
 * delayed. All ranks run on one kernel, so that clock is common.
 *
 * No other Allreduce is made on its communicator, so the n-th line is the report's n-th call.
 */
#include "test/mpi/harness.h"

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("late", argc, argv);
    int calls = argc > 2 ? atoi(argv[2]) : 20, delay_us = argc > 3 ? atoi(argv[3]) : 20000;
    int elements = argc > 4 ? atoi(argv[4]) : 1024;
    double *in = calloc((size_t)elements, sizeof *in), *out = calloc((size_t)elements, sizeof *out);
    int64_t mine[2], *all = calloc((size_t)world_size, sizeof mine);
    struct draw d = draw_from(1, 1);

    if (!in || !out || !all)
        abort();
    for (int i = 1; i <= calls; i++) {
        int delayed = draw_below(&d, world_size), last = 0;
        int64_t end = 0;

        MPI_Barrier(MPI_COMM_WORLD);
        int64_t until = now_us() + (delayed == world_rank ? delay_us : 0);
        while (now_us() < until)
            ;
        mine[0] = now_us();
        MPI_Allreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mine[1] = now_us();
        MPI_Gather(mine, 2, MPI_INT64_T, all, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
        for (int r = 0; r < world_size; r++) {
            last = all[(size_t)2 * r] > all[(size_t)2 * last] ? r : last;
            end = all[(size_t)2 * r + 1] > end ? all[(size_t)2 * r + 1] : end;
        }
        if (!world_rank)
            printf("call %d: delayed %d, last %d, %lld us\n", i, delay_us ? delayed : -1, last,
                   (long long)(end - all[(size_t)2 * last]));
    }
    int rc = test_ended();
    free(in);
    free(out);
    free(all);
    MPI_Finalize();
    return rc;
}
