/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backend's knowledge of this process: whether all ranks of MPI_COMM_WORLD agreed on the
 * settings, and their agreement.
 */
#ifndef COLLSHIM_SHIM_MPI_PROCESS_H
#define COLLSHIM_SHIM_MPI_PROCESS_H

#include <stdint.h>

#include "config/topo/topo.h"
#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/mpi/api/calls.h"

struct mpi_process {
    const char *library_version; /* borrowed from the preload */
    int draft; /* the library's standard ABI is an earlier draft, where some numbers differ */
    MPI_Errhandler errors_return; /* the library's number for MPI_ERRORS_RETURN */
    enum reason verdict; /* REASON_NONE once MPI_Init has agreed; else why nothing is rerouted */
    int world_rank, world_size;
    int progresses;          /* the libraries of all ranks progress calls of ours (progress.h) */
    int cuda_aware;          /* the library takes pointers to device memory; known after MPI_Init */
    int keyval;              /* of the communicator state; MPI_KEYVAL_INVALID before MPI_Init */
    const struct topo *topo; /* from COLLSHIM_TOPOLOGY over MPI_COMM_WORLD, or NULL */
};

extern struct mpi_process mpi_process;

/* Read the settings and the choices; no MPI calls. */
void mpi_process_open(const char *library_version);

#endif
