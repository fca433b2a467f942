/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistent collectives of MPI 4.0, for an mpi.h that has none: weak, as programs ask for them
 * that serve any library. Under the preload they are there.
 */
#ifndef COLLSHIM_TEST_MPI_PERSISTENT_CALLS_H
#define COLLSHIM_TEST_MPI_PERSISTENT_CALLS_H

#include <mpi.h>

#if MPI_VERSION < 4
#define COLLECTIVE(name, parameters, arguments)
#define PERSISTENT(name, parameters, arguments)                                                    \
    extern int MPI_##name parameters __attribute__((weak));
#define COUNT int
#define DISPL int
#include "shim/preload/collectives.def"
#undef COUNT
#undef DISPL
#define PERSISTENT(name, parameters, arguments)                                                    \
    extern int MPI_##name##_c parameters __attribute__((weak));
#define COUNT MPI_Count
#define DISPL MPI_Aint
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

static inline int persistent_calls(void)
{
    return MPI_Allreduce_init != NULL;
}

static inline int persistent_large_counts(void)
{
    return MPI_Allreduce_init_c != NULL;
}
#else
static inline int persistent_calls(void)
{
    return 1;
}

static inline int persistent_large_counts(void)
{
    return 1;
}
#endif

#endif
