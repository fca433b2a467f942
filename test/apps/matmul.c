/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributed matrix multiplication by Allgather, the application of the Parallel Rings paper:
 * every rank owns some rows of A and B, gathers all of B and computes its rows of C = A B. It knows
 * nothing of collshim.
 *
 * It prints a sum over C that weighs every element by its place and is exact: whole numbers below
 * 2^53, the sum modulo a prime. So the known value needs no tolerance, any order of addition gives
 * it, and run.sh gets at it in another way, without multiplying matrices. Every step gathers
 * another B, so that a buffer left over from the step before can't pass.
 *
 * matmul N: prints a line "step name checksum" for each way of gathering, on MPI_COMM_WORLD and on
 * a communicator with the ranks in reverse.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRIME = 1000003, GAP = 3, UNTOUCHED = -1 };

struct way {
    const char *name;
    int uneven;   /* each rank has another number of rows: Allgatherv */
    int in_place; /* the own rows are in the receive buffer already */
    int by_rows;  /* received as elements of a row type; they are sent as doubles */
    int gap;      /* doubles between the rows of the gathered matrix, which must stay as they are */
};

static const struct way ways[] = {
    {"allgather", 0, 0, 0, 0},
    {"allgather_in_place", 0, 1, 0, 0},
    {"allgather_by_rows", 0, 0, 1, 0},
    {"allgather_gaps", 0, 0, 1, GAP},
    {"allgather_gaps_in_place", 0, 1, 1, GAP},
    {"allgatherv", 1, 0, 0, 0},
    {"allgatherv_in_place", 1, 1, 0, 0},
    {"allgatherv_by_rows", 1, 0, 1, 0},
    {"allgatherv_gaps", 1, 0, 1, GAP},
    {"allgatherv_gaps_in_place", 1, 1, 1, GAP},
};

/* One gather: the rank of each row, and the arguments for MPI. */
struct job {
    MPI_Comm comm;
    int rank, size, n;
    int stride;           /* doubles from row to row in the gathered matrix */
    int *rows, *first;    /* of each rank, in rows; first has size + 1 entries */
    int *counts, *displs; /* the same in elements of type */
    MPI_Datatype type;
};

