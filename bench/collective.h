/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row per collective. Everything the sweep needs to know about one is in its row: how the
 * data are laid out, how it is called, what a right result is, which traffic it cannot avoid,
 * and by which control variables the library's own algorithms are forced. The sweep, the
 * report and the options hold no collective's name, so a new one is a new row in a new or
 * existing coll_*.c, and its line in bench_collectives[].
 */
#ifndef BENCH_COLLECTIVE_H
#define BENCH_COLLECTIVE_H

#include "mpi_table.h"
#include "shape.h"

#include <stdint.h>

/* One collective at one size, as this rank holds it. */
struct bench_problem {
    const struct bench_shape *shape; /* borrowed */
    size_t bytes;                    /* nominal payload per rank, as asked for */
    size_t send_bytes;               /* length of this rank's send buffer */
    size_t recv_bytes;               /* length of this rank's receive buffer */
    size_t total_bytes;              /* sum over the ranks of what each contributes */
    int *counts;                     /* [ranks] bytes each rank contributes; owned */
    size_t *offsets;                 /* [ranks] where those lie in the receive buffer; owned */
    int *displs;                     /* [ranks] the same for calls that take int offsets; owned */
    unsigned char *send, *recv;      /* owned */
};

/* A control variable of some MPI library that selects among its algorithms. One that the library
 * at hand does not have is passed over, so a row lists those of all libraries together. */
struct bench_knob {
    const char *cvar; /* its name in MPI_T; NULL ends the list */
    const char *name; /* the algorithm that value selects; NULL: every value the variable has */
    int value;
    int nodes; /* fewest nodes on which it does anything */
};

struct bench_collective {
    const char *name;
    const char *summary; /* for --help: one line */
    const char *formula; /* for the output: what traffic() says, in words */
    const struct bench_knob *knobs;

    /* Fill send_bytes, recv_bytes, total_bytes, counts and offsets (displs too if the call takes
     * them) from shape and bytes. Returns 0, or -EOVERFLOW if the MPI call's ints are too small. */
    int (*lay_out)(struct bench_problem *problem);

    /* Write what this rank sends in call number generation. */
    void (*fill)(const struct bench_problem *problem, uint64_t generation);

    /* The call itself, and nothing else: this is what is timed. Returns MPI's code. */
    int (*call)(const struct bench_problem *problem, const struct bench_mpi *mpi, MPI_Comm comm);

    /* Offset of the first wrong byte this rank received, or BENCH_PATTERN_RIGHT. */
    size_t (*check)(const struct bench_problem *problem, uint64_t generation);

    /* Bytes that must enter and leave a node whatever the algorithm. */
    void (*traffic)(const struct bench_problem *problem, int node, double *in, double *out);
};

/* NULL-terminated. */
extern const struct bench_collective *const bench_collectives[];

extern const struct bench_collective bench_allgather, bench_allgatherv;

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

#endif
