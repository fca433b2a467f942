/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv and the neighbour collectives: no rank knows the matrix of sizes. When it is their turn
 * (exchange_state.h), the ranks find out in two steps. One small reduction gives the sum over all
 * ranks. It runs on the application's communicator, so a program whose calls are all small never
 * pays for a private one. If the sum is large, one Allgather brings the rows of the matrix.
 *
 * With its row each rank says whether its arguments can be served. It adds a sum of the bytes that
 * it expects, weighted by their source. So one message tells all ranks whether the two sides of
 * every pair agree.
 */
#ifndef COLLSHIM_SHIM_MPI_ALLTOALLV_MATRIX_H
#define COLLSHIM_SHIM_MPI_ALLTOALLV_MATRIX_H

#include <mpi.h>
#include <stdint.h>

#include "shim/decide/choose/exchange_state.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"

/* Owned by the communicator's state. */
struct alltoallv_matrix {
    uint64_t *sends;    /* [size + MATRIX_EXTRA] what this rank sends to each, and room, */
    uint64_t *receives; /* [size + 1] and receives from each: the caller's; the last one is spare */
    uint64_t *matrix;   /* [size * size], and room: row s: what rank s sends to each */
    double seconds; /* that an exchange of rows takes: the shortest so far, since early ranks wait
                       for others in any case */
    int single;     /* the ranks know that none is a neighbour twice */
};

/* One call on its way. */
struct matrix_call {
    MPI_Comm comm;
    enum plan_collective collective;
    int n;      /* its ranks */
    int always; /* the user wants every call rerouted that can be: nothing is remembered */
    int once;   /* the call is planned once: nor is it of such a call */
    int lost;   /* nothing can be remembered on this rank */
    struct exchange_state state;
    int was_active; /* before the call */
    enum exchange_action action;
};

/* At MPI_Init and MPI_Finalize. Returns an MPI code. */
int matrix_open(void);
void matrix_close(void);
void matrix_drop(struct mpi_comm *c); /* none is fine */

/* The machine is another one: the next call of each kind on that communicator is asked about. */
void matrix_forget(MPI_Comm comm);

/* A call on a communicator that passed mpi_gate_call. Local. REASON_NONE, or why it runs natively:
   the same on all ranks. Unless it does, matrix_end must follow. */
enum reason matrix_begin(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c);

/* The same of a persistent call, whose ranks tell each other their sizes at once. */
enum reason matrix_begin_once(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c);

/* Are blocking calls like it exchanged, by what is known of earlier ones? The same on all ranks. */
int matrix_balances(MPI_Comm comm, enum plan_collective c);

/* As matrix_begin, of a nonblocking call: where matrix_balances. */
enum reason matrix_begin_known(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c);

/* If r->action is EXCHANGE_ASK: for how many calls does the question stand, besides? The same on
   all ranks. */
uint32_t matrix_passed(const struct matrix_call *r);

/* If r->action is EXCHANGE_ASK. Collective over the communicator. sent, received: sums of this
   rank; own: why it cannot serve the call, REASON_ARGUMENTS or REASON_TWICE, or REASON_NONE.
   Returns as above, and the size of the call. */
enum reason matrix_ask(const struct matrix_call *r, enum reason own, uint64_t sent,
                       uint64_t received, uint64_t *total);

/* Is a call of that size large enough? Returns as above. */
enum reason matrix_gate(const struct matrix_call *r, uint64_t total);

/* The size of the call with that matrix, which all ranks know. Local. Returns as above. */
enum reason matrix_total(const uint64_t *matrix, int n, uint64_t *total);

/*
 * For a call that exchanges rows in its own time. matrix_claim completes this rank's row in
 * rows->sends, which has MATRIX_EXTRA words more than there are ranks.
 *
 * matrix_verdict judges the rows of all, as they came into the matrix. It leaves them there one
 * behind the other, and *total is the size of the call.
 */
enum { MATRIX_EXTRA = 2 }; /* the verdict, the expected bytes */
void matrix_claim(const struct alltoallv_matrix *rows, int n, int rank, enum reason own);
enum reason matrix_verdict(struct alltoallv_matrix *rows, int n, uint64_t *total);

/* Room for them: NULL and *why on all ranks alike. Collective where there was none yet. */
struct alltoallv_matrix *matrix_of(struct mpi_comm *c, enum reason *why);

/*
 * Fill in the matrix from all ranks' sends. own: this rank's reason not to serve the call, or
 * REASON_NONE. Collective. Returns an MPI code. On success *why is the answer of all ranks. If that
 * is REASON_NONE, *total is the size of the call: the bytes of all rows, by the number of ranks.
 */
int matrix_exchange(struct mpi_comm *c, enum reason own, uint64_t *total, enum reason *why);

/* Is it worth a reroute now? q: complete but for chunk_bytes. Collective where a prediction is due.
   Returns as matrix_begin. */
enum reason matrix_judge(struct matrix_call *r, struct mpi_comm *c, struct plan_request *q);

/* Remember how it went: why it ran natively, or REASON_NONE. */
void matrix_end(struct matrix_call *r, enum reason native);

#endif
