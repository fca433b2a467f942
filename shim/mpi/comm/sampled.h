/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which series of samples (shim/record/waits/sample.h) a communicator's calls belong to. All its
 * ranks give it the same number without a message. It is made of the ranks of its group and of how
 * many communicators of that group there were before. A duplicate's is made of its original's
 * number and of how many duplicates that had. So duplicates used by two threads in any order are
 * told apart.
 *
 * Thread rule: any thread; one at a time for each communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_SAMPLED_H
#define COLLSHIM_SHIM_MPI_SAMPLED_H

#include <mpi.h>
#include <stdint.h>

/* From now on calls are sampled. now: nanoseconds, as of site_count. */
void sampled_open(uint64_t now);

/* Is the next call of that collective kept, if it ends well? */
int sampled_keeps_next(MPI_Comm comm, unsigned collective);

/* The call that site_now describes and site_count has counted ended now. root: -1 without one. A
   communicator with ranks of another MPI_COMM_WORLD, and an intercommunicator, are not sampled. */
void sampled_call(MPI_Comm comm, int root, uint64_t now);

/* It failed: this rank's numbers may differ from now on, so it keeps none. */
void sampled_failed(MPI_Comm comm);

#endif
