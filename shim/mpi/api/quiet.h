/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions of ours on the program's communicator: their errors are returned to us, and the
 * program's error handler does not run. It may jump out, end the job, or make calls that other
 * ranks are not in. The program's own call follows, and raises what is wrong.
 *
 * Thread rule: the communicator's. Another thread's error there, meanwhile, is returned too.
 */
#ifndef COLLSHIM_SHIM_MPI_QUIET_H
#define COLLSHIM_SHIM_MPI_QUIET_H

#include <mpi.h>

struct quiet {
    MPI_Comm comm;
    MPI_Errhandler handler; /* owned in between */
    int on;
};

void quiet_begin(struct quiet *q, MPI_Comm comm);
void quiet_end(struct quiet *q);

#endif
