/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives that add up: Allreduce, Reduce, Reduce-scatter, Reduce-scatter-block, Scan,
 * Exscan. They sum 64-bit unsigned integers, which wrap around. So every order of adding gives the
 * same bits, and every byte can be checked. Rejected: floating-point sums, because their last bits
 * depend on the order.
 *
 * Element j of rank r is a(r) + b(r) * h(j), so the right sum is known without adding up all ranks:
 * sum a + sum b * h(j). The factor differs from rank to rank on purpose. With one factor for all
 * ranks, a shift forward of one rank could cancel a shift back of another.
 *
 * A size that 8 does not divide is of bytes, combined by exclusive or, with "and" for the product;
 * so no size is rounded. Rejected: sums of bytes, because Open MPI 4.1.4 saturates with AVX.
 */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15)

enum { ROOT = 0, WORD = sizeof(uint64_t) };

struct series {
    uint64_t a, b; /* of bytes: their lowest 8 bits */
};

static struct series series_of(int rank, uint64_t generation)
{
    return (struct series){
        .a = bench_pattern_stream(rank, generation),
        .b = bench_pattern_stream(-1 - rank, generation), /* a stream that no rank's a is of */
    };
}

/* The first so many ranks combined. */
static struct series series_result(const struct bench_problem *p, uint64_t generation, int ranks)
{
    struct series all = {0, 0};

    for (int r = 0; r < ranks; r++) {
        struct series one = series_of(r, generation);

        all.a = p->unit == 1 ? all.a ^ one.a : all.a + one.a;
        all.b = p->unit == 1 ? all.b ^ one.b : all.b + one.b;
    }
    return all;
}

/* Element j as a word, and, from the top of the same product, as a byte. */
static uint64_t word_of(struct series s, size_t j)
{
    return s.a + s.b * ((j + 1) * ODD);
}

static unsigned char byte_of(struct series s, size_t j)
{
    return (unsigned char)(s.a ^ (s.b & ((j + 1) * ODD >> 56)));
}

static void fill(const struct bench_problem *p, uint64_t generation)
{
    struct series mine = series_of(p->shape->rank, generation);

    if (p->unit == 1) {
        for (size_t j = 0; j < p->send_bytes; j++)
            p->send[j] = byte_of(mine, j);
        return;
    }
    for (size_t j = 0; j < p->send_bytes / WORD; j++) {
        uint64_t word = word_of(mine, j);

        memcpy(p->send + j * WORD, &word, WORD);
    }
}

static size_t wrong_byte(const unsigned char *got, uint64_t want, size_t at)
{
    unsigned char bytes[WORD];
    size_t i = 0;

    memcpy(bytes, &want, WORD);
    while (got[i] == bytes[i])
        i++;
    return at + i;
}

/* The received bytes must be the elements from number first on of that result. */
static size_t check_result(const struct bench_problem *p, struct series all, size_t first)
{
    if (p->unit == 1) {
        for (size_t j = 0; j < p->recv_bytes; j++) {
            if (p->recv[j] != byte_of(all, first + j))
                return j;
        }
        return BENCH_PATTERN_RIGHT;
    }
    for (size_t j = 0; j < p->recv_bytes / WORD; j++) {
        uint64_t want = word_of(all, first + j), got;

        memcpy(&got, p->recv + j * WORD, WORD);
        if (got != want)
            return wrong_byte(p->recv + j * WORD, want, j * WORD);
    }
    return BENCH_PATTERN_RIGHT;
}

static size_t check_from(const struct bench_problem *p, uint64_t generation, size_t first)
{
    return check_result(p, series_result(p, generation, p->shape->ranks), first);
}

static size_t check_scan(const struct bench_problem *p, uint64_t generation)
{
    return check_result(p, series_result(p, generation, p->shape->rank + 1), 0);
}

static size_t check_exscan(const struct bench_problem *p, uint64_t generation)
{
    return check_result(p, series_result(p, generation, p->shape->rank), 0);
}

static size_t check_vector(const struct bench_problem *p, uint64_t generation)
{
    return check_from(p, generation, 0);
}

static size_t check_block(const struct bench_problem *p, uint64_t generation)
{
    return check_from(p, generation, p->offsets[p->shape->rank] / p->unit);
}

static size_t unit_of(size_t bytes)
{
    return bytes % WORD ? 1 : WORD;
}

static MPI_Datatype type_of(const struct bench_problem *p)
{
    return p->unit == WORD ? MPI_UINT64_T : MPI_UINT8_T;
}

static MPI_Op op_of(const struct bench_problem *p)
{
    return p->unit == WORD ? MPI_SUM : MPI_BXOR;
}

