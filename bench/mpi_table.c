/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the MPI library by looking through the loaded objects for the one that itself owns
 * PMPI_Init. RTLD_NEXT was rejected: it starts from this executable and ends at a preload, which
 * exports PMPI_X as well. With it the "native" column would time the shim against itself, and
 * every ratio would read 1.
 */
#define _GNU_SOURCE
#include "mpi_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* A preload may define PMPI_Init, but has no reason to define all of these. */
static const char *const only_in_the_library[] = {
    "PMPI_Init",
    "PMPI_Get_processor_name",
    "PMPI_Type_size",
    "PMPI_Pack_size",
};

static int owns(void *handle, const struct dl_phdr_info *object, const char *symbol)
{
    Dl_info where;
    void *address = dlsym(handle, symbol);

    return address && dladdr(address, &where) && strcmp(where.dli_fname, object->dlpi_name) == 0;
}

static int take_library(struct dl_phdr_info *object, size_t size, void *handle_p)
{
    size_t n = sizeof(only_in_the_library) / sizeof(only_in_the_library[0]);

    (void)size;
    if (!object->dlpi_name || !object->dlpi_name[0])
        return 0;
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (!owns(handle, object, only_in_the_library[i])) {
            dlclose(handle);
            return 0;
        }
    }
    *(void **)handle_p = handle;
    return 1;
}

void *bench_mpi_library(void)
{
    static void *handle; /* stays open: its functions are in use until the process ends */

    if (!handle)
        dl_iterate_phdr(take_library, &handle);
    return handle;
}

int bench_mpi_native(struct bench_mpi *native, char *why, size_t why_len)
{
    void *handle = bench_mpi_library();

    if (!handle) {
        snprintf(why, why_len, "no loaded object owns PMPI_Init; is MPI linked statically?");
        return -ENOENT;
    }
#define X(name)                                                                                    \
    native->name = (__typeof__(native->name))dlsym(handle, "PMPI_" #name);                         \
    if (!native->name) {                                                                           \
        snprintf(why, why_len, "the MPI library has no PMPI_%s", #name);                           \
        return -ENOENT;                                                                            \
    }
    BENCH_MPI_FUNCTIONS(X)
#undef X
    return 0;
}

void bench_mpi_application(struct bench_mpi *app)
{
#define X(name) app->name = MPI_##name;
    BENCH_MPI_FUNCTIONS(X)
#undef X
}

const char *bench_mpi_preload(const struct bench_mpi *app, const struct bench_mpi *native)
{
    Dl_info a, n;

    if (!dladdr((void *)app->Allgather, &a) || !dladdr((void *)native->Allgather, &n))
        return NULL;
    return strcmp(a.dli_fname, n.dli_fname) ? a.dli_fname : NULL;
}
