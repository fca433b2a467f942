/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' GPUs: which one a rank has. Ranks tell them when a communicator is first seen, and a
 * few times later (gpus_agree.h).
 *
 * Thread rule: as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_GPUS_H
#define COLLSHIM_SHIM_MPI_GPUS_H

#include <mpi.h>
#include <stdint.h>

#include "config/topo/topo.h"

struct gpus {
    int everywhere;          /* every rank has one, as all know */
    uint16_t unseen;         /* large calls so far in which not every rank had one */
    uint32_t known, matters; /* a bit for each collective: has it been looked up; and then */
    uint16_t waiting;        /* calls that will not be asked about */
    uint16_t patience;       /* and as many at least after the next no */
};

/* This rank's GPU in a struct topo_report: that of the calling thread's context. */
int32_t gpus_here(void);

/* The same of the device with that address on its bus; negative: none. */
int32_t gpus_number(int64_t address);

/* Every rank has said that it has one. */
void gpus_everywhere(struct gpus *g, int nranks);

#endif
