/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first call of each collective on a communicator is the library's. It checks the arguments as
 * it does without collshim: ranks whose sizes disagree get its error, where ours would wait for
 * each other. It needs no agreement, so a communicator that lives for one call costs nothing. And
 * the guard needs a call of the library's anyway.
 *
 * Thread rule: any; as for the collective itself, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_FIRST_H
#define COLLSHIM_SHIM_MPI_FIRST_H

#include <mpi.h>
#include <stdint.h>

#include "planners/registry.h"

/* At MPI_Init, and before the library's MPI_Finalize. Returns an MPI code. */
int first_open(void);
void first_close(void);

/* Is this the first call of the collective on the communicator? Remembers the call. Local. */
int first_call(MPI_Comm comm, enum plan_collective collective);

/*
 * Is this one of the communicator's first small calls, up to `few`? Only behind FIRST_FEW is it
 * worth it to find out how they are best served. Remembers the call. Local; the same on all ranks,
 * since sizes are.
 */
enum { FIRST_FEW = 2000 };
int first_few(MPI_Comm comm, uint32_t few);

/*
 * Is this one of the communicator's first FIRST_PATIENT calls that have little to gain? A second
 * after the first one they wait no longer, since all that meeting costs is little then. Clocks
 * differ, so the ranks ask each other, behind 8, 64 and 512 of them. Remembers the call. Collective
 * over `comm`, which passed foreign_reason(); the same on all ranks.
 */
enum { FIRST_PATIENT = 1000 };
int first_patient(MPI_Comm comm);

/*
 * A call on the communicator would have been rerouted, had its ranks met. Remembers that. Local;
 * the same on all ranks.
 */
void first_want_meeting(MPI_Comm comm);

/* Is that so, and was it not asked before? first_wanted: look only where this is not 0. */
extern int first_wanted;
int first_meeting_is_wanted(MPI_Comm comm);

#endif
