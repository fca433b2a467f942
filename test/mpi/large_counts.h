/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of MPI 4.0 with large counts, for an mpi.h that has none: weak, as programs ask
 * for them that serve any library. Under the preload they are there.
 */
#ifndef COLLSHIM_TEST_MPI_LARGE_COUNTS_H
#define COLLSHIM_TEST_MPI_LARGE_COUNTS_H

#include <mpi.h>

#if MPI_VERSION >= 4
static inline int large_counts(void)
{
    return 1;
}
#else
#define COLLECTIVE(name, parameters, arguments)                                                    \
    extern int MPI_##name##_c parameters __attribute__((weak));
#define PERSISTENT(name, parameters, arguments)
#define COUNT MPI_Count
#define DISPL MPI_Aint
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

static inline int large_counts(void)
{
    return MPI_Allreduce_c != NULL;
}
#endif

#endif
