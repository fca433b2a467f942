/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's own functions, by dlsym on the libmpi that the application uses. The backend calls
 * MPI through this table only. A plain MPI_X here would come back to the preload. A profiling tool
 * would count our own traffic as the application's.
 */
#ifndef COLLSHIM_SHIM_MPI_CALLS_H
#define COLLSHIM_SHIM_MPI_CALLS_H

#include <mpi.h>
#include <stddef.h>

#if MPI_VERSION < 4
typedef struct mpi_session *MPI_Session; /* no library of that version has one */
#endif

struct mpi_calls {
#define CALL(name, arguments) int(*name) arguments;
#define OPTIONAL CALL
#define EXTENSION CALL
#include "shim/mpi/api/calls.def"
#undef EXTENSION
#undef OPTIONAL
#undef CALL

#define COLLECTIVE(name, parameters, arguments) int(*name) parameters;
#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"
#undef COLLECTIVE

/* From MPI 4.0; large_by_int.c's if the library has none. */
#define COLLECTIVE(name, parameters, arguments) int(*name##_c) parameters;
#include "shim/mpi/api/width_large.h"
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#include "shim/mpi/api/width_none.h"
};

extern struct mpi_calls mpi;         /* filled once, before anything else of the backend runs */
extern struct mpi_calls mpi_library; /* the same without a change of mode (floats.h) */

/* Does the library take pointers to device memory? After MPI_Init. */
int mpi_takes_device_memory(void);

/* Fill the table from a dlopen handle. Returns NULL, or the name of a function that is missing. */
const char *mpi_calls_open(void *libmpi);

#endif
