/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for their _c forms, of MPI 4.0: */
#include "shim/mpi/api/width_none.h"
#define COUNT MPI_Count
#define DISPL MPI_Aint /* where a block begins */
#define NAMED_(name) name##_c
#define NAMED(name) NAMED_(name) /* name may be a macro (forms.h) */
#define WIDTH wide               /* of unions of vectors (vectors.h) */
