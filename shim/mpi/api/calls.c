/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/calls.h"

#include <dlfcn.h>
#include <string.h>

struct mpi_calls mpi;

static const struct {
    const char *name;
    const char *symbol;
    size_t place;
    int optional;
} rows[] = {
#define CALL(name, arguments) {#name, "PMPI_" #name, offsetof(struct mpi_calls, name), 0},
#define OPTIONAL(name, arguments) {#name, "PMPI_" #name, offsetof(struct mpi_calls, name), 1},
#define EXTENSION(name, arguments) {#name, "PMPI" #name, offsetof(struct mpi_calls, name), 1},
#define COLLECTIVE(name, parameters, arguments) CALL(name, ) OPTIONAL(name##_c, )
#define PERSISTENT(name, parameters, arguments) OPTIONAL(name, ) OPTIONAL(name##_c, )
#include "shim/mpi/api/calls.def"
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#undef OPTIONAL
#undef EXTENSION
#undef CALL
};

static int (*query_cuda)(void); /* of libraries that can tell */

int mpi_takes_device_memory(void)
{
    return query_cuda && query_cuda();
}

const char *mpi_calls_open(void *libmpi)
{
    void *query = dlsym(libmpi, "MPIX_Query_cuda_support");

    memcpy(&query_cuda, &query, sizeof query);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *function = dlsym(libmpi, rows[i].symbol);

        if (!function && !rows[i].optional)
            return rows[i].symbol;
        memcpy((char *)&mpi + rows[i].place, &function, sizeof function);
    }
    return NULL;
}
