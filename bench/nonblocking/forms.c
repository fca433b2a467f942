/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-forms: each collective in its three forms, blocking, nonblocking and persistent, from
 * the start to the completion, by the library and as an application calls it, in turn. The results
 * of all are compared with the library's blocking one's. A persistent call saves the planning,
 * agreeing and guarding of a blocking one.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_table.h"
#include "stats.h"

enum { MOST_REPETITIONS = 10000, WARM = 5, MOST_RANKS = 1024, REST = 5000 };
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum way { LIBRARY, CALLED, WAYS };

/* Arguments of a call: vectors of ints, in equal blocks where there are blocks. */
static struct {
    MPI_Comm world, ring;
    int ranks, rank, n, block; /* ints of the vector and of a block */
    int *in, *out, *expected;
    int counts[MOST_RANKS], displs[MOST_RANKS], bytes[MOST_RANKS];
    MPI_Aint far[2];
    MPI_Datatype types[MOST_RANKS];
} a;

#define LIST(...) __VA_ARGS__

/* Name, name as behind MPI_I, types of the parameters, arguments. */
#define COLLECTIVES(X)                                                                             \
    X(Allgather, allgather,                                                                        \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm),                  \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, a.world))                              \
    X(Allgatherv, allgatherv,                                                                      \
      LIST(const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype,        \
           MPI_Comm),                                                                              \
      LIST(a.in, a.block, MPI_INT, a.out, a.counts, a.displs, MPI_INT, a.world))                   \
    X(Allreduce, allreduce, LIST(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm),       \
      LIST(a.in, a.out, a.n, MPI_INT, MPI_SUM, a.world))                                           \
    X(Reduce, reduce, LIST(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm),        \
      LIST(a.in, a.out, a.n, MPI_INT, MPI_SUM, 0, a.world))                                        \
    X(Reduce_scatter, reduce_scatter,                                                              \
      LIST(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm),                     \
      LIST(a.in, a.out, a.counts, MPI_INT, MPI_SUM, a.world))                                      \
    X(Reduce_scatter_block, reduce_scatter_block,                                                  \
      LIST(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm),                             \
      LIST(a.in, a.out, a.block, MPI_INT, MPI_SUM, a.world))                                       \
    X(Scan, scan, LIST(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm),                 \
      LIST(a.in, a.out, a.n, MPI_INT, MPI_SUM, a.world))                                           \
    X(Exscan, exscan, LIST(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm),             \
      LIST(a.in, a.out, a.n, MPI_INT, MPI_SUM, a.world))                                           \
    X(Bcast, bcast, LIST(void *, int, MPI_Datatype, int, MPI_Comm),                                \
      LIST(a.rank ? a.out : a.in, a.n, MPI_INT, 0, a.world))                                       \
    X(Gather, gather,                                                                              \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm),             \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, 0, a.world))                           \
    X(Gatherv, gatherv,                                                                            \
      LIST(const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, int,   \
           MPI_Comm),                                                                              \
      LIST(a.in, a.block, MPI_INT, a.out, a.counts, a.displs, MPI_INT, 0, a.world))                \
    X(Scatter, scatter,                                                                            \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm),             \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, 0, a.world))                           \
    X(Scatterv, scatterv,                                                                          \
      LIST(const void *, const int *, const int *, MPI_Datatype, void *, int, MPI_Datatype, int,   \
           MPI_Comm),                                                                              \
      LIST(a.in, a.counts, a.displs, MPI_INT, a.out, a.block, MPI_INT, 0, a.world))                \
    X(Alltoall, alltoall,                                                                          \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm),                  \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, a.world))                              \
    X(Alltoallv, alltoallv,                                                                        \
      LIST(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, \
           MPI_Datatype, MPI_Comm),                                                                \
      LIST(a.in, a.counts, a.displs, MPI_INT, a.out, a.counts, a.displs, MPI_INT, a.world))        \
    X(Alltoallw, alltoallw,                                                                        \
      LIST(const void *, const int *, const int *, const MPI_Datatype *, void *, const int *,      \
           const int *, const MPI_Datatype *, MPI_Comm),                                           \
      LIST(a.in, a.counts, a.bytes, a.types, a.out, a.counts, a.bytes, a.types, a.world))          \
    X(Neighbor_allgather, neighbor_allgather,                                                      \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm),                  \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, a.ring))                               \
    X(Neighbor_allgatherv, neighbor_allgatherv,                                                    \
      LIST(const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype,        \
           MPI_Comm),                                                                              \
      LIST(a.in, a.block, MPI_INT, a.out, a.counts, a.displs, MPI_INT, a.ring))                    \
    X(Neighbor_alltoall, neighbor_alltoall,                                                        \
      LIST(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm),                  \
      LIST(a.in, a.block, MPI_INT, a.out, a.block, MPI_INT, a.ring))                               \
    X(Neighbor_alltoallv, neighbor_alltoallv,                                                      \
      LIST(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, \
           MPI_Datatype, MPI_Comm),                                                                \
      LIST(a.in, a.counts, a.displs, MPI_INT, a.out, a.counts, a.displs, MPI_INT, a.ring))         \
    X(Neighbor_alltoallw, neighbor_alltoallw,                                                      \
      LIST(const void *, const int *, const MPI_Aint *, const MPI_Datatype *, void *, const int *, \
           const MPI_Aint *, const MPI_Datatype *, MPI_Comm),                                      \
      LIST(a.in, a.counts, a.far, a.types, a.out, a.counts, a.far, a.types, a.ring))

