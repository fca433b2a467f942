/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When this process may make a communicator of ours. Open MPI agrees on one communicator's number
 * at a time. While the program makes one, ours would wait for it, and so for ranks that may be
 * waiting for this very call. On the same communicator the messages of both would be mixed up.
 *
 * - MPI_Comm_idup: no call tells its end, so from then on this process makes none.
 * - Another thread may be in a function that makes one (shim/preload/constructors.def). So the
 * ranks of a communicator first all meet, then tell each other whether any of them is in such a
 *   function, and then make ours. From the answer on such functions wait until ours is made. All
 *   ranks are there by then, so that needs nothing of the program's.
 *
 * Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_NUMBERING_H
#define COLLSHIM_SHIM_MPI_NUMBERING_H

#include "shim/preload/words.h"

/* Find the library's functions behind that handle of dlopen. Once, before MPI_Init. */
void numbering_open(void *libmpi);

/* May another thread make one at any time? After MPI_Init. Local. */
int numbering_is_shared(void);

/* The program has called MPI_Comm_idup. */
void numbering_hold_off(void);

/* May this process make one now? If so (1), the program's functions wait until numbering_release.
 */
int numbering_claim(void);
void numbering_release(void);

/* In place of the library's functions: their arguments are passed on as words. */
#define CONSTRUCTOR(name, n) int mpi_wrap_##name(PARAMS_##n);
#include "shim/preload/constructors.def"
#undef CONSTRUCTOR

#endif