/* The vector that every rank contributes, its result going to all ranks or to one. */
static int lay_out_vector(struct bench_problem *p, int to_all)
{
    p->unit = unit_of(p->bytes);
    if (p->bytes / p->unit > INT_MAX)
        return -EOVERFLOW;
    p->send_bytes = p->bytes;
    p->recv_bytes = to_all || p->shape->rank == ROOT ? p->bytes : 0;
    p->total_bytes = p->bytes * (size_t)p->shape->ranks;
    return 0;
}

static int lay_out_allreduce(struct bench_problem *p)
{
    return lay_out_vector(p, 1);
}

static int lay_out_reduce(struct bench_problem *p)
{
    return lay_out_vector(p, 0);
}

static int lay_out_exscan(struct bench_problem *p)
{
    int rc = lay_out_vector(p, 1);

    if (!p->shape->rank)
        p->recv_bytes = 0;
    return rc;
}

/* A block of the result for every rank. The whole must fit an int: the library adds counts up. */
static int lay_out_blocks(struct bench_problem *p, int equal)
{
    size_t vector = 0;
    int me = p->shape->rank, rc;

    p->unit = unit_of(p->bytes);
    rc = bench_problem_place_blocks(p, equal, &vector);
    if (rc)
        return rc;
    if (vector / p->unit > INT_MAX)
        return -EOVERFLOW;
    p->send_bytes = vector;
    p->recv_bytes = (size_t)p->counts[me] * p->unit;
    p->total_bytes = vector * (size_t)p->shape->ranks;
    return 0;
}

static int lay_out_equal(struct bench_problem *p)
{
    return lay_out_blocks(p, 1);
}

static int lay_out_unequal(struct bench_problem *p)
{
    return lay_out_blocks(p, 0);
}

static int call_allreduce(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Allreduce(p->send, p->recv, (int)(p->bytes / p->unit), type_of(p), op_of(p), comm);
}

static int call_reduce(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Reduce(p->send, p->recv, (int)(p->bytes / p->unit), type_of(p), op_of(p), ROOT,
                       comm);
}

static int call_scan(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Scan(p->send, p->recv, (int)(p->bytes / p->unit), type_of(p), op_of(p), comm);
}

static int call_exscan(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Exscan(p->send, p->recv, (int)(p->bytes / p->unit), type_of(p), op_of(p), comm);
}

static int call_reduce_scatter(const struct bench_problem *p, const struct bench_mpi *mpi,
                               MPI_Comm comm)
{
    return mpi->Reduce_scatter(p->send, p->recv, p->counts, type_of(p), op_of(p), comm);
}

static int call_reduce_scatter_block(const struct bench_problem *p, const struct bench_mpi *mpi,
                                     MPI_Comm comm)
{
    return mpi->Reduce_scatter_block(p->send, p->recv, p->counts[0], type_of(p), op_of(p), comm);
}

/* A node alone must give its vector away and be told the sum; together() asks for more. */
static void traffic_allreduce(const struct bench_problem *p, int node, double *in, double *out)
{
    (void)node;
    *in = *out = p->shape->nodes > 1 ? (double)p->bytes : 0;
}

static void traffic_reduce(const struct bench_problem *p, int node, double *in, double *out)
{
    int to = p->shape->node_of[ROOT];

    *in = node == to ? (double)p->bytes : 0;
    *out = node == to ? 0 : (double)p->bytes;
}

/* A node receives the sum before each run of its ranks, and sends the sum behind it. */
static void traffic_scan(const struct bench_problem *p, int node, double *in, double *out)
{
    const int *node_of = p->shape->node_of;

    *in = *out = 0;
    for (int r = 1; r < p->shape->ranks; r++) {
        if (node_of[r] == node_of[r - 1])
            continue;
        *in += node_of[r] == node ? (double)p->bytes : 0;
        *out += node_of[r - 1] == node ? (double)p->bytes : 0;
    }
}

/* In: the sums for its own blocks, added up outside. Out: its part of all others' blocks. */
static void traffic_blocks(const struct bench_problem *p, int node, double *in, double *out)
{
    double own = 0;

    for (int r = 0; r < p->shape->ranks; r++) {
        if (p->shape->node_of[r] == node)
            own += (double)p->counts[r] * (double)p->unit;
    }
    *in = p->shape->nodes > 1 ? own : 0;
    *out = (double)p->send_bytes - own;
}

/* To be added up, each element of N nodes' vectors crosses N - 1 times. */
static double together_once(const struct bench_problem *p)
{
    return (double)p->send_bytes * (p->shape->nodes - 1);
}

/* The sum crosses N - 1 times more until all have it. */
static double together_twice(const struct bench_problem *p)
{
    return 2 * together_once(p);
}

/* MPICH's algorithm for operations that do not commute asserts equal blocks, and ranks that are a
 * power of two, where it is forced. */
