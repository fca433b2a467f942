/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a call be rerouted at all? The answer comes before any byte moves, and is the same on all
 * ranks. Reasons say why not. Thread rule: the communicator's.
 */
#ifndef COLLSHIM_SHIM_MPI_GATE_H
#define COLLSHIM_SHIM_MPI_GATE_H

#include "shim/decide/choose/gate.h"
#include "shim/mpi/api/outlay.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/choose/calls_alike.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"
#include "shim/record/sites/call_site.h"
#include "transports/cuda/cuda_memory.h"

/* Is rerouting on, and is a call of that many bytes worth a look? Inlined into the wrappers,
   because most calls of a program end here. Where ranks compare their sizes, a call without bytes
   is worth a question: other ranks may have some. */
static inline enum reason gate_size(uint64_t total)
{
    if (mpi_process.verdict != REASON_NONE)
        return mpi_process.verdict;
    if (gate_bytes(total))
        return REASON_SMALL;
    return total || calls_alike_asked() ? REASON_NONE : REASON_EMPTY;
}

/* The same of a call with equal blocks, one for each of *size ranks: of *block bytes each. */
static inline enum reason gate_blocks(struct mpi_call *call, MPI_Count count, MPI_Datatype type,
                                      uint64_t *block, int *size)
{
    if (mpi_process.verdict != REASON_NONE)
        return mpi_process.verdict;
    if (call->comm == MPI_COMM_NULL || bytes_of(count, type, block) < 0 ||
        mpi.Comm_size(call->comm, size) != MPI_SUCCESS ||
        bytes_of_all(*block, *size, &call->total) < 0)
        return REASON_ARGUMENTS;
    return gate_size(call->total);
}

/*
 * As nonblocking_passes, of a blocking call. Such a call may have to do what a nonblocking one
 * lacked, and its buffers may lie on a device. Inlined into the wrappers, before the call is
 * described.
 */
static inline int mpi_gate_passes(enum plan_collective collective, MPI_Count count,
                                  MPI_Datatype type, MPI_Comm comm)
{
    return !__atomic_load_n(&outlay_wanted, __ATOMIC_RELAXED) && !cuda_present() &&
           nonblocking_passes(collective, count, type, comm);
}

/* The local part of the gate: settings, and the kind of communicator. nranks: its size. */
enum reason mpi_gate_call(MPI_Comm comm, int nranks, enum plan_collective c);

/* The same for a rooted collective: the verdict, and is there such a root? *size, *rank: filled in
   where the answer is REASON_NONE. Before it, nothing that only a root must pass may be read. */
enum reason mpi_gate_rooted(MPI_Comm comm, int root, enum plan_collective c, int *size, int *rank);

/*
 * The rest of the gate, collective if the ranks have not met. Returns NULL and *why if the call
 * runs natively. nranks: the size of the communicator. sizes: SIZES_AGREED if the ranks have told
 * each other their sizes. total: bytes of the collective.
 */
enum gate_sizes { SIZES_CLAIMED, SIZES_AGREED };
struct mpi_comm *mpi_gate_comm(MPI_Comm comm, int nranks, enum plan_collective c,
                               enum gate_sizes sizes, uint64_t total, enum reason *why);

/* The same for call->collective on call->comm with call->total bytes, which ranks claim. A
   nonblocking call asks no rank: its ranks must have met. */
struct mpi_comm *mpi_gate_claimed(const struct mpi_call *call, int nranks, enum reason *why);

/* The same for a call whose sizes the ranks tell each other: before that, call->total, or behind
   it. It stands for call->passed others, too, that were not asked about. */
struct mpi_comm *mpi_gate_agreed(const struct mpi_call *call, int nranks, enum reason *why);

/*
 * For collectives without a root that the size alone leaves to the library: the ranks meet, or
 * agree on a type and operation, if a nonblocking call would have needed it. Collective over
 * call->comm then.
 */
void mpi_meet_where_wanted(const struct mpi_call *call);
static inline void mpi_meet_if_small(const struct mpi_call *call, enum reason why)
{
    if (__atomic_load_n(&outlay_wanted, __ATOMIC_RELAXED) && why == REASON_SMALL)
        mpi_meet_where_wanted(call);
}

/* The gate of a reduction, behind the others: may it be rerouted, and do kernels or the library
   combine? Collective like reduction_pairs_agree, with the same result. A nonblocking one goes by
   an earlier agreement. */
enum reason mpi_gate_reduction(struct mpi_comm *c, struct mpi_call *call);

/* Join the helpers if they are starting and are ready by now. Collective over the communicator. */
void mpi_join_team(struct mpi_comm *c, enum plan_collective collective);

#endif
