/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for the functions whose counts are ints: */
#include "shim/mpi/width_none.h"
#define COUNT int
#define DISPL int /* where a block begins */
#define WRAP(name) mpi_wrap_##name
#define LIBRARY(name) mpi.name
#define WIDTH narrow /* of unions of vectors (vectors.h) */
#define LARGE 0
