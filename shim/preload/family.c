/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which family an MPI library is of, that is, which mpi.h its callers were compiled against.
 *
 * Symbols first, because they are what the ABI consists of; the version's first line for
 * libraries that hide theirs. Only the first line: a wrapper such as MPItrampoline has an ABI of
 * its own and names the MPI it wraps further down. The soname says too little.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <string.h>

/* The longest MPI_MAX_LIBRARY_VERSION_STRING in use (MPICH, the standard ABI). */
#define VERSION_MAX 8192

/*
 * A library may have the call and not implement the ABI; it then answers -1. May be called
 * before MPI_Init.
 */
static bool abi_in_force(void *function)
{
    int (*abi_get_version)(int *, int *) = (int (*)(int *, int *))function;
    int major = -1;
    int minor = -1;
    return abi_get_version(&major, &minor) == 0 && major >= 1;
}

/* First match wins; the standard ABI first, because it can be a thin layer over another row's. */
static const struct family families[] = {
    {.name = "abi", .symbol = "PMPI_Abi_get_version", .confirm = abi_in_force, .err_other = 16},
    {.name = "openmpi", .symbol = "ompi_mpi_comm_world", .words = {"Open MPI"}, .err_other = 16},
    {.name = "mpich",
     .symbol = "MPIR_Dup_fn", /* the number of MPI_DUP_FN in its mpi.h */
     .words = {"MPICH", "MVAPICH", "Intel(R) MPI"},
     .err_other = 15},
};

static void version_first_line(void *libmpi, char *version, size_t size)
{
    static char text[VERSION_MAX + 1]; /* binding lock held; too large for a thread's stack */
    version[0] = '\0';
    int (*get)(char *, int *) = (int (*)(char *, int *))dlsym(libmpi, "PMPI_Get_library_version");
    int length = 0;
    if (!get || get(text, &length) != 0)
        return;
    size_t n = strcspn(text, "\n");
    if (n >= size)
        n = size - 1;
    for (size_t i = 0; i < n; i++)
        version[i] = text[i] == '\t' ? ' ' : text[i];
    version[n] = '\0';
}

static bool is_member(const struct family *family, void *libmpi, const char *version)
{
    void *symbol = dlsym(libmpi, family->symbol);
    if (symbol && (!family->confirm || family->confirm(symbol)))
        return true;
    size_t most = sizeof(family->words) / sizeof(*family->words);
    for (size_t i = 0; i < most && family->words[i]; i++)
        if (strstr(version, family->words[i]))
            return true;
    return false;
}

const struct family *family_find(void *libmpi, char *version, size_t size)
{
    version_first_line(libmpi, version, size);
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (is_member(&families[i], libmpi, version))
            return &families[i];
    return NULL;
}
