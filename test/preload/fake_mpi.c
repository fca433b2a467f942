/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tiny "MPI" that shows what a real one cannot: families that are not installed, absent
 * symbols, and whether every bit of every argument arrives. A call returns 0 if argument i
 * (from 1) is i in each of its 16 hexadecimal digits, else 99. Built in variants:
 *   -DFAMILY_OPENMPI, -DFAMILY_MPICH, -DFAMILY_ABI=MAJOR   what it looks like; default: unknown
 *   -DVERSION='"text"'   has PMPI_Get_library_version
 *   -DFEW                no Allgatherv, no Alltoallw
 *   -DNO_PMPI            no profiling names
 *   -DPMPI_ALONE         no others: with -DNO_PMPI in another object, a library of two
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uintptr_t word;

#ifdef NO_PMPI
#define NAME(x) MPI_##x
#define BOTH(x)
#else
#define NAME(x) PMPI_##x
#ifdef PMPI_ALONE
#define BOTH(x)
#else
#define BOTH(x) extern __typeof__(PMPI_##x) MPI_##x __attribute__((weak, alias("PMPI_" #x)));
#endif
#endif

#ifdef FAMILY_OPENMPI
extern int ompi_mpi_comm_world;
int ompi_mpi_comm_world;
#endif
#ifdef FAMILY_MPICH
int MPIR_Dup_fn(void);
int MPIR_Dup_fn(void)
{
    return 0;
}
#endif
#ifdef FAMILY_ABI
int PMPI_Abi_get_version(int *major, int *minor);
int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = FAMILY_ABI;
    *minor = 0;
    return 0;
}
#endif
#ifdef VERSION
int NAME(Get_library_version)(char *, int *);
int NAME(Get_library_version)(char *text, int *length)
{
    strcpy(text, VERSION);
    *length = (int)strlen(text);
    return 0;
}
BOTH(Get_library_version)
#endif

static int verdict(const word *args, int n)
{
    for (int i = 0; i < n; i++)
        if (args[i] != (word)0x1111111111111111 * (word)(i + 1))
            return 99;
    return 0;
}

int NAME(Init)(word, word);
int NAME(Init)(word argc, word argv)
{
    (void)argc;
    (void)argv;
    return 0;
}
BOTH(Init)

int NAME(Allgather)(word, word, word, word, word, word, word);
int NAME(Allgather)(word a, word b, word c, word d, word e, word f, word g)
{
    return verdict((word[]){a, b, c, d, e, f, g}, 7);
}
BOTH(Allgather)

#ifndef FEW
int NAME(Allgatherv)(word, word, word, word, word, word, word, word);
int NAME(Allgatherv)(word a, word b, word c, word d, word e, word f, word g, word h)
{
    return verdict((word[]){a, b, c, d, e, f, g, h}, 8);
}
BOTH(Allgatherv)

int NAME(Alltoallw)(word, word, word, word, word, word, word, word, word);
int NAME(Alltoallw)(word a, word b, word c, word d, word e, word f, word g, word h, word i)
{
    return verdict((word[]){a, b, c, d, e, f, g, h, i}, 9);
}
BOTH(Alltoallw)
#endif
