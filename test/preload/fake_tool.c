/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMPI tool for fake_mpi.c: counts Allgather, and wraps other functions without need. */
#include <stdint.h>
#include <stdio.h>

typedef uintptr_t word;

int MPI_Allgather(word, word, word, word, word, word, word);
int PMPI_Allgather(word, word, word, word, word, word, word);
int MPI_Get_library_version(char *, int *);
int PMPI_Get_library_version(char *, int *);

static int calls_allgather;

int MPI_Allgather(word a, word b, word c, word d, word e, word f, word g)
{
    calls_allgather++;
    return PMPI_Allgather(a, b, c, d, e, f, g);
}

int MPI_Get_library_version(char *text, int *length)
{
    return PMPI_Get_library_version(text, length);
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "tool: Allgather=%d\n", calls_allgather);
}