static void *get(size_t bytes)
{
    void *p = malloc(bytes + 1);

    if (!p) {
        fprintf(stderr, "matmul: out of memory for %zu bytes; a smaller N would do\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

/* Matrix 0 is A, matrix s is the B of step s. Rows from n on are padding, and zero. */
static double element(int matrix, int n, int64_t i, int64_t j)
{
    return i < n ? (double)((i * i + 3 * i * j + 7 * j + 31 * matrix) % 997) : 0;
}

static void fill_rows(double *to, int matrix, const struct job *job, int stride)
{
    for (int i = 0; i < job->rows[job->rank]; i++)
        for (int j = 0; j < job->n; j++)
            to[(size_t)i * stride + j] = element(matrix, job->n, job->first[job->rank] + i, j);
}

static void job_open(struct job *job, MPI_Comm comm, int n, const struct way *way)
{
    MPI_Datatype row;

    job->comm = comm;
    job->n = n;
    job->stride = n + way->gap;
    MPI_Comm_rank(comm, &job->rank);
    MPI_Comm_size(comm, &job->size);
    int p = job->size, even = (n + p - 1) / p;
    job->rows = get(sizeof(int) * 4 * ((size_t)p + 1));
    job->first = job->rows + p + 1;
    job->counts = job->first + p + 1;
    job->displs = job->counts + p + 1;
    MPI_Type_contiguous(n, MPI_DOUBLE, &row);
    MPI_Type_create_resized(row, 0, (MPI_Aint)sizeof(double) * job->stride, &job->type);
    MPI_Type_commit(&job->type);
    MPI_Type_free(&row);
    for (int r = 0; r <= p; r++)
        job->first[r] = way->uneven ? (int)((int64_t)n * r * r / (p * p)) : r * even;
    for (int r = 0; r < p; r++) {
        job->rows[r] = job->first[r + 1] - job->first[r];
        job->counts[r] = job->rows[r] * (way->by_rows ? 1 : n);
        job->displs[r] = job->first[r] * (way->by_rows ? 1 : n);
    }
}

static void job_close(struct job *job)
{
    MPI_Type_free(&job->type);
    free(job->rows);
}

/* All of B. The caller frees it. */
static double *gather(const struct job *job, const struct way *way, int step)
{
    size_t size = (size_t)job->first[job->size] * job->stride;
    int own = job->rows[job->rank];
    double *all = get(size * sizeof *all), *mine = get((size_t)own * job->n * sizeof *mine);
    const void *send = way->in_place ? MPI_IN_PLACE : mine;
    MPI_Datatype type = way->by_rows ? job->type : MPI_DOUBLE;

    for (size_t i = 0; i < size; i++)
        all[i] = UNTOUCHED;
    if (way->in_place)
        fill_rows(all + (size_t)job->first[job->rank] * job->stride, step, job, job->stride);
    else
        fill_rows(mine, step, job, job->n);
    if (way->uneven)
        MPI_Allgatherv(send, own * job->n, MPI_DOUBLE, all, job->counts, job->displs, type,
                       job->comm);
    else
        MPI_Allgather(send, own * job->n, MPI_DOUBLE, all, job->counts[0], type, job->comm);
    free(mine);
    return all;
}

static int gaps_changed(const struct job *job, const double *all)
{
    int changed = 0;

    for (int i = 0; i < job->first[job->size]; i++)
        for (int j = job->n; j < job->stride; j++)
            changed += all[(size_t)i * job->stride + j] != UNTOUCHED;
    return changed;
}

/* This rank's rows of C, weighed and summed. */
static uint64_t multiply(const struct job *job, const double *b)
{
    int n = job->n, own = job->rows[job->rank];
    double *a = get((size_t)own * n * sizeof *a), *c = get((size_t)n * sizeof *c);
    uint64_t sum = 0;

    fill_rows(a, 0, job, n);
    for (int i = 0; i < own; i++) {
        uint64_t of_row = 0;

        for (int j = 0; j < n; j++)
            c[j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[j] += a[(size_t)i * n + k] * b[(size_t)k * job->stride + j];
        for (int j = 0; j < n; j++)
            of_row += (uint64_t)c[j] % PRIME * (uint64_t)(j + 1) % PRIME;
        sum += of_row % PRIME * (uint64_t)(job->first[job->rank] + i + 1) % PRIME;
    }
    free(a);
    free(c);
    return sum % PRIME;
}

static int run(MPI_Comm comm, const char *where, int n, int *step)
{
    int damaged = 0;

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        uint64_t mine[2], all[2];
        struct job job;

        job_open(&job, comm, n, &ways[w]);
        double *b = gather(&job, &ways[w], ++*step);
        mine[0] = multiply(&job, b);
        mine[1] = (uint64_t)gaps_changed(&job, b);
        MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, comm);
        if (job.rank == 0)
            printf("%d %s/%s %d\n", *step, where, ways[w].name, (int)(all[0] % PRIME));
        if (job.rank == 0 && all[1])
            printf("%d gaps were written to\n", *step);
        damaged += all[1] > 0;
        free(b);
        job_close(&job);
    }
    return damaged;
}

int main(int argc, char **argv)
{
    int n = argc == 2 ? atoi(argv[1]) : 0, rank, step = 0, damaged;
    MPI_Comm reversed;

    if (n < 1 || n > 4096) {
        fprintf(stderr, "usage: matmul N, with N from 1 to 4096\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    damaged = run(MPI_COMM_WORLD, "world", n, &step);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    damaged += run(reversed, "reversed", n, &step);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return damaged > 0;
}
