/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that a thread is freeing. The library calls the program's delete callbacks then,
 * and these may make collective calls on that communicator. Nothing of ours may set or read its
 * attributes: MPICH walks a list whose members are freed, and Open MPI never deletes one that is
 * set there, so that a later communicator at the same address would have it. So such calls are the
 * library's, on all ranks alike, and have no state.
 *
 * Thread rule: any thread; each sees its own.
 */
#ifndef COLLSHIM_SHIM_MPI_FREEING_H
#define COLLSHIM_SHIM_MPI_FREEING_H

#include <mpi.h>

/* Around the library's function. They nest: a callback may free another communicator. Callbacks may
   jump out, so an end may be missing. frame: the caller's __builtin_frame_address(0). */
void freeing_begin(MPI_Comm comm, const char *frame);
void freeing_end(const char *frame);

/* Is this thread in between? Local; one load where no thread is. */
int freeing_is(MPI_Comm comm);

#endif
