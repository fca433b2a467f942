/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gatherv and Scatterv: only the root knows all sizes, so the ranks must exchange messages to
 * decide whether a call is worth a reroute. That costs one small reduction, which slows small
 * calls. So each communicator remembers, per collective, whether it was worth it. After calls that
 * ran natively all the same, the next 4, 64, 256, then 1024 calls run natively without a question.
 * Then the root first tells its total, in a broadcast that waits for no other rank. All ranks are
 * asked only if the total is large. The memory follows from agreed values and the number of calls,
 * so it is the same on all ranks.
 */
#ifndef COLLSHIM_SHIM_MPI_SIZES_H
#define COLLSHIM_SHIM_MPI_SIZES_H

#include <mpi.h>
#include <stdint.h>

#include "shim/mpi/api/vectors.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"

/* This rank's knowledge of the call. */
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
 * Is this one of the calls that run natively without a question? The same on all ranks. Counts it.
 * It comes before all gates, which have passed every communicator that has such a memory.
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

/* The same of a call that is planned once. All ranks are asked, and nothing is remembered. */
enum reason sizes_agree_once(MPI_Comm comm, int n, const struct sizes_claim *claim,
                             uint64_t *total);

/*
 * Fill in every block's bytes and offset, [size] each, everywhere from the root's counts
 * (elsewhere: unread). Collective. Returns an MPI code, which no error handler has heard of.
 */
int sizes_share(struct mpi_comm *c, int root, struct counts counts, MPI_Datatype type,
                size_t *bytes, uint64_t *offset);

/* Behind sizes_agree: for how many calls does the question stand, besides? The same on all ranks.
 */
uint32_t sizes_passed(MPI_Comm comm, enum plan_collective c);

/* The call that was agreed on ran natively, and others like it will. */
void sizes_were_vain(MPI_Comm comm, enum plan_collective c);

#endif
