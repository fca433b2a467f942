/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking collective: started as a pending call (pending.h) with a generalized request
 * (grequest.h), or left to the library.
 */
#ifndef COLLSHIM_SHIM_MPI_NONBLOCKING_H
#define COLLSHIM_SHIM_MPI_NONBLOCKING_H

#include "shim/decide/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/run/run.h"
#include "shim/record/counts/count.h"
#include "shim/record/sites/call_site.h"

/*
 * Start the call by one of these. It passed the gate; its request is complete but for the
 * algorithm. Never waits, and asks no other rank. An error that shows later reaches the application
 * with the request.
 */
struct mpi_outcome nonblocking_run(struct mpi_comm *c, const struct mpi_call *call,
                                   const struct mpi_candidates *found);

/*
 * Start a call that is ready, or that knows its sizes later (late_sizes.h). From here on
 * the start owns what the call owns. lacks: this rank has no memory for it. Returns an MPI code: of
 * a start that has failed here, whose request is null. That needs a refusal beyond the reserve
 * where memory has no limit (shim/preload/reserve.h): with a limit such calls are the library's.
 */
int nonblocking_start(struct mpi_comm *c, const struct ready *ready, int lacks);

/* The same of a call whose sizes only some ranks know: u, which tells them. lacks: this rank has no
   memory for that; so it is where u is NULL. */
int nonblocking_start_late(struct mpi_comm *c, const struct mpi_call *call, struct late_sizes *u,
                           int lacks);

/* As run_prepare, by the first of the candidates that one process can carry by one schedule. */
enum reason nonblocking_prepare(struct mpi_comm *c, const struct mpi_call *call,
                                const struct mpi_candidates *found, struct ready *ready, int *rc);

/*
 * Room for the sizes of a call's blocks, and, unless NULL, for where they start, packed: [size]
 * each. The communicator's, or of a nonblocking call: its own (call->owned.room). Where memory
 * lacks it gets the communicator's (call->owned.lacks_room): so it is decided on as on other ranks,
 * and then fails.
 */
void nonblocking_room(struct mpi_comm *c, struct mpi_call *call, size_t **bytes, uint64_t **offset);

/* Behind it: room of such a call for its vectors (vectors_keep); NULL: it has none of its own. */
void *nonblocking_vectors(const struct mpi_comm *c, const struct mpi_call *call);

/*
 * Does one look show that a nonblocking call is the library's? Counts it if so. It has that many
 * elements or, with comm, as many for each rank. Inlined into the wrappers: most calls of a program
 * end here.
 */
static inline int nonblocking_passes(enum plan_collective collective, MPI_Count count,
                                     MPI_Datatype type, MPI_Comm comm)
{
    enum reason why = mpi_process.verdict;
    uint64_t total = 0;
    int size = 1;

    if (!why) {
        if (bytes_of(count, type, &total) < 0 ||
            (comm != MPI_COMM_NULL && mpi.Comm_size(comm, &size) != MPI_SUCCESS) ||
            bytes_of_all(total, size, &total) < 0)
            return 0;
        why = gate_bytes(total);
    }
    if (!why)
        return 0;
    count_native(collective, why);
    site_note_bytes(total);
    return 1;
}

/* Collectives of which the guard has looked at a blocking call, on some communicator. */
extern unsigned char nonblocking_looked_at[COLL_COUNT];

/* The same where only the guard could be in favour of a nonblocking call, of any size, and it has
   looked at no blocking one. */
static inline int nonblocking_unjudged(enum plan_collective collective)
{
    enum reason why = mpi_process.verdict;

    if (!why && !nonblocking_looked_at[collective] && choose_is_guarded(collective) &&
        !settings.tuning.nrows)
        why = REASON_UNJUDGED;
    if (!why)
        return 0;
    count_native(collective, why);
    return 1;
}

#endif
