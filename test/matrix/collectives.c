/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every intercepted collective once large and once small, on MPI_COMM_WORLD and on each half of it,
 * with every element of every result compared. An unmodified MPI program of MPI 3: one object runs
 * with each library of its ABI.
 *
 *     collectives         large calls before small ones: a small Gatherv, Scatterv or Alltoallv may
 *                         let the next ones go unasked
 *     collectives small   small calls on MPI_COMM_WORLD alone; each rank prints when it called
 *                         MPI_Init and when MPI_Finalize had returned, in seconds of the clock
 *     collectives none    the same, without those calls
 *     collectives calls N BYTES   the same with N Allreduces of that size
 *
 * The large calls per collective, summed over ranks, are in the line that rank 0 prints.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SMALL = 3, LARGE = 24000 }; /* elements of a block: 12 bytes, 96,000 bytes */

static MPI_Comm comm;
static int rank, size, root, n;
static int *in, *out;        /* size blocks of n elements each */
static int *counts, *displs; /* uneven blocks, with gaps between them */
static int *pairs_to;        /* this rank's bytes for each; those from each are as long */
static int *bytes_at;        /* displs, in bytes */
static MPI_Datatype *ints;   /* MPI_INT for each rank */
static long wrong;

static void do_allgather(void)
{
    MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
}

static void do_allgatherv(void)
{
    MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, comm);
}

static void do_allreduce(void)
{
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
}

static void do_reduce(void)
{
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
}

static void do_reduce_scatter(void)
{
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
}

static void do_reduce_scatter_block(void)
{
    MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, comm);
}

static void do_scan(void)
{
    MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm);
}

static void do_exscan(void)
{
    MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm);
}

static void do_bcast(void)
{
    if (rank == root)
        memcpy(out, in, (size_t)n * sizeof *in);
    MPI_Bcast(out, n, MPI_INT, root, comm);
}

static void do_gather(void)
{
    MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm);
}

static void do_gatherv(void)
{
    MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, root, comm);
}

static void do_scatter(void)
{
    MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm);
}

static void do_scatterv(void)
{
    MPI_Scatterv(in, counts, displs, MPI_INT, out, counts[rank], MPI_INT, root, comm);
}

static void do_alltoall(void)
{
    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
}

static void do_alltoallv(void)
{
    MPI_Alltoallv(in, pairs_to, displs, MPI_INT, out, pairs_to, displs, MPI_INT, comm);
}

static void do_alltoallw(void)
{
    MPI_Alltoallw(in, pairs_to, bytes_at, ints, out, pairs_to, bytes_at, ints, comm);
}

/*
 * The source of a result. Block b of the output is a piece of the input of rank b, of the root or
 * of all ranks, or those up to or before the receiver, summed up. It begins with the first element,
 * with the receiver's block, or with the receiver's share where shares lie without gaps.
 */
enum of { OF_BLOCK, OF_ROOT, OF_ALL, OF_FIRST, OF_BEFORE };
enum from { FROM_START, FROM_MINE, FROM_SHARE };
enum length { EVEN, BY_BLOCK, BY_RANK, BY_PAIR };

