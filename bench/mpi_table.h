/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ways to the same MPI functions. The application's way is the dynamic linker's result for
 * `MPI_X`, the preload if there is one. The native way is `PMPI_X` looked up in the library object
 * itself, which no preload can answer. Both have the type `struct bench_mpi`, so that one line of a
 * collective's row is timed over either and nothing else differs.
 *
 * Adding a function: one X() below; both tables follow.
 */
#ifndef BENCH_MPI_TABLE_H
#define BENCH_MPI_TABLE_H

#include <mpi.h>
#include <stddef.h>

#define BENCH_MPI_FUNCTIONS(X)                                                                     \
    X(Allgather)                                                                                   \
    X(Allgatherv)                                                                                  \
    X(Allreduce)                                                                                   \
    X(Alltoall)                                                                                    \
    X(Alltoallv)                                                                                   \
    X(Barrier)                                                                                     \
    X(Bcast)                                                                                       \
    X(Comm_dup)                                                                                    \
    X(Comm_free)                                                                                   \
    X(Comm_split_type)                                                                             \
    X(Exscan)                                                                                      \
    X(Gather)                                                                                      \
    X(Gatherv)                                                                                     \
    X(Iallgather)                                                                                  \
    X(Ialltoall)                                                                                   \
    X(Ialltoallv)                                                                                  \
    X(Ibcast)                                                                                      \
    X(Iallreduce)                                                                                  \
    X(Reduce)                                                                                      \
    X(Reduce_scatter)                                                                              \
    X(Reduce_scatter_block)                                                                        \
    X(Scan)                                                                                        \
    X(Scatter)                                                                                     \
    X(Scatterv)                                                                                    \
    X(Wait)

struct bench_mpi {
#define X(name) __typeof__(&MPI_##name) name;
    BENCH_MPI_FUNCTIONS(X)
#undef X
};

/* A handle for dlsym of the library's own functions; NULL if none is loaded. Stays open. */
void *bench_mpi_library(void);

/*
 * Fill *native with the library's own functions. May be called before MPI_Init.
 * Returns 0, or -ENOENT with one line in why (of why_len bytes) saying what was not found.
 */
int bench_mpi_native(struct bench_mpi *native, char *why, size_t why_len);

/* Fill *app with what a plain call `MPI_X` reaches in this process. */
void bench_mpi_application(struct bench_mpi *app);

/*
 * Path of the object that answers app's collectives if it is not native's library: the preload.
 * NULL if calls go to the library directly. Borrowed from the linker.
 */
const char *bench_mpi_preload(const struct bench_mpi *app, const struct bench_mpi *native);

#endif
