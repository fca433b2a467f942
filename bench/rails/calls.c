/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective called again and again, each call timed: the program that bench/rails/run starts.
 *
 *     calls COLLECTIVE BYTES CALLS NATIVE_EVERY SECONDS LINES [PAUSE,PAUSE...]
 *
 * Rank 0 appends a line to the file LINES for each call: its number, the ms of the call as linked,
 * and the ms of the library's own (-: not called in this turn). The last word is 1 if both results,
 * and the first one, are the same. Before a call that is named in PAUSE, and before call 0, it
 * writes `pause N` and waits until a file LINES.N exists: so rates change between two calls. Before
 * call 0 there is one call of the library, whose result counts, and one as linked.
 *
 * BYTES: of a rank's block in allgather, gather, scatter, reduce_scatter_block; of the whole vector
 * in allreduce, bcast; of what a rank sends in alltoall, alltoallv (there 0.7 to rank 0). Times are
 * the maximum over ranks, from a barrier on. The library's own functions are those of mpi_table.h:
 * a plain PMPI_X reaches the preload too.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_table.h"

static struct bench_mpi library, linked;
static int rank, ranks, bytes;
static char *in, *out, *expected;
static size_t in_bytes, out_bytes;
static int *counts[2], *offsets[2]; /* of alltoallv: sent, received */

#define BOTH(NAME, ...) ((native ? &library : &linked)->NAME(__VA_ARGS__))
#define WORLD MPI_COMM_WORLD

static int allgather(int native)
{
    return BOTH(Allgather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, WORLD);
}

static int gather(int native)
{
    return BOTH(Gather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, WORLD);
}

static int scatter(int native)
{
    return BOTH(Scatter, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, WORLD);
}

static int alltoall(int native)
{
    return BOTH(Alltoall, in, bytes / ranks, MPI_BYTE, out, bytes / ranks, MPI_BYTE, WORLD);
}

static int alltoallv(int native)
{
    return BOTH(Alltoallv, in, counts[0], offsets[0], MPI_BYTE, out, counts[1], offsets[1],
                MPI_BYTE, WORLD);
}

static int allreduce(int native)
{
    return BOTH(Allreduce, in, out, bytes / 8, MPI_INT64_T, MPI_SUM, WORLD);
}

static int reduce_scatter_block(int native)
{
    return BOTH(Reduce_scatter_block, in, out, bytes / 8, MPI_INT64_T, MPI_SUM, WORLD);
}

static int bcast(int native)
{
    if (rank == 0)
        memcpy(out, in, out_bytes);
    return BOTH(Bcast, out, bytes, MPI_BYTE, 0, WORLD);
}

/* How much memory a rank has, in times of BYTES: 0, 1, or as many as there are ranks. */
enum { NONE, ONE, ALL };
static const struct collective {
    const char *name;
    int (*call)(int native);
    int in, out, in_of_root, out_of_root;
} collectives[] = {
    {"allgather", allgather, ONE, ALL, ONE, ALL},
    {"allreduce", allreduce, ONE, ONE, ONE, ONE},
    {"alltoall", alltoall, ONE, ONE, ONE, ONE},
    {"alltoallv", alltoallv, ONE, ALL, ONE, ALL},
    {"bcast", bcast, NONE, ONE, ONE, ONE},
    {"gather", gather, ONE, NONE, ONE, ALL},
    {"reduce_scatter_block", reduce_scatter_block, ALL, ONE, ALL, ONE},
    {"scatter", scatter, NONE, ONE, ALL, ONE},
};

static int end(int status, const char *why)
{
    if (rank == 0 && why)
        fprintf(stderr, "calls: %s\n", why);
    PMPI_Abort(WORLD, status);
    return status;
}

static size_t room(int amount)
{
    return amount == ALL ? (size_t)bytes * (size_t)ranks : amount == ONE ? (size_t)bytes : 0;
}

/* Bytes that rank `from` sends to rank `to`: 0.7 of them to rank 0, BYTES in all. */
static int demand(int from, int to)
{
    int cold = ranks > 2 ? (int)(.3 * bytes / (ranks - 2)) : 0, even = bytes / (ranks - 1);

    if (to == from)
        return 0;
    if (from == 0)
        return to == 1 ? bytes - (ranks - 2) * even : even;
    return to == 0 ? bytes - (ranks - 2) * cold : cold;
}

