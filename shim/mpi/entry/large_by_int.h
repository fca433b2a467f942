/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of MPI 4.0 whose names end in _c, for libraries that lack them. The preload exports
 * those names for every MPI, and programs test by weak symbols whether a library has them (mpi4py's
 * wheels do). So the exported functions have to work.
 */
#ifndef COLLSHIM_SHIM_MPI_LARGE_BY_INT_H
#define COLLSHIM_SHIM_MPI_LARGE_BY_INT_H

/*
 * Put functions with the library's contract into `mpi` where it has none. They call those of ints;
 * a count or displacement beyond an int is MPI_ERR_COUNT, raised on the communicator. Call once,
 * after mpi_calls_open.
 */
void large_by_int_fill(void);

#endif
