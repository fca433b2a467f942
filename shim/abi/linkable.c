/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmpi_abi.so.1 for the linker alone: the names of functions.def, so that benches and tests link
 * on a machine without such a library. The program then runs with the library that LD_LIBRARY_PATH
 * names. Never installed.
 */
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

__attribute__((noreturn)) static void absent(const char *name)
{
    fprintf(stderr,
            "%s: this libmpi_abi.so.1 is for linking; set LD_LIBRARY_PATH to the folder of an MPI"
            " library's\n",
            name);
    exit(1);
}

#define DEFINE(result, name)                                                                       \
    EXPORT result name(void);                                                                      \
    result name(void)                                                                              \
    {                                                                                              \
        absent(#name);                                                                             \
    }
#define FUNCTION(name, parameters) DEFINE(int, MPI_##name) DEFINE(int, PMPI_##name)
#include "shim/abi/functions.def"
DEFINE(double, MPI_Wtime)
DEFINE(double, PMPI_Wtime)
