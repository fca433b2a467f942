/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that take the place of the library's: same signatures, same contracts. */
#ifndef COLLSHIM_SHIM_MPI_WRAPPERS_H
#define COLLSHIM_SHIM_MPI_WRAPPERS_H

#include <mpi.h>

int mpi_wrap_Init(int *argc, char ***argv);
int mpi_wrap_Init_thread(int *argc, char ***argv, int required, int *provided);
int mpi_wrap_Finalize(void);

#define COUNT int
#define DISPL int
#define COLLECTIVE(name, parameters) int mpi_wrap_##name parameters;
#include "shim/mpi/collectives.def"
#undef COLLECTIVE
#undef DISPL
#undef COUNT

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define COLLECTIVE(name, parameters) int mpi_wrap_##name##_c parameters;
#include "shim/mpi/collectives.def"
#undef COLLECTIVE
#undef DISPL
#undef COUNT

#endif
