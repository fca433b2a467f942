/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of what is included next, for the functions whose counts are ints: */
#include "shim/mpi/api/width_none.h"
#define COUNT int
#define DISPL int /* where a block begins */
#define NAMED(name) name
#define WIDTH narrow /* of unions of vectors (vectors.h) */
