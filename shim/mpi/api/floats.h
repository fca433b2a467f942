/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library computes in the program's floating-point mode (shim/decide/base/floats.h), in calls
 * of ours too: while we wait in it, it may advance a reduction of the program's, or call the
 * program's own functions.
 */
#ifndef COLLSHIM_SHIM_MPI_FLOATS_H
#define COLLSHIM_SHIM_MPI_FLOATS_H

/*
 * Put functions into `mpi` that set the mode, wherever the library may do either. `mpi_library`
 * keeps the library's own, for calls that are in the program's mode already. Once, when `mpi` is
 * filled.
 */
void floats_fill(void);

#endif
