/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting and moving (shim/record/waits/): clocks are compared while all ranks are in MPI_Init and
 * again for the report, when the samples of all ranks are put together too.
 *
 * Along a binomial tree each rank asks its parent for the time, if that runs on another host: as
 * ReproMPI does, a few times, and the fastest answer counts.
 */
#ifndef COLLSHIM_SHIM_MPI_WAITS_H
#define COLLSHIM_SHIM_MPI_WAITS_H

#include <mpi.h>
#include <stdint.h>

/* Collective over MPI_COMM_WORLD, at the end of MPI_Init. now: nanoseconds, as of site_count. */
void waits_open(uint64_t now);

/* Collective over comm, which has the ranks of MPI_COMM_WORLD: each rank's rows of call sites get
   its waiting, and rank 0's waits_found (waits_report.h) what it is to tell. After waits_open. */
void waits_gather(MPI_Comm comm);

#endif