static void open_demand(void)
{
    for (int way = 0; way < 2; way++) {
        counts[way] = malloc((size_t)ranks * sizeof **counts);
        offsets[way] = malloc((size_t)ranks * sizeof **offsets);
        for (int r = 0, at = 0; r < ranks; r++) {
            counts[way][r] = way ? demand(r, rank) : demand(rank, r);
            offsets[way][r] = at;
            at += counts[way][r];
        }
    }
}

static void open_memory(const struct collective *c)
{
    in_bytes = room(rank ? c->in : c->in_of_root);
    out_bytes = room(rank ? c->out : c->out_of_root);
    in = malloc(in_bytes + 1);
    out = malloc(out_bytes + 1);
    expected = malloc(out_bytes + 1);
    if (!in || !out || !expected)
        end(1, "out of memory");
    for (size_t i = 0; i < in_bytes; i++)
        in[i] = (char)(i * 31 + i / 251 + (size_t)rank * 97);
    open_demand();
}

/* ms over all ranks, at rank 0. */
static double timed(const struct collective *c, int native)
{
    double ms, most = 0;

    memset(out, 0x5a, out_bytes);
    library.Barrier(WORLD);
    ms = -PMPI_Wtime() * 1e3;
    if (c->call(native) != MPI_SUCCESS)
        end(1, "a call has failed");
    ms += PMPI_Wtime() * 1e3;
    /* Checking is hard work: on few cores, ranks that are through would take them from the rest. */
    library.Barrier(WORLD);
    library.Reduce(&ms, &most, 1, MPI_DOUBLE, MPI_MAX, 0, WORLD);
    return most;
}

static int is_right(void)
{
    int here = !memcmp(out, expected, out_bytes), everywhere = 0;

    library.Reduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, 0, WORLD);
    return everywhere;
}

static void await(FILE *f, const char *lines, int call)
{
    char path[PATH_MAX];

    if (rank == 0) {
        snprintf(path, sizeof path, "%s.%d", lines, call);
        fprintf(f, "pause %d\n", call);
        fflush(f);
        while (access(path, F_OK))
            usleep(10000);
    }
    library.Barrier(WORLD);
}

static int is_pause(const char *list, int call)
{
    for (char *at = (char *)list; *at; at += *at == ',')
        if (strtol(at, &at, 10) == call)
            return 1;
        else if (*at && *at != ',')
            return 0;
    return call == 0;
}

/* Is it so many seconds since call 0? The same on all ranks. */
static int is_late(int call, double seconds)
{
    static double begun;
    int late;

    begun = call ? begun : PMPI_Wtime();
    late = PMPI_Wtime() - begun > seconds;
    library.Bcast(&late, 1, MPI_INT, 0, WORLD);
    return late;
}

/* f: at rank 0. */
static void turn(const struct collective *c, FILE *f, int call, int every)
{
    int native = every && call % every == 0, right;
    double ms = timed(c, 0), ms_native = 0;

    right = is_right();
    if (native) {
        ms_native = timed(c, 1);
        right &= is_right();
    }
    if (!f)
        return;
    fprintf(f, "%d %.3f ", call, ms);
    if (native)
        fprintf(f, "%.3f %d\n", ms_native, right);
    else
        fprintf(f, "- %d\n", right);
    fflush(f);
}

int main(int argc, char **argv)
{
    const struct collective *c = NULL;
    FILE *f = NULL;
    char why[256];

    MPI_Init(&argc, &argv);
    if (bench_mpi_native(&library, why, sizeof why))
        return end(1, why);
    bench_mpi_application(&linked);
    PMPI_Comm_rank(WORLD, &rank);
    PMPI_Comm_size(WORLD, &ranks);
    for (size_t i = 0; argc > 6 && i < sizeof collectives / sizeof *collectives; i++)
        if (!strcmp(argv[1], collectives[i].name))
            c = &collectives[i];
    bytes = c ? atoi(argv[2]) / 8 * 8 : 0;
    if (bytes < 8 || ranks < 2 || (rank == 0 && !(f = fopen(argv[6], "w"))))
        return end(2,
                   "expected COLLECTIVE BYTES CALLS NATIVE_EVERY SECONDS LINES [PAUSE,PAUSE...]");
    open_memory(c);
    timed(c, 1);
    memcpy(expected, out, out_bytes);
    timed(c, 0); /* the first one on a communicator is the library's, on any rails */
    for (int i = 0; i < atoi(argv[3]) && !is_late(i, atof(argv[5])); i++) {
        if (is_pause(argc > 7 ? argv[7] : "", i))
            await(f, argv[6], i);
        turn(c, f, i, atoi(argv[4]));
    }
    if (f)
        fclose(f);
    MPI_Finalize();
    return 0;
}