typedef void function(void);

/* Call it; a persistent one is made by that. Returns an MPI code. */
typedef int call_form(enum form form, function *f, MPI_Request *q);

#define CALL(Name, name, Types, Arguments)                                                         \
    static int call_##name(enum form form, function *f, MPI_Request *q)                            \
    {                                                                                              \
        switch (form) {                                                                            \
        case BLOCKING:                                                                             \
            return ((int (*)(Types))f)(Arguments);                                                 \
        case NONBLOCKING:                                                                          \
            return ((int (*)(Types, MPI_Request *))f)(Arguments, q);                               \
        default:                                                                                   \
            return ((int (*)(Types, MPI_Info, MPI_Request *))f)(Arguments, MPI_INFO_NULL, q);      \
        }                                                                                          \
    }
COLLECTIVES(CALL)

static const struct row {
    const char *name[FORMS];
    call_form *call;
} rows[] = {
#define ROW(Name, name, Types, Arguments) {{#Name, "I" #name, #Name "_init"}, call_##name},
    COLLECTIVES(ROW)};

/* The function as the program calls it, or the library's own; NULL: there is none. */
static function *find(enum way way, const char *name)
{
    char symbol[64];
    function *f;

    snprintf(symbol, sizeof symbol, "%sMPI_%s", way == LIBRARY ? "P" : "", name);
    void *at = dlsym(way == LIBRARY ? bench_mpi_library() : RTLD_DEFAULT, symbol);
    memcpy(&f, &at, sizeof f);
    return f;
}

static struct bench_mpi library;
static int differing; /* results of this rank */

/* Seconds of the slowest rank. */
static double once(const struct row *row, enum form form, function *f, MPI_Request *made)
{
    MPI_Request q;
    double start, took;

    memset(a.out, 0xff, (size_t)a.n * sizeof *a.out);
    usleep(REST); /* emulated rails that rested pass a burst: all forms begin alike */
    library.Barrier(a.world);
    start = MPI_Wtime();
    if (form == PERSISTENT) {
        MPI_Start(made);
        MPI_Wait(made, MPI_STATUS_IGNORE);
    } else {
        row->call(form, f, &q);
        if (form == NONBLOCKING)
            MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    took = MPI_Wtime() - start;
    differing += memcmp(a.out, a.expected, (size_t)a.n * sizeof *a.out) != 0;
    library.Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, a.world);
    return took;
}

/* All forms in turn, by both. The median of each in us, or 0 where there is no such function. */
static void measure(const struct row *row, int repetitions, double median[WAYS][FORMS])
{
    static double took[WAYS][FORMS][MOST_REPETITIONS];
    function *f[WAYS][FORMS];
    MPI_Request made[WAYS];

    memset(a.out, 0xff, (size_t)a.n * sizeof *a.out);
    row->call(BLOCKING, find(LIBRARY, row->name[BLOCKING]), NULL);
    memcpy(a.expected, a.out, (size_t)a.n * sizeof *a.out);
    for (int way = 0; way < WAYS; way++) {
        for (int form = 0; form < FORMS; form++)
            f[way][form] = find((enum way)way, row->name[form]);
        for (int i = 0; way == CALLED && i < WARM; i++) /* the ranks meet */
            once(row, BLOCKING, f[way][BLOCKING], NULL);
        if (f[way][PERSISTENT])
            row->call(PERSISTENT, f[way][PERSISTENT], &made[way]);
    }
    for (int i = -WARM; i < repetitions; i++)
        for (int way = 0; way < WAYS; way++)
            for (int form = 0; form < FORMS; form++)
                if (f[way][form])
                    took[way][form][i < 0 ? 0 : i] =
                        once(row, (enum form)form, f[way][form], &made[way]);
    for (int way = 0; way < WAYS; way++) {
        for (int form = 0; form < FORMS; form++)
            median[way][form] =
                f[way][form] ? bench_stats_of(took[way][form], repetitions).median * 1e6 : 0;
        if (f[way][PERSISTENT])
            MPI_Request_free(&made[way]);
    }
}

