/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the backend knows about this process: the settings, whether all ranks of
 * MPI_COMM_WORLD agreed on them, and what has been counted.
 */
#ifndef COLLSHIM_SHIM_MPI_PROCESS_H
#define COLLSHIM_SHIM_MPI_PROCESS_H

#include <stdint.h>

#include "config/settings.h"
#include "config/topo.h"
#include "planners/registry.h"
#include "planners/tuning.h"
#include "planners/wanted.h"
#include "shim/mpi/calls.h"

enum reason {
#define REASON(id, text) REASON_##id,
#include "shim/mpi/reasons.def"
#undef REASON
    REASON_COUNT
};

struct mpi_process {
    struct cfg cfg;              /* const after mpi_process_open */
    const char *library_version; /* borrowed from the preload */
    struct choice choice[COLL_COUNT];
    struct tuning tuning; /* from COLLSHIM_PROFILE */
    enum reason verdict;  /* REASON_NONE once MPI_Init has agreed; else why nothing is rerouted */
    int world_rank, world_size;
    int cuda_aware;          /* the library takes pointers to device memory; known after MPI_Init */
    int keyval;              /* of the communicator state; MPI_KEYVAL_INVALID before MPI_Init */
    const struct topo *topo; /* from COLLSHIM_TOPOLOGY over MPI_COMM_WORLD, or NULL */
};

extern struct mpi_process mpi_process;

/* Read the settings and the choices; no MPI calls. */
void mpi_process_open(const char *library_version);

/*
 * One line on stderr, "collshim: ...", if the level is wanted. Other ranks than 0 keep quiet
 * about what all ranks see alike: they say it at level debug.
 */
__attribute__((format(printf, 2, 3))) void say(enum cfg_level level, const char *format, ...);
/* The same from whichever rank it is, for what only this rank sees. */
__attribute__((format(printf, 2, 3))) void say_here(enum cfg_level level, const char *format, ...);

#endif
