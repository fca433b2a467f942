/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI library's own functions, past any preload: by dlsym on the object that holds a function
 * which no library intercepts.
 */
#ifndef COLLSHIM_TEST_MPI_NATIVE_H
#define COLLSHIM_TEST_MPI_NATIVE_H

#define _GNU_SOURCE /* dladdr; so this header comes first */
#include <dlfcn.h>

#include "test/mpi/harness.h"

static int (*native_allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                               MPI_Comm);
static int (*native_allgatherv)(const void *, int, MPI_Datatype, void *, const int *, const int *,
                                MPI_Datatype, MPI_Comm);

static void *native_object; /* the library, as dlopen has it */

static UNUSED void *native_symbol(const char *name)
{
    return dlsym(native_object, name);
}

static void native_open(void)
{
    void *from = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
    Dl_info where;

    if (from && dladdr(from, &where))
        native_object = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (native_object) {
        *(void **)&native_allgather = dlsym(native_object, "PMPI_Allgather");
        *(void **)&native_allgatherv = dlsym(native_object, "PMPI_Allgatherv");
    }
    if (!native_allgather || !native_allgatherv) {
        fprintf(stderr, "%s: cannot find the MPI library's own functions\n", test_name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

#endif
