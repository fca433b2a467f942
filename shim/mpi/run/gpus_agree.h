/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the buffers of a call lie on the ranks' GPUs? Some algorithms serve such calls better. A
 * program may choose its GPU after a communicator was first seen. So ranks tell their GPUs a few
 * more times, in calls ever further apart. The question takes a message in each call. It is
 * asked only if every rank of the communicator has a GPU, an algorithm for device memory suits,
 * and the call is so large that the message costs nothing beside it. While the answers are no,
 * fewer and fewer calls ask.
 *
 * Thread rule: as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_GPUS_AGREE_H
#define COLLSHIM_SHIM_MPI_GPUS_AGREE_H

#include "shim/mpi/call/call.h"

struct mpi_comm;

/* Collective over the communicator, where it is: say in call->request.memory whether the call's
   buffers lie on every rank's device. Returns an MPI code. */
int gpus_agree(struct mpi_comm *c, struct mpi_call *call);

#endif
