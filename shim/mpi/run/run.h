/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call in one way: by a schedule, by helpers too, by one of the library's own algorithms, or by
 * the library as it likes. reroute.c has decided the way, on all ranks alike.
 *
 * Thread rule: the communicator's: one thread at a time.
 */
#ifndef COLLSHIM_SHIM_MPI_RUN_H
#define COLLSHIM_SHIM_MPI_RUN_H

#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/run/staging.h"

/* An error of the rerouted call, or none. */
static inline struct mpi_outcome run_failed(int code)
{
    return (struct mpi_outcome){.rc = code, .unhandled = code};
}

/* The MPI code of what an engine or its staging returned. */
int run_code(int rc);

/* A reroute that can run: its algorithm, plan and engine. Borrowed from the communicator. */
struct ready {
    struct mpi_call call; /* with the request that the plan is for */
    const struct plan_algorithm *algorithm;
    int ppg; /* > 1: in so many slices, each by a plan of its own; plan and engine are NULL */
    const struct plan_variant *variant; /* the library's own algorithm, or NULL */
    const struct plan *plan;
    struct engine *engine;
    struct load_link crossing; /* bytes that the plan moves to and from other nodes */
    struct staging staging;    /* owned, if staged: the ranks have agreed that all have theirs */
    int staged, failed;        /* failed: of staging_open */
    double asking;             /* seconds that this took */
};

/* The reroutes that a started call may take, the best first; why: there are none. */
struct mpi_candidates {
    enum reason why;
    int n;
    struct plan_candidate list[GUARD_REROUTES];
};

/*
 * Get a reroute ready: its plan and its engine. REASON_NONE and *rc (0, or -ENOMEM, where
 * c->plans.unagreed), or why it cannot serve this call, on all ranks alike. Asks no other rank, but
 * for a variant.
 */
enum reason run_prepare(struct mpi_comm *c, const struct mpi_call *call,
                        const struct plan_candidate *r, struct ready *ready, int *rc);

/* The same for a blocking call. Where memory is limited (ask.h), the ranks agree that all have plan
   and buffers: if not, all get REASON_NOT_READY. *rc: 0, or the transport's error code. A call
   that is ready is then run, once. */
enum reason run_prepare_all(struct mpi_comm *c, const struct mpi_call *call,
                            const struct plan_candidate *r, struct ready *ready, int *rc);

/* The engine's view of a call that is ready. failed: the code with which the call has failed on
   this rank already, or 0. */
struct engine_buffers run_buffers(const struct ready *ready, const struct staging *s, int failed);

/* Run it as COLLSHIM_MODE says. rc: of run_prepare_all, with which the call has failed, or 0. */
struct mpi_outcome run_in_mode(struct mpi_comm *c, struct ready *ready, int rc);

/* COLLSHIM_MODE=verify: is the staged output the application's, which the library wrote? Counts,
   and tells if not. */
void run_compare(struct mpi_comm *c, const struct ready *ready, const struct staging *s);

/* By the library, as it likes. */
struct mpi_outcome run_natively(const struct mpi_call *call, enum reason why);

#endif
