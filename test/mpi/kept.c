/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equal calls that need memory beside the application's: kept [SEED [MIB]]
 *
 * Reductions of that many MiB, 40 by default. It prints the page faults of the third call and those
 * behind it, of the rank that had the most, and the resident memory of all ranks in MiB at the end.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "test/mpi/harness.h"

enum { CALLS = 6, LEARNT = 2 };

static long faults(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

static long resident_mib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        fail("/proc/self/statm: no number");
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}

static uint64_t value(int rank, size_t i, int call)
{
    return (i + 1) * (uint64_t)(rank + 3) + (uint64_t)call;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("kept", argc, argv);
    size_t n = (argc > 2 ? strtoull(argv[2], NULL, 10) : 40) << 20 >> 3;
    uint64_t *mine = malloc(8 * n), *sum = calloc(n, 8);
    long before = 0;

    if (!mine || !sum)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int k = 0; k < CALLS; k++) {
        for (size_t i = 0; i < n; i++)
            mine[i] = value(world_rank, i, k);
        if (k == LEARNT)
            before = faults();
        MPI_Reduce(mine, sum, (int)n, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        for (size_t i = 0; !world_rank && i < n; i++) {
            uint64_t want = 0;

            for (int r = 0; r < world_size; r++)
                want += value(r, i, k);
            if (sum[i] != want) {
                fail("call %d: element %zu is %llu, expected %llu", k, i,
                     (unsigned long long)sum[i], (unsigned long long)want);
                break;
            }
        }
    }
    long own_faults = faults() - before, most = 0, own = resident_mib(), all = 0;

    MPI_Reduce(&own_faults, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("kept: faults=%ld resident=%ld\n", most, all);
    free(mine);
    free(sum);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
