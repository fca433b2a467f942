/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A generalized request, which the library completes as it does all of its requests: every form of
 * waiting and testing works on it, from C, Fortran and Python.
 *
 * MPI forbids to free or to cancel the request of a nonblocking collective while it is active. The
 * libraries' own survive the former, and so does this one.
 */
#ifndef COLLSHIM_SHIM_MPI_GREQUEST_H
#define COLLSHIM_SHIM_MPI_GREQUEST_H

#include <mpi.h>

struct grequest;

/* *request is active. Returns an MPI code, on an error nothing is changed. */
int grequest_open(struct grequest **g_p, MPI_Request *request);

/* The start has failed: take it back. g and the request are gone then. */
void grequest_drop(struct grequest *g);

/* Complete it, with an MPI code. g is gone then. Once; from any thread, also inside MPI. */
void grequest_complete(struct grequest *g, int code);

#endif
