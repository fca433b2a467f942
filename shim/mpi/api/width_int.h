/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for the functions whose counts are ints: */
#include "shim/mpi/api/width_none.h"
#define COUNT int
#define DISPL int /* where a block begins */
#define WRAP_(name) mpi_wrap_##name
#define WRAP(name) WRAP_(name) /* name may be a macro (forms.h), in all of them */
#define NATIVE_(name) native_##name
#define NATIVE(name) NATIVE_(name)
#define LIBRARY(name) mpi_library.name
#define WIDTH narrow /* of unions of vectors (vectors.h) */
