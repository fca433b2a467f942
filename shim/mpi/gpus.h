/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' GPUs: which one a rank has, and whether the buffers of a call lie on them, which some
 * algorithms can serve better then. The first is told when a communicator is first seen; and since
 * a program may choose its GPU later than that, a few more times, in calls ever further apart. The
 * second takes a message in each call, and so is asked only where the answer matters: on
 * communicators of which every rank has a GPU and that an algorithm for device memory suits, and
 * for calls so large that a message costs nothing beside them. While the answers are no, fewer and
 * fewer calls ask.
 *
 * Thread rule: as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_GPUS_H
#define COLLSHIM_SHIM_MPI_GPUS_H

#include <mpi.h>
#include <stdint.h>

#include "config/topo.h"

struct mpi_call;
struct mpi_comm;

struct gpus {
    int everywhere;          /* every rank has one, as all know */
    uint16_t unseen;         /* large calls so far in which not every rank had one */
    uint32_t known, matters; /* a bit for each collective: has it been looked up; and then */
    uint16_t waiting;        /* calls that will not be asked about */
    uint16_t patience;       /* and as many at least after the next no */
};

/* What this rank says of its GPU in a struct topo_report: that of the calling thread's context. */
int32_t gpus_here(void);

/* Every rank has said that it has one. */
void gpus_everywhere(struct mpi_comm *c);

/* Collective over the communicator, where it is: say in call->request.memory whether the call's
   buffers lie on every rank's device. Returns an MPI code. */
int gpus_agree(struct mpi_comm *c, struct mpi_call *call);

#endif
