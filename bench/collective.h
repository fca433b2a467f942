/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row per collective. A row has all that the sweep needs: the layout of the data, the call, the
 * right result, the traffic that it cannot avoid. It also has the control variables that force the
 * library's own algorithms. The sweep, the report and the options hold no collective's name, so a
 * new one is a new row in a new or existing coll_*.c, and its line in bench_collectives[].
 */
#ifndef BENCH_COLLECTIVE_H
#define BENCH_COLLECTIVE_H

#include "mpi_table.h"
#include "shape.h"

#include <stdint.h>

/* One collective at one size, as this rank holds it. */
struct bench_problem {
    const struct bench_shape *shape; /* borrowed */
    size_t bytes;                    /* as asked for: of a block or vector, as the row says */
    size_t unit;                     /* bytes of an element of the call's type; 1 unless set */
    size_t send_bytes;               /* length of this rank's send buffer */
    size_t recv_bytes;               /* length of this rank's receive buffer */
    size_t total_bytes;              /* sum over the ranks of what each contributes */
    int *counts;                     /* [ranks] elements of each rank's block; owned */
    size_t *offsets;                 /* [ranks] bytes from the first block to each; owned */
    int *displs;                     /* [ranks] the same for calls that take int offsets; owned */
    int *recv_counts, *recv_displs;  /* [ranks] owned: of what is received, where it differs */
    unsigned char *send, *recv;      /* owned */
};

/* A control variable of some MPI library that selects among its algorithms. One that the library
 * at hand does not have is passed over, so a row lists those of all libraries together. */
struct bench_knob {
    const char *cvar; /* its name in MPI_T; NULL ends the list */
    const char *name; /* the algorithm that value selects; NULL: every value the variable has */
    int value;
    int nodes; /* fewest nodes on which it does anything */

    /* A second variable that goes with the first, a segment size; NULL: none. */
    const char *also;
    int also_value;
};

/* A list of no more than Open MPI's and MPICH's variable of all algorithms of a collective. */
#define BENCH_KNOBS(name, NAME)                                                                    \
    {                                                                                              \
        {"coll_tuned_" name "_algorithm", NULL, 0, 0, NULL, 0},                                    \
            {"MPIR_CVAR_" NAME "_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},                           \
            {NULL, NULL, 0, 0, NULL, 0},                                                           \
    }

struct bench_collective {
    const char *name;
    const char *summary; /* for --help: one line, and what --bytes means for it */
    const char *formula; /* for the output: what traffic() says, in words */
    const struct bench_knob *knobs;

    /* Fill send_bytes, recv_bytes and total_bytes from shape and bytes, and the row's other members
       of the problem. Returns 0, or -EOVERFLOW if the MPI call's ints are too small. */
    int (*lay_out)(struct bench_problem *problem);

    /* Write what this rank sends in call number generation. */
    void (*fill)(const struct bench_problem *problem, uint64_t generation);

    /* The call itself, and nothing else: this is what is timed. Returns MPI's code. */
    int (*call)(const struct bench_problem *problem, const struct bench_mpi *mpi, MPI_Comm comm);

    /* Is this forced algorithm of the library known to end the job on such a problem? It is then
     * listed and not called. NULL: none is. */
    int (*ends_job)(const struct bench_problem *problem, const char *algorithm);

    /* Offset of the first wrong byte this rank received, or BENCH_PATTERN_RIGHT. */
    size_t (*check)(const struct bench_problem *problem, uint64_t generation);

    /* Bytes that must enter and leave a node with any algorithm. */
    void (*traffic)(const struct bench_problem *problem, int node, double *in, double *out);

    /* Bytes that must enter nodes, and so leave others, in all. Says more than the sum of traffic()
     * where a single node could do with less, if others did more for it. NULL: it does not. */
    double (*together)(const struct bench_problem *problem);
};

/* NULL-terminated. */
extern const struct bench_collective *const bench_collectives[];

extern const struct bench_collective bench_allgather, bench_allgatherv, bench_allreduce,
    bench_reduce_scatter, bench_reduce_scatter_block, bench_scan, bench_exscan, bench_bcast,
    bench_reduce, bench_gather, bench_gatherv, bench_scatter, bench_scatterv, bench_alltoall,
    bench_alltoallv;

/* The row of this name, or NULL. */
const struct bench_collective *bench_collective_find(const char *name);

/*
 * Lay out one problem and allocate its buffers. Local: the caller agrees with the other ranks.
 * sharers: how many ranks allocate as much from this machine's memory.
 * Returns 0, -EOVERFLOW or -ENOMEM. The caller frees with bench_problem_free() in every case.
 */
int bench_problem_make(const struct bench_collective *row, const struct bench_shape *shape,
                       size_t bytes, int sharers, struct bench_problem *problem);
void bench_problem_free(struct bench_problem *problem);

/*
 * For rows: one block per rank, in units, into counts and offsets. equal: each block has
 * problem->bytes. Otherwise blocks have 0.5, 1.5, 1, 0 and 2 times that in turn. No usual number of
 * ranks per node divides the length of this cycle, so nodes are unequal too. One block is empty,
 * because a rank without a block still takes part. *all: bytes of all blocks. Returns 0, or
 * -EOVERFLOW if a count exceeds an int.
 */
int bench_problem_place_blocks(struct bench_problem *problem, int equal, size_t *all);

#endif
