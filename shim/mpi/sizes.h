/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gatherv and Scatterv: only the root knows all sizes, so the ranks must talk before they can tell
 * whether a call is worth a reroute. That costs one small reduction, which small calls would feel.
 * So each communicator remembers, per collective, whether it has been worth it: after calls that
 * ran natively all the same, the next 4, 64, 256, then 1024 calls run natively unasked; and then
 * the root first tells its total, a broadcast that nobody else is waited for in, and all are asked
 * only if that is large. What is remembered follows from agreed values and the number of calls, so
 * it is the same on all ranks.
 */
#ifndef COLLSHIM_SHIM_MPI_SIZES_H
#define COLLSHIM_SHIM_MPI_SIZES_H

#include <mpi.h>
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/vectors.h"

/* What a rank knows of the call. */
struct sizes_claim {
    int root;
    int wrong;      /* its arguments are for the library to judge */
    uint64_t own;   /* bytes it sends or receives */
    uint64_t total; /* the root: bytes of all blocks; others: 0 */
};

/* At MPI_Init and MPI_Finalize. Returns an MPI code. */
int sizes_open(void);
void sizes_close(void);

/*
 * Is this one of the calls that run natively unasked? The same on all ranks. Counts it. It comes
 * before all gates, which have let pass whatever communicator there is anything to remember of.
 */
int sizes_wait(MPI_Comm comm, enum plan_collective c);

/*
 * Are the ranks to agree on this call? REASON_NONE, or why it runs natively unasked: the same on
 * all ranks. comm has n ranks, passed mpi_gate_call, and does not wait.
 */
enum reason sizes_ask(MPI_Comm comm, int n);

/*
 * Collective over comm, after sizes_ask found no reason. Returns REASON_NONE and the total, or why
 * the call runs natively: the same on all ranks.
 */
enum reason sizes_agree(MPI_Comm comm, int n, enum plan_collective c,
                        const struct sizes_claim *claim, uint64_t *total);

/*
 * Fill in c->bytes and c->offset everywhere from the root's counts (elsewhere: unread). Collective.
 * Returns an MPI code, raised on comm already.
 */
int sizes_share(struct mpi_comm *c, MPI_Comm comm, int root, struct counts counts,
                MPI_Datatype type);

/* The call that was agreed on ran natively, and others like it will. */
void sizes_were_vain(MPI_Comm comm, enum plan_collective c);

#endif
