/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for their _c forms, of MPI 4.0: */
#include "shim/mpi/api/width_none.h"
#define COUNT MPI_Count
#define DISPL MPI_Aint /* where a block begins */
#define WRAP_(name) mpi_wrap_##name##_c
#define WRAP(name) WRAP_(name) /* name may be a macro (forms.h), in all of them */
#define NATIVE_(name) native_##name##_c
#define NATIVE(name) NATIVE_(name)
#define LIBRARY_(name) mpi_library.name##_c
#define LIBRARY(name) LIBRARY_(name)
#define WIDTH wide /* of unions of vectors (vectors.h) */