static const struct row {
    const char *name; /* as in the report, which counts Alltoallw as Alltoallv */
    void (*call)(void);
    int at_root, each; /* the root alone has a result; it has a block for each rank */
    enum of of;
    enum from from;
    enum length length;
} rows[] = {
    {"allgather", do_allgather, 0, 1, OF_BLOCK, FROM_START, EVEN},
    {"allgatherv", do_allgatherv, 0, 1, OF_BLOCK, FROM_START, BY_BLOCK},
    {"allreduce", do_allreduce, 0, 0, OF_ALL, FROM_START, EVEN},
    {"reduce", do_reduce, 1, 0, OF_ALL, FROM_START, EVEN},
    {"reduce_scatter", do_reduce_scatter, 0, 0, OF_ALL, FROM_SHARE, BY_RANK},
    {"reduce_scatter_block", do_reduce_scatter_block, 0, 0, OF_ALL, FROM_MINE, EVEN},
    {"scan", do_scan, 0, 0, OF_FIRST, FROM_START, EVEN},
    {"exscan", do_exscan, 0, 0, OF_BEFORE, FROM_START, EVEN},
    {"bcast", do_bcast, 0, 0, OF_ROOT, FROM_START, EVEN},
    {"gather", do_gather, 1, 1, OF_BLOCK, FROM_START, EVEN},
    {"gatherv", do_gatherv, 1, 1, OF_BLOCK, FROM_START, BY_BLOCK},
    {"scatter", do_scatter, 0, 0, OF_ROOT, FROM_MINE, EVEN},
    {"scatterv", do_scatterv, 0, 0, OF_ROOT, FROM_MINE, BY_RANK},
    {"alltoall", do_alltoall, 0, 1, OF_BLOCK, FROM_MINE, EVEN},
    {"alltoallv", do_alltoallv, 0, 1, OF_BLOCK, FROM_MINE, BY_PAIR},
    {"alltoallw", do_alltoallw, 0, 1, OF_BLOCK, FROM_MINE, BY_PAIR},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Element k of a rank's input. Sums stay far below 2^31. */
static int value(int from, int k)
{
    return (from + 1) * 100003 + k * 7;
}

static int expected(const struct row *row, int block, int i)
{
    int first = row->from == FROM_MINE ? rank * n : 0, sum = 0;

    for (int r = 0; row->from == FROM_SHARE && r < rank; r++)
        first += counts[r];
    if (row->of < OF_ALL)
        return value(row->of == OF_ROOT ? root : block, first + i);
    int ranks = row->of == OF_ALL ? size : row->of == OF_FIRST ? rank + 1 : rank;
    for (int r = 0; r < ranks; r++)
        sum += value(r, first + i);
    return sum;
}

/* How much of a block of the output is written. */
static int written(const struct row *row, int block)
{
    static const int none = 0;
    const int *length = row->length == EVEN       ? &n
                        : row->length == BY_BLOCK ? &counts[block]
                        : row->length == BY_RANK  ? &counts[rank]
                                                  : &pairs_to[block];

    if ((row->at_root && rank != root) || (row->of == OF_BEFORE && !rank) ||
        (!row->each && block > 0))
        length = &none;
    return *length;
}

static void check(const struct row *row)
{
    long before = wrong;

    for (int b = 0; b < size; b++)
        for (int i = 0; i < n; i++)
            wrong += out[b * n + i] != (i < written(row, b) ? expected(row, b, i) : -1);
    if (wrong > before)
        fprintf(stderr, "collectives: %s of %d elements on %d ranks: %ld wrong on rank %d\n",
                row->name, n, size, wrong - before, rank);
}

static void prepare(void)
{
    for (int r = 0; r < size; r++) {
        counts[r] = n - r % 3;
        displs[r] = r * n;
        pairs_to[r] = n - (r + rank) % 3;
        bytes_at[r] = r * n * (int)sizeof *in;
        ints[r] = MPI_INT;
    }
    for (int k = 0; k < size * n; k++)
        in[k] = value(rank, k);
}

static void call_all(int elements)
{
    n = elements;
    prepare();
    for (int i = 0; i < ROWS; i++) {
        memset(out, 0xff, (size_t)size * (size_t)n * sizeof *out);
        rows[i].call();
        check(&rows[i]);
    }
}

static void *block(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return memory;
}

/* Without large calls, large is 0. Returns how many large calls this rank made per row. */
static int try(MPI_Comm on, int large)
{
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    root = size / 2;
    size_t ranks = (size_t)size, elements = ranks * (size_t)(large ? large : SMALL);
    in = block(elements * sizeof *in);
    out = block(elements * sizeof *out);
    counts = block(ranks * sizeof *counts);
    displs = block(ranks * sizeof *displs);
    pairs_to = block(ranks * sizeof *pairs_to);
    bytes_at = block(ranks * sizeof *bytes_at);
    ints = block(ranks * sizeof(MPI_Datatype));
    if (large)
        call_all(large);
    call_all(SMALL);
    free(in);
    free(out);
    free(counts);
    free(displs);
    free(pairs_to);
    free(bytes_at);
    free(ints);
    return large && size > 1;
}

static void say(long large, int ranks)
{
    printf("collectives: %s on %d ranks, large:", wrong ? "WRONG" : "right", ranks);
    for (int i = 0; i < ROWS; i++)
        printf(" %s=%ld", rows[i].name, large);
    printf("\n");
    fflush(stdout);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* On MPI_COMM_WORLD and on its halves. */
static long try_large(int me, int ranks)
{
    long large = try(MPI_COMM_WORLD, LARGE);
    MPI_Comm half;

    MPI_Comm_split(MPI_COMM_WORLD, me < ranks / 2, 0, &half);
    large += try(half, LARGE);
    MPI_Comm_free(&half);
    return large;
}

/* Sums are small integers: exact in any order. */
static void call_often(long calls, int elements, int ranks)
{
    double *mine = calloc((size_t)elements, sizeof *mine);
    double *sum = calloc((size_t)elements, sizeof *sum);

    for (long k = 0; k < calls && mine && sum; k++) {
        mine[0] = mine[elements - 1] = (double)k;
        MPI_Allreduce(mine, sum, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum[0] != (double)k * ranks || sum[elements - 1] != (double)k * ranks;
    }
    wrong += !mine || !sum;
    free(mine);
    free(sum);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    double began = now();
    int me, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long mine[2] = {0, 0}, all[2];
    if (!how[0])
        mine[0] = try_large(me, ranks);
    else if (!strcmp(how, "small"))
        try(MPI_COMM_WORLD, 0);
    else if (!strcmp(how, "calls") && argc == 4 && atoi(argv[3]) >= 8)
        call_often(atol(argv[2]), atoi(argv[3]) / 8, ranks);
    mine[1] = wrong;
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong = all[1];
    if (!me)
        say(all[0], ranks);
    MPI_Finalize();
    if (how[0])
        printf("from %.6f to %.6f\n", began, now());
    return wrong != 0;
}
