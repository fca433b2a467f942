/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a communicator add up one number each, by a small plan of ours. Its memory is there
 * since the communicator was made, so it cannot fail for lack of any. So the ranks learn that one
 * of them lacks memory for a call.
 *
 * Thread rule: the transport's: one at a time, while no call is under way on the communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_ASK_H
#define COLLSHIM_SHIM_MPI_ASK_H

#include "config/topo/topo.h"
#include "transports/engine/engine.h"

/* All zero at first. Owned by the communicator's state. */
struct ask {
    struct plan *plan;     /* owned */
    struct engine *engine; /* owned */
    char *scratch;         /* owned */
    int value;             /* the rank's own; behind the question, the sum */
    int limited;           /* some rank's memory is: blocking calls ask */
};

/* Behind links_join. Returns 0, or -ENOMEM. Local. close: also behind that. */
int ask_open(struct ask *a, const struct topo *t, int rank, struct xport *mpi);
void ask_close(struct ask *a);

/* Ask and wait. *sum is what the values come to. Returns 0, or a code as of engine_run. */
int ask_all(struct ask *a, int value, int *sum);

/* The same in small steps, as engine_begin and engine_step; then a->value is the sum. */
int ask_begin(struct ask *a, int value);
int ask_step(struct ask *a, enum engine_state *state);

#endif
