/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's own algorithms for one collective, each forced inside the running job, so that all
 * of them and the shim are timed in one run under the same conditions. Rejected: one launch per
 * algorithm, because it compares times taken minutes apart on a shared machine.
 */
#ifndef BENCH_ALGORITHMS_H
#define BENCH_ALGORITHMS_H

#include "collective.h"

struct bench_algorithm {
    char name[64];          /* as the library calls it; "auto": its own choice */
    char flag[256];         /* the options of mpirun that force it; empty for auto */
    MPI_Comm comm;          /* where to call it */
    MPI_T_cvar_handle cvar; /* not used by auto */
    int value, usual;       /* of the variable: to force it, and as the job started */
    int index;              /* of the variable, -1 for auto */
    MPI_T_cvar_handle also; /* a second variable that is set with it; the same four for that */
    int also_value, also_usual, also_index; /* also_index: -1 if there is none */
};

struct bench_algorithms {
    int n;                        /* at least 1: list[0] is the library's own choice */
    struct bench_algorithm *list; /* owned */
};

/* To be called before MPI_Init: asks Open MPI to heed forced algorithms at all. */
void bench_algorithms_prepare(void);

/* Once per process, after MPI_Init and before MPI_Finalize. */
void bench_algorithms_begin(void);
void bench_algorithms_end(void);

/*
 * Enumerate what the row's knobs offer here and make a communicator for each. Collective over comm,
 * which spans that many nodes. Returns 0 or -ENOMEM. notes (of notes_len bytes) gets a line for
 * each knob that exists but cannot be turned, and one if no knob exists here; or "". The caller
 * closes with bench_algorithms_close(), collectively.
 */
int bench_algorithms_open(const struct bench_mpi *mpi, MPI_Comm comm, int nodes,
                          const struct bench_knob *knobs, struct bench_algorithms *set, char *notes,
                          size_t notes_len);
void bench_algorithms_close(const struct bench_mpi *mpi, struct bench_algorithms *set);

/* Turn the library to this algorithm, and back to how the job was started. */
void bench_algorithm_force(const struct bench_algorithm *algorithm);
void bench_algorithm_release(const struct bench_algorithm *algorithm);

#endif
