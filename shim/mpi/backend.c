/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the preload sees of a backend: one function, which names the functions that are
 * replaced. With COLLSHIM_MODE=off that is MPI_Init alone, where the other ranks may be
 * waiting to hear that this one is off; every other call goes to the library directly.
 */
#include "shim/preload/backend.h"

#include <dlfcn.h>
#include <stdio.h>

#include "shim/mpi/process.h"
#include "shim/mpi/wrappers.h"

/* `collshim info` finds this text in the file, without loading it. */
#if defined(OMPI_MAJOR_VERSION)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define BUILT_FOR                                                                                  \
    "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION)
#define BUILT_FOR "MPICH " MPICH_VERSION
#else
#define BUILT_FOR COLLSHIM_FAMILY
#endif
__attribute__((used)) static const char built_for[] = "@(#)collshim backend for " BUILT_FOR;

#define ENTRY(name)                                                                                \
    {                                                                                              \
#name, (void *)wrap_##name                                                                 \
    }

/* Those that the library lacks are taken out when the backend opens. */
static struct backend_entry entries[] = {
    ENTRY(Init),
    ENTRY(Init_thread),
    ENTRY(Finalize),
    ENTRY(Allgather),
    ENTRY(Allgatherv),
    ENTRY(Allreduce),
    ENTRY(Reduce),
    ENTRY(Reduce_scatter),
    ENTRY(Reduce_scatter_block),
    ENTRY(Bcast),
    ENTRY(Gather),
    ENTRY(Gatherv),
    ENTRY(Scatter),
    ENTRY(Scatterv),
    ENTRY(Alltoall),
    ENTRY(Allgather_c),
    ENTRY(Allgatherv_c),
    ENTRY(Allreduce_c),
    ENTRY(Reduce_c),
    ENTRY(Reduce_scatter_c),
    ENTRY(Reduce_scatter_block_c),
    ENTRY(Bcast_c),
    ENTRY(Gather_c),
    ENTRY(Gatherv_c),
    ENTRY(Scatter_c),
    ENTRY(Scatterv_c),
    ENTRY(Alltoall_c),
    ENTRY(Alltoallv),
    ENTRY(Alltoallw),
    ENTRY(Alltoallv_c),
    ENTRY(Alltoallw_c),
    {NULL, NULL},
};

static void leave_out_what_is_absent(void *libmpi)
{
    struct backend_entry *kept = entries;
    char symbol[64];

    for (const struct backend_entry *e = entries; e->name; e++) {
        snprintf(symbol, sizeof symbol, "PMPI_%s", e->name);
        if (dlsym(libmpi, symbol))
            *kept++ = *e;
    }
    *kept = (struct backend_entry){0};
}

static const struct backend_entry entries_off[] = {
    ENTRY(Init),
    ENTRY(Init_thread),
    {NULL, NULL},
};

__attribute__((visibility("default"))) const struct backend_entry *
collshim_backend_open(const struct backend_host *host, char *why, unsigned size)
{
    if (host->abi != BACKEND_ABI) {
        snprintf(why, size, "the backend speaks version %d of the preload's interface, not %d",
                 BACKEND_ABI, host->abi);
        return NULL;
    }
    const char *missing = mpi_calls_open(host->library);
    if (missing) {
        snprintf(why, size, "%s has no %s", host->library_path, missing);
        return NULL;
    }
    leave_out_what_is_absent(host->library);
    process_open(host->library_version);
    return process.cfg.mode == CFG_MODE_OFF ? entries_off : entries;
}
