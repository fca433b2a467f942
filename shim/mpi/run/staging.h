/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packed buffers of one rerouted call: the application's own where they are packed already, in
 * host memory or all on one device. A nonblocking call works in host memory: it advances wherever
 * the application is in MPI, and the context current there is any.
 */
#ifndef COLLSHIM_SHIM_MPI_STAGING_H
#define COLLSHIM_SHIM_MPI_STAGING_H

#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"
#include "transports/cuda/cuda_memory.h"

struct staging {
    char *input, *output, *scratch, *host;
    char *allocated[4];    /* owned: those of the four that are host memory of the call's own */
    int own_output;        /* output is not the application's */
    struct device *device; /* NULL: all is host memory */
    struct cuda_gpu *gpu;  /* borrowed from the communicator; whose device that is */
    struct cuda_place place;
};

/*
 * Get the buffers and fill in this rank's contribution. own_output: do not use the application's.
 * plan NULL: the call is cut in slices, whose plans have their own room. Returns 0, or a negative
 * code or MPI's, with which the call then runs, and fails (engine.h). staging_close in any case.
 */
int staging_open(struct staging *s, struct mpi_comm *c, const struct mpi_call *call,
                 const struct plan *plan, int own_output);
void staging_close(struct staging *s);

/* The buffers of calls that are to come, in host memory; nothing is read. The same results;
   staging_again fills them in. */
int staging_reserve(struct staging *s, const struct mpi_call *call, const struct plan *plan);

/* The same buffers for one more call like it: fill in this rank's contribution. They lie in
   host memory. Returns an MPI code. */
int staging_again(struct staging *s, const struct mpi_call *call, MPI_Comm comm);

/* Would the call stay on this rank's device? Its memory and kernels there are made ready. */
int staging_stays(struct mpi_comm *c, const struct mpi_call *call);

/* Hand the result to the application, if it has not got it. Returns an MPI code. */
int staging_deliver(const struct staging *s, const struct mpi_call *call, MPI_Comm comm);

/* Are the application's output and the staged one equal? Returns 1 or 0; -1 if that cannot be said.
 */
int staging_verify(const struct staging *s, const struct mpi_call *call, const struct mpi_comm *c);

/* As engine_run, in the program's floating-point mode: it combines. */
int staging_run(struct engine *e, const struct engine_buffers *buffers);

#endif
