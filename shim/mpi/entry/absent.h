/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives of libraries that have none under these names. The preload exports the
 * names all the same, and a program that looks for them through weak symbols finds them.
 */
#ifndef COLLSHIM_SHIM_MPI_ABSENT_H
#define COLLSHIM_SHIM_MPI_ABSENT_H

/* Behind mpi_calls_open: fill in what its table lacks, from the library behind that handle. */
void absent_fill(void *libmpi);

#endif
