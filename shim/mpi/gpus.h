/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' GPUs: which one a rank has, and whether the buffers of a call lie on them. Some
 * algorithms serve such calls better. Ranks tell their GPUs when a communicator is first seen. A
 * program may choose its GPU later, so they tell them a few more times, in calls ever further
 * apart. The second question takes a message in each call. It is asked only if every rank of the
 * communicator has a GPU, an algorithm for device memory suits, and the call is so large that the
 * message costs nothing beside it. While the answers are no, fewer and fewer calls ask.
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

/* This rank's GPU in a struct topo_report: that of the calling thread's context. */
int32_t gpus_here(void);

/* Every rank has said that it has one. */
void gpus_everywhere(struct mpi_comm *c);

/* Collective over the communicator, where it is: say in call->request.memory whether the call's
   buffers lie on every rank's device. Returns an MPI code. */
int gpus_agree(struct mpi_comm *c, struct mpi_call *call);

#endif
