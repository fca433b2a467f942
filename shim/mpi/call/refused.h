/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults that the library finds in one rank's own arguments. Such a call goes to the library before
 * any message of ours and before anything is counted: the library returns the error without a
 * message, and the other ranks may be in another call, or in none.
 *
 * Two kinds of faults. A negative count, a missing address or a root that does not exist is the
 * library's on the rank that has it: a library that does not look fails on it. Buffers that
 * coincide and types that are not committed often work if the library does not check. A rank may
 * not leave the others for those, unless the library refuses them. So the library is asked once per
 * function and fault, on a communicator of this process alone, with data of no bytes.
 *
 * Thread rule: any thread. No function here sends a message.
 */
#ifndef COLLSHIM_SHIM_MPI_REFUSED_H
#define COLLSHIM_SHIM_MPI_REFUSED_H

#include <mpi.h>

#include "planners/choose/registry.h"
#include "shim/mpi/api/vectors.h"

/* Which function: an enum plan_collective, or this, since Alltoallw is counted as Alltoallv. */
enum { REFUSED_ALLTOALLW = COLL_COUNT, REFUSED_FUNCTIONS };

/* The one buffer of Bcast is sent. */
enum refused_side { REFUSED_SEND, REFUSED_RECEIVE };

/* At MPI_Init and MPI_Finalize. Without refused_open, coinciding buffers and types that are not
   committed are never found to be refused. */
void refused_open(void);
void refused_close(void);

/* Each returns 1 if the library refuses the call for this, or fails on it; else 0. */

/* A type that does not exist, or is not committed. */
int refused_type(int function, enum refused_side side, MPI_Datatype type);

/* A buffer that is not MPI_IN_PLACE by right: so many elements, in one block. */
int refused_block(int function, enum refused_side side, const void *buffer, MPI_Count count,
                  MPI_Datatype type);

/* The same in n blocks, of one type (types NULL) or of a type each. Vectors that hold nothing to
   read may be missing: counts where n is 0, displacements and types where all counts are. */
int refused_blocks(int function, enum refused_side side, const void *buffer, struct counts counts,
                   struct displs displs, int n, MPI_Datatype type, const MPI_Datatype *types);

/*
 * Buffers that coincide. This rank's data for itself is at `own`, and would be received `displ`
 * elements behind `all`, or the other way round; count elements of one type. displ is 0 if the two
 * are compared as they are.
 */
int refused_alias(int function, const void *own, const void *all, MPI_Count displ, MPI_Count count,
                  MPI_Datatype type);

#endif