static void fill(int bytes)
{
    int periodic = 1;

    a.world = MPI_COMM_WORLD;
    MPI_Comm_rank(a.world, &a.rank);
    MPI_Comm_size(a.world, &a.ranks);
    if (a.ranks < 3 || a.ranks > MOST_RANKS)
        MPI_Abort(a.world, 2);
    MPI_Cart_create(a.world, 1, &a.ranks, &periodic, 0, &a.ring);
    a.block = bytes / (int)sizeof(int) / a.ranks;
    a.n = a.block * a.ranks;
    a.in = malloc((size_t)a.n * sizeof *a.in);
    a.out = malloc((size_t)a.n * sizeof *a.out);
    a.expected = malloc((size_t)a.n * sizeof *a.expected);
    if (!a.in || !a.out || !a.expected || !a.block)
        MPI_Abort(a.world, 2);
    for (int i = 0; i < a.n; i++)
        a.in[i] = a.rank * 1000003 + i * 7;
    for (int r = 0; r < a.ranks; r++) {
        a.counts[r] = a.block;
        a.displs[r] = r * a.block;
        a.bytes[r] = a.displs[r] * (int)sizeof(int);
        a.types[r] = MPI_INT;
    }
    a.far[1] = a.block * (MPI_Aint)sizeof(int);
}

static void print_time(double us)
{
    if (us > 0)
        printf(" %10.1f", us);
    else
        printf(" %10s", "-");
}

int main(int argc, char **argv)
{
    int bytes = argc > 1 ? atoi(argv[1]) : 65536, repetitions = argc > 2 ? atoi(argv[2]) : 100;
    const char *only = argc > 3 ? argv[3] : "";
    double median[WAYS][FORMS];
    char why[128];

    if (bytes < 1 || repetitions < 1 || repetitions > MOST_REPETITIONS || argc > 4) {
        fprintf(stderr,
                "Usage: %s [BYTES [REPETITIONS [NAME]]]\n"
                "Times each collective, or the one NAMEd (Allreduce), blocking, nonblocking and\n"
                "persistent, to its completion, by the library and as called. BYTES: of the\n"
                "vector or all blocks. At least 3 ranks. Set LD_PRELOAD before.\n",
                argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    if (bench_mpi_native(&library, why, sizeof why)) {
        fprintf(stderr, "collshim: forms: native calls cannot be found: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fill(bytes);
    if (!a.rank)
        printf(
            "%d ranks, %d bytes, us, medians of %d; to blocking: of those called\n"
            "                        library                          called              "
            "       to blocking\n"
            "collective            blocking   at once persistent   blocking    at once persistent "
            "  at once  persistent\n",
            a.ranks, a.n * (int)sizeof(int), repetitions);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (*only && strcmp(only, rows[i].name[BLOCKING]) != 0)
            continue;
        measure(&rows[i], repetitions, median);
        if (a.rank)
            continue;
        printf("%-20s", rows[i].name[BLOCKING]);
        for (int way = 0; way < WAYS; way++)
            for (int form = 0; form < FORMS; form++)
                print_time(median[way][form]);
        for (int form = NONBLOCKING; form < FORMS; form++)
            printf("   %8.3f", median[CALLED][form] / median[CALLED][BLOCKING]);
        printf("\n");
        fflush(stdout);
    }
    library.Allreduce(MPI_IN_PLACE, &differing, 1, MPI_INT, MPI_SUM, a.world);
    if (!a.rank)
        printf("%d results differ from the library's\n", differing);
    MPI_Comm_free(&a.ring);
    free(a.in);
    free(a.out);
    free(a.expected);
    MPI_Finalize();
    return differing != 0;
}
