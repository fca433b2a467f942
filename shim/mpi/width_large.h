/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for their _c forms, of MPI 4.0: */
#include "shim/mpi/width_none.h"
#define COUNT MPI_Count
#define DISPL MPI_Aint /* where a block begins */
#define WRAP(name) mpi_wrap_##name##_c
#define LIBRARY(name) mpi.name##_c
#define WIDTH wide /* of unions of vectors (vectors.h) */
#define LARGE 1
