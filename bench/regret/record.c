/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record a trace for bench_regret: the library's call and the preload's in turn, in one run. To
 * build and run it:
 *
 *     mpicc -O2 -o record bench/regret/record.c
 *     LD_PRELOAD=build/libcollshim.so COLLSHIM_ALGORITHM=bcast=compose mpirun -n 2 record bcast
 * 4194304 600
 *
 * A line for each pair: microseconds of the slowest rank, natively and rerouted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *in, *out;
static int bytes;

/* From the library's own object: the preload exports PMPI_ names too. */
static void *native(const char *symbol)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};

    for (int i = 0; i < 3; i++) {
        void *library = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        if (library)
            return dlsym(library, symbol);
    }
    return NULL;
}

static __typeof__(&MPI_Allgather) native_allgather;
static __typeof__(&MPI_Allreduce) native_allreduce;
static __typeof__(&MPI_Bcast) native_bcast;

static int allgather(int rerouted)
{
    return (rerouted ? MPI_Allgather : native_allgather)(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE,
                                                         MPI_COMM_WORLD);
}

static int allreduce(int rerouted)
{
    return (rerouted ? MPI_Allreduce : native_allreduce)(in, out, bytes / 4, MPI_INT, MPI_SUM,
                                                         MPI_COMM_WORLD);
}

static int bcast(int rerouted)
{
    return (rerouted ? MPI_Bcast : native_bcast)(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    int (*call)(int rerouted);
} rows[] = {{"allgather", allgather}, {"allreduce", allreduce}, {"bcast", bcast}};

int main(int argc, char **argv)
{
    int ranks, rank, row = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; argc == 4 && i < 3; i++)
        if (!strcmp(argv[1], rows[i].name))
            row = i;
    native_allgather = (__typeof__(&MPI_Allgather))native("PMPI_Allgather");
    native_allreduce = (__typeof__(&MPI_Allreduce))native("PMPI_Allreduce");
    native_bcast = (__typeof__(&MPI_Bcast))native("PMPI_Bcast");
    bytes = argc == 4 ? atoi(argv[2]) : 0;
    in = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    out = calloc((size_t)ranks, bytes > 0 ? (size_t)bytes : 1);
    if (row < 0 || bytes <= 0 || !in || !out || !native_bcast) {
        if (!rank)
            fprintf(stderr, "usage: record allgather|allreduce|bcast BYTES PAIRS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int k = 0; k < atoi(argv[3]); k++) {
        double us[2], slowest[2];

        for (int way = 0; way < 2; way++) {
            int rerouted = (way + k) % 2;

            PMPI_Barrier(MPI_COMM_WORLD);
            us[rerouted] = -MPI_Wtime();
            rows[row].call(rerouted);
            us[rerouted] += MPI_Wtime();
        }
        PMPI_Reduce(us, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (!rank)
            printf("%.1f %.1f\n", slowest[0] * 1e6, slowest[1] * 1e6);
    }
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