static int ends_job_unequal(const struct bench_problem *p, const char *algorithm)
{
    (void)p;
    return strcmp(algorithm, "noncommutative") == 0;
}

static int ends_job_equal(const struct bench_problem *p, const char *algorithm)
{
    int ranks = p->shape->ranks;

    return (ranks & (ranks - 1)) != 0 && strcmp(algorithm, "noncommutative") == 0;
}

static const struct bench_knob allreduce_knobs[] = {
    {"coll_tuned_allreduce_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob reduce_knobs[] = {
    {"coll_tuned_reduce_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_tuned_reduce_algorithm", "pipeline_128K", 3, 0,
     "coll_tuned_reduce_algorithm_segmentsize", 131072},
    {"coll_tuned_reduce_algorithm", "pipeline_512K", 3, 0,
     "coll_tuned_reduce_algorithm_segmentsize", 524288},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"coll_adapt_priority", "adapt", 90, 0, NULL, 0},
    {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob reduce_scatter_knobs[] =
    BENCH_KNOBS("reduce_scatter", "REDUCE_SCATTER");

static const struct bench_knob reduce_scatter_block_knobs[] =
    BENCH_KNOBS("reduce_scatter_block", "REDUCE_SCATTER_BLOCK");

static const struct bench_knob scan_knobs[] = BENCH_KNOBS("scan", "SCAN");

static const struct bench_knob exscan_knobs[] = BENCH_KNOBS("exscan", "EXSCAN");

#define FORMULA_SCAN                                                                               \
    "max over nodes of (vector / measured rate into the node) and (vector / rate out of it), for " \
    "each run of consecutive ranks on it; none into rank 0's run, none out of the last one"

#define FORMULA_BLOCKS                                                                             \
    "max over nodes of (bytes of all other nodes' blocks / measured rate out of the node), "       \
    "(bytes "                                                                                      \
    "of its own blocks / rate into it), and of ((nodes - 1) * vector / sum of the nodes' rates)"

const struct bench_collective bench_allreduce = {
    .name = "allreduce",
    .summary = "sums of a vector of this size on every rank",
    .formula = "max of (2 * (nodes - 1) * vector / sum of the nodes' measured rates), which for "
               "equal nodes is 2 * vector * (nodes - 1) / nodes / a node's rate, and (vector / "
               "rate of the slowest node)",
    .knobs = allreduce_knobs,
    .lay_out = lay_out_allreduce,
    .fill = fill,
    .call = call_allreduce,
    .check = check_vector,
    .traffic = traffic_allreduce,
    .together = together_twice,
};

const struct bench_collective bench_reduce = {
    .name = "reduce",
    .summary = "sums of a vector of this size on every rank, to rank 0",
    .formula = "max of (vector / measured rate into the root's node), (vector / rate out of the "
               "slowest other node), ((nodes - 1) * vector / sum of the nodes' rates)",
    .knobs = reduce_knobs,
    .lay_out = lay_out_reduce,
    .fill = fill,
    .call = call_reduce,
    .check = check_vector,
    .traffic = traffic_reduce,
    .together = together_once,
};

const struct bench_collective bench_reduce_scatter = {
    .name = "reduce_scatter",
    .summary = "sums; a rank gets 0.5, 1.5, 1, 0 or 2 times this size of them, in turn",
    .formula = FORMULA_BLOCKS,
    .knobs = reduce_scatter_knobs,
    .lay_out = lay_out_unequal,
    .fill = fill,
    .call = call_reduce_scatter,
    .ends_job = ends_job_unequal,
    .check = check_block,
    .traffic = traffic_blocks,
    .together = together_once,
};

const struct bench_collective bench_reduce_scatter_block = {
    .name = "reduce_scatter_block",
    .summary = "sums; every rank gets this size of them, of a vector of ranks times this",
    .formula = FORMULA_BLOCKS,
    .knobs = reduce_scatter_block_knobs,
    .lay_out = lay_out_equal,
    .fill = fill,
    .call = call_reduce_scatter_block,
    .ends_job = ends_job_equal,
    .check = check_block,
    .traffic = traffic_blocks,
    .together = together_once,
};

const struct bench_collective bench_scan = {
    .name = "scan",
    .summary = "sums of a vector of this size over the ranks up to each",
    .formula = FORMULA_SCAN,
    .knobs = scan_knobs,
    .lay_out = lay_out_allreduce,
    .fill = fill,
    .call = call_scan,
    .check = check_scan,
    .traffic = traffic_scan,
};

const struct bench_collective bench_exscan = {
    .name = "exscan",
    .summary = "sums of a vector of this size over the ranks before each",
    .formula = FORMULA_SCAN,
    .knobs = exscan_knobs,
    .lay_out = lay_out_exscan,
    .fill = fill,
    .call = call_exscan,
    .check = check_exscan,
    .traffic = traffic_scan,
};
